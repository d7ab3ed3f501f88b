/* SPDX-License-Identifier: MIT
 *
 * replay.c - turns records into batches.
 *
 * The records lie in I/O memory, and the batches point into them. As many batches are in flight as
 * the queue accepts. They are one stream, so the table runs them in order.
 */
#include "server/log/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/string_value.h"
#include "proto/value_type.h"
#include "server/log/snapshot_fits.h"
#include "server/tables/ledger.h"
#include "table/batch.h"
#include "table/info.h"
#include "table/table.h"

#define IN_FLIGHT_MAX 64

/* The replay of one table. */
struct replay {
    struct replays *all; /* this one and those of the other tables */
    uint32_t id;
    struct sw_replay_table of;
    struct sw_queue *queue;
    struct sw_table_info info;
    struct sw_replayed *replayed;
    struct sw_batch *batches; /* a ring of the submitted batches, oldest first */
    uint32_t oldest, in_flight;
};

/* The replay of all tables. */
struct replays {
    const struct sw_replay_owner *owner;
    const struct sw_replay_tables *tables; /* NULL: there is one table */
    struct sw_replayed *replayed;
    struct sw_replay_table only; /* that table */
    struct replay **of;          /* by the order in which they were found */
    size_t count, room;
};

static void *io_take(void *table, size_t bytes)
{
    return sw_io_alloc(table, bytes);
}

static void io_give(void *table, void *memory, size_t bytes)
{
    sw_io_free(table, memory, bytes);
}

struct sw_wal_memory sw_wal_table_memory(struct sw_table *table)
{
    return (struct sw_wal_memory){.take = io_take, .give = io_give, .context = table};
}

/* Writes the reason for which a table is full. memory-max of a table and TABLE ALTER refuse nothing
 * during a load. */
static int refuse_full(const struct replay *replay, char reason[SW_WAL_REASON_BYTES])
{
    const struct sw_replay_table *of = &replay->of;
    struct sw_table_stats stats;
    const bool is_first = of->name[0] == '\0' || strcmp(of->name, SW_PLACE_DEFAULT) == 0;
    const char *remedy = is_first || sw_account_remedy(of->account) != NULL
                             ? sw_table_remedy(of->account, &replay->info)
                             : "start with the files of a larger table";
    sw_table_stats(of->table, &stats);
    snprintf(reason, SW_WAL_REASON_BYTES,
             "the log has more keys than the table %s has room for: it had %" PRIu64 " of them; %s",
             of->name[0] == '\0' ? SW_PLACE_DEFAULT : of->name, stats.occupied, remedy);
    return -1;
}

/* Writes the reason for which a batch failed. */
static int refuse_batch(const struct replay *replay, int status, char reason[SW_WAL_REASON_BYTES])
{
    if (status == SW_E_FULL) {
        return refuse_full(replay, reason);
    }
    if (status == SW_E_INVALID && sw_table_gives_ids(&replay->info)) {
        snprintf(reason, SW_WAL_REASON_BYTES,
                 "the log has a value that is not below --ids, or has it twice: start with the "
                 "--ids that it had when it wrote the log, or without --ids if it had none");
        return -1;
    }
    snprintf(reason, SW_WAL_REASON_BYTES, "the log cannot be replayed: %s", sw_status_text(status));
    return -1;
}

/* Waits for the oldest batch. */
static int finish_one(struct replay *replay, char reason[SW_WAL_REASON_BYTES])
{
    struct sw_batch *batch = &replay->batches[replay->oldest];
    int status;
    while ((status = sw_batch_poll(replay->queue, batch)) == SW_PENDING) {
    }
    replay->oldest = (replay->oldest + 1) % IN_FLIGHT_MAX;
    replay->in_flight--;
    return status == SW_OK ? 0 : refuse_batch(replay, status, reason);
}

static int find_replay(struct replays *replays, uint32_t id, struct replay **out,
                       char reason[SW_WAL_REASON_BYTES]);

/* Takes the slots that the tables except `keeps` do not need, and leaves all tables open. The log
 * has no RESIZE, so they may have more slots than when the log was written. Returns whether one
 * had. */
