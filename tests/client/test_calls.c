/* SPDX-License-Identifier: MIT
 *
 * test_calls.c - operations against a server that tells the truth: splitting, found bitmaps, both
 * widths, replies out of order, submit and wait, large frames both ways. Every key is checked.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/client/table_fixture.h"

static void open_table(uint32_t key_bytes, uint32_t value_bytes, uint64_t slots, uint32_t ops_max,
                       uint32_t in_flight, uint32_t reply_batch)
{
    sw_fake_table_init(&table, key_bytes, value_bytes, slots);
    start_table(0, ops_max, in_flight, reply_batch);
    connect_client();
}

static uint64_t narrow(uint64_t value, uint32_t bytes)
{
    return bytes == 4 ? (uint32_t)value : value;
}

static void put(uint8_t *array, uint32_t bytes, size_t i, uint64_t value)
{
    memcpy(array + i * bytes, &value, bytes);
}

static uint64_t at(const uint8_t *array, uint32_t bytes, size_t i)
{
    uint64_t value = 0;
    memcpy(&value, array + i * bytes, bytes);
    return value;
}

/* Sets the even keys below 2 * count, gets keys 0 .. count-1, compares each, and what lies behind
 * the arrays. */
static void round_trip(uint32_t kb, uint32_t vb, size_t count)
{
    uint8_t *keys = malloc(count * kb + 8);
    uint8_t *values = malloc(count * vb + 8);
    uint64_t *found = malloc((sherwood_found_words(count) + 1) * 8);
    for (size_t i = 0; i < count; i++) {
        put(keys, kb, i, 2 * i);
        put(values, vb, i, value_of(2 * i));
    }
    cr_assert_eq(sherwood_clear(client), SHERWOOD_OK);
    cr_assert_eq(sherwood_set(client, keys, values, count), SHERWOOD_OK);
    for (size_t i = 0; i < count; i++) {
        put(keys, kb, i, i);
    }
    memset(values, 0xAA, count * vb + 8);
    memset(found, 0xAA, (sherwood_found_words(count) + 1) * 8);
    cr_assert_eq(sherwood_get(client, keys, count, values, found), SHERWOOD_OK);
    for (size_t i = 0; i < count; i++) {
        bool expected = i % 2 == 0;
        cr_assert_eq(sherwood_found(found, i), expected, "found of key %zu of %zu", i, count);
        uint64_t value = expected ? narrow(value_of(i), vb) : 0;
        cr_assert_eq(at(values, vb, i), value, "value of key %zu of %zu", i, count);
    }
    for (size_t i = count; i < sherwood_found_words(count) * 64; i++) {
        cr_assert_not(sherwood_found(found, i), "unused bit %zu of %zu", i, count);
    }
    cr_assert_eq(found[sherwood_found_words(count)], 0xAAAAAAAAAAAAAAAAU, "bitmap's end");
    cr_assert_eq(at(values + count * vb, 8, 0), 0xAAAAAAAAAAAAAAAAU, "values' end");
    free(keys);
    free(values);
    free(found);
}

Test(calls, split_at_every_edge)
{
    static const struct {
        uint32_t key_bytes, value_bytes, ops_max, in_flight;
    } cases[] = {{8, 8, 64, 1},   {8, 8, 64, 3}, {8, 8, 100, 2},    {8, 8, 127, 16}, {4, 4, 128, 4},
                 {4, 8, 1000, 2}, {8, 4, 65, 7}, {8, 8, 1024, 300}, {4, 4, 4096, 16}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        uint32_t limit = cases[c].ops_max;
        size_t counts[] = {1,
                           2,
                           63,
                           64,
                           65,
                           limit - 1,
                           limit,
                           limit + 1,
                           limit + 63,
                           2 * limit - 1,
                           2 * limit,
                           2 * limit + 1,
                           5 * limit + 17,
                           4099};
        open_table(cases[c].key_bytes, cases[c].value_bytes, 1U << 16, limit, cases[c].in_flight,
                   0);
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
            round_trip(cases[c].key_bytes, cases[c].value_bytes, counts[i]);
        }
        close_table();
    }
}

/* Frames of a call: as few as the limit allows, cut at multiples of 64. */
Test(calls, frames_are_as_large_as_allowed)
{
    uint64_t keys[1000] = {0};
    open_table(8, 8, 1U << 12, 100, 16, 0);
    static const struct {
        size_t keys, frames;
    } cases[] = {{0, 0}, {1, 1}, {100, 1}, {101, 2}, {164, 2}, {165, 3}, {1000, 16}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t before = table.frames;
        cr_assert_eq(sherwood_get(client, keys, cases[i].keys, NULL, NULL), SHERWOOD_OK);
        cr_expect_eq(table.frames - before, cases[i].frames, "%zu keys: %zu frames", cases[i].keys,
                     (size_t)(table.frames - before));
    }
    close_table();
}

