/* SPDX-License-Identifier: MIT
 *
 * test_http.c - the HTTP server over a real socket: paths, methods, types, readiness, teardown.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/observe/http.h"
#include "server/observe/log.h"
#include "tests/server/distinct_stats.h"
#include "tests/support/clock.h"

#define ANSWER_BYTES (64 * 1024)

static struct sw_config config;
static struct sw_server_stats facts;
static struct sw_http *http;
static uint16_t port;
static char answer[ANSWER_BYTES];

static void snapshot(void *server, struct sw_server_stats *out)
{
    *out = *(const struct sw_server_stats *)server;
}

static void set_up(void)
{
    fill_distinct_stats(&config, &facts);
    sw_log_init(SW_LOG_ERROR);
    config.http_port = 0;
}

static void tear_down(void)
{
}

TestSuite(http, .init = set_up, .fini = tear_down);

/* fd: a socket that listens, or -1 */
static void begin(int fd)
{
    cr_assert_eq(sw_http_start(&config, fd, NULL, NULL, snapshot, &facts, &http, &port), 0);
    cr_assert_neq(port, 0);
}

static void stop(void)
{
    sw_http_stop(http);
    http = NULL;
}

static int connect_http(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    cr_assert_geq(fd, 0);
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* What came back for these bytes until the server closed. */
static const char *ask_bytes(const char *request, size_t bytes)
{
    size_t size = 0;
    ssize_t got = 0;
    int fd = connect_http();
    cr_assert_geq(fd, 0);
    cr_assert_eq(send(fd, request, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
    while ((got = recv(fd, answer + size, sizeof(answer) - 1 - size, 0)) > 0) {
        size += (size_t)got;
    }
    answer[size] = '\0';
    close(fd);
    return answer;
}

static const char *ask_raw(const char *request)
{
    return ask_bytes(request, strlen(request));
}

/* Sends a request that asks for the connection's end, and returns all that came back. */
static const char *ask(const char *request, const char *headers)
{
    char text[1024];
    snprintf(text, sizeof(text), "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n", request,
             headers);
    return ask_raw(text);
}

static void expect(const char *request, const char *headers, const char *status, const char *holds)
{
    const char *got = ask(request, headers);
    cr_assert_eq(strncmp(got, status, strlen(status)), 0, "%s: %s", request, got);
    cr_assert_not_null(strstr(got, holds), "%s: no %s in %s", request, holds, got);
}

Test(http, pages)
{
    begin(-1);
    expect("GET /", "", "HTTP/1.1 200 ", "/metrics");
    expect("GET /healthz", "", "HTTP/1.1 200 ", "\r\n\r\nok\n");
    expect("GET /readyz", "", "HTTP/1.1 200 ", "\r\n\r\nready\n");
    expect("GET /metrics", "", "HTTP/1.1 200 ",
           "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n");
    expect("GET /metrics", "", "HTTP/1.1 200 ", "\nsherwood_db_keys 256\n");
    expect("GET /metrics?x=1", "", "HTTP/1.1 200 ", "\nsherwood_db_keys 256\n");
    expect("GET /metrics", "Accept: application/openmetrics-text\r\n", "HTTP/1.1 200 ",
           "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n");
    expect("GET /nosuch", "", "HTTP/1.1 404 ", "/healthz and /readyz.\n");
    expect("GET /metrics/", "", "HTTP/1.1 404 ", "The page does not exist");
    expect("POST /metrics", "Content-Length: 0\r\n", "HTTP/1.1 405 ", "Allow: GET, HEAD\r\n");
    expect("DELETE /", "", "HTTP/1.1 405 ", "Only GET and HEAD");
    expect("GET /healthz", "Content-Length: 3\r\n\r\nabc", "HTTP/1.1 200 ", "ok\n");
    facts.replication.knows_no_primary = true;
    expect("GET /readyz", "", "HTTP/1.1 503 ",
           "\r\n\r\nnot ready: this member of the shard knows no primary\n");
    expect("GET /healthz", "", "HTTP/1.1 200 ", "ok\n");
    facts.ready = false;
    expect("GET /readyz", "", "HTTP/1.1 503 ", "not ready: starting or shutting down\n");
    facts.replication.knows_no_primary = false;
    expect("GET /readyz", "", "HTTP/1.1 503 ", "not ready");
    expect("GET /healthz", "", "HTTP/1.1 200 ", "ok\n");
}

Test(http, head_has_no_body)
{
    begin(-1);
    const char *got = ask("HEAD /metrics", "");
    cr_assert_eq(strncmp(got, "HTTP/1.1 200 ", 13), 0);
    cr_assert_str_eq(strstr(got, "\r\n\r\n"), "\r\n\r\n");
}

/* Two on one keep-alive connection: a scraper need not connect anew. */
Test(http, keeps_connections)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    begin(-1);
    int fd = connect_http();
    for (int i = 0; i < 2; i++) {
        size_t size = 0;
        ssize_t got = 0;
        cr_assert_eq(send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL), sizeof(request) - 1);
        do {
            got = recv(fd, answer + size, sizeof(answer) - 1 - size, 0);
            cr_assert_gt(got, 0, "request %d", i);
            size += (size_t)got;
            answer[size] = '\0';
        } while (strstr(answer, "\r\n\r\nok\n") == NULL);
    }
    stop(); /* with the connection open */
    cr_assert_eq(recv(fd, answer, sizeof(answer), 0), 0);
    close(fd);
}

Test(http, stop_frees_the_port)
{
    struct sw_http *second = NULL;
    uint16_t again = 0;
    begin(-1);
    config.http_port = port;
    cr_assert_eq(sw_http_start(&config, -1, NULL, NULL, snapshot, &facts, &second, &again), -1,
                 "the port is taken");
    cr_assert_null(second);
    stop();
    cr_assert_eq(connect_http(), -1);
    cr_assert_eq(sw_http_start(&config, -1, NULL, NULL, snapshot, &facts, &second, &again), 0);
    cr_assert_eq(again, port);
    sw_http_stop(second);
    sw_http_stop(NULL);
}

/* The limit for steps that end soon on an idle machine. */
#define PATIENCE_MS 30000

/* Two readers of such a request may see two requests, or two users: it is refused. */
Test(http, ambiguous_requests)
{
#define HEAD "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    static const char *const rows[] = {
        HEAD "Content-Length: 0\r\nContent-Length: 5\r\n\r\n",
        HEAD "Content-Length: 0\r\ncontent-length: 0\r\n\r\n",
        HEAD "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
        HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n",
        HEAD "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        HEAD "Content-Length : 0\r\n\r\n",
        "GET /healthz HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
    };
    static const char *const plain[] = {
        HEAD "Content-Length: 0\r\n\r\n",
        HEAD "Authorization: Bearer a\r\n\r\n",
        HEAD "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
    };
    static const char nul[] = HEAD "X: #\r\nY: #\r\n\r\n";
    begin(-1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *got = ask_raw(rows[i]);
        cr_expect_eq(strncmp(got, "HTTP/1.1 400 ", 13), 0, "row %zu: %s", i, got);
    }
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        const char *got = ask_raw(plain[i]);
        cr_expect_eq(strncmp(got, "HTTP/1.1 200 ", 13), 0, "row %zu: %s", i, got);
    }
    /* a NUL at each place of a request before its end */
    for (size_t i = 0; i + 5 < sizeof(nul); i++) {
        char request[sizeof(nul)];
        memcpy(request, nul, sizeof(nul));
        request[i] = '\0';
        /* the check misses bytes that arrive between it and the read, so try several times */
        bool taken = true;
        for (int tries = 0; taken && tries < 10; tries++) {
            taken = strncmp(ask_bytes(request, sizeof(nul) - 1), "HTTP/1.1 200 ", 13) == 0;
        }
        cr_expect(!taken, "a NUL at %zu", i);
    }
}

