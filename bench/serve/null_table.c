/* SPDX-License-Identifier: MIT
 *
 * null_table.c - a table that stores nothing: what the daemon costs without one.
 *
 * Stands in for table.c in build/sherwoodd-null: sockets, frames and batches are real, results are
 * not. It has the Robin Hood engine's operations, on integers or on rows, and refuses the other
 * engines. Every key is found; its value is what the memory held. A batch of reads ends
 * NULL_TABLE_READ_NS (15000) after its submit to an idle queue. A launch of writes takes
 * NULL_TABLE_WRITE_NS (60000). Launches run one after the other, and writes that arrive meanwhile
 * share the next one. Every operation adds NULL_TABLE_KEY_PS (100). So this table shows the
 * daemon's own costs beside a device, and how batches fill.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "table/engine.h"
#include "table/expiring.h"
#include "table/image.h"
#include "table/restore.h"
#include "table/robin_hood/rows.h"

struct sw_table {
    struct sw_table_config config;
    uint64_t read_ns;
    uint64_t write_ns;
    uint64_t key_ps;
    pthread_mutex_t order;
    uint64_t running_until_ns; /* a launch of writes; under `order`, as the next one */
    uint64_t waiting_until_ns; /* end of the next launch, if it has writes; otherwise of the running
                                  one */
};

struct sw_queue {
    struct sw_table *table;
    uint64_t busy_until_ns;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t setting(const char *name, uint64_t standard)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : standard;
}

/* The real one checks results. */
int sw_selftest(const struct sw_table_config *table); /* the daemon's (server/selftest.h) */
int sw_selftest(const struct sw_table_config *table)
{
    (void)table;
    return 0;
}

void sw_table_config_init(struct sw_table_config *config)
{
    *config = (struct sw_table_config){
        .slot_bits = 128,
        .capacity_slots = 1 << 24,
        .max_load = 0.85,
        .batch_ops_max = 1 << 20,
        .stash_slots = 1 << 16,
    };
}

int sw_table_config_check(const struct sw_table_config *config, char *reason, size_t reason_size)
{
    const struct sw_engine_parts *parts;
    int status = sw_engine_find(config, &parts, reason, reason_size);
    if (status == SW_OK && config->engine != SW_ENGINE_ROBIN_HOOD) {
        if (reason != NULL) {
            snprintf(reason, reason_size,
                     "the table that stores nothing has only the robin_hood engine");
        }
        return SW_E_NOTBUILT;
    }
    return status;
}

uint64_t sw_table_config_bytes(const struct sw_table_config *config)
{
    const struct sw_engine_parts *parts;
    return sw_engine_find(config, &parts, NULL, 0) == SW_OK ? parts->bytes(config) : 0;
}

int sw_table_create(const struct sw_table_config *config, struct sw_table **out, char *reason,
                    size_t reason_size)
{
    int status = sw_table_config_check(config, reason, reason_size);
    *out = NULL;
    if (status != SW_OK) {
        return status;
    }
    *out = calloc(1, sizeof(**out));
    if (*out == NULL) {
        return SW_E_NOMEM;
    }
    **out = (struct sw_table){
        .config = *config,
        .read_ns = setting("NULL_TABLE_READ_NS", 15000),
        .write_ns = setting("NULL_TABLE_WRITE_NS", 60000),
        .key_ps = setting("NULL_TABLE_KEY_PS", 100),
    };
    pthread_mutex_init(&(*out)->order, NULL);
    return SW_OK;
}

void sw_table_destroy(struct sw_table *table)
{
    if (table != NULL) {
        pthread_mutex_destroy(&table->order);
        free(table);
    }
}

