/* SPDX-License-Identifier: MIT
 *
 * test_cluster_lies.c - handles of a cluster and nodes that restart, err or lie: a scan does not go
 * on with the cursor of a lost connection, and no topology holds a call for ever.
 */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "client/sherwood-cluster.h"
#include "client/sherwood-trace.h"
#include "proto/map.h"
#include "tests/support/fake_server.h"

#define SHARDS 2
#define PAGE_BYTES 8192

static struct {
    struct sw_fake_server server;
    uint64_t epoch;
    bool is_empty;         /* the topology has no shards */
    bool always_newer;     /* another epoch with each page */
    uint32_t page_most;    /* bytes of a page; 0: the requested number */
    bool refuses;          /* keys, once: another node is primary */
    atomic_bool closes;    /* behind the next answer to SCAN */
    int topologies;        /* that were requested */
    atomic_int sampled;    /* frames of GET with a sampled trace context */
    atomic_int increments; /* frames of INCREMENT, which close the connection without an answer */
} node;
static struct sherwood *client;
static char text[512];

/* A topology in which this server is the primary of each shard. Slots alternate between the shards,
 * so that it takes several pages. */
static size_t encode(uint8_t **out)
{
    static struct sw_topology_range ranges[SHARDS][SW_SLOTS / SHARDS];
    static struct sw_topology_shard shards[SHARDS];
    static struct sw_topology_node nodes[SHARDS];
    static struct sw_topology topology;
    topology.epoch = node.epoch;
    strcpy(topology.cluster, "fake");
    topology.shards = shards;
    topology.nodes = nodes;
    topology.shard_count = topology.node_count = node.is_empty ? 0 : SHARDS;
    for (unsigned s = 0; s < SHARDS; s++) {
        memset(nodes[s].id, 'a' + (int)s, SW_TOPOLOGY_ID);
        memset(shards[s].id, 'c' + (int)s, SW_TOPOLOGY_ID);
        strcpy(shards[s].name, "one");
        strcpy(nodes[s].ip, "127.0.0.1");
        nodes[s].port = (uint16_t)atoi(strrchr(node.server.address, ':') + 1);
        nodes[s].shard = (uint16_t)s;
        nodes[s].is_primary = true;
        shards[s].ranges = ranges[s];
        shards[s].range_count = shards[s].slot_count = SW_SLOTS / SHARDS;
        shards[s].primary = (uint16_t)s;
        shards[s].node_count = 1;
        for (unsigned r = 0; r < SW_SLOTS / SHARDS; r++) {
            const uint16_t slot = (uint16_t)(SHARDS * r + s);
            ranges[s][r] = (struct sw_topology_range){slot, slot};
        }
    }
    return sw_map_encode(&topology, out);
}

static void tell_topology(int fd, const struct sw_request *request, struct sw_reply *reply)
{
    uint8_t page[PAGE_BYTES + 64] = {0};
    uint8_t *bytes = NULL;
    node.topologies++;
    node.epoch += node.always_newer;
    const size_t size = encode(&bytes), from = (size_t)request->cursor;
    size_t most = node.page_most != 0 ? node.page_most : request->count;
    most = most < PAGE_BYTES ? most : PAGE_BYTES;
    reply->count = (uint32_t)(size - from < most ? size - from : most);
    reply->cursor = from + reply->count == size ? 0 : from + reply->count;
    reply->map_epoch = node.epoch;
    memcpy(page, bytes + from, reply->count);
    free(bytes);
    sw_fake_reply(fd, reply, page, sw_reply_layout(reply, request->operation).bytes);
}

