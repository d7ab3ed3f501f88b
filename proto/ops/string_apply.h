/* SPDX-License-Identifier: MIT
 *
 * string_apply.h - the effect of INCRBY, INCRBYFLOAT and APPEND on a row that is a string, for host
 * and device. A string is a length of 4 bytes, the lowest first, that many bytes, and zeros. The
 * results and the reasons to refuse one are those of redis.
 *
 * Threads: pure functions of their arguments.
 */
#ifndef SHERWOOD_OPS_STRING_APPLY_H
#define SHERWOOD_OPS_STRING_APPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/ops/decimal_float.h"

#define SW_STRING_HEAD_BYTES 4U
/* The longest text of a result of INCRBY and INCRBYFLOAT. */
#define SW_NUMBER_TEXT_BYTES SW_FLOAT_TEXT_BYTES

/* Why an operation leaves the string as it was. */
enum sw_string_fault {
    SW_STRING_DONE,
    SW_STRING_NO_INTEGER, /* the string, or the operand, is not an integer as redis writes it */
    SW_STRING_NO_FLOAT,
    SW_STRING_OVERFLOWS,  /* 64 bits, signed */
    SW_STRING_NOT_FINITE, /* the sum */
    SW_STRING_TOO_LONG    /* the row has no room for the result */
};

struct sw_string {
    const uint8_t *bytes;
    uint32_t size;
};

/* Memory of a computation. On a device it may be shared memory. */
struct sw_string_space {
    struct sw_float_space naturals;
    uint8_t text[SW_NUMBER_TEXT_BYTES]; /* of the result */
};

/* The string at `row`, which has room for `room` bytes. A longer length is cut. */
SW_HD static inline struct sw_string sw_string_at(const uint8_t *row, uint32_t room)
{
    const uint32_t length =
        (uint32_t)row[0] | (uint32_t)row[1] << 8 | (uint32_t)row[2] << 16 | (uint32_t)row[3] << 24;
    return (struct sw_string){row + SW_STRING_HEAD_BYTES, length < room ? length : room};
}

SW_HD static inline void sw_string_set_size(uint8_t *row, uint32_t size)
{
    for (uint32_t i = 0; i < SW_STRING_HEAD_BYTES; i++) {
        row[i] = (uint8_t)(size >> 8 * i);
    }
}

/* --- integers --------------------------------------------------------------------------------- */

/* Reads an integer of 64 bits as redis writes it: without +, spaces, zeros in front, and -0. */
SW_HD static inline bool sw_string_integer(struct sw_string text, int64_t *out)
{
    const bool negative = text.size > 0 && text.bytes[0] == '-';
    const uint64_t limit = (uint64_t)INT64_MAX + negative;
    uint64_t value = 0;
    if (text.size == negative || text.size > 19U + negative ||
        (text.bytes[negative] == '0' && text.size > 1)) {
        return false;
    }
    for (uint32_t i = negative; i < text.size; i++) { /* 19 digits are less than 2^64 */
        const uint32_t digit = (uint32_t)text.bytes[i] - '0';
        if (digit > 9) {
            return false;
        }
        value = value * 10 + digit;
    }
    *out = (int64_t)(negative ? 0 - value : value);
    return value <= limit;
}

/* Writes an integer, with at most 20 bytes. Returns how many. */
SW_HD static inline uint32_t sw_string_put_integer(int64_t value, uint8_t *out)
{
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    uint32_t size = value < 0;
    for (uint64_t above = rest; above > 0 || size == (value < 0); above /= 10) {
        size++;
    }
    out[0] = '-';
    for (uint32_t i = size; i > (uint32_t)(value < 0); i--) {
        out[i - 1] = (uint8_t)('0' + rest % 10);
        rest /= 10;
    }
    return size;
}

SW_HD static inline enum sw_string_fault sw_string_sum_integers(bool found, struct sw_string old,
                                                                struct sw_string operand,
                                                                uint8_t *out, uint32_t *size)
{
    int64_t a = 0, b = 0;
    if ((found && !sw_string_integer(old, &a)) || !sw_string_integer(operand, &b)) {
        return SW_STRING_NO_INTEGER;
    }
    if (b < 0 ? a < INT64_MIN - b : a > INT64_MAX - b) {
        return SW_STRING_OVERFLOWS;
    }
    *size = sw_string_put_integer(a + b, out);
    return SW_STRING_DONE;
}

/* --- floats ----------------------------------------------------------------------------------- */

