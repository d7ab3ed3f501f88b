/* SPDX-License-Identifier: MIT
 *
 * logging.c - handing the writes of batches that are done to the write-ahead log.
 */
#include "server/batch/logging.h"

#include <stdlib.h>
#include <string.h>

#include "proto/ops/number_apply.h"
#include "proto/ops/range_apply.h"
#include "server/batch/pairs.h"
#include "table/batch.h"
#include "table/expiring.h"
#include "table/scale.h"

static bool has_operand(enum sw_op op)
{
    return SW_OPS_HAS(SW_OPS_OPERAND, (uint32_t)op);
}

static enum sw_op op_at(const struct sw_batch *batch, uint32_t i)
{
    return batch->ops == NULL ? batch->op : (enum sw_op)batch->ops[i];
}

/* Does the operation give ids? A cache, which has the same operation, has no log. */
static bool gives_ids(enum sw_op op)
{
    return SW_OPS_HAS(SW_OPS_ONE(SW_FIND_OR_INSERT), (uint32_t)op);
}

/* Does the log get a SET of the result instead of the operation? It does for wide operands, for
 * operations that older servers do not read, and for ids, which depend on the ids in use. The batch
 * then has `previous` and `found`. */
static bool has_result(const struct sw_batch *batch, enum sw_op op)
{
    return (batch->wide_operands && has_operand(op)) || gives_ids(op) ||
           SW_OPS_HAS(SW_OPS_PART | SW_OPS_FITTING | SW_OPS_PAIR, (uint32_t)op);
}

/* May some operations of the batch have a result in the log? */
static bool has_results(const struct sw_batch *batch)
{
    bool some = batch->wide_operands || has_result(batch, op_at(batch, 0));
    for (uint32_t i = 1; batch->ops != NULL && i < batch->count && !some; i++) {
        some = has_result(batch, op_at(batch, i));
    }
    return some;
}

static bool was_found(const struct sw_batch *batch, uint32_t i)
{
    return (batch->found[i / 64] >> (i % 64) & 1) != 0;
}

/* --- where the columns lie -------------------------------------------------------------------- */

/* Adds a column behind those of the write that are in use. */
static void add_column(struct sw_wal_write *write, const void *at, uint64_t bytes)
{
    unsigned i = 0;
    while (write->columns[i].iov_len > 0) {
        i++;
    }
    write->columns[i] = (struct iovec){(void *)(uintptr_t)at, sw_wal_align(bytes, SW_WAL_ALIGN)};
}

/* Adds the arrays of a batch as columns, without a copy. The batch has one group and one operation
 * code. */
static void borrow(const struct sw_batch *batch, uint32_t key_bytes, uint32_t value_bytes,
                   struct sw_wal_write *write)
{
    uint64_t n = batch->count;
    write->operation = (uint8_t)batch->op;
    write->count = batch->count;
    add_column(write, batch->keys, n * key_bytes);
    if (has_operand(batch->op)) {
        write->flags |= SW_WAL_HAS_OPERANDS;
        add_column(write, batch->values, n * value_bytes);
    }
}

/* --- where keys expire ------------------------------------------------------------------------ */

static uint64_t given_time(const struct sw_batch *batch, uint32_t i)
{
    return batch->expires != NULL ? batch->expires[i] : batch->expire_at;
}

/* Returns the expiry time that operation i sets. A time that had passed by the batch's clock
 * removed the key. It becomes 1, a time that has passed by every clock. But a key that got an id
 * expires one millisecond after that clock. If no key of the table expires, KEEP becomes 0, so that
 * servers without expiring keys can read the record. */
static uint64_t time_of(const struct sw_batch *batch, uint32_t i)
{
    const uint64_t at = given_time(batch, i);
    if (at == SW_EXPIRE_KEEP && !batch->some_expire) {
        return 0;
    }
    const uint64_t instead = gives_ids(op_at(batch, i)) ? batch->clock_ms + 1 : 1;
    return at != 0 && at <= batch->clock_ms ? instead : at;
}

/* Is operation i an EXPIRE of any kind that is known to have changed nothing? */
static bool left_time(const struct sw_batch *batch, enum sw_op op, uint32_t i)
{
    return sw_op_expires(op) && sw_expire_was_idle(batch, op, i);
}

