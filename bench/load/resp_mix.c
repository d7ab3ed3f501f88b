/* SPDX-License-Identifier: MIT
 *
 * resp_mix.c - GET, SET, INCRBY and DEL of a partition (see resp_mix.h).
 */
#include "bench/load/resp_mix.h"

#include "proto/decimal.h"
#include "proto/resp.h"

#include <string.h>

#define PUT_TEXT(out, text) sw_resp_put_bytes((out), (text), sizeof(text) - 1)

char *sw_load_resp_put_set(const struct sw_load_options *options, char *out)
{
    out = options->ttl > 0 ? PUT_TEXT(out, "*5\r\n") : PUT_TEXT(out, "*3\r\n");
    return PUT_TEXT(out, "$3\r\nSET\r\n");
}

char *sw_load_resp_put_time(const struct sw_load_options *options, char *out)
{
    if (!(options->ttl > 0)) {
        return out;
    }
    return sw_resp_put_bulk_integer(PUT_TEXT(out, "$2\r\nPX\r\n"), sw_load_ttl_ms(options));
}

char *sw_load_resp_mix_format(const struct sw_load_worker *worker, const struct sw_load_unit *unit,
                              char *out)
{
    const struct sw_load_workload *workload = worker->workload;
    for (uint32_t i = 0; i < unit->count; i++) {
        bool takes_operand = true, takes_time = false;
        switch (unit->partition->operations[i]) {
        case SW_LOAD_MIX_GET:
            out = PUT_TEXT(out, "*2\r\n$3\r\nGET\r\n");
            takes_operand = false;
            break;
        case SW_LOAD_MIX_DELETE:
            out = PUT_TEXT(out, "*2\r\n$3\r\nDEL\r\n");
            takes_operand = false;
            break;
        case SW_LOAD_MIX_SUM:
            out = PUT_TEXT(out, "*3\r\n$6\r\nINCRBY\r\n");
            break;
        default:
            out = sw_load_resp_put_set(worker->options, out);
            takes_time = true;
            break;
        }
        out = sw_resp_put_bulk_integer(out, sw_load_element(unit->keys, workload->key_bytes, i));
        if (takes_operand) {
            out = sw_resp_put_bulk_integer(
                out, sw_load_element(unit->operands, workload->value_bytes, i));
        }
        if (takes_time) {
            out = sw_load_resp_put_time(worker->options, out);
        }
    }
    return out;
}

/* Returns the number in a reply. Text that is no number becomes the largest number, which no model
 * expects. */
static uint64_t number_of(const struct sw_load_reply *reply)
{
    uint64_t value;
    return sw_decimal_parse(reply->text, reply->size, UINT64_MAX, &value) ? value : UINT64_MAX;
}

bool sw_load_resp_mix_use(struct sw_load_worker *worker, const struct sw_load_unit *unit,
                          uint32_t i, const struct sw_load_reply *reply)
{
    const uint8_t operation = unit->partition->operations[i];
    struct sw_load_answer answer = {.has_found = false};
    bool fits;
    switch (operation) {
    case SW_LOAD_MIX_GET:
        fits = reply->kind == SW_LOAD_REPLY_BULK || reply->kind == SW_LOAD_REPLY_NULL;
        answer.has_found = true;
        answer.found = answer.has_value = reply->kind == SW_LOAD_REPLY_BULK;
        worker->hits += answer.found;
        break;
    case SW_LOAD_MIX_SUM:
        fits = answer.has_value = reply->kind == SW_LOAD_REPLY_INTEGER;
        break;
    case SW_LOAD_MIX_DELETE:
        fits = reply->kind == SW_LOAD_REPLY_INTEGER && reply->size == 1 &&
               (*reply->text == '0' || *reply->text == '1');
        answer.has_found = true;
        answer.found = fits && *reply->text == '1';
        break;
    default:
        fits = reply->kind == SW_LOAD_REPLY_STATUS && reply->size == 2 &&
               memcmp(reply->text, "OK", 2) == 0;
        break;
    }
    if (!fits) {
        return false;
    }
    worker->operations[operation]++;
    if (!worker->options->no_verify) {
        answer.value = answer.has_value ? number_of(reply) : 0;
        sw_load_worker_check(worker, unit, i, &answer);
    }
    return true;
}
