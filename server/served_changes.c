/* SPDX-License-Identifier: MIT
 *
 * served_changes.c - what a change of the tables does to the rest of the server: its number, its
 * files, its replicas, and the table that the server started with.
 */
#include <stdio.h>
#include <stdlib.h>

#include "server/log/catalog_encode.h"
#include "server/observe/log.h"
#include "server/served.h"
#include "server/server_parts.h"
#include "table/table.h"

/* --- numbers ---------------------------------------------------------------------------------- */

int sw_served_admit(void *argument, char *error, size_t error_bytes)
{
    const struct sw_server *server = argument;
    const struct sw_repl_state *state = &server->repl->state;
    if (sw_repl_is_down(state) || sw_repl_lease_is_over(state)) {
        snprintf(error, error_bytes,
                 "CLUSTERDOWN this member of the shard is not its primary now: see HA STATUS");
        return -1;
    }
    if (sw_repl_is_replica(state)) {
        snprintf(error, error_bytes, "READONLY You can't write against a read only replica.");
        return -1;
    }
    return 0;
}

int sw_served_prepare(void *argument, const uint32_t *ids, uint32_t count, char *error,
                      size_t error_bytes)
{
    const struct sw_server *server = argument;
    char reason[SW_TABLES_ERROR_BYTES - 64];
    if (sw_saver_prepare(server->saver, ids, count, reason, sizeof(reason)) != 0) {
        snprintf(error, error_bytes, "ERR the tables cannot be saved: %s", reason);
        return -1;
    }
    return 0;
}

/* Adds a change to the backlog, if replicas read it. */
static void add_change(struct sw_server *server, const struct sw_tables_view *before,
                       const struct sw_tables_view *next, uint64_t sequence)
{
    struct sw_backlog *backlog = server->repl->backlog;
    size_t bytes = 0;
    if (!sw_backlog_is_on(backlog)) {
        return;
    }
    uint8_t *change = sw_catalog_encode_change(before, next, &bytes);
    if (change == NULL) {
        sw_backlog_skip(backlog, sequence); /* the replicas begin again */
        return;
    }
    const struct sw_wal_write write = {.sequence = sequence,
                                       .kind = SW_WAL_CHANGE,
                                       .count = (uint32_t)bytes,
                                       .columns = {{change, sw_wal_align(bytes, SW_WAL_ALIGN)}}};
    sw_backlog_add(backlog, &write);
    free(change);
}

int sw_served_commit(void *argument, const struct sw_tables_view *before,
                     const struct sw_tables_view *next, uint64_t *sequence, char *error,
                     size_t error_bytes)
{
    struct sw_server *server = argument;
    const bool is_given = *sequence != 0;
    char reason[SW_TABLES_ERROR_BYTES - 64];
    if (server->saver == NULL) {
        *sequence = *sequence != 0 ? *sequence : sw_sequencer_next(&server->sequencer);
    } else if (sw_saver_commit(server->saver, before, next, sequence, reason, sizeof(reason)) !=
               0) {
        snprintf(error, error_bytes, "ERR the change cannot be saved: %s", reason);
        if (!is_given && *sequence != 0) { /* a catalog that could not be written */
            sw_served_note_nothing(server, *sequence);
        }
        return -1;
    }
    add_change(server, before, next, *sequence);
    return 0;
}

int sw_served_save(void *argument, uint32_t id, char *error, size_t error_bytes)
{
    const struct sw_server *server = argument;
    char reason[SW_TABLES_ERROR_BYTES - 64];
    if (sw_saver_save_table(server->saver, id, reason, sizeof(reason)) != 0) {
        snprintf(error, error_bytes, "ERR the table cannot be saved: %s", reason);
        return -1;
    }
    return 0;
}

int sw_served_settle(void *argument, char *error, size_t error_bytes)
{
    const struct sw_server *server = argument;
    char reason[SW_TABLES_ERROR_BYTES - 64] = "";
    int status = server->wal == NULL ? 0 : sw_saver_settle(server->saver, reason, sizeof(reason));
    if (status == 0 && sw_repl_lease_is_over(&server->repl->state)) {
        snprintf(reason, sizeof(reason), "this member of the shard is not its primary any more");
        status = -1;
    }
    if (status != 0) {
        snprintf(error, error_bytes, "ERR the change may be lost: %s", reason);
    }
    return status;
}

void sw_served_note_nothing(struct sw_server *server, uint64_t sequence)
{
    const struct sw_wal_write write = {.sequence = sequence, .kind = SW_WAL_OPERATIONS};
    sw_saver_log_nothing(server->saver, sequence);
    if (sequence != 0 && sw_backlog_is_on(server->repl->backlog)) {
        sw_backlog_add(server->repl->backlog, &write);
    }
}

/* --- the first table -------------------------------------------------------------------------- */

/* Returns whether the table has no slots beside those of a bucket. A client's change takes numbers
 * for that, as every write does. A change of a primary has all of its numbers already. */
static bool empty_first(struct sw_server *server)
{
    const uint64_t last = sw_sequencer_last(&server->sequencer);
    struct sw_queue *queue = NULL;
    struct sw_batch clear = {.kind = SW_BATCH_CLEAR, .releases = true};
    struct sw_batch shrink = {.kind = SW_BATCH_RESIZE, .capacity = 1};
    struct sw_table_info before, after;
    struct sw_table_stats stats;
    sw_table_info(server->table, &before);
    sw_table_stats(server->table, &stats);
    if (!sw_tables_are_changing(server->tables) && before.capacity_slots <= before.bucket_slots &&
        stats.occupied == 0) {
        return true; /* the start, or a full synchronisation, has emptied it before it made others
                      */
    }
    bool is_free =
        sw_queue_create(server->table, &queue) == SW_OK && sw_batch_run(queue, &clear) == SW_OK;
    is_free = is_free && sw_batch_run(queue, &shrink) == SW_OK;
    sw_table_info(server->table, &after);
    if (!is_free && after.bytes_reserved >= before.bytes_reserved) { /* cuckoo in GPU memory */
        sw_log(SW_LOG_NOTICE, "a dropped table keeps its memory: restart the server to free it");
    }
    if (sw_tables_are_changing(server->tables)) {
        sw_served_note_nothing(server, clear.write_sequence);
        sw_served_note_nothing(server, shrink.write_sequence);
    } else {
        sw_sequencer_set(&server->sequencer, last); /* no other thread writes now */
    }
    sw_queue_destroy(queue);
    return is_free;
}

void sw_served_empty(struct sw_server *server, const struct sw_served *first)
{
    const bool is_free = empty_first(server);
    (void)sw_account_set(first->account, 0, 0, 0, false); /* cannot fail */
    if (is_free) {
        sw_account_leave(first->account);
    }
}

void sw_served_reopen(void *argument, struct sw_served *served)
{
    const struct sw_server *server = argument;
    if (served->account != NULL) { /* if other tables leave less, it is promised nothing */
        (void)sw_account_set(served->account, server->config.memory_min, server->config.memory_max,
                             0, false);
    }
}