/* Returns the expiry time that the copy has for operation i. A plain SET of the result would end
 * the time of a present key. So such a SET has KEEP. */
static uint64_t written_time(const struct sw_batch *batch, uint32_t i)
{
    const bool kept = has_result(batch, op_at(batch, i)) && was_found(batch, i);
    return kept ? SW_EXPIRE_KEEP : time_of(batch, i);
}

/* Sizes of two columns of a record: the expiry times, and the expired keys that the batch removed
 * before its operations. */
struct extra {
    uint64_t times, expired_keys; /* bytes */
    bool has_column;              /* one time for each operation; otherwise at most one for all */
};

static struct extra extra_of(const struct sw_batch *batch, uint32_t key_bytes)
{
    struct extra extra = {.expired_keys = sw_wal_align(
                              (uint64_t)batch->expired_keys_count * key_bytes, SW_WAL_ALIGN)};
    if (batch->kind == SW_BATCH_OPERATIONS) {
        const bool may_differ = batch->some_expire || batch->expire_at != 0;
        extra.has_column = batch->expires != NULL || (may_differ && has_results(batch));
        const uint64_t times = extra.has_column ? batch->count : batch->expire_at != 0;
        extra.times = sw_wal_align(times * sizeof(uint64_t), SW_WAL_ALIGN);
    }
    return extra;
}

static bool some_time(const uint64_t *times, uint32_t count)
{
    uint64_t some = 0;
    for (uint32_t i = 0; i < count; i++) {
        some |= times[i];
    }
    return some != 0;
}

/* Adds the columns of expiry times and of removed keys, which lie in `memory`. If there is a time
 * for each operation, the caller has written the times there. If all times are 0 (never), adds no
 * column of times. */
static void add_extra(const struct sw_batch *batch, const struct extra *extra, uint8_t *memory,
                      uint32_t key_bytes, struct sw_wal_write *write)
{
    uint64_t *times = (uint64_t *)(void *)memory;
    if (extra->has_column && some_time(times, write->count)) {
        write->flags |= SW_WAL_HAS_TIMES;
        add_column(write, times, write->count * sizeof(*times));
    } else if (!extra->has_column && extra->times > 0 && write->count > 0 &&
               time_of(batch, 0) != 0) {
        write->flags |= SW_WAL_HAS_TIME;
        times[0] = time_of(batch, 0);
        add_column(write, times, sizeof(*times));
    }
    if (extra->expired_keys > 0) {
        write->flags |= SW_WAL_HAS_EXPIRED_KEYS;
        write->expired_keys = batch->expired_keys_count;
        memcpy(memory + extra->times, batch->expired_keys,
               (size_t)batch->expired_keys_count * key_bytes);
        add_column(write, memory + extra->times, (uint64_t)batch->expired_keys_count * key_bytes);
    }
}

/* --- copies ----------------------------------------------------------------------------------- */

/* The columns of a copy, filled one operation at a time. */
struct columns {
    uint8_t *keys, *operands, *operations;
    uint64_t *times;     /* NULL: one time for all, or none */
    uint32_t text_bytes; /* of the key string, at the end of an operand */
    uint32_t count;
    bool is_uniform; /* all operations so far are the same */
    bool has_operands;
};

/* Writes the row after operation i. The caller has checked has_result(). */
static void put_result(const struct sw_batch *batch, enum sw_op op, uint32_t i, uint8_t *row,
                       uint32_t value_bytes, uint32_t text_bytes)
{
    const uint8_t *before = (const uint8_t *)batch->previous + (size_t)i * value_bytes;
    if (gives_ids(op)) { /* `previous` has the new id */
        memcpy(row, before, value_bytes);
        return;
    }
    const uint8_t *operand =
        (const uint8_t *)batch->values + (size_t)i * value_bytes * (batch->wide_operands ? 2 : 1);
    if (batch->wide_operands) {
        memcpy(row, before, value_bytes);
        sw_scale_add_wide(op, row, operand, value_bytes);
        return;
    }
    const uint32_t bytes = value_bytes - text_bytes;
    if (was_found(batch, i)) {
        memcpy(row, before, value_bytes);
    } else {
        memcpy(row + bytes, operand + bytes, text_bytes); /* the rest of the copy is zeros */
    }
    if (SW_OPS_HAS(SW_OPS_PAIR, (uint32_t)op)) {
        memcpy(row, operand, bytes);
    } else if (SW_OPS_HAS(SW_OPS_PART, (uint32_t)op)) {
        sw_range_apply(batch->ranges[i], row, bytes, operand);
    } else {
        sw_numbers_apply((uint32_t)op, row, operand, bytes, 0, 1);
    }
}