static bool shrink(struct replays *replays, const struct replay *keeps)
{
    char unread[SW_WAL_REASON_BYTES];
    struct replay *replay;
    uint32_t id = SW_WAL_FIRST_TABLE;
    bool some = false;
    while (find_replay(replays, id, &replay, unread) >= 0) { /* the ids have no gap */
        id++;
    }
    for (size_t i = 0; i < replays->count; i++) {
        replay = replays->of[i];
        some |= replay != keeps && replay->in_flight == 0 && sw_table_shrink(replay->of.table);
    }
    return some;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static int run_again(const struct replay *replay, struct sw_batch *batch,
                     const struct sw_batch *made)
{
    *batch = *made;
    batch->remove_count = 0; /* the first attempt has removed these keys */
    return sw_batch_run(replay->queue, batch);
}

/* Runs the batch again with more slots, where growth would double them: first with half of them
 * more, then with the most that its limits permit, if it needs them. A RESIZE that is refused costs
 * little, another one moves all keys. */
static int run_with_more_slots(const struct replay *replay, struct sw_batch *batch,
                               const struct sw_batch *made)
{
    struct sw_table_stats stats;
    struct sw_table_info info;
    int status = SW_E_FULL;
    sw_table_stats(replay->of.table, &stats);
    sw_table_info(replay->of.table, &info);
    const double load = (double)info.occupied_max / (double)info.capacity_slots;
    const uint64_t all = (uint64_t)((double)(stats.occupied + made->count) / load);
    const uint64_t most = info.max_capacity_slots / info.bucket_slots;
    uint64_t few = info.capacity_slots / info.bucket_slots;       /* they do not suffice */
    uint64_t many = larger(2 * few, all / info.bucket_slots + 2); /* refused, or not needed */
    many = many <= most ? many : most + 1;
    while (status == SW_E_FULL && few + 1 < many) {
        const uint64_t buckets = few + (many - few) / 2;
        struct sw_batch more = {.kind = SW_BATCH_RESIZE, .capacity = buckets * info.bucket_slots};
        if (sw_batch_run(replay->queue, &more) == SW_OK) {
            few = buckets;
            status = run_again(replay, batch, made);
        } else {
            many = buckets;
        }
    }
    return status;
}

/* Does so, but tables-memory-max does not limit the sum of the old and the new slots: a RESIZE may
 * have given the table the new ones when it had few keys. */
static int run_with_other_slots(const struct replay *replay, struct sw_batch *batch,
                                const struct sw_batch *made)
{
    struct sw_account *account = replay->of.account;
    if (account == NULL) {
        return SW_E_FULL;
    }
    sw_account_replace(account, true);
    const int status = run_with_more_slots(replay, batch, made);
    sw_account_replace(account, false);
    return status;
}

/* Ends a batch with this status. No other batch of the table is in flight. If the table cannot
 * grow, tries again with fewer slots of other tables, then with fewer of its own, and then beyond
 * the limits of all tables. */
static int end_at_once(struct replay *replay, struct sw_batch *batch, const struct sw_batch *made,
                       int status, char reason[SW_WAL_REASON_BYTES])
{
    if (status == SW_E_FULL && shrink(replay->all, replay)) {
        status = run_again(replay, batch, made);
    }
    status = status == SW_E_FULL ? run_with_more_slots(replay, batch, made) : status;
    status = status == SW_E_FULL ? run_with_other_slots(replay, batch, made) : status;
    if (status == SW_E_FULL && sw_account_pass(replay->of.account)) {
        status = run_with_more_slots(replay, batch, made);
    }
    replay->replayed->operations += made->count;
    return status == SW_OK ? 0 : refuse_batch(replay, status, reason);
}

static int submit(struct replay *replay, const struct sw_batch *made,
                  char reason[SW_WAL_REASON_BYTES])
{
    if (replay->in_flight == IN_FLIGHT_MAX && finish_one(replay, reason) != 0) {
        return -1;
    }
    struct sw_batch *batch = &replay->batches[(replay->oldest + replay->in_flight) % IN_FLIGHT_MAX];
    *batch = *made;
    int status = sw_batch_submit(replay->queue, batch);
    if (status != SW_OK) {
        return refuse_batch(replay, status, reason);
    }
    if (replay->in_flight == 0 &&
        (status = sw_batch_poll(replay->queue, batch)) != SW_PENDING) { /* in host memory: always */
        return end_at_once(replay, batch, made, status, reason);
    }
    replay->in_flight++;
    replay->replayed->operations += batch->count;
    return 0;
}

void sw_wal_batch_of(const struct sw_wal_record *record, const struct sw_wal_shape *shape,
                     uint8_t *columns, struct sw_batch *batch)
{
    const struct sw_wal_columns bytes = sw_wal_columns(shape, record);
    uint8_t *operands = columns + bytes.keys;
    const uint8_t *operations = operands + bytes.operands;
    const uint8_t *times = operations + bytes.operations;
    *batch = (struct sw_batch){.kind = record->count > 0 ? SW_BATCH_OPERATIONS : SW_BATCH_SWEEP,
                               .op = (enum sw_op)record->operation,
                               .count = record->count,
                               .keys = columns,
                               .values = bytes.operands > 0 ? operands : NULL,
                               .ops = bytes.operations > 0 ? operations : NULL};
    if (bytes.operands > 0 && shape->value_format == SW_FRAME_VALUES_STRING) {
        sw_string_values_clear_tails(operands, shape->value_bytes,
                                     shape->value_bytes - shape->key_text_bytes, record->count);
    }
    if (record->flags & SW_WAL_HAS_TIMES) {
        batch->expires = (const uint64_t *)(const void *)times;
    } else if (record->flags & SW_WAL_HAS_TIME) {
        memcpy(&batch->expire_at, times, sizeof(batch->expire_at));
    }
    if (record->flags & SW_WAL_HAS_EXPIRED_KEYS) {
        batch->remove_keys = times + bytes.times;
        batch->remove_count = record->expired_keys;
    }
}

/* Submits the operations of a record, in several batches if one batch cannot have them all. The
 * record has only operations that took effect, so these batches need not be one group. */
static int submit_operations(struct replay *replay, const struct sw_wal_record *record,
                             uint8_t *columns, char reason[SW_WAL_REASON_BYTES])
{
    const struct sw_table_info *info = &replay->info;
    struct sw_batch whole;
    if (!sw_wal_record_holds_columns(record, &replay->of.shape)) {
        snprintf(reason, SW_WAL_REASON_BYTES,
                 "record %" PRIu64 " of the log is shorter than its operations need with the keys "
                 "and values of table %" PRIu32 "; restore a snapshot",
                 record->sequence, replay->id);
        return -1;
    }
    if (sw_wal_needs_expiry(record) && (info->operations >> SW_EXPIRE & 1) == 0) {
        snprintf(reason, SW_WAL_REASON_BYTES,
                 "the log has keys that expire, but this table has no expiry: start with --engine "
                 "robin_hood (see KEYS THAT EXPIRE in sherwoodd(8))");
        return -1;
    }
    sw_wal_batch_of(record, &replay->of.shape, columns, &whole);
    if (whole.count == 0) {
        return whole.remove_count == 0 ? 0 : submit(replay, &whole, reason);
    }
    for (uint32_t first = 0; first < record->count; first += info->batch_ops_max) {
        uint32_t rest = record->count - first;
        struct sw_batch batch = whole;
        batch.count = rest < info->batch_ops_max ? rest : info->batch_ops_max;
        batch.keys = (const uint8_t *)whole.keys + (size_t)first * info->key_bytes;
        if (whole.values != NULL) {
            batch.values = (const uint8_t *)whole.values + (size_t)first * info->value_bytes;
        }
        batch.ops = whole.ops != NULL ? whole.ops + first : NULL;
        batch.expires = whole.expires != NULL ? whole.expires + first : NULL;
        batch.remove_count = first == 0 ? whole.remove_count : 0;
        if (submit(replay, &batch, reason) != 0) {
            return -1;
        }
    }
    return 0;
}

/* --- tables ----------------------------------------------------------------------------------- */

static int no_memory(char reason[SW_WAL_REASON_BYTES])
{
    snprintf(reason, SW_WAL_REASON_BYTES, "no memory to replay the log");
    return -1;
}

static void close_replay(struct replay *replay)
{
    sw_queue_destroy(replay->queue);
    free(replay->batches);
    free(replay);
}

static struct replay *open_replay(struct replays *replays, uint32_t id,
                                  const struct sw_replay_table *found)
{
    struct replay *replay = calloc(1, sizeof(*replay));
    if (replay == NULL) {
        return NULL;
    }
    replay->all = replays;
    replay->id = id;
    replay->of = *found;
    replay->replayed = replays->replayed;
    sw_table_info(found->table, &replay->info);
    replay->batches = calloc(IN_FLIGHT_MAX, sizeof(*replay->batches));
    if (replay->batches == NULL || sw_queue_create(found->table, &replay->queue) != SW_OK) {
        free(replay->batches);
        free(replay);
        return NULL;
    }
    return replay;
}

static int find_table(const struct replays *replays, uint32_t id, struct sw_replay_table *out,
                      char reason[SW_WAL_REASON_BYTES])
{
    if (replays->tables != NULL) {
        return replays->tables->find(replays->tables->context, id, out, reason);
    }
    *out = replays->only;
    if (id != SW_WAL_FIRST_TABLE) {
        snprintf(reason, SW_WAL_REASON_BYTES, "the log has several tables, and this server one");
        return -1;
    }
    return 1;
}

/* Finds the replay of a table. Returns 1; 0 if the table was dropped; or -1 and an error. */
static int find_replay(struct replays *replays, uint32_t id, struct replay **out,
                       char reason[SW_WAL_REASON_BYTES])
{
    struct sw_replay_table found;
    for (size_t i = 0; i < replays->count; i++) {
        if (replays->of[i]->id == id) {
            *out = replays->of[i];
            return 1;
        }
    }
    const int status = find_table(replays, id, &found, reason);
    if (status <= 0) {
        return status;
    }
    if (replays->count == replays->room) {
        const size_t room = replays->room * 2 + 16;
        struct replay **of = realloc((void *)replays->of, room * sizeof(struct replay *));
        if (of == NULL) {
            return no_memory(reason);
        }
        replays->of = of;
        replays->room = room;
    }
    *out = open_replay(replays, id, &found);
    if (*out == NULL) {
        return no_memory(reason);
    }
    replays->of[replays->count++] = *out;
    return 1;
}

/* Waits for all batches, because the segment's memory will be freed, or a table closed. */
static int finish_tables(const struct replays *replays, char reason[SW_WAL_REASON_BYTES])
{
    int status = 0;
    for (size_t i = 0; i < replays->count; i++) {
        while (replays->of[i]->in_flight > 0) {
            status = finish_one(replays->of[i], reason) != 0 ? -1 : status;
        }
    }
    return status;
}

static void close_all(struct replays *replays)
{
    while (replays->count > 0) {
        close_replay(replays->of[--replays->count]);
    }
}

/* A change that makes a table may lack memory, and is tried again with fewer slots of the others.
 */
static int take_change(struct replays *replays, const struct sw_wal_record *record,
                       const uint8_t *message, char reason[SW_WAL_REASON_BYTES])
{
    const struct sw_replay_tables *tables = replays->tables;
    if (tables == NULL) {
        snprintf(reason, SW_WAL_REASON_BYTES, "the log has several tables, and this server one");
        return -1;
    }
    if (finish_tables(replays, reason) != 0) {
        return -1;
    }
    close_all(replays);
    int status = tables->change(tables->context, record->sequence, message, record->count, reason);
    if (status != 0 && shrink(replays, NULL)) {
        close_all(replays);
        status = tables->change(tables->context, record->sequence, message, record->count, reason);
    }
    return status;
}

static int take_write(void *context, const struct sw_wal_record *record, uint8_t *columns,
                      char reason[SW_WAL_REASON_BYTES])
{
    struct replays *replays = context;
    struct replay *replay = NULL;
    const struct sw_batch clear = {.kind = SW_BATCH_CLEAR};
    replays->replayed->writes++;
    replays->replayed->bytes += (uint64_t)record->units * SW_WAL_ALIGN;
    const bool *stop = replays->owner->stop;
    if (stop != NULL && __atomic_load_n(stop, __ATOMIC_ACQUIRE)) {
        snprintf(reason, SW_WAL_REASON_BYTES, "the replay of the log was stopped");
        return -1;
    }
    if (record->kind == SW_WAL_CHANGE) {
        return take_change(replays, record, columns, reason);
    }
    const int found = find_replay(replays, record->table, &replay, reason);
    if (found <= 0 || record->sequence <= replay->of.through) {
        return found < 0 ? -1 : 0;
    }
    return record->kind == SW_WAL_CLEAR ? submit(replay, &clear, reason)
                                        : submit_operations(replay, record, columns, reason);
}

static int finish_segment(void *context, char reason[SW_WAL_REASON_BYTES])
{
    const struct replays *replays = context;
    const int status = finish_tables(replays, reason);
    if (replays->owner->progress != NULL) {
        replays->owner->progress(replays->owner->context);
    }
    return status;
}

int sw_wal_replay_to_table(const struct sw_log_scan *scan, const struct sw_directory *directory,
                           struct sw_table *table, const struct sw_wal_shape *shape,
                           const struct sw_replay_tables *tables,
                           const struct sw_replay_owner *owner, struct sw_replayed *replayed,
                           char reason[SW_WAL_REASON_BYTES])
{
    struct replays replays = {
        .owner = owner,
        .tables = tables,
        .replayed = replayed,
        .only = {.table = table, .shape = *shape, .through = scan->plan.base}};
    const struct sw_wal_memory memory = sw_wal_table_memory(table);
    const struct sw_wal_taker taker = {take_write, finish_segment, &replays};
    *replayed = (struct sw_replayed){0};
    int status = sw_wal_replay(scan, directory, scan->plan.base, &memory, &taker, reason);
    close_all(&replays);
    free((void *)replays.of);
    if (status == 0 && tables != NULL) {
        return tables->end(tables->context, scan->plan.end, reason);
    }
    if (status == 0 && scan->count > 0) {
        sw_table_set_sequence(table, scan->plan.end);
    }
    return status;
}
