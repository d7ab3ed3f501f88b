/* SPDX-License-Identifier: MIT
 *
 * served_memory.c - the accounts of the memory of tables (tables/ledger.h).
 */
#include <stdio.h>

#include "server/config/table_options.h"
#include "server/log/snapshot_fits.h"
#include "server/observe/log.h"
#include "server/served.h"
#include "server/server_parts.h"
#include "table/batch.h"
#include "table/expiring.h"
#include "table/info.h"

/* The log expects no number of this RESIZE. */
static bool shrink(struct sw_table *table)
{
    const uint64_t last = sw_table_last_sequence(table);
    const bool shrinks = sw_table_shrink(table);
    sw_table_set_sequence(table, last);
    return shrinks;
}

/* Shrinks tables until all are within the limits. A cache would evict entries. */
static void shrink_tables(struct sw_server *server)
{
    const struct sw_tables_view *view = sw_tables_hold(server->tables);
    for (uint32_t i = 0; i < view->catalog.count; i++) {
        const struct sw_served *served = view->served[i];
        if (served->config->engine != SW_ENGINE_CACHE &&
            sw_ledger_passed(&server->ledger) != SW_LEDGER_PERMITS && !shrink(served->table)) {
            sw_log(SW_LOG_NOTICE, "the table %s keeps all of its slots",
                   view->catalog.places[i].name);
        }
    }
    sw_tables_release(server->tables);
}

int sw_served_end_load(struct sw_server *server)
{
    shrink_tables(server);
    const enum sw_ledger_refusal passed = sw_ledger_passed(&server->ledger);
    if (passed != SW_LEDGER_PERMITS) {
        const char *limit =
            passed == SW_LEDGER_HOST_MAX ? "tables-host-memory-max" : "tables-memory-max";
        sw_log(SW_LOG_ERROR,
               "the keys of the data directory need more memory than %s: start with a larger --%s",
               limit, limit);
        return -1;
    }
    sw_ledger_end_load(&server->ledger);
    return 0;
}

bool sw_served_follows(const void *argument)
{
    const struct sw_server *server = argument;
    return server->repl != NULL && sw_repl_is_replica(&server->repl->state);
}

/* Returns 0, or -1 with the reason for which a table of `bytes` is refused. */
static int explain(enum sw_ledger_refusal refusal, const struct sw_config *config, uint64_t bytes,
                   char *reason, size_t reason_bytes)
{
    if (refusal == SW_LEDGER_PERMITS) {
        return 0;
    }
    if (refusal == SW_LEDGER_HOST_MAX) {
        snprintf(
            reason, reason_bytes,
            "its rows or values need more host memory than tables-host-memory-max leaves: raise "
            "tables-host-memory-max, or lower capacity");
        return -1;
    }
    snprintf(
        reason, reason_bytes,
        refusal == SW_LEDGER_TABLE_MAX
            ? "it needs %.1f MiB, more than its memory-max: raise memory-max, or lower capacity"
            : "it needs %.1f MiB, more than tables-memory-max leaves: raise "
              "tables-memory-max, or lower capacity or memory-min",
        (double)(bytes > config->memory_min ? bytes : config->memory_min) / (1 << 20));
    return -1;
}

int sw_served_open_account(struct sw_server *server, const struct sw_config *config,
                           struct sw_account *account, char *reason, size_t reason_bytes)
{
    const uint64_t bytes = sw_config_least_bytes(config);
    return explain(
        sw_account_open(account, &server->ledger, bytes, config->memory_min, config->memory_max),
        config, bytes, reason, reason_bytes);
}

int sw_served_count_table(const struct sw_config *config, struct sw_account *account,
                          const struct sw_table *table, char *reason, size_t reason_bytes)
{
    struct sw_table_info info;
    sw_table_info(table, &info);
    const uint64_t host = info.backend == SW_BACKEND_CPU ? 0 : info.row_bytes_host;
    return explain(sw_account_set_table(account, info.bytes_reserved, host), config,
                   info.bytes_reserved, reason, reason_bytes);
}