/* 4 Mi keys in frames of 1 Mi: 16 MiB out and 8 MiB back at a time; a server that answers while we
 * still send must not wait for us. The fake server writes its reply before it reads on, and its
 * socket buffer is far smaller. */
Test(calls, large_frames_do_not_deadlock, .timeout = 120)
{
    open_table(8, 8, 1U << 22, 1U << 19, 8, 0);
    round_trip(8, 8, (1U << 21) + 77);
    close_table();
}

Test(calls, every_operation)
{
    uint64_t key = 7;
    uint64_t previous = 99;
    uint64_t found = 0;
    static const struct {
        enum sherwood_operation operation;
        uint64_t operand, previous, after;
        bool found;
    } steps[] = {
        {SHERWOOD_SET_PRESENT, 5, 0, 0, false},
        {SHERWOOD_SET_ABSENT, 5, 0, 5, false},
        {SHERWOOD_SET_ABSENT, 6, 5, 5, true},
        {SHERWOOD_SET_PRESENT, 6, 5, 6, true},
        {SHERWOOD_SUM, UINT64_MAX, 6, 5, true},
        {SHERWOOD_MIN, 3, 5, 3, true},
        {SHERWOOD_MAX, 9, 3, 9, true},
        {SHERWOOD_INCREMENT, 1, 9, 10, true},
        {SHERWOOD_DECREMENT, 11, 10, 10, true},
        {SHERWOOD_DECREMENT, 10, 10, 0, true},
        {SHERWOOD_GET, 0, 0, 0, true},
        {SHERWOOD_SET, UINT64_MAX, 0, UINT64_MAX, true},
        {SHERWOOD_INCREMENT, 1, UINT64_MAX, UINT64_MAX, true},
    };
    open_table(8, 8, 64, 64, 2, 0);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        uint64_t stored;
        cr_assert_eq(
            sherwood_run(client, steps[i].operation, &key, &steps[i].operand, 1, &previous, &found),
            SHERWOOD_OK);
        cr_expect_eq(previous, steps[i].previous, "step %zu", i);
        cr_expect_eq(found, steps[i].found, "step %zu", i);
        sw_fake_table_get(&table, key, &stored);
        cr_expect_eq(stored, steps[i].after, "step %zu", i);
    }
    cr_expect_eq(sherwood_delete(client, &key, 1, &found), SHERWOOD_OK);
    cr_expect_eq(found, 1);
    cr_expect_eq(sherwood_delete(client, &key, 1, &found), SHERWOOD_OK);
    cr_expect_eq(found, 0);
    close_table();
}

Test(calls, bad_arguments_change_nothing)
{
    uint64_t key = 1;
    uint64_t cursor = 0;
    uint32_t count = 0;
    struct sherwood_request request = {
        .size = sizeof(struct sherwood_request), .operation = SHERWOOD_GET, .keys = &key};
    open_table(8, 8, 64, 64, 2, 0);
    cr_expect_eq(sherwood_set(client, &key, NULL, 1), SHERWOOD_E_INVALID);
    cr_expect_eq(sherwood_set(client, NULL, &key, 1), SHERWOOD_E_INVALID);
    cr_expect_eq(sherwood_run(client, (enum sherwood_operation)33, &key, &key, 1, NULL, NULL),
                 SHERWOOD_E_INVALID);
    cr_expect_eq(sherwood_scan(client, &cursor, &key, &key, 0, &count), SHERWOOD_E_INVALID);
    cr_expect_eq(sherwood_submit(client, &request), SHERWOOD_E_INVALID, "no keys");
    request.count = 65;
    cr_expect_eq(sherwood_submit(client, &request), SHERWOOD_E_INVALID, "more than a frame");
    cr_expect_eq(sherwood_wait(client, &request), SHERWOOD_E_INVALID, "never submitted");
    cr_expect_eq(table.frames, 0);
    cr_expect_eq(sherwood_ping(client), SHERWOOD_OK, "still usable");
    close_table();
}