static bool answer(int fd, const struct sw_request *request)
{
    static uint8_t body[4096];
    struct sw_reply reply = {.request_id = request->request_id};
    switch (request->operation) {
    case SW_OPERATION_HELLO:
        reply.has_info = true;
        reply.info = (struct sw_server_info){.key_bytes = 8,
                                             .value_bytes = 8,
                                             .frame_ops_max = 1024,
                                             .requests_in_flight_max = 4,
                                             .is_cluster = true,
                                             .map_epoch = node.epoch};
        break;
    case SW_OPERATION_TOPOLOGY:
        tell_topology(fd, request, &reply);
        return true;
    case SW_OPERATION_SCAN:
        reply.count = 1;
        reply.key_bytes = reply.value_bytes = 8;
        reply.has_values = true;
        reply.cursor = 77;
        break;
    case SW_OPERATION_GET:
        reply = sw_fake_ok(request);
        node.sampled += request->is_sampled;
        if (node.refuses) {
            node.refuses = false;
            node.is_empty = true;
            reply = (struct sw_reply){.request_id = request->request_id,
                                      .status = SW_REPLY_NOT_PRIMARY,
                                      .map_epoch = ++node.epoch};
        }
        break;
    case SW_OPERATION_INCREMENT:
        atomic_fetch_add(&node.increments, 1);
        return false;
    default:
        break;
    }
    sw_fake_reply(fd, &reply, body, sw_reply_layout(&reply, request->operation).bytes);
    return request->operation != SW_OPERATION_SCAN || !atomic_exchange(&node.closes, false);
}

static void script(int fd, void *unused)
{
    struct sw_request request;
    uint8_t in[16384];
    (void)unused;
    while (sw_fake_read(fd, &request, in, sizeof(in)) && answer(fd, &request)) {
    }
}

static int open_cluster(void)
{
    const char *address = node.server.address;
    return sherwood_connect_cluster_text(&address, 1, NULL, &client, text, sizeof(text));
}

static void setup(void)
{
    node.epoch = 1;
    sw_fake_start_with(&node.server, script, NULL, SW_FAKE_TCP | SW_FAKE_PARALLEL);
}

static void teardown(void)
{
    sherwood_close(client);
    sw_fake_stop(&node.server);
}

TestSuite(cluster_lies, .init = setup, .fini = teardown, .timeout = 120);

Test(cluster_lies, a_scan_ends_with_its_connection)
{
    uint64_t cursor = 0, key = 0, value = 0;
    uint32_t count = 0;
    cr_assert_eq(open_cluster(), SHERWOOD_OK, "%s", text);
    node.closes = true;
    cr_assert_eq(sherwood_scan(client, &cursor, &key, &value, 1, &count), SHERWOOD_OK);
    cr_assert_neq(cursor, 0);
    cr_expect_eq(sherwood_scan(client, &cursor, &key, &value, 1, &count), SHERWOOD_E_CONNECTION);
    cr_assert_eq(sherwood_ping(client), SHERWOOD_OK, "%s", sherwood_error(client));
    for (int i = 0; i < 2; i++) {
        const uint64_t before = cursor;
        int rc = sherwood_scan(client, &cursor, &key, &value, 1, &count);
        cr_expect_eq(rc, SHERWOOD_E_CONNECTION, "%d: %s", rc, sherwood_error(client));
        cr_expect_not_null(strstr(sherwood_error(client), "begin again"));
        cr_expect_eq(cursor, before);
        cr_expect_eq(count, 0);
    }
    cursor = 0;
    cr_expect_eq(sherwood_scan(client, &cursor, &key, &value, 1, &count), SHERWOOD_OK);
    cr_expect_eq(sherwood_scan(client, &cursor, &key, &value, 1, &count), SHERWOOD_OK);
}

/* A cursor belongs to the scan of its handle: another one would skip shards. */
Test(cluster_lies, a_scan_with_a_foreign_cursor)
{
    uint64_t cursor = 77, key = 0, value = 0;
    uint32_t count = 0;
    cr_assert_eq(open_cluster(), SHERWOOD_OK, "%s", text);
    cr_expect_eq(sherwood_scan(client, &cursor, &key, &value, 1, &count), SHERWOOD_E_INVALID);
    cr_expect_not_null(strstr(sherwood_error(client), "begin again with 0"));
    cursor = 0;
    cr_assert_eq(sherwood_scan(client, &cursor, &key, &value, 1, &count), SHERWOOD_OK);
    cursor++;
    cr_expect_eq(sherwood_scan(client, &cursor, &key, &value, 1, &count), SHERWOOD_E_INVALID);
    cr_expect_eq(count, 0);
}

/* The node may have carried out a frame whose answer was lost: the handle sends it no second time.
 */
