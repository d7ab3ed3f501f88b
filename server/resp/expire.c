/* SPDX-License-Identifier: MIT
 *
 * expire.c - reading times, and the options of EXPIRE.
 */
#include "server/resp/expire.h"

#include <stdio.h>

#include "server/resp/admin_call.h"
#include "server/resp/resp.h"
#include "table/expiring.h"

uint64_t sw_expire_now(const struct sw_resp *resp)
{
    return sw_table_clock(resp->batches->table, sw_flight_wall_ms());
}

enum sw_time_form sw_time_form_of(const struct sw_resp_argument *option)
{
    return sw_argument_is(option, "EX")     ? SW_TIME_EX
           : sw_argument_is(option, "PX")   ? SW_TIME_PX
           : sw_argument_is(option, "EXAT") ? SW_TIME_EXAT
           : sw_argument_is(option, "PXAT") ? SW_TIME_PXAT
                                            : SW_TIME_NONE;
}

enum sw_time_form sw_time_form_of_command(enum sw_command_id id)
{
    switch (id) {
    case SW_COMMAND_EXPIRE:
    case SW_COMMAND_SETEX:
        return SW_TIME_EX;
    case SW_COMMAND_PEXPIRE:
    case SW_COMMAND_PSETEX:
        return SW_TIME_PX;
    case SW_COMMAND_EXPIREAT:
        return SW_TIME_EXAT;
    default:
        return SW_TIME_PXAT;
    }
}

bool sw_time_read(struct sw_resp *resp, const struct sw_command *command, enum sw_time_form form,
                  const struct sw_resp_argument *argument, bool positive, uint64_t *at, char *line,
                  size_t line_size)
{
    int64_t time = 0;
    if (!sw_argument_integer(argument, &time)) {
        snprintf(line, line_size, "ERR value is not an integer or out of range");
        return false;
    }
    bool fits = !positive || time > 0;
    if (form == SW_TIME_EX || form == SW_TIME_EXAT) {
        fits = fits && time <= INT64_MAX / 1000 && time >= INT64_MIN / 1000;
        time = fits ? time * 1000 : 0;
    }
    if (form == SW_TIME_EX || form == SW_TIME_PX) {
        const int64_t now = (int64_t)sw_expire_now(resp);
        fits = fits && time <= INT64_MAX - now;
        time = fits ? time + now : 0;
    }
    if (!fits) {
        snprintf(line, line_size, "ERR invalid expire time in '%s' command", command->name);
        return false;
    }
    *at = time < 1 ? 1 : (uint64_t)time;
    return true;
}

bool sw_expire_options(const struct sw_resp_command *arguments, enum sw_op *op, char *line,
                       size_t line_size)
{
    bool nx = false, xx = false, gt = false, lt = false;
    for (uint32_t i = 3; i < arguments->count; i++) {
        const struct sw_resp_argument *option = &arguments->arguments[i];
        if (sw_argument_is(option, "NX")) {
            nx = true;
        } else if (sw_argument_is(option, "XX")) {
            xx = true;
        } else if (sw_argument_is(option, "GT")) {
            gt = true;
        } else if (sw_argument_is(option, "LT")) {
            lt = true;
        } else {
            snprintf(line, line_size, "ERR Unsupported option %.*s",
                     option->size < 64 ? (int)option->size : 64, (const char *)option->text);
            return false;
        }
    }
    if (nx && (xx || gt || lt)) {
        snprintf(line, line_size,
                 "ERR NX and XX, GT or LT options at the same time are not compatible");
        return false;
    }
    if (gt && lt) {
        snprintf(line, line_size, "ERR GT and LT options at the same time are not compatible");
        return false;
    }
    *op = nx         ? SW_EXPIRE_NONE
          : gt       ? SW_EXPIRE_LATER
          : lt && xx ? SW_EXPIRE_SHORTEN
          : lt       ? SW_EXPIRE_EARLIER
          : xx       ? SW_EXPIRE_SOME
                     : SW_EXPIRE;
    return true;
}

bool sw_expire_some(const struct sw_resp *resp)
{
    return resp->batches->shape.expires && sw_table_may_expire(resp->batches->table);
}
