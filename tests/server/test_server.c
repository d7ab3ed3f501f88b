/* SPDX-License-Identifier: MIT
 *
 * test_server.c - whole servers in this process, driven by libsherwood from several threads: order,
 * exact sums over loops, stopping under load, two at once. Also run under ThreadSanitizer.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/sherwood.h"
#include "server/config/options.h"
#include "server/observe/log.h"
#include "server/server.h"
#include "tests/support/threads.h"

enum { KEYS = 3000, THREADS = 4, ROUNDS = 20 };

static void set_up(void)
{
    signal(SIGPIPE, SIG_IGN);
    sw_log_init(SW_LOG_ERROR);
}

TestSuite(server, .init = set_up, .timeout = 60);

/* A small server on a port of the kernel's choice, with three loops. */
static struct sw_server *start_sized(uint32_t key_bits, uint64_t capacity, uint64_t max_capacity,
                                     char *address, size_t room)
{
    struct sw_config config;
    struct sw_server *server = NULL;
    struct sw_server_stats snapshot;
    sw_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.key_bits = key_bits;
    config.capacity = capacity;
    config.max_capacity = max_capacity;
    config.arena_bytes = 8 << 20;
    config.frame_ops_max = 1 << 14;
    config.round_ops_max = 1 << 14;
    config.resp_arguments_max = 1 << 14;
    config.loops = 3;
    config.port = 0;
    config.http_port = 0;
    sw_config_fit(&config);
    cr_assert_eq(sw_server_start(&config, NULL, &server), 0);
    sw_server_snapshot(server, &snapshot);
    cr_assert(snapshot.ready);
    cr_assert_neq(snapshot.tcp_port, 0);
    snprintf(address, room, "127.0.0.1:%u", snapshot.tcp_port);
    return server;
}

static struct sw_server *start(uint32_t key_bits, char *address, size_t room)
{
    return start_sized(key_bits, 1 << 16, 0, address, room);
}

static void stop(struct sw_server *server)
{
    sw_server_stop(server);
    cr_assert_eq(sw_server_join(server), 0);
}

static struct sherwood *connect_to(const char *address)
{
    struct sherwood *client = NULL;
    char text[256] = "";
    cr_assert_eq(sherwood_connect_text(address, NULL, &client, text, sizeof(text)), SHERWOOD_OK,
                 "%s", text);
    return client;
}

struct adder {
    const char *address;
};

/* Adds 1 to every key, ROUNDS times, on a connection of its own. */
static void *add_ones(void *argument)
{
    struct adder *adder = argument;
    struct sherwood *client = connect_to(adder->address);
    uint64_t *keys = calloc(2 * KEYS, sizeof(*keys));
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = i;
        keys[KEYS + i] = 1;
    }
    for (int round = 0; round < ROUNDS; round++) {
        cr_assert_eq(sherwood_run(client, SHERWOOD_SUM, keys, keys + KEYS, KEYS, NULL, NULL),
                     SHERWOOD_OK, "%s", sherwood_error(client));
    }
    free(keys);
    sherwood_close(client);
    return NULL;
}

Test(server, sums_of_many_connections_are_exact)
{
    char address[64];
    struct sw_server *server = start(64, address, sizeof(address));
    struct adder adders[THREADS];
    static uint64_t keys[KEYS], values[KEYS], found[KEYS / 64 + 1];
    for (int t = 0; t < THREADS; t++) {
        adders[t].address = address;
    }
    threads_run(THREADS, add_ones, adders, sizeof(adders[0]));
    struct sherwood *client = connect_to(address);
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = i;
    }
    cr_assert_eq(sherwood_get(client, keys, KEYS, values, found), SHERWOOD_OK);
    for (uint64_t i = 0; i < KEYS; i++) {
        cr_assert(sherwood_found(found, i), "key %llu is missing", (unsigned long long)i);
        cr_assert_eq(values[i], (uint64_t)THREADS * ROUNDS, "key %llu", (unsigned long long)i);
    }
    struct sherwood_stats stats;
    cr_assert_eq(sherwood_stats(client, &stats, sizeof(stats)), SHERWOOD_OK);
    cr_assert_eq(stats.occupied, (uint64_t)KEYS);
    cr_assert_eq(stats.inserted, (uint64_t)KEYS);
    cr_assert_eq(stats.inserted + stats.updated, (uint64_t)KEYS * THREADS * ROUNDS);
    cr_assert_eq(stats.get.hits, (uint64_t)KEYS);
    cr_assert_eq(stats.get.misses, 0);
    sherwood_close(client);
    stop(server);
}

