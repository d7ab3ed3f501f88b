/* SPDX-License-Identifier: MIT
 *
 * test_apply_dropped.c - what a replica does with a record of a table that its primary has dropped.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "server/repl/apply.h"
#include "table/sequencer.h"
#include "tests/support/must.h"

enum { OPS_MAX = 64 };

struct tape {
    const uint8_t *bytes;
    size_t size, at;
};

static int64_t from_tape(void *context, void *out, size_t least, size_t room)
{
    struct tape *tape = context;
    const size_t rest = tape->size - tape->at, size = rest < room ? rest : room;
    if (size < least) {
        return -1;
    }
    memcpy(out, tape->bytes + tape->at, size);
    tape->at += size;
    return (int64_t)size;
}

static int moved(void *context)
{
    (void)context;
    return 0;
}

static int find_none(void *context, uint32_t id, struct sw_replay_table *out,
                     char reason[SW_REPL_REASON_BYTES])
{
    (void)context, (void)id, (void)out, (void)reason;
    return 0;
}

/* Without a log, writes of a table may get numbers after that of its DROP. They may be wider than
 * those of every table that the replica has. */
Test(apply_dropped, passes_over_a_wide_record)
{
    static uint8_t columns[OPS_MAX * 1024];
    const struct sw_table_config config = cpu_config(1024, OPS_MAX);
    struct sw_table *table = must_create(&config);
    struct sw_backlog *backlog = sw_backlog_create(1 << 20);
    struct sw_backlog_record *record;
    struct sw_sequencer sequencer = {0};
    char reason[SW_REPL_REASON_BYTES] = "";
    bool is_whole = false;
    const struct sw_wal_write write = {.sequence = 1,
                                       .kind = SW_WAL_OPERATIONS,
                                       .operation = SW_SET,
                                       .count = OPS_MAX,
                                       .table = SW_WAL_FIRST_TABLE + 1,
                                       .columns = {{columns, sizeof(columns)}}};
    sw_backlog_enable(backlog, table);
    sw_backlog_add(backlog, &write);
    cr_assert_eq(sw_backlog_take(backlog, 0, &record, 1, 1), 1);
    struct tape tape = {record->bytes, record->size, 0};
    const struct sw_apply_tables tables = {.find = find_none, .sequencer = &sequencer};
    struct sw_apply apply = {.table = table,
                             .tables = &tables,
                             .source = {from_tape, &tape},
                             .salt = sw_backlog_salt(backlog),
                             .is_settled = true,
                             .moved = moved,
                             .reason = reason};
    sw_table_info(table, &apply.info);
    cr_assert_eq(sw_apply_records(&apply, &is_whole), -1, "the tape ends");
    cr_assert(is_whole);
    cr_assert_eq(apply.applied, 1, "%s", reason);
    cr_assert_eq(sw_sequencer_last(&sequencer), 1);
    sw_backlog_release(&record, 1);
    sw_backlog_destroy(backlog);
    sw_table_destroy(table);
}
