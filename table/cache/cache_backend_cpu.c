/* SPDX-License-Identifier: MIT
 *
 * cache_backend_cpu.c - the cache as a table's engine on the CPU: one thread a batch, under a phase
 * lock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/cache/cache_backend.h"
#include "table/cache/cpu.h"
#include "table/cache/driver.h"
#include "table/cache/operate.inl"
#include "table/cache/table_ops.h"
#include "table/cpu/memory.h"
#include "table/cpu/parts.h"
#include "table/cpu/phase_lock.h"

struct cache_table {
    struct sw_cache_slots slots;
    struct sw_phase_lock phases;
    void *memory;
    uint64_t bytes;
    uint64_t clock;  /* atomic */
    uint64_t rounds; /* atomic */
    uint32_t key_bytes;
    struct sw_cache_counters counters; /* of writes; under the lock */
};

static const struct sw_cache_group alone = {0, 1, 0};

/* --- tables ----------------------------------------------------------------------------------- */

static int table_open(const struct sw_table_config *config, void **out, char *reason,
                      size_t reason_size)
{
    *out = NULL;
    struct cache_table *table = calloc(1, sizeof(*table));
    if (table == NULL || sw_phase_lock_init(&table->phases) != SW_OK) {
        free(table);
        snprintf(reason, reason_size, "not enough memory");
        return SW_E_NOMEM;
    }
    table->slots = sw_cache_slots_of(config);
    table->key_bytes = config->slot_bits / 16;
    table->memory = sw_cache_cpu_allocate(&table->slots, &table->bytes, reason, reason_size);
    if (table->memory == NULL) {
        sw_phase_lock_fini(&table->phases);
        free(table);
        return SW_E_NOMEM;
    }
    snprintf(reason, reason_size, "host memory");
    *out = table;
    return SW_OK;
}

static void table_close(void *context)
{
    struct cache_table *table = context;
    sw_memory_unmap(table->memory, table->bytes);
    sw_phase_lock_fini(&table->phases);
    free(table);
}

static void table_facts(void *context, struct sw_backend_facts *facts)
{
    const struct cache_table *table = context;
    sw_cache_facts(&table->slots, table->bytes, facts);
}

static void *table_io_alloc(void *context, size_t bytes)
{
    (void)context;
    return sw_memory_map(bytes);
}

static void table_io_free(void *context, void *memory, size_t bytes)
{
    (void)context;
    sw_memory_unmap(memory, bytes);
}

static int table_check(void *context, char *violation, size_t violation_size)
{
    struct cache_table *table = context;
    struct sw_cache_snapshot snapshot = {table->slots, NULL, table->counters};
    return sw_cache_check_snapshot(&snapshot, violation, violation_size);
}

/* --- batches ---------------------------------------------------------------------------------- */

static struct sw_cache_time tell_time(struct cache_table *table, uint32_t count)
{
    struct sw_cache_time time = {
        .tick = __atomic_fetch_add(&table->clock, count, __ATOMIC_RELAXED),
        .round = __atomic_fetch_add(&table->rounds, 1, __ATOMIC_RELAXED),
    };
    time.round = sw_cache_least(time.round, UINT32_MAX);
    return time;
}

/* Bits of a batch's answers: words are stored when they are whole, and what others may write is not
 * read back. */
struct bits {
    uint64_t *words; /* or NULL: not wanted */
    uint64_t word;   /* the one that is not stored yet */
};

/* Adds the bit of operation `index` of so many. */
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

static uint8_t *previous_at(const struct cache_table *table, const struct sw_batch *batch,
                            uint64_t index)
{
    return batch->previous == NULL ? NULL
                                   : (uint8_t *)batch->previous + index * table->slots.value_bytes;
}

static void read_batch(struct cache_table *table, struct sw_batch *batch)
{
    const struct sw_cache_slots *slots = &table->slots;
    struct sw_cache_time time = tell_time(table, batch->count);
    struct sw_op_counters *counters = &batch->counters.by_class[SW_CLASS_GET];
    struct bits found_bits = {.words = batch->found};
    if (batch->not_admitted != NULL) {
        memset(batch->not_admitted, 0, ((size_t)batch->count + 63) / 64 * sizeof(uint64_t));
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        uint64_t key = sw_cache_table_key(batch->keys, table->key_bytes, i);
        uint64_t slot = sw_cache_cpu_find(slots, key);
        uint8_t *out = previous_at(table, batch, i);
        bool found = slot != SW_CACHE_NOWHERE;
        if (found) {
            sw_cache_cpu_touch(slots, &time, i, 1, slot);
        }
        if (found && out != NULL) {
            memcpy(out, sw_cache_value_at(slots, slot), slots->value_bytes);
        } else if (out != NULL) {
            memset(out, 0, slots->value_bytes);
        }
        answer(&found_bits, i, batch->count, found);
        bool first = found && slot / SW_CACHE_BUCKET_SLOTS == sw_cache_home_of(slots, key).first;
        counters->operations++;
        counters->probes += slots->two && !first ? 2 : 1;
        counters->hits += found;
        counters->misses += !found;
    }
}

