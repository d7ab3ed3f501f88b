/* SPDX-License-Identifier: MIT
 *
 * data_help.c - HELP of commands on keys.
 */
#include "server/resp/data_help.h"

#include "server/net/conn.h"
#include "server/resp/admin_call.h"
#include "server/resp/resp.h"

const struct sw_subcommand *sw_data_subcommands(const struct sw_command *command)
{
    static const struct sw_subcommand memory[] = {
        {"USAGE", -3, NULL, "<key> [SAMPLES <count>]", "Return the bytes of memory of a key."},
        {NULL, 0, NULL, NULL, NULL}};
    static const struct sw_subcommand object[] = {
        {"ENCODING", 3, NULL, "<key>", "Return the encoding of a key's value: int or raw."},
        {NULL, 0, NULL, NULL, NULL}};
    return command->maker == SW_MAKER_MEMORY ? memory : object;
}

void sw_data_help(struct sw_conn *conn, const struct sw_command *command,
                  const struct sw_subcommand *list, enum sw_data_purpose purpose)
{
    struct sw_session *session = &sw_resp_of(conn)->session;
    struct sw_replies *replies = sw_resp_of(conn)->resp->filling;
    size_t first = replies->text.size;
    if (purpose == SW_DATA_CHECK) {
        sw_resp_error(conn, command, SW_NOT_IN_MULTI);
        return;
    }
    if (session->reply_mode == SW_REPLY_ON) {
        sw_subcommand_help(command, list, &replies->text);
    } else if (session->reply_mode == SW_REPLY_SKIP_NEXT) {
        session->reply_mode = SW_REPLY_ON;
    }
    sw_replies_add_text(replies, conn, command, first);
}

const char *sw_data_wrong_samples(const struct sw_resp_command *arguments)
{
    int64_t samples = 0;
    for (uint32_t i = 3; i < arguments->count; i += 2) {
        if (!sw_argument_is(&arguments->arguments[i], "SAMPLES") || i + 1 == arguments->count) {
            return "ERR syntax error";
        }
        if (!sw_argument_integer(&arguments->arguments[i + 1], &samples)) {
            return "ERR value is not an integer or out of range";
        }
        if (samples < 0) {
            return "ERR syntax error";
        }
    }
    return NULL;
}
