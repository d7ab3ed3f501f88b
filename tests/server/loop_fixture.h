/* SPDX-License-Identifier: MIT
 *
 * loop_fixture.h - a small table on the CPU, and loops on it without a server around them.
 */
#ifndef SHERWOOD_TESTS_SERVER_LOOP_FIXTURE_H
#define SHERWOOD_TESTS_SERVER_LOOP_FIXTURE_H

#include <criterion/criterion.h>
#include <stdlib.h>

#include "server/config/live.h"
#include "server/config/options.h"
#include "server/loop.h"
#include "server/observe/log.h"
#include "tests/support/must.h"

/* A callback of an owner that does nothing. */
static inline void no_call(void *server)
{
    (void)server;
}
static inline void no_changes(void *context, const struct sw_live_changes *changes, const char *who)
{
    (void)context;
    (void)changes;
    (void)who;
}
static inline void no_snapshot(void *server, struct sw_server_stats *snapshot)
{
    (void)server;
    (void)snapshot;
}

/* Batches of at most 1024 operations, 1 MiB of I/O memory. */
static inline void small_config(struct sw_config *config, uint64_t capacity)
{
    sw_log_init(SW_LOG_ERROR);
    sw_config_init(config);
    config->backend = SW_BACKEND_CPU;
    config->capacity = capacity;
    config->max_capacity = 0;
    config->arena_bytes = 1 << 20;
    config->round_ops_max = 1024;
    config->frame_ops_max = 1024;
    sw_config_fit(config);
}

/* `sequencer`: of all tables of the test; NULL: the table has its own. */
static inline struct sw_table *open_table(const struct sw_config *config,
                                          struct sw_sequencer *sequencer)
{
    struct sw_table_config table_config;
    sw_config_table(config, &table_config);
    table_config.sequencer = sequencer;
    return must_create(&table_config);
}

/* The time in which an iteration's budget would be spent does not pass. */
static inline uint64_t still_clock(void)
{
    return 1;
}

/* Opens loop number `index`, and does not start it. */
static inline struct sw_loop *open_loop(const struct sw_config *config, struct sw_table *table,
                                        const struct sw_loop_owner *owner, uint32_t index,
                                        uint32_t loops)
{
    /* aligned as the server's are */
    struct sw_loop *loop = aligned_alloc(64, (sizeof(*loop) + 63) / 64 * 64);
    cr_assert_not_null(loop);
    cr_assert_eq(sw_loop_init(loop, config, table, owner, index, loops), 0);
    loop->net.iteration.clock_ns = still_clock;
    return loop;
}

static inline void close_loop(struct sw_loop *loop)
{
    sw_loop_fini(loop);
    free(loop);
}

#endif