Test(cluster_lies, a_lost_answer_is_an_error_and_no_second_increment)
{
    uint64_t keys[64], amounts[64], values[64];
    for (uint64_t i = 0; i < 64; i++) {
        keys[i] = i;
        amounts[i] = 1;
    }
    cr_assert_eq(open_cluster(), SHERWOOD_OK, "%s", text);
    cr_expect_eq(sherwood_run(client, SHERWOOD_INCREMENT, keys, amounts, 1, values, NULL),
                 SHERWOOD_E_CONNECTION);
    cr_expect_eq(atomic_load(&node.increments), 1);
    cr_assert_eq(sherwood_ping(client), SHERWOOD_OK, "%s", sherwood_error(client));
    cr_expect_eq(sherwood_run(client, SHERWOOD_INCREMENT, keys, amounts, 64, values, NULL),
                 SHERWOOD_E_CONNECTION);
    cr_expect_leq(atomic_load(&node.increments), 1 + SHARDS, "at most one frame for each shard");
}

/* The handle sends a delayed request when the program waits, and may by then have another context.
 */
Test(cluster_lies, a_delayed_request_has_the_context_of_its_submission)
{
    static const char trace[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    uint64_t key = 1, value;
    struct sherwood_request request = SHERWOOD_REQUEST_INIT;
    request.operation = SHERWOOD_GET;
    request.keys = &key;
    request.previous = &value;
    request.count = 1;
    request.flags = SHERWOOD_DELAY;
    cr_assert_eq(open_cluster(), SHERWOOD_OK, "%s", text);
    for (int with = 0; with < 2; with++) {
        cr_assert_eq(sherwood_traceparent(client, with ? trace : NULL), SHERWOOD_OK);
        cr_assert_eq(sherwood_submit(client, &request), SHERWOOD_OK, "%s", sherwood_error(client));
        cr_assert_eq(sherwood_traceparent(client, with ? NULL : trace), SHERWOOD_OK);
        cr_assert_eq(sherwood_wait(client, &request), SHERWOOD_OK, "%s", sherwood_error(client));
        cr_expect_eq(node.sampled, with);
    }
}

Test(cluster_lies, a_topology_without_shards)
{
    uint64_t keys[3] = {1, 2, 3}, values[3];
    cr_assert_eq(open_cluster(), SHERWOOD_OK, "%s", text);
    node.refuses = true;
    cr_expect_lt(sherwood_get(client, keys, 3, values, NULL), SHERWOOD_OK);
    cr_expect_not_null(strstr(sherwood_error(client), "no shards"), "%s", sherwood_error(client));
    cr_expect_lt(sherwood_cluster_reload(client), SHERWOOD_OK);
    sherwood_close(client);
    client = NULL;
    cr_expect_eq(open_cluster(), SHERWOOD_E_PROTOCOL, "%s", text);
}

Test(cluster_lies, a_topology_that_changes_with_each_page)
{
    node.always_newer = true;
    cr_expect_eq(open_cluster(), SHERWOOD_E_SHARD, "%s", text);
    cr_expect_not_null(strstr(text, "changed 8 times"), "%s", text);
    cr_expect_leq(node.topologies, 16);
}

Test(cluster_lies, a_topology_of_tiny_pages)
{
    node.page_most = 1;
    cr_expect_eq(open_cluster(), SHERWOOD_E_PROTOCOL, "%s", text);
    cr_expect_eq(node.topologies, 1);
}

/* A server that is behind knows an older topology: the handle keeps its own. */
Test(cluster_lies, an_older_topology)
{
    uint64_t key = 1, value = 0;
    node.epoch = 5;
    cr_assert_eq(open_cluster(), SHERWOOD_OK, "%s", text);
    node.epoch = 3;
    cr_expect_eq(sherwood_cluster_reload(client), SHERWOOD_OK, "%s", sherwood_error(client));
    cr_expect_eq(sherwood_cluster_epoch(client), 5);
    node.epoch = 6;
    cr_expect_eq(sherwood_cluster_reload(client), SHERWOOD_OK, "%s", sherwood_error(client));
    cr_expect_eq(sherwood_cluster_epoch(client), 6);
    cr_expect_eq(sherwood_get(client, &key, 1, &value, NULL), SHERWOOD_OK);
}
