/* SPDX-License-Identifier: MIT
 *
 * test_expiry_pair.c - entries that expire, in two tables: one on the CPU backend, and one on the
 * backend that is tested. Both are given the same random batches, and hold the same entries; or the
 * second one those that a log would have of the first. Answers, counters, removed keys and figures
 * must be equal, and after each step every key, every bucket and, by an image, every time.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "table/expiring.h"
#include "table/image.h"
#include "tests/support/must.h"
#include "tests/support/ops.h"
#include "tests/table/expiry_pair.h"

TestSuite(expiry_pair, .timeout = 600);

#define STEPS 240

/* --- batches ---------------------------------------------------------------------------------- */

static uint64_t draw_time(struct world *world)
{
    static const uint64_t few[] = {0, SW_EXPIRE_KEEP, 1};
    const uint64_t chance = random_below(&world->random, world->quiet > 0 ? 2 : 8);
    return chance < 3    ? few[chance]
           : chance == 3 ? world->clock
           : chance == 4 ? world->clock + 1000000
                         : world->clock + random_below(&world->random, 60);
}

static uint8_t draw_op(struct world *world)
{
    const bool of_times = random_below(&world->random, 3) == 0;
    return (uint8_t)ops_draw(&world->random, of_times ? SW_OPS_EXPIRE : world->operations);
}

/* Draws the row, or the integer, of operation i. The text of its key is the usual one. With a
 * probability of 1 / `one_of` each it is another one, or none; 0: always the usual one. */
static void draw_value(struct world *world, struct side *side, uint32_t i, uint64_t one_of)
{
    uint8_t *row = side->values + (size_t)i * world->value_bytes;
    for (uint32_t b = 0; b < world->value_bytes; b++) {
        row[b] =
            (uint8_t)(random_below(&world->random, 4) == 0 ? 255 : random_below(&world->random, 3));
    }
    if (world->text_bytes > 0) {
        uint8_t *text = row + world->value_bytes - world->text_bytes;
        const uint64_t chance = one_of == 0 ? 2 : random_below(&world->random, one_of);
        memset(text, chance == 0 ? 0 : 1, world->text_bytes);
        text[world->text_bytes - 1] = chance == 1 ? 2 : text[0];
    }
}

/* The first table's batch. */
static void draw_batch(struct world *world)
{
    struct side *side = &world->sides[0];
    const uint64_t most = random_below(&world->random, 5) > 0 ? 40 : OPS_MAX / tested_share();
    const uint32_t count = 1 + (uint32_t)random_below(&world->random, most < 64 ? 64 : most);
    const uint32_t range = 1 + (uint32_t)random_below(&world->random, KEYS);
    const uint64_t group = 1 + random_below(&world->random, 60);
    const bool one_op = random_below(&world->random, 3) == 0;
    const uint64_t one_of = random_below(&world->random, 3) * random_below(&world->random, 20);
    uint32_t groups = 0;
    for (uint32_t i = 0; i < count; i++) {
        side->ops[i] = draw_op(world);
        put_key(world, side, i, KEYS - 1 - random_below(&world->random, range));
        draw_value(world, side, i, one_of);
        side->expires[i] = draw_time(world);
        if (i + 1 == count || random_below(&world->random, group) == 0) {
            side->ends[groups++] = i + 1;
        }
    }
    world->clock += random_below(&world->random, 6);
    const bool one_time = world->quiet > 0 || random_below(&world->random, 4) == 0;
    side->batch = (struct sw_batch){.kind = SW_BATCH_OPERATIONS,
                                    .op = (enum sw_op)side->ops[0],
                                    .ops = one_op ? NULL : side->ops,
                                    .count = count,
                                    .keys = side->keys,
                                    .values = side->values,
                                    .previous = side->previous,
                                    .found = side->found,
                                    .clock_ms = world->clock - random_below(&world->random, 3),
                                    .expires = one_time ? NULL : side->expires,
                                    .expire_at = side->expires[0],
                                    .expires_out = side->expires_out,
                                    .wants_expired_keys = true};
    if (random_below(&world->random, 3) > 0) {
        side->batch.group_count = groups;
        side->batch.group_ends = side->ends;
        side->batch.group_refused = side->refused;
    }
}

