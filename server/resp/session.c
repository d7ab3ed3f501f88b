/* SPDX-License-Identifier: MIT
 *
 * session.c - the settings of a new session.
 */
#include "server/resp/session.h"

#include <time.h>

#include "server/net/conn.h"

uint64_t sw_session_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void sw_session_init(struct sw_session *session, struct sw_conn *conn)
{
    *session = (struct sw_session){.conn = conn, .reply_mode = SW_REPLY_ON};
    sw_session_set_resp3(session, false);
}

void sw_session_set_resp3(struct sw_session *session, bool resp3)
{
    session->resp3 = resp3;
    __atomic_store_n(&session->conn->shown.resp_version, resp3 ? 3 : 2, __ATOMIC_RELAXED);
}
