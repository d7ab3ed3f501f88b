/* SPDX-License-Identifier: MIT
 *
 * test_connect.c - addresses, greetings, and the sentences of those that fail.
 */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/sherwood.h"
#include "tests/support/fake_server.h"

/* Only silence takes this time. */
#define SILENCE_MS 300

static void expect_failure(const char *address, int code, const char *says)
{
    struct sherwood *client = (struct sherwood *)1;
    const struct sherwood_options quick = {.size = sizeof(struct sherwood_options),
                                           .connect_timeout_ms = SILENCE_MS};
    char text[512];
    int rc = sherwood_connect_text(address, code == SHERWOOD_E_TIMEOUT ? &quick : NULL, &client,
                                   text, sizeof(text));
    cr_expect_eq(rc, code, "%s: code %d, not %d: %s", address, rc, code, text);
    cr_expect_null(client, "%s", address);
    cr_expect(strstr(text, says) != NULL, "%s: \"%s\" does not say \"%s\"", address, text, says);
}

Test(connect, addresses_that_are_none)
{
    static const char *const bad[] = {
        "",        "127.0.0.1", "127.0.0.1:", ":7379",   "::1:7379",   "[::1]",   "[::1:7379",
        "[]:7379", "a:",        "unix:",      "1:2:3:4", "host:99999", "h:http-x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        expect_failure(bad[i], SHERWOOD_E_ADDRESS, "");
    }
    char path[200];
    memset(path, 'a', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    memcpy(path, "unix:", 5);
    expect_failure(path, SHERWOOD_E_ADDRESS, "the path of a socket must have 1 to");
    expect_failure("no address", SHERWOOD_E_ADDRESS, "host:port");
    expect_failure("redis://x", SHERWOOD_E_ADDRESS,
                   "\"redis://x\" is not an address: write host:port, [v6 address]:port or "
                   "unix:/path; for TLS tls://host:port");
    expect_failure("127.0.0.1:7379,replica", SHERWOOD_E_ADDRESS, "\"replica\" is not an address");
    expect_failure("127.0.0.1:7379,9", SHERWOOD_E_ADDRESS, "\"9\" is not an address");
    expect_failure("127.0.0.1:7379,", SHERWOOD_E_ADDRESS, "\"\" is not an address");
    static const char *const ports[] = {"0",     "65536", "73915", "4294974675", "-1",
                                        "+7379", "7379x", "0x10",  " 7379"};
    for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
        char address[64];
        snprintf(address, sizeof(address), "127.0.0.1:%s", ports[i]);
        expect_failure(address, SHERWOOD_E_ADDRESS, "a port is a number from 1 to 65535");
    }
}

Test(connect, arguments)
{
    struct sherwood *client = NULL;
    cr_expect_eq(sherwood_connect(NULL, NULL, &client), SHERWOOD_E_INVALID);
    cr_expect_eq(sherwood_connect("127.0.0.1:1", NULL, NULL), SHERWOOD_E_INVALID);
    cr_expect_eq(sherwood_ping(NULL), SHERWOOD_E_INVALID);
    cr_expect_eq(sherwood_get(NULL, NULL, 1, NULL, NULL), SHERWOOD_E_INVALID);
    cr_expect_eq(sherwood_clear(NULL), SHERWOOD_E_INVALID);
    cr_expect_eq(sherwood_stats(NULL, NULL, 0), SHERWOOD_E_INVALID);
    cr_expect_eq(sherwood_submit(NULL, NULL), SHERWOOD_E_INVALID);
    cr_expect_eq(sherwood_wait(NULL, NULL), SHERWOOD_E_INVALID);
    cr_expect_eq(sherwood_wait_any(NULL, NULL), SHERWOOD_E_INVALID);
    cr_expect_str_empty(sherwood_error(NULL));
    cr_expect_null(sherwood_server(NULL));
    sherwood_close(NULL);
}

Test(connect, every_code_has_a_text)
{
    for (int code = SHERWOOD_E_PENDING; code <= SHERWOOD_OK; code++) {
        cr_expect_str_neq(sherwood_status_text(code), "unknown status", "%d", code);
    }
    cr_expect_str_eq(sherwood_status_text(-1000), "unknown status");
}

Test(connect, nobody_listens)
{
    /* Bound, not listening: connecting is refused, and no other process takes the port meanwhile.
     */
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(name);
    char address[64];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&name, &size), 0);
    snprintf(address, sizeof(address), "127.0.0.1:%u", ntohs(name.sin_port));
    expect_failure(address, SHERWOOD_E_CONNECTION, "start sherwoodd there");
    expect_failure("unix:/nonexistent/socket", SHERWOOD_E_CONNECTION, "start sherwoodd there");
    close(fd);
}

