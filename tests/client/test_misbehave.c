/* SPDX-License-Identifier: MIT
 *
 * test_misbehave.c - servers that lie, stop, close or say nothing: the client's code, its sentence,
 * and that it gives up instead of believing or hanging.
 */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/sherwood-tables.h"
#include "tests/support/fake_server.h"

#define KEYS 100

struct script {
    void (*answer)(int fd, struct sw_reply *reply);
    bool greets;
};

/* Greets, reads one request, lets the case answer it, closes. */
static void run_script(int fd, void *user)
{
    const struct script *script = user;
    struct sw_request request = {0};
    uint8_t body[4096];
    if (script->greets && !sw_fake_hello(fd, 8, 8, 1024, 4)) {
        return;
    }
    if (sw_fake_read(fd, &request, body, sizeof(body))) {
        struct sw_reply reply = sw_fake_ok(&request);
        script->answer(fd, &reply);
    }
}

/* Gets KEYS keys from such a server; returns the code, and checks that it sticks if it should.
 * timeout_ms: 0 for the usual one. */
static int get_within(int timeout_ms, void (*answer)(int, struct sw_reply *), bool sticks,
                      char *text, size_t text_bytes)
{
    struct script script = {answer, true};
    struct sw_fake_server server;
    struct sherwood *client = NULL;
    struct sherwood_options options = {.size = sizeof(struct sherwood_options),
                                       .request_timeout_ms = timeout_ms};
    uint64_t keys[KEYS] = {0};
    uint64_t values[KEYS];
    uint64_t found[(KEYS + 63) / 64];
    sw_fake_start(&server, run_script, &script);
    int rc = sherwood_connect_text(server.address, &options, &client, text, text_bytes);
    cr_assert_eq(rc, SHERWOOD_OK, "%s", text);
    rc = sherwood_get(client, keys, KEYS, values, found);
    strncpy(text, sherwood_error(client), text_bytes - 1);
    text[text_bytes - 1] = '\0';
    int again = sherwood_run(client, SHERWOOD_GET, keys, NULL, 0, NULL, NULL);
    cr_assert_eq(again, sticks ? rc : SHERWOOD_OK, "a further call returns %d after %d", again, rc);
    sherwood_close(client);
    sw_fake_stop(&server);
    return rc;
}

static int get_from(void (*answer)(int, struct sw_reply *), bool sticks, char *text,
                    size_t text_bytes)
{
    return get_within(0, answer, sticks, text, text_bytes);
}

static size_t body_bytes(const struct sw_reply *reply)
{
    return (size_t)sw_reply_layout(reply, SW_OPERATION_GET).bytes;
}

/* Sends the reply with the body of its layout, and `more` bytes behind it. */
static void reply_with(int fd, const struct sw_reply *reply, int more)
{
    uint8_t body[4096] = {0};
    sw_fake_reply(fd, reply, body, body_bytes(reply) + (size_t)more);
}

static void refuse(struct sw_reply *reply, uint32_t status, const char *message)
{
    *reply = (struct sw_reply){.request_id = reply->request_id, .status = status};
    snprintf(reply->message, sizeof(reply->message), "%s", message);
}

static void good(int fd, struct sw_reply *reply)
{
    reply_with(fd, reply, 0);
}

/* The name of a lie, the change that makes it, and a word of what the client says of it. */
#define LIES(X)                                                                          \
    X(wrong_id, reply->request_id += 7, "that the client did not send")                  \
    X(id_of_an_answered_request, reply->request_id -= 1, "that the client did not send") \
    X(id_zero, reply->request_id = 0, "that the client did not send")                    \
    X(value_width, reply->value_bytes = 4, "width")                                      \
    X(key_width, reply->key_bytes = 4, "width")                                          \
    X(count, reply->count = KEYS + 64, "number of keys")                                 \
    X(no_values, reply->has_values = false, "lacks")                                     \
    X(no_found_bitmap, reply->lacks_found = true, "lacks the found bitmap")              \
    X(hits, reply->hits = KEYS + 1, "hits")                                              \
    X(overflows_of_a_get, reply->overflows = 1, "overflows")                             \
    X(body_too_long, more = 64, "body length")                                           \
    X(body_too_short, more = -64, "body length")                                         \
    X(body_absent, more = -(int)body_bytes(reply), "body length")                        \
    X(unknown_status, refuse(reply, 99, ""), "status")                                   \
    X(refusal_with_a_body, (refuse(reply, SW_REPLY_SERVER_ERROR, ""), more = 64), "body")
