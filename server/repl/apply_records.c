/* SPDX-License-Identifier: MIT
 *
 * apply_records.c - turns the records of the stream into batches, in order, as a replay of the log
 * does.
 *
 * The bytes are received into I/O memory, and the batches point into them. The thread runs all
 * records that have arrived completely, adds them to the log and the backlog, and acknowledges
 * them. Then it moves the remaining bytes to the beginning.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/check.h"
#include "server/log/replay.h"
#include "server/repl/apply.h"
#include "table/batch.h"
#include "table/table.h"

#define IN_FLIGHT_MAX 64
#define ROOM_LEAST (4U << 20)

struct applying {
    struct sw_apply *apply;
    struct sw_wal_shape shape;
    struct sw_queue *queue;
    uint8_t *bytes; /* I/O memory */
    size_t room, size;
    size_t record_max;
    struct sw_batch batches[IN_FLIGHT_MAX];
    uint64_t sequences[IN_FLIGHT_MAX]; /* write_sequence that each batch must get */
    unsigned oldest, in_flight;
    uint64_t next; /* sequence of the next record */
    bool expires;  /* the table has EXPIRE */
    bool is_whole;
};

static int refuse_record(const struct sw_apply *apply, const char *what)
{
    snprintf(apply->reason, SW_REPL_REASON_BYTES, "a record of the primary %s", what);
    return -1;
}

/* Waits for the oldest batch, and checks its status and its sequence. */
static int finish_one(struct applying *applying)
{
    struct sw_batch *batch = &applying->batches[applying->oldest];
    uint64_t sequence = applying->sequences[applying->oldest];
    int status;
    while ((status = sw_batch_poll(applying->queue, batch)) == SW_PENDING) {
    }
    applying->oldest = (applying->oldest + 1) % IN_FLIGHT_MAX;
    applying->in_flight--;
    if (status == SW_OK && batch->write_sequence == sequence) {
        return 0;
    }
    applying->is_whole = false;
    return refuse_record(
        applying->apply,
        status == SW_OK ? "got another sequence on this replica: something else writes to the table"
        : status == SW_E_FULL ? "does not fit: raise --max-capacity"
                              : sw_status_text(status));
}

static int finish_all(struct applying *applying)
{
    int status = 0;
    while (applying->in_flight > 0) {
        status = finish_one(applying) != 0 ? -1 : status;
    }
    return status;
}

static int submit(struct applying *applying, const struct sw_batch *made, uint64_t sequence)
{
    if (applying->in_flight == IN_FLIGHT_MAX && finish_one(applying) != 0) {
        return -1;
    }
    unsigned at = (applying->oldest + applying->in_flight) % IN_FLIGHT_MAX;
    applying->batches[at] = *made;
    applying->sequences[at] = sequence;
    int status = sw_batch_submit(applying->queue, &applying->batches[at]);
    if (status != SW_OK) {
        applying->is_whole = false;
        return refuse_record(applying->apply, sw_status_text(status));
    }
    applying->in_flight++;
    return 0;
}

/* Advances the table's sequence for a write that changed nothing: it has no batch. */
static int pass(struct applying *applying, uint64_t sequence)
{
    if (finish_all(applying) != 0) {
        return -1;
    }
    sw_table_set_sequence(applying->apply->table, sequence);
    return 0;
}

static struct sw_wal_write write_of(const struct applying *applying,
                                    const struct sw_wal_record *record, uint8_t *columns)
{
    const struct sw_wal_columns bytes = sw_wal_columns(&applying->shape, record);
    struct sw_wal_write write = {.sequence = record->sequence,
                                 .kind = record->kind,
                                 .operation = record->operation,
                                 .flags = record->flags,
                                 .count = record->count,
                                 .expired_keys = record->expired_keys};
    unsigned n = 0;
    const uint64_t sizes[SW_WAL_COLUMNS_MAX] = {bytes.keys, bytes.operands, bytes.operations,
                                                bytes.times, bytes.expired_keys};
    for (unsigned i = 0; i < SW_WAL_COLUMNS_MAX; i++) {
        if (sizes[i] > 0) {
            write.columns[n++] = (struct iovec){columns, sizes[i]};
            columns += sizes[i];
        }
    }
    return write;
}

static int carry_out(struct applying *applying, const struct sw_wal_record *record,
                     uint8_t *columns)
{
    struct sw_batch batch = {.kind = SW_BATCH_CLEAR};
    if (record->kind == SW_WAL_OPERATIONS && record->count + record->expired_keys == 0) {
        return pass(applying, record->sequence);
    }
    if (record->kind == SW_WAL_OPERATIONS) {
        sw_wal_batch_of(record, &applying->shape, columns, &batch);
    }
    return submit(applying, &batch, record->sequence);
}

/* Returns NULL if this replica can apply the record, else an error text. The record's checksum is
 * correct. */