static void count_write(const struct cache_table *table, struct sw_batch *batch, uint32_t op,
                        uint32_t acts, enum sw_cache_result result)
{
    struct sw_op_counters *counters = &batch->counters.by_class[sw_cache_table_class(op)];
    bool hit = result == SW_CACHE_HIT;
    counters->operations++;
    counters->probes += table->slots.two ? 2 : 1;
    counters->hits += hit;
    counters->misses += !hit;
    batch->counters.inserted += result == SW_CACHE_INSERTED || result == SW_CACHE_REPLACED;
    batch->counters.updated += hit && (acts & SW_CACHE_ACT_WRITE) != 0;
    batch->counters.deleted += hit && (acts & SW_CACHE_ACT_ERASE) != 0;
    batch->counters.evicted += result == SW_CACHE_REPLACED;
    batch->counters.not_admitted += result == SW_CACHE_REFUSED;
}

/* One operation; an entry that leaves goes to `left`. */
static enum sw_cache_result write_one(struct cache_table *table, struct sw_batch *batch,
                                      const struct sw_cache_time *time, struct sw_cache_sink *left,
                                      uint32_t index)
{
    const struct sw_cache_slots *slots = &table->slots;
    uint32_t op = batch->ops != NULL ? batch->ops[index] : (uint32_t)batch->op;
    struct sw_cache_step step = {
        .acts = sw_cache_table_acts(op, batch->previous != NULL),
        .key = sw_cache_table_key(batch->keys, table->key_bytes, index),
        .index = index,
        .given = 1,
        .out = previous_at(table, batch, index),
    };
    if (batch->values != NULL) {
        step.value = (const uint8_t *)batch->values + (size_t)index * slots->value_bytes;
    }
    struct sw_cache_home home = sw_cache_home_of(slots, step.key);
    enum sw_cache_result result = sw_cache_operate(alone, slots, time, &step, &home, left);
    if (result != SW_CACHE_HIT && step.out != NULL) {
        memset(step.out, 0, slots->value_bytes);
    }
    count_write(table, batch, op, step.acts, result);
    return result;
}

/* Keys of entries that leave are 64 bits; those of the table may be 32. */
static void list_left(const struct cache_table *table, struct sw_batch *batch, uint64_t key)
{
    if (table->key_bytes == 4) {
        ((uint32_t *)batch->leftover_keys)[batch->leftover_count] = (uint32_t)key;
    } else {
        ((uint64_t *)batch->leftover_keys)[batch->leftover_count] = key;
    }
    batch->leftover_count++;
}

static void write_batch(struct cache_table *table, struct sw_batch *batch)
{
    struct sw_cache_time time = tell_time(table, batch->count);
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
        enum sw_cache_result result = write_one(table, batch, &time, &left, i);
        answer(&found, i, batch->count, result == SW_CACHE_HIT);
        answer(&not_admitted, i, batch->count, result == SW_CACHE_REFUSED);
        if (count > 0) {
            list_left(table, batch, key);
        }
    }
    table->counters.inserted += batch->counters.inserted;
    table->counters.erased += batch->counters.deleted;
    table->counters.evicted += batch->counters.evicted;
}

static void clear_batch(struct cache_table *table, struct sw_batch *batch)
{
    const struct sw_cache_counters *counters = &table->counters;
    batch->counters.deleted = counters->inserted - counters->erased - counters->evicted;
    table->counters.erased += batch->counters.deleted;
    sw_cache_cpu_empty(&table->slots);
}

/* The cursor is a slot: an entry keeps its slot as long as it is there. */
static void scan_batch(struct cache_table *table, struct sw_batch *batch)
{
    const struct sw_cache_slots *slots = &table->slots;
    uint64_t capacity = slots->buckets * SW_CACHE_BUCKET_SLOTS;
    uint64_t slot = batch->cursor;
    for (; slot < capacity && batch->scan_count < batch->count; slot++) {
        if (slots->digests[slot] == 0) {
            continue;
        }
        if (table->key_bytes == 4) {
            ((uint32_t *)batch->scan_keys)[batch->scan_count] =
                (uint32_t)sw_cache_entry_at(slots, slot)->key;
        } else {
            ((uint64_t *)batch->scan_keys)[batch->scan_count] = sw_cache_entry_at(slots, slot)->key;
        }
        memcpy((uint8_t *)batch->scan_values + (size_t)batch->scan_count * slots->value_bytes,
               sw_cache_value_at(slots, slot), slots->value_bytes);
        batch->scan_count++;
    }
    batch->cursor = slot < capacity ? slot : 0;
}

static int submit(void *context, struct sw_batch *batch)
{
    struct cache_table *table = context;
    bool operations = batch->kind == SW_BATCH_OPERATIONS;
    if (operations && batch->group_refused != NULL) {
        memset(batch->group_refused, 0, batch->group_count);
    }
    if (batch->kind == SW_BATCH_SCAN || (operations && sw_batch_only_reads(batch))) {
        sw_phase_lock_enter_read(&table->phases);
        if (operations) {
            read_batch(table, batch);
        } else {
            scan_batch(table, batch);
        }
        sw_phase_lock_leave_read(&table->phases);
        return SW_OK;
    }
    batch->write_sequence = sw_phase_lock_enter_write(&table->phases);
    if (operations) {
        write_batch(table, batch);
    } else {
        clear_batch(table, batch);
    }
    sw_phase_lock_leave_write(&table->phases);
    return SW_OK;
}

const struct sw_backend sw_cache_backend_cpu = {
    .name = "cpu",
    .operations = SW_CACHE_OPERATIONS,
    .batch_kinds = SW_CACHE_KINDS,
    .open = table_open,
    .close = table_close,
    .facts = table_facts,
    .io_alloc = table_io_alloc,
    .io_free = table_io_free,
    .queue_open = sw_cpu_queue_open,
    .queue_close = sw_cpu_queue_close,
    .submit = submit,
    .poll = sw_cpu_poll,
    .check = table_check,
};
