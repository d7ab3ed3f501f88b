/* SPDX-License-Identifier: MIT
 *
 * test_tls.c - the transport for TLS, on a libuv loop, with a client at the other end of a socket.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/socket.h>

#include "server/net/iteration.h"
#include "server/net/tls.h"
#include "tests/support/random.h"
#include "tests/tls/certificate.h"

enum { BYTES = 3 << 20, SMALL_BUFFER = 16384 };

struct fixture {
    struct certificate certificate;
    SSL_CTX *contexts[2];
    uv_loop_t uv;
    struct sw_tls_loop loop;
    struct sw_iteration iteration;
    struct sw_transport transport;
    struct random random;

    /* the client */
    struct sw_tls_scratch scratch;
    struct sw_tls_stream client;
    int fd;

    /* what the connection does, and what happened to it */
    size_t room;    /* of one read; 0: drawn each time */
    bool is_sated;  /* it has no room now */
    uint8_t *bytes; /* what it writes, and what it should receive */
    uint8_t *got;
    size_t received;
    int end; /* status of the last call of `received`; 0: not yet */
    unsigned blocked, written, closed, secured, failures;
    int status; /* of `written` */
    char trouble[200];
};

static struct fixture *fixture; /* a test has a process, or a child, of its own */

static uv_buf_t on_room(struct sw_transport *transport)
{
    size_t size = fixture->room > 0 ? fixture->room : 1 + random_below(&fixture->random, 40000);
    (void)transport;
    size = size < BYTES - fixture->received ? size : BYTES - fixture->received;
    return uv_buf_init((char *)fixture->got + fixture->received,
                       fixture->is_sated ? 0 : (unsigned)size);
}

static void on_received(struct sw_transport *transport, ssize_t count, uint8_t *bytes)
{
    (void)transport;
    if (count == UV_ENOBUFS) {
        fixture->blocked++;
    } else if (count < 0) {
        fixture->end = (int)count;
    } else {
        cr_assert_eq(bytes, fixture->got + fixture->received);
        fixture->received += (size_t)count;
    }
}

static void on_written(struct sw_transport *transport, int status)
{
    cr_assert_not(transport->writing);
    cr_assert_eq(fixture->closed, 0, "written comes before closed");
    fixture->written++;
    fixture->status = status;
}

static void on_closed(struct sw_transport *transport)
{
    (void)transport;
    fixture->closed++;
}

static void on_news(struct sw_transport *transport, enum sw_transport_news news, const char *text)
{
    (void)transport;
    fixture->secured += news == SW_NEWS_SECURED;
    fixture->failures += news == SW_NEWS_HANDSHAKE_FAILED;
    snprintf(fixture->trouble, sizeof(fixture->trouble), "%s", text);
}

static const struct sw_transport_events events = {on_room, on_received, on_written, on_closed,
                                                  on_news};

static void set_up(void)
{
    const struct sw_socket_sizes sizes = {0, 0};
    int pair[2], size = SMALL_BUFFER;
    fixture = calloc(1, sizeof(*fixture));
    fixture->random = random_of(1);
    fixture->bytes = malloc(BYTES);
    fixture->got = calloc(1, BYTES);
    for (size_t i = 0; i < BYTES; i++) {
        fixture->bytes[i] = (uint8_t)random_next(&fixture->random);
    }
    certificate_make(&fixture->certificate);
    fixture->contexts[0] = certificate_client(&fixture->certificate);
    fixture->contexts[1] = certificate_server(&fixture->certificate);
    uv_loop_init(&fixture->uv);
    sw_iteration_init(&fixture->iteration);
    cr_assert_eq(sw_tls_loop_init(&fixture->loop, true), 0);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    for (int i = 0; i < 2; i++) {
        setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    }
    fixture->fd = pair[0];
    cr_assert_eq(sw_tls_open(&fixture->transport, &fixture->uv, pair[1], fixture->contexts[1],
                             sizes, &fixture->loop, &events),
                 0);
    cr_assert_eq(sw_tls_scratch_init(&fixture->scratch), 0);
    cr_assert_eq(sw_tls_stream_open(&fixture->client, fixture->contexts[0], fixture->fd, false,
                                    &fixture->scratch),
                 0);
    cr_assert_eq(sw_tls_expect(fixture->client.ssl, "localhost"), 0);
}

