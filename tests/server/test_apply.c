/* SPDX-License-Identifier: MIT
 *
 * test_apply.c - what a replica makes of a stream: the table of its primary, bucket by bucket; and
 * of a stream that is cut, flipped, or lies, a table that the primary once had, or none.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/batch/logging.h"
#include "server/repl/apply.h"
#include "server/repl/digest.h"
#include "server/repl/snapshot_send.h"
#include "server/repl/stream.h"
#include "tests/support/must.h"
#include "tests/support/ops.h"
#include "tests/support/random.h"

enum { OPS_MAX = 64, WRITES = 60, CAPACITY = 1024, KEYS = 300 };

TestSuite(apply, .timeout = 120);

static struct sw_table *make_table(uint64_t slots, uint64_t most)
{
    struct sw_table_config config = cpu_config(slots, OPS_MAX);
    config.max_capacity_slots = most;
    config.stash_slots = 64;
    config.seed = 7;
    return must_create(&config);
}

/* A primary, the stream that it sends, and the digests that it had. */
struct sample {
    struct random random;
    struct sw_table *table;
    struct sw_queue *queue;
    struct sw_backlog *backlog;
    uint64_t *memory;
    uint8_t *bytes;
    size_t size, room;
    size_t snapshot_size; /* of the stream's beginning */
    struct sw_digest digests[WRITES + 1];
    uint64_t snapshot_at;
};

static int keep(void *context, const void *bytes, size_t size)
{
    struct sample *s = context;
    if (s->size + size > s->room) {
        s->room = (s->size + size) * 2;
        s->bytes = realloc(s->bytes, s->room);
        cr_assert_not_null(s->bytes);
    }
    memcpy(s->bytes + s->size, bytes, size);
    s->size += size;
    return 0;
}

static void note_digest(struct sample *s)
{
    struct sw_digest digest;
    char reason[256];
    cr_assert_eq(sw_digest_of(s->table, &digest, reason, sizeof(reason)), 0, "%s", reason);
    s->digests[digest.sequence] = digest;
}

/* A batch that clears, changes nothing that it may, or has operations of one kind or of several. */
static void write_once(struct sample *s)
{
    uint64_t *keys = s->memory, *values = keys + OPS_MAX;
    uint8_t *ops = (uint8_t *)(values + OPS_MAX);
    struct sw_batch batch = {.kind = SW_BATCH_CLEAR};
    if (random_below(&s->random, 30) > 0) {
        bool mixed = random_below(&s->random, 2) > 0;
        uint32_t count = 1 + (uint32_t)random_below(&s->random, OPS_MAX);
        batch = (struct sw_batch){.kind = SW_BATCH_OPERATIONS,
                                  .op = mixed ? SW_GET : SW_SUM,
                                  .ops = mixed ? ops : NULL,
                                  .count = count,
                                  .keys = keys,
                                  .values = values};
        for (uint32_t i = 0; i < count; i++) {
            keys[i] = random_below(&s->random, KEYS);
            values[i] = random_next(&s->random);
            ops[i] = (uint8_t)ops_draw(&s->random, SW_OPS_INTEGERS);
        }
    }
    cr_assert_eq(sw_batch_run(s->queue, &batch), SW_OK);
    if (batch.write_sequence > 0) {
        sw_logging_add_to_backlog(s->backlog, &batch, (struct sw_logged_widths){8, 8, 0, 0}, true);
    }
    note_digest(s);
}

static void make(struct sample *s)
{
    char reason[SW_SNAPSHOT_REASON_BYTES] = "";
    struct sw_config config = {.key_bits = 64};
    memset(s, 0, sizeof(*s));
    s->random = random_of(0);
    s->table = make_table(CAPACITY, CAPACITY);
    s->queue = must_queue(s->table);
    s->memory = sw_io_alloc(s->table, OPS_MAX * 24);
    s->backlog = sw_backlog_create(1 << 24);
    note_digest(s);
    while (sw_table_last_sequence(s->table) < WRITES / 2) {
        write_once(s);
    }
    sw_backlog_enable(s->backlog, s->table);
    const struct sw_snapshot_sending what = {
        .table = s->table, .config = &config, .send = keep, .context = s};
    cr_assert_eq(sw_snapshot_send(&what, &s->snapshot_at, reason), 0, "%s", reason);
    s->snapshot_size = s->size;
    while (sw_table_last_sequence(s->table) < WRITES) {
        write_once(s);
    }
    struct sw_backlog_record *records[WRITES];
    int count = sw_backlog_take(s->backlog, s->snapshot_at, records, WRITES, 1 << 24);
    cr_assert_eq(count, (int)(WRITES - s->snapshot_at));
    for (int i = 0; i < count; i++) {
        keep(s, records[i]->bytes, records[i]->size);
    }
    sw_backlog_release(records, count);
}

