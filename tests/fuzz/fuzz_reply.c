/* SPDX-License-Identifier: MIT
 *
 * fuzz_reply.c - libFuzzer target for the client's side of a connection: calls of several frames on
 * one to three connections, of every operation, answered by a server that errs or lies.
 *
 * The fuzzer's bytes choose the calls, the order of the replies, and the lies in them. Behind the
 * end of these bytes the server is honest, so that each call ends. Each array of the caller is a
 * block of just its size: AddressSanitizer finds a byte behind it.
 *
 * Held: each call ends; where its status is OK its counts are such as its keys allow.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "client/handle.h"
#include "tests/fuzz/input.h"

#define KEYS_MAX 300 /* of a call: five frames */
#define FRAME_KEYS 64
#define PENDING_MAX 512
#define OUT_BYTES (1U << 20)
#define CALLS_MAX 12

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Kept in release builds, unlike assert. */
static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

struct world {
    struct fuzz_input input;
    struct sw_server_info info;
    struct sherwood *client;
};
static struct world world;

/* A connection: requests without an answer, and bytes that the client has not received yet. */
struct wire {
    struct sw_client_transport base;
    uint8_t *in, *out;
    size_t in_bytes, out_begin, out_end;
    struct sw_request pending[PENDING_MAX];
    size_t pending_count;
};

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
    reply.has_digest = request->operation == SW_OPERATION_DIGEST;
    if (sw_operation_writes(request->operation) && request->want_evicted != 0) {
        reply.evicted_count = request->count;
    }
    return reply;
}

static uint32_t any_number(struct fuzz_input *input)
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
    free(wire->in);
    free(wire->out);
    free(wire);
}

static const struct sw_client_transport_calls wire_calls = {
    .read = wire_read, .write = wire_write, .close = wire_close};

static struct sw_client_transport *wire_open(const struct sw_client_dialer *dialer,
                                             const char *address,
                                             const struct sherwood_options *options, int timeout_ms,
                                             int *status, char *text, size_t text_bytes)
{
    struct wire *wire = calloc(1, sizeof(*wire));
    (void)dialer, (void)address, (void)options, (void)timeout_ms, (void)text, (void)text_bytes;
    require(wire != NULL);
    wire->base = (struct sw_client_transport){.calls = &wire_calls,
                                              .fd = eventfd(1, EFD_CLOEXEC),
                                              .read_events = POLLIN,
                                              .write_events = POLLOUT};
    wire->in = malloc(OUT_BYTES);
    wire->out = malloc(SW_FRAME_HEAD_BYTES_MAX + OUT_BYTES);
    require(wire->base.fd >= 0 && wire->in != NULL && wire->out != NULL);
    *status = SHERWOOD_OK;
    return &wire->base;
}

/* --- calls ------------------------------------------------------------------------------------ */

static void *block(size_t bytes)
{
    void *memory = malloc(bytes);
    require(memory != NULL);
    memset(memory, 1, bytes);
    return memory;
}

/* The arrays of a call. */
struct arrays {
    void *keys, *values, *previous;
    uint64_t *found, *times;
    struct sherwood_cache cache;
};

static struct arrays take_arrays(enum sherwood_operation operation, size_t count, uint8_t wants)
{
    const struct sherwood_server *server = sherwood_server(world.client);
    const struct sw_request one = {.operation = (uint32_t)operation,
                                   .key_bytes = server->key_bytes,
                                   .value_bytes = server->value_bytes};
    const size_t value = server->value_bytes, words = sherwood_found_words(count) * 8;
    struct arrays arrays = {.cache = SHERWOOD_CACHE_INIT};
    arrays.keys = block(count * server->key_bytes);
    arrays.values = block(count * sw_request_operand_bytes(&one) + 1);
    arrays.previous = (wants & 1) != 0 ? block(count * sw_request_answer_bytes(&one)) : NULL;
    arrays.found = (wants & 2) != 0 ? block(words) : NULL;
    arrays.times = (wants & 4) != 0 ? block(count * 8) : NULL;
    arrays.cache.scores_out = (wants & 8) != 0 ? block(count * 8) : NULL;
    arrays.cache.not_admitted = (wants & 16) != 0 ? block(words) : NULL;
    arrays.cache.evicted_keys = (wants & 32) != 0 ? block(count * server->key_bytes) : NULL;
    arrays.cache.evicted_values = (wants & 96) == 96 ? block(count * value) : NULL;
    arrays.cache.evicted_scores = (wants & 160) == 160 ? block(count * 8) : NULL;
    return arrays;
}

static void free_arrays(struct arrays *arrays)
{
    free(arrays->keys);
    free(arrays->values);
    free(arrays->previous);
    free(arrays->found);
    free(arrays->times);
    free(arrays->cache.scores_out);
    free(arrays->cache.not_admitted);
    free(arrays->cache.evicted_keys);
    free(arrays->cache.evicted_values);
    free(arrays->cache.evicted_scores);
}

