/* SPDX-License-Identifier: MIT
 *
 * combined_draw.c - random batches for a round.
 *
 * They are drawn into I/O memory of the oracle's table. Behind every output lies a guard; arrays
 * are aligned no better than they must be.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/combined.h"
#include "tests/support/ops.h"

#define UNWRITTEN 0xA6 /* in outputs */
#define LARGE_MIN 1000
#define LARGE_MAX COMBINED_COUNT_MAX
#define SMALL_UNIVERSE 40

/* Distinct numbers have distinct, scattered keys. */
static uint64_t key_of(const struct combined *combined, uint64_t number)
{
    return combined->info.key_bytes == 4 ? (uint32_t)number * 0x9e3779b1U
                                         : number * 0x9e3779b97f4a7c15ULL;
}

static uint64_t below(struct combined *combined, uint64_t bound)
{
    return random_below(&combined->random, bound);
}

/* True as often as `percent` of a hundred times. */
static bool chance(struct combined *combined, uint32_t percent)
{
    return below(combined, 100) < percent;
}

/* --- drawing batches -------------------------------------------------------------------------- */

/* How values must be aligned. */
static size_t value_align(const struct combined *combined)
{
    if (combined->info.engine != SW_ENGINE_CACHE) {
        return combined->info.value_bytes;
    }
    return combined->info.value_bytes % 16 == 0 ? 16 : 4;
}

/* An array of both memories. Returns where it begins: at an odd multiple of `align`, which
 * arrays that need no more may. */
static size_t place(struct combined *combined, size_t bytes, size_t align)
{
    size_t at = (combined->used + align - 1) / align * align;
    if (at / align % 2 == 0) {
        at += align;
    }
    combined->used = at + bytes;
    if (combined->used > combined->memory_bytes) {
        fprintf(stderr, "combined: %zu bytes are not enough\n", combined->memory_bytes);
        abort();
    }
    return at;
}

static size_t place_output(struct combined *combined, struct combined_part *part, size_t bytes,
                           size_t align)
{
    size_t at = place(combined, bytes, align);
    memset(combined->memory[0] + at, UNWRITTEN, bytes);
    memset(combined->memory[0] + at + bytes, COMBINED_GUARD, COMBINED_GUARD_BYTES);
    part->guards[part->guard_count++] = at + bytes;
    combined->used += COMBINED_GUARD_BYTES;
    return at;
}

#define ALL SW_OPS_INTEGERS
#define WRITES (SW_OPS_INTEGERS & ~SW_OPS_READ)
#define UPSERTS (WRITES & ~SW_OPS_DELETE)

/* An operation of the set that the tables have. */
static uint8_t draw_op(struct combined *combined, uint64_t set)
{
    const uint64_t had = set & combined->info.operations;
    return (uint8_t)ops_at(had, (uint32_t)below(combined, OPS_COUNT(had)));
}

/* Kinds of batches by their operations. */
enum form { ONE_OPERATION, MIXED, DELETES_AND_READS };

/* What all operations of a batch do. */
static enum sw_op draw_one(struct combined *combined, const struct combined_round *round)
{
    if (round->reads && chance(combined, 20)) {
        return SW_GET;
    }
    if (round->op != SW_GET && chance(combined, 98)) {
        return round->op;
    }
    return chance(combined, round->deletes) ? SW_DELETE : (enum sw_op)draw_op(combined, UPSERTS);
}