void sw_table_info(const struct sw_table *table, struct sw_table_info *info)
{
    const bool rows = table->config.value_bytes != 0;
    uint64_t integer_operations = SW_OPS_INTEGERS;
    integer_operations |= SW_OPS_PAIR;
    *info = (struct sw_table_info){
        .backend = SW_BACKEND_CPU,
        .backend_name = "null",
        .backend_reason = "stores nothing",
        .bus_id = "",
        .engine = SW_ENGINE_ROBIN_HOOD,
        .engine_name = "robin_hood",
        .operations = rows ? SW_ROW_OPERATIONS : integer_operations,
        .batch_kinds = 1U << SW_BATCH_OPERATIONS | 1U << SW_BATCH_CLEAR | 1U << SW_BATCH_SCAN,
        .slot_bits = table->config.slot_bits,
        .key_bytes = table->config.slot_bits / 16,
        .value_bytes = rows ? table->config.value_bytes : table->config.slot_bits / 16,
        .bucket_slots = 4,
        .buckets = table->config.capacity_slots / 4,
        .capacity_slots = table->config.capacity_slots,
        .max_capacity_slots = table->config.capacity_slots,
        .occupied_max = table->config.capacity_slots,
        .max_load = table->config.max_load,
        .batch_ops_max = table->config.batch_ops_max,
    };
}

void sw_table_stats(const struct sw_table *table, struct sw_table_stats *stats)
{
    (void)table;
    memset(stats, 0, sizeof(*stats));
}

void *sw_io_alloc(struct sw_table *table, size_t bytes)
{
    (void)table;
    return aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
}

void sw_io_free(struct sw_table *table, void *memory, size_t bytes)
{
    (void)table;
    (void)bytes;
    free(memory);
}

int sw_queue_create_for(struct sw_table *table, uint32_t thread, struct sw_queue **out)
{
    (void)thread;
    *out = calloc(1, sizeof(**out));
    if (*out == NULL) {
        return SW_E_NOMEM;
    }
    (*out)->table = table;
    return SW_OK;
}

int sw_queue_create(struct sw_table *table, struct sw_queue **out)
{
    return sw_queue_create_for(table, 0, out);
}

void sw_queue_destroy(struct sw_queue *queue)
{
    free(queue);
}

static bool is_read(const struct sw_batch *batch)
{
    return batch->kind != SW_BATCH_OPERATIONS || (batch->ops == NULL && batch->op == SW_GET);
}

/* Returns when a write that arrives now ends: with the launch that it begins, or with the next
 * launch. */
static uint64_t end_of_write(struct sw_table *table, uint64_t now)
{
    pthread_mutex_lock(&table->order);
    if (now >= table->running_until_ns) { /* the waiting launch is running now, or nothing is */
        const bool idle = now >= table->waiting_until_ns;
        table->running_until_ns = idle ? now + table->write_ns : table->waiting_until_ns;
        table->waiting_until_ns = table->running_until_ns + (idle ? 0 : table->write_ns);
    } else if (table->waiting_until_ns == table->running_until_ns) {
        table->waiting_until_ns += table->write_ns;
    }
    const uint64_t end = table->waiting_until_ns;
    pthread_mutex_unlock(&table->order);
    return end;
}

int sw_batch_submit(struct sw_queue *queue, struct sw_batch *batch)
{
    struct sw_table *table = queue->table;
    uint64_t now = now_ns();
    uint64_t start = queue->busy_until_ns > now ? queue->busy_until_ns : now;
    uint64_t keys_ns = batch->count * table->key_ps / 1000;
    if (is_read(batch)) {
        queue->busy_until_ns = start + keys_ns + (start == now ? table->read_ns : 0);
    } else {
        queue->busy_until_ns = end_of_write(table, now) + keys_ns;
    }
    batch->_ticket = queue->busy_until_ns;
    return SW_OK;
}

int sw_batch_poll(struct sw_queue *queue, struct sw_batch *batch)
{
    (void)queue;
    if (now_ns() < batch->_ticket) {
        return SW_PENDING;
    }
    if (batch->found != NULL) {
        memset(batch->found, 0xff, batch->count / 64 * sizeof(uint64_t));
        if (batch->count % 64 != 0) {
            batch->found[batch->count / 64] = (1ULL << batch->count % 64) - 1;
        }
    }
    if (batch->group_refused != NULL) {
        memset(batch->group_refused, 0, batch->group_count);
    }
    memset(&batch->counters, 0, sizeof(batch->counters));
    batch->counters.by_class[SW_CLASS_GET].hits = batch->count;
    batch->scan.got = 0;
    batch->scan.cursor = 0;
    batch->status = SW_OK;
    return SW_OK;
}