struct greeting {
    struct sw_reply reply;
    const char *raw; /* instead of the reply */
    bool silent;
};

static void greet(int fd, void *user)
{
    struct greeting *greeting = user;
    struct sw_request request;
    if (!sw_fake_read(fd, &request, NULL, 0)) {
        return;
    }
    if (greeting->silent) {
        char byte;
        (void)!read(fd, &byte, 1);
    } else if (greeting->raw != NULL) {
        sw_fake_write(fd, greeting->raw, strlen(greeting->raw));
    } else {
        if (greeting->reply.request_id != 0) {
            greeting->reply.request_id = request.request_id;
        }
        sw_fake_reply(fd, &greeting->reply, NULL, 0);
    }
}

static void expect_greeting(struct greeting greeting, int code, const char *says)
{
    struct sw_fake_server server;
    sw_fake_start(&server, greet, &greeting);
    expect_failure(server.address, code, says);
    sw_fake_stop(&server);
}

static struct greeting with_info(uint32_t key_bytes, uint32_t value_bytes, uint32_t ops_max,
                                 uint32_t in_flight)
{
    struct greeting greeting = {.reply = {.request_id = 1, .has_info = true}};
    greeting.reply.info = (struct sw_server_info){.key_bytes = key_bytes,
                                                  .value_bytes = value_bytes,
                                                  .frame_ops_max = ops_max,
                                                  .requests_in_flight_max = in_flight};
    return greeting;
}

Test(connect, greetings_this_client_cannot_use)
{
    expect_greeting(with_info(8, 16, 1024, 4), SHERWOOD_E_PROTOCOL, "width");
    expect_greeting(with_info(0, 8, 1024, 4), SHERWOOD_E_PROTOCOL, "width");
    expect_greeting(with_info(8, 8, 63, 4), SHERWOOD_E_PROTOCOL, "frame limit");
    expect_greeting(with_info(8, 8, SW_FRAME_OPS_MAX + 1, 4), SHERWOOD_E_PROTOCOL, "frame limit");
    expect_greeting(with_info(8, 8, 64, 0), SHERWOOD_E_PROTOCOL, "in flight");
    expect_greeting((struct greeting){.reply = {.request_id = 1}}, SHERWOOD_E_PROTOCOL,
                    "does not describe the server");
    expect_greeting((struct greeting){.raw = "-ERR unknown command\r\n"}, SHERWOOD_E_PROTOCOL,
                    "-ERR unknown command");
    expect_greeting((struct greeting){.raw = "HTTP/1.1 400 Bad Request\r\n"}, SHERWOOD_E_PROTOCOL,
                    "check the port");
    expect_greeting((struct greeting){.raw = ""}, SHERWOOD_E_CONNECTION, "greeting");
    expect_greeting((struct greeting){.silent = true}, SHERWOOD_E_TIMEOUT, "there was no reply");
}

static struct greeting with_values(enum sw_frame_values format, uint32_t value_bytes)
{
    struct greeting greeting = with_info(8, value_bytes, 1024, 4);
    greeting.reply.info.value_format = format;
    memcpy(greeting.reply.info.engine, "cache", 6);
    return greeting;
}

Test(connect, values_of_bytes)
{
    static const uint32_t good[] = {4, 8, 68, 256, 4096}, bad[] = {0, 2, 66, 1023, 4100, 1U << 31};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        for (uint32_t format = SW_FRAME_VALUES_STRING; format <= SW_FRAME_VALUES_FIXED; format++) {
            struct greeting greeting = with_values((enum sw_frame_values)format, good[i]);
            struct sw_fake_server server;
            struct sherwood *client = NULL;
            sw_fake_start(&server, greet, &greeting);
            cr_assert_eq(sherwood_connect(server.address, NULL, &client), SHERWOOD_OK);
            cr_assert_eq(sherwood_server(client)->value_bytes, good[i]);
            cr_assert_eq((uint32_t)sherwood_server(client)->value_format, format);
            cr_assert_str_eq(sherwood_server(client)->engine, "cache");
            sherwood_close(client);
            sw_fake_stop(&server);
        }
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        expect_greeting(with_values(SW_FRAME_VALUES_STRING, bad[i]), SHERWOOD_E_PROTOCOL, "width");
    }
    expect_greeting(with_values(SW_FRAME_VALUES_INTEGER, 68), SHERWOOD_E_PROTOCOL, "width");
    expect_greeting(with_values((enum sw_frame_values)3, 8), SHERWOOD_E_PROTOCOL, "have a format");
}