static void unmake(struct sample *s)
{
    sw_backlog_destroy(s->backlog);
    sw_io_free(s->table, s->memory, OPS_MAX * 24);
    sw_queue_destroy(s->queue);
    sw_table_destroy(s->table);
    free(s->bytes);
}

/* --- a replica of the bytes ------------------------------------------------------------------- */

struct tape {
    const uint8_t *bytes;
    size_t size, at;
    struct random *random;
};

static int64_t from_tape(void *context, void *out, size_t least, size_t room)
{
    struct tape *tape = context;
    size_t rest = tape->size - tape->at;
    if (rest < least) {
        return -1;
    }
    size_t most = rest < room ? rest : room;
    size_t size = least + (size_t)random_below(tape->random, most - least + 1);
    memcpy(out, tape->bytes + tape->at, size);
    tape->at += size;
    return (int64_t)size;
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

struct outcome {
    bool has_snapshot, is_whole, lacks_room;
    uint64_t applied;
    struct sw_table *table;
    char reason[SW_REPL_REASON_BYTES];
};

static void replicate_to(uint64_t slots, uint64_t most, struct sample *s, const uint8_t *bytes,
                         size_t size, struct outcome *outcome)
{
    struct tape tape = {bytes, size, 0, &s->random};
    memset(outcome, 0, sizeof(*outcome));
    outcome->table = make_table(slots, most);
    struct sw_apply apply = {.table = outcome->table,
                             .source = {from_tape, &tape},
                             .salt = sw_backlog_salt(s->backlog),
                             .is_settled = true,
                             .moved = moved,
                             .loaded = loaded,
                             .reason = outcome->reason};
    sw_table_info(apply.table, &apply.info);
    outcome->is_whole = true;
    outcome->has_snapshot = sw_apply_snapshot(&apply) == 0;
    if (outcome->has_snapshot) {
        (void)sw_apply_records(&apply, &outcome->is_whole);
    }
    outcome->applied = apply.applied;
    outcome->lacks_room = apply.lacks_room;
}

static void replicate(struct sample *s, const uint8_t *bytes, size_t size, struct outcome *outcome)
{
    replicate_to(CAPACITY, CAPACITY, s, bytes, size, outcome);
}

/* Checks that the replica has the contents of the primary at the sequence that it names. */
static void check_prefix(const struct sample *s, const struct outcome *outcome)
{
    struct sw_digest digest;
    char reason[256];
    if (outcome->has_snapshot) {
        cr_assert(outcome->is_whole);
        cr_assert_geq(outcome->applied, s->snapshot_at);
        cr_assert_leq(outcome->applied, WRITES);
        cr_assert_eq(sw_digest_of(outcome->table, &digest, reason, sizeof(reason)), 0);
        cr_assert_eq(digest.sequence, outcome->applied);
        cr_assert_eq(memcmp(&digest, &s->digests[outcome->applied], sizeof(digest)), 0,
                     "another table at %llu", (unsigned long long)outcome->applied);
    }
}

Test(apply, equal_bucket_by_bucket)
{
    struct sample s;
    struct outcome outcome;
    make(&s);
    replicate(&s, s.bytes, s.size, &outcome);
    cr_assert_eq(outcome.applied, WRITES, "%s", outcome.reason);
    check_prefix(&s, &outcome);
    size_t bytes = sw_table_raw_bytes(s.table);
    uint8_t *ours = malloc(bytes), *theirs = malloc(bytes);
    cr_assert_eq(sw_table_raw_copy(s.table, ours), SW_OK);
    cr_assert_eq(sw_table_raw_copy(outcome.table, theirs), SW_OK);
    /* inside a bucket slots are in no order: the digest has said that entries are equal */
    must_check(outcome.table);
    for (size_t at = 0; at < bytes; at += 64) {
        uint64_t sums[2] = {0, 0};
        for (size_t i = 0; i < 64; i += 16) {
            sums[0] += *(uint64_t *)(void *)(ours + at + i) * 31 + ours[at + i + 8];
            sums[1] += *(uint64_t *)(void *)(theirs + at + i) * 31 + theirs[at + i + 8];
        }
        cr_assert_eq(sums[0], sums[1], "bucket %zu", at / 64);
    }
    free(ours);
    free(theirs);
    sw_table_destroy(outcome.table);
    unmake(&s);
}

Test(apply, cut_and_flipped)
{
    struct sample s;
    struct outcome outcome;
    unsigned refused = 0;
    make(&s);
    uint8_t *copy = malloc(s.size);
    for (int i = 0; i < 400; i++) {
        memcpy(copy, s.bytes, s.size);
        /* half of them after the snapshot, because most of a snapshot is padding */
        size_t from = i % 2 == 0 ? 0 : s.snapshot_size;
        size_t at = from + (size_t)random_below(&s.random, s.size - from);
        bool cuts = i % 3 == 0;
        copy[at] ^= (uint8_t)(cuts ? 0 : 1U << random_below(&s.random, 8));
        replicate(&s, copy, cuts ? at : s.size, &outcome);
        check_prefix(&s, &outcome);
        refused += outcome.reason[0] != '\0';
        cr_assert(!cuts || outcome.applied < WRITES);
        sw_table_destroy(outcome.table);
    }
    cr_assert_gt(refused, 50);
    free(copy);
    unmake(&s);
}

/* A table without room for the snapshot; one with room; one that grows, and does so before the
 * first block, because blocks in the order of slots would make long chains in a smaller table. */
Test(apply, room_for_a_snapshot)
{
    static const uint64_t sizes[][2] = {{128, 128}, {CAPACITY, CAPACITY}, {128, CAPACITY}};
    struct sw_table_stats stats;
    struct sw_config config = {.key_bits = 64};
    char reason[SW_SNAPSHOT_REASON_BYTES] = "";
    struct sample s;
    struct outcome outcome;
    make(&s);
    for (uint64_t first = 0; first < 10 * OPS_MAX; first += OPS_MAX) {
        struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                                 .op = SW_SET,
                                 .count = OPS_MAX,
                                 .keys = s.memory,
                                 .values = s.memory};
        for (uint64_t i = 0; i < OPS_MAX; i++) {
            s.memory[i] = first + i;
        }
        cr_assert_eq(sw_batch_run(s.queue, &batch), SW_OK);
    }
    s.size = 0;
    const struct sw_snapshot_sending what = {
        .table = s.table, .config = &config, .send = keep, .context = &s};
    cr_assert_eq(sw_snapshot_send(&what, &s.snapshot_at, reason), 0, "%s", reason);
    for (unsigned i = 0; i < 3; i++) {
        replicate_to(sizes[i][0], sizes[i][1], &s, s.bytes, s.size, &outcome);
        sw_table_stats(outcome.table, &stats);
        cr_assert_eq(outcome.has_snapshot, i > 0);
        cr_assert_eq(stats.resized, i == 2);
        cr_assert_eq(stats.grown, 0);
        cr_assert_eq(outcome.lacks_room, i == 0);
        cr_assert_eq(strstr(outcome.reason, "start with a larger --max-capacity") != NULL, i == 0,
                     "%s", outcome.reason);
        sw_table_destroy(outcome.table);
    }
    unmake(&s);
}

