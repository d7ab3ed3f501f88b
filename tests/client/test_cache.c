/* SPDX-License-Identifier: MIT
 *
 * test_cache.c - what only a cache is given and asked for: arrays that make no sense are refused
 * before anything is sent, calls are cut to what a frame may have, and a reply that does not fit
 * what was asked ends the connection. What a server makes of it, tests/integration/test_scores.py
 * has.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "client/bounds.h"
#include "client/sherwood.h"
#include "tests/support/fake_server.h"

enum { COUNT = 512, VALUE = 8, OPS_MAX = 256 };

/* A server that replies with the requested arrays, all zeros. `spoil` may change a reply. */
struct cache {
    struct sw_fake_server server;
    const char *policy;
    uint64_t frame_bytes_max;
    void (*spoil)(struct sw_reply *reply);
    uint32_t evicted; /* of each frame */
    uint32_t frames;
    uint64_t bodies_most; /* of a request and its longest reply */
};

static struct cache cache;
static struct sherwood *client;
static uint64_t keys[COUNT], values[COUNT], scores[COUNT], scores_out[COUNT], evicted_keys[COUNT],
    evicted_scores[COUNT];

static bool greet(int fd)
{
    struct sw_request request;
    struct sw_reply reply = {.has_info = true,
                             .info = {.key_bytes = 8,
                                      .value_bytes = VALUE,
                                      .frame_ops_max = OPS_MAX,
                                      .requests_in_flight_max = 4,
                                      .frame_bytes_max = cache.frame_bytes_max}};
    if (!sw_fake_read(fd, &request, NULL, 0)) {
        return false;
    }
    reply.request_id = request.request_id;
    strncpy(reply.info.policy, cache.policy, sizeof(reply.info.policy) - 1);
    return sw_fake_reply(fd, &reply, NULL, 0);
}

static struct sw_reply reply_to(const struct sw_request *request)
{
    return (struct sw_reply){.request_id = request->request_id,
                             .count = request->count,
                             .key_bytes = 8,
                             .value_bytes = VALUE,
                             .has_values = request->want_values,
                             .lacks_found = request->declines_found,
                             .has_not_admitted = request->want_not_admitted,
                             .has_scores = request->want_scores,
                             .has_evicted = request->want_evicted,
                             .evicted_count = request->want_evicted != 0 ? cache.evicted : 0,
                             .not_admitted = 1};
}

static void serve(int fd, void *user)
{
    static uint8_t body[1 << 16], in[1 << 16];
    struct sw_request request;
    (void)user;
    if (!greet(fd)) {
        return;
    }
    while (sw_fake_read(fd, &request, in, sizeof(in))) {
        struct sw_reply reply = reply_to(&request);
        uint64_t longest = sw_request_layout(&request).bytes;
        reply.evicted_count = request.count;
        longest += sw_reply_layout(&reply, request.operation).bytes;
        cache.bodies_most = longest > cache.bodies_most ? longest : cache.bodies_most;
        cache.frames++;
        reply = reply_to(&request);
        struct sw_body_layout layout = sw_reply_layout(&reply, request.operation);
        memset(body, 0, sizeof(body));
        for (uint64_t i = 0; i < reply.evicted_count; i++) {
            uint64_t key = 1000 * cache.frames + i;
            memcpy(body + layout.evicted_keys + 8 * i, &key, 8);
        }
        if (cache.spoil != NULL) {
            cache.spoil(&reply);
        }
        sw_fake_reply(fd, &reply, body, sw_reply_layout(&reply, request.operation).bytes);
    }
}

static void open_cache(const char *policy, uint64_t frame_bytes_max)
{
    char text[512];
    cache.policy = policy;
    cache.frame_bytes_max = frame_bytes_max;
    cache.evicted = 3;
    sw_fake_start(&cache.server, serve, NULL);
    cr_assert_eq(sherwood_connect_text(cache.server.address, NULL, &client, text, sizeof(text)),
                 SHERWOOD_OK, "%s", text);
}

