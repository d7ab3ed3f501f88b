/* SPDX-License-Identifier: MIT
 *
 * peer_engines.c - drives a daemon of any engine with libsherwood: operations work on every key,
 * and a cache takes more keys than it has slots without an error. test_matrix.py tests what an
 * engine lacks. peer_engines ADDRESS ENGINE|rows
 */
#include <string.h>

#include "client/sherwood.h"
#include "tests/integration/peer.h"

#define KEYS 2000
#define VALUE_BYTES_MAX 4096
/* Frames in flight at once. */
#define FRAMES 8

struct peer {
    struct sherwood *client;
    const struct sherwood_server *server;
    bool is_cache;
    bool has_bytes; /* its values: a cache, or rows */
};

/* The value of key number `i` of generation `round`, every byte of it. */
static void make_value(const struct peer *peer, uint64_t i, uint64_t round, uint8_t *out)
{
    uint32_t bytes = peer->server->value_bytes, from = 0;
    if (peer->server->value_format == SHERWOOD_VALUES_STRING) {
        uint32_t length = (uint32_t)((i + round) % (bytes - 3));
        memset(out, 0, bytes);
        memcpy(out, &length, sizeof(length));
        from = sizeof(length);
        bytes = from + length;
    }
    for (uint32_t k = from; k < bytes; k++) {
        out[k] = (uint8_t)(peer_key(i * 31 + round) >> (k % 8 * 8)) ^ (uint8_t)(k / 8);
    }
}

static void check_value(const struct peer *peer, uint64_t i, uint64_t round, const uint8_t *got)
{
    uint8_t wanted[VALUE_BYTES_MAX];
    make_value(peer, i, round, wanted);
    PEER_CHECK(memcmp(got, wanted, peer->server->value_bytes) == 0, "value of key %llu",
               (unsigned long long)i);
}

static void put_key(const struct peer *peer, void *keys, size_t at, uint64_t i)
{
    uint64_t key = peer_key(i);
    memcpy((uint8_t *)keys + at * peer->server->key_bytes, &key, peer->server->key_bytes);
}

struct arrays {
    uint8_t *keys, *values, *previous;
    uint64_t *found;
};

/* Keys from number `first` on, with their values of a generation. */
static struct arrays make_arrays(const struct peer *peer, uint64_t first, size_t count,
                                 uint64_t round)
{
    size_t bytes = peer->server->value_bytes;
    struct arrays arrays = {calloc(count, 8), calloc(count, bytes), calloc(count, bytes),
                            calloc(sherwood_found_words(count), 8)};
    PEER_CHECK(arrays.keys && arrays.values && arrays.previous && arrays.found, "memory");
    for (size_t i = 0; i < count; i++) {
        put_key(peer, arrays.keys, i, first + i);
        make_value(peer, first + i, round, arrays.values + i * bytes);
    }
    return arrays;
}

static void free_arrays(struct arrays *arrays)
{
    free(arrays->keys);
    free(arrays->values);
    free(arrays->previous);
    free(arrays->found);
}

static void run_operation(const struct peer *peer, enum sherwood_operation operation,
                          struct arrays *arrays, size_t count)
{
    int status = sherwood_run(peer->client, operation, arrays->keys, arrays->values, count,
                              arrays->previous, arrays->found);
    PEER_CHECK(status == SHERWOOD_OK, "operation %d: %s", (int)operation,
               sherwood_error(peer->client));
}

/* Every key was there with its value of this generation, or (-1) was not there. */
static void check_all(const struct peer *peer, const struct arrays *arrays, size_t count,
                      int64_t round)
{
    size_t bytes = peer->server->value_bytes;
    static const uint8_t zeros[VALUE_BYTES_MAX];
    for (size_t i = 0; i < count; i++) {
        const uint8_t *got = arrays->previous + i * bytes;
        PEER_CHECK(sherwood_found(arrays->found, i) == (round >= 0), "key %zu", i);
        if (round >= 0) {
            check_value(peer, i, (uint64_t)round, got);
        } else {
            PEER_CHECK(memcmp(got, zeros, bytes) == 0, "an absent key %zu has a value", i);
        }
    }
}