/* An iteration of the server's loop: as loop.c has it. */
static void run_iteration(void)
{
    uv_run(&fixture->uv, UV_RUN_NOWAIT);
    sw_iteration_begin_phase(&fixture->iteration);
    sw_tls_shake_hands(&fixture->loop, &fixture->iteration);
    sw_tls_resume(&fixture->loop);
}

static void close_server(void)
{
    sw_transport_close(&fixture->transport);
    for (int i = 0; i < 10 && fixture->closed == 0; i++) {
        run_iteration();
    }
    cr_assert_eq(fixture->closed, 1);
}

static void tear_down(void)
{
    if (fixture->closed == 0) {
        close_server();
    }
    cr_assert_not(sw_tls_is_ready(&fixture->loop));
    cr_assert_eq(uv_loop_close(&fixture->uv), 0, "no handle is left");
    sw_tls_loop_fini(&fixture->loop);
    sw_tls_stream_close(&fixture->client);
    sw_tls_scratch_fini(&fixture->scratch);
    close(fixture->fd);
    for (int i = 0; i < 2; i++) {
        SSL_CTX_free(fixture->contexts[i]);
    }
    certificate_remove(&fixture->certificate);
    free(fixture->bytes);
    free(fixture->got);
    free(fixture);
}

static void shake_hands(void)
{
    int result = SW_TLS_AGAIN;
    for (int i = 0; i < 1000 && (result != 1 || fixture->transport.opening); i++) {
        result = result == 1 ? 1 : sw_tls_handshake(&fixture->client);
        run_iteration();
    }
    cr_assert(result == 1 && fixture->secured == 1, "%s %s", fixture->scratch.trouble,
              fixture->trouble);
}

/* The client sends all of the bytes, from `at` on, at most `most` of them now. */
static size_t client_sends(size_t at, size_t end, size_t most)
{
    struct iovec part = {fixture->bytes + at, end - at < most ? end - at : most};
    if (at == end) {
        (void)sw_tls_flush(&fixture->client);
        return 0;
    }
    int64_t sent = sw_tls_write(&fixture->client, &part, 1);
    cr_assert_neq(sent, SW_TLS_FAILED, "%s", fixture->scratch.trouble);
    return sent > 0 ? (size_t)sent : 0;
}

Test(tls, receives_into_rooms_of_any_size_while_reading_stops_and_starts, .init = set_up,
     .fini = tear_down)
{
    const size_t end = BYTES - 1;
    size_t sent = 0;
    sw_transport_read_start(&fixture->transport);
    shake_hands();
    bool reads = true;
    for (int i = 0; i < 200000 && fixture->received < end; i++) {
        sent += client_sends(sent, end, 1 + random_below(&fixture->random, 100000));
        fixture->is_sated = random_below(&fixture->random, 5) == 0;
        if (random_below(&fixture->random, 4) == 0) {
            (reads ? sw_transport_read_stop : sw_transport_read_start)(&fixture->transport);
            reads = !reads;
        }
        size_t before = fixture->received;
        run_iteration();
        cr_assert(reads || fixture->received == before, "it was given what it did not ask for");
    }
    cr_assert_eq(fixture->received, end);
    cr_assert_arr_eq(fixture->got, fixture->bytes, end);
    cr_assert_gt(fixture->blocked, 0);
}

Test(tls, receives_one_byte_at_a_time, .init = set_up, .fini = tear_down)
{
    size_t sent = 0;
    fixture->room = 1;
    sw_transport_read_start(&fixture->transport);
    shake_hands();
    for (int i = 0; i < 200000 && fixture->received < 20000; i++) {
        sent += client_sends(sent, 20000, 20000);
        run_iteration();
    }
    cr_assert_eq(fixture->received, 20000);
    cr_assert_arr_eq(fixture->got, fixture->bytes, 20000);
}