/* Answers GETs of whole frames, every byte of every value being the key's number. */
static void answer_wide(int fd, void *user)
{
    const uint32_t *value_bytes = user;
    static uint8_t keys[64 * 8], body[64 * 4096 + 64];
    struct sw_request request;
    if (!sw_fake_read(fd, &request, NULL, 0)) {
        return;
    }
    struct greeting greeting = with_values(SW_FRAME_VALUES_FIXED, *value_bytes);
    greeting.reply.info.frame_ops_max = 64;
    greeting.reply.request_id = request.request_id;
    sw_fake_reply(fd, &greeting.reply, NULL, 0);
    while (sw_fake_read(fd, &request, keys, sizeof(keys))) {
        struct sw_reply reply = sw_fake_ok(&request);
        struct sw_body_layout layout = sw_reply_layout(&reply, SW_OPERATION_GET);
        memset(body, 0, sizeof(body));
        for (uint32_t i = 0; i < request.count; i++) {
            memset(body + (size_t)i * *value_bytes, (int)i, *value_bytes);
        }
        memset(body + layout.second, 0xFF, sw_found_bytes(request.count));
        sw_fake_reply(fd, &reply, body, layout.bytes);
    }
}

/* A full frame of values wider than integers is an answer like any other. */
Test(connect, a_whole_frame_of_wide_values)
{
    static uint64_t keys[64], found[1];
    static uint8_t values[64 * 4096];
    for (uint32_t bytes = 4; bytes <= 4096; bytes *= 4) {
        struct sw_fake_server server;
        struct sherwood *client = NULL;
        sw_fake_start(&server, answer_wide, &bytes);
        cr_assert_eq(sherwood_connect(server.address, NULL, &client), SHERWOOD_OK);
        memset(values, 0xAA, sizeof(values));
        int rc = sherwood_get(client, keys, 64, values, found);
        cr_assert_eq(rc, SHERWOOD_OK, "%u bytes: %s", bytes, sherwood_error(client));
        cr_assert_eq(found[0], UINT64_MAX);
        for (uint32_t i = 0; i < 64 * bytes; i++) {
            cr_assert_eq(values[i], i / bytes, "byte %u of values of %u", i, bytes);
        }
        sherwood_close(client);
        sw_fake_stop(&server);
    }
}

Test(connect, a_server_with_too_many_connections)
{
    struct greeting greeting = {
        .reply = {.status = SW_REPLY_TOO_MANY_CONNECTIONS, .message = "100 connections are open"}};
    expect_greeting(greeting, SHERWOOD_E_CONNECTION, "100 connections are open");
    greeting.reply.request_id = 1;
    expect_greeting(greeting, SHERWOOD_E_CONNECTION, "has reached its limit of connections");
}

/* Says so before it has read anything, and closes: the refusal must win over the broken pipe. */
static void refuse_at_once(int fd, void *user)
{
    struct sw_reply reply = {.status = SW_REPLY_TOO_MANY_CONNECTIONS, .message = "full house"};
    (void)user;
    sw_fake_reply(fd, &reply, NULL, 0);
}

Test(connect, a_refusal_before_the_greeting)
{
    struct sw_fake_server server;
    sw_fake_start(&server, refuse_at_once, NULL);
    for (int i = 0; i < 20; i++) {
        expect_failure(server.address, SHERWOOD_E_CONNECTION, "full house");
    }
    sw_fake_stop(&server);
}

/* The same by a server that does not know yet which protocol the client speaks; a byte at a time.
 */
static void refuse_in_resp(int fd, void *user)
{
    const char *line = "-ERR max number of clients reached\r\n";
    bool in_pieces = *(const bool *)user;
    for (size_t size = in_pieces ? 1 : strlen(line); *line != '\0'; line += size) {
        sw_fake_write(fd, line, size);
        usleep(in_pieces ? 500 : 0);
    }
}

Test(connect, a_refusal_in_the_other_protocol)
{
    for (int i = 0; i < 2; i++) {
        bool in_pieces = i == 1;
        struct sw_fake_server server;
        sw_fake_start(&server, refuse_in_resp, &in_pieces);
        expect_failure(server.address, SHERWOOD_E_CONNECTION,
                       "has reached its limit of connections (max number of clients reached)");
        sw_fake_stop(&server);
    }
}

Test(connect, facts_of_the_server)
{
    struct sw_fake_table table;
    struct sw_fake_server server;
    struct sherwood *client = NULL;
    sw_fake_table_init(&table, 4, 8, 64);
    table.in_flight_max = 100000;
    sw_fake_start(&server, sw_fake_table_script, &table);
    cr_assert_eq(sherwood_connect(server.address, NULL, &client), SHERWOOD_OK);
    const struct sherwood_server *facts = sherwood_server(client);
    cr_expect_str_eq(facts->version, "fake");
    cr_expect_str_eq(facts->backend, "cpu");
    cr_expect_str_eq(facts->backend_reason, "a test");
    cr_expect_eq(facts->key_bytes, 4);
    cr_expect_eq(facts->value_bytes, 8);
    cr_expect_eq(facts->frame_ops_max, 65536);
    cr_expect_eq(facts->requests_in_flight_max, 256, "the client's own limit");
    cr_expect_eq(facts->capacity_slots, 1000);
    cr_expect_eq(facts->occupied_max, 850);
    cr_expect_eq(sherwood_ping(client), SHERWOOD_OK);
    sherwood_close(client);
    sw_fake_stop(&server);
    sw_fake_table_fini(&table);
}