/* Headers whose checks hold, and that lie. */
Test(apply, lying_records)
{
    static const struct {
        uint32_t units, count;
        uint64_t ahead;
        uint8_t kind, operation;
        uint16_t flags;
    } lies[] = {{UINT32_MAX, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1},      {3, UINT32_MAX, 1, 1, 1, 1},
                {3, 1, 2, 1, 1, 1},          {3, 1, 0, 1, 1, 1},      {3, 1, 1, 9, 1, 1},
                {3, 1, 1, 1, 200, 1},        {3, 1, 1, 1, 1, 0x8001}, {0, 0, 1, 5, 0, 0},
                {1, 0, 1, 3, 0, 0}};
    struct sample s;
    struct outcome outcome;
    make(&s);
    uint8_t *copy = calloc(1, s.snapshot_size + 4096);
    memcpy(copy, s.bytes, s.snapshot_size);
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        const struct sw_wal_record record = {.kind = (enum sw_wal_kind)lies[i].kind,
                                             .operation = lies[i].operation,
                                             .flags = lies[i].flags,
                                             .sequence = s.snapshot_at + lies[i].ahead,
                                             .count = lies[i].count,
                                             .units = lies[i].units};
        sw_wal_record_encode(&record, sw_backlog_salt(s.backlog), copy + s.snapshot_size);
        replicate(&s, copy, s.snapshot_size + 4096, &outcome);
        cr_assert(outcome.has_snapshot);
        cr_assert_eq(outcome.applied, s.snapshot_at, "lie %zu", i);
        cr_assert_neq(outcome.reason[0], '\0', "lie %zu", i);
        check_prefix(&s, &outcome);
        sw_table_destroy(outcome.table);
    }
    free(copy);
    unmake(&s);
}