/* Reads at the client until `end` bytes have come. */
static void client_expects(size_t end)
{
    uint8_t *got = malloc(end);
    size_t at = 0;
    for (int i = 0; i < 200000 && at < end; i++) {
        size_t room = 1 + random_below(&fixture->random, 30000);
        int64_t now = sw_tls_read(&fixture->client, got + at, room < end - at ? room : end - at);
        cr_assert(now > 0 || now == SW_TLS_AGAIN, "%s", fixture->scratch.trouble);
        at += now > 0 ? (size_t)now : 0;
        run_iteration();
    }
    cr_assert_eq(at, end);
    cr_assert_arr_eq(got, fixture->bytes, end);
    free(got);
}

Test(tls, writes_more_than_the_socket_holds, .init = set_up, .fini = tear_down)
{
    uv_buf_t pieces[2];
    shake_hands();
    uv_buf_t all = uv_buf_init((char *)fixture->bytes, BYTES);
    int sent = sw_transport_try_write(&fixture->transport, &all, 1);
    cr_assert(sent == UV_EAGAIN || (sent > 0 && sent < BYTES), "%d", sent);
    sent = sent > 0 ? sent : 0;
    cr_assert_eq(sw_transport_try_write(&fixture->transport, &all, 1), UV_EAGAIN,
                 "the rest of a batch comes first");
    pieces[0] = uv_buf_init((char *)fixture->bytes + sent, 777);
    pieces[1] = uv_buf_init((char *)fixture->bytes + sent + 777, (unsigned)(BYTES - sent - 777));
    cr_assert_eq(sw_transport_write(&fixture->transport, pieces, 2), 0);
    uint64_t queued = sw_transport_queued_bytes(&fixture->transport);
    cr_assert_gt(queued, 0);
    cr_assert_leq(queued, (uint64_t)(BYTES - sent));
    cr_assert_eq(fixture->written, 0);
    client_expects(BYTES);
    run_iteration();
    cr_assert_eq(fixture->written, 1);
    cr_assert_eq(fixture->status, 0);
    cr_assert_eq(sw_transport_queued_bytes(&fixture->transport), 0);
}

Test(tls, a_write_waits_for_the_handshake, .init = set_up, .fini = tear_down)
{
    uv_buf_t all = uv_buf_init((char *)fixture->bytes, 100);
    cr_assert_eq(sw_transport_try_write(&fixture->transport, &all, 1), UV_EAGAIN);
    cr_assert_eq(sw_transport_write(&fixture->transport, &all, 1), 0);
    shake_hands();
    client_expects(100);
    cr_assert_eq(fixture->written, 1);
}

Test(tls, closing_while_it_writes_ends_the_write_first, .init = set_up, .fini = tear_down)
{
    char byte;
    shake_hands();
    uv_buf_t all = uv_buf_init((char *)fixture->bytes, BYTES);
    cr_assert_eq(sw_transport_write(&fixture->transport, &all, 1), 0);
    run_iteration();
    close_server();
    cr_assert_eq(fixture->written, 1);
    cr_assert_eq(fixture->status, UV_ECANCELED);
    int64_t got = 1;
    while (got > 0) {
        got = sw_tls_read(&fixture->client, &byte, 1);
    }
    cr_assert_eq(got, SW_TLS_CUT, "the client must not take it for the whole: %lld %s",
                 (long long)got, fixture->scratch.trouble);
}

Test(tls, ends_in_an_orderly_way_on_both_sides, .init = set_up, .fini = tear_down)
{
    char byte;
    sw_transport_read_start(&fixture->transport);
    shake_hands();
    sw_transport_shutdown(&fixture->transport);
    int64_t got = SW_TLS_AGAIN;
    for (int i = 0; i < 100 && got == SW_TLS_AGAIN; i++) {
        run_iteration();
        got = sw_tls_read(&fixture->client, &byte, 1);
    }
    cr_assert_eq(got, SW_TLS_END);
    cr_assert_eq(fixture->end, 0, "the other side is still open");
    cr_assert_eq(sw_tls_end(&fixture->client), 1);
    for (int i = 0; i < 100 && fixture->end == 0; i++) {
        run_iteration();
    }
    cr_assert_eq(fixture->end, UV_EOF);
}

