/* SPDX-License-Identifier: MIT
 *
 * table.c - implements table.h: validates arguments, chooses the backend, keeps statistics.
 */
#include "table/table.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/config.h"
#include "table/engine.h"
#include "table/expiring.h"
#include "table/instance.h"
#include "table/valid.h"

void sw_table_config_init(struct sw_table_config *config)
{
    memset(config, 0, sizeof(*config));
    config->backend = SW_BACKEND_AUTO;
    config->slot_bits = 128;
    config->capacity_slots = 1ULL << 24;
    config->max_load = 0.85;
    config->seed = 0x5368657277006f64ULL;
    config->batch_ops_max = 1U << 20;
    config->stash_slots = 1ULL << 16;
}

int sw_table_config_check(const struct sw_table_config *config, char *reason, size_t reason_size)
{
    const struct sw_engine_parts *parts;
    return sw_engine_find(config, &parts, reason, reason_size);
}

uint64_t sw_table_config_bytes(const struct sw_table_config *config)
{
    const struct sw_engine_parts *parts;
    return sw_engine_find(config, &parts, NULL, 0) == SW_OK ? parts->bytes(config) : 0;
}

/* --- create ----------------------------------------------------------------------------------- */

static int open_cpu(struct sw_table *table, const struct sw_backend *backend, const char *why)
{
    char detail[SW_REASON_BYTES / 2] = "";
    int status = backend->open(&table->config, &table->memory, detail, sizeof(detail));
    table->backend = backend;
    table->kind = SW_BACKEND_CPU;
    if (status == SW_OK && why[0] != '\0') {
        snprintf(table->reason, sizeof(table->reason), "%s; %s", why, detail);
    } else {
        snprintf(table->reason, sizeof(table->reason), "%s", detail);
    }
    return status;
}

static int open_cuda(struct sw_table *table, const struct sw_backend *backend)
{
    table->backend = backend;
    table->kind = SW_BACKEND_CUDA;
    return backend->open(&table->config, &table->memory, table->reason, sizeof(table->reason));
}

/* Opens a backend. Stores the reason for the choice, or for the failure, in table->reason. */
static int open_backend(struct sw_table *table, const struct sw_engine_parts *parts)
{
    char why[SW_REASON_BYTES / 2];
    const enum sw_backend_kind wanted = table->config.backend;
    if (wanted == SW_BACKEND_CPU) {
        return open_cpu(table, parts->cpu, "chosen by configuration");
    }
    const struct sw_backend *cuda = parts->cuda();
    if (cuda == NULL) {
        if (wanted == SW_BACKEND_CUDA) {
            snprintf(table->reason, sizeof(table->reason),
                     "this build has no CUDA backend of the engine %s: install nvcc and build "
                     "again, or choose the CPU backend",
                     parts->name);
            return SW_E_NOTBUILT;
        }
        return open_cpu(table, parts->cpu, "this build has no CUDA backend");
    }
    int status = open_cuda(table, cuda);
    if (status != SW_E_NODEVICE || wanted == SW_BACKEND_CUDA) {
        return status;
    }
    snprintf(why, sizeof(why), "no CUDA device replied: %.200s", table->reason);
    return open_cpu(table, parts->cpu, why);
}

/* Returns whether entries of the table may expire, if the backend supports it. */
static bool may_keep_times(const struct sw_table *table, const struct sw_backend_facts *facts)
{
    const struct sw_table_config *config = &table->config;
    if (config->engine != SW_ENGINE_ROBIN_HOOD) {
        return true;
    }
    if (config->stash_slots == 0) {
        return false; /* an entry that is handed back would lose its time */
    }
    return facts->combined_ops_max == 0 || config->batch_ops_max <= facts->gathered_ops_max;
}

/* Limits the operations and kinds of batch to those that this configuration supports. */
static void limit_operations(struct sw_table *table, const struct sw_backend_facts *facts)
{
    table->operations = table->backend->operations;
    table->batch_kinds = table->backend->batch_kinds;
    if (sw_config_value_bytes(&table->config) % sizeof(uint64_t) != 0) {
        table->operations &= ~SW_OPS_64_BITS;
    }
    if (!may_keep_times(table, facts)) {
        table->operations &= ~SW_BACKEND_EXPIRES;
        table->batch_kinds &= ~(1U << SW_BATCH_SWEEP);
    }
    if (sw_config_has_ids(&table->config)) {
        table->operations &= SW_BACKEND_ID_OPERATIONS;
    }
    if (!sw_cache_has_epochs(table->config.cache_policy)) {
        table->batch_kinds &= ~(1U << SW_BATCH_EPOCH);
    }
}

