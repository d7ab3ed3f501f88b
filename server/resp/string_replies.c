/* SPDX-License-Identifier: MIT
 *
 * string_replies.c - the results of operations on strings and on rows of one number.
 */
#include "server/resp/string_replies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ops/number_apply.h"
#include "proto/ops/range_apply.h"
#include "server/batch/blob.h"
#include "server/batch/refusals.h"
#include "server/resp/batch_results.h"

static struct sw_string string_at(const struct sw_resp_batch *batch, const void *array, uint32_t i)
{
    struct sw_string string = {NULL, 0};
    string.bytes = sw_blob_at(&batch->batches->shape, array, i, &string.size);
    return string;
}

static enum sw_verb verb_of(const struct sw_pending *pending)
{
    return pending->kind == SW_REPLY_KIND_COUNTED ? SW_VERB_INCRBY
           : pending->kind == SW_REPLY_KIND_FLOAT ? SW_VERB_INCRBYFLOAT
                                                  : SW_VERB_APPEND;
}

/* Are values rows of a fixed size? */
static bool is_fixed(const struct sw_resp_batch *batch)
{
    return batch->batches->shape.value_format == SW_VALUE_FIXED;
}

/* Returns the length of the value after a SETRANGE, which the table carries out in any case. */
static uint32_t size_after(const struct sw_resp_batch *batch, uint32_t i)
{
    const bool has_size = is_fixed(batch) || sw_result_found(batch, i);
    return sw_range_size_after(batch->ranges[i],
                               has_size ? string_at(batch, batch->previous, i).size : 0);
}

/* Writes an f32 with the fewest digits that are read as the same number. Returns the bytes. */
static uint32_t put_f32(uint8_t *out, uint32_t bits)
{
    char digits[64];
    float number;
    int size = 0;
    memcpy(&number, &bits, sizeof(number));
    for (int precision = 1; precision <= 9; precision++) {
        size = snprintf(digits, sizeof(digits), "%.*g", precision, (double)number);
        if (strtof(digits, NULL) == number) {
            break;
        }
    }
    memcpy(out, digits, (size_t)size);
    return (uint32_t)size;
}

/* Writes an f64 with the fewest digits that are read as the same number: without an exponent, as
 * redis does, if 17 digits behind the point suffice. Returns the bytes. */
static uint32_t put_f64(uint8_t *out, uint64_t bits)
{
    char digits[SW_NUMBER_TEXT_BYTES + 1];
    double number;
    int size = 0;
    bool same = false;
    memcpy(&number, &bits, sizeof(number));
    number += 0.0; /* -0 becomes 0, as redis shows it */
    for (int places = 0; places <= 17 && !same; places++) {
        size = snprintf(digits, sizeof(digits), "%.*f", places, number);
        same = strtod(digits, NULL) == number;
    }
    for (int precision = 1; precision <= 17 && !same; precision++) {
        size = snprintf(digits, sizeof(digits), "%.*g", precision, number);
        same = strtod(digits, NULL) == number;
    }
    memcpy(out, digits, (size_t)size);
    return (uint32_t)size;
}

/* Computes the f32 or f64 of a row after an INCRBYFLOAT. If the operation only read the row,
 * the operand fits no number. `previous` NULL: the key was absent. */
static enum sw_string_fault float_after(uint32_t bytes, const uint8_t *previous,
                                        const uint8_t *operand, struct sw_string_result *result)
{
    uint64_t before = 0, amount = 0, after = 0;
    uint32_t narrow = 0;
    memcpy(&amount, operand, bytes); /* the low bytes come first */
    if (previous != NULL) {
        memcpy(&before, previous, bytes);
    }
    if (bytes == sizeof(double)) {
        if (!sw_f64_after(before, amount, &after)) {
            return SW_STRING_NOT_FINITE;
        }
        result->size = put_f64(result->space.text, after);
        return SW_STRING_DONE;
    }
    if (!sw_f32_after((uint32_t)before, (uint32_t)amount, &narrow)) {
        return SW_STRING_NOT_FINITE;
    }
    result->size = put_f32(result->space.text, narrow);
    return SW_STRING_DONE;
}

