/* SPDX-License-Identifier: MIT
 *
 * rmw_counter.c - counters with bounds.
 */
#include "server/resp/rmw_counter.h"

#include <stdio.h>
#include <string.h>

#include "proto/decimal.h"
#include "proto/ops/string_apply.h"
#include "proto/value_type.h"
#include "server/batch/blob.h"
#include "server/batch/refusals.h"
#include "server/net/conn.h"
#include "server/resp/batch_results.h"
#include "server/resp/expire.h"
#include "server/resp/resp.h"
#include "server/resp/rmw.h"

#define NO_INTEGER "ERR value is not an integer or out of range"

/* --- the arguments ---------------------------------------------------------------------------- */

/* The options that have been seen. */
struct seen {
    bool amount, low, high, saturates, persists, enx;
    enum sw_time_form form;
    uint32_t time; /* the argument behind EX */
};

static bool counter_error(char *line, size_t line_size, const char *error)
{
    snprintf(line, line_size, "%s", error);
    return false;
}

/* Takes the option at *i, and its argument. Returns NULL or an error line. */
static const char *take_option(const struct sw_resp_command *arguments, uint32_t *i,
                               struct sw_counter *counter, struct seen *seen)
{
    const struct sw_resp_argument *words = arguments->arguments;
    const struct sw_resp_argument *option = &words[*i];
    const bool has_argument = *i + 1 < arguments->count;
    const enum sw_time_form form = sw_time_form_of(option);
    if (sw_argument_is(option, "SATURATE")) {
        seen->saturates = true;
    } else if (sw_argument_is(option, "ENX")) {
        seen->enx = true;
    } else if (sw_argument_is(option, "PERSIST") && seen->time == 0) {
        seen->persists = true;
    } else if (form != SW_TIME_NONE && has_argument && !seen->persists && seen->time == 0) {
        seen->form = form;
        seen->time = ++*i;
    } else if (sw_argument_is(option, "BYFLOAT")) {
        return "ERR INCREX has no BYFLOAT in this server: use INCRBYFLOAT";
    } else {
        const bool by = sw_argument_is(option, "BYINT"), low = sw_argument_is(option, "LBOUND");
        const bool high = sw_argument_is(option, "UBOUND");
        if (!(by || low || high) || !has_argument || (by && seen->amount) || (low && seen->low) ||
            (high && seen->high)) {
            return "ERR syntax error";
        }
        seen->amount |= by;
        seen->low |= low;
        seen->high |= high;
        ++*i;
        const struct sw_string text = {words[*i].text, words[*i].size};
        if (!sw_string_integer(text, by    ? &counter->amount
                                     : low ? &counter->low
                                           : &counter->high)) {
            return NO_INTEGER;
        }
    }
    return NULL;
}

bool sw_counter_read(struct sw_resp *resp, const struct sw_command *command,
                     const struct sw_resp_command *arguments, struct sw_counter *counter,
                     char *line, size_t line_size)
{
    const struct sw_table_shape *shape = &resp->batches->shape;
    struct seen seen = {0};
    const char *error = NULL;
    *counter = (struct sw_counter){.amount = 1, .low = INT64_MIN, .high = INT64_MAX};
    if (!SW_OPS_HAS(shape->operations, SW_INCRBY) && !SW_OPS_HAS(shape->operations, SW_INCREMENT)) {
        return counter_error(
            line, line_size,
            "ERR INCREX needs values that are integers or strings (--value-type string)");
    }
    for (uint32_t i = 2; error == NULL && i < arguments->count; i++) {
        error = take_option(arguments, &i, counter, &seen);
    }
    if (error == NULL && seen.enx && seen.persists) {
        error = "ERR syntax error";
    } else if (error == NULL && seen.enx && seen.time == 0) {
        error = "ERR ENX flag requires an expiration";
    } else if (error == NULL && counter->low > counter->high) {
        error = "ERR LBOUND is larger than UBOUND";
    }
    if (error != NULL) {
        return counter_error(line, line_size, error);
    }
    if (seen.time != 0 && !shape->expires) {
        snprintf(line, line_size, "ERR the %s engine has no INCREX EX%s", shape->engine_name,
                 sw_table_no_times(shape));
        return false;
    }
    counter->saturates = seen.saturates;
    counter->gives_time = seen.time != 0 || (seen.persists && sw_expire_some(resp));
    counter->keeps_time = seen.enx;
    return seen.time == 0 ||
           sw_time_read(resp, command, seen.form, &arguments->arguments[seen.time], true,
                        &counter->at, line, line_size);
}

