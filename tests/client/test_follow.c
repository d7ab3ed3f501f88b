/* SPDX-License-Identifier: MIT
 *
 * test_follow.c - handles of several addresses: which server they connect to, and how they follow a
 * fail-over. No write is sent twice to a server that has carried it out, and no search is endless.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "client/endpoints.h"
#include "client/sherwood-replicas.h"
#include "tests/support/fake_server.h"

#define KEYS 1000
#define OPS_MAX 128
#define MEMBERS 2

/* A member of a shard. The first one is the primary until it has carried out `frames_left` writes.
 */
struct member {
    struct sw_fake_server server;
    const char *names; /* the primary, as a replica knows it */
    bool is_replica;
    bool loads;           /* as a replica it replies LOADING instead */
    int frames_left;      /* negative: it stays as it is */
    uint32_t times[KEYS]; /* how often each key was written */
    int reads;
};
static struct member members[MEMBERS];
static struct sherwood *client;
static uint64_t keys[KEYS], values[KEYS];
static char list[300], text[512];

static struct sw_reply refusal(const struct member *member, const struct sw_request *request)
{
    struct sw_reply reply = {.request_id = request->request_id, .status = SW_REPLY_NOT_PRIMARY};
    snprintf(reply.message, sizeof(reply.message), "%s", member->names);
    return reply;
}

static void answer(struct member *member, int fd, const struct sw_request *request,
                   const uint8_t *body)
{
    static const uint8_t nothing[OPS_MAX * 8 + 128];
    struct sw_reply reply = {.request_id = request->request_id};
    const bool writes = request->operation == SW_OPERATION_SET;
    if (request->operation == SW_OPERATION_HELLO) {
        reply.has_info = true;
        reply.info = (struct sw_server_info){.key_bytes = 8,
                                             .value_bytes = 8,
                                             .frame_ops_max = OPS_MAX,
                                             .requests_in_flight_max = 1,
                                             .incarnation = 7};
    } else if (member->is_replica && (writes || request->operation == SW_OPERATION_WAIT ||
                                      request->operation == SW_OPERATION_CLEAR)) {
        reply = refusal(member, request);
        if (member->loads) {
            reply.status = SW_REPLY_LOADING;
        }
    } else if (sw_operation_is_data(request->operation)) {
        reply = sw_fake_ok(request);
        reply.write_sequence = 5;
        member->reads += !writes;
        for (uint32_t i = 0; writes && i < request->count; i++) {
            uint64_t key;
            memcpy(&key, body + i * sizeof(key), sizeof(key));
            member->times[key]++;
        }
        if (writes && --member->frames_left == 0) {
            member->is_replica = true;
        }
    }
    sw_fake_reply(fd, &reply, nothing, sw_reply_layout(&reply, request->operation).bytes);
}

static void run_member(int fd, struct member *member)
{
    struct sw_request request;
    uint8_t in[2 * OPS_MAX * 8 + 128];
    while (sw_fake_read(fd, &request, in, sizeof(in))) {
        answer(member, fd, &request, in);
    }
}

static void script(int fd, void *user)
{
    run_member(fd, user);
}

static void setup(void)
{
    for (int i = 0; i < MEMBERS; i++) {
        members[i].frames_left = -1;
        sw_fake_start_with(&members[i].server, script, &members[i], SW_FAKE_TCP | SW_FAKE_PARALLEL);
    }
    members[0].names = members[1].server.address;
    members[1].names = members[0].server.address;
    members[1].is_replica = true;
    snprintf(list, sizeof(list), "%s,%s", members[1].server.address, members[0].server.address);
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = i;
    }
}

static void teardown(void)
{
    sherwood_close(client);
    for (int i = 0; i < MEMBERS; i++) {
        sw_fake_stop(&members[i].server);
    }
}

TestSuite(follow, .init = setup, .fini = teardown, .timeout = 120);

