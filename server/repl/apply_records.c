/* SPDX-License-Identifier: MIT
 *
 * apply_records.c - turns the records of the stream into batches, in order, as a replay of the log
 * does.
 *
 * The bytes are received into I/O memory, and the batches point into them. The thread runs all
 * records that have arrived completely, adds them to the log and the backlog, and acknowledges
 * them. Then it moves the remaining bytes to the beginning. A change of the tables is a run of its
 * own: the records before it are in the log when it begins.
 *
 * The tables number their writes by one sequencer, when a batch is submitted. This thread alone
 * submits writes, in the order of the records, so each gets the number of its record.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/check.h"
#include "proto/snapshot_file.h"
#include "server/log/replay.h"
#include "server/log/snapshot_fits.h"
#include "server/log/wal_of_table.h"
#include "server/repl/apply_parts.h"
#include "table/batch.h"
#include "table/sequencer.h"
#include "table/table.h"

#define IN_FLIGHT_MAX 64
#define ROOM_LEAST (4U << 20)
#define FULL_BYTES 128 /* of the reason why a record does not fit */

struct applying {
    struct sw_apply *apply;
    struct sw_apply_targets targets;
    uint8_t *bytes; /* I/O memory */
    size_t room, size;
    size_t taken;       /* bytes at the begin that a snapshot has taken */
    size_t record_max;  /* the longest record of the tables that it has opened */
    size_t dropped_max; /* the longest record of any table, also of a dropped one */
    struct sw_batch batches[IN_FLIGHT_MAX];
    const struct sw_apply_target *of[IN_FLIGHT_MAX]; /* the table of each batch */
    uint64_t sequences[IN_FLIGHT_MAX];               /* write_sequence that each batch must get */
    unsigned oldest, in_flight;
    uint64_t next; /* sequence of the next record */
    bool is_whole;
};

static int refuse_record(const struct sw_apply *apply, const char *what)
{
    snprintf(apply->reason, SW_REPL_REASON_BYTES, "a record of the primary %s", what);
    return -1;
}

/* A batch has failed, and may have taken its number. */
static void lose_position(struct applying *applying)
{
    applying->is_whole = false;
    if (applying->apply->files != NULL) {
        sw_replica_files_lose_position(applying->apply->files);
    }
}

/* Ends the oldest batch, and checks its status and its sequence. If it has not completed, waits for
 * it, or returns 0 unless `waits`. */
static int finish_one(struct applying *applying, bool waits)
{
    struct sw_batch *batch = &applying->batches[applying->oldest];
    uint64_t sequence = applying->sequences[applying->oldest];
    const struct sw_apply_target *target = applying->of[applying->oldest];
    char full[FULL_BYTES];
    int status;
    while ((status = sw_batch_poll(target->queue, batch)) == SW_PENDING) {
        if (!waits) {
            return 0;
        }
    }
    applying->oldest = (applying->oldest + 1) % IN_FLIGHT_MAX;
    applying->in_flight--;
    if (status == SW_OK && batch->write_sequence == sequence) {
        return 0;
    }
    lose_position(applying);
    snprintf(full, sizeof(full), "does not fit: %s",
             sw_table_remedy(target->account, &target->info));
    return refuse_record(
        applying->apply,
        status == SW_OK ? "got another sequence on this replica: something else writes to the table"
        : status != SW_E_FULL ? sw_status_text(status)
                              : full);
}

static int finish_all(struct applying *applying)
{
    int status = 0;
    while (applying->in_flight > 0) {
        status = finish_one(applying, true) != 0 ? -1 : status;
    }
    return status;
}

static int submit(struct applying *applying, const struct sw_apply_target *target,
                  const struct sw_batch *made, uint64_t sequence)
{
    if (applying->in_flight == IN_FLIGHT_MAX && finish_one(applying, true) != 0) {
        return -1;
    }
    unsigned at = (applying->oldest + applying->in_flight) % IN_FLIGHT_MAX;
    applying->batches[at] = *made;
    applying->of[at] = target;
    applying->sequences[at] = sequence;
    int status = sw_batch_submit(target->queue, &applying->batches[at]);
    if (status != SW_OK) {
        lose_position(applying);
        return refuse_record(applying->apply, sw_status_text(status));
    }
    applying->in_flight++;
    return finish_one(applying, false); /* a snapshot must not have the number of one that failed */
}

/* Advances the table's sequence for a write that changed nothing: it has no batch. */
static int pass(struct applying *applying, const struct sw_apply_target *target, uint64_t sequence)
{
    if (finish_all(applying) != 0) {
        return -1;
    }
    sw_table_set_sequence(target->table, sequence);
    return 0;
}

