/* SPDX-License-Identifier: MIT
 *
 * admin_login.c - AUTH, HELLO and RESET: the user of a connection, and its version of RESP.
 */
#include <stdio.h>
#include <string.h>

#include "server/config/options.h"
#include "server/net/conn_login.h"
#include "server/resp/admin_call.h"
#include "server/resp/monitor.h"
#include "server/resp/permit.h"
#include "server/resp/place.h"

static const char wrong_password[] =
    "WRONGPASS invalid username-password pair or user is disabled.";

/* Logs in; replies with an error and returns false if the password is wrong. */
static bool log_in(struct sw_call *call, const struct sw_resp_argument *user,
                   const struct sw_resp_argument *password)
{
    struct sw_conn *conn = call->session->conn;
    if (call->admin->users == NULL) {
        return true; /* without rules every client may do everything */
    }
    if (sw_conn_login(conn, user->text, user->size, password->text, password->size)) {
        return true;
    }
    char word[SW_COMMAND_NAME_BYTES]; /* as it was written */
    snprintf(word, sizeof(word), "%.*s", SW_CALL_SHOWN(&call->arguments[0]));
    sw_permit_log(conn, SW_ACL_AUTH, word, call->command->name, (const char *)user->text,
                  user->size);
    sw_text_error(call->reply, wrong_password);
    return false;
}

void sw_call_auth(struct sw_call *call)
{
    static const struct sw_resp_argument standard = {(const uint8_t *)"default", 7};
    struct sw_user user;
    if (call->count > 3) {
        sw_call_syntax_error(call);
    } else if (call->count == 2 && call->admin->users != NULL &&
               sw_users_find(call->admin->users, "default", 7, &user) && user.no_password) {
        sw_text_error(call->reply,
                      "ERR AUTH <password> called without any password configured for the default "
                      "user. Are you sure your configuration is correct?");
    } else if (log_in(call, call->count == 2 ? &standard : &call->arguments[1],
                      &call->arguments[call->count - 1])) {
        sw_call_ok(call);
    }
}

static void reply_hello(struct sw_call *call)
{
    struct sw_text *reply = call->reply;
    bool resp3 = call->session->resp3;
    const struct sw_cluster_view *view = call->admin->cluster->view;
    const struct sw_topology_node *me = view == NULL ? NULL : sw_cluster_me(view);
    sw_text_map(reply, 9, resp3);
    sw_text_bulk_string(reply, "server");
    sw_text_bulk_string(reply, "sherwood");
    sw_text_bulk_string(reply, "version");
    sw_text_bulk_string(reply, SW_REDIS_VERSION);
    sw_text_bulk_string(reply, "proto");
    sw_text_integer(reply, resp3 ? 3 : 2);
    sw_text_bulk_string(reply, "id");
    sw_text_unsigned(reply, call->session->conn->peer.id);
    sw_text_bulk_string(reply, "mode");
    sw_text_bulk_string(reply, view != NULL ? "cluster" : "standalone");
    sw_text_bulk_string(reply, "role");
    sw_text_bulk_string(reply, me != NULL && !me->is_primary ? "replica" : "master");
    sw_text_bulk_string(reply, "modules");
    sw_text_array(reply, 0);
    sw_text_bulk_string(reply, "engine");
    sw_text_bulk_string(reply, call->admin->engine);
    sw_text_bulk_string(reply, "keys");
    sw_text_bulk_string(reply, sw_option_text(call->admin->config, "resp-keys"));
}

void sw_call_hello(struct sw_call *call)
{
    const struct sw_resp_argument *name = NULL, *user = NULL;
    int64_t version = call->session->resp3 ? 3 : 2;
    uint32_t at = 2;
    if (call->count > 1 && !sw_argument_integer(&call->arguments[1], &version)) {
        sw_text_error(call->reply, "ERR Protocol version is not an integer or out of range");
        return;
    }
    if (version != 2 && version != 3) {
        sw_text_error(call->reply, "NOPROTO unsupported protocol version");
        return;
    }
    while (at < call->count) {
        const struct sw_resp_argument *word = &call->arguments[at];
        uint32_t left = call->count - at - 1;
        if (sw_argument_is(word, "AUTH") && left >= 2) {
            user = word + 1;
            at += 3;
        } else if (sw_argument_is(word, "SETNAME") && left >= 1) {
            name = word + 1;
            if (!sw_client_name_is_allowed(call, name)) {
                return;
            }
            at += 2;
        } else {
            sw_call_error(call, "ERR Syntax error in HELLO option '%.*s'", SW_CALL_SHOWN(word));
            return;
        }
    }
    /* The session is changed only when all arguments are known to be right. */
    if (user != NULL && !log_in(call, user, user + 1)) {
        return;
    }
    if (call->admin->users != NULL &&
        sw_login_refresh(call->admin->users, &call->session->conn->login) != SW_LOGIN_IN) {
        sw_text_error(
            call->reply,
            "NOAUTH HELLO must be called with the client already authenticated, otherwise "
            "the HELLO AUTH <user> <pass> option can be used to authenticate the client "
            "and select the RESP protocol version at the same time");
        return;
    }
    if (name != NULL) {
        sw_client_set_name(call, name);
    }
    sw_session_set_resp3(call->session, version == 3);
    reply_hello(call);
}

void sw_call_reset(struct sw_call *call)
{
    const struct sw_resp_argument no_name = {(const uint8_t *)"", 0};
    sw_session_set_resp3(call->session, false);
    call->session->reads_replicas = false;
    sw_client_set_name(call, &no_name);
    call->session->reply_mode = SW_REPLY_ON;
    sw_monitor_end(sw_resp_of(call->session->conn));
    sw_place_select(sw_resp_of(call->session->conn), 0);
    sw_conn_logout(call->session->conn);
    sw_text_simple(call->reply, "RESET");
}