/* Computes the number of a row after the one operation of a reply. */
static enum sw_string_fault number_after(const struct sw_resp_batch *batch,
                                         const struct sw_pending *pending,
                                         struct sw_string_result *result)
{
    const uint32_t i = pending->first, bytes = batch->batches->shape.value_bytes;
    const uint8_t *operand = (const uint8_t *)batch->values + (size_t)i * bytes;
    const uint8_t *previous = (const uint8_t *)batch->previous + (size_t)i * bytes;
    uint64_t before = 0, amount = 0;
    if (pending->kind == SW_REPLY_KIND_FLOAT) {
        return float_after(batch->batches->shape.blob_bytes_max,
                           sw_result_found(batch, i) ? previous : NULL, operand, result);
    }
    memcpy(&amount, operand, sizeof(amount));
    memcpy(&before, previous, sw_result_found(batch, i) ? sizeof(before) : 0);
    if (!sw_result_present_after(batch, i) ||
        !sw_64_bits_after(batch->ops[i], before, amount, &result->number)) {
        return SW_STRING_OVERFLOWS;
    }
    if (SW_OPS_HAS(SW_OPS_I64, batch->ops[i])) {
        result->size = sw_string_put_integer((int64_t)result->number, result->space.text);
    }
    return SW_STRING_DONE;
}

/* Returns the result of the one operation of a reply, as sw_string_after does. */
static enum sw_string_fault result_of(const struct sw_resp_batch *batch,
                                      const struct sw_pending *pending,
                                      struct sw_string_result *result)
{
    const uint32_t i = pending->first, room = batch->batches->shape.blob_bytes_max;
    struct sw_string_space *space = &result->space;
    uint32_t *size = &result->size;
    if (SW_OPS_HAS(SW_OPS_PART, batch->ops[i])) {
        *size = size_after(batch, i);
        return SW_STRING_DONE;
    }
    if (is_fixed(batch)) {
        return number_after(batch, pending, result);
    }
    const bool found = sw_result_found(batch, i);
    const enum sw_verb verb = verb_of(pending);
    const struct sw_string operand = string_at(batch, batch->values, i);
    struct sw_string old = {NULL, 0};
    if (found) {
        old = string_at(batch, batch->previous, i);
    }
    const enum sw_string_fault fault =
        sw_string_after(verb, found, old, operand, room, space, size);
    /* An operation that only read the value had an operand that is invalid for an absent key
     * (data_string.inl): returns that fault. */
    return fault == SW_STRING_DONE && SW_OPS_HAS(SW_OPS_READ, batch->ops[i])
               ? sw_string_after(verb, false, old, operand, room, space, size)
               : fault;
}

const char *sw_string_reply_error(const struct sw_resp_batch *batch,
                                  const struct sw_pending *pending, struct sw_string_result *result)
{
    result->size = 0;
    result->number = 0;
    switch (result_of(batch, pending, result)) {
    case SW_STRING_NO_INTEGER:
        return "-ERR value is not an integer or out of range\r\n";
    case SW_STRING_NO_FLOAT:
        return "-ERR value is not a valid float\r\n";
    case SW_STRING_OVERFLOWS:
        return "-ERR increment or decrement would overflow\r\n";
    case SW_STRING_NOT_FINITE:
        return "-ERR increment would produce NaN or Infinity\r\n";
    case SW_STRING_TOO_LONG:
        return "-" SW_LONG_VALUE_LINE "\r\n";
    case SW_STRING_DONE:
        break;
    }
    return NULL;
}

void sw_string_reply_put(struct sw_writer *writer, const struct sw_pending *pending,
                         const struct sw_string_result *result)
{
    if (pending->kind == SW_REPLY_KIND_APPENDED) {
        sw_writer_unsigned(writer, result->size, pending->resp3);
    } else if (pending->kind == SW_REPLY_KIND_FLOAT) {
        sw_writer_bulk(writer, result->space.text, result->size);
    } else if (result->size == 0) {
        sw_writer_unsigned(writer, result->number, pending->resp3);
    } else {
        sw_writer_text(writer, ":", 1);
        sw_writer_text(writer, (const char *)result->space.text, result->size);
        sw_writer_text(writer, "\r\n", 2);
    }
}