#define LIE(name, change, says)                      \
    static void name(int fd, struct sw_reply *reply) \
    {                                                \
        int more = 0;                                \
        change;                                      \
        reply_with(fd, reply, more);                 \
    }
LIES(LIE)
#undef LIE

static void body_huge(int fd, struct sw_reply *reply)
{
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    int size = sw_reply_encode(reply, UINT64_C(1) << 60, head, sizeof(head));
    sw_fake_write(fd, head, (size_t)size);
}
static void bad_magic(int fd, struct sw_reply *reply)
{
    (void)reply;
    sw_fake_write(fd, "-ERR what\r\n", 11);
}
static void bad_header(int fd, struct sw_reply *reply)
{
    uint8_t bytes[64] = {0xD5, 'S', 'W', 1, 48};
    (void)reply;
    memset(bytes + 16, 0xFF, 48);
    sw_fake_write(fd, bytes, sizeof(bytes));
}

Test(misbehave, lies_are_protocol_errors)
{
    static const struct {
        const char *name;
        void (*answer)(int, struct sw_reply *);
        const char *says;
    } lies[] = {
#define ROW(name, change, says) {#name, name, says},
        LIES(ROW)
#undef ROW
            {"body huge", body_huge, "too large"},
        {"bad magic", bad_magic, "magic"},
        {"bad header", bad_header, "header"},
    };
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        char text[512];
        int rc = get_from(lies[i].answer, true, text, sizeof(text));
        cr_expect_eq(rc, SHERWOOD_E_PROTOCOL, "%s: code %d: %s", lies[i].name, rc, text);
        cr_expect(strstr(text, lies[i].says) != NULL, "%s: \"%s\"", lies[i].name, text);
    }
    char text[512];
    cr_expect_eq(get_from(good, false, text, sizeof(text)), SHERWOOD_OK, "the honest one: %s",
                 text);
}

/* The reply to a read of two segments of 64 keys, each with 512 bytes of values and 64 of bits. */
static const struct segments_lie {
    const char *says; /* NULL: it is no lie */
    struct sw_reply reply;
    uint32_t body_bytes;
} segments_lies[] = {
    {NULL, {.count = 128, .has_values = true, .hits = 128}, 1152},
    {NULL, {.count = 128, .has_values = true, .hits = 3}, 1152},
    {"its segments", {.count = 128, .has_values = true}, 1088}, /* one bitmap of 128 keys */
    {"its segments", {.count = 128, .has_values = true}, 1216},
    {"its segments", {.count = 128, .has_values = true}, 0},
    {"number of keys", {.count = 64, .has_values = true}, 576},
    {"lacks those that were", {.count = 128}, 128},
    {"lacks the found bitmap", {.count = 128, .has_values = true, .lacks_found = true}, 1024},
    {"hits", {.count = 128, .has_values = true, .hits = 129}, 1152},
    {"evicted", {.count = 128, .has_values = true, .has_evicted = 1, .evicted_count = 8}, 1216},
};

static void lie_about_segments(int fd, void *user)
{
    const struct segments_lie *lie = user;
    struct sw_request request = {0};
    uint8_t body[4096] = {0};
    struct sw_reply reply = lie->reply;
    struct sw_reply info = {.has_info = true,
                            .info = {.version = "1",
                                     .key_bytes = 8,
                                     .value_bytes = 8,
                                     .frame_ops_max = 1024,
                                     .requests_in_flight_max = 4,
                                     .dimension = 1,
                                     .takes_tables = true,
                                     .segments_max = 64}};
    if (!sw_fake_hello(fd, 8, 8, 1024, 4) || !sw_fake_read(fd, &request, NULL, 0)) {
        return;
    }
    info.request_id = request.request_id;
    sw_fake_reply(fd, &info, NULL, 0);
    if (sw_fake_read(fd, &request, body, sizeof(body))) {
        cr_expect(request.has_segments && request.count == 128);
        memset(body, 0, sizeof(body));
        reply.request_id = request.request_id;
        sw_fake_reply(fd, &reply, body, lie->body_bytes);
    }
}