/* --- the backlog ------------------------------------------------------------------------------ */

Test(apply, backlog_is_bounded_and_in_order)
{
    struct sw_table *table = make_table(CAPACITY, CAPACITY);
    struct sw_backlog *backlog = sw_backlog_create(1 << 20);
    struct sw_backlog_record *records[8];
    struct sw_backlog_stats stats;
    static uint8_t column[4096];
    struct sw_wal_write write = {.kind = SW_WAL_OPERATIONS,
                                 .operation = SW_DELETE,
                                 .count = 512,
                                 .columns = {{column, sizeof(column)}}};
    write.sequence = 1;
    sw_backlog_add(backlog, &write);
    sw_backlog_stats(backlog, &stats);
    cr_assert(!stats.is_on);
    cr_assert_eq(stats.bytes, 0);
    sw_backlog_enable(backlog, table);
    for (write.sequence = 3; write.sequence > 0; write.sequence--) { /* 3, 2, 1 */
        cr_assert_eq(sw_backlog_take(backlog, 0, records, 8, 1 << 20), 0,
                     "a gap hides what is behind");
        sw_backlog_add(backlog, &write);
    }
    cr_assert_eq(sw_backlog_take(backlog, 0, records, 8, 1 << 20), 3);
    for (write.sequence = 4; write.sequence <= 1000; write.sequence++) {
        sw_backlog_add(backlog, &write);
    }
    cr_assert_eq(records[0]->sequence, 1, "what was taken stays");
    sw_backlog_release(records, 3);
    sw_backlog_stats(backlog, &stats);
    cr_assert_leq(stats.bytes, 1 << 20);
    cr_assert_eq(stats.last, 1000);
    cr_assert_eq(sw_backlog_take(backlog, 0, records, 8, 1 << 20), -1, "it is gone");
    cr_assert_eq(sw_backlog_take(backlog, 1001, records, 8, 1 << 20), -1, "it was never there");
    cr_assert_eq(sw_backlog_take(backlog, 1000, records, 8, 1 << 20), 0);
    sw_backlog_skip(backlog, 1001);
    cr_assert_eq(sw_backlog_take(backlog, 1000, records, 8, 1 << 20), -1,
                 "the skipped write is unknown");
    sw_backlog_restart(backlog, 5);
    write.sequence = 6;
    sw_backlog_add(backlog, &write);
    cr_assert_eq(sw_backlog_take(backlog, 5, records, 8, 1 << 20), 1);
    sw_backlog_release(records, 1);
    sw_backlog_destroy(backlog);
    sw_table_destroy(table);
}

