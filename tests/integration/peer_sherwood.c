/* SPDX-License-Identifier: MIT
 *
 * peer_sherwood.c - drives the daemon with libsherwood, both widths: calls longer than a frame,
 * scan, requests in flight, several connections. test_matrix.py carries out every operation.
 *   peer_sherwood ADDRESS
 */
#include <pthread.h>
#include <string.h>

#include "client/sherwood.h"
#include "tests/integration/peer.h"

#define THREADS 4
#define THREAD_KEYS 20000

/* Arrays of the server's width. */
struct column {
    uint32_t width;
    union {
        uint32_t *narrow;
        uint64_t *wide;
        void *any;
    };
};

static struct column column_create(uint32_t width, size_t count)
{
    struct column column = {.width = width, .any = calloc(count, width)};
    PEER_CHECK(column.any != NULL, "memory");
    return column;
}

static uint64_t column_get(const struct column *column, size_t i)
{
    return column->width == 4 ? column->narrow[i] : column->wide[i];
}

static void column_put(struct column *column, size_t i, uint64_t value)
{
    if (column->width == 4) {
        column->narrow[i] = (uint32_t)value;
    } else {
        column->wide[i] = value;
    }
}

static struct sherwood *open_client(const char *address)
{
    struct sherwood *client = NULL;
    char text[256] = "";
    int status = sherwood_connect_text(address, NULL, &client, text, sizeof(text));
    PEER_CHECK(status == SHERWOOD_OK, "connect %s: %d %s", address, status, text);
    return client;
}

#define MUST(client, call)                                                      \
    do {                                                                        \
        int must_status = (call);                                               \
        PEER_CHECK(must_status == SHERWOOD_OK, "%s: %d %s", #call, must_status, \
                   sherwood_error(client));                                     \
    } while (0)

/* More keys than a frame holds: split by the library; then everything comes back by scan. */
static void long_calls(const char *address)
{
    struct sherwood *client = open_client(address);
    const struct sherwood_server *server = sherwood_server(client);
    uint32_t width = server->key_bytes;
    size_t count = (size_t)server->frame_ops_max * 3 + 17;
    struct column keys = column_create(width, count);
    struct column values = column_create(width, count);
    struct column out = column_create(width, count);
    uint64_t *found = calloc(sherwood_found_words(count), 8);
    bool *seen = calloc(count, 1);
    PEER_CHECK(found && seen, "memory");
    MUST(client, sherwood_clear(client));
    for (size_t i = 0; i < count; i++) {
        column_put(&keys, i, i * 3);
        column_put(&values, i, i * 3 + 1);
    }
    MUST(client, sherwood_set(client, keys.any, values.any, count));
    MUST(client, sherwood_get(client, keys.any, count, out.any, found));
    for (size_t i = 0; i < count; i++) {
        PEER_CHECK(sherwood_found(found, i) && column_get(&out, i) == i * 3 + 1, "key %zu", i);
    }
    uint64_t cursor = 0;
    size_t total = 0;
    do {
        uint32_t part = 0;
        MUST(client, sherwood_scan(client, &cursor, keys.any, out.any, 1000, &part));
        for (uint32_t i = 0; i < part; i++) {
            uint64_t key = column_get(&keys, i);
            PEER_CHECK(key % 3 == 0 && key / 3 < count, "key %llu", (unsigned long long)key);
            PEER_CHECK(column_get(&out, i) == key + 1, "value of %llu", (unsigned long long)key);
            total += !seen[key / 3];
            seen[key / 3] = true;
        }
    } while (cursor != 0);
    PEER_CHECK(total == count, "scan saw %zu of %zu", total, count);
    struct sherwood_stats stats;
    MUST(client, sherwood_stats(client, &stats, sizeof(stats)));
    PEER_CHECK(stats.occupied == count, "occupied %llu", (unsigned long long)stats.occupied);
    MUST(client, sherwood_ping(client));
    free(keys.any);
    free(values.any);
    free(out.any);
    free(found);
    free(seen);
    sherwood_close(client);
    peer_ok("calls longer than a frame, scan, stats");
}

