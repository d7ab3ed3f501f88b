/* SPDX-License-Identifier: MIT
 *
 * test_string_tails.c - bytes behind strings, in snapshots and records of servers that kept them:
 * no table that reads these has them.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "proto/string_value.h"
#include "server/batch/logging.h"
#include "server/log/replay.h"
#include "server/repl/apply.h"
#include "server/repl/digest.h"
#include "server/repl/snapshot_send.h"
#include "table/image.h"
#include "table/table.h"
#include "tests/server/snapshot_fixture.h"

enum { ROW = 16, WIDE_ROW = 28, BATCH = 100 };

/* --- the function ----------------------------------------------------------------------------- */

Test(string_tails, what_is_behind_is_cleared_and_nothing_else)
{
    enum { COUNT = 16 };
    uint8_t values[COUNT * ROW], before[sizeof(values)];
    for (uint32_t text = 0; text <= 8; text += 8) { /* bytes of a key's text behind the string */
        memset(values, 0xee, sizeof(values));
        for (uint32_t i = 0; i < COUNT; i++) {
            const uint32_t length = i < COUNT - 1 ? i : UINT32_MAX;
            memcpy(values + (size_t)i * ROW, &length, sizeof(length));
        }
        memcpy(before, values, sizeof(values));
        sw_string_values_clear_tails(values, ROW, ROW - text, COUNT);
        for (uint32_t i = 0; i < COUNT; i++) {
            for (uint32_t at = 0; at < ROW; at++) {
                const bool is_tail = at >= 4 + i && at < ROW - text;
                cr_assert_eq(values[i * ROW + at], is_tail ? 0 : before[i * ROW + at],
                             "string %u, byte %u", i, at);
            }
        }
    }
    memset(values, 0xee, sizeof(values));
    sw_string_values_clear_tails(values, ROW, ROW, 0);
    cr_assert_eq(values[0], 0xee);
}

/* --- tables ----------------------------------------------------------------------------------- */

static struct sw_table *table_of(uint32_t bytes)
{
    row_bytes = bytes;
    return new_table();
}

/* Sets keys [first, first + BATCH) to strings with this byte behind them. */
static void fill_batch(struct sw_batch *batch, uint64_t first, uint32_t bytes, uint8_t tail)
{
    static uint64_t keys[BATCH];
    static uint8_t values[BATCH * WIDE_ROW];
    memset(values, tail, sizeof(values));
    for (uint32_t i = 0; i < BATCH; i++) {
        const uint32_t length = i % (ROW - SW_STRING_LENGTH_BYTES + 1);
        keys[i] = first + i;
        memcpy(values + (size_t)i * bytes, &length, sizeof(length));
        memset(values + (size_t)i * bytes + sizeof(length), 'a', length);
    }
    *batch = (struct sw_batch){.op = SW_SET, .count = BATCH, .keys = keys, .values = values};
}

static void fill(struct sw_table *table, uint64_t first, uint32_t bytes, uint8_t tail)
{
    struct sw_queue *queue = must_queue(table);
    struct sw_batch batch;
    fill_batch(&batch, first, bytes, tail);
    must_run(queue, &batch);
    sw_queue_destroy(queue);
}

static bool equals_clean(struct sw_table *table, uint32_t bytes, uint32_t batches)
{
    struct sw_digest here, clean;
    char reason[256];
    struct sw_table *other = table_of(bytes);
    for (uint32_t i = 0; i < batches; i++) {
        fill(other, (uint64_t)i * BATCH, bytes, 0);
    }
    cr_assert_eq(sw_digest_of(table, &here, reason, sizeof(reason)), 0, "%s", reason);
    cr_assert_eq(sw_digest_of(other, &clean, reason, sizeof(reason)), 0, "%s", reason);
    sw_table_destroy(other);
    return here.entries == clean.entries && memcmp(here.sum, clean.sum, sizeof(here.sum)) == 0;
}

/* --- files and streams ------------------------------------------------------------------------ */

/* Loads the snapshot into a table of such rows, which has a key beforehand or none: block by block,
 * or all of it at once. */
static void load_strings(struct place *place, uint32_t bytes, bool at_once)
{
    static const bool go_on;
    struct sw_table *table = table_of(bytes);
    struct sw_load load = {.directory = &place->directory,
                           .table = table,
                           .value_format = SW_FRAME_VALUES_STRING,
                           .value_type = SW_TYPE_STRING,
                           .stop = &go_on};
    if (!at_once) {
        fill(table, 0, bytes, 0);
    }
    cr_assert_eq(sw_snapshot_load(&load, place->reason), 0, "%s", place->reason);
    cr_assert(equals_clean(table, bytes, 3), "rows of %u bytes, at once: %d", bytes, at_once);
    sw_table_destroy(table);
}

Test(string_tails, snapshots)
{
    struct place place;
    struct sw_table *dirty = table_of(ROW);
    open_place(&place, sw_io_system());
    for (uint32_t i = 0; i < 3; i++) {
        fill(dirty, (uint64_t)i * BATCH, ROW, 0xee);
    }
    cr_assert_not(equals_clean(dirty, ROW, 3));
    cr_assert_eq(save_values(&place, dirty, SW_FRAME_VALUES_STRING, SW_TYPE_STRING), 0);
    load_strings(&place, ROW, true);
    load_strings(&place, ROW, false);
    load_strings(&place, WIDE_ROW, true);
    load_strings(&place, WIDE_ROW, false);
    sw_table_destroy(dirty);
    close_place(&place);
}