/* An operation that takes no more than arrays. */
static enum sherwood_operation any_operation(uint8_t what)
{
    static const enum sherwood_operation operations[] = {
        SHERWOOD_GET,           SHERWOOD_SET,       SHERWOOD_DELETE,
        SHERWOOD_SUM,           SHERWOOD_INCREMENT, SHERWOOD_SET_ABSENT,
        SHERWOOD_PEEK,          SHERWOOD_TTL,       SHERWOOD_OR,
        SHERWOOD_CAS,           SHERWOOD_PERSIST,   SHERWOOD_EXPIRE,
        SHERWOOD_FIND_OR_INSERT};
    return operations[what % (sizeof(operations) / sizeof(operations[0]))];
}

static void run_call(void)
{
    const enum sherwood_operation operation = any_operation(fuzz_byte(&world.input));
    const size_t count = 1 + any_number(&world.input) % KEYS_MAX;
    const uint8_t wants = fuzz_byte(&world.input);
    const bool is_cache = world.info.policy[0] != '\0' && (wants & 248) != 0;
    struct arrays arrays = take_arrays(operation, count, wants);
    struct sherwood_times times = SHERWOOD_TIMES_INIT;
    times.when = arrays.times != NULL ? SHERWOOD_AT : SHERWOOD_UNSAID;
    times.times_ms = arrays.times;
    int rc = is_cache ? sherwood_run_cache(world.client, operation, arrays.keys, arrays.values,
                                           count, arrays.previous, arrays.found, &arrays.cache)
                      : sherwood_run_times(world.client, operation, arrays.keys, arrays.values,
                                           count, arrays.previous, arrays.found, &times);
    require(rc <= SHERWOOD_OK);
    require(arrays.cache.evicted_count <= count && arrays.cache.not_admitted_count <= count);
    free_arrays(&arrays);
}

/* Requests that are in flight together, one of them of pieces. */
static void run_submitted(void)
{
    struct sherwood_request requests[4];
    struct sherwood_piece pieces[4][2];
    struct arrays arrays[4][2];
    const uint8_t wants = fuzz_byte(&world.input);
    const bool is_cache = world.info.policy[0] != '\0' && (wants & 248) != 0;
    bool flies[4] = {false};
    for (int i = 0; i < 4; i++) {
        const enum sherwood_operation operation = any_operation(fuzz_byte(&world.input));
        const uint32_t count = 1 + fuzz_byte(&world.input) % (FRAME_KEYS / 2);
        arrays[i][0] = take_arrays(operation, 2 * (size_t)count, wants);
        arrays[i][1] = take_arrays(operation, 2 * (size_t)count, wants);
        for (int p = 0; p < 2; p++) {
            struct arrays *of = &arrays[i][p];
            pieces[i][p] = (struct sherwood_piece){of->keys, of->values, of->previous, count};
        }
        requests[i] = (struct sherwood_request)SHERWOOD_REQUEST_INIT;
        requests[i].operation = operation;
        requests[i].count = 2 * count;
        requests[i].pieces = pieces[i];
        requests[i].pieces_count = 2;
        requests[i].found = arrays[i][0].found;
        requests[i].scale = 1;
        requests[i].operand_type = world.client->server.value_type;
        requests[i].cache = is_cache ? &arrays[i][0].cache : NULL;
        flies[i] = sherwood_submit(world.client, &requests[i]) == SHERWOOD_OK;
    }
    for (int i = 0; i < 4; i++) {
        int rc = flies[i] ? sherwood_wait(world.client, &requests[i]) : SHERWOOD_OK;
        require(rc <= SHERWOOD_OK && (!flies[i] || requests[i].hits <= requests[i].count));
        require(arrays[i][0].cache.evicted_count <= requests[i].count);
        free_arrays(&arrays[i][0]);
        free_arrays(&arrays[i][1]);
    }
}

static void run_scan(void)
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

static void run_control(uint8_t which)
{
    struct sherwood_stats stats;
    uint64_t number = 0;
    switch (which % 4) {
    case 0:
        (void)sherwood_stats(world.client, &stats, sizeof(stats));
        require(world.client->figures_count <= SW_FIGURES_MAX);
        break;
    case 1:
        (void)sherwood_ping(world.client);
        break;
    case 2:
        (void)sherwood_resize(world.client, 1000, &number);
        break;
    default:
        (void)sherwood_epoch(world.client, 1, &number);
        break;
    }
}

static struct sw_server_info any_server(uint8_t what)
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sw_client_dialer dialer = {.open = wire_open};
    struct sherwood_options options = SHERWOOD_OPTIONS_INIT;
    world = (struct world){.info = any_server(size > 0 ? data[0] : 0)};
    options.stripes = 1 + (size > 1 ? data[1] : 0U) % 3;
    options.request_timeout_ms = 1000;
    int rc = sw_client_connect(&dialer, "fuzz", &options, &world.client, NULL, 0);
    require(rc == SHERWOOD_OK);
    world.input = (struct fuzz_input){data + 2, size > 2 ? size - 2 : 0};
    for (int calls = 0; calls < CALLS_MAX && world.input.size > 0; calls++) {
        const uint8_t what = fuzz_byte(&world.input);
        switch (what % 4) {
        case 0:
            run_scan();
            break;
        case 1:
            run_control(what / 4);
            break;
        case 2:
            run_submitted();
            break;
        default:
            run_call();
            break;
        }
    }
    sherwood_close(world.client);
    return 0;
}
