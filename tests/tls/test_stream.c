/* SPDX-License-Identifier: MIT
 *
 * test_stream.c - two ends of a TLS stream, with a wire between them that the test cuts as it
 * likes.
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/socket.h>

#include "proto/tls/stream.h"
#include "tests/support/random.h"
#include "tests/tls/certificate.h"

enum { CLIENT, SERVER, BYTES_MAX = 1 << 20 };

/* A stream's socket leads to the wire's, and the wire's two ends lead to each other by the test. */
struct fixture {
    struct certificate certificate;
    SSL_CTX *contexts[2];
    struct sw_tls_scratch scratch;
    struct sw_tls_stream stream[2];
    int socket[2]; /* of the streams */
    int wire[2];   /* the other ends */
    size_t cut;    /* most bytes that the wire carries at once; 0: drawn each time */
    struct random random;
    uint8_t *sent, *got;
};

static void set_up(struct fixture *fixture, size_t cut)
{
    memset(fixture, 0, sizeof(*fixture));
    fixture->cut = cut;
    fixture->random = random_of(1);
    certificate_make(&fixture->certificate);
    fixture->contexts[CLIENT] = certificate_client(&fixture->certificate);
    fixture->contexts[SERVER] = certificate_server(&fixture->certificate);
    cr_assert_eq(sw_tls_scratch_init(&fixture->scratch), 0);
    for (int side = 0; side < 2; side++) {
        int pair[2];
        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
        fixture->socket[side] = pair[0];
        fixture->wire[side] = pair[1];
        cr_assert_eq(sw_tls_stream_open(&fixture->stream[side], fixture->contexts[side], pair[0],
                                        side == SERVER, &fixture->scratch),
                     0);
    }
    cr_assert_eq(sw_tls_expect(fixture->stream[CLIENT].ssl, "localhost"), 0);
    fixture->sent = malloc(BYTES_MAX);
    fixture->got = malloc(BYTES_MAX);
    for (size_t i = 0; i < BYTES_MAX; i++) {
        fixture->sent[i] = (uint8_t)random_next(&fixture->random);
    }
}

static void tear_down(struct fixture *fixture)
{
    for (int side = 0; side < 2; side++) {
        sw_tls_stream_close(&fixture->stream[side]);
        SSL_CTX_free(fixture->contexts[side]);
        close(fixture->socket[side]);
        close(fixture->wire[side]);
    }
    sw_tls_scratch_fini(&fixture->scratch);
    certificate_remove(&fixture->certificate);
    free(fixture->sent);
    free(fixture->got);
}

/* The wire carries some bytes from one side to the other. Returns how many. */
static size_t carry(struct fixture *fixture, int from)
{
    char bytes[70000];
    size_t most =
        fixture->cut > 0 ? fixture->cut : 1 + random_next(&fixture->random) % sizeof(bytes);
    ssize_t count = recv(fixture->wire[from], bytes, most, MSG_PEEK);
    if (count <= 0) {
        return 0;
    }
    count = send(fixture->wire[!from], bytes, (size_t)count, MSG_NOSIGNAL);
    if (count > 0) {
        cr_assert_eq(recv(fixture->wire[from], bytes, (size_t)count, 0), count);
    }
    return count > 0 ? (size_t)count : 0;
}

static void shake_hands(struct fixture *fixture)
{
    int done[2] = {SW_TLS_AGAIN, SW_TLS_AGAIN};
    for (int i = 0; i < 100000 && (done[CLIENT] != 1 || done[SERVER] != 1); i++) {
        for (int side = 0; side < 2; side++) {
            done[side] = done[side] == 1 ? 1 : sw_tls_handshake(&fixture->stream[side]);
            cr_assert_neq(done[side], SW_TLS_FAILED, "%s", fixture->scratch.trouble);
            carry(fixture, side);
        }
    }
    cr_assert(done[CLIENT] == 1 && done[SERVER] == 1, "the handshake does not end");
}

/* Sends `size` bytes from one side, in parts that are drawn, and reads them at the other. */
static void transfer(struct fixture *fixture, int from, size_t size)
{
    size_t sent = 0, got = 0, idle = 0;
    memset(fixture->got, 0, size);
    while (got < size) {
        struct iovec parts[12];
        size_t count = 0, at = sent;
        while (at < size && count < 12) {
            static const size_t sizes[] = {0, 1, 64, 4095, 4096, 16384, 16385, 200000};
            size_t part = sizes[random_next(&fixture->random) % 8];
            part = part < size - at ? part : size - at;
            parts[count++] = (struct iovec){fixture->sent + at, part};
            at += part;
        }
        int64_t now =
            at == sent ? SW_TLS_AGAIN : sw_tls_write(&fixture->stream[from], parts, count);
        cr_assert_neq(now, SW_TLS_FAILED, "%s", fixture->scratch.trouble);
        sent += now > 0 ? (size_t)now : 0;
        cr_assert_leq(fixture->stream[from].rest_end - fixture->stream[from].rest_begin,
                      SW_TLS_BATCH_BYTES + 8192, "what waits is bounded");
        (void)sw_tls_flush(&fixture->stream[from]);
        size_t carried = carry(fixture, from);
        size_t room = 1 + random_next(&fixture->random) % 50000;
        room = room < size - got ? room : size - got;
        now = sw_tls_read(&fixture->stream[!from], fixture->got + got, room);
        cr_assert(now > 0 || now == SW_TLS_AGAIN, "%s", fixture->scratch.trouble);
        got += now > 0 ? (size_t)now : 0;
        idle = carried > 0 || now > 0 ? 0 : idle + 1;
        cr_assert_lt(idle, 100000, "nothing moves any more");
    }
    cr_assert_arr_eq(fixture->got, fixture->sent, size);
    cr_assert_eq(fixture->scratch.out_used, 0);
}