struct tape {
    uint8_t bytes[1 << 16];
    size_t size, at;
};

static int keep(void *context, const void *bytes, size_t size)
{
    struct tape *tape = context;
    cr_assert_leq(tape->size + size, sizeof(tape->bytes));
    memcpy(tape->bytes + tape->size, bytes, size);
    tape->size += size;
    return 0;
}

static int64_t take(void *context, void *out, size_t least, size_t room)
{
    struct tape *tape = context;
    size_t size = tape->size - tape->at < room ? tape->size - tape->at : room;
    memcpy(out, tape->bytes + tape->at, size);
    tape->at += size;
    return size < least ? -1 : (int64_t)size;
}

static int moved(void *context)
{
    (void)context;
    return 0;
}

static void loaded(void *context, uint64_t bytes)
{
    (void)context;
    (void)bytes;
}

/* A replica of a primary that keeps tails: its snapshot, and a record behind it. */
Test(string_tails, streams_of_replicas)
{
    static struct tape tape;
    char text[SW_SNAPSHOT_REASON_BYTES] = "", reason[SW_REPL_REASON_BYTES] = "";
    const struct sw_config config = {
        .key_bits = 64, .value_bytes = ROW - SW_STRING_LENGTH_BYTES, .value_type = SW_TYPE_STRING};
    struct sw_table *primary = table_of(ROW), *replica = table_of(ROW);
    struct sw_backlog *backlog = sw_backlog_create(1 << 20);
    struct sw_backlog_record *record = NULL;
    struct sw_queue *queue = NULL;
    struct sw_batch batch;
    uint64_t at = 0;
    bool is_whole = true;
    fill(primary, 0, ROW, 0xee);
    fill(primary, BATCH, ROW, 0xee);
    sw_backlog_enable(backlog, primary);
    const struct sw_snapshot_sending what = {
        .table = primary, .config = &config, .send = keep, .context = &tape};
    cr_assert_eq(sw_snapshot_send(&what, &at, text), 0, "%s", text);
    fill_batch(&batch, 2 * BATCH, ROW, 0xee);
    cr_assert_eq(sw_queue_create(primary, &queue), SW_OK);
    cr_assert_eq(sw_batch_run(queue, &batch), SW_OK);
    sw_logging_add_to_backlog(backlog, &batch, (struct sw_logged_widths){8, ROW, 0, 0}, true);
    cr_assert_eq(sw_backlog_take(backlog, at, &record, 1, 1 << 20), 1);
    keep(&tape, record->bytes, record->size);
    sw_backlog_release(&record, 1);

    struct sw_apply apply = {.table = replica,
                             .source = {take, &tape},
                             .value_format = SW_FRAME_VALUES_STRING,
                             .value_type = SW_TYPE_STRING,
                             .salt = sw_backlog_salt(backlog),
                             .is_settled = true,
                             .moved = moved,
                             .loaded = loaded,
                             .reason = reason};
    sw_table_info(replica, &apply.info);
    cr_assert_eq(sw_apply_snapshot(&apply), 0, "%s", reason);
    (void)sw_apply_records(&apply, &is_whole); /* until the tape ends */
    cr_assert_eq(apply.applied, at + 1, "%s", reason);
    cr_assert(is_whole && equals_clean(replica, ROW, 3));
    sw_queue_destroy(queue);
    sw_backlog_destroy(backlog);
    sw_table_destroy(primary);
    sw_table_destroy(replica);
}

/* Records of the log become batches by the same function. */
Test(string_tails, records)
{
    const struct sw_wal_shape shape = {.key_bytes = 8,
                                       .value_bytes = ROW,
                                       .value_format = SW_FRAME_VALUES_STRING,
                                       .value_type = SW_TYPE_STRING};
    const struct sw_wal_shape rows = {.key_bytes = 8,
                                      .value_bytes = ROW,
                                      .value_format = SW_FRAME_VALUES_FIXED,
                                      .value_type = SW_TYPE_BYTES};
    const struct sw_wal_record record = {.kind = SW_WAL_OPERATIONS,
                                         .operation = SW_SET,
                                         .flags = SW_WAL_HAS_OPERANDS,
                                         .count = BATCH};
    struct sw_batch dirty, clean, made;
    uint8_t columns[BATCH * 8 + 64 + BATCH * ROW + 64];
    fill_batch(&dirty, 0, ROW, 0xee);
    memcpy(columns, dirty.keys, sizeof(uint64_t) * BATCH);
    const struct sw_wal_columns sizes = sw_wal_columns(&shape, &record);
    memcpy(columns + sizes.keys, dirty.values, (size_t)BATCH * ROW);
    sw_wal_batch_of(&record, &rows, columns, &made);
    cr_assert_eq(memcmp(made.values, dirty.values, (size_t)BATCH * ROW), 0, "rows stay");
    sw_wal_batch_of(&record, &shape, columns, &made);
    fill_batch(&clean, 0, ROW, 0);
    cr_assert_eq(memcmp(made.values, clean.values, (size_t)BATCH * ROW), 0);
}
