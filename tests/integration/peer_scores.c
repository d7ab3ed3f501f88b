/* SPDX-License-Identifier: MIT
 *
 * peer_scores.c - drives a cache of one bucket, policy custom, with libsherwood: calls of any
 * length with scores and evictions, ranges of scores, and requests in flight, against a model.
 *   peer_scores ADDRESS SEED
 */
#include <stdlib.h>
#include <string.h>

#include "client/sherwood.h"
#include "tests/integration/peer.h"

#define PEER_OK(client, call) PEER_CHECK((call) == SHERWOOD_OK, "%s", sherwood_error(client))

enum { SLOTS = 128, KEYS = 300, OPS = 700, VALUE = 16, ROUNDS = 300 };

struct entry {
    bool held;
    uint64_t score;
    uint32_t value[VALUE / 4];
};

struct peer {
    struct sherwood *client;
    uint64_t drawn;        /* numbers, from the seed on */
    uint64_t scores_given; /* no two scores are alike: a tie would go by slots */
    struct entry entries[KEYS];
    uint32_t held;
    /* of a call */
    uint64_t keys[OPS], scores[OPS], scores_out[OPS], evicted_keys[OPS], evicted_scores[OPS];
    uint32_t values[OPS][VALUE / 4], previous[OPS][VALUE / 4], evicted_values[OPS][VALUE / 4];
    uint64_t found[(OPS + 63) / 64], not_admitted[(OPS + 63) / 64];
    /* what must be */
    struct entry must_evict[OPS];
    uint64_t must_evict_keys[OPS];
    uint32_t must_count, must_turn_away;
};

static const struct {
    enum sherwood_operation operation;
    bool values, inserts, writes, adds, uses;
} kinds[] = {
    {SHERWOOD_SET, true, true, true, false, true},
    {SHERWOOD_SET_ABSENT, true, true, false, false, false},
    {SHERWOOD_SET_PRESENT, true, false, true, false, true},
    {SHERWOOD_GET, false, false, false, false, false},
    {SHERWOOD_PEEK, false, false, false, false, false},
    {SHERWOOD_DELETE, false, false, false, false, false},
    {SHERWOOD_FIND_OR_INSERT, true, true, false, false, true},
    {SHERWOOD_SET_SCORE, false, false, false, false, true},
    {SHERWOOD_SET_VALUE, true, false, true, false, false},
    {SHERWOOD_ADD_U32, true, true, false, true, true},
    {SHERWOOD_ADD_PRESENT_U32, true, false, false, true, true},
};

static uint64_t below(struct peer *peer, uint64_t limit)
{
    return peer_key(peer->drawn++) % limit;
}

/* A newcomer; false if it is turned away. */
static bool enter(struct peer *peer, uint32_t i)
{
    struct entry *entry = &peer->entries[peer->keys[i]];
    if (peer->held == SLOTS) {
        struct entry *lowest = NULL;
        for (uint32_t k = 0; k < KEYS; k++) {
            struct entry *other = &peer->entries[k];
            lowest =
                other->held && (lowest == NULL || other->score < lowest->score) ? other : lowest;
        }
        if (peer->scores[i] < lowest->score) {
            return false;
        }
        lowest->held = false;
        peer->held--;
        peer->must_evict_keys[peer->must_count] = (uint64_t)(lowest - peer->entries);
        peer->must_evict[peer->must_count++] = *lowest;
    }
    entry->held = true;
    entry->score = peer->scores[i];
    memcpy(entry->value, peer->values[i], VALUE);
    peer->held++;
    return true;
}

