/* SPDX-License-Identifier: MIT
 *
 * must.h - calls of table.h that must succeed. A failure is a Criterion assertion that names the
 * line of the call.
 *
 * Threads: any.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_MUST_H
#define SHERWOOD_TESTS_SUPPORT_MUST_H

#include "table/table.h"

struct must_place {
    const char *file;
    int line;
};
#define MUST_PLACE ((struct must_place){__FILE__, __LINE__})

/* The configuration of a table on the CPU with one thread. */
static inline struct sw_table_config cpu_config(uint64_t capacity_slots, uint32_t batch_ops_max)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.capacity_slots = capacity_slots;
    config.batch_ops_max = batch_ops_max;
    config.threads = 1;
    return config;
}

#define must_create(config) must_create_at(MUST_PLACE, config)
struct sw_table *must_create_at(struct must_place place, const struct sw_table_config *config);

#define must_queue(table) must_queue_at(MUST_PLACE, table)
struct sw_queue *must_queue_at(struct must_place place, struct sw_table *table);

/* Runs a batch that must end with SW_OK. */
#define must_run(queue, batch) must_run_at(MUST_PLACE, queue, batch)
void must_run_at(struct must_place place, struct sw_queue *queue, struct sw_batch *batch);

/* Runs a batch, again while another one holds the table (sw_batch.no_wait). Returns its status. */
static inline int run_when_free(struct sw_queue *queue, struct sw_batch *batch)
{
    int status;
    do {
        status = sw_batch_run(queue, batch);
    } while (status == SW_E_BUSY);
    return status;
}

/* Polls a batch until it is done. Its status must be SW_OK. */
#define must_poll(queue, batch) must_poll_at(MUST_PLACE, queue, batch)
void must_poll_at(struct must_place place, struct sw_queue *queue, struct sw_batch *batch);

#define must_clear(queue) must_run(queue, &(struct sw_batch){.kind = SW_BATCH_CLEAR})
#define must_resize(queue, slots) \
    must_run_at(MUST_PLACE, queue, &(struct sw_batch){.kind = SW_BATCH_RESIZE, .capacity = (slots)})

/* The table's own audit must find no violation. */
#define must_check(table) must_check_at(MUST_PLACE, table)
void must_check_at(struct must_place place, struct sw_table *table);

/* The configuration must be refused with this status and a reason that contains `word`. */
#define must_refuse(config, status, word) must_refuse_at(MUST_PLACE, config, status, word)
void must_refuse_at(struct must_place place, const struct sw_table_config *config, int status,
                    const char *word);

static inline struct sw_table_info table_info(const struct sw_table *table)
{
    struct sw_table_info info;
    sw_table_info(table, &info);
    return info;
}

static inline struct sw_table_stats table_stats(const struct sw_table *table)
{
    struct sw_table_stats stats;
    sw_table_stats(table, &stats);
    return stats;
}

#endif