static void copy_one(struct columns *columns, const struct sw_batch *batch, uint32_t i,
                     uint32_t key_bytes, uint32_t value_bytes)
{
    uint32_t n = columns->count++;
    enum sw_op op = op_at(batch, i);
    memcpy(columns->keys + (size_t)n * key_bytes,
           (const uint8_t *)batch->keys + (size_t)i * key_bytes, key_bytes);
    if (has_result(batch, op)) {
        put_result(batch, op, i, columns->operands + (size_t)n * value_bytes, value_bytes,
                   columns->text_bytes);
        op = SW_SET;
    } else if (has_operand(op)) {
        memcpy(columns->operands + (size_t)n * value_bytes,
               (const uint8_t *)batch->values + (size_t)i * value_bytes, value_bytes);
    }
    if (columns->times != NULL) {
        columns->times[n] = written_time(batch, i);
    }
    columns->operations[n] = (uint8_t)op;
    columns->is_uniform &= columns->operations[0] == (uint8_t)op;
    columns->has_operands |= has_operand(op);
}

/* Did operation i, of a group that was not refused, write? If the log gets its result and it never
 * inserts, it writes only if the key was present. A present key keeps its id. */
static bool has_written(const struct sw_batch *batch, uint32_t i, uint32_t value_bytes)
{
    enum sw_op op = op_at(batch, i);
    if (SW_OPS_HAS(SW_OPS_PAIR, (uint32_t)op)) {
        return sw_pair_is_met(batch, value_bytes, i);
    }
    if (gives_ids(op)) {
        return !was_found(batch, i);
    }
    const bool is_present = has_result(batch, op) && !SW_OPS_HAS(SW_OPS_INSERT, (uint32_t)op);
    return !SW_OPS_HAS(SW_OPS_READ, op) && !left_time(batch, op, i) &&
           (!is_present || was_found(batch, i));
}

/* Copies the operations that wrote, in groups that were not refused. */
static void copy_groups(struct columns *columns, const struct sw_batch *batch, uint32_t key_bytes,
                        uint32_t value_bytes)
{
    uint32_t groups = batch->group_count == 0 ? 1 : batch->group_count;
    uint32_t i = 0;
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t end = batch->group_count == 0 ? batch->count : batch->group_ends[g];
        bool refused = batch->group_count == 0 || batch->group_refused == NULL
                           ? batch->status != SW_OK
                           : batch->group_refused[g] != 0;
        for (; i < end; i++) {
            if (!refused && has_written(batch, i, value_bytes)) {
                copy_one(columns, batch, i, key_bytes, value_bytes);
            }
        }
    }
}

/* Returns false if there is no memory. The copy has zeros where its columns are padded. */
static bool copy(const struct sw_batch *batch, const struct extra *extra,
                 struct sw_logged_widths widths, struct sw_wal_write *write)
{
    const uint32_t key_bytes = widths.key, value_bytes = widths.value;
    const uint64_t n = batch->count;
    const uint64_t keys = sw_wal_align(n * key_bytes, SW_WAL_ALIGN);
    const uint64_t operands = sw_wal_align(n * value_bytes, SW_WAL_ALIGN);
    const uint64_t operations = sw_wal_align(n, SW_WAL_ALIGN);
    uint8_t *memory = calloc(1, keys + operands + operations + extra->times + extra->expired_keys);
    if (memory == NULL) {
        return false;
    }
    uint8_t *rest = memory + keys + operands + operations;
    struct columns columns = {memory,
                              memory + keys,
                              memory + keys + operands,
                              extra->has_column ? (uint64_t *)(void *)rest : NULL,
                              widths.text,
                              0,
                              .is_uniform = true};
    copy_groups(&columns, batch, key_bytes, value_bytes);
    write->owned = memory;
    write->count = columns.count;
    write->operation = columns.is_uniform ? columns.operations[0] : 0;
    add_column(write, columns.keys, (uint64_t)columns.count * key_bytes);
    if (columns.has_operands) {
        write->flags |= SW_WAL_HAS_OPERANDS;
        add_column(write, columns.operands, (uint64_t)columns.count * value_bytes);
    }
    if (!columns.is_uniform) {
        write->flags |= SW_WAL_HAS_OPERATIONS;
        add_column(write, columns.operations, columns.count);
    }
    add_extra(batch, extra, rest, key_bytes, write);
    return true;
}