Test(http, malformed_requests)
{
    static const struct {
        const char *request, *status;
    } rows[] = {
        {"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n", "HTTP/1.1 400 "},
        {"GET /healthz HTTP/1.1\r\nHost: a\r\nhost: b\r\nConnection: close\r\n\r\n",
         "HTTP/1.1 400 "},
        {"GET /healthz HTTP/1.0\r\n\r\n", "HTTP/1.1 200 "},
        {"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n"
         "Connection: close\r\n\r\n",
         "HTTP/1.1 400 "},
        {"GET /healthz%00x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 404 "},
    };
    begin(-1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *got = ask_raw(rows[i].request);
        cr_assert_eq(strncmp(got, rows[i].status, 9), 0, "row %zu: %s", i, got);
        cr_assert_eq(strncmp(got + 9, rows[i].status + 9, 4), 0, "row %zu: %s", i, got);
    }
    static char large[20000] = "GET /healthz HTTP/1.1\r\nHost: x\r\nX: ";
    size_t size = strlen(large);
    memset(large + size, 'a', sizeof(large) - 5 - size);
    memcpy(large + sizeof(large) - 5, "\r\n\r\n", 5);
    int fd = connect_http();
    cr_assert_eq(send(fd, large, sizeof(large) - 1, MSG_NOSIGNAL), (ssize_t)sizeof(large) - 1);
    cr_assert_eq(recv(fd, answer, 13, MSG_WAITALL), 13);
    cr_assert_eq(memcmp(answer, "HTTP/1.1 431 ", 13), 0, "%.13s", answer);
    close(fd);
    struct sw_loop_counters counters = {0};
    uint64_t began_ms = ms_now();
    while (counters.http_errors < 5) { /* four of the rows, and this; counted after the reply */
        cr_assert_lt(ms_now() - began_ms, PATIENCE_MS);
        counters = (struct sw_loop_counters){0};
        sw_http_add_counters(http, &counters);
    }
    cr_assert_eq(counters.http_errors, 5);
    cr_assert_eq(counters.http_requests, 5);
}