static void close_cache(void)
{
    sherwood_close(client);
    sw_fake_stop(&cache.server);
}

static int run_set(struct sherwood_cache *arrays, size_t count)
{
    return sherwood_run_cache(client, SHERWOOD_SET, keys, values, count, NULL, NULL, arrays);
}

static struct sherwood_cache all_arrays(void)
{
    struct sherwood_cache arrays = SHERWOOD_CACHE_INIT;
    arrays.scores = scores;
    arrays.scores_out = scores_out;
    arrays.evicted_keys = evicted_keys;
    arrays.evicted_scores = evicted_scores;
    return arrays;
}

Test(cache, arrays_that_make_no_sense)
{
    struct {
        struct sherwood_cache arrays;
        uint64_t later;
        uint8_t rest[SW_CLIENT_STRUCT_BYTES_MAX];
    } newer = {.arrays = all_arrays()};
    struct sherwood_cache arrays = all_arrays();
    open_cache("lfu", 0);
    cr_assert_str_eq(sherwood_server(client)->policy, "lfu");
    newer.arrays.size = SW_CLIENT_STRUCT_BYTES_MAX;
    cr_expect_eq(run_set(&newer.arrays, 9), SHERWOOD_OK, "%s", sherwood_error(client));
    newer.later = 1;
    cr_expect_eq(run_set(&newer.arrays, 9), SHERWOOD_E_INVALID);
    cr_expect_not_null(strstr(sherwood_error(client), "does not have is set"));
    newer.later = 0;
    newer.arrays.size = SW_CLIENT_STRUCT_BYTES_MAX + 1;
    cr_expect_eq(run_set(&newer.arrays, 9), SHERWOOD_E_INVALID, "larger than any version's");
    cr_expect_not_null(strstr(sherwood_error(client), "the field size is"));
    arrays.evicted_keys = NULL;
    cr_expect_eq(run_set(&arrays, 9), SHERWOOD_E_INVALID);
    cr_expect_not_null(strstr(sherwood_error(client), "need evicted_keys, which is NULL"));
    arrays = all_arrays();
    arrays.size = 0;
    cr_expect_eq(run_set(&arrays, 9), SHERWOOD_E_INVALID);
    cr_expect_not_null(strstr(sherwood_error(client), "SHERWOOD_CACHE_INIT"));
    cr_expect_eq(cache.frames, 1);
    close_cache();
}

Test(cache, a_server_without_scores)
{
    struct sherwood_cache arrays = all_arrays();
    open_cache("", 0);
    cr_expect_eq(run_set(&arrays, 9), SHERWOOD_E_INVALID);
    cr_expect_not_null(strstr(sherwood_error(client), "announces no eviction policy"));
    cr_expect_eq(run_set(NULL, 2), SHERWOOD_OK, "%s", sherwood_error(client));
    cr_expect_eq(cache.frames, 1);
    close_cache();
}

/* Entries that were evicted by the frames of a call follow each other, and counts add up. */
Test(cache, a_call_of_several_frames)
{
    struct sherwood_cache arrays = all_arrays();
    open_cache("custom", 0);
    arrays.evicted_count = arrays.not_admitted_count = 77;
    cr_assert_eq(run_set(&arrays, 2 * OPS_MAX), SHERWOOD_OK, "%s", sherwood_error(client));
    cr_expect_eq(cache.frames, 2);
    cr_expect_eq(arrays.evicted_count, 6);
    cr_expect_eq(arrays.not_admitted_count, 2);
    for (uint64_t i = 0; i < 6; i++) {
        cr_expect_eq(evicted_keys[i], 1000 * (1 + i / 3) + i % 3, "%llu", (unsigned long long)i);
    }
    close_cache();
}

/* Frames whose longest reply would pass the server's bound are cut; those without extra arrays are
 * as long as they may be. */