int sw_batch_run(struct sw_queue *queue, struct sw_batch *batch)
{
    int status = sw_batch_submit(queue, batch);
    while (status == SW_OK && (status = sw_batch_poll(queue, batch)) == SW_PENDING) {
    }
    return status;
}

/* --- images: there is nothing to take one of ---------------------------------------------------
 */

int sw_image_take(struct sw_queue *queue, bool borrow, struct sw_image **out)
{
    (void)queue;
    (void)borrow;
    *out = NULL;
    return SW_E_UNSUPPORTED;
}

int sw_restore_begin(struct sw_table *table, uint64_t entries, struct sw_restore **out)
{
    (void)table;
    (void)entries;
    *out = NULL;
    return SW_E_UNSUPPORTED;
}

int sw_restore_add(struct sw_restore *restore, const void *keys, const void *values, uint32_t count)
{
    (void)restore;
    (void)keys;
    (void)values;
    (void)count;
    return SW_E_UNSUPPORTED;
}

int sw_restore_end(struct sw_restore *restore, bool keep)
{
    (void)restore;
    (void)keep;
    return SW_E_UNSUPPORTED;
}

bool sw_table_may_expire(const struct sw_table *table)
{
    (void)table;
    return false;
}

void sw_table_will_expire(struct sw_table *table)
{
    (void)table;
}

uint64_t sw_table_expiring_tables(const struct sw_table *table)
{
    (void)table;
    return 0;
}

void sw_table_suspend_expiry(struct sw_table *table,
                             bool (*is_suspended)(const void *context, uint64_t key),
                             const void *context)
{
    (void)table, (void)is_suspended, (void)context;
}

uint64_t sw_table_clock(const struct sw_table *table, uint64_t wall_ms)
{
    (void)table;
    return wall_ms;
}

uint64_t sw_table_last_given(struct sw_table *table)
{
    return sw_table_last_sequence(table);
}

uint64_t sw_table_grown(const struct sw_table *table)
{
    (void)table;
    return 0;
}

bool sw_table_is_held(const struct sw_table *table)
{
    (void)table;
    return false;
}

bool sw_table_holds(const struct sw_table *table, bool reads)
{
    (void)table;
    (void)reads;
    return false;
}

bool sw_table_keeps_out(const struct sw_table *table, bool reads)
{
    (void)table;
    (void)reads;
    return false;
}

uint64_t sw_table_last_sequence(struct sw_table *table)
{
    (void)table;
    return 0;
}

uint64_t sw_image_bytes(const struct sw_table *table)
{
    (void)table;
    return 0;
}

uint64_t sw_image_sequence(const struct sw_image *image)
{
    (void)image;
    return 0;
}

uint64_t sw_image_held_ns(const struct sw_image *image)
{
    (void)image;
    return 0;
}

uint64_t sw_image_epoch(const struct sw_image *image)
{
    (void)image;
    return 0;
}

bool sw_image_expires(const struct sw_image *image)
{
    (void)image;
    return false;
}

int sw_image_read(struct sw_image *image, uint32_t count, void *keys, void *values,
                  uint64_t *scores, uint32_t *got)
{
    (void)image;
    (void)count;
    (void)keys;
    (void)values;
    (void)scores;
    *got = 0;
    return SW_E_UNSUPPORTED;
}

void sw_image_drop(struct sw_image *image)
{
    (void)image;
}

void sw_table_set_sequence(struct sw_table *table, uint64_t sequence)
{
    (void)table;
    (void)sequence;
}

/* There are no images, so no thread waits for a claim. */
void sw_image_claim(struct sw_table *table)
{
    (void)table;
}

void sw_image_unclaim(struct sw_table *table)
{
    (void)table;
}

bool sw_image_is_claimed(const struct sw_table *table)
{
    (void)table;
    return false;
}

uint32_t sw_image_claims(const struct sw_table *table)
{
    (void)table;
    return 0;
}

uint32_t sw_table_images(const struct sw_table *table)
{
    (void)table;
    return 0;
}
