/* SPDX-License-Identifier: MIT
 *
 * test_loop.c - a loop without a server around it: what it tells its owner.
 */
#include <criterion/criterion.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/operation.h"
#include "server/loop.h"
#include "table/table.h"
#include "tests/server/loop_fixture.h"

struct owner {
    unsigned lost;
    unsigned stopped;
};

static void on_stop(void *server, bool save, int fd)
{
    (void)save;
    (void)fd;
    ((struct owner *)server)->stopped++;
}

static void on_lost(void *server)
{
    ((struct owner *)server)->lost++;
}

static struct {
    struct sw_config config;
    struct sw_table *table;
    struct sw_loop *loop;
    struct sw_input_budget budget;
    struct sw_live live;
    struct sw_timings timings;
    struct owner owner;
} fixture;

static void tear_down(void)
{
    if (fixture.loop != NULL) {
        close_loop(fixture.loop);
        sw_timings_fini(&fixture.timings);
        sw_table_destroy(fixture.table);
    }
    fixture.loop = NULL;
}

static void set_up_engine(enum sw_engine engine)
{
    tear_down();
    memset(&fixture, 0, sizeof(fixture));
    small_config(&fixture.config, 1024);
    fixture.config.engine = engine;
    fixture.config.max_capacity = engine == SW_ENGINE_ROBIN_HOOD ? 4096 : 0;
    fixture.table = open_table(&fixture.config, NULL);
    sw_timings_init(&fixture.timings, &fixture.config);
    sw_live_init(&fixture.live, &fixture.config, false, no_changes, &fixture);
    const struct sw_loop_owner owner = {.server = &fixture.owner,
                                        .snapshot = no_snapshot,
                                        .stop = on_stop,
                                        .device_lost = on_lost,
                                        .input_budget = &fixture.budget,
                                        .live = &fixture.live,
                                        .timings = &fixture.timings};
    fixture.loop = open_loop(&fixture.config, fixture.table, &owner, 0, 1);
}

static void set_up(void)
{
    set_up_engine(SW_ENGINE_ROBIN_HOOD);
}

TestSuite(loop, .fini = tear_down);

/* The loop's engine lacks these commands, those that need one of `operations`, and no others. */
static void expect_lacking(const struct sw_loop *loop, uint64_t operations,
                           const enum sw_command_id *commands, size_t count)
{
    struct sw_command_set wanted = {{false}};
    for (unsigned id = 0; id < SW_COMMAND_COUNT; id++) {
        wanted.has[id] = (sw_command_at((enum sw_command_id)id)->operations & operations) != 0;
    }
    for (size_t i = 0; i < count; i++) {
        wanted.has[commands[i]] = true;
    }
    wanted.has[SW_COMMAND_INSERT] = true; /* only a key set has it */
    for (unsigned id = 0; id < SW_COMMAND_COUNT; id++) {
        cr_assert_eq(loop->first.resp.unsupported.has[id], wanted.has[id],
                     "the engine %s %s, against the list in the test",
                     loop->first.resp.unsupported.has[id] ? "lacks" : "has",
                     sw_command_at((enum sw_command_id)id)->name);
    }
}

/* The loop takes every known operation by frames, except these and the table's `operations`. */
static void expect_all_but(const struct sw_loop *loop, uint64_t operations,
                           const enum sw_operation *unsupported, size_t count)
{
#define ROW(name, number, op, ...) has[number] = (operations >> (op)&1) == 0;
    bool has[SW_OPERATION_NUMBERS];
    for (uint32_t operation = 0; operation < SW_OPERATION_NUMBERS; operation++) {
        has[operation] = sw_operation_is_known(operation);
    }
    SW_DATA_OPERATION_MAP(ROW)
#undef ROW
    for (size_t i = 0; i < count; i++) {
        has[unsupported[i]] = false;
    }
    for (uint32_t operation = 0; operation < SW_OPERATION_NUMBERS; operation++) {
        cr_assert_eq(loop->bulk.table->operations[operation], has[operation], "%u", operation);
    }
}

Test(loop, knows_what_never_changes_of_the_table)
{
    set_up();
    cr_assert_eq(fixture.loop->first.batches.shape.slot_bits, 128);
    cr_assert_eq(fixture.loop->first.batches.shape.key_bytes, 8);
    cr_assert_eq(fixture.loop->first.batches.shape.value_bytes, 8);
    cr_assert_eq(fixture.loop->first.batches.shape.batch_ops_max, 1024);
    cr_assert_eq(fixture.loop->first.batches.shape.max_capacity_slots, 4096);
    cr_assert_eq(fixture.loop->first.batches.shape.value_format, SW_VALUE_INTEGER);
    cr_assert_eq(fixture.loop->first.batches.shape.blob_bytes_max, 0);
    const uint64_t others = ~(SW_OPS_INTEGERS | SW_OPS_PAIR | SW_OPS_EXPIRE);
    expect_lacking(fixture.loop, others, NULL, 0);
    cr_assert_eq(fixture.loop->first.resp.run_data, sw_data_run_integers);
    static const enum sw_operation of_others[] = {SW_OPERATION_COUNT_SCORES,
                                                  SW_OPERATION_ERASE_SCORES, SW_OPERATION_EPOCH,
                                                  SW_OPERATION_ASSIGN};
    /* bulk/validate.c refuses SETRANGE, with a sentence about rows */
    expect_all_but(fixture.loop, others & ~SW_OPS_PART, of_others,
                   sizeof(of_others) / sizeof(of_others[0]));
}

