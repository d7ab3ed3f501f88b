/* SPDX-License-Identifier: MIT
 *
 * pair.c - runs batches on two tables and compares the answers.
 */
#include "tests/gpu/pair.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/mix.h"

static const char *const SIDE_NAMES[2] = {"cpu", "tested"};

uint64_t pair_key(const struct pair *pair, uint64_t i)
{
    uint64_t key = i * 0x9e3779b97f4a7c15ULL; /* odd: distinct i give distinct keys */
    return pair->slot_bits == 64 ? (uint32_t)i * 0x9e3779b1U : key;
}

uint64_t pair_key_of(const struct pair *pair, uint64_t m)
{
    return pair->slot_bits == 64 ? sw_unmix_32((uint32_t)m, pair->seed)
                                 : sw_unmix_64(m, pair->seed);
}

uint64_t pair_mix(const struct pair *pair, uint64_t key)
{
    return pair->slot_bits == 64 ? sw_mix_32((uint32_t)key, pair->seed)
                                 : sw_mix_64(key, pair->seed);
}

/* --- words of the width ----------------------------------------------------------------------- */

uint64_t pair_word(const struct pair *pair, const void *array, uint64_t i)
{
    return pair->slot_bits == 64 ? ((const uint32_t *)array)[i] : ((const uint64_t *)array)[i];
}

void pair_word_set(const struct pair *pair, void *array, uint64_t i, uint64_t word)
{
    if (pair->slot_bits == 64) {
        ((uint32_t *)array)[i] = (uint32_t)word;
    } else {
        ((uint64_t *)array)[i] = word;
    }
}

/* --- open and close --------------------------------------------------------------------------- */

static size_t array_bytes(const struct pair *pair)
{
    return ((size_t)pair->n_max + 64) * sizeof(uint64_t);
}

static int side_open(const struct pair *pair, struct side *side)
{
    size_t bytes = array_bytes(pair);
    struct io_memory *io = &side->io;
    io->table = side->table;
    side->keys = io_array(io, bytes);
    side->values = io_array(io, bytes);
    side->ops = io_array(io, bytes);
    side->previous = io_array(io, bytes);
    side->found = io_array(io, bytes);
    side->group_ends = io_array(io, bytes);
    side->group_refused = io_array(io, bytes);
    side->leftover_keys = io_array(io, bytes);
    side->leftover_values = io_array(io, bytes);
    return sw_queue_create(side->table, &side->queue);
}

static void side_close(struct side *side)
{
    sw_queue_destroy(side->queue);
    io_free(&side->io);
    sw_table_destroy(side->table);
}

static int open_arrays(struct pair *pair, uint64_t random_seed)
{
    pair->random.state = random_seed;
    pair->in.keys = calloc(pair->n_max, sizeof(uint64_t));
    pair->in.values = calloc(pair->n_max, sizeof(uint64_t));
    pair->in.ops = calloc(pair->n_max, 1);
    pair->in.group_ends = calloc(pair->n_max, sizeof(uint32_t));
    for (int s = 0; s < 2; s++) {
        int status = side_open(pair, &pair->side[s]);
        if (status != SW_OK) {
            pair_fail(pair, "%s: queue and I/O memory: %s", SIDE_NAMES[s], sw_status_text(status));
            return status;
        }
    }
    return SW_OK;
}

int pair_open(struct pair *pair, const struct sw_table_config *config, enum sw_backend_kind second,
              uint64_t random_seed)
{
    memset(pair, 0, sizeof(*pair));
    pair->slot_bits = config->slot_bits;
    pair->is_set = config->is_set;
    pair->n_max = config->batch_ops_max;
    pair->bulk = config->tuning.bulk;
    pair->ranges = config->tuning.ranges;
    pair->seed = config->seed;
    for (int s = 0; s < 2; s++) {
        struct sw_table_config mine = *config;
        char reason[256];
        mine.backend = s == 0 ? SW_BACKEND_CPU : second;
        int status = sw_table_create(&mine, &pair->side[s].table, reason, sizeof(reason));
        if (status != SW_OK) {
            pair_fail(pair, "%s: create: %s", SIDE_NAMES[s], reason);
            return status;
        }
    }
    return open_arrays(pair, random_seed);
}