Test(cache, frames_that_would_be_too_long)
{
    static const uint64_t bounds[] = {1, 5000, 9000, 12000, 100000};
    static const uint32_t frames[] = {8, 8, 4, 3, 2};
    for (size_t b = 0; b < sizeof(bounds) / sizeof(bounds[0]); b++) {
        struct sherwood_cache arrays = all_arrays();
        cache.frames = 0;
        cache.bodies_most = 0;
        open_cache("custom", bounds[b]);
        cr_assert_eq(run_set(&arrays, COUNT), SHERWOOD_OK, "%s", sherwood_error(client));
        if (b > 0) { /* with less than 64 keys need the server refuses, and says why */
            cr_expect_leq(cache.bodies_most, bounds[b]);
        }
        cr_expect_eq(cache.frames, frames[b], "%u", cache.frames);
        cache.frames = 0;
        cr_assert_eq(run_set(NULL, COUNT), SHERWOOD_OK);
        cr_expect_eq(cache.frames, 2);
        close_cache();
    }
}

static void no_scores(struct sw_reply *reply)
{
    reply->has_scores = false;
}
static void more_scores(struct sw_reply *reply)
{
    reply->has_not_admitted = true;
}
static void no_evicted_scores(struct sw_reply *reply)
{
    reply->has_evicted = SW_FRAME_EVICTED_KEYS;
}
static void too_many_evicted(struct sw_reply *reply)
{
    reply->evicted_count = reply->count + 1;
}
static void too_many_turned_away(struct sw_reply *reply)
{
    reply->not_admitted = reply->count + 1;
}

/* The first frame is refused, with a count that no refusal has; the second one is taken. What it
 * evicts belongs at the beginning of the caller's arrays. */
static void first_is_refused(struct sw_reply *reply)
{
    if (cache.frames == 1) {
        *reply = (struct sw_reply){.request_id = reply->request_id,
                                   .status = SW_REPLY_OUT_OF_MEMORY,
                                   .count = 99,
                                   .hits = 99,
                                   .overflows = 99,
                                   .evicted_count = 100000,
                                   .not_admitted = 99};
    }
}

Test(cache, a_refusal_counts_nothing)
{
    static uint64_t room[2 * OPS_MAX + 200000];
    struct sherwood_cache arrays = SHERWOOD_CACHE_INIT;
    arrays.evicted_keys = room;
    cache.spoil = first_is_refused;
    open_cache("lru", 0);
    cr_expect_eq(run_set(&arrays, 2 * OPS_MAX), SHERWOOD_E_FULL, "%s", sherwood_error(client));
    cr_expect_eq(arrays.evicted_count, 3);
    cr_expect_eq(arrays.not_admitted_count, 1);
    for (size_t i = 0; i < sizeof(room) / sizeof(room[0]); i++) {
        cr_assert_eq(room[i], i < 3 ? 2000 + i : 0, "entry %zu", i);
    }
    close_cache();
}

/* Nothing is evicted by a read, so nothing is received for it. */
Test(cache, a_read_that_evicts)
{
    struct sherwood_cache arrays = all_arrays();
    open_cache("custom", 0);
    arrays.scores = NULL;
    cr_expect_eq(sherwood_run_cache(client, SHERWOOD_PEEK, keys, NULL, 20, values, NULL, &arrays),
                 SHERWOOD_E_PROTOCOL, "%s", sherwood_error(client));
    close_cache();
}

Test(cache, replies_that_do_not_fit)
{
    void (*const spoils[])(struct sw_reply *) = {no_scores, more_scores, no_evicted_scores,
                                                 too_many_evicted, too_many_turned_away};
    for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
        struct sherwood_cache arrays = all_arrays();
        cache.spoil = spoils[i];
        open_cache("lfu", 0);
        cr_expect_eq(run_set(&arrays, 20), SHERWOOD_E_PROTOCOL, "case %zu: %s", i,
                     sherwood_error(client));
        close_cache();
    }
}
