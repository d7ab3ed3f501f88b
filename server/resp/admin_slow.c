/* SPDX-License-Identifier: MIT
 *
 * admin_slow.c - SLOWLOG and LATENCY.
 */
#include <inttypes.h>

#include "server/observe/timings.h"
#include "server/resp/admin_call.h"

#define SLOWLOG_GET_DEFAULT 10
#define REPORT_BYTES_MAX 8192

/* --- SLOWLOG ---------------------------------------------------------------------------------- */

static void slowlog_get(struct sw_call *call)
{
    int64_t count = SLOWLOG_GET_DEFAULT;
    if (call->count > 3) {
        sw_text_error(call->reply, "ERR unknown subcommand or wrong number of arguments for 'GET'. "
                                   "Try SLOWLOG HELP.");
    } else if (call->count == 3 &&
               (!sw_argument_integer(&call->arguments[2], &count) || count < -1)) {
        sw_text_error(call->reply, "ERR count should be greater than or equal to -1");
    } else {
        sw_slowlog_reply(&call->admin->timings->slowlog, count < 0 ? UINT64_MAX : (uint64_t)count,
                         call->reply);
    }
}

static void slowlog_len(struct sw_call *call)
{
    sw_text_unsigned(call->reply, sw_slowlog_length(&call->admin->timings->slowlog));
}

static void slowlog_reset(struct sw_call *call)
{
    sw_slowlog_reset(&call->admin->timings->slowlog);
    sw_call_ok(call);
}

void sw_call_slowlog(struct sw_call *call)
{
    static const struct sw_subcommand list[] = {
        {"GET", -2, slowlog_get, "[count]",
         "Return the newest entries (10, or count; -1: all): id, time, microseconds, arguments, "
         "address and name of the client."},
        {"LEN", 2, slowlog_len, "", "Return the number of entries."},
        {"RESET", 2, slowlog_reset, "", "Remove all entries."},
        {NULL, 0, NULL, NULL, NULL}};
    sw_call_subcommand(call, list);
}

/* --- LATENCY ---------------------------------------------------------------------------------- */

static enum sw_latency_event event_at(const struct sw_call *call, uint32_t i)
{
    return sw_latency_find((const char *)call->arguments[i].text, call->arguments[i].size);
}

static void latency_latest(struct sw_call *call)
{
    sw_latency_latest(&call->admin->timings->latency, call->reply);
}

/* As in redis, an unknown event has an empty history. */
static void latency_history(struct sw_call *call)
{
    enum sw_latency_event event = event_at(call, 2);
    if (event == SW_LATENCY_COUNT) {
        sw_text_array(call->reply, 0);
    } else {
        sw_latency_history(&call->admin->timings->latency, event, call->reply);
    }
}

static void latency_reset(struct sw_call *call)
{
    struct sw_latency *latency = &call->admin->timings->latency;
    uint64_t count = 0;
    for (int event = 0; call->count == 2 && event < SW_LATENCY_COUNT; event++) {
        count += sw_latency_reset(latency, (enum sw_latency_event)event);
    }
    for (uint32_t i = 2; i < call->count; i++) {
        enum sw_latency_event event = event_at(call, i);
        count += event != SW_LATENCY_COUNT && sw_latency_reset(latency, event);
    }
    sw_text_unsigned(call->reply, count);
}

static bool is_wanted(const struct sw_call *call, const struct sw_command *command)
{
    bool wanted = call->count == 2;
    for (uint32_t i = 2; i < call->count && !wanted; i++) {
        wanted = sw_command_find(call->arguments[i].text, call->arguments[i].size) == command;
    }
    return wanted;
}

/* Only commands that were called have a histogram. */
static void latency_histogram(struct sw_call *call)
{
    const struct sw_latency *latency = &call->admin->timings->latency;
    bool shown[SW_COMMAND_COUNT];
    uint64_t count = 0;
    for (int id = 0; id < SW_COMMAND_COUNT; id++) {
        shown[id] = is_wanted(call, sw_command_at((enum sw_command_id)id)) &&
                    sw_latency_calls(latency, (enum sw_command_id)id) > 0;
        count += shown[id];
    }
    sw_text_map(call->reply, count, call->session->resp3);
    for (int id = 0; id < SW_COMMAND_COUNT; id++) {
        if (shown[id]) {
            sw_text_bulk_string(call->reply, sw_command_at((enum sw_command_id)id)->name);
            sw_latency_histogram(latency, (enum sw_command_id)id, call->session->resp3,
                                 call->reply);
        }
    }
}

static void latency_doctor(struct sw_call *call)
{
    struct sw_timings *timings = call->admin->timings;
    struct sw_text report;
    sw_text_init(&report, REPORT_BYTES_MAX);
    sw_latency_doctor(&timings->latency, SW_LIVE(timings->config->latency_monitor_threshold),
                      &report);
    sw_text_verbatim(call->reply, report.data, report.size, call->session->resp3);
    call->reply->failed = call->reply->failed || report.failed;
    sw_text_fini(&report);
}

void sw_call_latency(struct sw_call *call)
{
    static const struct sw_subcommand list[] = {
        {"DOCTOR", 2, latency_doctor, "", "Return the recorded events, with advice."},
        {"HISTOGRAM", -2, latency_histogram, "[command ...]",
         "Return how many calls of commands took up to 1, 2, 4, .. microseconds."},
        {"HISTORY", 3, latency_history, "<event>", "Return time and milliseconds of an event."},
        {"LATEST", 2, latency_latest, "",
         "Return for each event the time of the last one, its milliseconds, and the longest."},
        {"RESET", -2, latency_reset, "[event ...]", "Remove these events, or all."},
        {NULL, 0, NULL, NULL, NULL}};
    sw_call_subcommand(call, list);
}