void pair_close(struct pair *pair)
{
    for (int s = 0; s < 2; s++) {
        if (pair->side[s].table != NULL) {
            side_close(&pair->side[s]);
        }
    }
    free(pair->in.keys);
    free(pair->in.values);
    free(pair->in.ops);
    free(pair->in.group_ends);
}

/* --- one batch on both sides ------------------------------------------------------------------ */

static bool is_upsert(int op)
{
    return op == SW_SET || op == SW_SUM || op == SW_MIN || op == SW_MAX || op == SW_SET_ABSENT;
}

/* Returns the operation itself, or another one if a key set does not have it. */
static int op_of_set(int op)
{
    const bool has = op < 0 || op == SW_GET || op == SW_SET || op == SW_SET_ABSENT ||
                     op == SW_SET_PRESENT || op == SW_DELETE;
    return has ? op : SW_SET_ABSENT;
}

/* Decides how the next batch is given to both sides. */
static void choose_form(struct pair *pair)
{
    enum pair_answers answers = pair->answers;
    if (pair->is_set) {
        pair->in.op = op_of_set(pair->in.op);
        for (uint32_t i = 0; i < pair->in.count && pair->in.op < 0; i++) {
            pair->in.ops[i] = (uint8_t)op_of_set(pair->in.ops[i]);
        }
    }
    pair->form.array = pair->in.op < 0;
    pair->form.group_count = pair->in.group_count;
    if (answers == PAIR_ANSWERS_DRAWN) {
        answers = PAIR_ANSWERS_ALL;
        if (is_upsert(pair->in.op)) {
            answers = PAIR_ANSWERS_ALL + (enum pair_answers)pair_below(pair, 4);
            pair->form.array = pair_below(pair, 8) == 0;
            if (pair->in.group_count == 0 && pair_below(pair, 8) == 0) {
                pair->in.group_ends[0] = pair->in.count;
                pair->form.group_count = 1;
            }
        } else if (pair->in.op == SW_GET) {
            answers = PAIR_ANSWERS_ALL + (enum pair_answers)pair_below(pair, 3);
        }
    }
    if (pair->form.array && pair->in.op >= 0) {
        memset(pair->in.ops, pair->in.op, pair->in.count);
    }
    pair->form.previous = answers == PAIR_ANSWERS_ALL || answers == PAIR_ANSWERS_PREVIOUS;
    pair->form.previous = pair->form.previous && !pair->is_set;
    pair->form.found = answers == PAIR_ANSWERS_ALL || answers == PAIR_ANSWERS_FOUND;
}

static int side_run(const struct pair *pair, struct side *side)
{
    struct sw_batch *batch = &side->batch;
    size_t bytes = array_bytes(pair);
    memset(batch, 0, sizeof(*batch));
    memset(side->previous, 0xAB, bytes);
    memset(side->found, 0xCD, bytes);
    memset(side->group_refused, 0xEF, bytes);
    for (uint32_t i = 0; i < pair->in.count; i++) {
        pair_word_set(pair, side->keys, i, pair->in.keys[i]);
        pair_word_set(pair, side->values, i, pair->in.values[i]);
    }
    memcpy(side->ops, pair->in.ops, pair->in.count);
    memcpy(side->group_ends, pair->in.group_ends, pair->form.group_count * sizeof(uint32_t));
    batch->kind = SW_BATCH_OPERATIONS;
    batch->op = pair->in.op < 0 ? SW_GET : (enum sw_op)pair->in.op;
    batch->ops = pair->form.array ? side->ops : NULL;
    batch->count = pair->in.count;
    batch->keys = side->keys;
    const bool bare = pair->is_set || pair->in.op == SW_GET || pair->in.op == SW_DELETE;
    batch->values = bare ? NULL : side->values;
    batch->previous = pair->form.previous ? side->previous : NULL;
    batch->found = pair->form.found ? side->found : NULL;
    batch->group_count = pair->form.group_count;
    batch->group_ends = side->group_ends;
    batch->group_refused = side->group_refused;
    batch->leftover_keys = side->leftover_keys;
    batch->leftover_values = side->leftover_values;
    return sw_batch_run(side->queue, batch);
}