Test(misbehave, lies_about_segments_are_protocol_errors)
{
    for (size_t i = 0; i < sizeof(segments_lies) / sizeof(segments_lies[0]); i++) {
        struct segments_lie lie = segments_lies[i];
        struct sw_fake_server server;
        struct sherwood *client = NULL;
        char text[512];
        uint64_t keys[64] = {0}, values[2][64], found[2];
        sw_fake_start(&server, lie_about_segments, &lie);
        int rc = sherwood_connect_text(server.address, NULL, &client, text, sizeof(text));
        cr_assert_eq(rc, SHERWOOD_OK, "%s", text);
        const struct sherwood_segment segments[] = {{client, keys, values[0], &found[0], 64},
                                                    {client, keys, values[1], &found[1], 64}};
        rc = sherwood_get_segments(client, segments, 2);
        cr_expect_eq(rc, lie.says == NULL ? SHERWOOD_OK : SHERWOOD_E_PROTOCOL,
                     "lie %zu: code %d: %s", i, rc, sherwood_error(client));
        cr_expect(lie.says == NULL || strstr(sherwood_error(client), lie.says) != NULL,
                  "lie %zu: \"%s\"", i, sherwood_error(client));
        sherwood_close(client);
        sw_fake_stop(&server);
    }
}

static void close_at_once(int fd, struct sw_reply *reply)
{
    (void)fd;
    (void)reply;
}
static void close_in_head(int fd, struct sw_reply *reply)
{
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    sw_reply_encode(reply, body_bytes(reply), head, sizeof(head));
    sw_fake_write(fd, head, 20);
}
static void close_in_body(int fd, struct sw_reply *reply)
{
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    uint8_t body[4096] = {0};
    int size = sw_reply_encode(reply, body_bytes(reply), head, sizeof(head));
    sw_fake_write(fd, head, (size_t)size);
    sw_fake_write(fd, body, body_bytes(reply) - 1);
}
static void end_of_connection(int fd, struct sw_reply *reply)
{
    refuse(reply, SW_REPLY_TIMED_OUT, "half a frame for too long");
    reply->request_id = 0;
    good(fd, reply);
}

Test(misbehave, closing_is_a_connection_error)
{
    char text[512];
    cr_expect_eq(get_from(close_at_once, true, text, sizeof(text)), SHERWOOD_E_CONNECTION);
    cr_expect(strstr(text, "requests without a reply: 1") != NULL, "%s", text);
    cr_expect_eq(get_from(close_in_head, true, text, sizeof(text)), SHERWOOD_E_CONNECTION);
    cr_expect_eq(get_from(close_in_body, true, text, sizeof(text)), SHERWOOD_E_CONNECTION);
    cr_expect_eq(get_from(end_of_connection, true, text, sizeof(text)), SHERWOOD_E_CONNECTION);
    cr_expect(strstr(text, "half a frame for too long") != NULL, "%s", text);
}

static void full(int fd, struct sw_reply *reply)
{
    refuse(reply, SW_REPLY_OUT_OF_MEMORY, "no room\nleft");
    good(fd, reply);
}
static void stopping(int fd, struct sw_reply *reply)
{
    refuse(reply, SW_REPLY_SHUTTING_DOWN, "");
    good(fd, reply);
}
static void bad_request(int fd, struct sw_reply *reply)
{
    refuse(reply, SW_REPLY_BAD_REQUEST, "");
    good(fd, reply);
}

Test(misbehave, refusals_leave_the_connection_usable)
{
    char text[512];
    cr_expect_eq(get_from(full, false, text, sizeof(text)), SHERWOOD_E_FULL);
    cr_expect(strstr(text, "no room.left") != NULL, "control characters are replaced: %s", text);
    cr_expect_eq(get_from(stopping, false, text, sizeof(text)), SHERWOOD_E_SERVER);
    cr_expect_eq(get_from(bad_request, false, text, sizeof(text)), SHERWOOD_E_REQUEST);
}

static void silence(int fd, struct sw_reply *reply)
{
    char byte;
    (void)reply;
    (void)!read(fd, &byte, 1); /* until the client closes */
}