/* Operation `i` of a call of kind `k`, carried out on the model and compared. */
static void apply(struct peer *peer, size_t k, uint32_t i, const struct sherwood_cache *cache,
                  bool wants_previous)
{
    static const uint32_t zeros[VALUE / 4];
    struct entry *entry = &peer->entries[peer->keys[i]];
    bool was = entry->held, turned_away = false;
    if (wants_previous) {
        PEER_CHECK(memcmp(peer->previous[i], was ? entry->value : zeros, VALUE) == 0,
                   "previous of operation %u", i);
    }
    if (kinds[k].operation == SHERWOOD_DELETE) {
        peer->held -= was;
        entry->held = false;
    } else if (!was && kinds[k].inserts) {
        turned_away = !enter(peer, i);
    } else if (was) {
        for (int w = 0; w < VALUE / 4; w++) {
            entry->value[w] = kinds[k].adds     ? entry->value[w] + peer->values[i][w]
                              : kinds[k].writes ? peer->values[i][w]
                                                : entry->value[w];
        }
        entry->score = kinds[k].uses ? peer->scores[i] : entry->score;
    }
    PEER_CHECK(sherwood_found(peer->found, i) == was, "found of operation %u", i);
    PEER_CHECK(cache->not_admitted == NULL || sherwood_found(peer->not_admitted, i) == turned_away,
               "not_admitted of operation %u", i);
    PEER_CHECK(cache->scores_out == NULL || peer->scores_out[i] == (entry->held ? entry->score : 0),
               "score of operation %u", i);
    peer->must_turn_away += turned_away;
}

static void compare_evicted(const struct peer *peer, const struct sherwood_cache *cache)
{
    uint32_t count = cache->evicted_keys != NULL ? peer->must_count : 0;
    PEER_CHECK(cache->evicted_count == count, "%llu evicted, not %u",
               (unsigned long long)cache->evicted_count, count);
    PEER_CHECK(cache->not_admitted_count == peer->must_turn_away, "%llu turned away",
               (unsigned long long)cache->not_admitted_count);
    for (uint32_t i = 0; i < count; i++) {
        PEER_CHECK(peer->evicted_keys[i] == peer->must_evict_keys[i], "evicted key %u", i);
        PEER_CHECK(cache->evicted_scores == NULL ||
                       peer->evicted_scores[i] == peer->must_evict[i].score,
                   "evicted score %u", i);
        PEER_CHECK(cache->evicted_values == NULL ||
                       memcmp(peer->evicted_values[i], peer->must_evict[i].value, VALUE) == 0,
                   "evicted value %u", i);
    }
}

/* One call or one request, of an operation and with wishes that are drawn. */
static void step(struct peer *peer, bool submits)
{
    struct sherwood_cache cache = SHERWOOD_CACHE_INIT;
    uint32_t most = submits ? sherwood_server(peer->client)->frame_ops_max : OPS;
    uint32_t count = 1 + (uint32_t)below(peer, most);
    size_t k = below(peer, 2) == 0 ? 0 : below(peer, sizeof(kinds) / sizeof(kinds[0]));
    uint32_t wishes = (uint32_t)below(peer, 64);
    for (uint32_t i = 0; i < count; i++) {
        peer->keys[i] = below(peer, KEYS);
        peer->scores[i] = ++peer->scores_given * 7919 % 1000003; /* a permutation */
        for (int w = 0; w < VALUE / 4; w++) {
            peer->values[i][w] = (uint32_t)below(peer, UINT64_MAX);
        }
    }
    cache.scores = peer->scores;
    cache.scores_out = wishes & 1 ? peer->scores_out : NULL;
    cache.not_admitted = wishes & 2 ? peer->not_admitted : NULL;
    cache.evicted_keys = wishes & 4 ? peer->evicted_keys : NULL;
    cache.evicted_values = (wishes & 12) == 12 ? peer->evicted_values : NULL;
    cache.evicted_scores = (wishes & 20) == 20 ? peer->evicted_scores : NULL;
    void *previous = wishes & 32 ? peer->previous : NULL;
    const void *values = kinds[k].values ? peer->values : NULL;
    if (submits) {
        struct sherwood_request request = SHERWOOD_REQUEST_INIT;
        request.operation = kinds[k].operation;
        request.count = count;
        request.keys = peer->keys;
        request.values = values;
        request.previous = previous;
        request.found = peer->found;
        request.cache = &cache;
        PEER_OK(peer->client, sherwood_submit(peer->client, &request));
        PEER_OK(peer->client, sherwood_wait(peer->client, &request));
    } else {
        PEER_OK(peer->client, sherwood_run_cache(peer->client, kinds[k].operation, peer->keys,
                                                 values, count, previous, peer->found, &cache));
    }
    peer->must_count = peer->must_turn_away = 0;
    for (uint32_t i = 0; i < count; i++) {
        apply(peer, k, i, &cache, previous != NULL);
    }
    compare_evicted(peer, &cache);
}

