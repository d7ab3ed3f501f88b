/* SPDX-License-Identifier: MIT
 *
 * test_transport.c - the client over a transport that is no socket: a server inside the transport,
 * which takes and gives few bytes at a time, or none, or holds some back, or fails.
 *
 * The server's table has 3 * key under every key; what is written must be just that.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "client/handle.h"
#include "tests/support/random.h"

#define BUFFER_BYTES (8U << 20)

struct fake {
    struct sw_client_transport base;
    struct random random;
    size_t at_once;    /* bytes of a call, at most */
    uint8_t *in, *out; /* BUFFER_BYTES each: to the server, from it */
    size_t in_bytes, out_begin, out_end;
    unsigned frames, page_calls, wrong; /* operands that are not 3 * key */
    bool refuses_pages;
    int fails_after, fails_with; /* reads; errno, 0: never, -1: end of stream */
};

/* What the connector made, for the tests to look at. */
struct connected {
    struct sw_client_connector connector;
    struct sw_client_transport_calls calls;
    struct fake settings;
    struct fake *last;
    unsigned opened, closed;
};
static struct connected connected;

static void reply_to(struct fake *fake, const struct sw_request *request, const uint8_t *body)
{
    struct sw_reply reply = {.request_id = request->request_id,
                             .count = request->count,
                             .key_bytes = 8,
                             .value_bytes = 8,
                             .has_values = request->want_values};
    if (request->operation == SW_OPERATION_HELLO) {
        reply.has_info = true;
        reply.info = (struct sw_server_info){
            .key_bytes = 8, .value_bytes = 8, .frame_ops_max = 65536, .requests_in_flight_max = 8};
    }
    struct sw_body_layout layout = sw_reply_layout(&reply, request->operation);
    const uint64_t *keys = (const uint64_t *)(const void *)body;
    const uint64_t *operands =
        (const uint64_t *)(const void *)(body + sw_request_layout(request).second);
    int head = sw_reply_encode(&reply, layout.bytes, fake->out + fake->out_end, 1024);
    uint64_t *values = (uint64_t *)(void *)(fake->out + fake->out_end + head);
    memset(values, 0xff, layout.bytes); /* of the bitmap: all are found */
    for (uint32_t i = 0; layout.bytes > 0 && i < request->count; i++) {
        if (request->want_values) {
            values[i] = 3 * keys[i];
        }
        fake->wrong += request->operation == SW_OPERATION_SET && operands[i] != 3 * keys[i];
    }
    fake->out_end += (size_t)head + layout.bytes;
    fake->frames++;
}

/* Replies to the frames that are whole. */
static void serve(struct fake *fake)
{
    size_t at = 0;
    for (;;) {
        struct sw_frame_prefix prefix;
        struct sw_request request;
        if (sw_frame_prefix_decode(fake->in + at, fake->in_bytes - at, UINT64_MAX, &prefix) <= 0) {
            break;
        }
        size_t head = sw_frame_head_bytes(prefix.header_bytes);
        if (fake->in_bytes - at < head + prefix.body_bytes) {
            break;
        }
        cr_assert_eq(
            sw_request_decode(fake->in + at + SW_FRAME_PREFIX_BYTES, prefix.header_bytes, &request),
            0);
        reply_to(fake, &request, fake->in + at + head);
        at += head + prefix.body_bytes;
    }
    memmove(fake->in, fake->in + at, fake->in_bytes - at);
    fake->in_bytes -= at;
}

/* How many bytes this call may move; 0: none now. */
static size_t allowance(struct fake *fake)
{
    return random_next(&fake->random) % 4 == 0 ? 0 : 1 + random_next(&fake->random) % fake->at_once;
}

static int64_t fake_read(struct sw_client_transport *transport, struct iovec *parts, int count)
{
    struct fake *fake = (struct fake *)transport;
    size_t room = allowance(fake), got = 0;
    if (fake->fails_with != 0 && fake->fails_after-- <= 0) {
        errno = fake->fails_with;
        return fake->fails_with < 0 ? 0 : -1;
    }
    for (int i = 0; i < count && got < room; i++) {
        size_t left = fake->out_end - fake->out_begin;
        size_t size = parts[i].iov_len < room - got ? parts[i].iov_len : room - got;
        size = size < left ? size : left;
        memcpy(parts[i].iov_base, fake->out + fake->out_begin, size);
        fake->out_begin += size;
        got += size;
    }
    if (fake->out_begin == fake->out_end) {
        fake->out_begin = fake->out_end = 0;
    }
    errno = EAGAIN;
    return got > 0 ? (int64_t)got : -1;
}