static void free_table(struct sw_table *table)
{
    pthread_mutex_destroy(&table->queues_lock);
    free(table);
}

int sw_table_create(const struct sw_table_config *config, struct sw_table **out, char *reason,
                    size_t reason_size)
{
    char unused[1];
    if (reason == NULL || reason_size == 0) {
        reason = unused;
        reason_size = sizeof(unused);
    }
    reason[0] = '\0';
    const struct sw_engine_parts *parts;
    int status = sw_engine_find(config, &parts, reason, reason_size);
    *out = NULL;
    if (status != SW_OK) {
        return status;
    }
    struct sw_table *table = calloc(1, sizeof(*table));
    if (table == NULL) {
        snprintf(reason, reason_size, "%s", sw_status_text(SW_E_NOMEM));
        return SW_E_NOMEM;
    }
    pthread_mutex_init(&table->queues_lock, NULL); /* cannot fail with the default attributes */
    table->config = *config;
    if (config->sequencer == NULL) {
        table->config.sequencer = &table->own_sequencer;
    }
    table->engine_name = parts->name;
    status = open_backend(table, parts);
    if (status != SW_OK) {
        snprintf(reason, reason_size, "%s", table->reason);
        free_table(table);
        return status;
    }
    struct sw_backend_facts facts = sw_table_facts_of(table);
    limit_operations(table, &facts);
    assert(facts.combined_ops_max == 0 || facts.gathered_ops_max >= facts.combined_ops_max);
    table->capacity_max = facts.max_capacity_slots;
    table->combines = facts.combined_ops_max > 0;
    table->filters_slots = facts.filters_slots;
    if (table->combines) {
        status = sw_combiner_open(&table->combiner, table->backend, table->memory,
                                  table->config.sequencer, facts.combined_ops_max,
                                  facts.gathered_ops_max, facts.gathers_all);
        table->combiner.finds_first = facts.finds_first;
    }
    if (status != SW_OK) {
        snprintf(reason, reason_size, "cannot create the queue of the writes: %s",
                 sw_status_text(status));
        table->backend->close(table->memory);
        free_table(table);
        return status;
    }
    *out = table;
    return SW_OK;
}

void sw_table_destroy(struct sw_table *table)
{
    if (table != NULL) {
        assert(atomic_load_explicit(&table->images, memory_order_relaxed) == 0);
        if (table->combines) {
            sw_combiner_close(&table->combiner);
        }
        table->backend->close(table->memory);
        free_table(table);
    }
}

/* --- facts and statistics --------------------------------------------------------------------- */

void sw_table_info(const struct sw_table *table, struct sw_table_info *info)
{
    struct sw_backend_facts facts = sw_table_facts_of(table);
    const struct sw_table_config *config = &table->config;
    const bool fills_up = config->engine == SW_ENGINE_CACHE; /* no maximum load, no stash */
    *info = (struct sw_table_info){
        .backend = table->kind,
        .backend_name = table->backend->name,
        .backend_reason = table->reason,
        .bus_id = facts.bus_id != NULL ? facts.bus_id : "",
        .engine = config->engine,
        .engine_name = table->engine_name,
        .operations = table->operations,
        .batch_kinds = table->batch_kinds,
        .cache_policy = config->cache_policy,
        .slot_bits = config->slot_bits,
        .key_bytes = config->slot_bits / 16,
        .value_bytes = sw_config_value_bytes(config),
        .key_text_bytes = config->key_text_bytes,
        .bucket_slots = facts.bucket_slots,
        .max_probe = facts.max_probe,
        .buckets = facts.buckets,
        .capacity_slots = facts.capacity_slots,
        .max_capacity_slots = facts.max_capacity_slots,
        .occupied_max = facts.occupied_max,
        .rows_mapped = facts.rows_mapped,
        .rows_max = facts.rows_max,
        .row_bytes_gpu = facts.row_bytes_gpu,
        .row_bytes_host = facts.row_bytes_host,
        .max_load = fills_up ? 1.0 : config->max_load,
        .stash_slots = fills_up ? 0 : config->stash_slots,
        .bytes_reserved = facts.bytes_reserved,
        .bytes_unused = facts.bytes_unused,
        .seed = config->seed,
        .batch_ops_max = config->batch_ops_max,
        .filters_slots = facts.filters_slots,
    };
}