static uint32_t held_in(const struct peer *peer, uint64_t min, uint64_t max)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < KEYS; k++) {
        const struct entry *entry = &peer->entries[k];
        count += entry->held && entry->score >= min && entry->score <= max;
    }
    return count;
}

static void ranges(struct peer *peer)
{
    uint64_t matched = 0, cursor = 0, min = 300000, max = 900000;
    uint32_t held = held_in(peer, min, max), listed = 0;
    PEER_OK(peer->client, sherwood_count_scores(peer->client, min, max, &matched));
    PEER_CHECK(matched == held, "%llu counted, not %u", (unsigned long long)matched, held);
    do {
        uint32_t count;
        PEER_OK(peer->client,
                sherwood_scan_scores(peer->client, &cursor, min, max, peer->keys, peer->values,
                                     listed % 2 == 0 ? peer->scores : NULL, 50, &count));
        for (uint32_t i = 0; i < count; i++) {
            const struct entry *entry = &peer->entries[peer->keys[i]];
            PEER_CHECK(entry->held && entry->score >= min && entry->score <= max &&
                           memcmp(entry->value, peer->values[i], VALUE) == 0 &&
                           (listed % 2 != 0 || entry->score == peer->scores[i]),
                       "a scanned entry");
        }
        listed += count;
    } while (cursor != 0);
    PEER_CHECK(listed == held, "%u scanned, not %u", listed, held);
    PEER_OK(peer->client, sherwood_erase_scores(peer->client, min, max, &matched));
    PEER_CHECK(matched == held, "%llu erased, not %u", (unsigned long long)matched, held);
    for (uint32_t k = 0; k < KEYS; k++) {
        struct entry *entry = &peer->entries[k];
        entry->held = entry->held && (entry->score < min || entry->score > max);
    }
    peer->held -= held;
    PEER_OK(peer->client, sherwood_count_scores(peer->client, 0, UINT64_MAX, &matched));
    PEER_CHECK(matched == peer->held, "%llu are left", (unsigned long long)matched);
}

int main(int argc, char **argv)
{
    PEER_CHECK(argc == 3, "usage: peer_scores ADDRESS SEED");
    struct peer *peer = calloc(1, sizeof(*peer));
    char text[512];
    peer->drawn = strtoull(argv[2], NULL, 10);
    PEER_CHECK(sherwood_connect_text(argv[1], NULL, &peer->client, text, sizeof(text)) ==
                   SHERWOOD_OK,
               "%s", text);
    PEER_CHECK(strcmp(sherwood_server(peer->client)->policy, "custom") == 0, "the policy");
    PEER_CHECK(sherwood_server(peer->client)->frame_bytes_max > 0, "frame_bytes_max");
    for (uint32_t round = 0; round < ROUNDS; round++) {
        step(peer, round % 4 == 3);
        if (round % 50 == 49) {
            ranges(peer);
        }
    }
    uint64_t epoch;
    PEER_CHECK(sherwood_epoch(peer->client, 0, &epoch) == SHERWOOD_E_REQUEST, "no epochs");
    sherwood_close(peer->client);
    free(peer);
    peer_ok("calls with scores and evictions");
    peer_ok("all");
    return 0;
}