SW_HD static inline enum sw_string_fault sw_string_sum_floats(bool found, struct sw_string old,
                                                              struct sw_string operand,
                                                              struct sw_string_space *space,
                                                              uint32_t *size)
{
    struct sw_float_space *naturals = &space->naturals;
    struct sw_extended a = {0, 0, false}, b;
    const enum sw_float_kind kind_a =
        found ? sw_float_read(old.bytes, old.size, naturals, &a) : SW_FLOAT_FINITE;
    const enum sw_float_kind kind_b = sw_float_read(operand.bytes, operand.size, naturals, &b);
    if (kind_a == SW_FLOAT_NONE || kind_b == SW_FLOAT_NONE) {
        return SW_STRING_NO_FLOAT;
    }
    const struct sw_extended sum = sw_extended_add(a, b);
    const bool finite = kind_a == SW_FLOAT_FINITE && kind_b == SW_FLOAT_FINITE;
    *size = finite ? sw_extended_write(&sum, naturals, space->text) : 0;
    return *size == 0 ? SW_STRING_NOT_FINITE : SW_STRING_DONE;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Computes the result of INCRBY, INCRBYFLOAT or APPEND on a string in a row with room for `room`
 * bytes. Sets *size to the size of the new string. Writes the text of a new number to space->text;
 * the caller of APPEND joins the two strings itself. */
SW_HD static inline enum sw_string_fault
sw_string_after(enum sw_verb verb, bool found, struct sw_string old, struct sw_string operand,
                uint32_t room, struct sw_string_space *space, uint32_t *size)
{
    enum sw_string_fault fault = SW_STRING_DONE;
    if (verb == SW_VERB_APPEND) {
        *size = (found ? old.size : 0) + operand.size;
    } else if (verb == SW_VERB_INCRBYFLOAT) {
        fault = sw_string_sum_floats(found, old, operand, space, size);
    } else {
        fault = sw_string_sum_integers(found, old, operand, space->text, size);
    }
    return fault == SW_STRING_DONE && *size > room ? SW_STRING_TOO_LONG : fault;
}

/* Puts the bytes at `at` of the string of `row`, which ends behind them then, and zeros there. */
SW_HD static inline void sw_string_put(uint8_t *row, uint32_t at, const uint8_t *bytes,
                                       uint32_t size, uint32_t size_before)
{
    uint8_t *to = row + SW_STRING_HEAD_BYTES;
    for (uint32_t i = 0; i < size; i++) {
        to[at + i] = bytes[i];
    }
    for (uint32_t i = at + size; i < size_before; i++) {
        to[i] = 0;
    }
    sw_string_set_size(row, at + size);
}

/* The verb of one of SW_OPS_STRING. */
SW_HD static inline enum sw_verb sw_string_verb(uint32_t op)
{
#define SW_ROW(name, number, its_op, verb, guard, element, ...) \
    case (its_op):                                              \
        return (int)SW_ELEMENT_##element == (int)SW_ELEMENT_STRING ? SW_VERB_##verb : SW_VERB_READ;
    switch (op) {
        SW_OTHER_OPERATION_MAP(SW_ROW)
    default:
        return SW_VERB_READ;
    }
#undef SW_ROW
}

/* Carries out INCRBY, INCRBYFLOAT or APPEND on a row whose string has `room` bytes. The row of an
 * absent key is zeros. An absent key is inserted in any case, so that its presence never depends on
 * the bytes of a row: INCRBY and INCRBYFLOAT of an operand that is refused insert 0. */
SW_HD static inline enum sw_string_fault sw_string_apply(enum sw_verb verb, bool found,
                                                         uint8_t *row, const uint8_t *operand,
                                                         uint32_t room,
                                                         struct sw_string_space *space)
{
    const struct sw_string old = sw_string_at(row, room), more = sw_string_at(operand, room);
    uint32_t size = 0;
    const enum sw_string_fault fault = sw_string_after(verb, found, old, more, room, space, &size);
    if (fault == SW_STRING_DONE && verb == SW_VERB_APPEND) {
        sw_string_put(row, old.size, more.bytes, more.size, 0);
    } else if (fault == SW_STRING_DONE) {
        sw_string_put(row, 0, space->text, size, old.size);
    } else if (!found && verb != SW_VERB_APPEND) {
        space->text[0] = '0';
        sw_string_put(row, 0, space->text, room > 0, 0);
    }
    return fault;
}

#endif
