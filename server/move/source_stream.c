/* SPDX-License-Identifier: MIT
 *
 * source_stream.c - sends entries and records as messages.
 */
#include "server/move/source_stream.h"

#include <string.h>

#include "proto/check.h"
#include "proto/wal_format.h"

#define RECORDS_AT_ONCE 64
#define RECORDS_BYTES (4U << 20)

int sw_move_source_connection_failed(struct source *source)
{
    return sw_mover_fail(source->mover, "the connection to the target: %s",
                         source->connection.reason);
}

/* --- messages -----------------------------------------------------------------------------------
 */

static struct iovec column(const void *at, size_t bytes)
{
    return (struct iovec){(void *)(uintptr_t)at, at == NULL ? 0 : bytes};
}

int sw_move_source_send(struct source *source, const struct sw_move_head *head,
                        const struct giving_columns *columns)
{
    static const struct giving_columns none;
    const struct sw_table_info *info = &source->mover->info;
    const struct giving_columns *all = columns == NULL ? &none : columns;
    const size_t n = head->count;
    const struct iovec parts[4] = {
        column(all->keys, n * info->key_bytes), column(all->operands, n * info->value_bytes),
        column(all->operations, n), column(all->times, n * sizeof(uint64_t))};
    struct sw_move_head whole = *head;
    uint8_t bytes[SW_MOVE_HEAD_BYTES];
    uint64_t sent = 0;
    whole.flags = (uint16_t)((all->operands == NULL ? 0U : SW_MOVE_HAS_OPERANDS) |
                             (all->operations == NULL ? 0U : SW_MOVE_HAS_OPERATIONS) |
                             (all->times == NULL ? 0U : SW_MOVE_HAS_TIMES));
    whole.columns_check = sw_check64_pieces(parts, 4, source->salt);
    sw_move_head_write(&whole, source->salt, bytes);
    if (sw_peer_connection_send(&source->connection, bytes, sizeof(bytes)) != 0) {
        return sw_move_source_connection_failed(source);
    }
    for (int i = 0; i < 4; i++) {
        if (parts[i].iov_len > 0 && sw_peer_connection_send(&source->connection, parts[i].iov_base,
                                                            parts[i].iov_len) != 0) {
            return sw_move_source_connection_failed(source);
        }
        sent += parts[i].iov_len;
    }
    sw_mover_count(source->mover, n, sent);
    return 0;
}

/* Sends a message that belongs to the write source->of. */
static int send_part(struct source *source, enum sw_move_kind kind, uint8_t operation, uint32_t n,
                     const struct giving_columns *columns)
{
    const struct sw_move_head head = {.kind = kind,
                                      .operation = operation,
                                      .count = n,
                                      .from = source->sent,
                                      .sequence = source->of};
    source->sent = source->of;
    return sw_move_source_send(source, &head, columns);
}

/* --- times --------------------------------------------------------------------------------------
 */

/* Fails: keys got expiry times after the target was admitted. The next attempt is refused. */
static int refuse_times(struct source *source)
{
    return sw_mover_fail(
        source->mover,
        "keys of the slots have expiry times now, and the target's table has no expiry");
}

/* Returns the expiry times of the mover's entries [first, first + n). Returns NULL if no entry of
 * this range expires. */
static const uint64_t *times_of(const struct sw_mover *mover, uint32_t first, uint32_t n)
{
    uint64_t any = 0;
    for (uint32_t i = 0; i < n; i++) {
        any |= mover->times[first + i];
    }
    return any == 0 ? NULL : mover->times + first;
}

int sw_move_source_send_expired(struct source *source, const uint8_t *keys, uint32_t count)
{
    if (count > 0 && source->hello->expires == 0) {
        return refuse_times(source);
    }
    for (uint32_t at = 0; at < count;) {
        const uint32_t n = count - at < source->most ? count - at : source->most;
        const struct giving_columns columns = {.keys = keys +
                                                       (size_t)at * source->mover->info.key_bytes};
        if (send_part(source, SW_MOVE_EXPIRED, 0, n, &columns) != 0) {
            return -1;
        }
        at += n;
    }
    return 0;
}

/* --- entries ------------------------------------------------------------------------------------
 */

int sw_move_source_send_entries(struct sw_mover *mover, uint32_t count, void *user)
{
    struct source *source = user;
    for (uint32_t at = 0; at < count;) {
        const uint32_t n = count - at < source->most ? count - at : source->most;
        const struct sw_move_head head = {.kind = SW_MOVE_ENTRIES, .operation = SW_SET, .count = n};
        const struct giving_columns columns = {
            .keys = mover->keys + (size_t)at * mover->info.key_bytes,
            .operands = mover->values + (size_t)at * mover->info.value_bytes,
            .times = times_of(mover, at, n)};
        if (columns.times != NULL && source->hello->expires == 0) {
            return refuse_times(source);
        }
        if (sw_move_source_send(source, &head, &columns) != 0) {
            return -1;
        }
        at += n;
    }
    return 0;
}

/* --- the writes ---------------------------------------------------------------------------------
 */

/* A record, and where its columns lie. */
struct giving_record {
    struct sw_wal_record head;
    const uint8_t *keys, *operands, *operations, *times, *expired_keys;
};

static struct giving_record record_of(const struct sw_mover *mover,
                                      const struct sw_wal_record *head, const uint8_t *columns)
{
    const struct sw_wal_shape shape = {.key_bytes = mover->info.key_bytes,
                                       .value_bytes = mover->info.value_bytes};
    const struct sw_wal_columns sizes = sw_wal_columns(&shape, head);
    struct giving_record record = {.head = *head, .keys = columns};
    record.operands = record.keys + sizes.keys;
    record.operations = record.operands + sizes.operands;
    record.times = record.operations + sizes.operations;
    record.expired_keys = record.times + sizes.times;
    return record;
}

