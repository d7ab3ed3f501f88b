/* SPDX-License-Identifier: MIT
 *
 * memory_server.c - transports in memory, and the server behind them.
 */
#include "tests/fuzz/memory_server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "proto/map.h"
#include "tests/fuzz/require.h"

#define PENDING_MAX 512
#define OUT_BYTES (1U << 20)

struct world world;

/* A topology of two shards, as a server encodes it. */
static uint8_t *map;
static size_t map_bytes;

static void make_map(void)
{
    static struct sw_topology_range ranges[] = {{0, 8191}, {8192, SW_SLOTS - 1}};
    static struct sw_topology_shard shards[2];
    static struct sw_topology_node nodes[2];
    struct sw_topology topology = {.cluster = "fuzz",
                                   .epoch = 1,
                                   .shards = shards,
                                   .shard_count = 2,
                                   .nodes = nodes,
                                   .node_count = 2};
    for (uint16_t s = 0; s < 2; s++) {
        memset(shards[s].id, 'a' + s, SW_TOPOLOGY_ID);
        memset(nodes[s].id, 'c' + s, SW_TOPOLOGY_ID);
        memcpy(shards[s].name, "s", 2);
        memcpy(nodes[s].ip, "127.0.0.1", 10);
        shards[s].ranges = &ranges[s];
        shards[s].range_count = shards[s].node_count = 1;
        shards[s].primary = nodes[s].shard = s;
        nodes[s].port = (uint16_t)(s + 1);
        nodes[s].is_primary = true;
    }
    map_bytes = sw_map_encode(&topology, &map);
}

/* A connection: requests without an answer, and bytes that the client has not received yet. */
struct wire {
    struct sw_client_transport base;
    uint8_t *in, *out;
    size_t in_bytes, out_begin, out_end;
    struct sw_request pending[PENDING_MAX];
    size_t pending_count;
    struct wire *next; /* of those that are not in use */
};
static struct wire *idle; /* large blocks are slow under AddressSanitizer */

static struct sw_reply honest(const struct sw_request *request)
{
    struct sw_reply reply = {.request_id = request->request_id,
                             .count = request->count,
                             .key_bytes = request->key_bytes,
                             .value_bytes = sw_request_answer_bytes(request),
                             .has_values = request->want_values,
                             .lacks_found = request->declines_found,
                             .has_scores = request->want_scores,
                             .has_not_admitted = request->want_not_admitted,
                             .has_evicted = request->want_evicted};
    if (request->operation == SW_OPERATION_HELLO) {
        reply.has_info = true;
        reply.info = world.info;
    }
    if (request->operation == SW_OPERATION_STATS) {
        reply.count = 1;
    }
    if (request->operation == SW_OPERATION_TOPOLOGY) {
        const uint64_t left = request->cursor < map_bytes ? map_bytes - request->cursor : 0;
        reply.count = left < request->count ? (uint32_t)left : request->count;
        reply.map_epoch = 1;
    }
    reply.has_digest = request->operation == SW_OPERATION_DIGEST;
    if (sw_operation_writes(request->operation) && request->want_evicted != 0) {
        reply.evicted_count = request->count;
    }
    return reply;
}

uint32_t any_number(struct fuzz_input *input)
{
    uint32_t number = 0;
    fuzz_bytes(input, &number, 1U + fuzz_byte(input) % 4U);
    return number;
}

/* Changes one field of a reply. */
static void lie(struct sw_reply *reply, uint64_t *body_bytes, uint8_t which)
{
    struct fuzz_input *input = &world.input;
    switch (which % 16) {
    case 1:
        reply->status = fuzz_byte(input) % 24;
        break;
    case 2:
        reply->count = any_number(input);
        break;
    case 3:
        reply->evicted_count = any_number(input);
        break;
    case 4:
        reply->hits = any_number(input);
        break;
    case 5:
        reply->overflows = any_number(input);
        break;
    case 6:
        reply->has_evicted = fuzz_byte(input) % 8;
        break;
    case 7:
        reply->has_scores = !reply->has_scores;
        break;
    case 8:
        reply->has_not_admitted = !reply->has_not_admitted;
        break;
    case 9:
        reply->lacks_found = !reply->lacks_found;
        break;
    case 10:
        reply->value_bytes = any_number(input) % 8192;
        break;
    case 11:
        reply->has_values = !reply->has_values;
        break;
    case 12:
        reply->request_id += any_number(input);
        break;
    case 13:
        *body_bytes = any_number(input) % (2 * OUT_BYTES);
        break;
    case 14:
        reply->cursor = any_number(input);
        break;
    case 15:
        reply->not_admitted = any_number(input);
        break;
    default:
        break;
    }
}

