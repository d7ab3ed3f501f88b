/* SPDX-License-Identifier: MIT
 *
 * saver.c - the thread of the saver: when it loads and writes snapshots, and its log lines.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "proto/plural.h"
#include "server/config/live.h"
#include "server/log/recover.h"
#include "server/log/saver_parts.h"
#include "server/observe/log.h"
#include "table/configuration.h"
#include "table/image.h"
#include "table/info.h"
#include "table/table.h"

#define POLL_MS 100          /* interval between checks of save points and the log */
#define RETRY_MS 5000        /* delay before the next automatic snapshot after a failed one */
#define PROGRESS_LOG_MS 5000 /* interval of log lines about the progress of loading */
/* A broken log is restarted at once. If the snapshot for it fails, the next attempt follows after
 * RESTART_FIRST_MS; each further delay is twice as long, up to RESTART_MAX_MS. */
#define RESTART_FIRST_MS 1000
#define RESTART_MAX_MS 32000

/* --- progress --------------------------------------------------------------------------------- */

static void on_loaded_block(void *context)
{
    struct sw_saver *saver = context;
    uint64_t now = sw_saver_now_ms();
    sw_saver_notify_owner(saver);
    if (now - saver->logged_ms >= PROGRESS_LOG_MS) {
        struct sw_persistence facts;
        saver->logged_ms = now;
        sw_saver_status(saver, &facts);
        sw_log(SW_LOG_INFO, "loading: %u %% of %llu MiB", sw_persistence_percent(&facts),
               (unsigned long long)(facts.loading_bytes >> 20));
    }
}

/* --- loading ---------------------------------------------------------------------------------- */

static void note_loaded(struct sw_saver *saver)
{
    const struct sw_load *load = &saver->load;
    pthread_mutex_lock(&saver->mutex);
    saver->facts.loading = false;
    if (load->found) {
        saver->facts.loaded_keys = load->header.entries;
        saver->facts.last_keys = load->header.entries;
        saver->facts.last_bytes = load->file_bytes;
        saver->facts.saved_sequence = load->header.sequence;
    }
    pthread_mutex_unlock(&saver->mutex);
    saver->saved_ms = sw_saver_now_ms();
}

/* Logs the reason and stops the server, unless the load was asked to stop. Returns false. */
static bool cannot_load(struct sw_saver *saver, const char *reason)
{
    if (!__atomic_load_n(&saver->stop_loading, __ATOMIC_RELAXED)) {
        sw_log(SW_LOG_ERROR, "%s", reason);
        saver->owner.cannot_load(saver->owner.server);
    }
    return false;
}

static bool has_segments(const struct sw_saver *saver)
{
    uint64_t *numbers = NULL;
    size_t count = 0;
    const int status = sw_directory_numbers(&saver->directory, SW_WAL_NAME, &numbers, &count);
    free(numbers);
    return status == 0 && count > 0;
}

/* Loads the newest snapshot and the log. Returns false if that failed, and the server must stop. */
static bool load_newest(struct sw_saver *saver)
{
    char reason[SW_WAL_REASON_BYTES] = "";
    struct sw_load *load = &saver->load;
    uint64_t began = sw_saver_now_ms();
    saver->logged_ms = began;
    sw_snapshot_remove_unfinished(&saver->directory);
    if (saver->history.kind == SW_HISTORY_REPLACED &&
        sw_history_remove_files(&saver->directory, reason) != 0) {
        return cannot_load(saver, reason);
    }
    if (sw_snapshot_load(load, reason) != 0) {
        return cannot_load(saver, reason);
    }
    if (load->found) {
        sw_log(
            SW_LOG_NOTICE, "loaded %llu key%s of " SW_SNAPSHOT_KIND "-%016llx, %llu MiB, in %.3f s",
            (unsigned long long)load->header.entries, sw_plural_s(load->header.entries),
            (unsigned long long)load->header.sequence, (unsigned long long)(load->file_bytes >> 20),
            (double)(sw_saver_now_ms() - began) / 1000.0);
    } else {
        sw_log(SW_LOG_NOTICE, "no snapshot in %s: the table begins %s", saver->directory.path,
               has_segments(saver) ? "with the writes of the log" : "empty");
    }
    struct sw_replay_tables tables;
    sw_saver_replay_tables(saver, &tables);
    if (sw_saver_note_found(saver, reason) != 0 ||
        sw_recover_after_snapshot(load, saver->config, saver->tables == NULL ? NULL : &tables,
                                  saver->owner.wal, reason) != 0) {
        return cannot_load(saver, reason);
    }
    sw_saver_note_loaded(saver);
    if (saver->owner.loaded(saver->owner.server) != 0) {
        saver->owner.cannot_load(saver->owner.server);
        return false;
    }
    note_loaded(saver);
    __atomic_store_n(&saver->loading, false, __ATOMIC_RELEASE);
    return true;
}

