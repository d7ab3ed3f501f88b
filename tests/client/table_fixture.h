/* SPDX-License-Identifier: MIT
 *
 * table_fixture.h - a server that tells the truth, and a client of it: one of each in a test.
 */
#ifndef SHERWOOD_TESTS_CLIENT_TABLE_FIXTURE_H
#define SHERWOOD_TESTS_CLIENT_TABLE_FIXTURE_H

#include <criterion/criterion.h>

#include "client/sherwood.h"
#include "tests/support/fake_server.h"

static struct sw_fake_server server;
static struct sw_fake_table table;
static struct sherwood *client;

/* Starts the server; its table is initialised. */
static inline void start_table(int flags, uint32_t ops_max, uint32_t in_flight,
                               uint32_t reply_batch)
{
    table.ops_max = ops_max;
    table.in_flight_max = in_flight;
    table.reply_batch = reply_batch;
    sw_fake_start_with(&server, sw_fake_table_script, &table, flags);
}

static inline void connect_client(void)
{
    char text[512];
    int rc = sherwood_connect_text(server.address, NULL, &client, text, sizeof(text));
    cr_assert_eq(rc, SHERWOOD_OK, "%s", text);
}

static inline void close_table(void)
{
    sherwood_close(client);
    sw_fake_stop(&server);
    sw_fake_table_fini(&table);
}

static inline uint64_t value_of(uint64_t key)
{
    return key * 0x9E3779B97F4A7C15U + 1;
}

#endif