/* Greets, and keeps the length of the password that came. */
static void greet_user(int fd, void *user)
{
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    struct sw_frame_prefix prefix;
    struct sw_frame_login login = {0};
    struct sw_request request = {0};
    uint32_t *password_bytes = user;
    size_t size = 0;
    for (ssize_t got = 1; got > 0 && (size < SW_FRAME_PREFIX_BYTES ||
                                      sw_frame_prefix_decode(head, size, 0, &prefix) <= 0 ||
                                      size < sw_frame_head_bytes(prefix.header_bytes));
         size += got > 0 ? (size_t)got : 0) {
        got = read(fd, head + size, sizeof(head) - size);
    }
    const uint8_t *header = head + SW_FRAME_PREFIX_BYTES;
    cr_assert_eq(sw_request_decode(header, prefix.header_bytes, &request), 0);
    cr_assert_eq(sw_frame_login_decode(header, prefix.header_bytes, &login), 0);
    *password_bytes = login.password_bytes;
    struct sw_reply reply = {.request_id = request.request_id, .has_info = true};
    reply.info = (struct sw_server_info){
        .key_bytes = 8, .value_bytes = 8, .frame_ops_max = 1024, .requests_in_flight_max = 4};
    sw_fake_reply(fd, &reply, NULL, 0);
}

Test(connect, passwords_of_every_length)
{
    static const size_t sizes[] = {1, 105, 106, 300, SW_FRAME_PASSWORD_BYTES};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char password[SW_FRAME_PASSWORD_BYTES + 2] = "", user[SW_FRAME_USER_BYTES] = "", text[512];
        uint32_t got = 0;
        struct sw_fake_server server;
        struct sherwood *client = NULL;
        struct sherwood_options options = SHERWOOD_OPTIONS_INIT;
        memset(password, 'p', sizes[i]);
        memset(user, 'u', sizeof(user) - 1);
        options.user = user;
        options.password = password;
        sw_fake_start(&server, greet_user, &got);
        int rc = sherwood_connect_text(server.address, &options, &client, text, sizeof(text));
        cr_expect_eq(rc, SHERWOOD_OK, "%zu: %s", sizes[i], text);
        sherwood_close(client);
        client = NULL;
        sw_fake_stop(&server);
        cr_expect_eq(got, sizes[i]);
    }
}

static void say_nothing(int fd, void *unused)
{
    uint8_t byte;
    (void)unused;
    cr_assert_eq(read(fd, &byte, 1), 0, "a login that is too long was sent");
}

/* A login that is cut would be that of another user. */
Test(connect, a_login_is_not_cut)
{
    char user[SW_FRAME_USER_BYTES + 1] = "", password[SW_FRAME_PASSWORD_BYTES + 2] = "", text[512];
    memset(user, 'u', SW_FRAME_USER_BYTES);
    memset(password, 'p', SW_FRAME_PASSWORD_BYTES + 1);
    for (int i = 0; i < 2; i++) {
        struct sw_fake_server server;
        struct sherwood *client = NULL;
        struct sherwood_options options = SHERWOOD_OPTIONS_INIT;
        options.user = i == 0 ? user : "u";
        options.password = i == 0 ? "p" : password;
        sw_fake_start(&server, say_nothing, NULL);
        cr_expect_eq(sherwood_connect_text(server.address, &options, &client, text, sizeof(text)),
                     SHERWOOD_E_INVALID);
        cr_expect_not_null(strstr(text, "use shorter ones"), "%s", text);
        sherwood_close(client);
        sw_fake_stop(&server);
    }
}

/* A byte now and then, for ever. */
static void trickle(int fd, void *unused)
{
    static const uint8_t head[] = {0xD5, 'S', 'W', 1, 200, 1, 0, 0};
    (void)unused;
    for (size_t i = 0; sw_fake_write(fd, i < sizeof(head) ? head + i : (const uint8_t *)"", 1);
         i++) {
        usleep(SILENCE_MS * 1000 / 10);
    }
}

Test(connect, a_greeting_that_never_ends)
{
    struct sw_fake_server server;
    sw_fake_start(&server, trickle, NULL);
    expect_failure(server.address, SHERWOOD_E_TIMEOUT, "was not complete within");
    sw_fake_stop(&server);
}