/* Answers one of the requests. Returns false if the connection ends instead. */
static bool answer(struct wire *wire)
{
    struct fuzz_input *input = &world.input;
    const uint8_t what = fuzz_byte(input);
    if (wire->pending_count == 0 || what == 255) {
        return false;
    }
    const size_t at = what % wire->pending_count;
    const struct sw_request request = wire->pending[at];
    memmove(wire->pending + at, wire->pending + at + 1,
            (--wire->pending_count - at) * sizeof(wire->pending[0]));
    struct sw_reply reply = honest(&request);
    uint64_t body_bytes = UINT64_MAX; /* as the reply says */
    for (int lies = fuzz_byte(input) % 5; lies > 0; lies--) {
        lie(&reply, &body_bytes, fuzz_byte(input));
    }
    if (body_bytes == UINT64_MAX) {
        const bool has_body = reply.status == SW_REPLY_OK || fuzz_byte(input) % 16 == 15;
        body_bytes = has_body ? sw_reply_layout(&reply, request.operation).bytes : 0;
    }
    const uint64_t sent = body_bytes < OUT_BYTES ? body_bytes : OUT_BYTES;
    const int head = sw_reply_encode(&reply, body_bytes, wire->out, SW_FRAME_HEAD_BYTES_MAX);
    require(head > 0);
    memset(wire->out + head, fuzz_byte(input), sent);
    if (request.operation == SW_OPERATION_STATS && sent >= sizeof(struct sw_figure)) {
        *(struct sw_figure *)(void *)(wire->out + head) = (struct sw_figure){.name = "keys"};
    }
    if (request.operation == SW_OPERATION_TOPOLOGY && request.cursor < map_bytes) {
        uint64_t size = map_bytes - request.cursor;
        size = size < sent ? size : sent;
        memcpy(wire->out + head, map + request.cursor, size);
        for (int changes = fuzz_byte(input) % 4; changes > 0 && size > 0; changes--) {
            wire->out[(size_t)head + any_number(input) % size] = fuzz_byte(input);
        }
    }
    wire->out_begin = 0;
    wire->out_end = (size_t)head + sent;
    return true;
}

static int64_t wire_read(struct sw_client_transport *transport, struct iovec *parts, int count)
{
    struct wire *wire = (struct wire *)transport;
    int64_t got = 0;
    if (wire->out_begin == wire->out_end && !answer(wire)) {
        return 0;
    }
    for (int i = 0; i < count && wire->out_begin < wire->out_end; i++) {
        size_t left = wire->out_end - wire->out_begin;
        size_t size = parts[i].iov_len < left ? parts[i].iov_len : left;
        memcpy(parts[i].iov_base, wire->out + wire->out_begin, size);
        wire->out_begin += size;
        got += (int64_t)size;
    }
    return got;
}

/* Lists the requests that have come as a whole. */
static void take_requests(struct wire *wire)
{
    struct sw_frame_prefix prefix;
    size_t at = 0;
    while (sw_frame_prefix_decode(wire->in + at, wire->in_bytes - at, UINT64_MAX, &prefix) > 0) {
        const size_t head = sw_frame_head_bytes(prefix.header_bytes);
        if (wire->in_bytes - at < head + prefix.body_bytes) {
            break;
        }
        require(wire->pending_count < PENDING_MAX);
        struct sw_request *request = &wire->pending[wire->pending_count++];
        require(sw_request_decode(wire->in + at + SW_FRAME_PREFIX_BYTES, prefix.header_bytes,
                                  request) == 0);
        at += head + prefix.body_bytes;
    }
    memmove(wire->in, wire->in + at, wire->in_bytes - at);
    wire->in_bytes -= at;
}

