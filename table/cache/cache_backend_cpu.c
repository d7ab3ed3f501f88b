/* SPDX-License-Identifier: MIT
 *
 * cache_backend_cpu.c - the cache as a table's engine on the CPU: one thread carries out each
 * batch, under a phase lock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/cache/cache_backend.h"
#include "table/cache/check.h"
#include "table/cache/cpu.h"
#include "table/cache/cpu_table.h"
#include "table/cache/image.h"
#include "table/cache/operate.inl"
#include "table/cache/table_ops.h"
#include "table/host/memory.h"
#include "table/host/parts.h"

static const struct sw_cache_tile alone = {0, 1, 0};

/* --- tables ----------------------------------------------------------------------------------- */

static int table_open(const struct sw_table_config *config, void **out, char *reason,
                      size_t reason_size)
{
    *out = NULL;
    struct sw_cache_cpu_table *table = calloc(1, sizeof(*table));
    if (table == NULL || sw_phase_lock_init(&table->phases, config->sequencer) != SW_OK) {
        free(table);
        snprintf(reason, reason_size, "not enough memory");
        return SW_E_NOMEM;
    }
    table->slots = sw_cache_slots_of(config);
    table->key_bytes = config->slot_bits / 16;
    table->growth.owner = config->growth;
    table->tuning = config->tuning;
    table->growth.most = sw_cache_buckets_max(config);
    table->growth.two = table->slots.two != 0;
    table->memory = sw_cache_cpu_allocate(&table->slots, &table->bytes, NULL, reason, reason_size);
    if (table->memory == NULL) {
        sw_phase_lock_fini(&table->phases);
        free(table);
        return SW_E_NOMEM;
    }
    if (table->slots.ids != 0) {
        sw_cache_ids_number(&table->slots);
    }
    sw_cache_growth_begin(&table->growth, table->slots.buckets, table->bytes);
    snprintf(reason, reason_size, "host memory");
    *out = table;
    return SW_OK;
}

static void table_close(void *context)
{
    struct sw_cache_cpu_table *table = context;
    sw_cache_ids_end_load(&table->loaded);
    sw_memory_unmap(table->memory, table->bytes);
    sw_phase_lock_fini(&table->phases);
    free(table);
}

static void table_facts(void *context, struct sw_backend_facts *facts)
{
    const struct sw_cache_cpu_table *table = context;
    sw_cache_growth_facts(&table->growth, facts);
    facts->epoch = __atomic_load_n(&table->epoch, __ATOMIC_RELAXED);
    facts->image_bytes = facts->bytes_reserved;
}

static int table_check(void *context, char *violation, size_t violation_size)
{
    struct sw_cache_cpu_table *table = context;
    struct sw_cache_snapshot snapshot = {
        .slots = table->slots, .counters = table->counters, .loose = table->loaded.marks != NULL};
    return sw_cache_check_snapshot(&snapshot, violation, violation_size);
}

/* --- batches ---------------------------------------------------------------------------------- */

static struct sw_cache_time advance_time(struct sw_cache_cpu_table *table, uint32_t count)
{
    struct sw_cache_time time = {
        .epoch = __atomic_load_n(&table->epoch, __ATOMIC_RELAXED),
        .tick = __atomic_fetch_add(&table->clock, count, __ATOMIC_RELAXED),
        .round = __atomic_fetch_add(&table->rounds, 1, __ATOMIC_RELAXED),
    };
    time.round = sw_cache_least(time.round, UINT32_MAX);
    return time;
}

/* The bits of a batch's answers. Each word is stored once it is complete, so that the code never
 * reads back memory that others may write. */
struct bits {
    uint64_t *words; /* or NULL: not wanted */
    uint64_t word;   /* the word that is not stored yet */
};

/* Adds the bit `is` of operation `index`; the batch has `count` operations. */
static void answer(struct bits *bits, uint32_t index, uint32_t count, bool is)
{
    bits->word |= (uint64_t)is << (index % 64);
    if (index % 64 == 63 || index + 1 == count) {
        if (bits->words != NULL) {
            bits->words[index / 64] = bits->word;
        }
        bits->word = 0;
    }
}