static const char *wrong_with(const struct applying *applying, const struct sw_wal_record *record)
{
    if (!sw_wal_record_is_known(record, &applying->shape) || sw_wal_has_message(record) ||
        (record->flags & SW_WAL_HAS_TABLE) != 0 ||
        (!sw_wal_is_write(record) && record->kind != SW_WAL_MARK)) {
        return "has an unknown kind";
    }
    if ((size_t)record->units * SW_WAL_ALIGN > applying->record_max ||
        record->count > applying->apply->info.batch_ops_max) {
        return "is longer than the limit";
    }
    if (sw_wal_is_write(record) && record->sequence != applying->next) {
        return "does not have the next sequence";
    }
    if (record->kind == SW_WAL_OPERATIONS && record->count > 0 &&
        (record->flags & SW_WAL_HAS_OPERATIONS) == 0 &&
        sw_wal_operation_name(record->operation) == NULL) {
        return "has an unknown operation";
    }
    if (sw_wal_needs_expiry(record) && !applying->expires) {
        return "has keys that expire, but this table has no expiry: start the replica with "
               "--engine robin_hood (see KEYS THAT EXPIRE in sherwoodd(8))";
    }
    return NULL;
}

/* Reads the record at `at`. Returns its size in bytes, 0 if it has not arrived completely, or -1
 * and an error if it is wrong. */
static int64_t read_record(struct applying *applying, size_t at, struct sw_wal_record *record)
{
    const uint8_t *bytes = applying->bytes + at;
    if (applying->size - at < SW_WAL_RECORD_BYTES) {
        return 0;
    }
    if (!sw_wal_record_decode(bytes, applying->apply->salt, record)) {
        return refuse_record(applying->apply, "is damaged, or belongs to another history");
    }
    const char *wrong = wrong_with(applying, record);
    if (wrong != NULL) {
        return refuse_record(applying->apply, wrong);
    }
    size_t size = (size_t)record->units * SW_WAL_ALIGN;
    if (applying->size - at < size) {
        return 0;
    }
    if (sw_wal_is_write(record) &&
        record->columns_check != sw_check64(bytes + SW_WAL_RECORD_BYTES, size - SW_WAL_RECORD_BYTES,
                                            applying->apply->salt)) {
        return refuse_record(applying->apply, "is damaged");
    }
    return (int64_t)size;
}

/* Adds the applied records in the first `size` bytes to the log and to the backlog, and waits until
 * they are as safe as appendfsync requires. Returns 0, or -1 if the log did not take all of them.
 */
static int hand_on(struct applying *applying, size_t size)
{
    const struct sw_apply *apply = applying->apply;
    bool is_kept = true;
    struct sw_wal_record record;
    for (size_t at = 0; at < size; at += (size_t)record.units * SW_WAL_ALIGN) {
        sw_wal_record_decode(applying->bytes + at, applying->apply->salt, &record);
        if (sw_wal_is_write(&record)) {
            const struct sw_wal_write write =
                write_of(applying, &record, applying->bytes + at + SW_WAL_RECORD_BYTES);
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

/* Applies all records that have arrived completely. Returns 0. Returns -1 if one is wrong or cannot
 * be applied; the records before a wrong one are applied. */
static int take_records(struct applying *applying)
{
    struct sw_apply *apply = applying->apply;
    struct sw_wal_record record;
    size_t at = 0;
    int64_t size;
    int status = 0;
    while (status == 0 && (size = read_record(applying, at, &record)) > 0) {
        if (sw_wal_is_write(&record)) {
            status = carry_out(applying, &record, applying->bytes + at + SW_WAL_RECORD_BYTES);
            applying->next++;
        }
        uint64_t last = record.kind == SW_WAL_MARK ? record.sequence : applying->next - 1;
        apply->primary_at = apply->primary_at < last ? last : apply->primary_at;
        at += (size_t)size;
    }
    status = finish_all(applying) != 0 || status != 0 || size < 0 ? -1 : 0;
    if (!applying->is_whole) {
        return -1;
    }
    if (at > 0) {
        bool is_safe = hand_on(applying, at) == 0;
        apply->applied = applying->next - 1;
        memmove(applying->bytes, applying->bytes + at, applying->size - at);
        applying->size -= at;
        status = !is_safe || apply->moved(apply->context) != 0 ? -1 : status;
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
        const bool has_room = apply->files == NULL || sw_replica_files_wait_for_room(apply->files);
        status = has_room ? take_records(applying) : -1;
    }
    return status;
}

int sw_apply_records(struct sw_apply *apply, bool *is_whole)
{
    const struct sw_table_info *info = &apply->info;
    struct applying applying = {.apply = apply,
                                .shape = {info->key_bytes, info->value_bytes,
                                          (uint32_t)info->engine, apply->value_format,
                                          apply->value_type, info->key_text_bytes},
                                .next = apply->applied + 1,
                                .expires = (info->operations >> SW_EXPIRE & 1) != 0,
                                .is_whole = true};
    applying.record_max =
        SW_WAL_RECORD_BYTES +
        sw_wal_columns_bytes_max(&applying.shape, info->batch_ops_max, applying.expires);
    applying.room = applying.record_max < ROOM_LEAST ? ROOM_LEAST : applying.record_max;
    applying.bytes = sw_io_alloc(apply->table, applying.room);
    if (applying.bytes == NULL || sw_queue_create(apply->table, &applying.queue) != SW_OK) {
        snprintf(apply->reason, SW_REPL_REASON_BYTES, "not enough memory to receive records");
    } else {
        (void)apply_stream(&applying);
    }
    sw_queue_destroy(applying.queue);
    if (applying.bytes != NULL) {
        sw_io_free(apply->table, applying.bytes, applying.room);
    }
    *is_whole = applying.is_whole;
    return -1;
}