/* The time that a log has of one: what has passed has passed at any clock. */
static uint64_t logged(const struct sw_batch *batch, uint64_t at)
{
    return at != 0 && at <= batch->clock_ms ? 1 : at;
}

/* The second table's batch: the same, or what the log has of the first one's, which is done. */
static void follow(struct world *world)
{
    const struct sw_batch *first = &world->sides[0].batch;
    const struct side *from = &world->sides[0];
    struct side *side = &world->sides[SECOND];
    side->batch = *first;
    memcpy(side->keys, from->keys, (size_t)first->count * world->key_bytes);
    memcpy(side->values, from->values, (size_t)first->count * world->value_bytes);
    memcpy(side->ops, from->ops, first->count);
    memcpy(side->ends, from->ends, first->group_count * sizeof(*from->ends));
    for (uint32_t i = 0; i < first->count; i++) {
        side->expires[i] = world->replays ? logged(first, from->expires[i]) : from->expires[i];
    }
    side->batch.ops = first->ops != NULL ? side->ops : NULL;
    side->batch.keys = side->keys;
    side->batch.values = side->values;
    side->batch.previous = side->previous;
    side->batch.found = side->found;
    side->batch.expires = first->expires != NULL ? side->expires : NULL;
    side->batch.expires_out = side->expires_out;
    side->batch.group_ends = first->group_ends != NULL ? side->ends : NULL;
    side->batch.group_refused = first->group_refused != NULL ? side->refused : NULL;
    if (world->replays) {
        side->batch.clock_ms = 0;
        side->batch.expire_at = logged(first, first->expire_at);
        side->batch.remove_keys = first->expired_keys;
        side->batch.remove_count = first->expired_keys_count;
    }
}

static bool is_refused(const struct sw_batch *batch, uint32_t i)
{
    uint32_t g = 0;
    while (g < batch->group_count && batch->group_ends[g] <= i) {
        g++;
    }
    return batch->group_count > 0 ? batch->group_refused[g] != 0 : batch->status == SW_E_FULL;
}

static void compare_answers(const struct world *world)
{
    const struct side *a = &world->sides[0], *b = &world->sides[SECOND];
    const struct sw_batch *x = &a->batch, *y = &b->batch;
    const struct sw_counters *p = &x->counters, *q = &y->counters;
    agree("the status", x->status, y->status);
    agree("expired keys", x->expired_keys_count, y->expired_keys_count);
    agree("expired", x->expired, y->expired);
    agree_bytes("keys of expired entries", x->expired_keys, y->expired_keys,
                (size_t)x->expired_keys_count * world->key_bytes);
    agree_bytes("refusals", a->refused, b->refused, x->group_count);
    for (uint32_t i = 0; i < x->count; i++) {
        if (!is_refused(x, i)) { /* others have no answers: admission.h */
            agree("presence", a->found[i / 64] >> i % 64 & 1, b->found[i / 64] >> i % 64 & 1);
            agree("a time before", a->expires_out[i], b->expires_out[i]);
            agree_bytes("values before", a->previous + (size_t)i * world->value_bytes,
                        b->previous + (size_t)i * world->value_bytes, world->value_bytes);
        }
    }
    agree("inserted", p->inserted, q->inserted);
    agree("updated", p->updated, q->updated);
    agree("deleted", p->deleted, q->deleted);
    agree("refused", p->refused, q->refused);
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        agree("operations", p->by_class[c].operations, q->by_class[c].operations);
        agree("hits", p->by_class[c].hits, q->by_class[c].hits);
        agree("misses", p->by_class[c].misses, q->by_class[c].misses);
    }
}