static int64_t fake_write(struct sw_client_transport *transport, struct iovec *parts, int count,
                          bool more)
{
    struct fake *fake = (struct fake *)transport;
    size_t room = allowance(fake), sent = 0;
    (void)more;
    cr_assert_eq(transport->held, 0, "pages that are held would be overtaken");
    for (int i = 0; i < count && sent < room; i++) {
        size_t size = parts[i].iov_len < room - sent ? parts[i].iov_len : room - sent;
        memcpy(fake->in + fake->in_bytes, parts[i].iov_base, size);
        fake->in_bytes += size;
        sent += size;
    }
    serve(fake);
    errno = EAGAIN;
    return sent > 0 ? (int64_t)sent : -1;
}

static int64_t fake_write_pages(struct sw_client_transport *transport, const void *data,
                                size_t bytes, bool more)
{
    struct fake *fake = (struct fake *)transport;
    size_t room = allowance(fake);
    (void)more;
    fake->page_calls++;
    if (fake->refuses_pages) {
        errno = ENOTSUP;
        return -1;
    }
    if (transport->held == 0) {
        transport->held = (uint32_t)(bytes < 100000 ? bytes : 100000);
    }
    cr_assert_geq(bytes, transport->held, "it goes on where it was");
    size_t sent = room < transport->held ? room : transport->held;
    memcpy(fake->in + fake->in_bytes, data, sent);
    fake->in_bytes += sent;
    transport->held -= (uint32_t)sent;
    serve(fake);
    errno = EAGAIN;
    return sent > 0 ? (int64_t)sent : -1;
}

static void fake_close(struct sw_client_transport *transport)
{
    struct fake *fake = (struct fake *)transport;
    connected.closed++;
    close(transport->fd);
    free(fake->in);
    free(fake->out);
    free(fake);
}

static struct sw_client_transport *fake_open(const struct sw_client_connector *connector,
                                             const char *address,
                                             const struct sherwood_options *options, int timeout_ms,
                                             int *status, char *text, size_t text_bytes)
{
    cr_assert_eq(connector->user, &connected);
    cr_assert_eq(timeout_ms, 1234);
    cr_assert_eq(options->connect_timeout_ms, 1234);
    if (strcmp(address, "nowhere") == 0) {
        snprintf(text, text_bytes, "there is no %s", address);
        *status = SHERWOOD_E_ADDRESS;
        return NULL;
    }
    struct fake *fake = malloc(sizeof(*fake));
    *fake = connected.settings;
    fake->base =
        (struct sw_client_transport){.calls = &connected.calls,
                                     .fd = eventfd(1, 0), /* always readable and writable */
                                     .read_events = POLLIN,
                                     .write_events = POLLOUT};
    fake->in = malloc(BUFFER_BYTES);
    fake->out = malloc(BUFFER_BYTES);
    connected.opened++;
    connected.last = fake;
    return &fake->base;
}

static struct sherwood *connect_to(const char *address, uint32_t stripes, int expected)
{
    const struct sherwood_options options = {
        .size = sizeof(options), .connect_timeout_ms = 1234, .stripes = stripes};
    struct sherwood *client = NULL;
    char text[512];
    int rc =
        sw_client_connect(&connected.connector, address, &options, &client, text, sizeof(text));
    cr_assert_eq(rc, expected, "%d: %s", rc, text);
    cr_assert_eq(client != NULL, rc == SHERWOOD_OK);
    return client;
}

static void setup(void)
{
    connected =
        (struct connected){.connector = {.open = fake_open, .user = &connected},
                           .calls = {.read = fake_read, .write = fake_write, .close = fake_close},
                           .settings = {.at_once = 1000, .random = {20261122}}};
}

TestSuite(transport, .init = setup);

