/* SPDX-License-Identifier: MIT
 *
 * test_obstacles.c - what keeps requests from running: by both protocols, alone and several at
 * once. The replies are those of redis, or of the frame protocol.
 */
#include <criterion/criterion.h>

#include "server/repl/repl.h"
#include "server/resp/output.h"
#include "server/sweeping.h"
#include "tests/server/bulk_fixture.h"

enum { REPLICA = 1, DOWN = 2, LACKS_DATA = 4, PAUSED = 8, WRITES_PAUSED = 16 };

#define RUNS "+QUEUED"
#define STALLS ""

struct world {
    struct serve serve;
    struct fake *peer;
    struct sw_repl repl;
};

static struct world *begin(void)
{
    struct world *world = calloc(1, sizeof(*world));
    cr_assert_not_null(world);
    sw_repl_state_init(&world->repl.state);
    serve_init(&world->serve);
    serve_start(&world->serve);
    world->peer = serve_open(&world->serve);
    sw_batches_set_owner(&world->serve.loop->first.batches, NULL, &world->repl);
    world->serve.loop->bulk.owner.repl = &world->repl;
    return world;
}

static void raise_obstacles(struct world *world, unsigned which)
{
    struct sw_net *net = &world->serve.loop->net;
    world->repl.state.is_replica = (which & REPLICA) != 0;
    world->repl.state.is_down = (which & DOWN) != 0;
    world->repl.state.lacks_data = (which & LACKS_DATA) != 0;
    sw_obstacles_pause(&world->serve.loop->first.batches.obstacles,
                       (which & (PAUSED | WRITES_PAUSED)) != 0, (which & PAUSED) != 0);
    sw_net_retry_paused(net);
}

static void end(struct world *world)
{
    raise_obstacles(world, 0);
    serve_end(&world->serve);
    sw_repl_state_fini(&world->repl.state);
    free(world);
}

/* --- RESP ------------------------------------------------------------------------------------- */

/* A row: a command, what is raised, and the beginning of the reply; STALLS: none comes. */
static const struct row {
    const char *command;
    unsigned raised;
    const char *reply;
} rows[] = {
    {"GET 1", 0, "$-1"},
    {"GET 1", REPLICA, "$-1"},
    {"GET 1", DOWN, "-CLUSTERDOWN"},
    {"GET 1", LACKS_DATA | REPLICA, "-LOADING"},
    {"GET 1", DOWN | LACKS_DATA, "-CLUSTERDOWN"},
    {"GET 1", WRITES_PAUSED, "$-1"},
    {"GET 1", PAUSED, STALLS},
    {"GET 1", PAUSED | DOWN, "-CLUSTERDOWN"}, /* a refusal does not wait */
    {"SET 1 2", 0, "+OK"},
    {"SET 1 2", REPLICA, "-READONLY"},
    {"SET 1 2", REPLICA | LACKS_DATA, "-LOADING"},
    {"SET 1 2", REPLICA | DOWN, "-CLUSTERDOWN"},
    {"SET 1 2", WRITES_PAUSED, STALLS},
    {"SET 1 2", WRITES_PAUSED | REPLICA, "-READONLY"},
    {"FLUSHALL", REPLICA, "-READONLY"},
    {"FLUSHALL", WRITES_PAUSED, STALLS},
    {"DBSIZE", LACKS_DATA, "-LOADING"},
    {"DBSIZE", PAUSED, STALLS},
    {"PING", REPLICA | DOWN | LACKS_DATA, "+PONG"},
    {"PING", WRITES_PAUSED, "+PONG"},
    {"PING", PAUSED, STALLS},
    {"CLIENT ID", PAUSED | DOWN | LACKS_DATA, ":"},
    {"CONFIG GET loops", PAUSED, "*2"},
    {"WATCH 1", REPLICA, "-ERR WATCH"},
    {"WATCH 1", REPLICA | DOWN, "-CLUSTERDOWN"},
    {"SELECT 5", 0, "-ERR DB index is out of range"},
    {"SELECT 5", REPLICA | LACKS_DATA, "-LOADING"}, /* the primary may have that table */
    {"SELECT users", 0, "-ERR value is not an integer"},
    {"SELECT users", REPLICA | LACKS_DATA, "-LOADING"},
    {"SELECT 0", REPLICA | LACKS_DATA, "+OK"},
    {"MULTI", REPLICA | DOWN | LACKS_DATA, "+OK"},
    {"NOSUCH", PAUSED, "-ERR unknown command"},
    {"GET", PAUSED, "-ERR wrong number"},
};