Test(stream, carries_bytes_through_a_wire_that_cuts_anywhere)
{
    struct fixture fixture;
    set_up(&fixture, 0);
    shake_hands(&fixture);
    for (int i = 0; i < 6; i++) {
        transfer(&fixture, i % 2, 1 + random_next(&fixture.random) % BYTES_MAX);
    }
    tear_down(&fixture);
}

Test(stream, carries_bytes_one_at_a_time)
{
    struct fixture fixture;
    set_up(&fixture, 1);
    shake_hands(&fixture);
    transfer(&fixture, CLIENT, 40000);
    transfer(&fixture, SERVER, 1);
    tear_down(&fixture);
}

Test(stream, small_parts_share_a_record)
{
    struct fixture fixture;
    struct iovec parts[64];
    uint8_t record[SW_TLS_RECORD_BYTES + 512];
    set_up(&fixture, 0);
    shake_hands(&fixture);
    for (int i = 0; i < 64; i++) {
        parts[i] = (struct iovec){fixture.sent + 100L * i, 100};
    }
    while (carry(&fixture, SERVER) > 0) {
    }
    while (sw_tls_read(&fixture.stream[CLIENT], record, sizeof(record)) > 0) {
    }
    cr_assert_eq(sw_tls_write(&fixture.stream[SERVER], parts, 64), 6400);
    ssize_t size = recv(fixture.wire[SERVER], record, sizeof(record), 0);
    cr_assert(size > 6400 && size < 6500, "%zd bytes for one record of 6400", size);
    tear_down(&fixture);
}

Test(stream, tells_an_end_from_a_cut)
{
    char byte;
    for (int orderly = 0; orderly < 2; orderly++) {
        struct fixture fixture;
        set_up(&fixture, 0);
        shake_hands(&fixture);
        transfer(&fixture, CLIENT, 3000);
        if (orderly) {
            cr_assert_eq(sw_tls_end(&fixture.stream[CLIENT]), 1);
        }
        shutdown(fixture.socket[CLIENT], SHUT_WR);
        while (carry(&fixture, CLIENT) > 0) {
        }
        shutdown(fixture.wire[SERVER], SHUT_WR);
        int64_t end = sw_tls_read(&fixture.stream[SERVER], &byte, 1);
        cr_assert_eq(end, orderly ? SW_TLS_END : SW_TLS_CUT);
        cr_assert_eq(sw_tls_read(&fixture.stream[SERVER], &byte, 1), end, "and again");
        tear_down(&fixture);
    }
}

Test(stream, finds_a_changed_bit)
{
    struct fixture fixture;
    char bytes[4096];
    set_up(&fixture, 0);
    shake_hands(&fixture);
    while (carry(&fixture, CLIENT) > 0) {
    }
    struct iovec part = {fixture.sent, 1000};
    cr_assert_eq(sw_tls_write(&fixture.stream[CLIENT], &part, 1), 1000);
    ssize_t size = recv(fixture.wire[CLIENT], bytes, sizeof(bytes), 0);
    cr_assert_gt(size, 1000);
    bytes[5 + random_next(&fixture.random) % (uint64_t)(size - 5)] ^= 1;
    cr_assert_eq(send(fixture.wire[SERVER], bytes, (size_t)size, 0), size);
    cr_assert_eq(sw_tls_read(&fixture.stream[SERVER], bytes, sizeof(bytes)), SW_TLS_FAILED);
    cr_assert_not_null(strstr(fixture.scratch.trouble, "bad record mac"), "%s",
                       fixture.scratch.trouble);
    tear_down(&fixture);
}

Test(stream, refuses_another_name)
{
    struct fixture fixture;
    int result[2] = {SW_TLS_AGAIN, SW_TLS_AGAIN};
    set_up(&fixture, 0);
    cr_assert_eq(sw_tls_expect(fixture.stream[CLIENT].ssl, "elsewhere.example"), 0);
    for (int i = 0; i < 1000 && result[CLIENT] == SW_TLS_AGAIN; i++) {
        for (int side = 1; side >= 0 && result[CLIENT] == SW_TLS_AGAIN; side--) {
            result[side] = sw_tls_handshake(&fixture.stream[side]);
            carry(&fixture, side);
        }
    }
    cr_assert_eq(result[CLIENT], SW_TLS_FAILED);
    cr_assert_not_null(strstr(fixture.scratch.trouble, "hostname mismatch"), "%s",
                       fixture.scratch.trouble);
    tear_down(&fixture);
}