static uint8_t *previous_at(const struct sw_cache_cpu_table *table, const struct sw_batch *batch,
                            uint64_t index)
{
    return batch->previous == NULL ? NULL
                                   : (uint8_t *)batch->previous + index * table->slots.value_bytes;
}

static uint32_t op_of(const struct sw_batch *batch, uint32_t index)
{
    return batch->ops != NULL ? batch->ops[index] : (uint32_t)batch->op;
}

/* Returns the actions of operation `index`. */
static uint32_t actions_of(const struct sw_cache_cpu_table *table, const struct sw_batch *batch,
                           uint32_t index)
{
    uint32_t op = op_of(batch, index);
    return sw_cache_table_uses(
        sw_cache_table_actions(op, batch->previous != NULL, table->slots.ids != 0), op,
        table->slots.policy, batch->scores != NULL);
}

/* Answers a read at `slot`, beside other reads; SW_CACHE_NOWHERE: the key is absent. */
static void read_one(const struct sw_cache_cpu_table *table, const struct sw_batch *batch,
                     const struct sw_cache_time *time, uint32_t index, uint64_t slot)
{
    const struct sw_cache_slots *slots = &table->slots;
    uint8_t *out = previous_at(table, batch, index);
    uint64_t score = 0;
    if (slot == SW_CACHE_NOWHERE) {
        if (out != NULL) {
            memset(out, 0, slots->value_bytes);
        }
    } else {
        if (out != NULL) {
            memcpy(out, sw_cache_value_at(slots, slot), slots->value_bytes);
        }
        if (actions_of(table, batch, index) & SW_CACHE_DO_USE) {
            uint64_t given = sw_cache_table_given(batch->scores, slots->policy, index);
            score = sw_cache_cpu_touch(slots, time, index, given, slot);
        } else {
            score = __atomic_load_n(&sw_cache_entry_at(slots, slot)->score, __ATOMIC_RELAXED);
        }
    }
    if (batch->scores_out != NULL) {
        batch->scores_out[index] = score;
    }
}

static void read_batch(struct sw_cache_cpu_table *table, struct sw_batch *batch)
{
    const struct sw_cache_slots *slots = &table->slots;
    struct sw_cache_time time = advance_time(table, batch->count);
    struct sw_op_counters *counters = &batch->counters.by_class[SW_CLASS_GET];
    struct bits found_bits = {.words = batch->found};
    if (batch->not_admitted != NULL) {
        memset(batch->not_admitted, 0, ((size_t)batch->count + 63) / 64 * sizeof(uint64_t));
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        uint64_t key = sw_cache_table_key(batch->keys, table->key_bytes, i);
        uint64_t slot = sw_cache_cpu_find(slots, key);
        bool found = slot != SW_CACHE_NOWHERE;
        read_one(table, batch, &time, i, slot);
        answer(&found_bits, i, batch->count, found);
        bool first =
            found && slot / SW_CACHE_BUCKET_SLOTS == sw_cache_candidates_of(slots, key).first;
        counters->operations++;
        counters->probes += slots->two && !first ? 2 : 1;
        counters->hits += found;
        counters->misses += !found;
    }
}

static void count_write(const struct sw_cache_cpu_table *table, struct sw_batch *batch, uint32_t op,
                        uint32_t actions, enum sw_cache_result result)
{
    struct sw_op_counters *counters = &batch->counters.by_class[sw_cache_table_class(op)];
    bool hit = result == SW_CACHE_HIT;
    counters->operations++;
    counters->probes += table->slots.two ? 2 : 1;
    counters->hits += hit;
    counters->misses += !hit;
    batch->counters.inserted += result == SW_CACHE_INSERTED || result == SW_CACHE_REPLACED;
    batch->counters.updated += hit && (actions & (SW_CACHE_DO_WRITE | SW_CACHE_DO_ADD)) != 0;
    batch->counters.deleted += hit && (actions & SW_CACHE_DO_ERASE) != 0;
    batch->counters.evicted += result == SW_CACHE_REPLACED;
    batch->counters.not_admitted += result == SW_CACHE_REFUSED;
}