Test(loop, knows_what_a_cache_has)
{
    set_up_engine(SW_ENGINE_CACHE);
    const struct sw_table_shape *shape = &fixture.loop->first.batches.shape;
    cr_assert_eq(shape->value_bytes, 64);
    cr_assert_eq(shape->blob_bytes_max, 60);
    cr_assert_eq(shape->value_format, SW_VALUE_STRING);
    cr_assert_eq(shape->scan_ops_max, 1024, "the operations of a batch");
    cr_assert_eq(fixture.loop->first.resp.run_data, sw_data_run_blobs);
    static const enum sw_command_id commands[] = {
        SW_COMMAND_MSETNX, SW_COMMAND_RENAME,  SW_COMMAND_RENAMENX, SW_COMMAND_COPY,
        SW_COMMAND_WATCH,  SW_COMMAND_CAS,     SW_COMMAND_SETRANGE, SW_COMMAND_INCRBYFLOAT,
        SW_COMMAND_DELEX,  SW_COMMAND_DELIFEQ, SW_COMMAND_INCREX,   SW_COMMAND_ASSIGN};
    expect_lacking(fixture.loop, ~SW_OPS_CACHE, commands, sizeof(commands) / sizeof(commands[0]));
    static const enum sw_operation unsupported[] = {
        SW_OPERATION_CAS,     SW_OPERATION_SETRANGE, SW_OPERATION_EPOCH, /* of other policies */
        SW_OPERATION_PERSIST, SW_OPERATION_TTL,      SW_OPERATION_ASSIGN};
    expect_all_but(fixture.loop, ~SW_OPS_CACHE, unsupported,
                   sizeof(unsupported) / sizeof(unsupported[0]));
}

Test(loop, knows_what_a_cuckoo_table_has)
{
    set_up_engine(SW_ENGINE_CUCKOO);
    cr_assert_eq(fixture.loop->first.resp.run_data, sw_data_run_integers);
    static const enum sw_command_id commands[] = {
        SW_COMMAND_SCAN,     SW_COMMAND_KEYS,     SW_COMMAND_RANDOMKEY, SW_COMMAND_RESIZE,
        SW_COMMAND_SETEX,    SW_COMMAND_PSETEX,   SW_COMMAND_EXPIRE,    SW_COMMAND_PEXPIRE,
        SW_COMMAND_EXPIREAT, SW_COMMAND_PEXPIREAT};
    expect_lacking(fixture.loop, ~(SW_OPS_INTEGERS | SW_OPS_PAIR), commands,
                   sizeof(commands) / sizeof(commands[0]));
    cr_assert_not(fixture.loop->bulk.table->operations[SW_OPERATION_SCAN]);
    cr_assert_not(fixture.loop->bulk.table->operations[SW_OPERATION_RESIZE]);
    cr_assert_not(fixture.loop->bulk.table->operations[SW_OPERATION_EXPIRE]);
    cr_assert_not(fixture.loop->bulk.table->operations[SW_OPERATION_TTL]);
    cr_assert(fixture.loop->bulk.table->operations[SW_OPERATION_DELETE]);
}

/* Whichever list of flights has lost it. */
static void lose_device(unsigned which)
{
    set_up();
    struct sw_batches *batches = &fixture.loop->first.batches;
    struct sw_flights *const lists[] = {&batches->flights, &batches->write_flights,
                                        &batches->resp_flights};
    sw_batches_activate(batches);
    lists[which]->device_lost = true; /* as sw_flights_poll leaves it */
    cr_assert_eq(sw_loop_start(fixture.loop), 0);
    sw_loop_stop(fixture.loop);
    sw_loop_join(fixture.loop);
    cr_assert_eq(fixture.owner.lost, 1);
    cr_assert_eq(fixture.owner.stopped, 0);
    cr_assert_not(lists[which]->device_lost);
}

Test(loop, a_lost_device_is_told_once)
{
    for (unsigned which = 0; which < 3; which++) {
        lose_device(which);
    }
}

Test(loop, nothing_lost_nothing_told)
{
    set_up();
    cr_assert_eq(sw_loop_start(fixture.loop), 0);
    sw_loop_stop(fixture.loop);
    sw_loop_join(fixture.loop);
    cr_assert_eq(fixture.owner.lost, 0);
}

/* --- several tables
 * ------------------------------------------------------------------------------ */