/* Checks the slots of the options `next`. Returns 0, or -1 with an error. */
static int check_slots(const struct sw_served *served, const struct sw_table_info *info,
                       const struct sw_config *next, uint64_t slots, bool is_made, char *error,
                       size_t error_bytes)
{
    if (slots > info->max_capacity_slots) {
        snprintf(error, error_bytes,
                 "ERR the table was created for at most %llu slots: make another table, "
                 "and swap the two",
                 (unsigned long long)info->max_capacity_slots);
        return -1;
    }
    /* the catalog has the option, and the next start could not load the table */
    if (!is_made && slots < info->capacity_slots &&
        next->max_capacity < served->config->max_capacity) {
        snprintf(error, error_bytes,
                 "ERR the table has %llu slots, more than this max-capacity: raise max-capacity",
                 (unsigned long long)info->capacity_slots);
        return -1;
    }
    return 0;
}

static int alter_limits(const struct sw_served *served, const struct sw_config *next,
                        uint32_t alters, bool is_made, char *error, size_t error_bytes)
{
    const uint64_t slots =
        next->max_capacity > next->capacity ? next->max_capacity : next->capacity;
    struct sw_table_info info;
    sw_table_info(served->table, &info);
    if ((alters & SW_ALTERABLE_MAX_CAPACITY) != 0 &&
        check_slots(served, &info, next, slots, is_made, error, error_bytes) != 0) {
        return -1;
    }
    /* a cuckoo table does not grow: it has the slots of its capacity, rounded up */
    const bool is_lowered =
        info.engine != SW_ENGINE_CUCKOO && slots + info.bucket_slots <= info.max_capacity_slots;
    switch (sw_account_set(served->account, next->memory_min, next->memory_max,
                           is_lowered ? slots : 0, is_made)) {
    case SW_LEDGER_PERMITS:
        return 0;
    case SW_LEDGER_TABLE_MAX:
        snprintf(error, error_bytes,
                 "ERR the table has %llu bytes, more than this memory-max: raise memory-max",
                 (unsigned long long)info.bytes_reserved);
        return -1;
    default:
        snprintf(error, error_bytes,
                 "ERR memory-min is more than the other tables leave of tables-memory-max: lower "
                 "it, or raise tables-memory-max");
        return -1;
    }
}

/* Removes max-capacity from the options `next` of a change that was made if the table cannot have
 * it: it is the first table, and another command line made it, of this start or of a replica.
 * Returns the other options of `alters`. */
static uint32_t keep_slots(const struct sw_served *served, const struct sw_table_info *info,
                           struct sw_config *next, uint32_t alters)
{
    if ((alters & SW_ALTERABLE_MAX_CAPACITY) == 0 ||
        next->max_capacity <= info->max_capacity_slots) {
        return alters;
    }
    sw_log(SW_LOG_WARNING,
           "the table with the id %u can grow to %llu slots now, to %llu before: start with "
           "--max-capacity %llu",
           served->id, (unsigned long long)info->max_capacity_slots,
           (unsigned long long)next->max_capacity, (unsigned long long)next->max_capacity);
    next->max_capacity = served->config->max_capacity;
    return alters & ~(uint32_t)SW_ALTERABLE_MAX_CAPACITY;
}

int sw_served_alter(void *argument, struct sw_served *served, const struct sw_config *config,
                    uint32_t alters, bool is_made, char *error, size_t error_bytes)
{
    struct sw_config next = *served->config;
    struct sw_table_info info;
    (void)argument;
    sw_table_info(served->table, &info);
    sw_config_alter(&next, config, alters);
    alters = is_made ? keep_slots(served, &info, &next, alters) : alters;
    if (next.default_ttl != 0 && (info.operations >> SW_EXPIRE & 1) == 0) {
        snprintf(error, error_bytes,
                 "ERR keys of this table do not expire: make another table, and swap the two");
        return -1;
    }
    if ((alters & SW_ALTERABLE_LIMITS) != 0 &&
        alter_limits(served, &next, alters, is_made, error, error_bytes) != 0) {
        return -1;
    }
    if (next.default_ttl != 0) {
        sw_table_will_expire(served->table);
    }
    sw_config_alter((struct sw_config *)(uintptr_t)served->config, config, alters);
    return 0;
}
