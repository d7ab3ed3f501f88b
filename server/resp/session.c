/* SPDX-License-Identifier: MIT
 *
 * session.c - the settings of a new session.
 */
#include "server/resp/session.h"

#include <string.h>
#include <time.h>

#include "server/net/conn.h"

uint64_t sw_session_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void sw_session_init(struct sw_session *session, uint64_t id)
{
    memset(session, 0, sizeof(*session));
    session->id = id;
    session->reply_mode = SW_REPLY_ON;
    session->connected_at_ms = sw_session_now_ms();
    strcpy(session->user, "default");
}

void sw_session_note_user(struct sw_session *session)
{
    const struct sw_user *user = session->conn->login.user;
    memcpy(session->user, user != NULL ? user->name : "default",
           user != NULL ? sizeof(session->user) : sizeof("default"));
}