/* Operations on both kinds of values: writes, conditional writes, reads, deletes. */
static void case_operations(const struct peer *peer)
{
    struct arrays first = make_arrays(peer, 0, KEYS, 1), second = make_arrays(peer, 0, KEYS, 2);
    PEER_CHECK(sherwood_clear(peer->client) == SHERWOOD_OK, "clear");
    run_operation(peer, SHERWOOD_SET_PRESENT, &first, KEYS);
    check_all(peer, &first, KEYS, -1);
    run_operation(peer, SHERWOOD_SET, &first, KEYS);
    check_all(peer, &first, KEYS, -1);
    run_operation(peer, SHERWOOD_GET, &first, KEYS);
    check_all(peer, &first, KEYS, 1);
    run_operation(peer, SHERWOOD_SET_ABSENT, &second, KEYS);
    check_all(peer, &second, KEYS, 1);
    run_operation(peer, SHERWOOD_GET, &second, KEYS);
    check_all(peer, &second, KEYS, 1);
    run_operation(peer, SHERWOOD_SET_PRESENT, &second, KEYS);
    check_all(peer, &second, KEYS, 1);
    run_operation(peer, SHERWOOD_DELETE, &second, KEYS);
    check_all(peer, &second, KEYS, 2);
    run_operation(peer, SHERWOOD_GET, &second, KEYS);
    check_all(peer, &second, KEYS, -1);
    free_arrays(&first);
    free_arrays(&second);
    peer_ok("every value of every key, written, kept, replaced and removed");
}

/* Several frames in flight. */
static void case_in_flight(const struct peer *peer)
{
    const size_t bytes = peer->server->value_bytes, key_bytes = peer->server->key_bytes;
    const uint32_t part = KEYS / FRAMES;
    struct arrays arrays = make_arrays(peer, 0, KEYS, 3);
    for (int pass = 0; pass < 2; pass++) {
        struct sherwood_request requests[FRAMES] = {0};
        memset(arrays.previous, 0xAA, KEYS * bytes);
        for (size_t f = 0; f < FRAMES; f++) {
            requests[f].size = sizeof(requests[f]);
            requests[f].operation = pass == 0 ? SHERWOOD_SET : SHERWOOD_GET;
            requests[f].count = part;
            requests[f].keys = arrays.keys + f * part * key_bytes;
            requests[f].values = arrays.values + f * part * bytes;
            requests[f].previous = arrays.previous + f * part * bytes;
            requests[f].flags = SHERWOOD_DELAY;
            PEER_CHECK(sherwood_submit(peer->client, &requests[f]) == SHERWOOD_OK, "submit: %s",
                       sherwood_error(peer->client));
        }
        for (size_t f = 0; f < FRAMES; f++) {
            int status = sherwood_wait(peer->client, &requests[f]);
            PEER_CHECK(status == SHERWOOD_OK, "wait: %s", sherwood_error(peer->client));
            PEER_CHECK(requests[f].hits == (pass == 0 ? 0 : part), "hits of frame %zu", f);
        }
    }
    for (size_t i = 0; i < KEYS; i++) {
        check_value(peer, i, 3, arrays.previous + i * bytes);
    }
    PEER_CHECK(sherwood_clear(peer->client) == SHERWOOD_OK, "clear");
    free_arrays(&arrays);
    peer_ok("values of frames in flight");
}

/* Scans: every key once, with its value. */
static void case_scan(const struct peer *peer)
{
    const size_t bytes = peer->server->value_bytes, key_bytes = peer->server->key_bytes;
    struct arrays arrays = make_arrays(peer, 0, KEYS, 4);
    bool *seen = calloc(KEYS, sizeof(*seen));
    uint64_t cursor = 0, total = 0;
    run_operation(peer, SHERWOOD_SET, &arrays, KEYS);
    do {
        uint32_t count = 0;
        int status =
            sherwood_scan(peer->client, &cursor, arrays.keys, arrays.previous, 100, &count);
        PEER_CHECK(status == SHERWOOD_OK, "scan: %s", sherwood_error(peer->client));
        for (uint32_t k = 0; k < count; k++) {
            uint64_t i = 0, key = 0;
            memcpy(&key, arrays.keys + k * key_bytes, key_bytes);
            while (i < KEYS && (key_bytes == 8 ? peer_key(i) : (uint32_t)peer_key(i)) != key) {
                i++;
            }
            PEER_CHECK(i < KEYS && !seen[i], "a key that was not set, or twice");
            seen[i] = true;
            check_value(peer, i, 4, arrays.previous + k * bytes);
        }
        total += count;
    } while (cursor != 0);
    PEER_CHECK(total == KEYS, "%llu keys", (unsigned long long)total);
    free(seen);
    free_arrays(&arrays);
    peer_ok("a scan has every key and value");
}

