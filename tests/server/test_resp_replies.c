/* SPDX-License-Identifier: MIT
 *
 * test_resp_replies.c - CLIENT REPLY, and many connections whose requests and replies come and go
 * in random pieces, from one table or several.
 */
#include "server/batch/gate.h"
#include "table/instance.h"
#include "table/robin_hood/cpu/cpu.h"
#include "tests/server/serve_fixture.h"

SERVE_TEST(resp_replies, off_silences_replies_and_errors)
{
    serve_ask(serve, peer, "CLIENT REPLY OFF\r\nSET 1 1\r\nGET 1\r\nPING\r\nnothing\r\nGET\r\n",
              "");
    serve_ask(serve, peer, "CLIENT REPLY ON\r\nGET 1\r\n", "+OK\r\n$1\r\n1\r\n");
}

SERVE_TEST(resp_replies, skip_silences_one)
{
    static const char *const silent[] = {"GET 1\r\n", "PING\r\n", "nothing\r\n", "GET\r\n",
                                         "DBSIZE\r\n"};
    for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++) {
        char request[64];
        snprintf(request, sizeof(request), "CLIENT REPLY SKIP\r\n%sPING\r\n", silent[i]);
        serve_ask(serve, peer, request, "+PONG\r\n");
    }
}

/* A command that was sent before OFF gets its reply, even if the server writes it later. */
SERVE_TEST(resp_replies, off_begins_where_it_stands)
{
    serve_ask(serve, peer, "SET 1 1\r\nGET 1\r\nCLIENT REPLY OFF\r\nGET 1\r\n",
              "+OK\r\n$1\r\n1\r\n");
}

/* A connection that the server closes gets the reason, also with replies off. */
LOOP_TEST_WITH(resp_replies, off_does_not_silence_the_last_words,
               serve->config.request_timeout_ms = 1000)
{
    struct fake *slow = serve_open(serve);
    struct fake *wrong = serve_open(serve);
    fake_say(slow, "CLIENT REPLY OFF\r\nGET 1\r\n*2\r\n");
    fake_say(wrong, "CLIENT REPLY OFF\r\nGET 1\r\n*x\r\n");
    serve_until_idle(serve);
    fake_expect(wrong, "-ERR Protocol error: invalid multibulk length\r\n");
    serve_pass(serve, 1001);
    serve_until_idle(serve);
    fake_expect(slow, "-ERR Protocol error: the request did not arrive in time\r\n");
}

/* --- everything at once ----------------------------------------------------------------------- */

enum { LANES = 5, STEPS = 6000, TEXT_BYTES = 1 << 20 };

/* A connection, what it will send, and what it must be replied in the end. */
struct lane {
    struct pieces pieces;
    uint64_t key, count;
    char *wanted;
    size_t wanted_size;
};

static void add_exchange(struct lane *lane, const char *request, const char *reply)
{
    size_t size = strlen(request), reply_size = strlen(reply);
    cr_assert(lane->pieces.size + size < TEXT_BYTES && lane->wanted_size + reply_size < TEXT_BYTES);
    memcpy(lane->pieces.requests + lane->pieces.size, request, size);
    memcpy(lane->wanted + lane->wanted_size, reply, reply_size);
    lane->pieces.size += size;
    lane->wanted_size += reply_size;
}

/* A command on the lane's own key, and its reply. */
static void add_command(struct lane *lane, struct random *random)
{
    static const char filler[] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
    char request[512], reply[512], value[32];
    unsigned long long key = lane->key;
    switch (random_below(random, 7)) {
    case 0:
        snprintf(request, sizeof(request), "GET %llu\r\n", key);
        int size = snprintf(value, sizeof(value), "%llu", (unsigned long long)lane->count);
        snprintf(reply, sizeof(reply), "$%d\r\n%s\r\n", size, value);
        break;
    case 1:
        snprintf(request, sizeof(request), "*2\r\n$4\r\nECHO\r\n$52\r\n%s\r\n", filler);
        snprintf(reply, sizeof(reply), "$52\r\n%s\r\n", filler);
        break;
    case 2:
        snprintf(request, sizeof(request), "nothing\r\n");
        snprintf(reply, sizeof(reply),
                 "-ERR unknown command 'nothing', with args beginning with: \r\n");
        break;
    case 3:
        snprintf(request, sizeof(request), "EXISTS %llu %llu 999\r\n", key, key);
        snprintf(reply, sizeof(reply), ":2\r\n");
        break;
    default:
        snprintf(request, sizeof(request), "*2\r\n$4\r\nINCR\r\n$1\r\n%llu\r\n", key);
        snprintf(reply, sizeof(reply), ":%llu\r\n", (unsigned long long)++lane->count);
        break;
    }
    add_exchange(lane, request, reply);
}

