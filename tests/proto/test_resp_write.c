/* SPDX-License-Identifier: MIT
 *
 * test_resp_write.c - replies against snprintf, and within the room that resp.h names.
 */
#include "proto/resp.h"

#include <inttypes.h>
#include <stdio.h>

#include "tests/proto/guard.h"
#include "tests/support/random.h"

static struct guard guard;

static void setup(void)
{
    guard = guard_create(256);
}

static void teardown(void)
{
    guard_destroy(&guard);
}

TestSuite(resp_write, .init = setup, .fini = teardown);

/* `room` bytes that end at the unreadable page. */
static char *room(size_t bytes)
{
    return (char *)guard.memory + guard.bytes - bytes;
}

static void same(const char *begin, const char *end, const char *want)
{
    cr_assert((size_t)(end - begin) == strlen(want) && memcmp(begin, want, strlen(want)) == 0,
              "wanted %s got %.*s", want, (int)(end - begin), begin);
}

static void agrees(uint64_t value)
{
    char digits[32];
    char want[64];
    char *out;
    int size = snprintf(digits, sizeof(digits), "%" PRIu64, value);

    out = room(SW_RESP_INTEGER_BYTES_MAX);
    snprintf(want, sizeof(want), "$%d\r\n%s\r\n", size, digits);
    same(out, sw_resp_put_bulk_integer(out, value), want);

    out = room(24);
    snprintf(want, sizeof(want), ":%s\r\n", digits);
    same(out, sw_resp_put_unsigned(out, value), want);
    snprintf(want, sizeof(want), ":%" PRId64 "\r\n", (int64_t)value);
    same(out, sw_resp_put_integer(out, (int64_t)value), want);
    snprintf(want, sizeof(want), "*%s\r\n", digits);
    same(out, sw_resp_put_array(out, value), want);
    snprintf(want, sizeof(want), "$%s\r\n", digits);
    same(out, sw_resp_put_bulk_header(out, value), want);
    snprintf(want, sizeof(want), "%%%s\r\n", digits);
    same(out, sw_resp_put_map(out, value, true), want);
    snprintf(want, sizeof(want), "*%" PRIu64 "\r\n", 2 * value);
    same(out, sw_resp_put_map(out, value, false), want);
}

Test(resp_write, numbers_of_every_length)
{
    uint64_t power = 1;
    for (unsigned digits = 1; digits <= 20; digits++) {
        agrees(power - 1);
        agrees(power);
        agrees(power + 1);
        power *= 10;
    }
    agrees(UINT64_MAX);
    agrees((uint64_t)INT64_MAX);
    agrees((uint64_t)INT64_MIN);
    agrees((uint64_t)INT64_MIN + 1);
    struct random state = random_of(0);
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t value = random_next(&state);
        agrees(value >> (random_next(&state) % 64));
    }
}

Test(resp_write, nothing_and_bytes)
{
    char *out = room(5);
    same(out, sw_resp_put_null(out, false), "$-1\r\n");
    same(out, sw_resp_put_null(out, true), "_\r\n");
    same(out, sw_resp_put_bytes(out, "hello", 5), "hello");
    same(out, sw_resp_put_bytes(out, NULL, 0), "");
    same(out, sw_resp_put_bytes(out, "hello", 0), "");
}