/* --- saving ----------------------------------------------------------------------------------- */

/* With the mutex held. */
static void note_saved(struct sw_saver *saver, const struct sw_saved_file *saved)
{
    struct sw_persistence *facts = &saver->facts;
    facts->saves++;
    facts->last_failed = false;
    facts->saved_at = (uint64_t)time(NULL);
    facts->last_ms = sw_saver_now_ms() - saved->began_ms;
    facts->last_hold_us = saved->hold_us;
    facts->last_bytes = saved->bytes;
    facts->last_keys = saved->entries;
    facts->saved_sequence = saved->sequence;
    saver->saved_ms = saved->began_ms;
    saver->tried_ms = 0;
}

/* With the mutex held. */
static void note_failed(struct sw_saver *saver, const char *reason)
{
    saver->facts.failures++;
    saver->facts.last_failed = true;
    saver->tried_ms = sw_saver_now_ms();
    snprintf(saver->reason, sizeof(saver->reason), "%s", reason);
}

static void log_outcome(const struct sw_saver *saver, int status, const struct sw_saved_file *saved,
                        const char *reason)
{
    if (status != 0) {
        sw_log(SW_LOG_ERROR, "no snapshot was written: %s", reason);
        return;
    }
    char tables[48] = "";
    if (saved->is_catalog) {
        snprintf(tables, sizeof(tables), "%u table%s with changes, ", saved->files,
                 sw_plural_s(saved->files));
    }
    sw_log(SW_LOG_NOTICE,
           "wrote %s/" SW_SNAPSHOT_KIND
           "-%016llx: %s%llu key%s, %llu MiB, in %.3f s; writes waited "
           "%.3f ms",
           saver->directory.path, (unsigned long long)saved->sequence, tables,
           (unsigned long long)saved->entries, sw_plural_s(saved->entries),
           (unsigned long long)(saved->bytes >> 20),
           (double)(sw_saver_now_ms() - saved->began_ms) / 1000.0, (double)saved->hold_us / 1000.0);
}

/* Restarts a broken log after the snapshot. If the snapshot failed, or lacks a write that was added
 * late, schedules another attempt. */
static void restart_log(struct sw_saver *saver, int status, const struct sw_saved_file *saved)
{
    struct sw_wal *wal = saver->owner.wal;
    uint64_t wait_ms = 0;
    if (status == 0 && sw_wal_restart(wal, saved->sequence) == 0) {
        saver->restart_ms = saver->restart_wait_ms = 0;
        return;
    }
    if (status != 0) {
        wait_ms = saver->restart_wait_ms == 0 ? RESTART_FIRST_MS : saver->restart_wait_ms;
        saver->restart_wait_ms = wait_ms * 2 < RESTART_MAX_MS ? wait_ms * 2 : RESTART_MAX_MS;
        sw_log(SW_LOG_WARNING,
               "%s: the log is still broken, and writes are refused: the server tries a snapshot "
               "again in %llu s, or at once by BGREWRITEAOF",
               saver->directory.path, (unsigned long long)(wait_ms / 1000));
    }
    saver->restart_ms = sw_saver_now_ms() + wait_ms;
}

/* Decides whether writes are refused because the last snapshot failed. The caller holds the mutex.
 */
static void decide_on_writes(struct sw_saver *saver, bool stops_writes)
{
    saver->facts.refuses_writes =
        saver->facts.last_failed && saver->point_count > 0 && stops_writes;
    __atomic_store_n(&saver->refuses_writes, saver->facts.refuses_writes, __ATOMIC_RELEASE);
}