/* Requests in flight up to the limit, waited for in other order than submitted. */
static void in_flight(const char *address)
{
    enum { PART = 500 };
    struct sherwood *client = open_client(address);
    uint32_t width = sherwood_server(client)->key_bytes;
    uint32_t depth = sherwood_server(client)->requests_in_flight_max;
    uint32_t total = depth * 3;
    struct sherwood_request *requests = calloc(total, sizeof(*requests));
    struct column keys = column_create(width, PART);
    struct column one = column_create(width, PART);
    struct column previous = column_create(width, (size_t)PART * total);
    PEER_CHECK(requests != NULL, "memory");
    MUST(client, sherwood_clear(client));
    for (size_t i = 0; i < PART; i++) {
        column_put(&keys, i, i);
        column_put(&one, i, 1);
    }
    for (uint32_t r = 0; r < total; r++) {
        requests[r] =
            (struct sherwood_request){.size = sizeof(struct sherwood_request),
                                      .operation = SHERWOOD_INCREMENT,
                                      .count = PART,
                                      .keys = keys.any,
                                      .values = one.any,
                                      .previous = (char *)previous.any + (size_t)r * PART * width};
        /* Only with all of them unanswered is there no room; a wait makes some. */
        int status = sherwood_submit(client, &requests[r]);
        if (status == SHERWOOD_E_BUSY && r >= depth) {
            MUST(client, sherwood_wait(client, &requests[r - depth / 2]));
            status = sherwood_submit(client, &requests[r]);
        }
        PEER_CHECK(status == SHERWOOD_OK, "submit %u: %d", r, status);
    }
    struct sherwood_request *done = NULL;
    do {
        MUST(client, sherwood_wait_any(client, &done));
    } while (done != NULL);
    for (uint32_t r = 0; r < total; r++) {
        PEER_CHECK(requests[r].status == SHERWOOD_OK, "request %u: %d", r, requests[r].status);
        for (size_t i = 0; i < PART; i++) {
            PEER_CHECK(column_get(&previous, (size_t)r * PART + i) == r, "request %u, key %zu", r,
                       i);
        }
    }
    free(requests);
    free(keys.any);
    free(one.any);
    free(previous.any);
    sherwood_close(client);
    peer_ok("the maximum of requests in flight, in order");
}

struct worker {
    const char *address;
    uint32_t which;
};

/* Each thread has a connection and keys of its own, and a few keys that all add to. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    struct sherwood *client = open_client(worker->address);
    uint32_t width = sherwood_server(client)->key_bytes;
    struct column keys = column_create(width, THREAD_KEYS);
    struct column values = column_create(width, THREAD_KEYS);
    uint64_t *found = calloc(sherwood_found_words(THREAD_KEYS), 8);
    PEER_CHECK(found != NULL, "memory");
    for (size_t i = 0; i < THREAD_KEYS; i++) {
        column_put(&keys, i, (uint64_t)(worker->which + 1) * 1000000 + i);
        column_put(&values, i, i);
    }
    for (int round = 0; round < 10; round++) {
        uint64_t shared[4] = {0, 1, 2, 3};
        uint64_t add[4] = {1, 2, 3, 4};
        struct column few = column_create(width, 4);
        struct column more = column_create(width, 4);
        for (size_t i = 0; i < 4; i++) {
            column_put(&few, i, shared[i]);
            column_put(&more, i, add[i]);
        }
        MUST(client, sherwood_set(client, keys.any, values.any, THREAD_KEYS));
        MUST(client, sherwood_run(client, SHERWOOD_SUM, few.any, more.any, 4, NULL, NULL));
        MUST(client, sherwood_get(client, keys.any, THREAD_KEYS, values.any, found));
        for (size_t i = 0; i < THREAD_KEYS; i++) {
            PEER_CHECK(sherwood_found(found, i) && column_get(&values, i) == i + (uint64_t)round,
                       "thread %u, key %zu", worker->which, i);
            column_put(&values, i, i + (uint64_t)round + 1);
        }
        free(few.any);
        free(more.any);
    }
    free(keys.any);
    free(values.any);
    free(found);
    sherwood_close(client);
    return NULL;
}

static void several_connections(const char *address)
{
    struct sherwood *client = open_client(address);
    MUST(client, sherwood_clear(client));
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){address, i};
        PEER_CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0, "thread");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    uint32_t width = sherwood_server(client)->key_bytes;
    struct column keys = column_create(width, 4);
    struct column values = column_create(width, 4);
    uint64_t found = 0;
    for (size_t i = 0; i < 4; i++) {
        column_put(&keys, i, i);
    }
    MUST(client, sherwood_get(client, keys.any, 4, values.any, &found));
    for (size_t i = 0; i < 4; i++) {
        PEER_CHECK(column_get(&values, i) == (i + 1) * 10 * THREADS, "sum %zu: %llu", i,
                   (unsigned long long)column_get(&values, i));
    }
    free(keys.any);
    free(values.any);
    sherwood_close(client);
    peer_ok("four connections at once");
}

int main(int count, char **arguments)
{
    PEER_CHECK(count == 2, "usage: peer_sherwood ADDRESS");
    long_calls(arguments[1]);
    in_flight(arguments[1]);
    several_connections(arguments[1]);
    peer_ok("all");
    return 0;
}
