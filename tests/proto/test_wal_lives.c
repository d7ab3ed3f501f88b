/* SPDX-License-Identifier: MIT
 *
 * test_wal_lives.c - every history of a small log, as the README of server/log has it written:
 * lives of a few writes, each with every choice of syncs, seals, snapshots, failures, removals, and
 * of what a loss of power leaves. After each the reader and the planner that a start uses find
 * every durable write, and only writes that were written.
 *
 * A history is a list of choices; `choose` takes the next one, and `next_history` changes the last
 * one that can be changed.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "proto/check.h"
#include "proto/wal_plan.h"

enum {
    WRITES_OF_A_SEGMENT = 2,
    SEGMENTS_MAX = 16,
    CELLS_MAX = 12,
    SEQUENCES_MAX = 16,
    CHOICES_MAX = 64,
    SEGMENT_BYTES = 10 * SW_WAL_PAGE,
};

static const uint8_t no_boot[SW_BOOT_ID_BYTES];
static const struct sw_wal_shape shape = {.key_bytes = 8, .value_bytes = 8};

/* --- histories -------------------------------------------------------------------------------- */

static struct {
    uint8_t taken[CHOICES_MAX], of[CHOICES_MAX];
    size_t at, count;
} history;

static uint32_t choose(uint32_t of)
{
    if (of < 2) {
        return 0;
    }
    if (history.at == history.count) {
        cr_assert(history.count < CHOICES_MAX);
        history.taken[history.count] = 0;
        history.of[history.count++] = (uint8_t)of;
    }
    return history.taken[history.at++];
}

static bool next_history(void)
{
    history.at = 0;
    while (history.count > 0 &&
           ++history.taken[history.count - 1] == history.of[history.count - 1]) {
        history.count--;
    }
    return history.count > 0;
}

/* --- the disk --------------------------------------------------------------------------------- */

/* A record. */
struct cell {
    enum sw_wal_kind kind;
    uint64_t sequence, synced;
    uint32_t write;   /* which write it is of all that ever were; 0: none */
    bool begins_page; /* a sync has begun before it */
    bool is_safe;     /* a sync that began after it has succeeded */
    bool is_given_up; /* such a sync has failed: later syncs do not count */
    bool is_lost;
};

struct segment {
    uint64_t number, through;
    struct cell cell[CELLS_MAX];
    size_t cells;
};

static struct {
    struct segment segment[SEGMENTS_MAX];
    size_t segments;
    uint64_t base; /* a snapshot has what is up to here */
} disk;

/* Applied writes, by sequence; the last applied one, and the last durable one. */
static uint32_t truth[SEQUENCES_MAX];
static uint64_t applied, durable;
static uint32_t writes;

static struct segment *current(void)
{
    return &disk.segment[disk.segments - 1];
}

static struct cell *put(enum sw_wal_kind kind, uint64_t sequence, uint32_t write, bool begins_page)
{
    struct segment *segment = current();
    cr_assert(segment->cells < CELLS_MAX);
    struct cell *cell = &segment->cell[segment->cells++];
    *cell = (struct cell){.kind = kind,
                          .sequence = sequence,
                          .synced = durable,
                          .write = write,
                          .begins_page = begins_page};
    return cell;
}

static void begin_segment(uint64_t number, uint64_t through)
{
    cr_assert(disk.segments < SEGMENTS_MAX);
    disk.segment[disk.segments++] = (struct segment){.number = number, .through = through};
}

static void remove_segment(size_t i)
{
    memmove(&disk.segment[i], &disk.segment[i + 1],
            (disk.segments - i - 1) * sizeof(disk.segment[0]));
    disk.segments--;
}

/* --- as bytes --------------------------------------------------------------------------------- */

static uint64_t encode(const struct segment *segment, const struct cell *cell, uint8_t *at)
{
    struct sw_wal_record record = {
        .kind = cell->kind, .sequence = cell->sequence, .synced = cell->synced};
    if (cell->kind == SW_WAL_OPERATIONS) {
        record.operation = 1;
        record.flags = SW_WAL_HAS_OPERANDS;
        record.count = 1;
    }
    struct sw_wal_columns columns = sw_wal_columns(&shape, &record);
    uint64_t bytes = columns.keys + columns.operands + columns.operations;
    memset(at + SW_WAL_RECORD_BYTES, 0, bytes);
    memcpy(at + SW_WAL_RECORD_BYTES, &cell->write, bytes == 0 ? 0 : sizeof(cell->write));
    record.units = (uint32_t)sw_wal_units(&columns);
    record.columns_check = sw_check64(at + SW_WAL_RECORD_BYTES, bytes, segment->number);
    sw_wal_record_encode(&record, segment->number, at);
    return (uint64_t)record.units * SW_WAL_ALIGN;
}

