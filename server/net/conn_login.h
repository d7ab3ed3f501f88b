/* SPDX-License-Identifier: MIT
 *
 * conn_login.h - who a connection is, and what that costs it: connections without a login are few
 * and short-lived, and wrong passwords make them wait. Everything runs on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_NET_CONN_LOGIN_H
#define SHERWOOD_SERVER_NET_CONN_LOGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "server/net/conn.h"

/* May the connection do everything with every key? One load and one comparison; where there are no
 * rules nothing else is looked at. */
static inline bool sw_conn_is_free(const struct sw_conn *conn)
{
    return sw_login_is_free(&conn->login, conn->net->users_version);
}

/* Sets the user of a new connection: the user that unix-users names for its peer, `default` if that
 * user has no password, or nobody yet. Sets conn->refusal if the server must not serve the
 * connection at all: protected-mode forbids it, or too many connections have not logged in. `fd` is
 * its socket; -1: there is none. */
void sw_conn_login_begin(struct sw_conn *conn, int fd, bool is_unix);

/* Logs in by a password. A wrong one is counted and logged, and the connection is not read for a
 * time that doubles with each failure: it is stalled. Returns whether it was right. */
bool sw_conn_login(struct sw_conn *conn, const void *name, size_t name_size, const void *password,
                   size_t password_size);
/* Logs in a user that something else has proved, such as the certificate of the peer. Returns false
 * if there is no such user, or it is off. */
bool sw_conn_login_as(struct sw_conn *conn, const char *name, size_t size);
/* Is again who it was when it was opened, as far as that needs no password. */
void sw_conn_logout(struct sw_conn *conn);
/* To be called when the connection is freed. */
void sw_conn_login_end(struct sw_conn *conn);

/* Must the connection still wait after a wrong password? */
bool sw_conn_login_waits(const struct sw_conn *conn);
/* Has the connection not logged in for longer than login-timeout-ms? */
bool sw_conn_login_timed_out(const struct sw_conn *conn, uint64_t now_ms);

#endif