/* The number of keys from the first on that exist; keys behind a gap do not count. */
Test(calls, prefix)
{
    enum { KEYS = 200 };
    uint64_t keys[KEYS], values[KEYS];
    static const size_t gaps[] = {0, 1, 63, 64, 65, 127, 128, 150, KEYS - 1, KEYS};
    for (size_t g = 0; g < sizeof(gaps) / sizeof(gaps[0]); g++) {
        size_t present = 7;
        open_table(8, 8, 1024, 64, 2, 0);
        for (size_t i = 0; i < KEYS; i++) {
            keys[i] = i + (i >= gaps[g]); /* the key `gap` is not set */
            values[i] = value_of(i);
        }
        cr_assert_eq(sherwood_set(client, keys, values, KEYS), SHERWOOD_OK);
        for (size_t i = 0; i < KEYS; i++) {
            keys[i] = i;
        }
        cr_assert_eq(sherwood_prefix(client, keys, KEYS, &present), SHERWOOD_OK);
        cr_expect_eq(present, gaps[g], "%zu keys, not %zu", present, gaps[g]);
        close_table();
    }
}

#define REQUESTS 16
#define REQUEST_KEYS 50

/* The server answers 16 requests at a time, the last one first. */
Test(calls, replies_out_of_order)
{
    static uint64_t keys[REQUESTS][REQUEST_KEYS];
    static uint64_t values[REQUESTS][REQUEST_KEYS];
    static uint64_t found[REQUESTS];
    struct sherwood_request requests[REQUESTS] = {0};
    open_table(8, 8, 1U << 12, 64, REQUESTS, REQUESTS);
    for (int round = 0; round < 2; round++) {
        for (size_t r = 0; r < REQUESTS; r++) {
            for (size_t i = 0; i < REQUEST_KEYS; i++) {
                keys[r][i] = r * REQUEST_KEYS + i;
                values[r][i] = round == 0 ? value_of(keys[r][i]) : 0;
            }
            requests[r] =
                (struct sherwood_request){.size = sizeof(struct sherwood_request),
                                          .operation = round == 0 ? SHERWOOD_SET : SHERWOOD_GET,
                                          .count = REQUEST_KEYS,
                                          .keys = keys[r],
                                          .values = values[r],
                                          .previous = round == 0 ? NULL : values[r],
                                          .found = &found[r],
                                          .user = &values[r]};
            cr_assert_eq(sherwood_submit(client, &requests[r]), SHERWOOD_OK);
        }
        for (size_t r = 0; r < REQUESTS; r++) {
            struct sherwood_request *done = NULL;
            if (round == 0) {
                cr_assert_eq(sherwood_wait(client, &requests[r]), SHERWOOD_OK);
                done = &requests[r];
            } else {
                cr_assert_eq(sherwood_wait_any(client, &done), SHERWOOD_OK);
                cr_assert_eq(done, &requests[REQUESTS - 1 - r], "as they are answered");
            }
            cr_expect_eq(done->hits, round == 0 ? 0 : REQUEST_KEYS);
            cr_expect_eq(done->user, &values[done - requests]);
        }
        struct sherwood_request *none = &requests[0];
        cr_expect_eq(sherwood_wait_any(client, &none), SHERWOOD_OK);
        cr_expect_null(none);
    }
    for (size_t r = 0; r < REQUESTS; r++) {
        for (size_t i = 0; i < REQUEST_KEYS; i++) {
            cr_assert_eq(values[r][i], value_of(keys[r][i]), "request %zu key %zu", r, i);
        }
        cr_expect_eq(found[r], (UINT64_C(1) << REQUEST_KEYS) - 1);
    }
    close_table();
}

/* The server answers nothing before it has 32 requests, and allows 2 in flight. */
Test(calls, busy_at_the_limit)
{
    uint64_t key = 1;
    struct sherwood_request requests[3] = {0};
    open_table(8, 8, 64, 64, 2, 32);
    for (size_t i = 0; i < 3; i++) {
        requests[i] = (struct sherwood_request){.size = sizeof(struct sherwood_request),
                                                .operation = SHERWOOD_GET,
                                                .count = 1,
                                                .keys = &key};
        cr_expect_eq(sherwood_submit(client, &requests[i]), i < 2 ? SHERWOOD_OK : SHERWOOD_E_BUSY);
    }
    close_table();
}

/* Long calls with replies in reverse: 16 frames a time, several times. */
Test(calls, long_call_with_replies_out_of_order)
{
    enum { COUNT = 64 * 16 * 4 };
    static uint64_t keys[COUNT];
    static uint64_t values[COUNT];
    static uint64_t found[COUNT / 64];
    open_table(8, 8, 1U << 14, 64, 16, 16);
    for (size_t i = 0; i < COUNT; i++) {
        keys[i] = i * 3;
        values[i] = value_of(i);
    }
    cr_assert_eq(sherwood_set(client, keys, values, COUNT), SHERWOOD_OK);
    memset(values, 0, sizeof(values));
    cr_assert_eq(sherwood_get(client, keys, COUNT, values, found), SHERWOOD_OK);
    for (size_t i = 0; i < COUNT; i++) {
        cr_assert(sherwood_found(found, i), "%zu", i);
        cr_assert_eq(values[i], value_of(i), "%zu", i);
    }
    close_table();
}