static void open_lane(struct serve *serve, struct lane *lane, uint64_t key)
{
    *lane = (struct lane){.key = key};
    lane->pieces.peer = serve_open(serve);
    lane->pieces.requests = malloc(TEXT_BYTES);
    lane->wanted = malloc(TEXT_BYTES);
    cr_assert(lane->pieces.requests != NULL && lane->wanted != NULL);
}

/* A table that the test holds, at times: by a long read, such as an image, or by growth. */
struct holding {
    struct sw_phase_lock *lock;
    enum { FREE, READ, GROWTH } phase;
};

static struct holding holding_of(const struct sw_table *table)
{
    return (struct holding){.lock = &((struct sw_cpu *)table->memory)->lock};
}

static void end_hold(struct holding *holding)
{
    if (holding->phase == READ) {
        sw_phase_lock_leave_long_read(holding->lock);
    } else if (holding->phase == GROWTH) {
        sw_phase_lock_leave_write(holding->lock);
    }
    holding->phase = FREE;
}

static void change_hold(struct holding *holding, struct random *random)
{
    if (holding->phase != FREE) {
        end_hold(holding);
    } else if (random_below(random, 2) == 0) {
        sw_phase_lock_enter_read(holding->lock);
        sw_phase_lock_lengthen_read(holding->lock);
        holding->phase = READ;
    } else {
        (void)sw_phase_lock_enter_uncounted(holding->lock);
        sw_phase_lock_lengthen(holding->lock);
        holding->phase = GROWTH;
    }
}

/* Sends the requests of the lanes in random pieces, and expects their replies. Holds each of the
 * `count` tables at times. */