static bool compare_answers(struct pair *pair)
{
    const struct side *a = &pair->side[0];
    const struct side *b = &pair->side[1];
    if (!pair->form.found && !pair->form.previous) {
        return true;
    }
    bool refused_all = pair->form.group_count <= 1 && a->batch.status == SW_E_FULL;
    uint32_t group = 0;
    for (uint32_t i = 0; i < pair->in.count; i++) {
        while (group < pair->form.group_count && pair->in.group_ends[group] <= i) {
            group++;
        }
        if (refused_all || (pair->form.group_count > 0 && a->group_refused[group] != 0)) {
            continue; /* unspecified */
        }
        bool found_a = a->found[i / 64] >> (i % 64) & 1;
        bool found_b = b->found[i / 64] >> (i % 64) & 1;
        uint64_t previous_a = pair_word(pair, a->previous, i);
        uint64_t previous_b = pair_word(pair, b->previous, i);
        if ((pair->form.found && found_a != found_b) ||
            (pair->form.previous && previous_a != previous_b)) {
            return pair_fail(pair,
                             "operation %u of %u (op %d, key %#" PRIx64 ", operand %" PRIu64
                             "): cpu found %d previous %" PRIu64 ", tested %d %" PRIu64,
                             i, pair->in.count, pair->in.op < 0 ? pair->in.ops[i] : pair->in.op,
                             pair->in.keys[i], pair->in.values[i], found_a, previous_a, found_b,
                             previous_b);
        }
    }
    if (pair->in.count % 64 != 0 && !refused_all && pair->form.found &&
        b->found[pair->in.count / 64] >> (pair->in.count % 64) != 0) {
        return pair_fail(pair, "unused bits of the last word of found are not zero");
    }
    return true;
}

static bool compare_counters(struct pair *pair, bool loose)
{
    static const char *const names[] = {"get operations",
                                        "get probes",
                                        "get hits",
                                        "get misses",
                                        "upsert operations",
                                        "upsert probes",
                                        "upsert hits",
                                        "upsert misses",
                                        "delete operations",
                                        "delete probes",
                                        "delete hits",
                                        "delete misses",
                                        "inserted",
                                        "updated",
                                        "deleted",
                                        "failures",
                                        "refused"};
    const uint64_t *a = (const uint64_t *)&pair->side[0].batch.counters;
    const uint64_t *b = (const uint64_t *)&pair->side[1].batch.counters;
    const uint64_t refused = pair->side[0].batch.counters.refused;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        bool skip =
            (i < 12 && i % 4 == 1) || ((loose || !pair->form.previous || refused != 0) && i == 15);
        if (!skip && a[i] != b[i]) {
            return pair_fail(pair, "%s: cpu %" PRIu64 ", tested %" PRIu64, names[i], a[i], b[i]);
        }
    }
    return true;
}

struct entry {
    uint64_t key;
    uint64_t value;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    return x->key != y->key ? (x->key < y->key ? -1 : 1)
                            : (x->value > y->value) - (x->value < y->value);
}

static struct entry *sorted_leftovers(const struct pair *pair, const struct side *side)
{
    uint32_t count = side->batch.leftover_count;
    struct entry *entries = calloc((size_t)count + 1, sizeof(*entries));
    for (uint32_t i = 0; i < count; i++) {
        entries[i].key = pair_word(pair, side->leftover_keys, i);
        entries[i].value = pair_word(pair, side->leftover_values, i);
    }
    qsort(entries, count, sizeof(*entries), compare_entries);
    return entries;
}

static bool compare_leftovers(struct pair *pair)
{
    uint32_t count = pair->side[0].batch.leftover_count;
    if (count != pair->side[1].batch.leftover_count) {
        return pair_fail(pair, "left-overs: cpu %u, tested %u", count,
                         pair->side[1].batch.leftover_count);
    }
    struct entry *a = sorted_leftovers(pair, &pair->side[0]);
    struct entry *b = sorted_leftovers(pair, &pair->side[1]);
    for (uint32_t i = 0; i < count && pair->failure[0] == '\0'; i++) {
        if (compare_entries(&a[i], &b[i]) != 0) {
            pair_fail(pair, "left-over %u: cpu key %#" PRIx64 ", tested key %#" PRIx64, i, a[i].key,
                      b[i].key);
        }
    }
    free(a);
    free(b);
    return pair->failure[0] == '\0';
}