/* Frames in flight of one connection take effect in the order they were submitted. */
Test(server, frames_of_a_connection_keep_their_order)
{
    enum { FRAMES = 40 };
    char address[64];
    struct sw_server *server = start(64, address, sizeof(address));
    struct sherwood *client = connect_to(address);
    uint64_t keys[64], values[FRAMES][64], previous[FRAMES][64];
    struct sherwood_request requests[FRAMES];
    memset(requests, 0, sizeof(requests));
    for (uint64_t i = 0; i < 64; i++) {
        keys[i] = i * i;
    }
    for (uint64_t f = 0; f < FRAMES; f++) {
        for (uint64_t i = 0; i < 64; i++) {
            values[f][i] = 1000 * f + i;
        }
        requests[f].size = sizeof(requests[f]);
        requests[f].operation = SHERWOOD_SET;
        requests[f].count = 64;
        requests[f].keys = keys;
        requests[f].values = values[f];
        requests[f].previous = previous[f];
        cr_assert_eq(sherwood_submit(client, &requests[f]), SHERWOOD_OK);
    }
    for (uint64_t f = 0; f < FRAMES; f++) {
        cr_assert_eq(sherwood_wait(client, &requests[f]), SHERWOOD_OK);
        for (uint64_t i = 0; i < 64; i++) {
            cr_assert_eq(previous[f][i], f == 0 ? 0 : values[f - 1][i], "frame %llu key %llu",
                         (unsigned long long)f, (unsigned long long)i);
        }
    }
    sherwood_close(client);
    stop(server);
}

enum { GROW_FRAMES = 60, GROW_FRAME_KEYS = 128, GROW_KEYS = GROW_FRAMES * GROW_FRAME_KEYS };

struct filler {
    const char *address;
    uint64_t first; /* of the keys it sets; key k gets the value 3 k + 1 */
    pthread_t thread;
};

/* Sets GROW_KEYS keys, a frame at a time, and reads every key so far after each tenth frame. */
static void *fill(void *argument)
{
    struct filler *self = argument;
    struct sherwood *client = connect_to(self->address);
    uint64_t *keys = calloc(3 * (size_t)GROW_KEYS, sizeof(*keys));
    uint64_t *values = keys + GROW_KEYS;
    uint64_t *got = values + GROW_KEYS;
    uint64_t found[GROW_KEYS / 64];
    for (uint64_t i = 0; i < GROW_KEYS; i++) {
        keys[i] = self->first + i;
        values[i] = 3 * keys[i] + 1;
    }
    for (size_t end = GROW_FRAME_KEYS; end <= GROW_KEYS; end += GROW_FRAME_KEYS) {
        size_t at = end - GROW_FRAME_KEYS;
        cr_assert_eq(sherwood_set(client, keys + at, values + at, GROW_FRAME_KEYS), SHERWOOD_OK,
                     "%s", sherwood_error(client));
        if (end / GROW_FRAME_KEYS % 10 != 0) {
            continue;
        }
        cr_assert_eq(sherwood_get(client, keys, end, got, found), SHERWOOD_OK);
        for (size_t i = 0; i < end; i++) {
            cr_assert(sherwood_found(found, i), "key %llu is missing", (unsigned long long)keys[i]);
            cr_assert_eq(got[i], values[i], "key %llu", (unsigned long long)keys[i]);
        }
    }
    free(keys);
    sherwood_close(client);
    return NULL;
}

/* While clients on all loops fill the table, it grows, another client makes it as small as it can
 * be and large again, and the figures are read: nothing is lost at any time. */