Test(apply, backlog_keeps_a_record_larger_than_its_limit)
{
    struct sw_table *table = make_table(CAPACITY, CAPACITY);
    struct sw_backlog *backlog = sw_backlog_create(1 << 20);
    struct sw_backlog_record *records[8];
    struct sw_backlog_stats stats;
    static uint8_t column[3 << 20];
    struct sw_wal_write write = {.kind = SW_WAL_OPERATIONS, .operation = SW_DELETE, .count = 512};
    sw_backlog_enable(backlog, table);
    for (write.sequence = 1; write.sequence <= 9; write.sequence++) {
        const size_t size = write.sequence % 3 == 0 ? sizeof(column) : 4096;
        write.columns[0] = (struct iovec){column, size};
        sw_backlog_add(backlog, &write);
        cr_assert(sw_backlog_has(backlog, write.sequence));
        cr_assert_not(sw_backlog_has(backlog, write.sequence + 1));
        /* a replica that had everything gets it */
        cr_assert_eq(sw_backlog_take(backlog, write.sequence - 1, records, 8, 8 << 20), 1);
        cr_assert_eq(records[0]->sequence, write.sequence);
        sw_backlog_release(records, 1);
    }
    write.sequence = 10;
    write.columns[0].iov_len = 4096;
    sw_backlog_add(backlog, &write);
    sw_backlog_stats(backlog, &stats);
    cr_assert_leq(stats.bytes, 1 << 20, "it goes once there is another");
    sw_backlog_destroy(backlog);
    sw_table_destroy(table);
}

/* --- words ------------------------------------------------------------------------------------ */

/* Who may go on with writes alone. */
Test(apply, histories)
{
    struct sw_repl_state state;
    char none[SW_HISTORY_ID_BYTES], first[SW_HISTORY_ID_BYTES];
    sw_repl_state_init(&state);
    memset(none, '0', sizeof(none));
    none[SW_HISTORY_ID_BYTES - 1] = '\0';
    memcpy(first, state.history.id, sizeof(first));
    cr_assert(sw_repl_history_has(&state.history, first, 1000));
    cr_assert_not(sw_repl_history_has(&state.history, none, 0), "nobody has no history");
    struct sw_repl_history next;
    sw_repl_next_history(&state, 7, &next);
    sw_repl_promote(&state, &next);
    cr_assert(sw_repl_history_has(&state.history, state.history.id, 8));
    cr_assert(sw_repl_history_has(&state.history, first, 7));
    cr_assert_not(sw_repl_history_has(&state.history, first, 8),
                  "what came after was another one's");
    cr_assert_not(sw_repl_history_has(&state.history, none, 0));
    sw_repl_state_fini(&state);
}

Test(apply, words)
{
    struct sw_repl_welcome welcome, again;
    char line[SW_REPL_LINE_BYTES];
    uint8_t ack[SW_REPL_ACK_BYTES];
    uint64_t applied = 0, incarnation = 0;
    memset(&welcome, 0, sizeof(welcome));
    memset(welcome.history, 'a', SW_HISTORY_ID_BYTES - 1);
    welcome.resumes = true;
    welcome.sequence = UINT64_MAX;
    welcome.salt = 7;
    size_t size = sw_repl_welcome_write(&welcome, line, sizeof(line));
    line[size - 2] = '\0';
    cr_assert(sw_repl_welcome_parse(&again, line));
    cr_assert_eq(memcmp(&welcome, &again, sizeof(welcome)), 0);
    cr_assert_not(sw_repl_welcome_parse(&again, "+RESUME"));
    cr_assert_not(sw_repl_welcome_parse(&again, "-ERR no"));
    welcome.term = 3;
    welcome.start = 99;
    size = sw_repl_welcome_write(&welcome, line, sizeof(line));
    line[size - 2] = '\0';
    cr_assert(sw_repl_welcome_parse(&again, line));
    cr_assert_eq(memcmp(&welcome, &again, sizeof(welcome)), 0);
    cr_assert_not(sw_repl_welcome_parse(&again, strcat(line, " 1")), "a word too many");
    sw_repl_ack_write(42, 11, 7, ack);
    cr_assert(sw_repl_ack_parse(ack, 7, &applied, &incarnation));
    cr_assert_eq(applied, 42);
    cr_assert_eq(incarnation, 11);
    cr_assert_not(sw_repl_ack_parse(ack, 8, &applied, &incarnation));
    for (size_t i = 0; i < sizeof(ack); i++) {
        ack[i] ^= 1;
        cr_assert_not(sw_repl_ack_parse(ack, 7, &applied, &incarnation), "byte %zu", i);
        ack[i] ^= 1;
    }
}
