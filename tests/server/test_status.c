/* SPDX-License-Identifier: MIT
 *
 * test_status.c - the history's ring, quantiles, the conditions of problems, and /status.json.
 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "server/observe/http.h"
#include "server/observe/problems.h"
#include "server/observe/status.h"
#include "tests/server/distinct_stats.h"

static struct sw_config config;
static struct sw_server_stats facts;
static struct sw_history *history;

static void begin(void)
{
    fill_distinct_stats(&config, &facts);
    history = sw_history_create();
    cr_assert_not_null(history);
}

static void end(void)
{
    sw_history_destroy(history);
}

TestSuite(status, .init = begin, .fini = end);

/* Makes the counters those of a daemon to which nothing has happened. */
static void calm(void)
{
    memset(&facts.counters, 0, sizeof(facts.counters));
    memset(&facts.stats, 0, sizeof(facts.stats));
}

Test(status, ring_keeps_the_newest)
{
    cr_assert_eq(sw_history_newest(history), 0);
    cr_assert_eq(sw_history_oldest(history), 0);
    for (uint64_t i = 1; i <= 2 * SW_HISTORY_SAMPLES; i++) {
        facts.stats.occupied = 10 * i;
        sw_history_add(history, &facts, 1000 * i);
        cr_assert_eq(sw_history_newest(history), i);
        uint64_t oldest = i <= SW_HISTORY_SAMPLES + 1 ? 1 : i - SW_HISTORY_SAMPLES;
        cr_assert_eq(sw_history_oldest(history), oldest);
        const struct sw_history_sample *sample = sw_history_at(history, oldest);
        cr_assert_eq(sample->number, oldest);
        cr_assert_eq(sample->gauges[SW_HISTORY_keys], 10 * oldest);
    }
}

Test(status, samples_are_due_once_a_second)
{
    cr_assert_eq(sw_history_due(history, 5000, 700), 0);
    sw_history_add(history, &facts, 5000);
    cr_assert_eq(sw_history_due(history, 5000, 700), 700);
    cr_assert_eq(sw_history_due(history, 5400, 700), 600);
    cr_assert_eq(sw_history_due(history, 6000, 700), 0);
    sw_history_add(history, &facts, 6010); /* a little late: the pace is kept */
    cr_assert_eq(sw_history_due(history, 6010, 5000), 990);
    sw_history_add(history, &facts, 60000); /* a pause is not made up for */
    cr_assert_eq(sw_history_due(history, 60000, 5000), 1000);
}

Test(status, increase_looks_back_so_far)
{
    for (uint64_t i = 0; i < 10; i++) {
        facts.stats.counters.refused = 100 + i;
        sw_history_add(history, &facts, 1000 * i);
    }
    /* since the sample of that age */
    cr_assert_eq(sw_history_increase(history, SW_HISTORY_refused, 120, 9500, 3000), 120 - 106);
    /* all that was since the start, if the daemon is younger */
    cr_assert_eq(sw_history_increase(history, SW_HISTORY_refused, 120, 9500, 60000), 120);
    for (uint64_t i = 10; i < 2 * SW_HISTORY_SAMPLES; i++) {
        facts.stats.counters.refused = 100 + i;
        sw_history_add(history, &facts, 1000 * i);
    }
    /* of a long time what is kept */
    cr_assert_eq(sw_history_increase(history, SW_HISTORY_refused, 100 + 2 * SW_HISTORY_SAMPLES,
                                     2000U * SW_HISTORY_SAMPLES, UINT64_MAX),
                 SW_HISTORY_SAMPLES + 1);
    cr_assert_eq(sw_history_increase(history, SW_HISTORY_refused, 1, 2000U * SW_HISTORY_SAMPLES, 1),
                 0, "a counter that went back has not moved");
}