/* Four keys for each slot: no error, and every found value is right. */
static void case_full(const struct peer *peer)
{
    const size_t bytes = peer->server->value_bytes;
    uint64_t slots = peer->server->capacity_slots, hits = 0;
    struct sherwood_stats before, stats;
    PEER_CHECK(sherwood_clear(peer->client) == SHERWOOD_OK, "clear");
    PEER_CHECK(sherwood_stats(peer->client, &before, sizeof(before)) == SHERWOOD_OK, "stats");
    for (uint64_t first = 0; first < 4 * slots; first += KEYS) {
        struct arrays arrays = make_arrays(peer, first, KEYS, 5);
        run_operation(peer, SHERWOOD_SET, &arrays, KEYS);
        free_arrays(&arrays);
    }
    for (uint64_t first = 0; first < 4 * slots; first += KEYS) {
        struct arrays arrays = make_arrays(peer, first, KEYS, 5);
        run_operation(peer, SHERWOOD_GET, &arrays, KEYS);
        for (size_t i = 0; i < KEYS; i++) {
            if (sherwood_found(arrays.found, i)) {
                check_value(peer, first + i, 5, arrays.previous + i * bytes);
                hits++;
            }
        }
        free_arrays(&arrays);
    }
    PEER_CHECK(sherwood_stats(peer->client, &stats, sizeof(stats)) == SHERWOOD_OK, "stats");
    PEER_CHECK(hits == stats.occupied, "%llu found of %llu", (unsigned long long)hits,
               (unsigned long long)stats.occupied);
    PEER_CHECK(stats.occupied <= slots && stats.occupied > slots * 9 / 10, "%llu of %llu slots",
               (unsigned long long)stats.occupied, (unsigned long long)slots);
    PEER_CHECK(stats.inserted - before.inserted - (stats.evicted - before.evicted) == hits,
               "inserted %llu, evicted %llu", (unsigned long long)stats.inserted,
               (unsigned long long)stats.evicted);
    PEER_CHECK(stats.refused == 0, "refused %llu", (unsigned long long)stats.refused);
    peer_ok("a full cache evicts and never errs");
}

/* Any number of leading keys, around the borders of words and of pieces. */
static void case_prefix(const struct peer *peer)
{
    static const size_t wanted[] = {0, 1, 63, 64, 65, 127, 65535, 65536, 65537, 70000};
    const size_t count = 70000;
    uint8_t *keys = malloc(count * peer->server->key_bytes);
    struct arrays one = make_arrays(peer, 1U << 20, 1, 1);
    size_t present = 1;
    run_operation(peer, SHERWOOD_SET, &one, 1);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        for (size_t k = 0; k < count; k++) { /* one key is there, another one is not */
            put_key(peer, keys, k, k == wanted[i] ? 1U << 21 : 1U << 20);
        }
        PEER_CHECK(sherwood_prefix(peer->client, keys, count, &present) == SHERWOOD_OK, "%s",
                   sherwood_error(peer->client));
        PEER_CHECK(present == wanted[i], "%zu keys, not %zu", present, wanted[i]);
    }
    PEER_CHECK(sherwood_prefix(peer->client, keys, 0, &present) == SHERWOOD_OK && present == 0,
               "no keys");
    run_operation(peer, SHERWOOD_DELETE, &one, 1);
    free_arrays(&one);
    free(keys);
    peer_ok("how many leading keys are there");
}

int main(int argc, char **argv)
{
    struct peer peer = {0};
    char text[256] = "";
    PEER_CHECK(argc == 3, "usage: peer_engines ADDRESS ENGINE");
    int status = sherwood_connect_text(argv[1], NULL, &peer.client, text, sizeof(text));
    PEER_CHECK(status == SHERWOOD_OK, "connect %s: %s", argv[1], text);
    peer.server = sherwood_server(peer.client);
    bool rows = strcmp(argv[2], "rows") == 0;
    peer.is_cache = strcmp(argv[2], "cache") == 0;
    peer.has_bytes = peer.is_cache || rows;
    PEER_CHECK(strcmp(peer.server->engine, rows ? "robin_hood" : argv[2]) == 0, "the engine is %s",
               peer.server->engine);
    PEER_CHECK(peer.has_bytes == (peer.server->value_format != SHERWOOD_VALUES_INTEGER), "format");
    case_operations(&peer);
    case_in_flight(&peer);
    case_prefix(&peer);
    if (peer.has_bytes) {
        case_scan(&peer);
    }
    if (peer.is_cache) {
        case_full(&peer);
    }
    sherwood_close(peer.client);
    peer_ok("all");
    return 0;
}
