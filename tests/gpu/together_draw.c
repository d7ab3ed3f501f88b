/* SPDX-License-Identifier: MIT
 *
 * together_draw.c - random batches for a round.
 *
 * They are drawn into I/O memory of the oracle's table. Behind every output lies a guard; arrays
 * are aligned no better than they must be.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/together.h"

#define UNWRITTEN 0xA6 /* in outputs */
#define LARGE_MIN 1000
#define LARGE_MAX TOGETHER_COUNT_MAX
#define SMALL_UNIVERSE 40

/* Distinct numbers have distinct, scattered keys. */
static uint64_t key_of(const struct together *together, uint64_t number)
{
    return together->info.key_bytes == 4 ? (uint32_t)number * 0x9e3779b1U
                                         : number * 0x9e3779b97f4a7c15ULL;
}

static uint64_t below(struct together *together, uint64_t bound)
{
    return random_below(&together->random, bound);
}

/* True as often as `percent` of a hundred times. */
static bool chance(struct together *together, uint32_t percent)
{
    return below(together, 100) < percent;
}

/* --- drawing batches -------------------------------------------------------------------------- */

/* How values must be aligned. */
static size_t value_align(const struct together *together)
{
    if (together->info.engine != SW_ENGINE_CACHE) {
        return together->info.value_bytes;
    }
    return together->info.value_bytes % 16 == 0 ? 16 : 4;
}

/* An array of both memories. Returns where it begins: at an odd multiple of `align`, which
 * arrays that need no more may. */
static size_t place(struct together *together, size_t bytes, size_t align)
{
    size_t at = (together->used + align - 1) / align * align;
    if (at / align % 2 == 0) {
        at += align;
    }
    together->used = at + bytes;
    if (together->used > together->memory_bytes) {
        fprintf(stderr, "together: %zu bytes are not enough\n", together->memory_bytes);
        abort();
    }
    return at;
}

static size_t place_output(struct together *together, struct together_part *part, size_t bytes,
                           size_t align)
{
    size_t at = place(together, bytes, align);
    memset(together->memory[0] + at, UNWRITTEN, bytes);
    memset(together->memory[0] + at + bytes, TOGETHER_GUARD, TOGETHER_GUARD_BYTES);
    part->guards[part->guard_count++] = at + bytes;
    together->used += TOGETHER_GUARD_BYTES;
    return at;
}

static bool has(const struct together *together, uint32_t op)
{
    return (together->info.operations >> op & 1) != 0;
}

/* An operation the tables have, in [first, end). */
static uint8_t draw_op(struct together *together, uint32_t first, uint32_t end)
{
    uint32_t op;
    do {
        op = first + (uint32_t)below(together, end - first);
    } while (!has(together, op));
    return (uint8_t)op;
}

/* Kinds of batches by their operations. */
enum form { ONE_OPERATION, MIXED, DELETES_AND_READS };

/* What all operations of a batch do. */
static enum sw_op draw_one(struct together *together, const struct together_round *round)
{
    if (round->reads && chance(together, 20)) {
        return SW_GET;
    }
    if (round->op != SW_GET && chance(together, 98)) {
        return round->op;
    }
    return chance(together, round->deletes) ? SW_DELETE
                                            : (enum sw_op)draw_op(together, SW_SET, SW_DELETE);
}

/* Unless the round has reads, there is a write in every batch. Returns whether operands are due. */
static bool draw_ops(struct together *together, const struct together_round *round,
                     struct sw_batch *batch)
{
    enum form form = round->op != SW_GET || chance(together, 60) ? ONE_OPERATION
                     : chance(together, 80)                      ? MIXED
                                                                 : DELETES_AND_READS;
    batch->op = form == ONE_OPERATION ? draw_one(together, round) : SW_DELETE;
    if (form == ONE_OPERATION && !chance(together, 10)) {
        return batch->op != SW_GET && batch->op != SW_DELETE;
    }
    uint8_t *ops = together->memory[0] + place(together, batch->count, 1);
    memset(ops, (int)batch->op, batch->count);
    for (uint32_t i = round->reads ? 0 : 1; form != ONE_OPERATION && i < batch->count; i++) {
        ops[i] = form == MIXED          ? draw_op(together, SW_GET, SW_DELETE + 1)
                 : chance(together, 50) ? (uint8_t)SW_GET
                                        : (uint8_t)SW_DELETE;
    }
    if (form == MIXED) {
        ops[below(together, batch->count)] = draw_op(together, SW_SET, SW_DELETE + 1);
    }
    batch->ops = ops;
    batch->op = (enum sw_op)draw_op(together, SW_GET, SW_DELETE + 1); /* counts for nothing */
    return form != DELETES_AND_READS;
}

static void draw_keys(struct together *together, const struct together_round *round,
                      struct together_part *part)
{
    struct sw_batch *batch = &part->batch[0];
    size_t bytes = together->info.key_bytes;
    uint8_t *keys = together->memory[0] + place(together, batch->count * bytes, bytes);
    bool fresh = chance(together, round->fresh);
    bool few = chance(together, 30);
    for (uint32_t i = 0; i < batch->count; i++) {
        uint64_t bound = few && round->universe > SMALL_UNIVERSE ? SMALL_UNIVERSE : round->universe;
        uint64_t number =
            fresh && !chance(together, 20) ? together->next_fresh++ : below(together, bound);
        uint64_t key = number == 1 ? UINT64_MAX : key_of(together, number);
        memcpy(keys + i * bytes, &key, bytes);
    }
    batch->keys = keys;
}