/* `target` NULL: the table was dropped since. */
static int carry_out(struct applying *applying, const struct sw_apply_target *target,
                     const struct sw_wal_record *record, uint8_t *columns)
{
    struct sw_batch batch = {.kind = SW_BATCH_CLEAR};
    if (target == NULL || record->sequence <= target->through) {
        /* all writes before have their numbers, also those in flight */
        sw_sequencer_set(applying->apply->tables->sequencer, record->sequence);
        return 0;
    }
    if (record->kind == SW_WAL_OPERATIONS && record->count + record->expired_keys == 0) {
        return pass(applying, target, record->sequence);
    }
    if (record->kind == SW_WAL_OPERATIONS) {
        sw_wal_batch_of(record, &target->shape, columns, &batch);
    }
    return submit(applying, target, &batch, record->sequence);
}

/* Carries out a change of the tables. It is the first record of its run. */
static int carry_out_change(struct applying *applying, const struct sw_wal_record *record,
                            const uint8_t *message)
{
    struct sw_apply *apply = applying->apply;
    const struct sw_apply_tables *tables = apply->tables;
    sw_apply_targets_close(&applying->targets);
    if (tables->change(tables->context, record->sequence, message, record->count, apply->reason) !=
        0) {
        apply->lacks_room = true; /* it would fail again at once */
        return -1;
    }
    sw_sequencer_set(tables->sequencer, record->sequence);
    return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Returns NULL if this replica can apply a record of operations, else an error text. */
static const char *wrong_with_operations(const struct sw_apply_target *target,
                                         const struct sw_wal_record *record)
{
    if (record->count > target->info.batch_ops_max) {
        return "is longer than the limit";
    }
    if (record->kind == SW_WAL_OPERATIONS && record->count > 0 &&
        (record->flags & SW_WAL_HAS_OPERATIONS) == 0 &&
        sw_wal_operation_name(record->operation) == NULL) {
        return "has an unknown operation";
    }
    if (sw_wal_needs_expiry(record) && !target->expires) {
        return "has keys that expire, but this table has no expiry: start the replica with "
               "--engine robin_hood (see KEYS THAT EXPIRE in sherwoodd(8))";
    }
    return NULL;
}

/* Returns NULL if this replica can apply the record, else an error text. The record's checksum is
 * correct. `target`: its table; NULL: it was dropped, or the record is about none. */
static const char *wrong_with(const struct applying *applying, const struct sw_apply_target *target,
                              const struct sw_wal_record *record)
{
    static const struct sw_wal_shape none = {0};
    const bool is_change = record->kind == SW_WAL_CHANGE;
    const bool needs_tables = is_change || (record->flags & SW_WAL_HAS_TABLE) != 0;
    if (!sw_wal_record_is_known(record, target == NULL ? &none : &target->shape) ||
        (needs_tables && applying->apply->tables == NULL) ||
        (target != NULL && !sw_wal_record_holds_columns(record, &target->shape)) ||
        (!sw_wal_is_write(record) && record->kind != SW_WAL_MARK)) {
        return "has an unknown kind";
    }
    const size_t most = target != NULL            ? target->record_max
                        : is_change               ? SW_CATALOG_BYTES_MAX
                        : sw_wal_is_write(record) ? applying->dropped_max
                                                  : applying->record_max;
    if ((size_t)record->units * SW_WAL_ALIGN > most) {
        return "is longer than the limit";
    }
    if (sw_wal_is_write(record) && record->sequence != applying->next) {
        return "does not have the next sequence";
    }
    return target == NULL ? NULL : wrong_with_operations(target, record);
}

/* Makes room for a record of `size` bytes. No batch is in flight. */
static int make_room(struct applying *applying, size_t size)
{
    struct sw_table *table = applying->apply->table;
    uint8_t *bytes = sw_io_alloc(table, size);
    if (bytes == NULL) {
        return refuse_record(applying->apply, "needs more memory than is free");
    }
    memcpy(bytes, applying->bytes, applying->size);
    sw_io_free(table, applying->bytes, applying->room);
    applying->bytes = bytes;
    applying->room = size;
    return 0;
}

/* Finds the table of a record. *target is NULL if the record is about none. Returns 0, or -1. */
static int find_target(struct applying *applying, const struct sw_wal_record *record,
                       struct sw_apply_target **target)
{
    *target = NULL;
    if (!sw_wal_is_write(record) || record->kind == SW_WAL_CHANGE) {
        return 0;
    }
    if (sw_apply_target_of(&applying->targets, record->table, target) < 0) {
        return -1;
    }
    if (*target != NULL && (*target)->record_max > applying->record_max) {
        applying->record_max = (*target)->record_max;
    }
    return 0;
}

/* Reads the record at `at`. Returns its size in bytes, 0 if it has not arrived completely, or -1
 * and an error if it is wrong. */
static int64_t read_record(struct applying *applying, size_t at, struct sw_wal_record *record,
                           struct sw_apply_target **target)
{
    if (applying->size - at < SW_WAL_RECORD_BYTES) {
        return 0;
    }
    if (!sw_wal_record_decode(applying->bytes + at, applying->apply->salt, record)) {
        return refuse_record(applying->apply, "is damaged, or belongs to another history");
    }
    if (find_target(applying, record, target) != 0) {
        return -1;
    }
    const char *wrong = wrong_with(applying, *target, record);
    if (wrong != NULL) {
        return refuse_record(applying->apply, wrong);
    }
    size_t size = (size_t)record->units * SW_WAL_ALIGN;
    if (applying->size - at < size) {
        return at == 0 && size > applying->room ? make_room(applying, size) : 0;
    }
    const uint8_t *columns = applying->bytes + at + SW_WAL_RECORD_BYTES;
    if (sw_wal_is_write(record) &&
        record->columns_check !=
            sw_check64(columns, size - SW_WAL_RECORD_BYTES, applying->apply->salt)) {
        return refuse_record(applying->apply, "is damaged");
    }
    return (int64_t)size;
}

/* --- snapshots -------------------------------------------------------------------------------- */

/* Do the bytes at `at` begin a snapshot? Before all have arrived, one may follow each record. */
static bool is_snapshot(const struct applying *applying, size_t at)
{
    return applying->apply->whole_at == SW_APPLY_NOT_KNOWN &&
           applying->size - at >= SW_SNAPSHOT_MAGIC_BYTES &&
           sw_snapshot_begins(applying->bytes + at);
}

/* The source of a snapshot: the bytes that have arrived, then the connection. */
static int64_t receive(void *context, void *out, size_t least, size_t room)
{
    struct applying *applying = context;
    const struct sw_source *source = &applying->apply->source;
    const size_t rest = applying->size - applying->taken, some = rest < room ? rest : room;
    memcpy(out, applying->bytes + applying->taken, some);
    applying->taken += some;
    if (some >= least) {
        return (int64_t)some;
    }
    const int64_t got =
        source->receive(source->context, (uint8_t *)out + some, least - some, room - some);
    return got < 0 ? -1 : got + (int64_t)some;
}

static void drop_bytes(struct applying *applying, size_t size)
{
    memmove(applying->bytes, applying->bytes + size, applying->size - size);
    applying->size -= size;
}

/* Loads the snapshot that the bytes begin. No batch is in flight. */
static int take_snapshot(struct applying *applying)
{
    struct sw_apply *apply = applying->apply;
    const struct sw_source source = {receive, applying};
    sw_apply_targets_close(&applying->targets); /* the numbers of the table change */
    applying->taken = 0;
    const int status = sw_apply_table(apply, &source);
    drop_bytes(applying, applying->taken);
    sw_sequencer_set(apply->tables->sequencer, applying->next - 1);
    return status;
}

/* --- runs ------------------------------------------------------------------------------------- */

/* Adds the applied records in the first `size` bytes to the log and to the backlog, and waits until
 * they are as safe as appendfsync requires. A change is in both already. Returns 0, or -1 if the
 * log did not take all of them. */
static int hand_on(struct applying *applying, size_t size)
{
    const struct sw_apply *apply = applying->apply;
    bool is_kept = true;
    struct sw_wal_record record;
    for (size_t at = 0; at < size; at += (size_t)record.units * SW_WAL_ALIGN) {
        sw_wal_record_decode(applying->bytes + at, applying->apply->salt, &record);
        if (sw_wal_is_write(&record) && record.kind != SW_WAL_CHANGE) {
            const struct sw_wal_write write =
                sw_wal_write_of(&record, applying->bytes + at + SW_WAL_RECORD_BYTES);
            is_kept =
                (apply->files == NULL || sw_replica_files_add(apply->files, &write)) && is_kept;
            if (apply->backlog != NULL) {
                sw_backlog_add(apply->backlog, &write);
            }
        }
    }
    return is_kept && (apply->files == NULL ||
                       sw_replica_files_wait_until_safe(apply->files, applying->next - 1))
               ? 0
               : -1;
}

/* The records in the first `size` bytes are applied. Returns 0, or -1 to end the connection. */
static int note_applied(struct applying *applying, size_t size)
{
    struct sw_apply *apply = applying->apply;
    int status = 0;
    if (apply->is_settled) {
        status = hand_on(applying, size);
        apply->applied = applying->next - 1;
    } else if (applying->next > apply->whole_at) {
        apply->applied = applying->next - 1;
        apply->is_settled = apply->settled(apply->context) == 0;
        status = apply->is_settled ? 0 : -1;
    }
    return apply->moved(apply->context) != 0 ? -1 : status;
}

/* Applies records that have arrived completely: a change, or all up to the next change or snapshot.
 * *more: this was not all. Returns 0. Returns -1 if one is wrong or cannot be applied; the records
 * before a wrong one are applied. */
static int take_run(struct applying *applying, bool *more)
{
    struct sw_apply *apply = applying->apply;
    struct sw_apply_target *target;
    struct sw_wal_record record;
    size_t at = 0;
    int64_t size = 0;
    int status = 0;
    *more = is_snapshot(applying, 0);
    if (*more) {
        return take_snapshot(applying);
    }
    while (status == 0 && !*more && !is_snapshot(applying, at) &&
           (size = read_record(applying, at, &record, &target)) > 0) {
        uint8_t *columns = applying->bytes + at + SW_WAL_RECORD_BYTES;
        *more = record.kind == SW_WAL_CHANGE;
        if (*more && at > 0) {
            break;
        }
        if (sw_wal_is_write(&record)) {
            status = *more ? carry_out_change(applying, &record, columns)
                           : carry_out(applying, target, &record, columns);
            applying->next += status == 0 || !*more;
        }
        uint64_t last = record.kind == SW_WAL_MARK ? record.sequence : applying->next - 1;
        apply->primary_at = apply->primary_at < last ? last : apply->primary_at;
        if (record.kind == SW_WAL_MARK && apply->whole_at == SW_APPLY_NOT_KNOWN) {
            apply->whole_at = record.sequence;
        }
        at += status == 0 || !*more ? (size_t)size : 0;
    }
    *more = *more || is_snapshot(applying, at);
    status = finish_all(applying) != 0 || status != 0 || size < 0 ? -1 : 0;
    if (!applying->is_whole) {
        return -1;
    }
    if (at > 0) {
        status = note_applied(applying, at) != 0 ? -1 : status;
        drop_bytes(applying, at);
    }
    return status;
}

static int take_records(struct applying *applying)
{
    bool more = true;
    int status = 0;
    while (status == 0 && more) {
        status = take_run(applying, &more);
    }
    return status;
}

static int apply_stream(struct applying *applying)
{
    const struct sw_apply *apply = applying->apply;
    const struct sw_source *source = &apply->source;
    int status = 0;
    while (status == 0) {
        int64_t got = source->receive(source->context, applying->bytes + applying->size, 1,
                                      applying->room - applying->size);
        if (got < 0) {
            return -1;
        }
        applying->size += (size_t)got;
        const bool has_room = apply->files == NULL || !apply->is_settled ||
                              sw_replica_files_wait_for_room(apply->files);
        status = has_room ? take_records(applying) : -1;
    }
    return status;
}

int sw_apply_records(struct sw_apply *apply, bool *is_whole)
{
    const struct sw_wal_shape widest = {.key_bytes = sizeof(uint64_t),
                                        .value_bytes = SW_SNAPSHOT_VALUE_BYTES_MAX};
    struct applying applying = {
        .apply = apply, .targets = {.apply = apply}, .next = apply->applied + 1, .is_whole = true};
    applying.record_max = SW_WAL_RECORD_BYTES + (size_t)sw_wal_longest(apply->table);
    applying.dropped_max = SW_WAL_RECORD_BYTES + (size_t)sw_wal_columns_bytes_max(
                                                     &widest, apply->info.batch_ops_max, true);
    applying.room = applying.record_max < ROOM_LEAST ? ROOM_LEAST : applying.record_max;
    applying.bytes = sw_io_alloc(apply->table, applying.room);
    if (applying.bytes == NULL) {
        snprintf(apply->reason, SW_REPL_REASON_BYTES, "not enough memory to receive records");
    } else {
        (void)apply_stream(&applying);
    }
    sw_apply_targets_close(&applying.targets);
    if (applying.bytes != NULL) {
        sw_io_free(apply->table, applying.bytes, applying.room);
    }
    *is_whole = applying.is_whole && apply->is_settled;
    return -1;
}