Test(status, quantiles)
{
    uint64_t from[SW_HISTOGRAM_BUCKETS] = {0}, to[SW_HISTOGRAM_BUCKETS] = {0};
    cr_assert_lt(sw_histogram_quantile(from, to, 0.5), 0);
    for (uint64_t value = 1; value <= 1024; value++) {
        to[sw_histogram_bucket(value)]++;
    }
    /* Values that do lie evenly are found to within one. */
    cr_assert_float_eq(sw_histogram_quantile(from, to, 0.5), 512, 1.5);
    cr_assert_float_eq(sw_histogram_quantile(from, to, 0.99), 1014, 2.0);
    cr_assert_float_eq(sw_histogram_quantile(from, to, 1), 1024, 0.001);
    memcpy(from, to, sizeof(from));
    cr_assert_lt(sw_histogram_quantile(from, to, 0.5), 0, "nothing is new");
    to[3] += 2;
    double median = sw_histogram_quantile(from, to, 0.5);
    cr_assert(median > 4 && median <= 8, "%f", median);
    to[SW_HISTOGRAM_BUCKETS - 1] += 1000000;
    cr_assert_leq(sw_histogram_quantile(from, to, 0.999), (double)(1 << 25));
}

/* The only problem there is, or NULL. */
static const struct sw_problem *only_problem(void)
{
    static struct sw_problem problems[SW_PROBLEMS_MAX];
    unsigned count = sw_problems_find(&facts, history, 1000, problems);
    cr_assert_leq(count, 1, "%s and %s", problems[0].alert, problems[1].alert);
    return count == 1 ? &problems[0] : NULL;
}

static void expect_problem(const char *alert, const char *severity, const char *holds)
{
    const struct sw_problem *problem = only_problem();
    cr_assert_not_null(problem, "%s", alert);
    cr_assert_str_eq(problem->alert, alert);
    cr_assert_str_eq(problem->severity, severity);
    cr_assert_not_null(strstr(problem->text, holds), "%s", problem->text);
    size_t size = strlen(problem->text);
    cr_assert(size + 1 < sizeof(problem->text) && problem->text[size - 1] == '.', "%s",
              problem->text);
}

/* Each condition at its bound and one beyond. */
Test(status, problems_of_the_table)
{
    calm();
    cr_assert_null(only_problem());
    facts.stats.resize_failed = 1;
    expect_problem("SherwoodGrowthFailed", "critical", "1 time ");
    calm();
    facts.stats.counters.refused = 2;
    expect_problem("SherwoodWritesRefused", "critical", "2 operations were");
    calm();
    facts.info.max_capacity_slots = facts.info.capacity_slots;
    facts.info.occupied_max = 1000;
    facts.stats.occupied = 900;
    cr_assert_null(only_problem());
    facts.stats.occupied = 901;
    expect_problem("SherwoodTableNearlyFull", "warning", "90 %");
    facts.info.max_capacity_slots *= 2;
    cr_assert_null(only_problem());
    facts.info.max_capacity_slots /= 2;
    facts.info.engine = SW_ENGINE_CACHE;
    cr_assert_null(only_problem());
    calm();
    facts.stats.stash_occupied = 6;
    cr_assert_null(only_problem());
    facts.stats.stash_occupied = 7;
    expect_problem("SherwoodStashInUse", "warning", "7 keys");
    facts.info.stash_slots = 0;
    cr_assert_null(only_problem());
}

Test(status, problems_of_the_daemon)
{
    calm();
    facts.counters.connected_clients = 9 * config.connections_max / 10;
    cr_assert_null(only_problem());
    facts.counters.connected_clients++;
    expect_problem("SherwoodTooManyConnections", "warning", "connections-max");
    calm();
    facts.counters.connections_rejected = 1;
    expect_problem("SherwoodConnectionsRejected", "warning", "1 connection was");
    calm();
    facts.counters.resp_protocol_errors = 30;
    cr_assert_null(only_problem());
    facts.counters.frame_protocol_errors = 1;
    expect_problem("SherwoodProtocolErrors", "warning", "31 malformed");
    calm();
    facts.ready = false;
    expect_problem("SherwoodNotReady", "warning", "starting or shutting down");
    facts.persistence = (struct sw_persistence){
        .enabled = true, .loading = true, .loading_bytes = 200, .loaded_bytes = 84};
    expect_problem("SherwoodNotReady", "warning", "42 %");
    facts.ready = true;
    facts.persistence = (struct sw_persistence){.enabled = true, .loaded_keys = 12};
    facts.uptime_seconds = 599;
    expect_problem("SherwoodRestarted", "note", "loaded 12 keys");
    facts.uptime_seconds = 600;
    cr_assert_null(only_problem());
}