static bool only_reads(const struct sw_batch *batch)
{
    bool only = true;
    for (uint32_t i = 0; i < batch->count; i++) {
        only &= (batch->ops != NULL ? batch->ops[i] : batch->op) == SW_GET;
    }
    return only;
}

static void write_some(struct world *world)
{
    struct sw_batch *first = &world->sides[0].batch, *second = &world->sides[SECOND].batch;
    draw_batch(world);
    if (world->replays && only_reads(first)) {
        return; /* not in a log */
    }
    const int status = sw_batch_run(world->sides[0].queue, first);
    follow(world);
    agree("the result", status, sw_batch_run(world->sides[SECOND].queue, second));
    compare_answers(world);
    free(first->expired_keys);
    free(second->expired_keys);
}

static void sweep_some(struct world *world)
{
    struct sw_batch sweep = {.kind = SW_BATCH_SWEEP,
                             .count = 1 + (uint32_t)random_below(&world->random, 1000),
                             .clock_ms = world->clock + random_below(&world->random, 20),
                             .wants_expired_keys = true};
    struct sw_batch second = sweep;
    const bool back = random_below(&world->random, 5) == 0;
    sweep.clock_ms -= back ? SW_CLOCK_HOLD_MS + 1000 : 0;
    second.clock_ms = sweep.clock_ms;
    agree("a sweep", SW_OK, sw_batch_run(world->sides[0].queue, &sweep));
    if (world->replays) {
        second.remove_keys = sweep.expired_keys;
        second.remove_count = sweep.expired_keys_count;
        second.count = 0;
        second.clock_ms = 0;
    }
    if (!world->replays || sweep.expired_keys_count > 0) {
        agree("the other sweep", SW_OK, sw_batch_run(world->sides[SECOND].queue, &second));
    }
    agree("swept", sweep.expired_keys_count, second.expired_keys_count);
    agree_bytes("keys that were swept", sweep.expired_keys, second.expired_keys,
                (size_t)sweep.expired_keys_count * world->key_bytes);
    agree("a cursor", world->replays ? 0 : sweep.sweep.cursor, second.sweep.cursor);
    world->clock = sw_table_clock(world->sides[0].table, 0);
    free(sweep.expired_keys);
    free(second.expired_keys);
}

static bool holds_some(const void *context, uint64_t key)
{
    const struct world *world = context;
    return (world->held >> (key % 64) & 1) != 0;
}

static bool holds_all(const void *context, uint64_t key)
{
    (void)context;
    (void)key;
    return true;
}

/* Both hold the same other entries, or none; but where the second follows the first, that says what
 * is removed. */
static void hold_some(struct world *world)
{
    for (int s = 0; s < 2; s++) {
        sw_table_suspend_expiry(world->sides[s].table, NULL, NULL);
    }
    world->held = random_below(&world->random, 2) == 0 ? random_next(&world->random) : 0;
    for (int s = 0; s < 2; s++) {
        sw_table_suspend_expiry(world->sides[s].table,
                                s == SECOND && world->replays ? holds_all : holds_some, world);
    }
}

/* --- comparing -------------------------------------------------------------------------------- */

struct entry {
    uint64_t key, at, bucket;
    uint8_t value[64];
};

static int by_key(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return x->bucket != y->bucket ? (x->bucket < y->bucket ? -1 : 1)
                                  : (x->key > y->key) - (x->key < y->key);
}