Test(calls, blocking_calls_between_submitted_ones)
{
    uint64_t keys[4] = {1, 2, 3, 4};
    uint64_t values[4] = {10, 20, 30, 40};
    uint64_t got[4] = {0};
    struct sherwood_request set = {.size = sizeof(struct sherwood_request),
                                   .operation = SHERWOOD_SET,
                                   .count = 4,
                                   .keys = keys,
                                   .values = values};
    struct sherwood_request get = {.size = sizeof(struct sherwood_request),
                                   .operation = SHERWOOD_GET,
                                   .count = 4,
                                   .keys = keys,
                                   .previous = got};
    open_table(8, 8, 64, 64, 2, 0);
    cr_assert_eq(sherwood_submit(client, &set), SHERWOOD_OK);
    cr_assert_eq(sherwood_submit(client, &get), SHERWOOD_OK);
    /* Both places are taken: the ping waits for one by itself. */
    cr_expect_eq(sherwood_ping(client), SHERWOOD_OK);
    cr_expect_eq(sherwood_wait(client, &get), SHERWOOD_OK);
    cr_expect_eq(sherwood_wait(client, &set), SHERWOOD_OK);
    cr_expect_eq(sherwood_wait(client, &set), SHERWOOD_E_INVALID, "given back once");
    cr_expect_arr_eq(got, values, sizeof(got));
    close_table();
}

Test(calls, a_full_table_stops_a_long_call)
{
    enum { COUNT = 1000 };
    static uint64_t keys[COUNT];
    open_table(8, 8, 1U << 12, 64, 4, 0);
    table.occupied_max = 200;
    for (size_t i = 0; i < COUNT; i++) {
        keys[i] = i;
    }
    cr_expect_eq(sherwood_set(client, keys, keys, COUNT), SHERWOOD_E_FULL);
    cr_expect(strstr(sherwood_error(client), "the fake table is full") != NULL, "%s",
              sherwood_error(client));
    cr_expect_eq(table.occupied, 192, "whole frames of 64");
    cr_expect_eq(sherwood_ping(client), SHERWOOD_OK);
    close_table();
}

Test(calls, a_lost_connection_gives_every_request_back)
{
    uint64_t key = 1;
    struct sherwood_request requests[3];
    open_table(8, 8, 64, 64, 16, 32);
    for (size_t i = 0; i < 3; i++) {
        requests[i] = (struct sherwood_request){.size = sizeof(struct sherwood_request),
                                                .operation = SHERWOOD_GET,
                                                .count = 1,
                                                .keys = &key};
        cr_assert_eq(sherwood_submit(client, &requests[i]), SHERWOOD_OK);
    }
    /* The server waits for 32 requests: this times out, and ends all of them. */
    sherwood_close(client);
    struct sherwood_options options = {.size = sizeof(struct sherwood_options),
                                       .request_timeout_ms = 100};
    cr_assert_eq(sherwood_connect(server.address, &options, &client), SHERWOOD_OK);
    for (size_t i = 0; i < 3; i++) {
        requests[i] = (struct sherwood_request){.size = sizeof(struct sherwood_request),
                                                .operation = SHERWOOD_GET,
                                                .count = 1,
                                                .keys = &key};
        cr_assert_eq(sherwood_submit(client, &requests[i]), SHERWOOD_OK);
    }
    cr_expect_eq(sherwood_wait(client, &requests[1]), SHERWOOD_E_TIMEOUT);
    struct sherwood_request *done = NULL;
    cr_expect_eq(sherwood_wait_any(client, &done), SHERWOOD_E_TIMEOUT);
    cr_expect_eq(done, &requests[0]);
    cr_expect_eq(sherwood_wait(client, &requests[2]), SHERWOOD_E_TIMEOUT);
    cr_expect_eq(sherwood_wait_any(client, &done), SHERWOOD_E_TIMEOUT);
    cr_expect_null(done);
    cr_expect_eq(sherwood_submit(client, &requests[0]), SHERWOOD_E_TIMEOUT);
    close_table();
}