bool pair_run(struct pair *pair, bool loose)
{
    choose_form(pair);
    int a = side_run(pair, &pair->side[0]);
    int b = side_run(pair, &pair->side[1]);
    pair->operations += pair->in.count;
    if (a != b) {
        return pair_fail(pair, "status: cpu %d (%s), tested %d (%s)", a, sw_status_text(a), b,
                         sw_status_text(b));
    }
    if (a != SW_OK && a != SW_E_FULL) {
        return pair_fail(pair, "status: %d (%s)", a, sw_status_text(a));
    }
    for (uint32_t g = 0; g < pair->form.group_count; g++) {
        if (pair->side[0].group_refused[g] != pair->side[1].group_refused[g]) {
            return pair_fail(pair, "group %u of %u: refused by cpu %d, by tested %d", g,
                             pair->form.group_count, pair->side[0].group_refused[g],
                             pair->side[1].group_refused[g]);
        }
    }
    return compare_answers(pair) && compare_counters(pair, loose) &&
           (loose || compare_leftovers(pair));
}

bool pair_range(struct pair *pair, enum sw_op op, uint64_t first, uint64_t count)
{
    while (count > 0) {
        uint64_t now = count < pair->n_max ? count : pair->n_max;
        pair->in.op = (int)op;
        pair->in.count = (uint32_t)now;
        pair->in.group_count = 0;
        for (uint64_t i = 0; i < now; i++) {
            pair->in.keys[i] = pair_key(pair, first + i);
            pair->in.values[i] = pair_random(pair);
        }
        if (!pair_run(pair, false)) {
            return false;
        }
        first += now;
        count -= now;
    }
    return true;
}

bool pair_lookup(struct pair *pair, uint64_t first, uint64_t count)
{
    enum pair_answers before = pair->answers;
    pair->answers = PAIR_ANSWERS_ALL;
    bool good = pair_range(pair, SW_GET, first - 1, count + 2);
    pair->answers = before;
    return good;
}

bool pair_clear(struct pair *pair)
{
    uint64_t deleted[2];
    for (int s = 0; s < 2; s++) {
        struct sw_batch *batch = &pair->side[s].batch;
        memset(batch, 0, sizeof(*batch));
        batch->kind = SW_BATCH_CLEAR;
        int status = sw_batch_run(pair->side[s].queue, batch);
        if (status != SW_OK) {
            return pair_fail(pair, "clear, %s: %s", SIDE_NAMES[s], sw_status_text(status));
        }
        deleted[s] = batch->counters.deleted;
    }
    return deleted[0] == deleted[1] ||
           pair_fail(pair, "clear: deleted by cpu %" PRIu64 ", by tested %" PRIu64, deleted[0],
                     deleted[1]);
}

bool pair_resize(struct pair *pair, uint64_t capacity, int status)
{
    struct sw_batch *a = &pair->side[0].batch;
    struct sw_batch *b = &pair->side[1].batch;
    for (int s = 0; s < 2; s++) {
        struct sw_batch *batch = &pair->side[s].batch;
        memset(batch, 0, sizeof(*batch));
        batch->kind = SW_BATCH_RESIZE;
        batch->capacity = capacity;
        int ended = sw_batch_run(pair->side[s].queue, batch);
        if (ended != status) {
            return pair_fail(pair, "resize to %" PRIu64 ", %s: %s, not: %s", capacity,
                             SIDE_NAMES[s], sw_status_text(ended), sw_status_text(status));
        }
    }
    for (int s = 0; s < 2 && status == SW_OK; s++) {
        struct sw_table_info info;
        sw_table_info(pair->side[s].table, &info);
        if (a->capacity != b->capacity || info.capacity_slots != b->capacity) {
            return pair_fail(
                pair,
                "resize to %" PRIu64 ": cpu has %" PRIu64 ", tested %" PRIu64 ", %s says %" PRIu64,
                capacity, a->capacity, b->capacity, SIDE_NAMES[s], info.capacity_slots);
        }
    }
    return true;
}