/* True once the server has closed the connection. */
static bool is_closed(int fd)
{
    char byte = 0;
    ssize_t got = recv(fd, &byte, 1, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno == ECONNRESET);
}

/* A byte of a header now and then does not keep a connection: the time is that of the request. */
Test(http, a_request_has_a_deadline_as_a_whole)
{
    struct sw_loop_counters counters = {0};
    config.http_timeout_ms = 800;
    begin(-1);
    uint64_t began_ms = ms_now();
    int slow = connect_http(), idle = connect_http();
    cr_assert_eq(send(slow, "GET /healthz HTTP/1.1\r\nX: ", 26, MSG_NOSIGNAL), 26);
    while (!is_closed(slow) || !is_closed(idle)) {
        cr_assert_lt(ms_now() - began_ms, PATIENCE_MS);
        (void)send(slow, "a", 1, MSG_NOSIGNAL);
        usleep(20000);
    }
    cr_assert_geq(ms_now() - began_ms, 790);
    close(slow);
    close(idle);
    expect("GET /healthz", "", "HTTP/1.1 200 ", "ok\n");
    sw_http_add_counters(http, &counters);
    cr_assert_eq(counters.http_timeouts, 2);
    cr_assert_eq(counters.http_evictions, 0);
    cr_assert_eq(counters.http_requests, 1);
}

/* At the limit the connection that has waited longest makes room for a new one. */
Test(http, a_new_connection_is_always_accepted)
{
    struct sw_loop_counters counters = {0};
    int slow[8];
    config.http_connections_max = 8;
    begin(-1);
    for (int i = 0; i < 8; i++) {
        slow[i] = connect_http();
        cr_assert_eq(send(slow[i], "GET /", 5, MSG_NOSIGNAL), 5);
        usleep(5000);
    }
    for (int i = 0; i < 8; i++) {
        cr_assert_not(is_closed(slow[i]), "connection %d", i);
    }
    for (int i = 0; i < 3; i++) { /* each leaves when it is answered */
        expect("GET /healthz", "", "HTTP/1.1 200 ", "ok\n");
    }
    uint64_t began_ms = ms_now();
    while (!is_closed(slow[0])) {
        cr_assert_lt(ms_now() - began_ms, PATIENCE_MS);
    }
    for (int i = 1; i < 8; i++) {
        cr_assert_not(is_closed(slow[i]), "connection %d", i);
    }
    for (int i = 0; i < 200; i++) {
        int fd = connect_http();
        cr_assert_geq(fd, 0);
        close(fd);
    }
    expect("GET /healthz", "", "HTTP/1.1 200 ", "ok\n");
    sw_http_add_counters(http, &counters);
    cr_assert_geq(counters.http_evictions, 1);
    cr_assert_eq(counters.http_timeouts, 0);
    stop(); /* with connections open */
    for (int i = 0; i < 8; i++) {
        close(slow[i]);
    }
}

/* A socket of the service manager is used and stays the caller's. */
Test(http, takes_a_listening_socket)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    cr_assert_eq(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    cr_assert_eq(listen(fd, 8), 0);
    config.http_bind[0] = '\0';
    begin(fd);
    expect("GET /healthz", "", "HTTP/1.1 200 ", "ok\n");
    stop();
    int open = connect_http();
    cr_assert_geq(open, 0, "the socket still listens");
    close(open);
    close(fd);
    cr_assert_eq(connect_http(), -1);
}
