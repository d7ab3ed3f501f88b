/* SPDX-License-Identifier: MIT
 *
 * logging.c - handing the writes of batches that are done to the write-ahead log.
 */
#include "server/batch/logging.h"

#include <stdlib.h>
#include <string.h>

#include "table/scale.h"

static bool has_operand(enum sw_op op)
{
    return op != SW_GET && op != SW_PEEK && op != SW_DELETE && op != SW_SET_SCORE;
}

static enum sw_op op_at(const struct sw_batch *batch, uint32_t i)
{
    return batch->ops == NULL ? batch->op : (enum sw_op)batch->ops[i];
}

/* --- where the columns lie -------------------------------------------------------------------- */

/* The batch is one group, of one operation. */
static void borrow(const struct sw_batch *batch, uint32_t key_bytes, uint32_t value_bytes,
                   struct sw_wal_write *write)
{
    uint64_t n = batch->count;
    write->operation = (uint8_t)batch->op;
    write->count = batch->count;
    write->columns[0] =
        (struct iovec){(void *)(uintptr_t)batch->keys, sw_wal_align(n * key_bytes, SW_WAL_ALIGN)};
    if (has_operand(batch->op)) {
        write->flags = SW_WAL_HAS_OPERANDS;
        write->columns[1] = (struct iovec){(void *)(uintptr_t)batch->values,
                                           sw_wal_align(n * value_bytes, SW_WAL_ALIGN)};
    }
}

/* --- copies ----------------------------------------------------------------------------------- */

/* The columns of a copy, filled one operation at a time. */
struct columns {
    uint8_t *keys, *operands, *operations;
    uint32_t count;
    bool is_uniform; /* all operations so far are the same */
    bool has_operands;
};

static void copy_one(struct columns *columns, const struct sw_batch *batch, uint32_t i,
                     uint32_t key_bytes, uint32_t value_bytes)
{
    uint32_t n = columns->count++;
    enum sw_op op = op_at(batch, i);
    memcpy(columns->keys + (size_t)n * key_bytes,
           (const uint8_t *)batch->keys + (size_t)i * key_bytes, key_bytes);
    if (batch->wide_operands) { /* what came of it: the log has no wide ones */
        uint8_t *row = columns->operands + (size_t)n * value_bytes;
        memcpy(row, (const uint8_t *)batch->previous + (size_t)i * value_bytes, value_bytes);
        sw_scale_add_wide(op, row, (const uint8_t *)batch->values + (size_t)i * value_bytes * 2,
                          value_bytes);
        op = SW_SET;
    } else if (has_operand(op)) {
        memcpy(columns->operands + (size_t)n * value_bytes,
               (const uint8_t *)batch->values + (size_t)i * value_bytes, value_bytes);
    }
    columns->operations[n] = (uint8_t)op;
    columns->is_uniform &= columns->operations[0] == (uint8_t)op;
    columns->has_operands |= has_operand(op);
}

/* Has operation i, of a group that was not refused, written? Wide ones that have not are found out.
 */
static bool has_written(const struct sw_batch *batch, uint32_t i)
{
    enum sw_op op = op_at(batch, i);
    const bool is_present = op == SW_ADD_PRESENT_F16 || op == SW_ADD_PRESENT_BF16;
    return op != SW_GET && op != SW_PEEK &&
           (!batch->wide_operands || !is_present || (batch->found[i / 64] >> (i % 64) & 1) != 0);
}

/* Copies what writes, of the groups that were not refused. */
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
            if (!refused && has_written(batch, i)) {
                copy_one(columns, batch, i, key_bytes, value_bytes);
            }
        }
    }
}

/* Returns false if there is no memory. The copy has zeros where its columns are padded. */
static bool copy(const struct sw_batch *batch, uint32_t key_bytes, uint32_t value_bytes,
                 struct sw_wal_write *write)
{
    uint64_t n = batch->count;
    uint64_t keys = sw_wal_align(n * key_bytes, SW_WAL_ALIGN);
    uint64_t operands = sw_wal_align(n * value_bytes, SW_WAL_ALIGN);
    uint8_t *memory = calloc(1, keys + operands + sw_wal_align(n, SW_WAL_ALIGN));
    if (memory == NULL) {
        return false;
    }
    struct columns columns = {memory, memory + keys, memory + keys + operands, 0, true, false};
    copy_groups(&columns, batch, key_bytes, value_bytes);
    n = columns.count;
    write->owned = memory;
    write->count = columns.count;
    write->operation = columns.is_uniform ? columns.operations[0] : 0;
    unsigned at = 0;
    write->columns[at++] = (struct iovec){columns.keys, sw_wal_align(n * key_bytes, SW_WAL_ALIGN)};
    if (columns.has_operands) {
        write->flags |= SW_WAL_HAS_OPERANDS;
        write->columns[at++] =
            (struct iovec){columns.operands, sw_wal_align(n * value_bytes, SW_WAL_ALIGN)};
    }
    if (!columns.is_uniform) {
        write->flags |= SW_WAL_HAS_OPERATIONS;
        write->columns[at++] = (struct iovec){columns.operations, sw_wal_align(n, SW_WAL_ALIGN)};
    }
    return true;
}

/* --- handing in ------------------------------------------------------------------------------- */

/* What a batch did. Returns false if there is no memory for a copy. */
static bool describe(const struct sw_batch *batch, uint32_t key_bytes, uint32_t value_bytes,
                     bool copies, struct sw_wal_write *write)
{
    bool some = batch->status == SW_OK ||
                (batch->status == SW_E_FULL && batch->group_count > 0); /* some group took effect */
    *write = (struct sw_wal_write){.sequence = batch->write_sequence, .kind = SW_WAL_OPERATIONS};
    if (batch->kind == SW_BATCH_CLEAR && batch->status == SW_OK) {
        write->kind = SW_WAL_CLEAR;
    } else if (batch->kind == SW_BATCH_OPERATIONS && some && !copies && !batch->wide_operands) {
        borrow(batch, key_bytes, value_bytes, write);
    } else if (batch->kind == SW_BATCH_OPERATIONS && some) {
        return copy(batch, key_bytes, value_bytes, write);
    }
    return true;
}

bool sw_logging_hand_in(struct sw_wal *wal, const struct sw_batch *batch, uint32_t key_bytes,
                        uint32_t value_bytes, bool copies)
{
    struct sw_wal_write write;
    if (!describe(batch, key_bytes, value_bytes, copies, &write)) {
        sw_wal_skip(wal, write.sequence);
        return true;
    }
    if (!sw_wal_add(wal, &write)) {
        free(write.owned);
        return false;
    }
    return true;
}

void sw_logging_feed(struct sw_feed *feed, const struct sw_batch *batch, uint32_t key_bytes,
                     uint32_t value_bytes, bool copies)
{
    struct sw_wal_write write;
    if ((batch->shared && batch->kind == SW_BATCH_OPERATIONS) ||
        !describe(batch, key_bytes, value_bytes, copies, &write)) {
        sw_feed_skip(feed, batch->write_sequence);
        return;
    }
    sw_feed_add(feed, &write);
    free(write.owned);
}
