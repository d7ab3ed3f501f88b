/* SPDX-License-Identifier: MIT
 *
 * sums.c - sums over the batches that a table has completed. Each queue has sums of its own. The
 * table has those of destroyed queues and of batches that belong to no queue.
 */
#include <stddef.h>
#include <string.h>

#include "table/adjusted.h"
#include "table/backend.h"
#include "table/instance.h"

#define COUNTER_WORDS (sizeof(struct sw_counters) / sizeof(uint64_t))
#define WORDS (sizeof(struct sw_sums) / sizeof(uint64_t))

static void add(uint64_t *sum, uint64_t more)
{
    if (more != 0) {
        const uint64_t before = __atomic_load_n(sum, __ATOMIC_RELAXED);
        __atomic_store_n(sum, before + more, __ATOMIC_RELAXED);
    }
}

static void add_batch(struct sw_sums *sums, const struct sw_table *table,
                      const struct sw_batch *batch)
{
    _Static_assert(offsetof(struct sw_sums, counters) == 0, "the counters are the first words");
    uint64_t *words = (uint64_t *)sums;
    uint64_t counters[COUNTER_WORDS];
    memcpy(counters, &batch->counters, sizeof(counters));
    for (size_t i = 0; i < COUNTER_WORDS; i++) {
        add(&words[i], counters[i]);
    }
    if (batch->kind == SW_BATCH_OPERATIONS && table->backend->leftovers_count) {
        add(&sums->handed_back, batch->leftover_count);
    }
    add(&sums->expired, batch->expired);
    if (batch->kind == SW_BATCH_EPOCH || (batch->kind == SW_BATCH_OPERATIONS && batch->_adjusts)) {
        add(&sums->adjusted, sw_batch_adjusted(batch));
    }
    add(&sums->stash_occupied, (uint64_t)batch->_stash_change);
    add(&sums->batches, 1);
    add(&sums->writes, batch->write_sequence != 0);
}

static void add_sums(struct sw_sums *sums, const struct sw_sums *more)
{
    uint64_t *to = (uint64_t *)sums;
    const uint64_t *from = (const uint64_t *)more;
    for (size_t i = 0; i < WORDS; i++) {
        add(&to[i], __atomic_load_n(&from[i], __ATOMIC_RELAXED));
    }
}

void sw_queue_account(struct sw_queue *queue, const struct sw_batch *batch)
{
    add_batch(&queue->sums, queue->table, batch);
}

void sw_table_account(struct sw_table *table, const struct sw_batch *batch)
{
    pthread_mutex_lock(&table->queues_lock);
    add_batch(&table->sums, table, batch);
    pthread_mutex_unlock(&table->queues_lock);
}

struct sw_sums sw_table_sums(const struct sw_table *table)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&table->queues_lock;
    pthread_mutex_lock(lock);
    struct sw_sums sums = table->sums;
    for (const struct sw_queue *queue = table->queues; queue != NULL; queue = queue->next) {
        add_sums(&sums, &queue->sums);
    }
    pthread_mutex_unlock(lock);
    return sums;
}

void sw_table_add_queue(struct sw_queue *queue)
{
    struct sw_table *table = queue->table;
    pthread_mutex_lock(&table->queues_lock);
    queue->next = table->queues;
    table->queues = queue;
    pthread_mutex_unlock(&table->queues_lock);
}

void sw_table_remove_queue(struct sw_queue *queue)
{
    struct sw_table *table = queue->table;
    pthread_mutex_lock(&table->queues_lock);
    struct sw_queue **at = &table->queues;
    while (*at != queue) {
        at = &(*at)->next;
    }
    *at = queue->next;
    add_sums(&table->sums, &queue->sums);
    pthread_mutex_unlock(&table->queues_lock);
}
