/* SPDX-License-Identifier: MIT
 *
 * recover.c - recovers the writes of a log at a start.
 */
#include "server/log/recover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/key_form.h"
#include "proto/plural.h"
#include "server/log/clock.h"
#include "server/log/wal_parts.h"
#include "server/observe/log.h"
#include "table/info.h"

/* Do the segments and the snapshot belong to one data directory? */
static bool ids_agree(const struct sw_recover *recover, const struct sw_log_scan *scan,
                      char reason[SW_WAL_REASON_BYTES])
{
    struct sw_directory *directory = recover->directory;
    if (scan->count == 0) {
        return true;
    }
    const uint8_t *log_id = scan->found[0].segment.log_id;
    if (!recover->has_snapshot) {
        memcpy(directory->log_id, log_id, sizeof(directory->log_id));
    }
    if (memcmp(directory->log_id, log_id, sizeof(directory->log_id)) != 0) {
        snprintf(reason, SW_WAL_REASON_BYTES,
                 "%s: its snapshots and its log come from different directories", directory->path);
        return false;
    }
    return true;
}

static bool may_cut(const struct sw_recover *recover, const struct sw_wal_plan *plan,
                    char reason[SW_WAL_REASON_BYTES])
{
    if (!plan->is_torn) {
        return true;
    }
    if (!recover->options.cuts_torn_tail) {
        snprintf(reason, SW_WAL_REASON_BYTES,
                 "%s: the log is torn after write %llu: start with --aof-load-truncated yes to cut "
                 "it there",
                 recover->directory->path, (unsigned long long)plan->end);
        return false;
    }
    sw_log(SW_LOG_WARNING,
           "%s: the log is torn after write %llu: the next write cannot be read, as after a crash, "
           "and is removed; nothing shows that it was acknowledged",
           recover->directory->path, (unsigned long long)plan->end);
    return true;
}

/* Returns the form in which RESP clients wrote the keys, from the newest file that has it. A
 * segment is newer than the snapshot, unless the snapshot has all writes that the segment knows. */
static uint32_t form_of_files(const struct sw_recover *recover, const struct sw_log_scan *scan)
{
    for (size_t i = scan->count; i-- > 0;) {
        const struct sw_wal_found *found = &scan->found[i];
        const uint64_t last =
            found->run.last > found->segment.through ? found->run.last : found->segment.through;
        if (!found->is_alias && found->segment.key_form != 0 && last >= recover->base) {
            return found->segment.key_form;
        }
    }
    return recover->snapshot != NULL ? recover->snapshot->key_form : 0;
}

/* May this start serve keys that were written in the form of the files? */
static bool form_fits(const struct sw_recover *recover, const struct sw_log_scan *scan,
                      char reason[SW_WAL_REASON_BYTES])
{
    const struct sw_recover_options *options = &recover->options;
    const uint32_t told = form_of_files(recover, scan);
    const char *now = sw_key_form_name(sw_key_form_told(options->resp_keys));
    const bool has_keys = recover->snapshot != NULL && recover->snapshot->entries > 0;
    if (!options->has_form || (scan->plan.pieces == 0 && !has_keys)) {
        return true; /* no keys to compare */
    }
    if (told == 0) {
        sw_log(SW_LOG_NOTICE,
               "%s: its files have no form of keys, because an older version wrote them; the "
               "server assumes --resp-keys %s",
               recover->directory->path, now);
    }
    if (sw_key_form_fits(told, options->resp_keys)) {
        return true;
    }
    if (options->takes_other_form) {
        sw_log(SW_LOG_WARNING,
               "%s: RESP clients wrote keys with --resp-keys %s; with --resp-keys %s they do not "
               "find them",
               recover->directory->path, sw_key_form_name(told), now);
        return true;
    }
    snprintf(reason, SW_WAL_REASON_BYTES,
             "%s: RESP clients wrote keys with --resp-keys %s and would not find them with "
             "--resp-keys %s: start with --resp-keys %s; if no RESP client has written, start with "
             "--resp-keys-change yes",
             recover->directory->path, sw_key_form_name(told), now, sw_key_form_name(told));
    return false;
}

/* Continues without a log. Removes segments that this start could not reach, because a start with a
 * later snapshot could reach them. */
static int go_without(const struct sw_recover *recover, const struct sw_log_scan *scan,
                      char reason[SW_WAL_REASON_BYTES])
{
    struct sw_directory *directory = recover->directory;
    if (sw_wal_remove_unreachable(scan, directory, reason) != 0) {
        return -1;
    }
    if (directory->io->unlink(directory->fd, SW_WAL_NEW_NAME) != 0 && errno != ENOENT) {
        sw_log(SW_LOG_WARNING, "%s/" SW_WAL_NEW_NAME " cannot be removed: %s", directory->path,
               strerror(errno));
    }
    if (directory->io->fsync(directory->fd) != 0) {
        snprintf(reason, SW_WAL_REASON_BYTES, "the data directory %s cannot be synced: %s",
                 directory->path, strerror(errno));
        return -1;
    }
    return 0;
}

/* Sets the lowest segment that a start with the next snapshot needs. Warns if the log of the loaded
 * snapshot is missing. */