/* Integers are small, large or any; they overflow now and then. */
static void draw_values(struct together *together, struct together_part *part)
{
    struct sw_batch *batch = &part->batch[0];
    size_t bytes = (size_t)batch->count * together->info.value_bytes;
    uint8_t *values = together->memory[0] + place(together, bytes, value_align(together));
    uint32_t unit = together->info.engine == SW_ENGINE_CACHE ? 4 : together->info.value_bytes;
    uint64_t likely = below(together, 3);
    for (size_t i = 0; i < bytes; i += unit) {
        uint64_t word = random_next(&together->random);
        uint64_t kind = chance(together, 70) ? likely : word % 3;
        word = kind == 0 ? word % 1000 : kind == 1 ? UINT64_MAX - word % 1000 : word;
        memcpy(values + i, &word, unit);
    }
    batch->values = values;
}

/* Draws no group, or 1 to `count` groups, some of them empty; rarely more than `count`. */
static void draw_groups(struct together *together, struct together_part *part)
{
    struct sw_batch *batch = &part->batch[0];
    uint32_t count = batch->count;
    uint32_t groups = chance(together, 5)    ? count + 1 + (uint32_t)below(together, 3)
                      : chance(together, 40) ? 1 + (uint32_t)below(together, count)
                      : chance(together, 40) ? 1 + (uint32_t)below(together, 1 + count / 8)
                                             : 0;
    if (groups == 0) {
        return;
    }
    uint32_t *ends =
        (uint32_t *)(void *)(together->memory[0] + place(together, groups * sizeof(*ends), 4));
    uint32_t end = 0;
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t rest = count - end;
        uint64_t step = below(together, 2 * (uint64_t)(rest / (groups - g)) + 2);
        end += step < rest ? (uint32_t)step : rest;
        ends[g] = g == groups - 1 ? count : end;
    }
    batch->group_count = groups;
    batch->group_ends = ends;
    batch->group_refused = together->memory[0] + place_output(together, part, groups, 1);
}

static void draw_outputs(struct together *together, struct together_part *part)
{
    struct sw_batch *batch = &part->batch[0];
    size_t bytes = (size_t)batch->count * together->info.value_bytes;
    size_t align = value_align(together);
    size_t bits_bytes = ((size_t)batch->count + 63) / 64 * 8;
    uint8_t *base = together->memory[0];
    if (chance(together, 60)) {
        batch->previous = base + place_output(together, part, bytes, align);
    }
    if (chance(together, 60)) {
        batch->found = (void *)(base + place_output(together, part, bits_bytes, 8));
    }
    if (together->info.engine == SW_ENGINE_CACHE && chance(together, 60)) {
        batch->not_admitted = (void *)(base + place_output(together, part, bits_bytes, 8));
    }
    bool needs = together->info.engine == SW_ENGINE_ROBIN_HOOD && together->info.stash_slots == 0;
    if (needs || chance(together, 4)) { /* such a batch is launched alone */
        batch->leftover_keys =
            base + place_output(together, part, (size_t)batch->count * together->info.key_bytes,
                                together->info.key_bytes);
        batch->leftover_values = base + place(together, bytes, align);
    }
}

/* The same place in the other table's memory. */
static void *other(const struct together *together, const void *array)
{
    if (array == NULL) {
        return NULL;
    }
    return together->memory[1] + ((const uint8_t *)array - together->memory[0]);
}

static void copy_batch(struct together *together, struct together_part *part)
{
    const struct sw_batch *from = &part->batch[0];
    struct sw_batch *to = &part->batch[1];
    *to = *from;
    to->ops = other(together, from->ops);
    to->keys = other(together, from->keys);
    to->values = other(together, from->values);
    to->previous = other(together, from->previous);
    to->found = other(together, from->found);
    to->not_admitted = other(together, from->not_admitted);
    to->group_ends = other(together, from->group_ends);
    to->group_refused = chance(together, 90) ? other(together, from->group_refused) : NULL;
    to->leftover_keys = other(together, from->leftover_keys);
    to->leftover_values = other(together, from->leftover_values);
}

static uint32_t draw_count(struct together *together, const struct together_round *round)
{
    uint64_t rest = round->operations - together->round_operations;
    if (rest > round->operations || rest < round->count_max) {
        return 1 + (uint32_t)below(together, 3);
    }
    uint32_t most =
        together->info.batch_ops_max < LARGE_MAX ? together->info.batch_ops_max : LARGE_MAX;
    if (most > LARGE_MIN && rest >= most && chance(together, round->large)) {
        return LARGE_MIN + (uint32_t)below(together, most - LARGE_MIN + 1);
    }
    return 1 + (uint32_t)below(together, round->count_max);
}

static void draw_part(struct together *together, const struct together_round *round,
                      struct together_part *part, uint32_t number)
{
    struct sw_batch *batch = &part->batch[0];
    memset(part, 0, sizeof(*part));
    part->queue = number % round->queues;
    batch->stream = round->reads ? 0 : (uint32_t)below(together, 100);
    if (round->clears && chance(together, 2)) {
        batch->kind = SW_BATCH_CLEAR;
        part->batch[1] = *batch;
        return;
    }
    batch->kind = SW_BATCH_OPERATIONS;
    batch->count = draw_count(together, round);
    bool operands = draw_ops(together, round, batch);
    draw_keys(together, round, part);
    if (operands || chance(together, 20)) {
        draw_values(together, part);
    }
    draw_groups(together, part);
    draw_outputs(together, part);
    copy_batch(together, part);
    together->round_operations += batch->count;
}

void together_draw(struct together *together, const struct together_round *round)
{
    together->used = 0;
    together->round_operations = 0;
    for (uint32_t p = 0; p < round->batches; p++) {
        draw_part(together, round, &together->parts[p], p);
    }
}