/* Unless the round has reads, there is a write in every batch. Returns whether operands are due. */
static bool draw_ops(struct combined *combined, const struct combined_round *round,
                     struct sw_batch *batch)
{
    enum form form = round->op != SW_GET || chance(combined, 60) ? ONE_OPERATION
                     : chance(combined, 80)                      ? MIXED
                                                                 : DELETES_AND_READS;
    batch->op = form == ONE_OPERATION ? draw_one(combined, round) : SW_DELETE;
    if (form == ONE_OPERATION && !chance(combined, 10)) {
        return batch->op != SW_GET && batch->op != SW_DELETE;
    }
    uint8_t *ops = combined->memory[0] + place(combined, batch->count, 1);
    memset(ops, (int)batch->op, batch->count);
    for (uint32_t i = round->reads ? 0 : 1; form != ONE_OPERATION && i < batch->count; i++) {
        ops[i] = form == MIXED          ? draw_op(combined, ALL)
                 : chance(combined, 50) ? (uint8_t)SW_GET
                                        : (uint8_t)SW_DELETE;
    }
    if (form == MIXED) {
        ops[below(combined, batch->count)] = draw_op(combined, WRITES);
    }
    batch->ops = ops;
    batch->op = (enum sw_op)draw_op(combined, ALL); /* counts for nothing */
    return form != DELETES_AND_READS;
}

static void draw_keys(struct combined *combined, const struct combined_round *round,
                      struct combined_part *part)
{
    struct sw_batch *batch = &part->batch[0];
    size_t bytes = combined->info.key_bytes;
    uint8_t *keys = combined->memory[0] + place(combined, batch->count * bytes, bytes);
    bool fresh = chance(combined, round->fresh);
    bool few = chance(combined, 30);
    for (uint32_t i = 0; i < batch->count; i++) {
        uint64_t bound = few && round->universe > SMALL_UNIVERSE ? SMALL_UNIVERSE : round->universe;
        uint64_t number =
            fresh && !chance(combined, 20) ? combined->next_fresh++ : below(combined, bound);
        uint64_t key = number == 1 ? UINT64_MAX : key_of(combined, number);
        memcpy(keys + i * bytes, &key, bytes);
    }
    batch->keys = keys;
}

/* Integers are small, large or any; they overflow now and then. */
static void draw_values(struct combined *combined, struct combined_part *part)
{
    struct sw_batch *batch = &part->batch[0];
    size_t bytes = (size_t)batch->count * combined->info.value_bytes;
    uint8_t *values = combined->memory[0] + place(combined, bytes, value_align(combined));
    uint32_t unit = combined->info.engine == SW_ENGINE_CACHE ? 4 : combined->info.value_bytes;
    uint64_t likely = below(combined, 3);
    for (size_t i = 0; i < bytes; i += unit) {
        uint64_t word = random_next(&combined->random);
        uint64_t kind = chance(combined, 70) ? likely : word % 3;
        word = kind == 0 ? word % 1000 : kind == 1 ? UINT64_MAX - word % 1000 : word;
        memcpy(values + i, &word, unit);
    }
    batch->values = values;
}

/* Draws no group, or 1 to `count` groups, some of them empty; rarely more than `count`. */
static void draw_groups(struct combined *combined, struct combined_part *part)
{
    struct sw_batch *batch = &part->batch[0];
    uint32_t count = batch->count;
    uint32_t groups = chance(combined, 5)    ? count + 1 + (uint32_t)below(combined, 3)
                      : chance(combined, 40) ? 1 + (uint32_t)below(combined, count)
                      : chance(combined, 40) ? 1 + (uint32_t)below(combined, 1 + count / 8)
                                             : 0;
    if (groups == 0) {
        return;
    }
    uint32_t *ends =
        (uint32_t *)(void *)(combined->memory[0] + place(combined, groups * sizeof(*ends), 4));
    uint32_t end = 0;
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t rest = count - end;
        uint64_t step = below(combined, 2 * (uint64_t)(rest / (groups - g)) + 2);
        end += step < rest ? (uint32_t)step : rest;
        ends[g] = g == groups - 1 ? count : end;
    }
    batch->group_count = groups;
    batch->group_ends = ends;
    batch->group_refused = combined->memory[0] + place_output(combined, part, groups, 1);
}