static void run_lanes(struct serve *serve, struct lane *lanes, struct random *random,
                      struct holding *holdings, uint32_t count)
{
    for (int n = 0; n < STEPS; n++) {
        pieces_step(serve, &lanes[random_below(random, LANES)].pieces, random);
        if (random_below(random, 20) == 0) {
            change_hold(&holdings[random_below(random, count)], random);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        end_hold(&holdings[i]);
    }
    for (bool more = true; more;) {
        more = serve_iteration(serve);
        for (int i = 0; i < LANES; i++) {
            more |= pieces_end(&lanes[i].pieces);
        }
    }
    for (int i = 0; i < LANES; i++) {
        struct lane *lane = &lanes[i];
        cr_assert_eq(lane->pieces.peer->out_bytes, lane->wanted_size, "connection %d", i);
        cr_assert_eq(memcmp(lane->pieces.peer->out, lane->wanted, lane->wanted_size), 0, "%d", i);
        free(lane->pieces.requests);
        free(lane->wanted);
    }
}

LOOP_TEST_WITH(resp_replies, every_connection_gets_its_own_in_order,
               serve->config.output_bytes_pause = 4096)
{
    struct random random = random_of(0);
    struct lane lanes[LANES];
    for (int i = 0; i < LANES; i++) {
        struct lane *lane = &lanes[i];
        open_lane(serve, lane, (uint64_t)i + 1);
        lane->count = 1;
        char first[32];
        snprintf(first, sizeof(first), "SET %d 1\r\n", i + 1);
        add_exchange(lane, first, "+OK\r\n");
        for (int n = 0; n < 6000; n++) {
            add_command(lane, &random);
        }
    }
    struct holding holding = holding_of(serve->table);
    run_lanes(serve, lanes, &random, &holding, 1);
    cr_assert_gt(serve->loop->counters.output_pauses, 0);
    cr_assert_gt(serve->loop->first.resp.passing_begun, 0);
}

/* --- several tables --------------------------------------------------------------------------- */

enum { TABLES = 6 };

/* Places 1 to TABLES - 1 of a loop, with a table in each. */
struct several {
    struct sw_served served[TABLES], *pointers[TABLES];
    struct sw_served_loop loops[TABLES];
    struct sw_tables_view view;
};

static void open_several(struct serve *serve, struct several *several)
{
    struct sw_tables_view *view = &several->view;
    struct sw_place place;
    *view = (struct sw_tables_view){.number = 1, .served = several->pointers};
    cr_assert_eq(sw_places_init(&view->catalog, TABLES), SW_PLACES_OK);
    for (uint32_t i = 0; i < TABLES; i++) {
        struct sw_seat *seat = &serve->loop->first;
        struct sw_served *served = several->pointers[i] = &several->served[i];
        *served = (struct sw_served){.id = i + 1,
                                     .table = serve->table,
                                     .gate = serve->gate,
                                     .config = &serve->config,
                                     .loops = &several->loops[i]};
        if (i > 0) {
            served->table = open_table(&serve->config, &serve->sequencer);
            served->gate = sw_gate_create(16);
            seat = aligned_alloc(64, (sizeof(*seat) + 63) / 64 * 64);
            cr_assert(served->gate != NULL && seat != NULL);
            cr_assert_eq(sw_loop_open_seat(serve->loop, seat, served), 0);
            sw_list_push(&serve->loop->seats, &seat->link);
            const char name[] = {'t', (char)('0' + i)};
            cr_assert_eq(sw_places_create(&view->catalog, name, 2, &i, &place), SW_PLACES_OK);
        }
        sw_batches_set_table(&seat->batches, served->id);
        several->loops[i] = (struct sw_served_loop){seat, &seat->resp, &seat->frames};
    }
    serve->loop->net.tables = (struct sw_tables_handle){.view = view, .number = view->number};
}

static void close_several(struct serve *serve, struct several *several)
{
    fake_fini_all();
    serve_until_idle(serve);
    for (uint32_t i = 1; i < TABLES; i++) {
        struct sw_seat *seat = several->loops[i].seat;
        cr_assert_not(sw_list_is_linked(&seat->batches.active), "table %u is active at rest", i);
        sw_list_remove(&seat->link);
        sw_list_remove(&seat->swept);
        sw_seat_fini(seat);
        free(seat);
        sw_table_destroy(several->served[i].table);
        sw_gate_destroy(several->served[i].gate);
    }
    sw_places_fini(&several->view.catalog);
}

/* A command on the lane's own key in its place, and its reply. `values`: those of the key in each
 * place; 0: it is absent. */
static void add_command_of_place(struct lane *lane, uint64_t *values, struct random *random)
{
    const unsigned long long key = lane->key;
    const uint32_t other = (uint32_t)random_below(random, TABLES);
    uint64_t *value = &values[lane->count];
    const unsigned has = *value > 0;
    char request[64], reply[64] = "$-1\r\n", digits[32];
    switch (random_below(random, 8)) {
    case 0:
        snprintf(request, sizeof(request), "GET %llu\r\n", key);
        const int size = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)*value);
        if (has) {
            snprintf(reply, sizeof(reply), "$%d\r\n%s\r\n", size, digits);
        }
        break;
    case 1: /* a pass */
        snprintf(request, sizeof(request), "KEYS %llu\r\n", key);
        snprintf(reply, sizeof(reply), has ? "*1\r\n$1\r\n%llu\r\n" : "*0\r\n", key);
        break;
    case 2: /* a read-modify-write command, of one table or two */
        snprintf(request, sizeof(request), "MSETNX %llu 7\r\n", key);
        snprintf(reply, sizeof(reply), ":%u\r\n", !has);
        *value = has ? *value : 7;
        break;
    case 3:
        snprintf(request, sizeof(request), "COPY %llu %llu DB %u REPLACE\r\n", key, key, other);
        snprintf(reply, sizeof(reply), ":%u\r\n", has);
        if (other == lane->count) {
            snprintf(reply, sizeof(reply), "-ERR source and destination objects are the same\r\n");
        } else if (has) {
            values[other] = *value;
        }
        break;
    case 4:
        snprintf(request, sizeof(request), "DEL %llu\r\n", key);
        snprintf(reply, sizeof(reply), ":%u\r\n", has);
        *value = 0;
        break;
    case 5:
        snprintf(request, sizeof(request), "SELECT %u\r\n", other);
        snprintf(reply, sizeof(reply), "+OK\r\n");
        lane->count = other;
        break;
    default:
        snprintf(request, sizeof(request), "INCR %llu\r\n", key);
        snprintf(reply, sizeof(reply), ":%llu\r\n", (unsigned long long)++*value);
        break;
    }
    add_exchange(lane, request, reply);
}

/* A connection that waits for no reply gets its last error though the memory of all batches is in
 * use. */