/* Copies only the expiry times and the removed keys. A batch that was refused, and a sweep, only
 * have removed keys. Returns false if there is no memory. */
static bool copy_extra(const struct sw_batch *batch, const struct extra *extra, uint32_t key_bytes,
                       struct sw_wal_write *write)
{
    if (extra->times + extra->expired_keys == 0) {
        return true;
    }
    uint8_t *memory = calloc(1, extra->times + extra->expired_keys);
    if (memory == NULL) {
        return false;
    }
    for (uint32_t i = 0; extra->has_column && i < write->count; i++) {
        ((uint64_t *)(void *)memory)[i] = time_of(batch, i);
    }
    write->owned = memory;
    add_extra(batch, extra, memory, key_bytes, write);
    return true;
}

/* --- handing in ------------------------------------------------------------------------------- */

/* Did some group of a batch of operations take effect? */
static bool some_took_effect(const struct sw_batch *batch)
{
    return batch->status == SW_OK || (batch->status == SW_E_FULL && batch->group_count > 0);
}

/* Describes the effects of a batch in *write. Returns false if there is no memory for a copy. */
static bool describe(const struct sw_batch *batch, struct sw_logged_widths widths, bool copies,
                     struct sw_wal_write *write)
{
    const uint32_t key_bytes = widths.key, value_bytes = widths.value;
    const struct extra extra = extra_of(batch, key_bytes);
    *write = (struct sw_wal_write){
        .sequence = batch->write_sequence, .kind = SW_WAL_OPERATIONS, .table = widths.table};
    if (batch->kind == SW_BATCH_CLEAR && batch->status == SW_OK) {
        write->kind = SW_WAL_CLEAR;
        return true;
    }
    if (batch->kind == SW_BATCH_OPERATIONS && some_took_effect(batch)) {
        if (copies || has_results(batch) || batch->ops != NULL) {
            return copy(batch, &extra, widths, write);
        }
        borrow(batch, key_bytes, value_bytes, write);
    }
    return copy_extra(batch, &extra, key_bytes, write);
}

static uint64_t bytes_of(const struct sw_wal_write *write)
{
    uint64_t bytes = SW_WAL_RECORD_BYTES;
    for (unsigned i = 0; i < SW_WAL_COLUMNS_MAX; i++) {
        bytes += write->columns[i].iov_len;
    }
    return bytes;
}

bool sw_logging_hand_in(struct sw_wal *wal, const struct sw_batch *batch,
                        struct sw_logged_widths widths, bool copies, uint64_t *bytes)
{
    struct sw_wal_write write;
    if (!describe(batch, widths, copies, &write)) {
        sw_wal_skip(wal, write.sequence);
        return true;
    }
    const uint64_t size = bytes_of(&write);
    if (!sw_wal_add(wal, &write)) {
        free(write.owned);
        return false;
    }
    if (bytes != NULL) {
        __atomic_fetch_add(bytes, size, __ATOMIC_RELAXED);
    }
    return true;
}

void sw_logging_add_to_backlog(struct sw_backlog *backlog, const struct sw_batch *batch,
                               struct sw_logged_widths widths, bool copies)
{
    struct sw_wal_write write;
    if ((batch->kind == SW_BATCH_OPERATIONS && batch->shared) ||
        !describe(batch, widths, copies, &write)) {
        sw_backlog_skip(backlog, batch->write_sequence);
        return;
    }
    sw_backlog_add(backlog, &write);
    free(write.owned);
}