static void ask(struct world *world, const struct row *row)
{
    char line[64];
    const size_t reply_bytes = strlen(row->reply);
    world->peer->out_bytes = 0;
    raise_obstacles(world, row->raised);
    snprintf(line, sizeof(line), "%s\r\n", row->command);
    fake_send(world->peer, line, strlen(line));
    serve_until_idle(&world->serve);
    fake_take_all(world->peer);
    if (reply_bytes == 0) {
        cr_assert_eq(world->peer->out_bytes, 0, "%s, %u: not held back", row->command, row->raised);
        cr_assert_eq(world->serve.loop->net.paused_count, 1);
        raise_obstacles(world, 0); /* then it is carried out */
        serve_until_idle(&world->serve);
        fake_take_all(world->peer);
        cr_assert_gt(world->peer->out_bytes, 0, "%s, %u: never resumed", row->command, row->raised);
        cr_assert_neq(world->peer->out[0], '-', "%s", row->command);
    } else {
        cr_assert(world->peer->out_bytes >= reply_bytes &&
                      strncmp(world->peer->out, row->reply, reply_bytes) == 0,
                  "%s, %u: got %.*s", row->command, row->raised, (int)world->peer->out_bytes,
                  world->peer->out);
    }
}

Test(obstacles, commands)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct world *world = begin();
        ask(world, &rows[i]);
        end(world);
    }
}

/* EXEC meets the obstacles of what was queued. */
Test(obstacles, transactions)
{
    static const struct row execs[] = {
        {"GET 1", REPLICA, "*1"},
        {"GET 1", DOWN, "-EXECABORT Transaction discarded because of: CLUSTERDOWN"},
        {"GET 1", LACKS_DATA, "-EXECABORT Transaction discarded because of: LOADING"},
        {"SET 1 2", REPLICA, "-EXECABORT Transaction discarded because of: READONLY"},
        {"SET 1 2", WRITES_PAUSED, STALLS},
        {"GET 1", WRITES_PAUSED, "*1"},
        {"PING", DOWN | LACKS_DATA | REPLICA, "*1"},
    };
    for (size_t i = 0; i < sizeof(execs) / sizeof(execs[0]); i++) {
        struct world *world = begin();
        ask(world, &(const struct row){"MULTI", 0, "+OK"});
        ask(world, &(const struct row){execs[i].command, 0, RUNS});
        ask(world, &(const struct row){"EXEC", execs[i].raised, execs[i].reply});
        end(world);
    }
}

/* A command that is refused spoils the transaction. */
Test(obstacles, spoil)
{
    struct world *world = begin();
    ask(world, &(const struct row){"MULTI", 0, "+OK"});
    ask(world, &(const struct row){"SET 1 2", REPLICA, "-READONLY"});
    ask(world, &(const struct row){"EXEC", 0, "-EXECABORT"});
    end(world);
}

/* The EXEC of a spoiled transaction does not wait until writes may go on. */
Test(obstacles, a_spoiled_transaction_does_not_wait)
{
    struct world *world = begin();
    ask(world, &(const struct row){"MULTI", 0, "+OK"});
    ask(world, &(const struct row){"SET 1 2", 0, RUNS});
    ask(world, &(const struct row){"GET", 0, "-ERR wrong number"});
    ask(world, &(const struct row){"EXEC", WRITES_PAUSED, "-EXECABORT"});
    end(world);
}

