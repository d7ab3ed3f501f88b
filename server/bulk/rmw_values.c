/* SPDX-License-Identifier: MIT
 *
 * rmw_values.c - computes values that depend on earlier ones, for arrays of keys.
 *
 * A map has the last operation on each key so far. If a key occurs again, the value after that
 * operation is the value before this one. At the end the last write of each changed key moves to
 * the front of the arrays. It only replaces entries that were read before.
 */
#include "server/bulk/rmw_values.h"

#include <string.h>

#include "server/batch/blob.h"

static bool is_set(const uint64_t *bits, uint32_t i)
{
    return (bits[i / 64] >> (i % 64) & 1) != 0;
}

static void set_row_bit(uint64_t *bits, uint32_t i, bool value)
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

/* Places the arrays that are not in the bodies in `memory`, and returns their bytes. If `memory` is
 * NULL, only measures. */
static uint64_t lay_out(struct sw_rmw_values *rmw, uint8_t *memory, bool has_values, bool has_found)
{
    const uint64_t n = rmw->count, values = n * rmw->shape->value_bytes;
    uint64_t used = 0;
    if (!has_values) {
        rmw->previous = carve(memory, &used, values);
    }
    if (!has_found) {
        rmw->found = carve(memory, &used, sw_found_bytes(rmw->count));
    }
    if (rmw->shape->expires) {
        rmw->expires = carve(memory, &used, n * sizeof(*rmw->expires));
    }
    rmw->last = carve(memory, &used, sw_found_bytes(rmw->count));
    rmw->map = carve(memory, &used, map_places(rmw->count) * sizeof(*rmw->map));
    return used;
}

uint64_t sw_rmw_values_bytes(const struct sw_table_shape *shape, const struct sw_request *request)
{
    struct sw_rmw_values rmw = {.shape = shape, .count = request->count};
    return sw_operation_is_rmw(request->operation)
               ? lay_out(&rmw, NULL, request->want_values, !request->declines_found)
               : 0;
}

void sw_rmw_values_begin(struct sw_rmw_values *rmw, const struct sw_table_shape *shape,
                         const struct sw_request *request, void *keys, void *operands,
                         void *previous, uint64_t *found, void *memory, uint64_t seed)
{
    const uint32_t bytes = shape->value_bytes;
    *rmw = (struct sw_rmw_values){
        .shape = shape,
        .count = request->count,
        .seed = seed | 1,
        .keys = keys,
        .operands = operands,
        .operand_bytes = sw_request_operand_bytes(request),
        .previous = previous,
        .found = found,
        .map_mask = (uint32_t)(map_places(request->count) - 1),
    };
    lay_out(rmw, memory, previous != NULL, found != NULL);
    memset(rmw->map, 0, (rmw->map_mask + 1ULL) * sizeof(*rmw->map));
    memset(rmw->last, 0, sw_found_bytes(rmw->count));
    /* in the place of the second value of each pair */
    rmw->value_stride = rmw->operand_bytes;
    rmw->values = (uint8_t *)operands + (rmw->operand_bytes - bytes);
    rmw->writes = operands;
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

/* Computes the value after operation i. Returns true if the operation writes. */
static bool make_value(const struct sw_rmw_values *rmw, uint32_t i, bool found)
{
    const uint32_t bytes = rmw->shape->value_bytes;
    const uint8_t *before = rmw->previous + (size_t)i * bytes;
    const uint8_t *operand = rmw->operands + (size_t)i * rmw->operand_bytes;
    uint8_t *value = rmw->values + (size_t)i * rmw->value_stride;
    const bool writes = found && are_equal(rmw->shape, before, operand);
    if (!writes) {
        memcpy(value, before, bytes);
    }
    return writes;
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Returns the place of a key in the map: the place of its last operation, or an empty place. */
static uint32_t *place_of(const struct sw_rmw_values *rmw, uint64_t key, uint64_t *steps)
{
    const uint32_t key_bytes = rmw->shape->key_bytes;
    uint64_t mixed = (key ^ rmw->seed) * 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ mixed >> 32) * rmw->seed;
    uint32_t at = (uint32_t)(mixed >> 32) & rmw->map_mask;
    while (rmw->map[at] != 0 && sw_integer_at(rmw->keys, key_bytes, rmw->map[at] - 1) != key) {
        at = (at + 1) & rmw->map_mask;
        *steps += 1;
    }
    return &rmw->map[at];
}

static void compute_next_value(struct sw_rmw_values *rmw, uint64_t *steps)
{
    const uint32_t i = rmw->at++, bytes = rmw->shape->value_bytes;
    uint32_t *place = place_of(rmw, sw_integer_at(rmw->keys, rmw->shape->key_bytes, i), steps);
    bool found = is_set(rmw->found, i), has_changed = false;
    if (*place != 0) {
        const uint32_t before = *place - 1;
        memcpy(rmw->previous + (size_t)i * bytes, rmw->values + (size_t)before * rmw->value_stride,
               bytes);
        has_changed = is_set(rmw->last, before);
        found |= has_changed; /* a write leaves the key present */
        set_row_bit(rmw->last, before, false);
    }
    *place = i + 1;
    if (rmw->default_at != 0 && !is_set(rmw->found, i)) {
        rmw->expires[i] = rmw->default_at;
    }
    const bool writes = make_value(rmw, i, found);
    set_row_bit(rmw->last, i, has_changed || writes);
    set_row_bit(rmw->found, i, writes);
    rmw->hits += writes;
}

/* Moves the write of operation `gathered`, if it has one, behind the writes moved before. */
static void gather(struct sw_rmw_values *rmw)
{
    const uint32_t i = rmw->gathered++, n = rmw->write_count;
    const uint32_t key_bytes = rmw->shape->key_bytes, bytes = rmw->shape->value_bytes;
    if (!is_set(rmw->last, i)) {
        return;
    }
    sw_integer_put(rmw->keys, key_bytes, n, sw_integer_at(rmw->keys, key_bytes, i));
    memmove(rmw->writes + (size_t)n * bytes, rmw->values + (size_t)i * rmw->value_stride, bytes);
    if (rmw->expires != NULL) {
        rmw->expires[n] = rmw->expires[i];
        rmw->gives_times |= rmw->expires[n] != 0 || rmw->default_at != 0;
    }
    rmw->write_count++;
}

/* Clears the padding that the log adds to an array. */
static void pad(uint8_t *array, uint64_t bytes)
{
    memset(array + bytes, 0, sw_frame_align(bytes) - bytes);
}

bool sw_rmw_values_step(struct sw_rmw_values *rmw, uint64_t bytes)
{
    const uint64_t each = rmw->shape->value_bytes + 64U; /* and the cost to find it */
    uint64_t steps = 0;
    for (uint64_t left = bytes / each + 1; left > 0 && rmw->gathered < rmw->count;
         left -= left < 1 + steps ? left : 1 + steps) {
        steps = 0;
        if (rmw->at < rmw->count) {
            compute_next_value(rmw, &steps);
        } else {
            gather(rmw);
        }
    }
    if (rmw->gathered < rmw->count) {
        return false;
    }
    pad(rmw->keys, (uint64_t)rmw->write_count * rmw->shape->key_bytes);
    pad(rmw->writes, (uint64_t)rmw->write_count * rmw->shape->value_bytes);
    return true;
}