/* --- deciding --------------------------------------------------------------------------------- */

/* Reads the value before, and tightens the bounds to those of the table. Returns false if the value
 * is no signed integer of 64 bits. */
static bool value_before(const struct sw_resp_batch *batch, int64_t *value,
                         struct sw_counter *counter)
{
    const struct sw_table_shape *shape = &batch->batches->shape;
    const bool found = sw_result_found(batch, 0);
    *value = 0;
    if (shape->value_format != SW_VALUE_INTEGER) {
        struct sw_string text = {NULL, 0};
        text.bytes = sw_blob_at(shape, batch->previous, 0, &text.size);
        return !found || sw_string_integer(text, value);
    }
    const uint64_t number = found ? sw_integer_at(batch->previous, shape->value_bytes, 0) : 0;
    const int64_t most = shape->value_bytes == 8 ? INT64_MAX : UINT32_MAX;
    counter->low = counter->low < 0 ? 0 : counter->low;
    counter->high = counter->high > most ? most : counter->high;
    *value = (int64_t)number;
    return number <= INT64_MAX;
}

/* Stores the value as the operand, in place of that of the read. Returns false if its row has no
 * room. */
static bool put_value(struct sw_resp_batch *batch, int64_t value)
{
    const struct sw_table_shape *shape = &batch->batches->shape;
    uint8_t text[SW_NUMBER_TEXT_BYTES];
    if (shape->value_format == SW_VALUE_INTEGER) {
        sw_integer_put(batch->values, shape->value_bytes, 0, (uint64_t)value);
        return true;
    }
    const uint32_t size = sw_string_put_integer(value, text);
    if (size > shape->blob_bytes_max) {
        return false;
    }
    sw_blob_put(shape, batch->values, text, size);
    return true;
}

/* Sets the expiry time that the command gives, if it gives one. */
static void give_time(const struct sw_counter *counter, struct sw_resp_batch *batch)
{
    const bool expires =
        batch->shows_times && sw_result_found(batch, 0) && batch->expires_out[0] != 0;
    if (counter->gives_time && !(counter->keeps_time && expires)) {
        batch->gives_times = true;
        batch->expires[0] = counter->at;
    }
}

uint32_t sw_counter_decide(struct sw_rmw *rmw)
{
    struct sw_resp_batch *batch = &rmw->replies.batch;
    struct sw_counter counter = rmw->counter;
    int64_t before = 0, after = 0, added = 0;
    struct sw_text *text = sw_rmw_reply(rmw);
    if (!value_before(batch, &before, &counter)) {
        sw_text_error(text, NO_INTEGER);
        return 0;
    }
    const bool overflows = __builtin_add_overflow(before, counter.amount, &after);
    const bool above = overflows ? counter.amount > 0 : after > counter.high;
    const bool below = overflows ? counter.amount < 0 : after < counter.low;
    const bool writes = (!above && !below) || (counter.saturates && counter.low <= counter.high);
    if (writes) {
        after = above ? counter.high : below ? counter.low : after;
        if (__builtin_sub_overflow(after, before, &added)) {
            added = after > before ? INT64_MAX : INT64_MIN;
        }
        if (!put_value(batch, after)) {
            sw_text_error(text, SW_LONG_VALUE_LINE);
            return 0;
        }
        batch->ops[0] = SW_SET;
        give_time(&counter, batch);
    }
    sw_text_array(text, 2);
    sw_text_integer(text, writes ? after : before);
    sw_text_integer(text, added);
    return writes;
}

const char *sw_counter_amount(const struct sw_command *command,
                              const struct sw_resp_command *arguments, int64_t *amount)
{
    *amount = 1;
    if (arguments->count > 2) {
        const struct sw_resp_argument *text = &arguments->arguments[2];
        if (!sw_string_integer((struct sw_string){text->text, text->size}, amount)) {
            return NO_INTEGER;
        }
    }
    if (command->id == SW_COMMAND_DECR || command->id == SW_COMMAND_DECRBY) {
        if (*amount == INT64_MIN) {
            return "ERR decrement would overflow";
        }
        *amount = -*amount;
    }
    return NULL;
}