Test(tls, what_is_not_tls_is_told_so, .init = set_up, .fini = tear_down)
{
    char reply[200] = "";
    sw_transport_read_start(&fixture->transport);
    cr_assert_eq(send(fixture->fd, "PING\r\n", 6, 0), 6);
    for (int i = 0; i < 10; i++) {
        run_iteration();
    }
    cr_assert_eq(fixture->end, UV_EPROTO);
    cr_assert_eq(fixture->failures, 1);
    cr_assert_gt(recv(fixture->fd, reply, sizeof(reply) - 1, 0), 0);
    cr_assert_not_null(strstr(reply, "-ERR this port speaks TLS"), "%s", reply);
    cr_assert_eq(sw_transport_write(&fixture->transport, &(uv_buf_t){.base = reply, .len = 1}, 1),
                 UV_EPROTO);
}

Test(tls, half_a_handshake_and_an_end, .init = set_up, .fini = tear_down)
{
    char hello[4096];
    sw_transport_read_start(&fixture->transport);
    cr_assert_eq(sw_tls_handshake(&fixture->client), SW_TLS_AGAIN);
    run_iteration();
    cr_assert_gt(recv(fixture->fd, hello, sizeof(hello), 0), 0, "the server has replied");
    cr_assert(fixture->transport.opening);
    cr_assert_eq(fixture->end, 0);
    shutdown(fixture->fd, SHUT_RDWR);
    for (int i = 0; i < 10; i++) {
        run_iteration();
    }
    cr_assert_lt(fixture->end, 0);
    cr_assert_eq(fixture->failures, 1);
    cr_assert_not(fixture->transport.opening);
}

/* --- many handshakes -------------------------------------------------------------------------- */

/* Each look at the clock finds that the time of a phase is over. */
static uint64_t fast_clock(void)
{
    static uint64_t time_ns;
    return time_ns += SW_ITERATION_NS;
}

Test(tls, a_phase_begins_no_handshake_after_its_time, .init = set_up, .fini = tear_down)
{
    enum { OTHERS = 4 };
    const struct sw_socket_sizes sizes = {0, 0};
    struct sw_transport servers[OTHERS];
    struct sw_tls_stream clients[OTHERS];
    int fds[OTHERS];
    fixture->iteration.clock_ns = fast_clock;
    for (int i = 0; i < OTHERS; i++) {
        int pair[2];
        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
        cr_assert_eq(sw_tls_open(&servers[i], &fixture->uv, pair[1], fixture->contexts[1], sizes,
                                 &fixture->loop, &events),
                     0);
        fds[i] = pair[0];
        cr_assert_eq(
            sw_tls_stream_open(&clients[i], fixture->contexts[0], fds[i], false, &fixture->scratch),
            0);
        cr_assert_eq(sw_tls_handshake(&clients[i]), SW_TLS_AGAIN);
    }
    for (int iterations = 1; iterations <= OTHERS; iterations++) {
        run_iteration();
        int replied = 0;
        for (int i = 0; i < OTHERS; i++) {
            char byte;
            replied += recv(fds[i], &byte, 1, MSG_PEEK) > 0;
        }
        cr_assert_eq(replied, iterations, "one handshake goes on in each iteration");
        cr_assert_eq(sw_tls_is_ready(&fixture->loop), iterations < OTHERS,
                     "the loop must not sleep");
    }
    for (int i = 0; i < OTHERS; i++) {
        sw_transport_close(&servers[i]);
        sw_tls_stream_close(&clients[i]);
        close(fds[i]);
    }
    while (fixture->closed < OTHERS) {
        run_iteration();
    }
    fixture->closed = 0;
}

/* A connection that closes while its handshake waits is removed from the list. */
Test(tls, one_closes_while_its_handshake_waits, .init = set_up, .fini = tear_down)
{
    cr_assert_eq(sw_tls_handshake(&fixture->client), SW_TLS_AGAIN);
    uv_run(&fixture->uv, UV_RUN_NOWAIT);
    cr_assert(sw_tls_is_ready(&fixture->loop));
    close_server();
    cr_assert_not(sw_tls_is_ready(&fixture->loop));
}