/* Only a primary removes expired keys, and only while it may write. A replica sets its clock. */
Test(obstacles, sweeps)
{
    static const struct {
        unsigned raised;
        enum sw_sweeping sweeping;
    } sweeps[] = {
        {0, SW_SWEEPING_KEYS},
        {REPLICA, SW_SWEEPING_CLOCK},
        {REPLICA | LACKS_DATA, SW_SWEEPING_CLOCK},
        {REPLICA | PAUSED, SW_SWEEPING_CLOCK},
        {REPLICA | DOWN, SW_SWEEPING_NOTHING},
        {DOWN, SW_SWEEPING_NOTHING},
        {PAUSED, SW_SWEEPING_NOTHING},
        {WRITES_PAUSED, SW_SWEEPING_NOTHING},
    };
    struct world *world = begin();
    for (size_t i = 0; i < sizeof(sweeps) / sizeof(sweeps[0]); i++) {
        raise_obstacles(world, sweeps[i].raised);
        cr_assert_eq(sw_loop_sweeping(world->serve.loop), sweeps[i].sweeping, "obstacles %u",
                     sweeps[i].raised);
    }
    end(world);
}

/* --- cluster mode ----------------------------------------------------------------------------- */

#define SHARD_ID "0123456789abcdef0123456789abcdef01234567"
#define PRIMARY_ID "1123456789abcdef0123456789abcdef01234567"
#define REPLICA_ID "2123456789abcdef0123456789abcdef01234567"

/* One shard with all slots; the node REPLICA_ID is a replica in it. */
static const char topology_text[] =
    "{\"format\":1,\"cluster\":\"prod\",\"epoch\":1,\"keys\":\"decimal\",\n"
    "\"shards\":[{\"id\":\"" SHARD_ID "\",\"name\":\"s1\",\"slots\":[[0,16383]]}],\n"
    "\"nodes\":[{\"id\":\"" PRIMARY_ID
    "\",\"shard\":\"s1\",\"role\":\"primary\",\"ip\":\"10.0.0.1\",\"port\":1},\n"
    "{\"id\":\"" REPLICA_ID
    "\",\"shard\":\"s1\",\"role\":\"replica\",\"ip\":\"10.0.0.2\",\"port\":2}]}";

static struct sw_cluster_view *view_of(const char *id, const struct sw_cluster_choices *choices)
{
    char error[SW_TOPOLOGY_ERROR_BYTES];
    struct sw_topology *topology =
        sw_topology_parse(topology_text, sizeof(topology_text) - 1, error);
    cr_assert_not_null(topology, "%s", error);
    struct sw_cluster_view *view = sw_cluster_view_create(topology, id, choices);
    cr_assert_not_null(view);
    return view;
}

/* A transaction on several slots has been checked against one topology. Under another one, only
 * the slot of its first key would be checked. */
Test(obstacles, a_transaction_of_several_slots_and_another_topology)
{
    const struct sw_cluster_choices choices = {.any_slots = true};
    struct sw_cluster_view *views[] = {view_of(PRIMARY_ID, &choices),
                                       view_of(PRIMARY_ID, &choices)};
    struct world *world = begin();
    views[0]->number = 1;
    views[1]->number = 2;
    for (int keys = 1; keys <= 2; keys++) {
        for (int changes = 0; changes < 2; changes++) {
            const char *reply = keys == 2 && changes != 0 ? "-EXECABORT" : "*";
            world->serve.loop->net.cluster.view = views[0];
            ask(world, &(const struct row){"MULTI", 0, "+OK"});
            ask(world, &(const struct row){"SET 1 2", 0, RUNS});
            ask(world, &(const struct row){keys == 2 ? "SET 2 3" : "SET 1 3", 0, RUNS});
            world->serve.loop->net.cluster.view = views[changes];
            ask(world, &(const struct row){"EXEC", 0, reply});
        }
    }
    end(world);
    sw_cluster_view_destroy(views[0]);
    sw_cluster_view_destroy(views[1]);
}

/* A replica serves reads after READONLY while it knows its primary and has the data. Otherwise it
 * redirects the client. */