/* Opens a seat behind the first. sw_seat_fini, then free. */
static struct sw_seat *open_seat(void)
{
    const struct sw_served served = {.table = fixture.table, .config = &fixture.config};
    struct sw_seat *seat = aligned_alloc(64, (sizeof(*seat) + 63) / 64 * 64);
    cr_assert_not_null(seat);
    cr_assert_eq(sw_loop_open_seat(fixture.loop, seat, &served), 0);
    return seat;
}

/* The log wakes a loop for a seat behind the first as well: its replies wait for the log. */
Test(loop, the_log_wakes_a_loop_for_each_of_its_tables)
{
    set_up();
    struct sw_seat *seat = open_seat();
    const uint64_t *waits = seat->batches.waits_for_log;
    __atomic_store_n(seat->batches.waits_for_log, 1, __ATOMIC_SEQ_CST);
    sw_loop_log_moved(fixture.loop);
    cr_assert_eq(__atomic_load_n(waits, __ATOMIC_SEQ_CST), 0, "the log has not woken the loop");
    sw_seat_fini(seat);
    free(seat);
}

/* A loop is alive while it is inside a submit to any of its tables, which may grow there. */
Test(loop, a_submit_to_another_table_is_alive)
{
    set_up();
    struct sw_seat *seat = open_seat();
    struct sw_served_loop of_loop = {.seat = seat};
    const struct sw_served served = {.loops = &of_loop, .config = &fixture.config};
    const struct sw_tables_owner owner = {.server = NULL};
    struct sw_tables *tables = sw_tables_create(1, &served, &owner);
    cr_assert_not_null(tables);
    fixture.loop->owner.tables = &tables;
    cr_assert_not(sw_loop_is_alive(fixture.loop), "it has run no iteration");
    __atomic_store_n(&seat->batches.submitter.submitting_since_us, uv_hrtime() / 1000,
                     __ATOMIC_RELAXED);
    cr_assert(sw_loop_is_alive(fixture.loop));
    fixture.loop->owner.tables = NULL;
    sw_tables_destroy(tables);
    sw_seat_fini(seat);
    free(seat);
}

/* --- a long iteration
 * ------------------------------------------------------------------------------ */

static uint64_t now_ms(void)
{
    return uv_hrtime() / 1000000;
}

static uint64_t unblocked_ms; /* atomic */

/* Blocks the loop, as the growth of a table in host memory does. */
static void block(uv_async_t *async)
{
    usleep(1500 * 1000);
    uv_close((uv_handle_t *)async, NULL);
    __atomic_store_n(&unblocked_ms, now_ms(), __ATOMIC_SEQ_CST);
}

static void wait_until_read(const struct sw_loop *loop, uint64_t bytes)
{
    while (__atomic_load_n(&loop->counters.net_input_bytes, __ATOMIC_RELAXED) < bytes) {
        usleep(1000);
    }
}

/* Sends half a request, and the rest 200 ms after the loop was blocked for longer than a request
 * may take. False if it was sent so late that it may have failed for that. */
static bool is_answered_after_a_block(void)
{
    static const char request[] = "*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n";
    uv_async_t blocker;
    int sockets[2];
    char reply[64] = "";
    set_up();
    fixture.budget.bytes_max = 1 << 20;
    fixture.config.request_timeout_ms = 1200;
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    sw_conn_open(&fixture.loop->net, (struct sw_inbox_item){.fd = sockets[0], .is_unix = true});
    cr_assert_eq(uv_async_init(&fixture.loop->uv, &blocker, block), 0);
    cr_assert_eq(sw_loop_start(fixture.loop), 0);
    cr_assert_eq(write(sockets[1], request, 10), 10);
    wait_until_read(fixture.loop, 10);
    __atomic_store_n(&unblocked_ms, 0, __ATOMIC_SEQ_CST);
    uv_async_send(&blocker);
    while (__atomic_load_n(&unblocked_ms, __ATOMIC_SEQ_CST) == 0) {
        usleep(1000);
    }
    usleep(200 * 1000);
    ssize_t sent = send(sockets[1], request + 10, sizeof(request) - 11, MSG_NOSIGNAL);
    bool on_time = now_ms() - unblocked_ms < 1000;
    ssize_t got = read(sockets[1], reply, sizeof(reply) - 1);
    if (on_time) {
        cr_assert_eq(sent, (ssize_t)sizeof(request) - 11);
        cr_assert_gt(got, 0);
        cr_assert_str_eq(reply, "$5\r\nhello\r\n");
        cr_assert_eq(fixture.loop->counters.request_timeouts, 0);
    }
    close(sockets[1]);
    sw_loop_stop(fixture.loop);
    sw_loop_join(fixture.loop);
    return on_time;
}

/* The peer of a connection with half a request is no slower because the loop was. */
Test(loop, a_blocked_loop_is_not_the_peers_delay)
{
    for (int i = 0; !is_answered_after_a_block(); i++) {
        cr_assert_lt(i, 10, "this machine is too busy");
    }
}