static void draw_outputs(struct combined *combined, struct combined_part *part)
{
    struct sw_batch *batch = &part->batch[0];
    size_t bytes = (size_t)batch->count * combined->info.value_bytes;
    size_t align = value_align(combined);
    size_t bits_bytes = ((size_t)batch->count + 63) / 64 * 8;
    uint8_t *base = combined->memory[0];
    if (chance(combined, 60)) {
        batch->previous = base + place_output(combined, part, bytes, align);
    }
    if (chance(combined, 60)) {
        batch->found = (void *)(base + place_output(combined, part, bits_bytes, 8));
    }
    if (combined->info.engine == SW_ENGINE_CACHE && chance(combined, 60)) {
        batch->not_admitted = (void *)(base + place_output(combined, part, bits_bytes, 8));
    }
    bool needs = combined->info.engine == SW_ENGINE_ROBIN_HOOD && combined->info.stash_slots == 0;
    if (needs || chance(combined, 4)) { /* such a batch is launched alone */
        batch->leftover_keys =
            base + place_output(combined, part, (size_t)batch->count * combined->info.key_bytes,
                                combined->info.key_bytes);
        batch->leftover_values = base + place(combined, bytes, align);
    }
}

/* The same place in the other table's memory. */
static void *other(const struct combined *combined, const void *array)
{
    if (array == NULL) {
        return NULL;
    }
    return combined->memory[1] + ((const uint8_t *)array - combined->memory[0]);
}

static void copy_batch(struct combined *combined, struct combined_part *part)
{
    const struct sw_batch *from = &part->batch[0];
    struct sw_batch *to = &part->batch[1];
    *to = *from;
    to->ops = other(combined, from->ops);
    to->keys = other(combined, from->keys);
    to->values = other(combined, from->values);
    to->previous = other(combined, from->previous);
    to->found = other(combined, from->found);
    to->not_admitted = other(combined, from->not_admitted);
    to->group_ends = other(combined, from->group_ends);
    to->group_refused = chance(combined, 90) ? other(combined, from->group_refused) : NULL;
    to->leftover_keys = other(combined, from->leftover_keys);
    to->leftover_values = other(combined, from->leftover_values);
}

static uint32_t draw_count(struct combined *combined, const struct combined_round *round)
{
    uint64_t rest = round->operations - combined->round_operations;
    if (rest > round->operations || rest < round->count_max) {
        return 1 + (uint32_t)below(combined, 3);
    }
    uint32_t most =
        combined->info.batch_ops_max < LARGE_MAX ? combined->info.batch_ops_max : LARGE_MAX;
    if (most > LARGE_MIN && rest >= most && chance(combined, round->large)) {
        return LARGE_MIN + (uint32_t)below(combined, most - LARGE_MIN + 1);
    }
    return 1 + (uint32_t)below(combined, round->count_max);
}

static void draw_part(struct combined *combined, const struct combined_round *round,
                      struct combined_part *part, uint32_t number)
{
    struct sw_batch *batch = &part->batch[0];
    memset(part, 0, sizeof(*part));
    part->queue = number % round->queues;
    batch->stream = round->reads ? 0 : (uint32_t)below(combined, 100);
    if (round->clears && chance(combined, 2)) {
        batch->kind = SW_BATCH_CLEAR;
        part->batch[1] = *batch;
        return;
    }
    batch->kind = SW_BATCH_OPERATIONS;
    batch->count = draw_count(combined, round);
    bool operands = draw_ops(combined, round, batch);
    draw_keys(combined, round, part);
    if (operands || chance(combined, 20)) {
        draw_values(combined, part);
    }
    draw_groups(combined, part);
    draw_outputs(combined, part);
    copy_batch(combined, part);
    combined->round_operations += batch->count;
}

void combined_draw(struct combined *combined, const struct combined_round *round)
{
    combined->used = 0;
    combined->round_operations = 0;
    for (uint32_t p = 0; p < round->batches; p++) {
        draw_part(combined, round, &combined->parts[p], p);
    }
}