uint64_t sw_table_grown(const struct sw_table *table)
{
    return sw_table_facts_of(table).grown;
}

void sw_table_stats(const struct sw_table *table, struct sw_table_stats *stats)
{
    const struct sw_sums sums = sw_table_sums(table);
    stats->counters = sums.counters;
    struct sw_backend_facts facts = sw_table_facts_of(table);
    stats->grown = facts.grown;
    stats->resized = facts.resized;
    stats->resize_failed = facts.resize_failed;
    stats->epoch = facts.epoch;
    stats->expired = sums.expired;
    stats->changes = stats->counters.inserted + stats->counters.updated + stats->counters.deleted +
                     stats->counters.evicted + stats->expired + sums.adjusted;
    stats->expires = facts.expires;
    stats->expires_next = facts.expires_next;
    const uint64_t clock_ms = sw_table_clock(table, 0);
    stats->ttl_mean_ms = facts.expires_mean > clock_ms ? facts.expires_mean - clock_ms : 0;
    stats->clock_steps = facts.clock_steps;
    stats->holes_max = facts.holes_max;
    stats->hole_passes = facts.hole_passes;
    memcpy(stats->write_paths, facts.write_paths, sizeof(stats->write_paths));
    stats->batches = sums.batches;
    stats->writes = sums.writes;
    stats->write_launches =
        table->combines ? sw_combiner_launches(&table->combiner) : stats->writes;
    stats->stash_occupied = sums.stash_occupied;
    stats->occupied = stats->counters.inserted - stats->counters.deleted - stats->counters.evicted -
                      stats->expired - sums.handed_back;
    /* The sums may describe states that never existed, even below zero: batches may be polled
     * meanwhile, or in another order than they took effect. */
    stats->occupied = stats->occupied >> 63 != 0 ? 0 : stats->occupied;
    stats->stash_occupied = stats->stash_occupied >> 63 != 0 ? 0 : stats->stash_occupied;
}

/* --- I/O memory and queues -------------------------------------------------------------------- */

void *sw_io_alloc(struct sw_table *table, size_t bytes)
{
    return table->backend->io_alloc(table->memory, bytes);
}

void sw_io_free(struct sw_table *table, void *memory, size_t bytes)
{
    if (memory != NULL) {
        table->backend->io_free(table->memory, memory, bytes);
    }
}

int sw_queue_create(struct sw_table *table, struct sw_queue **out)
{
    return sw_queue_create_for(table, 0, out);
}

int sw_queue_create_for(struct sw_table *table, uint32_t thread, struct sw_queue **out)
{
    *out = NULL;
    struct sw_queue *queue = aligned_alloc(SW_SUMS_ALIGNMENT, sizeof(*queue));
    if (queue == NULL) {
        return SW_E_NOMEM;
    }
    memset(queue, 0, sizeof(*queue));
    queue->table = table;
    int status = table->backend->queue_open(table->memory, &queue->memory);
    if (status == SW_OK && thread != 0 && table->backend->queue_join != NULL) {
        status = table->backend->queue_join(queue->memory, thread);
        if (status != SW_OK) {
            table->backend->queue_close(queue->memory);
        }
    }
    if (status != SW_OK) {
        free(queue);
        return status;
    }
    sw_combiner_queue_init(&queue->combined, &table->combiner, queue->memory);
    sw_table_add_queue(queue);
    *out = queue;
    return SW_OK;
}

void sw_queue_destroy(struct sw_queue *queue)
{
    if (queue != NULL) {
        queue->table->backend->queue_close(queue->memory);
        sw_table_remove_queue(queue);
        free(queue);
    }
}

/* --- batches ---------------------------------------------------------------------------------- */

int sw_batch_submit(struct sw_queue *queue, struct sw_batch *batch)
{
    int status = sw_batch_check(queue->table, batch);
    if (batch->kind == SW_BATCH_OPERATIONS &&
        (batch->expires != NULL || batch->remove_count > 0 ||
         (batch->expire_at != 0 && batch->expire_at != SW_EXPIRE_KEEP))) {
        sw_table_will_expire(queue->table);
    }
    return status == SW_OK ? sw_queue_submit(queue, batch) : status;
}