/* Carries out one operation; an evicted entry goes to `left`. */
static enum sw_cache_result write_one(struct sw_cache_cpu_table *table, struct sw_batch *batch,
                                      const struct sw_cache_time *time, struct sw_cache_sink *left,
                                      uint32_t index)
{
    const struct sw_cache_slots *slots = &table->slots;
    uint32_t op = op_of(batch, index);
    uint64_t score = 0;
    struct sw_cache_step step = {
        .actions = actions_of(table, batch, index),
        .element = sw_cache_table_element(op),
        .key = sw_cache_table_key(batch->keys, table->key_bytes, index),
        .index = index,
        .given = sw_cache_table_given(batch->scores, slots->policy, index),
        .out = previous_at(table, batch, index),
        .score_out = &score,
    };
    if (batch->values != NULL && !(step.actions & SW_CACHE_DO_KEEP)) {
        step.value = (const uint8_t *)batch->values + (size_t)index * slots->value_bytes;
    }
    struct sw_cache_candidates candidates = sw_cache_candidates_of(slots, step.key);
    enum sw_cache_result result =
        sw_cache_operate(alone, slots, time, &step, &candidates, left, step.out != NULL);
    if (batch->scores_out != NULL) {
        batch->scores_out[index] = (step.actions & SW_CACHE_DO_ERASE) != 0 ? 0 : score;
    }
    count_write(table, batch, op, step.actions, result);
    return result;
}

/* Keys of evicted entries are 64 bits; those of the table may be 32. */
static void list_left(const struct sw_cache_cpu_table *table, struct sw_batch *batch, uint64_t key)
{
    if (table->key_bytes == 4) {
        ((uint32_t *)batch->leftover_keys)[batch->leftover_count] = (uint32_t)key;
    } else {
        ((uint64_t *)batch->leftover_keys)[batch->leftover_count] = key;
    }
    batch->leftover_count++;
}

/* Carries out a batch that writes; stores restored scores unchanged, as under CUSTOM. */
static void write_batch(struct sw_cache_cpu_table *table, struct sw_batch *batch)
{
    if (table->slots.ids != 0 && !sw_cache_cpu_prepare_ids(table, batch)) {
        return;
    }
    const uint32_t policy = table->slots.policy;
    table->slots.policy = batch->restores ? SW_CACHE_CUSTOM : policy;
    sw_cache_count_upserts(batch);
    sw_cache_cpu_grow_for(table, batch);
    uint64_t moved_out = batch->counters.evicted;
    struct sw_cache_time time = advance_time(table, batch->count);
    uint32_t bytes = table->slots.value_bytes;
    struct bits found = {.words = batch->found};
    struct bits not_admitted = {.words = batch->not_admitted};
    for (uint32_t i = 0; i < batch->count; i++) {
        uint64_t key = 0;
        uint64_t count = 0;
        struct sw_cache_sink left = {.count = &count};
        if (batch->leftover_keys != NULL) {
            left.keys = &key;
        }
        if (batch->leftover_keys != NULL && batch->leftover_values != NULL) {
            left.values = (uint8_t *)batch->leftover_values + (size_t)batch->leftover_count * bytes;
        }
        if (batch->leftover_scores != NULL) {
            left.scores = batch->leftover_scores + batch->leftover_count;
        }
        enum sw_cache_result result = write_one(table, batch, &time, &left, i);
        answer(&found, i, batch->count, result == SW_CACHE_HIT);
        answer(&not_admitted, i, batch->count, result == SW_CACHE_REFUSED);
        if (count > 0) {
            list_left(table, batch, key);
        }
    }
    table->counters.inserted += batch->counters.inserted;
    table->counters.erased += batch->counters.deleted;
    table->counters.evicted += batch->counters.evicted - moved_out;
    table->slots.policy = policy;
    if (batch->restores) {
        sw_cache_image_clocks(policy, table->epoch, batch->scores, batch->count, &table->clock,
                              &table->rounds); /* no other thread reads them in this phase */
    }
}