Test(server, grows_and_is_resized_under_load)
{
    char address[64];
    struct sw_server *server = start_sized(64, 256, 1 << 18, address, sizeof(address));
    struct filler fillers[THREADS];
    struct sw_server_stats snapshot;
    for (uint64_t t = 0; t < THREADS; t++) {
        fillers[t].address = address;
        fillers[t].first = t << 32;
        cr_assert_eq(pthread_create(&fillers[t].thread, NULL, fill, &fillers[t]), 0);
    }
    struct sherwood *client = connect_to(address);
    struct sherwood_stats stats;
    uint64_t now = 0, resizes = 0;
    do {
        cr_assert_eq(sherwood_resize(client, resizes % 2 == 0 ? 1 : 1 << 17, &now), SHERWOOD_OK,
                     "%s", sherwood_error(client));
        resizes++;
        sw_server_snapshot(server, &snapshot);
        cr_assert_eq(sherwood_stats(client, &stats, sizeof(stats)), SHERWOOD_OK);
    } while (stats.occupied < (uint64_t)THREADS * GROW_KEYS);
    for (int t = 0; t < THREADS; t++) {
        pthread_join(fillers[t].thread, NULL);
    }
    cr_assert_eq(stats.resizes, resizes);
    cr_assert_eq(stats.resize_failures, 0);
    cr_assert_eq(stats.refused, 0);
    cr_assert_eq(stats.max_capacity_slots, 1 << 18);
    cr_assert_eq(sherwood_resize(client, 1, &now), SHERWOOD_OK);
    cr_assert_eq(sherwood_stats(client, &stats, sizeof(stats)), SHERWOOD_OK);
    cr_assert_eq(stats.capacity_slots, now);
    cr_assert_geq(stats.occupied_max, stats.occupied);
    cr_assert_lt(now, (uint64_t)THREADS * GROW_KEYS * 5 / 4, "RESIZE 1 leaves %llu slots",
                 (unsigned long long)now);
    sw_server_snapshot(server, &snapshot);
    cr_assert_eq(snapshot.info.capacity_slots, now);
    sherwood_close(client);
    stop(server);
}

/* Without max-capacity a table is refused at capacity, can be made smaller, and grows back. */
Test(server, without_max_capacity_the_first_capacity_is_the_most)
{
    enum { CAPACITY = 1024 };
    char address[64];
    struct sw_server *server = start_sized(32, CAPACITY, 0, address, sizeof(address));
    struct sherwood *client = connect_to(address);
    struct sherwood_stats stats;
    uint64_t now = 0, found[CAPACITY / 64];
    uint32_t keys[CAPACITY], values[CAPACITY];
    for (uint32_t i = 0; i < CAPACITY; i++) {
        keys[i] = i;
        values[i] = i + 7;
    }
    cr_assert_eq(sherwood_resize(client, CAPACITY + 1, &now), SHERWOOD_E_REQUEST);
    cr_assert_not_null(strstr(sherwood_error(client),
                              "choose 1 to 1024, the larger of capacity and "
                              "max-capacity"));
    cr_assert_eq(sherwood_resize(client, 0, &now), SHERWOOD_E_REQUEST);
    cr_assert_eq(sherwood_resize(client, 64, NULL), SHERWOOD_OK);
    cr_assert_eq(sherwood_set(client, keys, values, 800), SHERWOOD_OK);
    cr_assert_eq(sherwood_set(client, keys + 800, values + 800, 200), SHERWOOD_E_FULL);
    cr_assert_eq(sherwood_stats(client, &stats, sizeof(stats)), SHERWOOD_OK);
    cr_assert_eq(stats.capacity_slots, 944, "a frame that fits at no size does not make it grow");
    cr_assert_eq(stats.occupied, 800);
    cr_assert_eq(sherwood_set(client, keys + 800, values + 800, 70), SHERWOOD_OK);
    cr_assert_eq(sherwood_set(client, keys + 870, values + 870, 1), SHERWOOD_E_FULL);
    cr_assert_eq(sherwood_stats(client, &stats, sizeof(stats)), SHERWOOD_OK);
    cr_assert_eq(stats.capacity_slots, CAPACITY);
    cr_assert_eq(stats.occupied, 870);
    cr_assert_eq(stats.growths, 2);
    memset(values, 0, sizeof(values));
    cr_assert_eq(sherwood_get(client, keys, CAPACITY, values, found), SHERWOOD_OK);
    for (uint32_t i = 0; i < CAPACITY; i++) {
        cr_assert_eq(sherwood_found(found, i), i < 870, "key %u", i);
        cr_assert_eq(values[i], i < 870 ? i + 7 : 0, "key %u", i);
    }
    sherwood_close(client);
    stop(server);
}

