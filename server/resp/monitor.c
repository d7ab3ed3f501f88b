/* SPDX-License-Identifier: MIT
 *
 * monitor.c - MONITOR, and the line that shows a command.
 */
#include "server/resp/monitor.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/resp/acl_catalog.h"
#include "server/resp/admin_call.h"
#include "server/resp/output.h"
#include "server/resp/permit.h"
#include "server/resp/secrets.h"

/* A connection that is a monitor. */
struct sw_resp_monitor {
    struct sw_monitor shared;
    struct sw_list link; /* of resp->first->monitors */
    struct sw_conn *conn;
};

static struct sw_monitors *monitors_of(const struct sw_resp *resp)
{
    return &resp->owner.timings->monitors;
}

/* --- MONITOR ---------------------------------------------------------------------------------- */

void sw_call_monitor(struct sw_call *call)
{
    struct sw_conn *conn = call->session->conn;
    struct sw_resp_conn *state = sw_resp_of(conn);
    struct sw_timings *timings = call->admin->timings;
    if (state->monitor != NULL) {
        sw_call_ok(call);
        return;
    }
    if (timings == NULL) {
        sw_text_error(call->reply, "ERR MONITOR is not available in this server");
        return;
    }
    struct sw_resp_monitor *monitor = calloc(1, sizeof(*monitor));
    if (monitor == NULL) {
        sw_text_error(call->reply, "ERR out of memory");
        return;
    }
    const uint64_t most = SW_LIVE(call->admin->config->monitors_max);
    if (!sw_monitors_add(&timings->monitors, &monitor->shared, most,
                         SW_LIVE(call->admin->config->output_bytes_max), conn->shown.wake)) {
        free(monitor);
        sw_call_error(call,
                      "ERR MONITOR has its most connections, %llu: end one, or raise monitors-max",
                      (unsigned long long)most);
        return;
    }
    monitor->conn = conn;
    sw_list_init(&monitor->link);
    sw_list_push(&state->resp->first->monitors, &monitor->link);
    state->monitor = monitor;
    conn->is_shown_commands = true;
    sw_call_ok(call);
}

void sw_monitor_end(struct sw_resp_conn *state)
{
    if (state->monitor != NULL) {
        sw_monitors_remove(monitors_of(state->resp), &state->monitor->shared);
        sw_list_remove(&state->monitor->link);
        free(state->monitor);
        state->monitor = NULL;
        state->conn->is_shown_commands = false;
    }
}

bool sw_monitor_send(struct sw_resp *resp)
{
    bool sent = false;
    SW_LIST_EACH(&resp->monitors, link)
    {
        struct sw_resp_monitor *monitor = SW_CONTAINER(link, struct sw_resp_monitor, link);
        struct sw_conn *conn = monitor->conn;
        struct sw_text lines;
        if (conn->in_flight > 0 || conn->state == SW_CONN_CLOSED) {
            continue;
        }
        if (!sw_permit_still(conn, SW_COMMAND_MONITOR)) { /* its user may no longer run MONITOR */
            sw_monitor_end(sw_resp_of(conn));
            sw_conn_drain(conn, false);
            continue;
        }
        sw_text_init(&lines, 0);
        if (!sw_monitors_take(monitors_of(resp), &monitor->shared, &lines)) {
            SW_COUNT(resp->net->counters, output_limit_closes, 1);
            sw_conn_abort(conn);
        } else if (lines.size > 0) {
            sw_resp_send(sw_resp_of(conn), lines.data, lines.size);
            sent = true;
        }
        sw_text_fini(&lines);
    }
    return sent;
}

/* --- the line --------------------------------------------------------------------------------- */

/* Appends a text in quotes. Bytes that cannot be printed are written as in redis. */
static void put_quoted(struct sw_text *line, const uint8_t *text, size_t size)
{
    static const char escaped[] = "\n\r\t\a\b", letters[] = "nrtab";
    sw_text_append(line, " \"", 2);
    for (size_t i = 0; i < size; i++) {
        size_t plain = i;
        while (plain < size && isprint(text[plain]) && text[plain] != '"' && text[plain] != '\\') {
            plain++;
        }
        sw_text_append(line, text + i, plain - i);
        i = plain;
        if (i == size) {
            break;
        }
        const char *found = text[i] == '\0' ? NULL : strchr(escaped, text[i]);
        if (text[i] == '"' || text[i] == '\\') {
            sw_text_printf(line, "\\%c", text[i]);
        } else if (found != NULL) {
            sw_text_printf(line, "\\%c", letters[found - escaped]);
        } else {
            sw_text_printf(line, "\\x%02x", text[i]);
        }
    }
    sw_text_append(line, "\"", 1);
}

void sw_monitor_show(const struct sw_resp_conn *state, const struct sw_command *command,
                     const struct sw_resp_command *arguments)
{
    const struct sw_resp *resp = state->resp;
    const struct sw_config *config = resp->net->config;
    const uint32_t row = sw_acl_row(command, arguments);
    if ((sw_acl_catalog()->commands[row].categories & SW_CATEGORY_ADMIN) != 0) {
        return;
    }
    const struct sw_secrets secrets = sw_secrets_of(arguments);
    const bool is_unix = strncmp(state->conn->peer.address, "unix:", 5) == 0;
    struct timespec now;
    struct sw_text line;
    clock_gettime(CLOCK_REALTIME, &now);
    sw_text_init(&line, SW_LIVE(config->output_bytes_max));
    sw_text_printf(&line, "+%lld.%06ld [%u %s%s]", (long long)now.tv_sec, now.tv_nsec / 1000,
                   state->place, is_unix ? "unix:" : state->conn->peer.address,
                   is_unix ? config->unix_socket : "");
    for (uint32_t i = 0; i < arguments->count && !line.failed; i++) {
        if (i >= secrets.from && i < secrets.to) {
            sw_text_append(&line, " \"(redacted)\"", 13);
        } else {
            put_quoted(&line, arguments->arguments[i].text, arguments->arguments[i].size);
        }
    }
    sw_text_append(&line, "\r\n", 2);
    sw_monitors_show(monitors_of(resp), &line);
    sw_text_fini(&line);
}