static void note_segments(const struct sw_recover *recover, const struct sw_log_scan *scan)
{
    const uint64_t segment = recover->snapshot != NULL ? recover->snapshot->segment : 0;
    recover->directory->segments_from =
        scan->count > 0 ? scan->found[scan->count - 1].number + 1 : 0;
    if (scan->count == 0 && segment != 0) {
        sw_log(SW_LOG_WARNING,
               "%s: the log that was written with the snapshot is missing: unless this is a backup "
               "of the snapshot alone, the writes after it are lost",
               recover->directory->path);
    } else if (scan->count == 0 && scan->plan.first.number != 0) {
        sw_log(SW_LOG_WARNING,
               "%s: " SW_WAL_FIRST_NAME " names a log, but no segment exists: unless you "
               "removed the segments, the writes after the snapshot are lost; if you did, remove "
               "this file as well",
               recover->directory->path);
    }
}

static int recover_scanned(const struct sw_recover *recover, const struct sw_log_scan *scan,
                           char reason[SW_WAL_REASON_BYTES])
{
    struct sw_replayed replayed;
    uint64_t began = sw_log_now_ns();
    if (!ids_agree(recover, scan, reason) || !may_cut(recover, &scan->plan, reason) ||
        !form_fits(recover, scan, reason) ||
        sw_wal_replay_to_table(scan, recover->directory, recover->table, &recover->shape,
                               recover->tables, &recover->owner, &replayed, reason) != 0) {
        return -1;
    }
    note_segments(recover, scan);
    if (replayed.writes > 0) {
        sw_log(SW_LOG_NOTICE,
               "replayed %llu write%s of the log, %llu operation%s, %llu MiB, in %.3f s",
               (unsigned long long)replayed.writes, sw_plural_s(replayed.writes),
               (unsigned long long)replayed.operations, sw_plural_s(replayed.operations),
               (unsigned long long)(replayed.bytes >> 20),
               (double)(sw_log_now_ns() - began) * 1e-9);
    }
    return recover->wal == NULL ? go_without(recover, scan, reason)
                                : sw_wal_open(recover->wal, recover->directory, scan, reason);
}

/* Without a log the loaded snapshot is the whole state, even if a newer snapshot is damaged. A new
 * log cannot begin after it: it would reuse numbers of the damaged snapshot's writes. */
static int recover_snapshot_only(const struct sw_recover *recover, uint64_t *base, uint64_t *named,
                                 char reason[SW_WAL_REASON_BYTES])
{
    uint64_t *numbers = NULL;
    size_t segments = 0;
    const uint64_t loaded = recover->snapshot != NULL ? recover->snapshot->sequence : recover->base;
    if (sw_directory_numbers(recover->directory, SW_WAL_NAME, &numbers, &segments) != 0) {
        snprintf(reason, SW_WAL_REASON_BYTES, "the data directory %s cannot be read: %s",
                 recover->directory->path, strerror(errno));
        return -1;
    }
    free(numbers);
    if (segments > 0) {
        return 0;
    }
    *base = loaded; /* of a catalog: above the base of some of its tables */
    if (recover->named == loaded) {
        return 0;
    }
    *named = loaded;
    if (recover->wal != NULL) {
        snprintf(reason, SW_WAL_REASON_BYTES,
                 "%s: its newest snapshot is damaged, and a log cannot begin after an older one: "
                 "start without appendonly, and SAVE",
                 recover->directory->path);
        return -1;
    }
    return 0;
}

int sw_recover(const struct sw_recover *recover, char reason[SW_WAL_REASON_BYTES])
{
    struct sw_log_scan scan;
    uint64_t named = recover->named, base = recover->base;
    const struct sw_snapshot_header *snapshot = recover->snapshot;
    const struct sw_wal_beside beside = {
        .segment = snapshot != NULL ? snapshot->segment : 0,
        .from = snapshot != NULL ? snapshot->segments_from : 0,
    };
    if (recover_snapshot_only(recover, &base, &named, reason) != 0) {
        return -1;
    }
    int status =
        sw_log_scan(&scan, recover->directory, base, named, &beside, &recover->shape, reason);
    if (status == 0) {
        status = recover_scanned(recover, &scan, reason);
    }
    sw_log_scan_free(&scan);
    return status;
}

int sw_recover_after_snapshot(const struct sw_load *load, const struct sw_config *config,
                              const struct sw_replay_tables *tables, struct sw_wal *wal,
                              char reason[SW_WAL_REASON_BYTES])
{
    struct sw_table_info info;
    sw_table_info(load->table, &info);
    const struct sw_recover recover = {
        .directory = load->directory,
        .table = load->table,
        .shape = {info.key_bytes, info.value_bytes, (uint32_t)info.engine, load->value_format,
                  load->value_type, info.key_text_bytes},
        .has_snapshot = load->found,
        .base = load->found ? load->base : 0,
        .named = load->highest,
        .snapshot = load->found ? &load->header : NULL,
        .options = {.cuts_torn_tail = config->aof_load_truncated != 0,
                    .has_form = true,
                    .resp_keys = config->resp_keys,
                    .takes_other_form = config->resp_keys_change != 0},
        .owner = {load->stop, load->progress, load->context},
        .tables = tables,
        .wal = wal,
    };
    return sw_recover(&recover, reason);
}
