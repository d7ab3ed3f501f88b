/* SPDX-License-Identifier: MIT
 *
 * conn_login.c - logins of connections.
 */
#include "server/net/conn_login.h"

#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "server/config/live.h"
#include "server/limits.h"
#include "server/observe/log.h"

bool sw_net_may_use(const struct sw_net *net, const struct sw_user *user, uint32_t number)
{
    const struct sw_tables_view *view = net->tables.view;
    if (user == NULL || user->all_tables) {
        return user != NULL;
    }
    const struct sw_place *place = view == NULL ? NULL : sw_places_numbered(&view->catalog, number);
    return sw_user_may_use(user, number, place != NULL ? place->name : "");
}

static bool is_loopback(int fd)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    if (fd < 0 || getpeername(fd, (struct sockaddr *)&address, &size) != 0) {
        return false;
    }
    if (address.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)&address;
        return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    if (address.ss_family == AF_INET6) {
        const struct in6_addr *v6 =
            &((const struct sockaddr_in6 *)(const void *)&address)->sin6_addr;
        return IN6_IS_ADDR_LOOPBACK(v6) ||
               (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == IN_LOOPBACKNET);
    }
    return address.ss_family == AF_UNIX;
}

/* The user that unix-users names for the peer of a Unix socket; NULL: none. */
static const char *user_of_peer(const struct sw_conn *conn, int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return conn->net->unix_users != NULL &&
                   getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0
               ? sw_unix_users_find(conn->net->unix_users, peer.uid)
               : NULL;
}

/* --- connections without a login -------------------------------------------------------------- */

static void count_waiting(struct sw_conn *conn, bool waits)
{
    struct sw_net *net = conn->net;
    if (waits != conn->lacks_login) {
        conn->lacks_login = waits;
        conn->login_since_ms = sw_net_now_ms(net);
        net->lacking_login += waits ? 1 : UINT64_MAX;
        sw_users_count_waiting(net->users, waits ? 1 : -1);
        SW_GAUGE(net->counters, connections_without_login, net->lacking_login);
    }
}

static void turn_away(struct sw_conn *conn, enum sw_refusal why)
{
    conn->refusal = why;
    conn->net->turned_away++;
    if (why == SW_REFUSAL_PROTECTED) {
        SW_COUNT(conn->net->counters, protected_mode_refusals, 1);
        sw_log_limited(
            SW_LOG_LOGIN, SW_LOG_WARNING,
            "%s was refused: protected-mode is yes, and the user default has no password",
            conn->peer.address);
    } else {
        SW_COUNT(conn->net->counters, login_limit_refusals, 1);
    }
}

void sw_conn_login_begin(struct sw_conn *conn, int fd, bool is_unix)
{
    struct sw_net *net = conn->net;
    if (net->users == NULL || conn->refusal != SW_REFUSAL_NONE) {
        return;
    }
    const char *name = is_unix ? user_of_peer(conn, fd) : NULL;
    if (name != NULL && sw_login_without_password(net->users, &conn->login, name, strlen(name))) {
        return;
    }
    sw_login_begin(net->users, &conn->login);
    if (conn->login.user == NULL) {
        count_waiting(conn, true);
        if (sw_users_waiting(net->users) > SW_LIVE(net->config->connections_before_login_max)) {
            turn_away(conn, SW_REFUSAL_BEFORE_LOGIN);
        }
    } else if (SW_LIVE(net->config->protected_mode) != 0 && !is_unix && fd >= 0 &&
               !is_loopback(fd)) {
        turn_away(conn, SW_REFUSAL_PROTECTED);
    }
}

void sw_conn_login_end(struct sw_conn *conn)
{
    if (conn->net->users != NULL) {
        conn->net->turned_away -= conn->refusal > SW_REFUSAL_INPUT_MEMORY;
        count_waiting(conn, false);
        sw_login_end(&conn->login);
    }
}

void sw_conn_logout(struct sw_conn *conn)
{
    if (conn->net->users != NULL) {
        sw_login_end(&conn->login);
        sw_login_begin(conn->net->users, &conn->login);
        count_waiting(conn, conn->login.user == NULL);
        sw_clients_publish_user(conn);
    }
}

bool sw_conn_login_timed_out(const struct sw_conn *conn, uint64_t now_ms)
{
    uint64_t limit_ms = SW_LIVE(conn->net->config->login_timeout_ms);
    return conn->lacks_login && limit_ms > 0 && now_ms - conn->login_since_ms > limit_ms;
}

/* --- passwords -------------------------------------------------------------------------------- */

/* Copies a name from a client so that a line of the log can show it. */
static void show_name(const char *name, size_t size, char out[SW_USER_NAME_BYTES])
{
    size_t shown = size < SW_USER_NAME_BYTES - 1 ? size : SW_USER_NAME_BYTES - 1;
    for (size_t i = 0; i < shown; i++) {
        out[i] = isprint((unsigned char)name[i]) != 0 && name[i] != '"' ? name[i] : '?';
    }
    out[shown] = '\0';
}

static void note_failure(struct sw_conn *conn, const char *name, size_t size)
{
    char shown[SW_USER_NAME_BYTES];
    uint64_t wait_ms = SW_LOGIN_WAIT_MS << conn->login_failures;
    conn->login_failures += wait_ms < SW_LOGIN_WAIT_MS_MAX;
    conn->login_waits_until_ms = sw_net_now_ms(conn->net) +
                                 (wait_ms < SW_LOGIN_WAIT_MS_MAX ? wait_ms : SW_LOGIN_WAIT_MS_MAX);
    SW_COUNT(conn->net->counters, login_failures, 1);
    show_name(name, size, shown);
    sw_log_limited(SW_LOG_LOGIN, SW_LOG_WARNING, "%s failed to log in as \"%s\"",
                   conn->peer.address, shown);
    if (conn->stall == SW_STALL_NONE && conn->state <= SW_CONN_DRAINING) {
        sw_conn_stall(conn, SW_STALL_LOGIN);
    }
}

static void note_login(struct sw_conn *conn)
{
    conn->login_failures = 0;
    count_waiting(conn, false);
    SW_COUNT(conn->net->counters, logins, 1);
    sw_clients_publish_user(conn);
}

bool sw_conn_login(struct sw_conn *conn, const void *name, size_t name_size, const void *password,
                   size_t password_size)
{
    if (!sw_login_with_password(conn->net->users, &conn->login, name, name_size, password,
                                password_size)) {
        note_failure(conn, name, name_size);
        return false;
    }
    note_login(conn);
    return true;
}

bool sw_conn_login_as(struct sw_conn *conn, const char *name, size_t size)
{
    if (conn->net->users == NULL ||
        !sw_login_without_password(conn->net->users, &conn->login, name, size)) {
        return false;
    }
    note_login(conn);
    return true;
}

bool sw_conn_login_waits(const struct sw_conn *conn)
{
    return conn->login_waits_until_ms != 0 && sw_net_now_ms(conn->net) < conn->login_waits_until_ms;
}