static int64_t wire_write(struct sw_client_transport *transport, struct iovec *parts, int count,
                          bool more)
{
    struct wire *wire = (struct wire *)transport;
    int64_t sent = 0;
    (void)more;
    for (int i = 0; i < count; i++) {
        require(wire->in_bytes + parts[i].iov_len <= OUT_BYTES);
        memcpy(wire->in + wire->in_bytes, parts[i].iov_base, parts[i].iov_len);
        wire->in_bytes += parts[i].iov_len;
        sent += (int64_t)parts[i].iov_len;
    }
    take_requests(wire);
    return sent;
}

static void wire_close(struct sw_client_transport *transport)
{
    struct wire *wire = (struct wire *)transport;
    close(transport->fd);
    wire->next = idle;
    idle = wire;
}

static const struct sw_client_transport_calls wire_calls = {
    .read = wire_read, .write = wire_write, .close = wire_close};

static struct sw_client_transport *wire_open(const struct sw_client_connector *connector,
                                             const char *address,
                                             const struct sherwood_options *options, int timeout_ms,
                                             int *status, char *text, size_t text_bytes)
{
    struct wire *wire = idle != NULL ? idle : calloc(1, sizeof(*wire));
    (void)connector, (void)address, (void)options, (void)timeout_ms, (void)text, (void)text_bytes;
    require(wire != NULL);
    if (map == NULL) {
        make_map();
    }
    if (wire == idle) {
        idle = wire->next;
    } else {
        wire->in = malloc(OUT_BYTES);
        wire->out = malloc(SW_FRAME_HEAD_BYTES_MAX + OUT_BYTES);
    }
    wire->in_bytes = wire->out_begin = wire->out_end = wire->pending_count = 0;
    wire->base = (struct sw_client_transport){.calls = &wire_calls,
                                              .fd = eventfd(1, EFD_CLOEXEC),
                                              .read_events = POLLIN,
                                              .write_events = POLLOUT};
    require(wire->base.fd >= 0 && wire->in != NULL && wire->out != NULL);
    *status = SHERWOOD_OK;
    return &wire->base;
}

void *block(size_t bytes)
{
    void *memory = malloc(bytes);
    require(memory != NULL);
    memset(memory, 1, bytes);
    return memory;
}

struct sw_server_info any_server(uint8_t what)
{
    struct sw_server_info info = {.key_bytes = (what & 1) != 0 ? 8 : 4,
                                  .value_bytes = (what & 2) != 0 ? 8 : 4,
                                  .frame_ops_max = FRAME_KEYS,
                                  .requests_in_flight_max = 4,
                                  .takes_times = true};
    if ((what & 4) != 0) {
        info.value_format = SW_FRAME_VALUES_FIXED;
        info.value_bytes = (what & 2) != 0 ? 64 : 12;
    }
    if ((what & 8) != 0) {
        memcpy(info.policy, "lru", 4);
    }
    return info;
}

void run_scan(void)
{
    const struct sherwood_server *server = sherwood_server(world.client);
    const uint32_t room = 1 + fuzz_byte(&world.input) % (2 * FRAME_KEYS);
    uint32_t count = 0;
    uint64_t cursor = 0;
    void *keys = block((size_t)room * server->key_bytes);
    void *values = block((size_t)room * server->value_bytes);
    uint64_t *scores = block(room * sizeof(*scores));
    if (world.info.policy[0] != '\0') {
        (void)sherwood_scan_scores(world.client, &cursor, 0, UINT64_MAX, keys, values, scores, room,
                                   &count);
    } else {
        (void)sherwood_scan(world.client, &cursor, keys, values, room, &count);
    }
    require(count <= room);
    free(keys);
    free(values);
    free(scores);
}

const struct sw_client_connector wire_connector = {.open = wire_open};