Test(status, problems_of_strangers_and_operators)
{
    calm();
    facts.counters.tls_handshake_failures = 30;
    cr_assert_null(only_problem());
    facts.counters.tls_failures = 1;
    expect_problem("SherwoodTlsFailures", "warning", "31 connections");
    calm();
    facts.counters.login_failures = 300;
    cr_assert_null(only_problem());
    facts.counters.login_failures++;
    expect_problem("SherwoodLoginFailures", "warning", "301 logins");
    calm();
    facts.counters.ring_errors = 1;
    expect_problem("SherwoodRegionsRefused", "warning", "1 region or ring was");
    facts.counters.region_refusals = 2;
    expect_problem("SherwoodRegionsRefused", "warning", "3 regions or rings were");
    calm();
    facts.pause_left_ms = 1001;
    expect_problem("SherwoodPaused", "warning", "delays writes for another 2 s");
    facts.pauses_all = true;
    expect_problem("SherwoodPaused", "warning", "delays requests");
    calm();
    facts.pause_left_ms = 0;
    facts.stats.occupied = 9;
    facts.info.rows_max = 10;
    cr_assert_null(only_problem());
    facts.stats.occupied++;
    expect_problem("SherwoodRowsNearlyUsed", "warning", "100 % of the limit of rows");
}

Test(status, problems_of_other_servers)
{
    calm();
    facts.cluster.is_enabled = true;
    expect_problem("SherwoodNotInTopology", "critical", "because it has none");
    facts.cluster.has_topology = true;
    expect_problem("SherwoodNotInTopology", "critical", "not in the topology: it serves no key");
    facts.cluster.is_in_topology = true;
    cr_assert_null(only_problem());
    facts.cluster.reload_failures = 1;
    expect_problem("SherwoodTopologyRefused", "warning", "1 topology was refused");
    facts.cluster.reload_failures = 0;
    facts.registry = (struct sw_registry_status){.is_on = true, .silent_ms = 15001};
    expect_problem("SherwoodRegistrySilent", "warning", "for 15 s: no reply");
    facts.registry = (struct sw_registry_status){.is_on = true, .refused = "it is empty"};
    expect_problem("SherwoodRegistryRefused", "critical", "keeps the one before: it is empty.");
    facts.registry.refused[0] = '\0';
    facts.replication.errors = 1;
    facts.replication.senders.errors = 1;
    expect_problem("SherwoodReplicationErrors", "warning", "2 connections of replication");
}

Test(status, problems_of_persistence)
{
    calm();
    facts.persistence = (struct sw_persistence){.enabled = true, .last_failed = true};
    expect_problem("SherwoodSnapshotFailed", "critical", "would be lost");
    facts.log.has_begun = true;
    facts.persistence.refuses_writes = true;
    expect_problem("SherwoodSnapshotFailed", "critical",
                   "Writes are refused until a snapshot succeeds.");
    facts.persistence.last_failed = false;
    facts.log.state = SW_WAL_FULL;
    facts.log.error = 28; /* ENOSPC */
    expect_problem("SherwoodNotDurable", "critical", "(No space left on device)");
    facts.log.state = SW_WAL_BROKEN;
    facts.log.error = 123456; /* no such error */
    expect_problem("SherwoodNotDurable", "critical", "retries at once");
}

static json_t *render(uint64_t since, size_t *size)
{
    struct sw_text text;
    json_error_t error;
    const struct sw_status_query query = {
        .since = since, .now_ms = 5000000, .wall_ms = 1700000000000};
    sw_text_init(&text, 1 << 20);
    sw_status_render(&facts, history, &query, &text);
    cr_assert_not(text.failed);
    json_t *document = json_loadb(text.data, text.size, 0, &error);
    cr_assert_not_null(document, "%s at %d", error.text, error.position);
    *size = text.size;
    sw_text_fini(&text);
    return document;
}

static void expect_span(uint64_t since, json_int_t first, json_int_t newest)
{
    size_t size = 0;
    json_t *document = render(since, &size);
    json_t *columns = json_object_get(document, "history");
    cr_assert_eq(json_integer_value(json_object_get(columns, "first")), first);
    cr_assert_eq(json_integer_value(json_object_get(columns, "newest")), newest);
    const char *name = NULL;
    json_t *column = NULL;
    json_object_foreach(columns, name, column)
    {
        if (json_is_array(column)) {
            cr_assert_eq((json_int_t)json_array_size(column), newest + 1 - first, "%s", name);
        }
    }
    json_decref(document);
}