/* What a start sees of it. */
static void look(const struct segment *segment, struct sw_wal_found *found)
{
    static uint8_t bytes[SEGMENT_BYTES];
    struct sw_wal_segment header = {.log_id = {7},
                                    .number = segment->number,
                                    .salt = segment->number,
                                    .shape = shape,
                                    .through = segment->through};
    memset(bytes, 0, sizeof(bytes));
    sw_wal_segment_encode(&header, bytes);
    uint64_t at = SW_WAL_HEADER_BYTES;
    for (size_t i = 0; i < segment->cells; i++) {
        at = segment->cell[i].begins_page ? sw_wal_align(at, SW_WAL_PAGE) : at;
        cr_assert(at + SW_WAL_PAGE <= SEGMENT_BYTES);
        uint64_t size = encode(segment, &segment->cell[i], bytes + at);
        if (segment->cell[i].is_lost) {
            memset(bytes + at, 0, size);
        }
        at += size;
    }
    *found = (struct sw_wal_found){.number = segment->number};
    sw_wal_inspect(found, bytes, SEGMENT_BYTES, SEGMENT_BYTES, no_boot);
}

/* --- a start ---------------------------------------------------------------------------------- */

static struct sw_wal_found found[SEGMENTS_MAX];
static struct sw_wal_piece piece[SEGMENTS_MAX];
static struct sw_wal_plan plan;
static char refusal[SW_WAL_REFUSAL_BYTES];

static bool read_all(void)
{
    for (size_t i = 0; i < disk.segments; i++) {
        look(&disk.segment[i], &found[i]);
    }
    plan.piece = piece;
    return sw_wal_plan(&plan, found, disk.segments, disk.base, disk.base, &shape, refusal);
}

static const struct cell *cell_of(const struct segment *segment, uint64_t sequence)
{
    for (size_t i = 0; i < segment->cells; i++) {
        const struct cell *cell = &segment->cell[i];
        if (cell->write != 0 && cell->sequence == sequence && !cell->is_lost) {
            return cell;
        }
    }
    return NULL;
}

/* Checks that the replayed writes are the applied ones, without a gap. */
static void check_pieces(void)
{
    uint64_t next = disk.base + 1;
    for (size_t i = 0; i < plan.pieces; i++) {
        cr_assert_eq(piece[i].from, next);
        for (; next <= piece[i].to; next++) {
            const struct cell *cell = cell_of(&disk.segment[piece[i].segment], next);
            cr_assert(next <= applied && cell != NULL && cell->write == truth[next],
                      "write %lu is another one", (unsigned long)next);
        }
    }
    cr_assert_eq(next, plan.end + 1);
}

/* Reads what is there, makes a segment of what may not be durable, and removes what is passed over.
 * Returns false if it dies before that is done. */
static bool start(void)
{
    cr_assert(read_all(), "after a crash: %s", refusal);
    check_pieces();
    cr_assert(plan.end >= durable, "%lu was durable, %lu is there", (unsigned long)durable,
              (unsigned long)plan.end);
    uint64_t number = disk.segments == 0 ? 1 : current()->number + 1;
    uint64_t from = (plan.evidence > disk.base ? plan.evidence : disk.base) + 1;
    bool goes[SEGMENTS_MAX] = {false};
    for (size_t i = 0; i < disk.segments; i++) {
        goes[i] = found[i].is_passed || found[i].run.first == 0;
    }
    size_t before = disk.segments;
    applied = plan.end;
    begin_segment(number, applied);
    durable = plan.evidence > disk.base ? plan.evidence : disk.base;
    for (uint64_t sequence = from; sequence <= applied; sequence++) {
        put(SW_WAL_OPERATIONS, sequence, truth[sequence], false)->is_safe = true;
    }
    durable = applied;
    bool dies = choose(2) == 1;
    for (size_t i = before; i-- > 0;) {
        if (goes[i] && (!dies || choose(2) == 1)) {
            remove_segment(i);
        }
    }
    return !dies;
}

/* --- a life ----------------------------------------------------------------------------------- */

static bool sync_has_begun;
static uint64_t prepared_through; /* of the segment that is made one ahead */
static size_t written_here;       /* writes in the current segment since it was begun */

static void go_to_next_segment(void)
{
    begin_segment(current()->number + 1, prepared_through);
    prepared_through = durable;
    written_here = 0;
    sync_has_begun = false;
}

static void write_one(void)
{
    if (written_here == WRITES_OF_A_SEGMENT) {
        put(SW_WAL_SEAL, applied, 0, sync_has_begun);
        go_to_next_segment();
    }
    truth[++applied] = ++writes;
    put(SW_WAL_OPERATIONS, applied, writes, sync_has_begun);
    written_here++;
    sync_has_begun = false;
}