/* Returns the expiry time that operation i sets. */
static uint64_t time_at(const struct giving_record *record, uint32_t i)
{
    uint64_t at = 0;
    if (record->head.flags & (SW_WAL_HAS_TIMES | SW_WAL_HAS_TIME)) {
        const uint32_t place = record->head.flags & SW_WAL_HAS_TIMES ? i : 0;
        memcpy(&at, record->times + place * sizeof(at), sizeof(at));
    }
    return at;
}

/* Sends the first n operations in the mover's memory. They are copies of this record's
 * operations. */
static int send_writes(struct source *source, const struct giving_record *record, uint32_t n)
{
    const struct sw_mover *mover = source->mover;
    const uint16_t flags = record->head.flags;
    const struct giving_columns columns = {
        .keys = mover->keys,
        .operands = flags & SW_WAL_HAS_OPERANDS ? mover->values : NULL,
        .operations = flags & SW_WAL_HAS_OPERATIONS ? mover->ops : NULL,
        .times = times_of(mover, 0, n)};
    return send_part(source, SW_MOVE_WRITES, record->head.operation, n, &columns);
}

/* Copies operation i to place n of the mover's memory. Returns false if the target does not know
 * the operation. */
static bool copy_one(struct source *source, const struct giving_record *record, uint32_t i,
                     uint32_t n)
{
    struct sw_mover *mover = source->mover;
    const uint32_t kb = mover->info.key_bytes, vb = mover->info.value_bytes;
    const bool has_operations = (record->head.flags & SW_WAL_HAS_OPERATIONS) != 0;
    const uint8_t operation = has_operations ? record->operations[i] : record->head.operation;
    memcpy(mover->keys + (size_t)n * kb, record->keys + (size_t)i * kb, kb);
    if (record->head.flags & SW_WAL_HAS_OPERANDS) {
        memcpy(mover->values + (size_t)n * vb, record->operands + (size_t)i * vb, vb);
    }
    mover->ops[n] = operation;
    mover->times[n] = time_at(record, i);
    return source->hello->expires != 0 || (mover->times[n] == 0 && !sw_op_expires(operation));
}

/* Sends the parts of the record that concern the slots: first the expired keys that it removed,
 * then its operations. */
static int send_record(struct source *source, const struct giving_record *record)
{
    struct sw_mover *mover = source->mover;
    const struct sw_slot_set *slots = &source->hello->slots;
    const uint32_t kb = mover->info.key_bytes;
    uint32_t n = 0;
    int status = 0;
    for (uint32_t i = 0; i < record->head.expired_keys && status == 0; i++) {
        if (sw_mover_has(mover, slots, record->expired_keys, i)) {
            memcpy(mover->keys + (size_t)n++ * kb, record->expired_keys + (size_t)i * kb, kb);
        }
        if (n == source->most || i + 1 == record->head.expired_keys) {
            status = sw_move_source_send_expired(source, mover->keys, n);
            n = 0;
        }
    }
    for (uint32_t i = 0; i < record->head.count && status == 0; i++) {
        if (!sw_mover_has(mover, slots, record->keys, i)) {
            continue;
        }
        if (!copy_one(source, record, i, n)) {
            return refuse_times(source);
        }
        if (++n == source->most) {
            status = send_writes(source, record, n);
            n = 0;
        }
    }
    return status != 0 || n == 0 ? status : send_writes(source, record, n);
}

/* Sends the parts of a write that concern the slots. */
static int send_kept(struct source *source, const struct sw_backlog_record *kept)
{
    struct sw_wal_record head;
    if (!sw_wal_record_decode(kept->bytes, sw_backlog_salt(source->mover->parts.repl->backlog),
                              &head)) {
        return sw_mover_fail(source->mover, "a queued write is damaged");
    }
    source->of = head.sequence;
    if (head.kind != SW_WAL_OPERATIONS) {
        return send_part(source, SW_MOVE_CLEAR, 0, 0, NULL);
    }
    const struct giving_record record =
        record_of(source->mover, &head, kept->bytes + SW_WAL_RECORD_BYTES);
    return send_record(source, &record);
}

/* Sends the writes that the backlog has after *at, up to `through`. Returns their number, or -1. */
static int send_some(struct source *source, uint64_t *at, uint64_t through)
{
    struct sw_backlog_record *records[RECORDS_AT_ONCE];
    struct sw_mover *mover = source->mover;
    int status = 0, sent = 0;
    int n =
        sw_backlog_take(mover->parts.repl->backlog, *at, records, RECORDS_AT_ONCE, RECORDS_BYTES);
    if (n < 0) {
        return sw_mover_fail(mover, "the target is behind by more than repl-backlog-bytes");
    }
    for (; sent < n && status == 0 && records[sent]->sequence <= through; sent++) {
        status = send_kept(source, records[sent]);
        *at = records[sent]->sequence;
    }
    sw_backlog_release(records, n);
    return status != 0 ? -1 : sent;
}

int sw_move_source_send_through(struct source *source, uint64_t *at, uint64_t through)
{
    while (*at < through) {
        int n = send_some(source, at, through);
        if (n < 0) {
            return -1;
        }
        if (sw_mover_is_over(source->mover)) {
            return sw_mover_fail(source->mover, "the move was cancelled, or the server stops");
        }
        if (n == 0) {
            sw_mover_pause_ms(source->mover, 1);
        }
    }
    return 0;
}