Test(misbehave, silence_times_out)
{
    char text[512];
    cr_expect_eq(get_within(300, silence, true, text, sizeof(text)), SHERWOOD_E_TIMEOUT);
    cr_expect(strstr(text, "300 ms") != NULL, "%s", text);
}

/* One byte each 250 ms: slower than the timeout of 2 s as a whole, but it moves. */
static void trickle(int fd, struct sw_reply *reply)
{
    uint8_t frame[4096 + SW_FRAME_HEAD_BYTES_MAX] = {0};
    size_t size = (size_t)sw_reply_encode(reply, body_bytes(reply), frame, sizeof(frame));
    size += body_bytes(reply);
    for (size_t i = 0; i < 9; i++) {
        sw_fake_write(fd, frame + i, 1);
        usleep(250 * 1000);
    }
    sw_fake_write(fd, frame + 9, size - 9);
}

Test(misbehave, slow_progress_is_progress)
{
    char text[512];
    cr_expect_eq(get_within(2000, trickle, false, text, sizeof(text)), SHERWOOD_OK, "%s", text);
}

/* Greets, then never reads again, until the client closes. */
static void never_reads(int fd, void *user)
{
    struct pollfd closed = {.fd = fd, .events = POLLRDHUP};
    (void)user;
    if (sw_fake_hello(fd, 8, 8, 1U << 20, 4)) {
        poll(&closed, 1, -1);
    }
}

Test(misbehave, a_server_that_never_reads_times_out)
{
    struct sw_fake_server server;
    struct sherwood *client = NULL;
    struct sherwood_options options = {.size = sizeof(struct sherwood_options),
                                       .request_timeout_ms = 200};
    size_t count = 1U << 20;
    uint64_t *keys = calloc(count, sizeof(*keys));
    sw_fake_start(&server, never_reads, NULL);
    cr_assert_eq(sherwood_connect(server.address, &options, &client), SHERWOOD_OK);
    cr_expect_eq(sherwood_set(client, keys, keys, count), SHERWOOD_E_TIMEOUT);
    cr_expect_eq(sherwood_ping(client), SHERWOOD_E_TIMEOUT, "the connection is over");
    sherwood_close(client);
    sw_fake_stop(&server);
    free(keys);
}

/* Answers a request before it has arrived whole. */
static void answers_early(int fd, void *user)
{
    const bool *refuses = user;
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    struct sw_request request = {0};
    struct sw_frame_prefix prefix;
    if (!sw_fake_hello(fd, 8, 8, 1U << 20, 4) || read(fd, head, 64) != 64 ||
        sw_frame_prefix_decode(head, 64, UINT64_MAX, &prefix) <= 0 ||
        sw_request_decode(head + SW_FRAME_PREFIX_BYTES, prefix.header_bytes, &request) != 0) {
        return;
    }
    struct sw_reply reply = sw_fake_ok(&request);
    if (*refuses) {
        reply = (struct sw_reply){.request_id = request.request_id,
                                  .status = SW_REPLY_BAD_REQUEST,
                                  .message = "I do not like it"};
    }
    sw_fake_reply(fd, &reply, NULL, 0);
    usleep(100 * 1000);
}

Test(misbehave, an_answer_before_the_end_of_the_request_ends_the_connection)
{
    for (int refuses = 0; refuses < 2; refuses++) {
        bool flag = refuses == 1;
        struct sw_fake_server server;
        struct sherwood *client = NULL;
        size_t count = 1U << 20;
        uint64_t *keys = calloc(count, sizeof(*keys));
        sw_fake_start(&server, answers_early, &flag);
        cr_assert_eq(sherwood_connect(server.address, NULL, &client), SHERWOOD_OK);
        int rc = sherwood_set(client, keys, keys, count);
        cr_expect_eq(rc, flag ? SHERWOOD_E_CONNECTION : SHERWOOD_E_PROTOCOL, "%d", rc);
        const char *says = flag ? "I do not like it" : "before the request";
        cr_expect(strstr(sherwood_error(client), says) != NULL, "%s", sherwood_error(client));
        sherwood_close(client);
        sw_fake_stop(&server);
        free(keys);
    }
}
