/* SPDX-License-Identifier: MIT
 *
 * huge.c - a table of more than 2^32 slots: counters and look-ups of every key.
 *
 * No CPU table and no copy of the slots stand beside it, and no key is stored: key i is a function
 * of i, and so is its value.
 */
#include "tests/gpu/cases.h"

#include <stdio.h>
#include <string.h>

/* Parts of the slots: how many keys are stored, and what the table is resized to. With 5 * 2^30
 * slots these are 2^28 keys in 16 batches, and 2^31 slots. */
#define SLOTS_PER_KEY 20
#define BATCHES 16
#define RESIZED(slots) ((slots) / 5 * 2)

struct huge {
    struct sw_table *table;
    struct sw_queue *queue;
    struct io_memory io;
    uint32_t *keys;
    uint32_t *values;
    uint32_t *previous;
    uint64_t *found;
    uint32_t batch_ops;
    uint64_t keys_all;
    struct sw_batch batch;
    char failure[256];
};

static uint32_t key_of(uint64_t i)
{
    return (uint32_t)i * 0x9e3779b1U;
}

static uint32_t value_of(uint64_t i)
{
    return (uint32_t)i ^ 0x2545f491U;
}

/* Every seventh key is deleted at the end. */
static bool is_deleted(uint64_t i)
{
    return i % 7 == 3;
}

#define fail_huge(huge, ...) keep_failure((huge)->failure, sizeof((huge)->failure), __VA_ARGS__)

static size_t array_bytes(const struct huge *huge)
{
    return ((size_t)huge->batch_ops + 64) * sizeof(uint32_t);
}

static bool huge_open(struct huge *huge, const struct sw_table_config *config)
{
    char reason[200];
    int status = sw_table_create(config, &huge->table, reason, sizeof(reason));
    if (status != SW_OK) {
        return fail_huge(huge, "create: %s", reason);
    }
    huge->io.table = huge->table;
    huge->keys = io_array(&huge->io, array_bytes(huge));
    huge->values = io_array(&huge->io, array_bytes(huge));
    huge->previous = io_array(&huge->io, array_bytes(huge));
    huge->found = io_array(&huge->io, array_bytes(huge));
    return sw_queue_create(huge->table, &huge->queue) == SW_OK ||
           fail_huge(huge, "no memory for a queue");
}

static void huge_close(struct huge *huge)
{
    sw_queue_destroy(huge->queue);
    io_free(&huge->io);
    sw_table_destroy(huge->table);
}

/* Runs one operation on the `count` keys in `keys`. */
static bool run_huge_batch(struct huge *huge, enum sw_op op, uint32_t count, bool answers)
{
    struct sw_batch *batch = &huge->batch;
    memset(batch, 0, sizeof(*batch));
    batch->op = op;
    batch->count = count;
    batch->keys = huge->keys;
    batch->values = op == SW_GET || op == SW_DELETE ? NULL : huge->values;
    batch->previous = answers ? huge->previous : NULL;
    batch->found = answers ? huge->found : NULL;
    int status = sw_batch_run(huge->queue, batch);
    return status == SW_OK || fail_huge(huge, "op %d: %s", (int)op, sw_status_text(status));
}

static bool insert(struct huge *huge, uint64_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        huge->keys[i] = key_of(first + i);
        huge->values[i] = value_of(first + i);
    }
    if (!run_huge_batch(huge, SW_SET, count, false)) {
        return false;
    }
    uint64_t inserted = huge->batch.counters.inserted;
    return inserted == count ||
           fail_huge(huge, "inserted %llu of %u keys", (unsigned long long)inserted, count);
}

/* Looks up keys [0, stored), and a batch of keys that were never stored. */
static bool lookup(struct huge *huge, uint64_t stored, bool some_deleted)
{
    for (uint64_t first = 0; first < stored + huge->batch_ops; first += huge->batch_ops) {
        uint64_t hits = 0;
        for (uint32_t i = 0; i < huge->batch_ops; i++) {
            huge->keys[i] = key_of(first + i);
        }
        memset(huge->previous, 0xAB, array_bytes(huge));
        memset(huge->found, 0xCD, array_bytes(huge));
        if (!run_huge_batch(huge, SW_GET, huge->batch_ops, true)) {
            return false;
        }
        for (uint32_t i = 0; i < huge->batch_ops; i++) {
            bool found = huge->found[i / 64] >> (i % 64) & 1;
            bool due = first + i < stored && !(some_deleted && is_deleted(first + i));
            hits += due;
            if (found != due || huge->previous[i] != (due ? value_of(first + i) : 0)) {
                return fail_huge(huge, "key %llu of %llu: found %d, value %u where %d, %u was due",
                                 (unsigned long long)(first + i), (unsigned long long)stored, found,
                                 huge->previous[i], due, due ? value_of(first + i) : 0);
            }
        }
        if (huge->batch.counters.by_class[SW_CLASS_GET].hits != hits) {
            return fail_huge(huge, "hits: %llu, not %llu",
                             (unsigned long long)huge->batch.counters.by_class[SW_CLASS_GET].hits,
                             (unsigned long long)hits);
        }
    }
    return true;
}

