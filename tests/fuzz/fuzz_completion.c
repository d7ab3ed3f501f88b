/* SPDX-License-Identifier: MIT
 *
 * fuzz_completion.c - libFuzzer target for the client's side of a ring: requests are submitted, and
 * a server writes whatever it likes into the ring.
 *
 * Held: a request that ended has a status; where that is OK its counts are such as its keys allow;
 * all that did not end is in flight still, or ended with the handle; the caller's arrays, in blocks
 * of just their sizes, are not written by completions. Requests behind a TABLE_CHANGED go by the
 * socket, where no server replies, until the client has read the table's facts again.
 */
#include <stdlib.h>
#include <string.h>

#include "client/handle.h"
#include "client/memory.h"
#include "client/receive.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/require.h"

#define ENTRIES SW_RING_ENTRIES_MIN
#define KEYS 64 /* of a request at most */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The socket: it takes every byte, as a bell needs it. */
static int64_t take_all(struct sw_client_transport *transport, struct iovec *parts, int count,
                        bool more)
{
    int64_t taken = 0;
    (void)transport, (void)more;
    for (int i = 0; i < count; i++) {
        taken += (int64_t)parts[i].iov_len;
    }
    return taken;
}

static const struct sw_client_transport_calls socket_calls = {.write = take_all};

struct world {
    struct fuzz_input input;
    struct sherwood *client;
    struct sw_client_connection *connection;
    uint64_t *memory; /* the region's */
    struct sherwood_request requests[ENTRIES];
    uint32_t flying, submitted, ended;
    uint32_t by_socket; /* of those that fly */
};

/* Submits a request on arrays of the region. */
static void submit(struct world *world, uint8_t what)
{
    struct sherwood_request *request = NULL;
    for (uint32_t i = 0; i < ENTRIES && request == NULL; i++) {
        request = world->requests[i]._state == SW_CLIENT_REQUEST_IDLE ? &world->requests[i] : NULL;
    }
    if (request == NULL || world->client->broken != 0) {
        return;
    }
    *request = (struct sherwood_request)SHERWOOD_REQUEST_INIT;
    request->operation = (enum sherwood_operation)(SHERWOOD_GET + what % SHERWOOD_DELETE);
    request->count = 1 + what % KEYS;
    request->keys = world->memory;
    request->values = world->memory + KEYS;
    request->previous = (what & 64) != 0 ? world->memory + 2 * (size_t)KEYS : NULL;
    request->found = (what & 128) != 0 ? world->memory + 3 * (size_t)KEYS : NULL;
    const uint64_t before = world->client->traffic.ring_requests;
    const bool by_ring = world->client->own.changes == world->client->changes;
    int rc = sherwood_submit(world->client, request);
    require(rc == SHERWOOD_OK || rc == SHERWOOD_E_INVALID || rc == SHERWOOD_E_BUSY);
    if (rc == SHERWOOD_OK) {
        require(world->client->traffic.ring_requests == before + by_ring);
        world->by_socket += !by_ring;
        world->flying++;
        world->submitted++;
    } else {
        request->_state = SW_CLIENT_REQUEST_IDLE;
    }
}

/* The server completes one of those in flight, in fields as it likes: or whatever it likes. */
static void answer(struct world *world, uint8_t what)
{
    const struct sw_client_ring *ring = &world->connection->ring;
    uint32_t *completed = sw_ring_word(ring->memory, SW_RING_COMPLETED);
    struct sw_completion *slot = sw_ring_completion(ring->memory, ENTRIES, *completed);
    uint8_t fields = fuzz_byte(&world->input);
    if ((fields & 1) != 0) {
        fuzz_bytes(&world->input, slot, sizeof(*slot));
    } else {
        memset(slot, 0, sizeof(*slot));
    }
    if ((fields & 2) == 0) {
        const struct sherwood_request *request = &world->requests[(what >> 3) % ENTRIES];
        slot->id = request->_id;
        slot->count = (fields & 4) == 0 ? request->count : slot->count;
    }
    ++*completed;
}

static void collect(struct world *world)
{
    struct sherwood_request *done = NULL;
    (void)sw_client_ring_receive(world->connection);
    while (world->client->done_first != NULL) {
        int rc = sherwood_wait_any_for(world->client, &done, 0);
        require(done != NULL && rc == done->status && rc <= SHERWOOD_OK);
        require(rc != SHERWOOD_OK || (done->hits <= done->count && done->overflows <= done->count));
        world->flying--;
        world->ended++;
    }
    world->by_socket = world->connection->broken == 0 ? world->by_socket : 0;
    require(world->client->in_flight == world->flying);
    require(world->connection->ring.in_flight + world->by_socket == world->flying);
    require(world->connection->broken == 0 || world->flying == 0);
}

static void step(struct world *world)
{
    uint8_t what = fuzz_byte(&world->input);
    uint8_t *ring = world->connection->ring.memory;
    uint32_t word = 0;
    switch (what % 5) {
    case 0:
        submit(world, fuzz_byte(&world->input));
        break;
    case 1:
        answer(world, what);
        break;
    case 2:
        fuzz_bytes(&world->input, &word, sizeof(word));
        *sw_ring_word(ring, (what >> 3) % (SW_RING_CLIENT_SLEEPS + 1)) = word;
        break;
    case 3:
        if (what >= 128) { /* what sherwood_table_renew does with the server's facts */
            world->client->own.changes = world->client->changes;
            world->client->own.ring_id = what;
            break;
        }
        (void)sw_client_ring_sleep(world->connection, (what >> 3) % 2 != 0);
        break;
    default:
        collect(world);
        break;
    }
}

static void *zeros(size_t size)
{
    void *memory = aligned_alloc(SW_REGION_PAGE, size);
    require(memory != NULL);
    memset(memory, 0, size);
    return memory;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* too large to be cleared for each input: what an input may change is set anew */
    static struct sherwood client;
    static struct sw_client_connection connection;
    struct sw_client_transport transport = {.calls = &socket_calls, .fd = -1};
    struct sherwood_region region = {.client = &client, .bytes = SW_REGION_PAGE};
    struct world world = {.input = {data, size}, .client = &client, .connection = &connection};
    world.memory = zeros(SW_REGION_PAGE);
    region.memory = (uint8_t *)world.memory;
    memset(&client, 0, offsetof(struct sherwood, figures));
    client.done_first = client.done_last = NULL;
    client.root = &client;
    client.table = &client.own;
    client.own.server = (struct sherwood_server){
        .key_bytes = 8, .value_bytes = 8, .frame_ops_max = KEYS, .requests_in_flight_max = ENTRIES};
    sw_client_expect_bodies(&client, &client.own.server);
    client.flights_max = ENTRIES;
    client.epoll = -1;
    client.regions = &region;
    client.connections_count = 1;
    client.connections[0] = &connection;
    memset(&connection, 0, offsetof(struct sw_client_connection, buffer));
    connection.client = &client;
    connection.transport = &transport;
    connection.ring =
        (struct sw_client_ring){.memory = zeros(sw_ring_bytes(ENTRIES)), .entries = ENTRIES};
    while (world.input.size > 0) {
        step(&world);
    }
    collect(&world);
    require(world.submitted == world.ended + world.flying);
    for (size_t i = 0; i < SW_REGION_PAGE / sizeof(uint64_t); i++) {
        require(world.memory[i] == 0);
    }
    free(connection.ring.memory);
    free(world.memory);
    return 0;
}