/* Reads the entries of an image of the table, by key. */
static uint32_t image_of(const struct world *world, const struct side *side, struct entry *out)
{
    static uint64_t keys[KEYS + 1], times[KEYS + 1];
    static uint8_t values[(KEYS + 1) * 64];
    struct sw_image *image = NULL;
    uint32_t got = 0;
    memset(out, 0, (KEYS + 1) * sizeof(*out));
    cr_assert_eq(sw_image_take(side->queue, false, &image), SW_OK);
    const bool expires = sw_image_expires(image);
    cr_assert_eq(sw_image_read(image, KEYS + 1, keys, values, expires ? times : NULL, &got), SW_OK);
    sw_image_drop(image);
    for (uint32_t i = 0; i < got; i++) {
        memcpy(&out[i].key, (const uint8_t *)keys + (size_t)i * world->key_bytes, world->key_bytes);
        memcpy(out[i].value, values + (size_t)i * world->value_bytes, world->value_bytes);
        out[i].at = expires ? times[i] : 0;
    }
    qsort(out, got, sizeof(*out), by_key);
    return got;
}

/* The keys of each bucket of the slots, in order. */
static uint64_t slots_of(const struct side *side, struct entry *out, uint32_t bucket_slots)
{
    const size_t bytes = sw_table_raw_bytes(side->table);
    uint32_t *raw = malloc(bytes);
    uint64_t count = 0;
    const struct sw_table_info info = table_info(side->table);
    cr_assert(raw != NULL && sw_table_raw_copy(side->table, raw) == SW_OK);
    for (uint64_t i = 0; i < bytes / (info.slot_bits / 8); i++) {
        const uint64_t m = info.slot_bits == 64 ? raw[2 * i + 1]
                                                : ((const uint64_t *)(const void *)raw)[2 * i + 1];
        if (m != (info.slot_bits == 64 ? UINT32_MAX : UINT64_MAX)) {
            out[count++] = (struct entry){.key = m, .bucket = i / bucket_slots};
        }
    }
    free(raw);
    qsort(out, count, sizeof(*out), by_key);
    return count;
}

/* Backends estimate what a batch may insert, each in its way, so one may have grown earlier: both
 * become as large as the larger one. */
static void make_equal(const struct world *world, struct sw_table_info info[2])
{
    for (int s = 0; s < 2; s++) {
        sw_table_info(world->sides[s].table, &info[s]);
    }
    for (int s = 0; s < 2; s++) {
        struct sw_batch resize = {.kind = SW_BATCH_RESIZE, .capacity = info[1 - s].capacity_slots};
        if (info[s].capacity_slots < resize.capacity) {
            agree("growing alike", SW_OK, sw_batch_run(world->sides[s].queue, &resize));
            sw_table_info(world->sides[s].table, &info[s]);
        }
    }
    agree("capacities", info[0].capacity_slots, info[1].capacity_slots);
}

static void compare_slots(const struct world *world)
{
    static struct entry entries[2][KEYS + 1];
    struct sw_table_info info[2];
    make_equal(world, info);
    const uint64_t count = slots_of(&world->sides[0], entries[0], info[0].bucket_slots);
    agree("slots in use", count, slots_of(&world->sides[SECOND], entries[1], info[0].bucket_slots));
    agree_bytes("buckets", entries[0], entries[1], count * sizeof(entries[0][0]));
}

static void compare_figures(const struct world *world)
{
    struct sw_table_stats x, y;
    char violation[256] = "";
    sw_table_stats(world->sides[0].table, &x);
    sw_table_stats(world->sides[SECOND].table, &y);
    agree("entries", x.occupied, y.occupied);
    agree("entries that expire", x.expires, y.expires);
    agree("entries of the stash", x.stash_occupied, y.stash_occupied);
    if (!world->replays) {
        agree("the next time", x.expires_next, y.expires_next);
        agree("the mean", x.ttl_mean_ms, y.ttl_mean_ms);
        agree("steps of the clock", x.clock_steps, y.clock_steps);
        agree("clocks", sw_table_clock(world->sides[0].table, 0),
              sw_table_clock(world->sides[SECOND].table, 0));
    }
    cr_assert_eq(sw_table_check(world->sides[SECOND].table, violation, sizeof(violation)), SW_OK,
                 "seed %llu, step %d: %s", (unsigned long long)random_seed(), world->step,
                 violation);
}

/* Every key, at a clock; where rows have texts of keys, now and then by texts, each key for itself.
 */