/* Clears the answers that a backend adds to, or may leave unset. */
static void clear_answers(struct sw_batch *batch)
{
    batch->status = SW_OK;
    batch->write_sequence = 0;
    batch->some_expire = false;
    batch->expired_keys = NULL;
    batch->expired_keys_count = 0;
    batch->expired = 0;
    batch->_stash_change = 0;
    batch->_stage = 0;
    memset(&batch->counters, 0, sizeof(batch->counters));
    switch (batch->kind) {
    case SW_BATCH_OPERATIONS:
        batch->leftover_count = 0;
        batch->_upserts = 0;
        batch->_write_path = 0;
        break;
    case SW_BATCH_SCAN:
        batch->scan.got = 0;
        break;
    case SW_BATCH_COUNT_SCORES:
        batch->range.matched = 0;
        break;
    case SW_BATCH_SWEEP:
        batch->sweep.cursor = 0;
        batch->sweep.looked = 0;
        break;
    default: /* CLEAR, RESIZE, ERASE_SCORES and EPOCH have none; those of an IMAGE are already clear
              */
        break;
    }
}

#ifdef SHERWOOD_CHECKS
/* Returns the bytes of the union that the batch's kind uses; 0 for CLEAR. */
static size_t own_bytes(const struct sw_batch *batch)
{
    switch (batch->kind) {
    case SW_BATCH_OPERATIONS:
        return sizeof(*batch) - offsetof(struct sw_batch, op);
    case SW_BATCH_SCAN:
        return sizeof(batch->scan);
    case SW_BATCH_RESIZE:
        return sizeof(batch->capacity);
    case SW_BATCH_COUNT_SCORES:
    case SW_BATCH_ERASE_SCORES:
        return sizeof(batch->range);
    case SW_BATCH_EPOCH:
        return sizeof(batch->epoch);
    case SW_BATCH_SWEEP:
        return sizeof(batch->sweep);
    case SW_BATCH_IMAGE:
        return sizeof(batch->image);
    default:
        return 0;
    }
}
#endif

/* Overwrites the members of other kinds, so that tests find code that reads them. */
static void spoil_other_kinds(struct sw_batch *batch)
{
#ifdef SHERWOOD_CHECKS
    const size_t from = offsetof(struct sw_batch, op) + own_bytes(batch);
    memset((uint8_t *)batch + from, 0xa5, sizeof(*batch) - from);
#else
    (void)batch;
#endif
}

int sw_queue_submit(struct sw_queue *queue, struct sw_batch *batch)
{
    spoil_other_kinds(batch);
    clear_answers(batch);
    return queue->table->combines ? sw_combiner_submit(&queue->combined, batch)
                                  : queue->table->backend->submit(queue->memory, batch);
}

int sw_batch_poll(struct sw_queue *queue, struct sw_batch *batch)
{
    int status = queue->table->combines ? sw_combiner_poll(&queue->combined, batch)
                                        : queue->table->backend->poll(queue->memory, batch);
    if (status != SW_PENDING) {
        sw_queue_account(queue, batch);
    }
    return status;
}

bool sw_table_is_held(const struct sw_table *table)
{
    return sw_table_holds(table, false);
}

bool sw_table_holds(const struct sw_table *table, bool reads)
{
    return table->backend->holds != NULL && table->backend->holds(table->memory, reads, false);
}

bool sw_table_keeps_out(const struct sw_table *table, bool reads)
{
    return table->backend->holds != NULL && table->backend->holds(table->memory, reads, true);
}

int sw_batch_run(struct sw_queue *queue, struct sw_batch *batch)
{
    int status = sw_batch_submit(queue, batch);
    if (status != SW_OK) {
        return status;
    }
    do {
        status = sw_batch_poll(queue, batch);
    } while (status == SW_PENDING);
    return status;
}

/* --- audit ------------------------------------------------------------------------------------ */
size_t sw_table_raw_bytes(const struct sw_table *table)
{
    return table->backend->raw_copy != NULL ? (size_t)sw_table_facts_of(table).raw_bytes : 0;
}

int sw_table_raw_copy(struct sw_table *table, void *slots)
{
    return table->backend->raw_copy != NULL ? table->backend->raw_copy(table->memory, slots)
                                            : SW_E_UNSUPPORTED;
}

int sw_table_check(struct sw_table *table, char *violation, size_t violation_size)
{
    char unused[1];
    if (violation == NULL || violation_size == 0) {
        violation = unused;
        violation_size = sizeof(unused);
    }
    violation[0] = '\0';
    return table->backend->check != NULL
               ? table->backend->check(table->memory, violation, violation_size)
               : SW_E_UNSUPPORTED;
}
