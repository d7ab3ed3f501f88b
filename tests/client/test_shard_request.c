/* SPDX-License-Identifier: MIT
 *
 * test_shard_request.c - splitting random requests among shards, again and again, and joining the
 * answers: every key comes to the owner of its slot, in order, and every answer back to its key.
 */
#include "client/shard_request.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/random.h"

#define KEYS_MAX 3000
#define SHARDS_MAX 9

static struct sw_topology topology;
static uint8_t keys[KEYS_MAX * 8], values[KEYS_MAX * 40], previous[KEYS_MAX * 40];
static uint64_t found[(KEYS_MAX + 63) / 64];
static uint64_t times[KEYS_MAX];

static void draw_owners(struct random *state)
{
    topology.shard_count = 1 + (unsigned)(random_next(state) % SHARDS_MAX);
    for (unsigned slot = 0; slot < SW_SLOTS; slot++) {
        topology.owner[slot] = (uint16_t)(random_next(state) % topology.shard_count);
    }
}

static uint64_t key_of(const uint8_t *at, uint32_t bytes)
{
    uint64_t key = 0;
    memcpy(&key, at, bytes);
    return key;
}

/* The answers of a part: a value made of the operand, and found if the key is odd. */
static void answer(const struct sw_client_cluster_request *request,
                   struct sw_client_shard_request *part)
{
    cr_assert(sw_client_shard_request_reserve_answers(part));
    memset(part->found, 0, sw_found_bytes(part->count));
    for (uint32_t i = 0; i < part->count; i++) {
        const uint8_t *operand = part->values + (size_t)i * request->value_bytes;
        uint8_t *out = part->previous + (size_t)i * request->value_bytes;
        uint64_t key = key_of(part->keys + (size_t)i * request->key_bytes, request->key_bytes);
        unsigned slot = sw_slot_of_u64(sw_slot_tables(), key);
        cr_assert_eq(topology.owner[slot], part->shard);
        for (uint32_t b = 0; b < request->value_bytes; b++) {
            out[b] = (uint8_t)~operand[b];
        }
        part->found[i / 64] |= (key & 1) << (i % 64);
    }
    part->state = SW_CLIENT_SHARD_REQUEST_DONE;
    request->parts[0].request->open--;
}

/* Operations on a key are in one part, in their order: the operands of each part are those of its
 * keys, as the caller gave them, and ascend, since they begin with the place of their key. */
static void check_order(const struct sw_client_cluster_request *request,
                        const struct sw_client_shard_request *part)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < part->count; i++) {
        uint32_t place = 0;
        memcpy(&place, part->values + (size_t)i * request->value_bytes, sizeof(place));
        cr_assert(i == 0 || place > last, "the order was not kept");
        cr_assert(request->details.times_ms == NULL || part->times_ms[i] == times[place], "time %u",
                  i);
        cr_assert_eq(memcmp(part->keys + (size_t)i * request->key_bytes,
                            keys + (size_t)place * request->key_bytes, request->key_bytes),
                     0);
        last = place;
    }
}

/* Answers all parts that wait, or some of them. */
static void answer_some(struct sw_client_cluster_request *request, bool all, struct random *state)
{
    for (uint32_t s = 0; s < request->parts_count; s++) {
        struct sw_client_shard_request *part = &request->parts[s];
        if (part->state == SW_CLIENT_SHARD_REQUEST_WAITING &&
            (all || random_next(state) % 3 == 0)) {
            check_order(request, part);
            answer(request, part);
        }
    }
}

/* All others were refused, and are split by the topology that there is now. */
static void split_all_again(struct sw_client_cluster_request *request)
{
    const uint32_t parts = request->parts_count;
    uint32_t places[SHARDS_MAX], slot = 0;
    for (uint32_t s = 0; s < parts; s++) {
        if (request->parts[s].state == SW_CLIENT_SHARD_REQUEST_WAITING) {
            cr_assert_eq(sw_client_split_again(request, s, &topology, places, &slot), SHERWOOD_OK);
        }
    }
}