/* Writes a snapshot, restarts a broken log, and publishes the outcome. */
static int save(struct sw_saver *saver, bool borrow)
{
    char reason[SW_SNAPSHOT_REASON_BYTES] = "";
    struct sw_saved_file saved = {.began_ms = 0};
    pthread_mutex_lock(&saver->mutex);
    uint64_t number = saver->requested;
    saver->facts.saving = true;
    const bool saves_all =
        borrow || sw_saver_log_is_broken(saver) || saver->history.kind == SW_HISTORY_REPLACED;
    saver->only_count = saves_all ? 0 : saver->only_count;
    /* a stop has a deadline: calls owner.moves at once */
    saver->moved_ms = borrow ? 0 : saver->moved_ms;
    saver->facts.saving_since = (uint64_t)time(NULL);
    pthread_mutex_unlock(&saver->mutex);
    int status = sw_saver_write(saver, borrow, &saved, reason);
    log_outcome(saver, status, &saved, reason);
    if (status == 0) {
        saver->owner.held(saver->owner.server, saved.hold_us);
    }
    if (!borrow && sw_saver_log_is_broken(saver)) {
        restart_log(saver, status, &saved);
    }
    if (status == 0 && (borrow || !sw_saver_log_is_broken(saver)) &&
        sw_saver_finish_replacing(saver, reason) != 0) {
        sw_log(SW_LOG_ERROR, "%s", reason);
        status = -1;
    }
    pthread_mutex_lock(&saver->mutex);
    if (status != 0) {
        note_failed(saver, reason);
    } else if (saver->only_count == 0) {
        note_saved(saver, &saved);
    }
    if (number == saver->only_number) {
        snprintf(saver->only_reason, sizeof(saver->only_reason), "%s", status == 0 ? "" : reason);
    }
    saver->only_count = 0;
    saver->facts.saving = false;
    saver->finished = number;
    decide_on_writes(saver, SW_LIVE(saver->config->stop_writes_on_bgsave_error) != 0);
    pthread_cond_broadcast(&saver->changed); /* for sw_saver_prepare */
    pthread_mutex_unlock(&saver->mutex);
    return status;
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Returns true if the log since the last snapshot has grown so much that a snapshot is due:
 * auto-aof-rewrite-percentage, as in redis. The caller holds the mutex. */
static bool log_has_grown(const struct sw_saver *saver)
{
    const uint64_t percent = SW_LIVE(saver->config->auto_aof_rewrite_percentage);
    if (percent == 0 || saver->owner.wal == NULL) {
        return false;
    }
    uint64_t grown = sw_wal_appended(saver->owner.wal) - saver->base_log;
    return grown > 0 && grown >= SW_LIVE(saver->config->auto_aof_rewrite_min_size) &&
           grown / percent >= saver->facts.last_bytes / 100;
}

/* Returns true if a snapshot is due: by a save point, for a log that has grown or is broken, or for
 * files that are being replaced. The caller holds the mutex. */
static bool is_due(const struct sw_saver *saver)
{
    uint64_t now = sw_saver_now_ms();
    if (saver->held) {
        return false;
    }
    if (sw_saver_log_is_broken(saver) && now >= saver->restart_ms) {
        return true;
    }
    if (saver->tried_ms != 0 && now - saver->tried_ms < RETRY_MS) {
        return false;
    }
    uint64_t changes = sw_saver_unsaved_changes(saver);
    return saver->history.kind == SW_HISTORY_REPLACED || log_has_grown(saver) ||
           sw_save_point_is_due(saver->points, saver->point_count, now - saver->saved_ms, changes);
}

/* Waits until a snapshot is requested or due. Returns false if the thread must end. */
static bool wait_for_work(struct sw_saver *saver)
{
    pthread_mutex_lock(&saver->mutex);
    while (!saver->stopping && (saver->held || saver->requested == saver->finished)) {
        if (saver->point_count == 0 && saver->owner.wal == NULL &&
            saver->history.kind != SW_HISTORY_REPLACED) {
            pthread_cond_wait(&saver->changed, &saver->mutex);
            continue;
        }
        uint64_t until = sw_log_now_ns() + POLL_MS * 1000000ULL;
        struct timespec when = {(time_t)(until / 1000000000U), (long)(until % 1000000000U)};
        pthread_cond_timedwait(&saver->changed, &saver->mutex, &when);
        if (is_due(saver)) {
            break;
        }
    }
    bool stopping = saver->stopping;
    saver->facts.saving = !stopping;
    pthread_mutex_unlock(&saver->mutex);
    return !stopping;
}

/* Returns true if the newest snapshot has every write, so that no last one is needed. */
static bool is_saved(struct sw_saver *saver)
{
    char reason[SW_SNAPSHOT_REASON_BYTES];
    return saver->history.kind != SW_HISTORY_REPLACED &&
           (saver->facts.saves > 0 || saver->load.found || saver->is_several) &&
           sw_directory_check(&saver->directory, reason, sizeof(reason)) == 0 &&
           sw_saver_all_saved(saver);
}

static void *run_saver(void *context)
{
    struct sw_saver *saver = context;
    if (!load_newest(saver)) {
        return NULL;
    }
    while (wait_for_work(saver)) {
        (void)save(saver, false);
    }
    if (saver->save_at_end && !saver->held && !is_saved(saver)) {
        saver->end_failed = save(saver, true) != 0;
    }
    return NULL;
}

/* --- life ------------------------------------------------------------------------------------- */

static void init_parts(struct sw_saver *saver)
{
    pthread_condattr_t monotonic;
    pthread_mutex_init(&saver->names, NULL);
    pthread_mutex_init(&saver->asking, NULL);
    pthread_mutex_init(&saver->history_file, NULL);
    pthread_mutex_init(&saver->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&saver->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    saver->load = (struct sw_load){.directory = &saver->directory,
                                   .table = saver->table,
                                   .value_format = (uint32_t)sw_config_value_format(saver->config),
                                   .value_type = sw_config_value_type(saver->config),
                                   .stop = &saver->stop_loading,
                                   .catalog = sw_saver_load_catalog,
                                   .reset = sw_saver_reset,
                                   .progress = on_loaded_block,
                                   .context = saver};
    saver->facts.enabled = true;
    saver->facts.loading = true;
    saver->facts.loading_since = saver->facts.saved_at = (uint64_t)time(NULL);
    saver->loading = true;
}

int sw_saver_create(const struct sw_config *config, struct sw_table *table,
                    const struct sw_saver_owner *owner, struct sw_saver **out)
{
    char reason[SW_SNAPSHOT_REASON_BYTES] = "";
    *out = NULL;
    if (sw_image_bytes(table) == 0) {
        struct sw_table_info info;
        sw_table_info(table, &info);
        sw_log(SW_LOG_ERROR,
               "a table of the engine %s on the %s backend cannot be saved: start "
               "without --data-dir, or with --backend cpu",
               info.engine_name, info.backend_name);
        return -1;
    }
    struct sw_saver *saver = calloc(1, sizeof(*saver));
    if (saver == NULL) {
        sw_log(SW_LOG_ERROR, "no memory for the data directory");
        return -1;
    }
    saver->config = config;
    saver->table = table;
    saver->owner = *owner;
    saver->point_count = sw_save_points_parse(config->save, saver->points, reason, sizeof(reason));
    if (saver->point_count < 0 ||
        getrandom(&saver->incarnation, sizeof(saver->incarnation), 0) < 0 ||
        sw_directory_open(&saver->directory, sw_io_system(), config->data_dir, reason,
                          sizeof(reason)) != 0) {
        sw_log(SW_LOG_ERROR, "%s", reason);
        free(saver);
        return -1;
    }
    if (sw_history_read(&saver->directory, &saver->history, reason) != 0 ||
        sw_role_read(&saver->directory, &saver->role, reason) != 0) {
        sw_log(SW_LOG_ERROR, "%s", reason);
        sw_directory_close(&saver->directory);
        free(saver);
        return -1;
    }
    init_parts(saver);
    *out = saver;
    return 0;
}

void sw_saver_set_tables(struct sw_saver *saver, struct sw_tables *tables)
{
    struct sw_served *first = sw_tables_pin(tables, 0);
    saver->tables = tables;
    saver->load.account = first->account;
    (void)sw_tables_unpin(tables, first);
}

int sw_saver_start(struct sw_saver *saver)
{
    if (pthread_create(&saver->thread, NULL, run_saver, saver) != 0) {
        sw_log(SW_LOG_ERROR,
               "the thread that saves could not be started: no memory for its stack?");
        return -1;
    }
    saver->started = true;
    return 0;
}

void sw_saver_set(struct sw_saver *saver, const char *points, bool stops_writes)
{
    char error[SW_SNAPSHOT_REASON_BYTES];
    pthread_mutex_lock(&saver->mutex);
    int count = sw_save_points_parse(points, saver->points, error, sizeof(error));
    saver->point_count = count > 0 ? count : 0;
    decide_on_writes(saver, stops_writes);
    pthread_cond_broadcast(&saver->changed);
    pthread_mutex_unlock(&saver->mutex);
}

int sw_saver_stop(struct sw_saver *saver, bool save_at_end)
{
    if (!saver->started) {
        return 0;
    }
    __atomic_store_n(&saver->stop_loading, true, __ATOMIC_RELAXED);
    pthread_mutex_lock(&saver->mutex);
    saver->stopping = true;
    saver->save_at_end = save_at_end;
    pthread_cond_broadcast(&saver->changed);
    pthread_mutex_unlock(&saver->mutex);
    pthread_join(saver->thread, NULL);
    saver->started = false;
    return saver->end_failed ? -1 : 0;
}

void sw_saver_destroy(struct sw_saver *saver)
{
    if (saver != NULL) {
        assert(!saver->started);
        sw_directory_close(&saver->directory);
        pthread_cond_destroy(&saver->changed);
        pthread_mutex_destroy(&saver->mutex);
        pthread_mutex_destroy(&saver->history_file);
        pthread_mutex_destroy(&saver->asking);
        pthread_mutex_destroy(&saver->names);
        free(saver->saved);
        free(saver);
    }
}