LOOP_TEST_WITH(resp_replies, the_last_words_need_no_memory_of_a_batch,
               (serve->config.request_timeout_ms = 1000, serve->config.resp_batches_max = 3))
{
    static struct several several;
    open_several(serve, &several);
    struct fake *slow = serve_open(serve), *late = fake_open(&serve->loop->net, true);
    serve_ask(serve, slow, "SET 1 1\r\n", "+OK\r\n");
    fake_say(slow, "*2\r\n");
    for (uint32_t i = 1; i < TABLES; i++) {
        char request[32];
        struct fake *peer = serve_open(serve);
        snprintf(request, sizeof(request), "SELECT %u\r\n", i);
        serve_ask(serve, peer, request, "+OK\r\n");
        fake_say(peer, "GET 1\r\n");
    }
    cr_assert_null(serve->loop->first.resp.filling->memory);
    serve_pass(serve, 1001);
    fake_expect(slow, "-ERR Protocol error: the request did not arrive in time\r\n");
    fake_say(late, "PING\r\n");
    fake_expect(late, "-ERR max number of clients reached\r\n");
    close_several(serve, &several);
}

/* A COPY whose source is held leaves the processor to others. */
LOOP_TEST_WITH(resp_replies, a_loop_rests_while_the_source_of_copy_is_held,
               serve->gate = sw_gate_create(16))
{
    static struct several several;
    open_several(serve, &several);
    struct holding source = holding_of(several.served[1].table);
    struct fake *peer = serve_open(serve);
    serve_ask(serve, peer, "SELECT 1\r\nSET 1 7\r\n", "+OK\r\n+OK\r\n");
    sw_phase_lock_enter_read(source.lock);
    sw_phase_lock_lengthen_read(source.lock);
    source.phase = READ;
    fake_say(peer, "COPY 1 1 DB 0\r\n");
    for (int i = 0; i < 3; i++) {
        serve_iteration(serve);
    }
    cr_assert_eq(sw_seats_settle(&serve->loop->active), SW_POLLS_SOON);
    fake_expect(peer, "");
    end_hold(&source);
    cr_assert_eq(sw_seats_settle(&serve->loop->active), SW_POLLS_NOW);
    serve_until_idle(serve);
    fake_expect(peer, ":1\r\n");
    close_several(serve, &several);
}

/* Sweeps visit the tables whose keys may expire, and only these. */
LOOP_TEST_WITH(resp_replies, sweeps_visit_the_tables_with_expiring_keys,
               serve->gate = sw_gate_create(16))
{
    static struct several several;
    struct sw_loop *loop = serve->loop;
    open_several(serve, &several);
    struct fake *peer = serve_open(serve);
    sw_seats_sweep(&loop->seats, &loop->sweeps, several.view.number);
    cr_assert(sw_list_is_empty(&loop->sweeps.seats));
    serve_ask(serve, peer, "SELECT 2\r\nSET 1 1 PX 100\r\nSET 2 2\r\nSELECT 3\r\nSET 1 1\r\n",
              "+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n");
    struct sw_table_stats stats = {.expires = 1};
    while (stats.expires > 0) {
        sw_seats_sweep(&loop->seats, &loop->sweeps, several.view.number);
        cr_assert_eq(sw_list_check(&loop->sweeps.seats), 1);
        cr_assert(sw_list_is_linked(&several.loops[2].seat->swept));
        serve_until_idle(serve);
        sw_table_stats(several.served[2].table, &stats);
    }
    cr_assert_eq(stats.expired, 1);
    close_several(serve, &several);
}

/* The loop visits the tables that have work, and only these. */
LOOP_TEST_WITH(resp_replies, every_connection_gets_its_own_from_each_table,
               serve->gate = sw_gate_create(16))
{
    struct random random = random_of(0);
    struct lane lanes[LANES];
    static struct several several;
    open_several(serve, &several);
    for (int i = 0; i < LANES; i++) {
        uint64_t values[TABLES] = {0};
        open_lane(serve, &lanes[i], (uint64_t)i + 1);
        for (int n = 0; n < 6000; n++) {
            add_command_of_place(&lanes[i], values, &random);
        }
    }
    struct holding holdings[TABLES];
    for (uint32_t i = 0; i < TABLES; i++) {
        holdings[i] = holding_of(several.served[i].table);
    }
    run_lanes(serve, lanes, &random, holdings, TABLES);
    cr_assert_gt(serve->loop->first.resp.passing_begun, 0);
    close_several(serve, &several);
}