Test(status, samples_asked_for)
{
    expect_span(0, 1, 0); /* none: first is behind newest */
    for (uint64_t i = 1; i <= 5; i++) {
        sw_history_add(history, &facts, 4000000 + 1000 * i);
    }
    expect_span(0, 2, 5); /* the first one is what the second is compared with */
    expect_span(1, 2, 5);
    expect_span(3, 4, 5);
    expect_span(5, 6, 5);
    expect_span(999, 6, 5); /* of a daemon before this one */
    expect_span(UINT64_MAX, 6, 5);
    for (uint64_t i = 6; i <= 1000; i++) {
        sw_history_add(history, &facts, 4000000 + 1000 * i);
    }
    expect_span(0, 1000 - SW_HISTORY_SAMPLES + 1, 1000);
    expect_span(100, 1000 - SW_HISTORY_SAMPLES + 1, 1000);
    expect_span(990, 991, 1000);
}

/* Everything as long as it may be: the size stays within what deploy/docs/ref/status.md says, and
 * numbers of 10^12 a second are exact to nine digits. */
Test(status, size_is_bounded)
{
    size_t size = 0;
    uint64_t *table = (uint64_t *)&facts.stats.counters;
    uint64_t *loops = (uint64_t *)&facts.counters;
    facts.info.backend_reason = "a reason";
    for (uint64_t i = 0; i <= SW_HISTORY_SAMPLES + 7; i++) {
        for (size_t f = 0; f < sizeof(facts.stats.counters) / sizeof(*table); f++) {
            table[f] = i * 1234567890123;
        }
        for (size_t f = 0; f < sizeof(facts.counters) / sizeof(*loops); f++) {
            loops[f] = i * 1234567890123;
        }
        sw_history_add(history, &facts, 4000000 + 1000 * i);
    }
    json_t *document = render(0, &size);
    cr_assert_leq(size, 256 * 1024, "%zu", size);
    json_t *gets = json_object_get(json_object_get(document, "history"), "gets");
    cr_assert_eq(json_array_size(gets), SW_HISTORY_SAMPLES);
    cr_assert_float_eq(json_number_value(json_array_get(gets, 9)), 1234567890123.0, 1000.0);
    json_decref(document);
}

Test(status, sentences_are_escaped_and_memory_may_lack)
{
    size_t size = 0;
    struct sw_text text;
    json_t *document = render(0, &size);
    cr_assert_str_eq(
        json_string_value(json_object_get(json_object_get(document, "server"), "backend_reason")),
        facts.info.backend_reason);
    json_decref(document);
    sw_text_init(&text, 1000);
    sw_status_render(&facts, history, &(struct sw_status_query){.wall_ms = 1}, &text);
    cr_assert(text.failed);
    sw_text_fini(&text);
    facts.info.backend_reason = "no UTF-8: \xff";
    sw_text_init(&text, 1 << 20);
    sw_status_render(&facts, history, &(struct sw_status_query){.wall_ms = 1}, &text);
    cr_assert(text.failed, "no document is better than an invalid one");
    sw_text_fini(&text);
}

Test(status, since)
{
    uint64_t since = 1;
    cr_assert(sw_status_parse_since(NULL, &since) && since == 0);
    cr_assert(sw_status_parse_since("0", &since) && since == 0);
    cr_assert(sw_status_parse_since("999999999999999999", &since) && since == 999999999999999999);
    const char *const wrong[] = {"",   "-1",  "+1",  " 1",
                                 "1 ", "0x1", "1e3", "1000000000000000000000"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_assert_not(sw_status_parse_since(wrong[i], &since), "%s", wrong[i]);
    }
}

Test(status, who_gets_html)
{
    const char *const browsers[] = {
        "text/html", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8",
        "text/plain;q=0.5, text/html;q=0.5", "TEXT/HTML"};
    const char *const others[] = {
        "*/*",           "text/plain", "application/json",           "text/*",
        "text/html;q=0", "",           "text/plain, text/html;q=0.9"};
    for (size_t i = 0; i < sizeof(browsers) / sizeof(browsers[0]); i++) {
        cr_assert(sw_http_wants_html(browsers[i]), "%s", browsers[i]);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        cr_assert_not(sw_http_wants_html(others[i]), "%s", others[i]);
    }
}