static void draw_request(struct sw_client_cluster_request *request, struct sherwood_piece *pieces,
                         struct random *state)
{
    uint32_t at = 0;
    request->pieces_count = 1 + (uint32_t)(random_next(state) % 3);
    for (uint32_t p = 0; p < request->pieces_count; p++) {
        uint32_t count = 1 + (uint32_t)(random_next(state) % (KEYS_MAX / 3));
        pieces[p] = (struct sherwood_piece){keys + (size_t)at * request->key_bytes,
                                            values + (size_t)at * request->value_bytes,
                                            previous + (size_t)at * request->value_bytes, count};
        at += count;
    }
    request->count = at;
    request->pieces = pieces;
    for (uint32_t i = 0; i < at; i++) {
        uint64_t key = random_next(state) >> (random_next(state) % 64);
        memcpy(keys + (size_t)i * request->key_bytes, &key, request->key_bytes);
        memset(values + (size_t)i * request->value_bytes, (int)i, request->value_bytes);
        memcpy(values + (size_t)i * request->value_bytes, &i, sizeof(i));
        times[i] = random_next(state);
    }
    request->details.times_ms = random_next(state) % 2 == 0 ? NULL : times;
}

Test(shard_request, what_is_split_is_joined)
{
    static const uint32_t widths[][2] = {{4, 4}, {8, 8}, {4, 8}, {8, 4}, {8, 40}};
    struct random state = random_of(0);
    struct sw_client_cluster_request *requests[5] = {NULL};
    for (int round = 0; round < 1000; round++) {
        struct sherwood_piece pieces[3];
        uint32_t slot = 0;
        struct sw_client_cluster_request *request = requests[round % 5];
        if (request == NULL) {
            request = requests[round % 5] = calloc(1, sizeof(*request));
        }
        request->operation = SHERWOOD_SET;
        request->key_bytes = widths[round % 5][0];
        request->value_bytes = request->operand_bytes = request->answer_bytes =
            widths[round % 5][1];
        request->open = 0;
        request->answers_found = random_next(&state) % 4 == 0 ? NULL : found;
        draw_owners(&state);
        draw_request(request, pieces, &state);
        bool drops = random_next(&state) % 4 == 0;
        pieces[0].previous = drops ? NULL : pieces[0].previous;
        memset(previous, 0, sizeof(previous));
        cr_assert_eq(sw_client_split(request, &topology, &slot), SHERWOOD_OK);
        for (uint32_t refusals = (uint32_t)(random_next(&state) % 4); request->open > 0;
             refusals--) {
            answer_some(request, refusals == 0, &state);
            if (refusals > 0) {
                draw_owners(&state);
                split_all_again(request);
            }
        }
        sw_client_join(request);
        for (uint32_t i = 0; i < request->count; i++) {
            const uint8_t *operand = values + (size_t)i * request->value_bytes;
            const uint8_t *got = previous + (size_t)i * request->value_bytes;
            bool kept = i >= pieces[0].count || !drops;
            for (uint32_t b = 0; b < request->value_bytes; b++) {
                cr_assert_eq(got[b], kept ? (uint8_t)~operand[b] : 0, "value %u", i);
            }
            uint64_t key = key_of(keys + (size_t)i * request->key_bytes, request->key_bytes);
            cr_assert(request->answers_found == NULL || sherwood_found(found, i) == (key & 1));
        }
    }
    for (int i = 0; i < 5; i++) {
        sw_client_cluster_request_free(requests[i]);
    }
}

Test(shard_request, a_slot_without_an_owner_is_named)
{
    struct sw_client_cluster_request *request = calloc(1, sizeof(*request));
    uint64_t key = 42; /* of slot 8000 */
    uint32_t slot = 0;
    topology.shard_count = 1;
    memset(topology.owner, 0, sizeof(topology.owner));
    topology.owner[8000] = SW_TOPOLOGY_NOBODY;
    struct sherwood_piece piece = {&key, &key, NULL, 1};
    request->operation = SHERWOOD_SET;
    request->key_bytes = request->value_bytes = request->operand_bytes = request->answer_bytes = 8;
    request->pieces = &piece;
    request->pieces_count = request->count = 1;
    cr_assert_eq(sw_client_split(request, &topology, &slot), SHERWOOD_E_SHARD);
    cr_assert_eq(slot, 8000);
    cr_assert_eq(request->open, 0);
    sw_client_cluster_request_free(request);
}