static void sync_all(bool succeeds)
{
    for (size_t i = 0; i < disk.segments; i++) {
        for (size_t j = 0; j < disk.segment[i].cells; j++) {
            struct cell *cell = &disk.segment[i].cell[j];
            cell->is_given_up |= !succeeds && !cell->is_safe;
            cell->is_safe |= !cell->is_given_up;
        }
    }
    durable = succeeds ? applied : durable;
    sync_has_begun = true;
}

/* A durable snapshot of what was applied; of the segments that it stands for some are removed. */
static void save(void)
{
    disk.base = durable = applied;
    for (size_t i = disk.segments - 1; i-- > 0;) {
        const struct segment *segment = &disk.segment[i];
        uint64_t last = segment->cells == 0 ? 0 : segment->cell[segment->cells - 1].sequence;
        if (last <= disk.base && choose(2) == 1) {
            remove_segment(i);
        }
    }
}

/* The process is killed: all is there, and not safer than before. Or power is lost: what was not
 * synced is there or not, each record on its own. */
static void crash(void)
{
    if (choose(2) == 1) {
        return;
    }
    for (size_t i = 0; i < disk.segments; i++) {
        struct segment *segment = &disk.segment[i];
        for (size_t j = 0; j < segment->cells; j++) {
            struct cell *cell = &segment->cell[j];
            cell->is_lost = cell->is_lost || (!cell->is_safe && choose(2) == 1);
            cell->is_safe = true;
        }
    }
}

static void live(uint32_t writes_max)
{
    prepared_through = durable;
    written_here = 0;
    sync_has_begun = true; /* by the start, of its copies */
    uint32_t count = choose(writes_max + 1);
    uint32_t event_at = choose(2 * count + 1); /* one event a life: none, or behind a write */
    for (uint32_t i = 1; i <= count; i++) {
        write_one();
        if (choose(2) == 1) {
            sync_all(true);
        }
        if (event_at == 2 * i - 1) {
            save();
        } else if (event_at ==
                   2 * i) { /* a sync fails: the segment is left, and a snapshot mends */
            sync_all(false);
            go_to_next_segment();
            save();
        }
    }
}

/* Returns the last write that an existing record marks as durable. */
static uint64_t told(void)
{
    uint64_t most = disk.base;
    for (size_t i = 0; i < disk.segments; i++) {
        const struct segment *segment = &disk.segment[i];
        most = segment->through > most ? segment->through : most;
        for (size_t j = 0; j < segment->cells; j++) {
            const struct cell *cell = &segment->cell[j];
            most = !cell->is_lost && cell->synced > most ? cell->synced : most;
        }
    }
    return most;
}

/* Damages each record in turn. No start may have wrong contents, or lack a write that is marked as
 * durable. */
static uint64_t spoil_each(void)
{
    uint64_t refused = 0;
    for (size_t i = 0; i < disk.segments; i++) {
        for (size_t j = 0; j < disk.segment[i].cells; j++) {
            struct cell *cell = &disk.segment[i].cell[j];
            if (!cell->is_lost) {
                cell->is_lost = true;
                if (read_all()) {
                    check_pieces();
                    cr_assert(plan.end >= told(), "%lu was durable, %lu is there",
                              (unsigned long)told(), (unsigned long)plan.end);
                } else {
                    refused++;
                }
                cell->is_lost = false;
            }
        }
    }
    return refused;
}

/* Runs all histories of lives. `lives` has the number of writes of each life, and ends with 0. In
 * one of `spoil_one_of` histories damages every record in turn. */
static void live_all(const uint32_t *lives, uint32_t spoil_one_of)
{
    uint64_t count = 0, refused = 0;
    memset(&history, 0, sizeof(history));
    do {
        memset(&disk, 0, sizeof(disk));
        applied = durable = writes = 0;
        for (const uint32_t *life = lives; *life != 0; life++) {
            if (start()) {
                live(*life);
            }
            crash();
        }
        refused += count % spoil_one_of == 0 ? spoil_each() : 0;
        (void)start();
        count++;
    } while (next_history());
    printf("# %lu histories, %lu starts refused\n", (unsigned long)count, (unsigned long)refused);
    cr_assert(count > 1000 && refused > 10);
}

#ifdef SHERWOOD_CHECKS /* sanitizers are slow */
Test(wal_lives, two)
{
    live_all((const uint32_t[]){2, 2, 0}, 20);
}
#else
Test(wal_lives, two)
{
    live_all((const uint32_t[]){3, 2, 0}, 10);
}

Test(wal_lives, three)
{
    live_all((const uint32_t[]){1, 1, 1, 0}, 10);
}
#endif