static int open_handle(const char *address, uint32_t stripes)
{
    struct sherwood_options options = SHERWOOD_OPTIONS_INIT;
    options.connect_timeout_ms = 1500;
    options.stripes = stripes;
    return sherwood_connect_text(address, &options, &client, text, sizeof(text));
}

Test(follow, one_address_says_where_the_primary_is)
{
    char says[200];
    cr_assert_eq(open_handle(members[1].server.address, 1), SHERWOOD_OK, "%s", text);
    cr_expect_eq(sherwood_set(client, keys, values, KEYS), SHERWOOD_E_SHARD);
    snprintf(says, sizeof(says), "this server is a replica; its primary is %s",
             members[0].server.address);
    cr_expect_not_null(strstr(sherwood_error(client), says), "%s", sherwood_error(client));
    cr_expect_str_eq(sherwood_primary(client), members[0].server.address);
    cr_expect_eq(sherwood_follow(client), SHERWOOD_E_INVALID);
    cr_expect_eq(sherwood_get(client, keys, KEYS, values, NULL), SHERWOOD_OK, "reads go on");
    members[1].names = "";
    cr_expect_eq(sherwood_clear(client), SHERWOOD_E_SHARD);
    cr_expect_not_null(strstr(sherwood_error(client), "does not know its primary"));
    cr_expect_str_eq(sherwood_primary(client), "");
}

Test(follow, several_addresses_lead_to_the_primary)
{
    cr_assert_eq(open_handle(list, 3), SHERWOOD_OK, "%s", text);
    cr_expect_eq(sherwood_stripes(client), 3);
    cr_expect_eq(sherwood_get(client, keys, KEYS, values, NULL), SHERWOOD_OK);
    cr_expect_eq(members[1].reads, 0);
    cr_expect_gt(members[0].reads, 0);
}

/* A former primary that starts again does not know that it is a replica before it has loaded. */
Test(follow, a_server_that_loads_is_no_primary)
{
    members[1].loads = true;
    cr_assert_eq(open_handle(list, 1), SHERWOOD_OK, "%s", text);
    cr_expect_eq(sherwood_set(client, keys, values, KEYS), SHERWOOD_OK, "%s",
                 sherwood_error(client));
    members[0].is_replica = true;
    cr_expect_eq(sherwood_set(client, keys, values, KEYS), SHERWOOD_E_SHARD);
    cr_expect_not_null(strstr(sherwood_error(client), "cannot find a primary among the addresses"),
                       "%s", sherwood_error(client));
    members[0].is_replica = false;
    cr_expect_eq(sherwood_set(client, keys, values, KEYS), SHERWOOD_OK, "%s",
                 sherwood_error(client));
    sherwood_close(client);
    members[0].is_replica = members[0].loads = true;
    cr_assert_eq(open_handle(list, 1), SHERWOOD_OK, "%s", text);
    cr_expect_eq(sherwood_get(client, keys, KEYS, values, NULL), SHERWOOD_OK);
    cr_expect_gt(members[1].reads, 0, "of two that load, the first one");
    sherwood_close(client);
    members[0].loads = false;
    members[0].reads = members[1].reads = 0;
    cr_assert_eq(open_handle(list, 1), SHERWOOD_OK, "%s", text);
    cr_expect_eq(sherwood_get(client, keys, KEYS, values, NULL), SHERWOOD_OK);
    cr_expect_gt(members[0].reads, 0, "rather a replica than one that loads");
}