Test(obstacles, reads_of_a_replica_in_a_cluster)
{
    static const struct row cases[] = {
        {"GET 1", REPLICA, "-MOVED"},
        {"READONLY", REPLICA, "+OK"},
        {"GET 1", REPLICA, "$-1"},
        {"GET 1", REPLICA | DOWN, "-MOVED"},
        {"GET 1", REPLICA | LACKS_DATA, "-MOVED"},
        {"GET 1", REPLICA | DOWN | LACKS_DATA, "-MOVED"},
        {"SET 1 2", REPLICA, "-MOVED"},
        {"READWRITE", REPLICA, "+OK"},
        {"GET 1", REPLICA, "-MOVED"},
    };
    const struct sw_cluster_choices choices = {.any_slots = false};
    struct sw_cluster_view *view = view_of(REPLICA_ID, &choices);
    struct world *world = begin();
    world->serve.loop->net.cluster.view = view;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ask(world, &cases[i]);
    }
    end(world);
    sw_cluster_view_destroy(view);
}

/* --- frames ----------------------------------------------------------------------------------- */

enum { HELD = -1 };

/* Sends a request beside obstacles. It gets the status, or is held back until there are none. */
static void ask_frame(struct sw_request request, unsigned raised, int status)
{
    struct world *world = begin();
    struct stream *stream = calloc(1, sizeof(*stream));
    struct sw_reply reply = {0};
    cr_assert_not_null(stream);
    raise_obstacles(world, raised);
    request.count = sw_operation_is_data(request.operation) ? 1 : 0;
    add_request(stream, request, 1);
    fake_send(world->peer, stream->bytes, stream->size);
    serve_until_idle(&world->serve);
    fake_take_all(world->peer);
    const bool replied = take_reply(world->peer, &reply);
    cr_assert_eq(replied, status != HELD, "%u, %u", request.operation, raised);
    if (status != HELD) {
        cr_assert_eq((int)reply.status, status, "%u, %u: %d", request.operation, raised,
                     (int)reply.status);
    } else {
        raise_obstacles(world, 0);
        serve_until_idle(&world->serve);
        fake_take_all(world->peer);
        cr_assert(take_reply(world->peer, &reply) && reply.status == SW_REPLY_OK);
    }
    end(world);
    free(stream);
}

Test(obstacles, frames)
{
    static const struct {
        uint32_t operation;
        unsigned raised;
        int status;
    } frames[] = {
        {SW_OPERATION_GET, 0, SW_REPLY_OK},
        {SW_OPERATION_GET, REPLICA, SW_REPLY_OK},
        {SW_OPERATION_GET, DOWN | REPLICA | LACKS_DATA, SW_REPLY_NOT_PRIMARY},
        {SW_OPERATION_GET, REPLICA | LACKS_DATA, SW_REPLY_LOADING},
        {SW_OPERATION_GET, WRITES_PAUSED, SW_REPLY_OK},
        {SW_OPERATION_GET, PAUSED, HELD},
        {SW_OPERATION_SET, 0, SW_REPLY_OK},
        {SW_OPERATION_SET, REPLICA | LACKS_DATA, SW_REPLY_NOT_PRIMARY},
        {SW_OPERATION_SET, WRITES_PAUSED, HELD},
        {SW_OPERATION_SET, WRITES_PAUSED | REPLICA, HELD}, /* what it meets then, it meets then */
        {SW_OPERATION_CLEAR, REPLICA, SW_REPLY_NOT_PRIMARY},
        {SW_OPERATION_RESIZE, REPLICA, SW_REPLY_NOT_PRIMARY},
        {SW_OPERATION_PING, PAUSED | REPLICA | DOWN | LACKS_DATA, SW_REPLY_OK},
        {SW_OPERATION_STATS, PAUSED, SW_REPLY_OK},
    };
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        ask_frame((struct sw_request){.operation = frames[i].operation}, frames[i].raised,
                  frames[i].status);
    }
}

/* A replica that has not received its primary's tables does not know which ones exist. */
Test(obstacles, frames_to_absent_tables)
{
    struct sw_request get = {.operation = SW_OPERATION_GET, .table = 5};
    ask_frame(get, 0, SW_REPLY_NO_TABLE);
    ask_frame(get, REPLICA, SW_REPLY_NO_TABLE);
    ask_frame(get, REPLICA | LACKS_DATA, SW_REPLY_LOADING);
    get.operation = SW_OPERATION_STATS;
    ask_frame(get, REPLICA | LACKS_DATA, SW_REPLY_LOADING);
}