static void clear_batch(struct sw_cache_cpu_table *table, struct sw_batch *batch)
{
    batch->counters.deleted = sw_cache_cpu_held(table);
    table->counters.erased += batch->counters.deleted;
    sw_cache_cpu_empty(&table->slots);
    if (table->loaded.marks != NULL) {
        sw_cache_ids_number(&table->slots);
        sw_cache_ids_end_load(&table->loaded);
    }
}

/* Returns whether `slot` has an entry with a score in the range; sets *score. Reads may raise the
 * score at the same time. */
static bool is_in_range(const struct sw_cache_slots *slots, uint64_t slot, uint64_t min,
                        uint64_t max, uint64_t *score)
{
    if (slots->digests[slot] == 0) {
        return false;
    }
    *score = __atomic_load_n(&sw_cache_entry_at(slots, slot)->score, __ATOMIC_RELAXED);
    return *score >= min && *score <= max;
}

static void list_entry(const struct sw_cache_cpu_table *table, struct sw_batch *batch,
                       uint64_t slot, uint64_t score)
{
    const struct sw_cache_slots *slots = &table->slots;
    uint64_t key = sw_cache_entry_at(slots, slot)->key;
    uint32_t at = batch->scan.got++;
    if (table->key_bytes == 4) {
        ((uint32_t *)batch->scan.keys)[at] = (uint32_t)key;
    } else {
        ((uint64_t *)batch->scan.keys)[at] = key;
    }
    memcpy((uint8_t *)batch->scan.values + (size_t)at * slots->value_bytes,
           sw_cache_value_at(slots, slot), slots->value_bytes);
    if (batch->scan.scores != NULL) {
        batch->scan.scores[at] = score;
    }
}

/* Scans in slot order: an entry keeps its slot until it leaves or the cache moves. */
static void scan_batch(struct sw_cache_cpu_table *table, struct sw_batch *batch)
{
    const struct sw_cache_slots *slots = &table->slots;
    uint64_t capacity = slots->buckets * SW_CACHE_BUCKET_SLOTS;
    uint64_t min = batch->scan.by_score ? batch->scan.score_min : 0;
    uint64_t max = batch->scan.by_score ? batch->scan.score_max : UINT64_MAX;
    uint64_t slot = sw_cache_growth_slot(&table->growth, batch->scan.cursor);
    for (; slot < capacity && batch->scan.got < batch->count; slot++) {
        uint64_t score;
        if (is_in_range(slots, slot, min, max, &score)) {
            list_entry(table, batch, slot, score);
        }
    }
    batch->scan.cursor = slot < capacity ? sw_cache_growth_cursor(&table->growth, slot) : 0;
}

static void count_scores(struct sw_cache_cpu_table *table, struct sw_batch *batch)
{
    const struct sw_cache_slots *slots = &table->slots;
    for (uint64_t slot = 0, score; slot < slots->buckets * SW_CACHE_BUCKET_SLOTS; slot++) {
        batch->range.matched +=
            is_in_range(slots, slot, batch->range.min, batch->range.max, &score);
    }
}

static void erase_scores(struct sw_cache_cpu_table *table, struct sw_batch *batch)
{
    const struct sw_cache_slots *slots = &table->slots;
    for (uint64_t slot = 0; slot < slots->buckets * SW_CACHE_BUCKET_SLOTS; slot++) {
        uint64_t score;
        if (is_in_range(slots, slot, batch->range.min, batch->range.max, &score)) {
            slots->digests[slot] = 0;
            batch->counters.deleted++;
        }
    }
    table->counters.erased += batch->counters.deleted;
}

static void set_epoch(struct sw_cache_cpu_table *table, struct sw_batch *batch)
{
    if (batch->epoch != 0 && batch->epoch < table->epoch) {
        batch->status = SW_E_INVALID;
    } else if (batch->epoch > table->epoch) {
        __atomic_store_n(&table->epoch, batch->epoch, __ATOMIC_RELAXED);
        __atomic_store_n(&table->rounds, 0, __ATOMIC_RELAXED);
    }
    batch->epoch = table->epoch;
}

/* `context` is a struct sw_cache_cpu_table. */
static void read_phase(void *context, struct sw_batch *batch)
{
    struct sw_cache_cpu_table *table = context;
    switch (batch->kind) {
    case SW_BATCH_OPERATIONS:
        read_batch(table, batch);
        break;
    case SW_BATCH_SCAN:
        scan_batch(table, batch);
        break;
    default:
        count_scores(table, batch);
        break;
    }
}