enum { COUNT = 20000 };
static uint64_t keys[COUNT], values[COUNT], found[COUNT / 64 + 1];

static void fill(void)
{
    for (uint64_t i = 0; i < COUNT; i++) {
        keys[i] = i * i;
        values[i] = 3 * keys[i];
    }
}

static void check_values(void)
{
    for (size_t i = 0; i < COUNT; i++) {
        cr_assert_eq(values[i], 3 * keys[i], "key %zu", i);
        cr_assert(sherwood_found(found, i), "key %zu", i);
    }
}

Test(transport, few_bytes_at_a_time)
{
    static const size_t pieces[] = {1, 7, 1000, 100000};
    fill();
    for (size_t p = 0; p < sizeof(pieces) / sizeof(pieces[0]); p++) {
        size_t count = pieces[p] < 100 ? 300 : COUNT;
        connected.settings.at_once = pieces[p];
        struct sherwood *client = connect_to("fake", 1, SHERWOOD_OK);
        cr_assert_eq(sherwood_set(client, keys, values, count), SHERWOOD_OK);
        cr_assert_eq(connected.last->wrong, 0);
        memset(values, 0, sizeof(values));
        cr_assert_eq(sherwood_get(client, keys, count, values, found), SHERWOOD_OK);
        fill();
        sherwood_close(client);
    }
    cr_assert_eq(connected.opened, 4);
    cr_assert_eq(connected.closed, 4);
}

static void set_constant(struct sherwood *client)
{
    struct sherwood_request requests[3];
    for (int r = 0; r < 3; r++) {
        requests[r] = (struct sherwood_request){.size = sizeof(requests[r]),
                                                .operation = SHERWOOD_SET,
                                                .count = COUNT,
                                                .keys = keys,
                                                .values = values,
                                                .flags = r == 1 ? 0 : SHERWOOD_CONSTANT};
        cr_assert_eq(sherwood_submit(client, &requests[r]), SHERWOOD_OK);
    }
    for (int r = 0; r < 3; r++) {
        cr_assert_eq(sherwood_wait(client, &requests[r]), SHERWOOD_OK);
    }
    memset(values, 0, sizeof(values));
    cr_assert_eq(sherwood_get(client, keys, COUNT, values, found), SHERWOOD_OK);
    check_values();
}

/* Without pages, with pages that are held back, and with a transport that refuses them. */
Test(transport, constant_requests)
{
    for (int kind = 0; kind < 3; kind++) {
        fill();
        connected.settings.at_once = 30000;
        connected.settings.refuses_pages = kind == 2;
        connected.calls.write_pages = kind == 0 ? NULL : fake_write_pages;
        struct sherwood *client = connect_to("fake", 1, SHERWOOD_OK);
        set_constant(client);
        cr_assert_eq(connected.last->wrong, 0);
        cr_assert_eq(connected.last->page_calls > 0, kind != 0);
        sherwood_close(client);
    }
}

Test(transport, several_connections_and_a_descriptor)
{
    fill();
    struct sherwood *client = connect_to("fake", 4, SHERWOOD_OK);
    cr_assert_geq(sherwood_descriptor(client), 0);
    set_constant(client);
    sherwood_close(client);
    cr_assert_eq(connected.opened, 4);
    cr_assert_eq(connected.closed, 4);
}

Test(transport, failures)
{
    connect_to("nowhere", 1, SHERWOOD_E_ADDRESS);
    cr_assert_eq(connected.opened, 0);
    connected.settings.fails_with = ECONNRESET;
    connect_to("fake", 2, SHERWOOD_E_CONNECTION);
    cr_assert_eq(connected.closed, connected.opened);
    connected.settings.fails_after = 100; /* after the greeting */
    connected.settings.fails_with = -1;
    struct sherwood *client = connect_to("fake", 1, SHERWOOD_OK);
    fill();
    cr_assert_eq(sherwood_get(client, keys, COUNT, values, found), SHERWOOD_E_CONNECTION);
    cr_assert_not_null(strstr(sherwood_error(client), "the server closed the connection"), "%s",
                       sherwood_error(client));
    sherwood_close(client);
    cr_assert_eq(connected.closed, connected.opened);
}