static void look_at_all(struct world *world, uint64_t clock)
{
    const bool by_texts = world->text_bytes > 0 && random_below(&world->random, 2) == 0;
    for (uint32_t i = 0; i < KEYS && by_texts; i++) {
        draw_value(world, &world->sides[0], i, 20);
    }
    for (int s = 0; s < 2; s++) {
        struct side *side = &world->sides[s];
        side->batch = (struct sw_batch){.kind = SW_BATCH_OPERATIONS,
                                        .op = SW_GET,
                                        .count = KEYS,
                                        .keys = side->keys,
                                        .previous = side->previous,
                                        .found = side->found,
                                        .clock_ms = clock,
                                        .expires_out = side->expires_out};
        for (uint32_t i = 0; i < KEYS; i++) {
            put_key(world, side, i, i);
            side->ends[i] = i + 1;
        }
        if (by_texts) {
            const size_t bytes = (size_t)KEYS * world->value_bytes;
            memcpy(side->values, world->sides[0].values, s == SECOND ? bytes : 0);
            side->batch.values = side->values;
            side->batch.group_count = KEYS;
            side->batch.group_ends = side->ends;
            side->batch.group_refused = side->refused;
        }
        const int status = sw_batch_run(side->queue, &side->batch);
        cr_assert(status == SW_OK || (by_texts && status == SW_E_FULL));
    }
    compare_answers(world);
}

static void compare(struct world *world)
{
    static struct entry entries[2][KEYS + 1];
    look_at_all(world, world->replays ? 0 : world->clock + random_below(&world->random, 20));
    world->clock = sw_table_clock(world->sides[0].table, world->clock);
    compare_figures(world);
    compare_slots(world);
    if (world->step % 4 == 0) {
        const uint32_t count = image_of(world, &world->sides[0], entries[0]);
        agree("entries of an image", count, image_of(world, &world->sides[SECOND], entries[1]));
        agree_bytes("images", entries[0], entries[1], count * sizeof(entries[0][0]));
    }
}

static void run_world(uint32_t slot_bits, uint32_t row_bytes, bool texts, bool grows, bool replays)
{
    static struct world storage;
    struct world *world = &storage;
    open_world(world, slot_bits, row_bytes, texts, grows, replays);
    for (world->step = 0; world->step < STEPS / (int)tested_share(); world->step++) {
        const uint64_t chance = random_below(&world->random, 100);
        struct sw_batch both = {.kind = chance < 2 ? SW_BATCH_CLEAR : SW_BATCH_RESIZE,
                                .capacity = random_below(&world->random, 512)};
        if (chance < 4) {
            struct sw_batch other = both;
            agree("a clear, or a resize", sw_batch_run(world->sides[0].queue, &both),
                  sw_batch_run(world->sides[SECOND].queue, &other));
            world->quiet = both.kind == SW_BATCH_CLEAR ? (int)random_below(&world->random, 20) : 0;
        } else if (chance < 16) {
            sweep_some(world);
        } else if (chance < 20) {
            hold_some(world);
        } else {
            write_some(world);
        }
        compare(world);
        world->quiet -= world->quiet > 0;
    }
    for (int s = 0; s < 2; s++) {
        close_side(&world->sides[s]);
    }
}

Test(expiry_pair, integers_of_32_bits)
{
    run_world(64, 0, false, false, false);
    run_world(64, 0, false, true, true);
}

Test(expiry_pair, integers_of_64_bits)
{
    run_world(128, 0, false, true, false);
    run_world(128, 0, false, false, true);
}

Test(expiry_pair, rows)
{
    run_world(128, 60, false, false, false);
    run_world(64, 12, false, true, false);
    run_world(64, 8, false, false, true);
}

Test(expiry_pair, texts_of_keys)
{
    run_world(128, 60, true, false, false);
    run_world(64, 20, true, true, false);
    run_world(128, 24, true, true, true);
}
