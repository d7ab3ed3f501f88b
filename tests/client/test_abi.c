/* SPDX-License-Identifier: MIT
 *
 * test_abi.c - programs compiled with an older and with a newer sherwood.h than the library: no
 * byte beyond what they gave is read or written. Statistics are in test_stats.c.
 */
#include <assert.h>
#include <criterion/criterion.h>
#include <stddef.h>
#include <string.h>

#include "client/sherwood-tables.h"
#include "client/sherwood.h"
#include "tests/support/fake_server.h"

/* These have no size, and may not grow. */
static_assert(sizeof(struct sherwood_piece) == 3 * sizeof(void *) + 8, "sherwood_piece");
static_assert(sizeof(struct sherwood_segment) == 4 * sizeof(void *) + 8, "sherwood_segment");
static_assert(sizeof(struct sherwood_operation_stats) == 32, "sherwood_operation_stats");

#define UNTOUCHED UINT64_C(0xEEEEEEEEEEEEEEEE)

static struct sw_fake_table table;
static struct sw_fake_server server;
static struct sherwood *client;

static void setup(void)
{
    sw_fake_table_init(&table, 8, 8, 64);
    sw_fake_start_with(&server, sw_fake_table_script, &table, SW_FAKE_PARALLEL);
}

static void teardown(void)
{
    sherwood_close(client);
    sw_fake_stop(&server);
    sw_fake_table_fini(&table);
}

TestSuite(abi, .init = setup, .fini = teardown);

/* Options followed by what a later version may have. */
struct newer_options {
    struct sherwood_options options;
    uint64_t later;
};

static int connect_with(const void *options, const char **said)
{
    static char text[512];
    *said = text;
    return sherwood_connect_text(server.address, options, &client, text, sizeof(text));
}

Test(abi, options_of_a_newer_program)
{
    struct newer_options newer = {{.size = sizeof(newer), .stripes = 3}, 0};
    const char *said;
    cr_assert_eq(connect_with(&newer, &said), SHERWOOD_OK, "%s", said);
    cr_expect_eq(sherwood_stripes(client), 3);
    sherwood_close(client);
    newer.later = 1;
    cr_expect_eq(connect_with(&newer, &said), SHERWOOD_E_INVALID);
    cr_expect_not_null(strstr(said, "does not have"), "%s", said);
}

Test(abi, options_of_an_older_program)
{
    struct sherwood_options older;
    const char *said;
    memset(&older, 0xEE, sizeof(older)); /* what follows the older struct in memory */
    older.connect_timeout_ms = 1000;
    older.request_timeout_ms = 1000;
    older.size = offsetof(struct sherwood_options, stripes);
    cr_assert_eq(connect_with(&older, &said), SHERWOOD_OK, "%s", said);
    cr_expect_eq(sherwood_stripes(client), 1);
}

Test(abi, options_without_a_size)
{
    struct sherwood_options options = {.stripes = 2};
    const char *said;
    for (int round = 0; round < 2; round++) {
        cr_expect_eq(connect_with(&options, &said), SHERWOOD_E_INVALID);
        cr_expect_not_null(strstr(said, "SHERWOOD_OPTIONS_INIT"), "%s", said);
        memset(&options.size, 0xEE, sizeof(options.size)); /* never set at all */
    }
    options = (struct sherwood_options)SHERWOOD_OPTIONS_INIT;
    cr_expect_eq(connect_with(&options, &said), SHERWOOD_OK);
}

Test(abi, traffic_of_older_and_newer_programs)
{
    struct {
        struct sherwood_traffic traffic;
        uint64_t later;
    } got;
    cr_assert_eq(sherwood_connect(server.address, NULL, &client), SHERWOOD_OK);
    cr_assert_eq(sherwood_ping(client), SHERWOOD_OK);
    memset(&got, 0xEE, sizeof(got));
    sherwood_traffic(client, &got.traffic, sizeof(got));
    cr_expect_gt(got.traffic.bytes_sent, 0);
    cr_expect_eq(got.later, 0);
    memset(&got, 0xEE, sizeof(got));
    sherwood_traffic(client, &got.traffic, offsetof(struct sherwood_traffic, bytes_spliced));
    cr_expect_gt(got.traffic.bytes_sent, 0);
    cr_expect_eq(got.traffic.bytes_spliced, UNTOUCHED);
    cr_expect_eq(got.later, UNTOUCHED);
}

Test(abi, requests_of_other_programs)
{
    struct {
        struct sherwood_request request;
        uint64_t later;
    } newer = {SHERWOOD_REQUEST_INIT, 0};
    uint64_t key = 7;
    struct sherwood_request *request = &newer.request;
    cr_assert_eq(sherwood_connect(server.address, NULL, &client), SHERWOOD_OK);
    *request = (struct sherwood_request){
        .size = sizeof(newer), .operation = SHERWOOD_GET, .count = 1, .keys = &key};
    cr_assert_eq(sherwood_submit(client, request), SHERWOOD_OK, "%s", sherwood_error(client));
    cr_assert_eq(sherwood_wait(client, request), SHERWOOD_OK);
    newer.later = 1;
    cr_expect_eq(sherwood_submit(client, request), SHERWOOD_E_INVALID);
    cr_expect_not_null(strstr(sherwood_error(client), "does not have"));
    /* a program of the first version, which had no arrays of a cache: what lies there is not read
     */
    request->cache = (struct sherwood_cache *)(uintptr_t)1;
    request->range_bytes = 1;
    request->size = offsetof(struct sherwood_request, cache);
    cr_expect_eq(sherwood_submit(client, request), SHERWOOD_OK, "%s", sherwood_error(client));
    cr_expect_eq(sherwood_wait(client, request), SHERWOOD_OK);
    request->cache = NULL; /* of the second: what was added to it then */
    request->size = offsetof(struct sherwood_request, scale);
    cr_expect_eq(sherwood_submit(client, request), SHERWOOD_OK, "%s", sherwood_error(client));
    cr_expect_eq(sherwood_wait(client, request), SHERWOOD_OK);
    request->scale = 1; /* of the third */
    request->range_bytes = 0;
    request->times = (const struct sherwood_times *)(uintptr_t)1;
    request->size = offsetof(struct sherwood_request, times);
    cr_expect_eq(sherwood_submit(client, request), SHERWOOD_OK, "%s", sherwood_error(client));
    cr_expect_eq(sherwood_wait(client, request), SHERWOOD_OK);
    static const size_t sizes[] = {0, 1, offsetof(struct sherwood_request, cache) - 1,
                                   sizeof(struct sherwood_request) - 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        request->size = sizes[i];
        cr_expect_eq(sherwood_submit(client, request), SHERWOOD_E_INVALID);
        cr_expect_not_null(strstr(sherwood_error(client), "SHERWOOD_REQUEST_INIT"));
    }
    cr_expect_eq(sherwood_ping(client), SHERWOOD_OK);
}
