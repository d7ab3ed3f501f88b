/* SPDX-License-Identifier: MIT
 *
 * combine.c - values that depend on those before, for arrays of keys.
 *
 * A map has the last operation on each key so far. Where a key is there again, what that operation
 * made of it is its value before this one. Then one write for each key that has changed, the last
 * one, is moved to the front of the arrays; nothing is moved to where it was not read yet.
 */
#include "server/bulk/combine.h"

#include <string.h>

#include "server/batch/blob.h"

static bool is_set(const uint64_t *bits, uint32_t i)
{
    return (bits[i / 64] >> (i % 64) & 1) != 0;
}

static void put(uint64_t *bits, uint32_t i, bool value)
{
    bits[i / 64] = (bits[i / 64] & ~(1ULL << (i % 64))) | (uint64_t)value << (i % 64);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Returns the number of places of the map: a power of two, at least 64 and twice the keys. */
static uint64_t map_places(uint32_t count)
{
    uint64_t places = 64;
    while (places < 2ULL * count) {
        places *= 2;
    }
    return places;
}

/* Returns the next `bytes` of *memory, which may be NULL, and adds them to *used. */
static void *carve(uint8_t *memory, uint64_t *used, uint64_t bytes)
{
    void *at = memory == NULL ? NULL : memory + *used;
    *used += sw_frame_align(bytes);
    return at;
}

/* Gives what is not in the bodies a place in `memory`; NULL only measures. */
static uint64_t lay_out(struct sw_combine *combine, uint8_t *memory, bool has_values,
                        bool has_found)
{
    const uint64_t n = combine->count, values = n * combine->shape->value_bytes;
    uint64_t used = 0;
    if (!has_values) {
        combine->previous = carve(memory, &used, values);
    }
    if (!has_found) {
        combine->found = carve(memory, &used, sw_found_bytes(combine->count));
    }
    if (combine->operation == SW_OPERATION_SETRANGE) {
        combine->values = carve(memory, &used, values);
    }
    if (combine->shape->expires) {
        combine->expires = carve(memory, &used, n * sizeof(*combine->expires));
    }
    combine->last = carve(memory, &used, sw_found_bytes(combine->count));
    combine->map = carve(memory, &used, map_places(combine->count) * sizeof(*combine->map));
    return used;
}

uint64_t sw_combine_bytes(const struct sw_table_shape *shape, const struct sw_request *request)
{
    struct sw_combine combine = {
        .shape = shape, .operation = request->operation, .count = request->count};
    return sw_operation_runs_alone(request->operation)
               ? lay_out(&combine, NULL, request->want_values, !request->declines_found)
               : 0;
}

void sw_combine_begin(struct sw_combine *combine, const struct sw_table_shape *shape,
                      const struct sw_request *request, void *keys, void *operands, void *previous,
                      uint64_t *found, void *memory, uint64_t seed)
{
    const uint32_t bytes = shape->value_bytes;
    *combine = (struct sw_combine){
        .shape = shape,
        .operation = request->operation,
        .count = request->count,
        .range_offset = request->range_offset,
        .range_bytes = request->range_bytes,
        .seed = seed | 1,
        .keys = keys,
        .operands = operands,
        .operand_bytes = sw_request_operand_bytes(request),
        .previous = previous,
        .found = found,
        .map_mask = (uint32_t)(map_places(request->count) - 1),
    };
    lay_out(combine, memory, previous != NULL, found != NULL);
    memset(combine->map, 0, (combine->map_mask + 1ULL) * sizeof(*combine->map));
    memset(combine->last, 0, sw_found_bytes(combine->count));
    if (request->operation == SW_OPERATION_SETRANGE) {
        combine->value_stride = bytes;
        combine->writes = combine->values;
    } else { /* in the place of the second value of each pair */
        combine->value_stride = combine->operand_bytes;
        combine->values = (uint8_t *)operands + (combine->operand_bytes - bytes);
        combine->writes = operands;
    }
}

/* --- one operation ---------------------------------------------------------------------------- */

/* Compares two values. Ignores the bytes behind the end of a string. */
static bool are_equal(const struct sw_table_shape *shape, const uint8_t *one, const uint8_t *other)
{
    uint32_t bytes = shape->value_bytes, others = bytes;
    if (shape->value_format == SW_VALUE_STRING) {
        one = sw_blob_at(shape, one, 0, &bytes);
        other = sw_blob_at(shape, other, 0, &others);
    }
    return bytes == others && memcmp(one, other, bytes) == 0;
}

/* The value before with the part in its place. A string gets longer if the part ends behind it,
 * with zeros where there was nothing. */
static void replace_part(const struct sw_combine *combine, uint8_t *value, const uint8_t *before,
                         const uint8_t *part)
{
    const struct sw_table_shape *shape = combine->shape;
    const uint32_t end = combine->range_offset + combine->range_bytes;
    uint32_t size;
    const uint8_t *text = sw_blob_at(shape, before, 0, &size);
    sw_blob_put(shape, value, text, size);
    if (shape->value_format == SW_VALUE_STRING) {
        size = size < end ? end : size;
        memcpy(value, &size, sizeof(size));
        value += SW_VALUE_LENGTH_BYTES;
    }
    memcpy(value + combine->range_offset, part, combine->range_bytes);
}

/* Computes the value after operation i. Returns true if the operation writes. */
static bool make_value(const struct sw_combine *combine, uint32_t i, bool found)
{
    const uint32_t bytes = combine->shape->value_bytes;
    const uint8_t *before = combine->previous + (size_t)i * bytes;
    const uint8_t *operand = combine->operands + (size_t)i * combine->operand_bytes;
    uint8_t *value = combine->values + (size_t)i * combine->value_stride;
    if (combine->operation == SW_OPERATION_SETRANGE) {
        replace_part(combine, value, before, operand);
        return true;
    }
    const bool writes = found && are_equal(combine->shape, before, operand);
    if (!writes) {
        memcpy(value, before, bytes);
    }
    return writes;
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Returns the place of a key in the map: the place of its last operation, or an empty place. */
static uint32_t *place_of(const struct sw_combine *combine, uint64_t key, uint64_t *steps)
{
    const uint32_t key_bytes = combine->shape->key_bytes;
    uint64_t mixed = (key ^ combine->seed) * 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ mixed >> 32) * combine->seed;
    uint32_t at = (uint32_t)(mixed >> 32) & combine->map_mask;
    while (combine->map[at] != 0 &&
           sw_integer_at(combine->keys, key_bytes, combine->map[at] - 1) != key) {
        at = (at + 1) & combine->map_mask;
        *steps += 1;
    }
    return &combine->map[at];
}

static void run(struct sw_combine *combine, uint64_t *steps)
{
    const uint32_t i = combine->at++, bytes = combine->shape->value_bytes;
    uint32_t *place =
        place_of(combine, sw_integer_at(combine->keys, combine->shape->key_bytes, i), steps);
    bool found = is_set(combine->found, i), has_changed = false;
    if (*place != 0) {
        const uint32_t before = *place - 1;
        memcpy(combine->previous + (size_t)i * bytes,
               combine->values + (size_t)before * combine->value_stride, bytes);
        has_changed = is_set(combine->last, before);
        found |= has_changed; /* what writes leaves the key there */
        put(combine->last, before, false);
    }
    *place = i + 1;
    if (combine->default_at != 0 && !is_set(combine->found, i)) {
        combine->expires[i] = combine->default_at;
    }
    const bool writes = make_value(combine, i, found);
    put(combine->last, i, has_changed || writes);
    found = combine->operation == SW_OPERATION_CAS ? writes : found;
    put(combine->found, i, found);
    combine->hits += found;
}

/* Moves the write of operation `gathered`, if it has one, behind the writes moved before. */
static void gather(struct sw_combine *combine)
{
    const uint32_t i = combine->gathered++, n = combine->write_count;
    const uint32_t key_bytes = combine->shape->key_bytes, bytes = combine->shape->value_bytes;
    if (!is_set(combine->last, i)) {
        return;
    }
    sw_integer_put(combine->keys, key_bytes, n, sw_integer_at(combine->keys, key_bytes, i));
    memmove(combine->writes + (size_t)n * bytes,
            combine->values + (size_t)i * combine->value_stride, bytes);
    if (combine->expires != NULL) {
        combine->expires[n] = combine->expires[i];
        combine->gives_times |= combine->expires[n] != 0 || combine->default_at != 0;
    }
    combine->write_count++;
}

/* Clears the padding that the log adds to an array. */
static void pad(uint8_t *array, uint64_t bytes)
{
    memset(array + bytes, 0, sw_frame_align(bytes) - bytes);
}

bool sw_combine_step(struct sw_combine *combine, uint64_t bytes)
{
    const uint64_t each = combine->shape->value_bytes + 64U; /* and what it takes to find it */
    uint64_t steps = 0;
    for (uint64_t left = bytes / each + 1; left > 0 && combine->gathered < combine->count;
         left -= left < 1 + steps ? left : 1 + steps) {
        steps = 0;
        if (combine->at < combine->count) {
            run(combine, &steps);
        } else {
            gather(combine);
        }
    }
    if (combine->gathered < combine->count) {
        return false;
    }
    pad(combine->keys, (uint64_t)combine->write_count * combine->shape->key_bytes);
    pad(combine->writes, (uint64_t)combine->write_count * combine->shape->value_bytes);
    return true;
}
