/* SPDX-License-Identifier: MIT
 *
 * conn_login.h - the login of a connection. It limits the number and the life of connections
 * without a login, and delays a connection after a wrong password. Everything runs on the
 * connection's loop.
 */
#ifndef SHERWOOD_SERVER_NET_CONN_LOGIN_H
#define SHERWOOD_SERVER_NET_CONN_LOGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "server/net/conn.h"

/* May the connection run every command on every key? Costs one load and one comparison. If the
 * server has no rules, this is the only check of the user. */
static inline bool sw_conn_is_free(const struct sw_conn *conn)
{
    return sw_login_is_free(&conn->login, conn->net->users_version);
}

/* May this user, or the user of the connection, use the table in the place with this number? Yes,
 * if the server has no rules. The rules must be current: sw_login_refresh. */
bool sw_net_may_use(const struct sw_net *net, const struct sw_user *user, uint32_t number);
static inline bool sw_conn_may_use(const struct sw_conn *conn, uint32_t number)
{
    return sw_conn_is_free(conn) || sw_net_may_use(conn->net, conn->login.user, number);
}

/* Sets the user of a new connection: the user that unix-users names for its peer, `default` if that
 * user has no password, or no user yet. Sets conn->refusal if the server must not serve the
 * connection at all: protected-mode forbids it, or too many connections have not logged in. `fd` is
 * its socket; -1: there is none. */
void sw_conn_login_begin(struct sw_conn *conn, int fd, bool is_unix);

/* Logs in by a password, and returns true if it was right. Otherwise counts and logs the failure,
 * and stalls the connection for a time that doubles with each failure. */
bool sw_conn_login(struct sw_conn *conn, const void *name, size_t name_size, const void *password,
                   size_t password_size);
/* Logs in a user without a password, because the peer has proved it otherwise, such as by its
 * certificate. Returns false if the user does not exist or is off. */
bool sw_conn_login_as(struct sw_conn *conn, const char *name, size_t size);
/* Ends the login. The user is then `default` if that user has no password, otherwise none. A user
 * from unix-users or from a certificate is not restored. */
void sw_conn_logout(struct sw_conn *conn);
/* To be called when the connection is freed. */
void sw_conn_login_end(struct sw_conn *conn);

/* Must the connection still wait after a wrong password? */
bool sw_conn_login_waits(const struct sw_conn *conn);
/* Has the connection not logged in for longer than login-timeout-ms? */
bool sw_conn_login_timed_out(const struct sw_conn *conn, uint64_t now_ms);

#endif