struct hammer {
    const char *address;
    pthread_t thread;
    unsigned *connected; /* atomic; of all hammers */
    uint64_t acknowledged;
};

/* Adds 1 to one key until the server ends; counts the acknowledged additions. */
static void *hammer(void *argument)
{
    struct hammer *self = argument;
    struct sherwood *client = connect_to(self->address);
    __atomic_add_fetch(self->connected, 1, __ATOMIC_RELEASE);
    uint64_t key = 7;
    uint64_t one = 1;
    while (sherwood_run(client, SHERWOOD_SUM, &key, &one, 1, NULL, NULL) == SHERWOOD_OK) {
        self->acknowledged++;
    }
    sherwood_close(client);
    return NULL;
}

Test(server, stops_under_load)
{
    char address[64];
    struct sw_server *server = start(64, address, sizeof(address));
    struct hammer hammers[THREADS];
    struct sw_server_stats before;
    unsigned connected = 0;
    memset(hammers, 0, sizeof(hammers));
    for (int t = 0; t < THREADS; t++) {
        hammers[t].address = address;
        hammers[t].connected = &connected;
        cr_assert_eq(pthread_create(&hammers[t].thread, NULL, hammer, &hammers[t]), 0);
    }
    do { /* a server that stops greets nobody, so all are connected before */
        sw_server_snapshot(server, &before);
    } while (before.stats.counters.by_class[SW_CLASS_UPSERT].operations < 500 ||
             __atomic_load_n(&connected, __ATOMIC_ACQUIRE) < THREADS);
    sw_server_stop(server);
    cr_assert_eq(sw_server_join(server), 0);
    uint64_t acknowledged = 0;
    for (int t = 0; t < THREADS; t++) {
        pthread_join(hammers[t].thread, NULL);
        acknowledged += hammers[t].acknowledged;
    }
    cr_assert_geq(acknowledged, 500 - THREADS);
}

Test(server, two_in_one_process_do_not_meet)
{
    char a[64], b[64];
    struct sw_server *first = start(64, a, sizeof(a));
    struct sw_server *second = start(32, b, sizeof(b));
    struct sherwood *to_first = connect_to(a);
    struct sherwood *to_second = connect_to(b);
    uint64_t key = 5, value = 1, found = 0;
    uint32_t small_key = 5, small_value = 2;
    cr_assert_eq(sherwood_server(to_first)->key_bytes, 8);
    cr_assert_eq(sherwood_server(to_second)->key_bytes, 4);
    cr_assert_eq(sherwood_set(to_first, &key, &value, 1), SHERWOOD_OK);
    cr_assert_eq(sherwood_get(to_second, &small_key, 1, &small_value, &found), SHERWOOD_OK);
    cr_assert_eq(found, 0);
    sherwood_close(to_first);
    sherwood_close(to_second);
    stop(first);
    stop(second);
}

/* Starting where another listens fails, with nothing left behind. */
Test(server, a_taken_port_is_an_error)
{
    char address[64];
    struct sw_server *server = start(64, address, sizeof(address));
    struct sw_server *other = NULL;
    struct sw_config config;
    sw_log_init((enum sw_log_level) - 1);
    sw_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.capacity = 1 << 16;
    config.arena_bytes = 64 << 20;
    sw_config_fit(&config);
    config.http_port = 0;
    config.port = (uint32_t)atoi(strchr(address, ':') + 1);
    cr_assert_neq(sw_server_start(&config, NULL, &other), 0);
    cr_assert_null(other);
    stop(server);
}