static bool delete_some(struct huge *huge)
{
    for (uint64_t at = 0; at < huge->keys_all;) {
        uint32_t count = 0;
        for (; at < huge->keys_all && count < huge->batch_ops; at++) {
            if (is_deleted(at)) {
                huge->keys[count++] = key_of(at);
            }
        }
        if (!run_huge_batch(huge, SW_DELETE, count, true)) {
            return false;
        }
        if (huge->batch.counters.deleted != count) {
            return fail_huge(huge, "deleted %llu of %u keys",
                             (unsigned long long)huge->batch.counters.deleted, count);
        }
    }
    return true;
}

static bool resize(struct huge *huge, uint64_t capacity)
{
    struct sw_batch *batch = &huge->batch;
    memset(batch, 0, sizeof(*batch));
    batch->kind = SW_BATCH_RESIZE;
    batch->capacity = capacity;
    int status = sw_batch_run(huge->queue, batch);
    if (status != SW_OK || batch->capacity < capacity || batch->capacity > capacity + 3) {
        return fail_huge(huge, "resize to %llu: %s, %llu slots", (unsigned long long)capacity,
                         sw_status_text(status), (unsigned long long)batch->capacity);
    }
    return true;
}

static bool occupied_is(struct huge *huge, uint64_t expected)
{
    struct sw_table_stats stats;
    sw_table_stats(huge->table, &stats);
    return stats.occupied == expected ||
           fail_huge(huge, "%llu entries, not %llu", (unsigned long long)stats.occupied,
                     (unsigned long long)expected);
}

/* Inserts `batches` batches; then everything else. */
static bool run_all(struct huge *huge, uint64_t slots, uint32_t batches)
{
    huge->keys_all = (uint64_t)batches * huge->batch_ops;
    for (uint32_t b = 0; b < batches; b++) {
        if (!insert(huge, (uint64_t)b * huge->batch_ops, huge->batch_ops)) {
            return false;
        }
    }
    uint64_t deleted = 0;
    for (uint64_t i = 0; i < huge->keys_all; i++) {
        deleted += is_deleted(i);
    }
    return occupied_is(huge, huge->keys_all) && lookup(huge, huge->keys_all, false) &&
           resize(huge, RESIZED(slots)) && occupied_is(huge, huge->keys_all) &&
           lookup(huge, huge->keys_all, false) && delete_some(huge) &&
           occupied_is(huge, huge->keys_all - deleted) && lookup(huge, huge->keys_all, true) &&
           resize(huge, slots) && lookup(huge, huge->keys_all, true);
}

/* Tables whose batches stream the whole table get two: one into an empty table, one merged. */
bool run_huge(enum sw_backend_kind tested, uint64_t slots, uint64_t seed)
{
    bool good = true;
    for (int bulk = 0; bulk < 2; bulk++) {
        struct huge huge;
        struct sw_table_config config;
        double start = seconds_now();
        memset(&huge, 0, sizeof(huge));
        huge.batch_ops = (uint32_t)(slots / SLOTS_PER_KEY / BATCHES);
        sw_table_config_init(&config);
        config.backend = tested;
        config.slot_bits = 64;
        config.capacity_slots = slots;
        config.batch_ops_max = huge.batch_ops;
        config.seed = seed;
        config.tuning.bulk = bulk == 1 ? SW_CHOICE_ALWAYS : SW_CHOICE_NEVER;
        bool passed = huge_open(&huge, &config) && run_all(&huge, slots, bulk == 1 ? 2 : BATCHES);
        printf("%s huge, %llu 64-bit slots, bulk %s (%llu keys, %.2f s)%s%s\n",
               passed ? "ok    " : "FAILED", (unsigned long long)slots,
               bulk == 1 ? "always" : "never", (unsigned long long)huge.keys_all,
               seconds_now() - start, passed ? "" : ": ", huge.failure);
        fflush(stdout);
        huge_close(&huge);
        good = good && passed;
    }
    printf("%s\n", good ? "2 passed, 0 failed" : "some failed");
    return good;
}