/* The primary is demoted in the middle of a call of eight frames. */
Test(follow, a_call_goes_on_at_the_next_primary)
{
    cr_assert_eq(open_handle(list, 1), SHERWOOD_OK, "%s", text);
    members[1].is_replica = false;
    members[0].frames_left = 3;
    cr_assert_eq(sherwood_set(client, keys, values, KEYS), SHERWOOD_OK, "%s",
                 sherwood_error(client));
    for (size_t i = 0; i < KEYS; i++) {
        cr_assert_eq(members[0].times[i], i < 3 * OPS_MAX, "key %zu", i);
        cr_assert_eq(members[1].times[i], i >= 3 * OPS_MAX, "key %zu", i);
    }
    cr_expect_eq(sherwood_wait_durable(client, 0), SHERWOOD_E_CONNECTION,
                 "whether another server has the writes is unknown");
    members[0].is_replica = false;
    members[1].is_replica = true;
    cr_expect_eq(sherwood_clear(client), SHERWOOD_OK, "and back: %s", sherwood_error(client));
}

Test(follow, a_submitted_request_is_submitted_again)
{
    struct sherwood_request request = SHERWOOD_REQUEST_INIT;
    request.operation = SHERWOOD_SET;
    request.count = 10;
    request.keys = keys;
    request.values = values;
    cr_assert_eq(open_handle(list, 1), SHERWOOD_OK, "%s", text);
    cr_assert_geq(sherwood_descriptor(client), 0);
    members[1].is_replica = false;
    members[0].is_replica = true;
    cr_assert_eq(sherwood_submit(client, &request), SHERWOOD_OK);
    cr_expect_eq(sherwood_wait(client, &request), SHERWOOD_E_SHARD);
    cr_assert_eq(sherwood_follow(client), SHERWOOD_OK, "%s", sherwood_error(client));
    cr_assert_eq(sherwood_submit(client, &request), SHERWOOD_OK);
    cr_expect_eq(sherwood_wait(client, &request), SHERWOOD_OK);
    cr_expect_eq(members[1].times[0], 1);
}

/* Both name the other one, as long as nobody was elected. */
Test(follow, replicas_that_name_each_other)
{
    members[0].is_replica = true;
    cr_assert_eq(open_handle(list, 1), SHERWOOD_OK, "%s", text);
    cr_expect_eq(sherwood_get(client, keys, KEYS, values, NULL), SHERWOOD_OK, "it reads");
    cr_expect_eq(sherwood_set(client, keys, values, KEYS), SHERWOOD_E_SHARD);
    cr_expect_not_null(strstr(sherwood_error(client), "cannot find a primary among the addresses"),
                       "%s", sherwood_error(client));
    cr_expect_eq(sherwood_get(client, keys, KEYS, values, NULL), SHERWOOD_OK, "it still reads");
    members[0].is_replica = false;
    cr_expect_eq(sherwood_set(client, keys, values, KEYS), SHERWOOD_OK, "%s",
                 sherwood_error(client));
    cr_expect_eq(members[0].times[KEYS - 1], 1);
}

Test(follow, nobody_answers)
{
    cr_expect_lt(open_handle("127.0.0.1:1,unix:/nonexistent/a", 1), SHERWOOD_OK);
    cr_expect_null(client);
    cr_expect_eq(open_handle("127.0.0.1:1,tls://127.0.0.1:2", 1), SHERWOOD_E_INVALID, "%s", text);
    cr_expect_lt(open_handle("127.0.0.1:1,:", 1), SHERWOOD_OK);
}

Test(follow, lists)
{
    static const struct {
        const char *list;
        size_t count;
        const char *last;
    } cases[] = {
        {"a:1", 1, "a:1"},
        {"a:1,b:2,c:3", 3, "c:3"},
        {"unix:/a,b", 1, "unix:/a,b"},
        {"unix:/a,b,c:1", 2, "c:1"},
        {"[::1]:1,unix:/x", 2, "unix:/x"},
        {"a:1,", 1, "a:1,"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *addresses[8];
        char copy[64];
        snprintf(copy, sizeof(copy), "%s", cases[i].list);
        cr_expect_eq(sw_client_is_list(copy), cases[i].count > 1, "%s", cases[i].list);
        cr_expect_eq(sw_client_endpoints_split(copy, addresses, 8), cases[i].count);
        cr_expect_str_eq(addresses[cases[i].count - 1], cases[i].last);
    }
}