/* `context` is a struct sw_cache_cpu_table. */
static void write_phase(void *context, struct sw_batch *batch)
{
    struct sw_cache_cpu_table *table = context;
    switch (batch->kind) {
    case SW_BATCH_OPERATIONS:
        write_batch(table, batch);
        break;
    case SW_BATCH_ERASE_SCORES:
        erase_scores(table, batch);
        break;
    case SW_BATCH_RESIZE:
        sw_cache_cpu_resize(table, batch);
        break;
    case SW_BATCH_EPOCH:
        set_epoch(table, batch);
        break;
    default:
        clear_batch(table, batch);
        break;
    }
}

/* Does the batch, which reads or writes, visit all slots of a large cache? In its phase. */
static bool is_long(const struct sw_cache_cpu_table *table, struct sw_batch *batch, bool reads)
{
    if (reads) {
        return (batch->kind == SW_BATCH_COUNT_SCORES ||
                (batch->kind == SW_BATCH_SCAN && batch->scan.by_score)) &&
               sw_pass_is_long(table->bytes, &table->tuning);
    }
    if (batch->kind == SW_BATCH_EPOCH || !sw_pass_is_long(table->bytes, &table->tuning)) {
        return batch->kind == SW_BATCH_RESIZE;
    }
    const bool settles = table->loaded.marks != NULL && !batch->restores;
    return batch->kind != SW_BATCH_OPERATIONS || settles || sw_cache_cpu_grows_for(table, batch);
}

static int submit(void *context, struct sw_batch *batch)
{
    struct sw_cache_cpu_table *table = context;
    if (batch->kind == SW_BATCH_OPERATIONS && batch->group_refused != NULL) {
        memset(batch->group_refused, 0, batch->group_count);
    }
    if (batch->kind == SW_BATCH_IMAGE) {
        sw_cache_cpu_take_image(table, batch);
        return SW_OK;
    }
    const bool reads = sw_batch_is_read(batch);
    int status = reads ? sw_batch_enter_read(&table->phases, batch)
                       : sw_batch_enter_write(&table->phases, batch);
    if (status != SW_OK) {
        return status;
    }
    const bool lasts = is_long(table, batch, reads);
    if (reads && lasts) {
        status = sw_long_read_run(&table->phases, read_phase, table, batch);
    } else if (reads) {
        read_phase(table, batch);
        sw_phase_lock_leave_read(&table->phases);
    } else if (lasts) {
        sw_long_phase_run(&table->long_phase, &table->phases, write_phase, table, batch);
    } else {
        write_phase(table, batch);
        sw_batch_leave_write(&table->phases, batch);
    }
    return status;
}

static bool holds(void *context, bool reads, bool returns)
{
    return sw_phase_lock_holds(&((struct sw_cache_cpu_table *)context)->phases, reads, returns);
}

static void set_sequence(void *context, uint64_t sequence)
{
    sw_phase_lock_set_writers(&((struct sw_cache_cpu_table *)context)->phases, sequence);
}

static uint64_t last_sequence(void *context)
{
    return sw_phase_lock_writers(&((struct sw_cache_cpu_table *)context)->phases);
}

const struct sw_backend sw_cache_backend_cpu = {
    .name = "cpu",
    .operations = SW_CACHE_ALL_OPERATIONS,
    .batch_kinds = SW_CACHE_ALL_KINDS | 1U << SW_BATCH_RESIZE,
    .open = table_open,
    .close = table_close,
    .facts = table_facts,
    .io_alloc = sw_cpu_io_alloc,
    .io_free = sw_cpu_io_free,
    .queue_open = sw_cpu_queue_open,
    .queue_close = sw_cpu_queue_close,
    .submit = submit,
    .poll = sw_cpu_poll,
    .check = table_check,
    .image_read = sw_cache_cpu_image_read,
    .image_drop = sw_cache_cpu_image_drop,
    .set_sequence = set_sequence,
    .last_sequence = last_sequence,
    .holds = holds,
};
