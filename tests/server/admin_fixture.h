/* SPDX-License-Identifier: MIT
 *
 * admin_fixture.h - runs one command against a made-up server and compares its reply.
 */
#ifndef SHERWOOD_TESTS_SERVER_ADMIN_FIXTURE_H
#define SHERWOOD_TESTS_SERVER_ADMIN_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/config/live.h"
#include "server/net/client_list.h"
#include "server/net/conn_login.h"
#include "server/observe/timings.h"
#include "server/resp/acl_catalog.h"
#include "server/resp/resp.h"
#include "server/resp/session.h"
#include "tests/server/distinct_stats.h"
#include "tests/support/must.h"

#define ARGUMENTS_MAX 300
#define TABLE_KEYS 256

static struct fixture {
    struct sw_config config;
    struct sw_server_stats facts;
    struct sw_cluster_handle cluster; /* of no cluster */
    struct sw_table *table;           /* with TABLE_KEYS keys */
    struct sw_admin admin;
    struct sw_command_set unsupported;
    struct sw_session session;
    struct sw_live live;
    struct sw_live_changes changes; /* the last ones made */
    struct sw_timings timings;
    struct sw_clients clients;
    struct sw_text reply;
    struct sw_loop_counters counters;
    struct sw_input_budget budget;
    struct sw_net net;
    struct sw_users *users;
    struct sw_conn *conn; /* of the session, without a transport */
    struct sw_resp resp;  /* of the connection: its batches meet no obstacle */
    struct sw_batches batches;
} fixture;

static inline void snapshot(void *server, struct sw_server_stats *out)
{
    (void)server;
    *out = fixture.facts;
}

static inline void note_changes(void *context, const struct sw_live_changes *changes,
                                const char *who)
{
    (void)context;
    cr_assert_not_null(strstr(who, fixture.conn->peer.address), "%s", who);
    fixture.changes = *changes;
}

/* A connection without a user, and the users of a server without options for users. */
static inline void set_users(void)
{
    const struct sw_users_options options = {
        .catalog = sw_acl_catalog(), .acl_file = "", .requirepass_file = ""};
    char error[SW_USERS_ERROR_BYTES];
    cr_assert_eq(sw_users_create(&options, &fixture.users, error, sizeof(error)), 0, "%s", error);
    sw_net_init(&fixture.net, uv_default_loop(), &fixture.config, &fixture.counters,
                &fixture.budget);
    sw_net_set_users(&fixture.net, fixture.users, NULL);
    fixture.net.state_bytes = sizeof(struct sw_resp_conn);
    fixture.net.clients = &fixture.clients;
    fixture.net.next_id = 17;
    fixture.conn = sw_conn_create(&fixture.net, false);
    fixture.resp.batches = &fixture.batches;
    sw_resp_of(fixture.conn)->resp = &fixture.resp;
    strcpy(fixture.conn->peer.address, "127.0.0.1:5000");
    strcpy(fixture.conn->shown.peer, "127.0.0.1:5000");
    strcpy(fixture.conn->shown.own, "127.0.0.1:7379");
    fixture.conn->shown.open_at_ms = sw_session_now_ms();
    fixture.conn->shown.stats.queued = -1;
    sw_clients_publish_user(fixture.conn);
    sw_clients_enter(&fixture.clients, &fixture.conn->shown);
    sw_conn_login_begin(fixture.conn, -1, true);
    fixture.admin.users = fixture.users;
}

/* A table that holds the keys from 0 on. */
static inline struct sw_table *small_table(void)
{
    uint64_t keys[TABLE_KEYS];
    const struct sw_table_config config = cpu_config(1024, TABLE_KEYS);
    struct sw_table *table = must_create(&config);
    struct sw_queue *queue = must_queue(table);
    for (uint32_t i = 0; i < TABLE_KEYS; i++) {
        keys[i] = i;
    }
    struct sw_batch batch = {.op = SW_SET, .count = TABLE_KEYS, .keys = keys, .values = keys};
    must_run(queue, &batch);
    sw_queue_destroy(queue);
    return table;
}

static inline void setup(void)
{
    memset(&fixture, 0, sizeof(fixture));
    fixture.table = small_table();
    fill_distinct_stats(&fixture.config, &fixture.facts);
    fixture.config.monitors_max = 0; /* there is no loop that would send them anything */
    fixture.admin = (struct sw_admin){.config = &fixture.config,
                                      .table = fixture.table,
                                      .cluster = &fixture.cluster,
                                      .snapshot = snapshot,
                                      .server = &fixture,
                                      .live = &fixture.live,
                                      .clients = &fixture.clients,
                                      .timings = &fixture.timings,
                                      .unsupported = &fixture.unsupported,
                                      .engine = "robin_hood"};
    sw_timings_init(&fixture.timings, &fixture.config);
    sw_live_init(&fixture.live, &fixture.config, false, note_changes, NULL);
    sw_clients_init(&fixture.clients);
    set_users();
    sw_session_init(&fixture.session, fixture.conn);
    sw_text_init(&fixture.reply, 1 << 20);
}

static inline void teardown(void)
{
    sw_conn_login_end(fixture.conn);
    sw_list_remove(&fixture.conn->link);
    sw_clients_leave(&fixture.clients, &fixture.conn->shown);
    free(fixture.conn);
    sw_net_fini(&fixture.net);
    sw_users_destroy(fixture.users);
    sw_clients_fini(&fixture.clients);
    sw_live_fini(&fixture.live);
    sw_timings_fini(&fixture.timings);
    sw_text_fini(&fixture.reply);
    sw_table_destroy(fixture.table);
}

/* As at the start of a test. */
static inline void renew(void)
{
    teardown();
    setup();
}

/* Runs a command of words separated by '|' and returns its reply, valid until the next one. */
static inline const char *run_command(const char *line)
{
    static char words[8192];
    struct sw_resp_argument arguments[ARGUMENTS_MAX];
    struct sw_resp_command command = {.arguments = arguments};
    snprintf(words, sizeof(words), "%s", line);
    for (char *at = words;; at++) {
        size_t size = strcspn(at, "|");
        cr_assert_lt(command.count, ARGUMENTS_MAX);
        arguments[command.count++] = (struct sw_resp_argument){(const uint8_t *)at, (uint32_t)size};
        at += size;
        if (*at == '\0') {
            break;
        }
    }
    const struct sw_command *row = sw_command_find(arguments[0].text, arguments[0].size);
    cr_assert_not_null(row, "%s", line);
    cr_assert(sw_command_arity_fits(row, command.count), "%s", line);
    sw_text_reset(&fixture.reply);
    sw_admin_run(&fixture.admin, row, &command, &fixture.session, &fixture.reply);
    cr_assert_not(fixture.reply.failed, "%s", line);
    sw_text_append(&fixture.reply, "", 1);
    return fixture.reply.data;
}

static inline void expect(const char *line, const char *wanted)
{
    const char *reply = run_command(line);
    cr_assert_str_eq(reply, wanted, "%s: %s", line, reply);
}

static inline void expect_rows(const char *const rows[][2], size_t count, bool resp3)
{
    renew();
    fixture.session.resp3 = resp3;
    for (size_t i = 0; i < count; i++) {
        expect(rows[i][0], rows[i][1]);
    }
}
#define EXPECT_ROWS(rows, resp3) expect_rows(rows, sizeof(rows) / sizeof(rows[0]), resp3)

#define SYNTAX "-ERR syntax error\r\n"

#endif