/* A key whose value would overflow keeps it; the others are changed, and it is counted. */
Test(calls, overflows_are_counted)
{
    enum { COUNT = 300 };
    uint64_t keys[COUNT], values[COUNT], key = 5, one = 1;
    open_table(8, 8, 1U << 12, 64, 4, 0);
    for (uint64_t i = 0; i < COUNT; i++) {
        keys[i] = i;
        values[i] = i % 3 == 0 ? UINT64_MAX : i;
    }
    cr_assert_eq(sherwood_set(client, keys, values, COUNT), SHERWOOD_OK);
    cr_assert_eq(sherwood_overflows(client), 0);
    for (size_t i = 0; i < COUNT; i++) {
        values[i] = 1;
    }
    cr_assert_eq(sherwood_run(client, SHERWOOD_INCREMENT, keys, values, COUNT, NULL, NULL),
                 SHERWOOD_OK);
    cr_assert_eq(sherwood_overflows(client), COUNT / 3, "of all frames of the call");
    cr_assert_eq(sherwood_get(client, keys, COUNT, values, NULL), SHERWOOD_OK);
    cr_assert_eq(sherwood_overflows(client), 0, "of the last call");
    cr_expect_eq(values[3], UINT64_MAX);
    cr_expect_eq(values[4], 5);
    struct sherwood_request request = {.size = sizeof(struct sherwood_request),
                                       .operation = SHERWOOD_DECREMENT,
                                       .count = 1,
                                       .keys = &(uint64_t){1000},
                                       .values = &one};
    cr_assert_eq(sherwood_submit(client, &request), SHERWOOD_OK);
    cr_assert_eq(sherwood_wait(client, &request), SHERWOOD_OK);
    cr_expect_eq(request.overflows, 1);
    request.keys = &key;
    cr_assert_eq(sherwood_submit(client, &request), SHERWOOD_OK);
    cr_assert_eq(sherwood_wait(client, &request), SHERWOOD_OK);
    cr_expect_eq(request.overflows, 0);
    cr_expect_eq(sherwood_overflows(NULL), 0);
    close_table();
}

/* Figures without a field are there by name. */
static void check_figures(void)
{
    const char *name = NULL;
    uint64_t value = 0;
    cr_assert(sherwood_figure(client, 0, &name, &value));
    cr_expect_str_eq(name, "keys");
    cr_assert(sherwood_figure(client, 6, &name, &value));
    cr_expect_str_eq(name, "of_a_later_server");
    cr_expect_eq(value, 15);
    cr_expect(sherwood_figure(client, 6, NULL, NULL));
    cr_expect_not(sherwood_figure(client, 7, &name, &value));
    cr_expect_not(sherwood_figure(NULL, 0, &name, &value));
}

Test(calls, scan_and_stats)
{
    enum { COUNT = 3000 };
    static uint32_t keys[COUNT];
    static uint64_t values[COUNT];
    static uint8_t seen[COUNT];
    struct sherwood_stats stats;
    open_table(4, 8, 1U << 13, 256, 4, 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        keys[i] = i;
        values[i] = value_of(i);
    }
    cr_assert_eq(sherwood_set(client, keys, values, COUNT), SHERWOOD_OK);
    uint32_t got_keys[1000], count = 0;
    uint64_t got_values[1000];
    uint64_t cursor = 100; /* of another connection, which this one is not after a restart */
    cr_assert_eq(sherwood_scan(client, &cursor, got_keys, got_values, 1000, &count),
                 SHERWOOD_E_INVALID);
    cr_expect_not_null(strstr(sherwood_error(client), "begin again with 0"));
    cursor = 0;
    do {
        cr_assert_eq(sherwood_scan(client, &cursor, got_keys, got_values, 1000, &count),
                     SHERWOOD_OK);
        cr_assert_leq(count, 256, "the server's frame limit");
        for (uint32_t i = 0; i < count; i++) {
            cr_assert_lt(got_keys[i], COUNT);
            cr_assert_eq(got_values[i], value_of(got_keys[i]));
            seen[got_keys[i]]++;
        }
    } while (cursor != 0);
    for (size_t i = 0; i < COUNT; i++) {
        cr_assert_eq(seen[i], 1, "key %zu", i);
    }
    cr_assert_eq(sherwood_stats(client, &stats, sizeof(stats)), SHERWOOD_OK);
    cr_expect_eq(stats.occupied, COUNT);
    cr_expect_eq(stats.get.operations, 11);
    cr_expect_eq(stats.get.misses, 14);
    cr_expect_eq(stats.evicted, 0, "the server does not tell it");
    check_figures();
    cr_assert_eq(sherwood_clear(client), SHERWOOD_OK);
    cr_assert_eq(sherwood_stats(client, &stats, sizeof(stats)), SHERWOOD_OK);
    cr_expect_eq(stats.occupied, 0);
    close_table();
}
