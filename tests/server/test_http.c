/* SPDX-License-Identifier: MIT
 *
 * test_http.c - the HTTP server over a real socket: paths, methods, types, readiness, teardown.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/observe/http.h"
#include "server/observe/log.h"
#include "tests/server/facts.h"

#define ANSWER_BYTES (64 * 1024)

static struct sw_config config;
static struct sw_snapshot facts;
static char answer[ANSWER_BYTES];

static void snapshot(void *server, struct sw_snapshot *out)
{
    *out = *(const struct sw_snapshot *)server;
}

static void begin(struct sw_http **http, uint16_t *port)
{
    make_facts(&config, &facts);
    sw_log_init(SW_LOG_ERROR);
    config.http_port = 0;
    cr_assert_eq(sw_http_start(&config, -1, snapshot, &facts, http, port), 0);
    cr_assert_neq(*port, 0);
}

static int dial(uint16_t port)
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

/* Sends a request that asks for the connection's end, and returns all that came back. */
static const char *ask(uint16_t port, const char *request, const char *headers)
{
    char text[1024];
    size_t size = 0;
    ssize_t got = 0;
    int fd = dial(port);
    cr_assert_geq(fd, 0);
    int length =
        snprintf(text, sizeof(text), "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n",
                 request, headers);
    cr_assert_eq(send(fd, text, (size_t)length, MSG_NOSIGNAL), length);
    while ((got = recv(fd, answer + size, sizeof(answer) - 1 - size, 0)) > 0) {
        size += (size_t)got;
    }
    answer[size] = '\0';
    close(fd);
    return answer;
}

static void expect(uint16_t port, const char *request, const char *headers, const char *status,
                   const char *holds)
{
    const char *got = ask(port, request, headers);
    cr_assert_eq(strncmp(got, status, strlen(status)), 0, "%s: %s", request, got);
    cr_assert_not_null(strstr(got, holds), "%s: no %s in %s", request, holds, got);
}

Test(http, pages)
{
    struct sw_http *http = NULL;
    uint16_t port = 0;
    begin(&http, &port);
    expect(port, "GET /", "", "HTTP/1.1 200 ", "/metrics");
    expect(port, "GET /healthz", "", "HTTP/1.1 200 ", "\r\n\r\nok\n");
    expect(port, "GET /readyz", "", "HTTP/1.1 200 ", "\r\n\r\nready\n");
    expect(port, "GET /metrics", "", "HTTP/1.1 200 ",
           "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n");
    expect(port, "GET /metrics", "", "HTTP/1.1 200 ", "\nsherwood_db_keys 256\n");
    expect(port, "GET /metrics?x=1", "", "HTTP/1.1 200 ", "\nsherwood_db_keys 256\n");
    expect(port, "GET /metrics", "Accept: application/openmetrics-text\r\n", "HTTP/1.1 200 ",
           "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n");
    expect(port, "GET /nosuch", "", "HTTP/1.1 404 ", "/healthz and /readyz.\n");
    expect(port, "GET /metrics/", "", "HTTP/1.1 404 ", "There is no such page");
    expect(port, "POST /metrics", "Content-Length: 0\r\n", "HTTP/1.1 405 ", "Allow: GET, HEAD\r\n");
    expect(port, "DELETE /", "", "HTTP/1.1 405 ", "Only GET and HEAD");
    expect(port, "GET /healthz", "Content-Length: 3\r\n\r\nabc", "HTTP/1.1 200 ", "ok\n");
    facts.ready = false;
    expect(port, "GET /readyz", "", "HTTP/1.1 503 ", "not ready");
    expect(port, "GET /healthz", "", "HTTP/1.1 200 ", "ok\n");
    sw_http_stop(http);
}

Test(http, head_has_no_body)
{
    struct sw_http *http = NULL;
    uint16_t port = 0;
    begin(&http, &port);
    const char *got = ask(port, "HEAD /metrics", "");
    cr_assert_eq(strncmp(got, "HTTP/1.1 200 ", 13), 0);
    cr_assert_str_eq(strstr(got, "\r\n\r\n"), "\r\n\r\n");
    sw_http_stop(http);
}

/* Two on one keep-alive connection: a scraper need not connect anew. */
Test(http, keeps_connections)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    struct sw_http *http = NULL;
    uint16_t port = 0;
    begin(&http, &port);
    int fd = dial(port);
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
    sw_http_stop(http); /* with the connection open */
    cr_assert_eq(recv(fd, answer, sizeof(answer), 0), 0);
    close(fd);
}

Test(http, stop_frees_the_port)
{
    struct sw_http *http = NULL, *second = NULL;
    uint16_t port = 0, again = 0;
    begin(&http, &port);
    config.http_port = port;
    cr_assert_eq(sw_http_start(&config, -1, snapshot, &facts, &second, &again), -1,
                 "the port is taken");
    cr_assert_null(second);
    sw_http_stop(http);
    cr_assert_eq(dial(port), -1);
    cr_assert_eq(sw_http_start(&config, -1, snapshot, &facts, &second, &again), 0);
    cr_assert_eq(again, port);
    sw_http_stop(second);
    sw_http_stop(NULL);
}

/* A socket of the service manager is used and stays the caller's. */
Test(http, takes_a_listening_socket)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    struct sw_http *http = NULL;
    uint16_t port = 0;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    make_facts(&config, &facts);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    cr_assert_eq(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    cr_assert_eq(listen(fd, 8), 0);
    config.http_bind[0] = '\0';
    cr_assert_eq(sw_http_start(&config, fd, snapshot, &facts, &http, &port), 0);
    expect(port, "GET /healthz", "", "HTTP/1.1 200 ", "ok\n");
    sw_http_stop(http);
    int open = dial(port);
    cr_assert_geq(open, 0, "the socket still listens");
    close(open);
    close(fd);
    cr_assert_eq(dial(port), -1);
}
