/* SPDX-License-Identifier: MIT
 *
 * last_write.h - the last write of a connection, for WAIT. On the connection's loop.
 */
#ifndef SHERWOOD_SERVER_RESP_LAST_WRITE_H
#define SHERWOOD_SERVER_RESP_LAST_WRITE_H

#include "server/net/conn.h"

/* Notes a write that is about to be answered; 0: there was none. */
void sw_resp_wrote(struct sw_conn *conn, uint64_t sequence);

/* The write that replicas are asked for; 0: none; UINT64_MAX: one that none of them is known to
 * have, since this server has followed another one after it, and its number may be another's. */
uint64_t sw_resp_last_write(struct sw_conn *conn);

#endif
