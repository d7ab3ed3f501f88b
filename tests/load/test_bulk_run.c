/* SPDX-License-Identifier: MIT
 *
 * test_bulk_run.c - whole runs by bulk frames against a table in this process: connections shared
 * by threads, frames drawn before, open loops with several frames in flight, the series, and
 * connections that are silent.
 */
#include "bench/load/run.h"
#include "tests/support/fake_server.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEYS 30000
#define FRAME 1024
#define IN_FLIGHT 8

static struct sw_fake_server server;
static struct sw_fake_table table;
static struct sw_load_result result; /* of the last run */
static char error[SW_LOAD_ERROR_BYTES];
static bool runs;

/* A PING of the Redis protocol, on a connection that is silent then; or frames. */
static void script(int fd, void *user)
{
    uint8_t first = 0, rest[64];
    if (recv(fd, &first, 1, MSG_PEEK) != 1) {
        return;
    }
    if (first == 'P') {
        (void)!read(fd, rest, 6);
        sw_fake_write(fd, "+PONG\r\n", 7);
        (void)!read(fd, rest, 1);
        return;
    }
    sw_fake_table_script(fd, user);
}

static void stop(void)
{
    if (runs) {
        sw_fake_stop(&server);
        sw_fake_table_fini(&table);
    }
    runs = false;
}

TestSuite(bulk_run, .fini = stop);

static void start_with(void (*serve)(int fd, void *user), int flags, uint32_t width)
{
    stop();
    runs = true;
    sw_fake_table_init(&table, width, width, 1U << 17);
    table.ops_max = FRAME * 64;
    table.in_flight_max = IN_FLIGHT;
    sw_fake_start_with(&server, serve, &table, flags | SW_FAKE_PARALLEL);
}

static void start(int flags, uint32_t width)
{
    start_with(script, flags, width);
}

static struct sw_load_options options_for(enum sw_load_operation operation)
{
    return (struct sw_load_options){
        .address = server.address,
        .protocol = SW_LOAD_BULK,
        .operation = operation,
        .keys = KEYS,
        .seed = 5,
        .frame = FRAME,
        .connections = 5,
        .threads = 2,
        .depth = 3,
        .key_bits = 64,
        .theta = 0.99,
        .hit_ratio = 1,
        .quiet = true,
    };
}

static int status_of(const struct sw_load_options *options)
{
    memset(&result, 0, sizeof(result));
    return sw_load_run(options, &result, error);
}

static void run_load(const struct sw_load_options *options)
{
    const int status = status_of(options);
    cr_assert_eq(status, SW_LOAD_OK, "%d: %s", status, error);
}

/* Every key of the table is one of the run's, with its value. Returns how many there are. */
static uint64_t check_table(const struct sw_load_workload *workload)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < table.slots_count; i++) {
        const struct sw_fake_slot *slot = &table.slots[i];
        if (slot->present) {
            cr_assert_eq(slot->value, sw_load_value(workload, slot->key));
            count++;
        }
    }
    return count;
}

Test(bulk_run, every_key_once_and_all_right)
{
    for (int i = 0; i < 4; i++) {
        start(i % 2 ? SW_FAKE_TCP : 0, i / 2 ? 4 : 8);
        struct sw_load_options options = options_for(SW_LOAD_SET_GET);
        run_load(&options);
        cr_assert_eq(result.phases_count, 2);
        for (int p = 0; p < 2; p++) {
            const struct sw_load_phase_result *phase = &result.phases[p];
            cr_assert_eq(phase->keys, KEYS);
            cr_assert_eq(phase->latency.count, (KEYS + FRAME - 1) / FRAME);
            cr_assert_gt(phase->traffic.writes, 0);
            cr_assert_gt(phase->traffic.reads, 0);
            cr_assert_gt(phase->traffic.polls, 0);
            cr_assert_gt(phase->traffic.bytes_sent, KEYS * 4);
            cr_assert_eq(phase->traffic.bytes_spliced, 0);
        }
        cr_assert_eq(check_table(&result.workload), KEYS);
    }
}

/* A wrong value in the table is found, on whichever connection it is read. */
Test(bulk_run, a_wrong_value_is_found)
{
    start(0, 8);
    struct sw_load_options options = options_for(SW_LOAD_SET);
    run_load(&options);
    uint64_t bad = sw_load_key(&result.workload, 7777);
    for (uint64_t i = 0; i < table.slots_count; i++) {
        table.slots[i].value ^= table.slots[i].key == bad && table.slots[i].used;
    }
    options.operation = SW_LOAD_GET;
    cr_assert_eq(status_of(&options), SW_LOAD_E_MISMATCH);
    cr_assert_eq(result.phases[0].wrong, 1);
    cr_assert_eq(result.phases[0].example.key, bad);
    options.no_verify = true;
    cr_assert_eq(status_of(&options), SW_LOAD_OK, "its answers are dropped");
    cr_assert_eq(result.phases[0].keys, KEYS);
}

/* The bytes of the replies to one phase: heads, values where they are wanted, bitmaps likewise. */
static uint64_t reply_bytes(bool has_values, bool has_found)
{
    uint64_t bytes = 0;
    for (uint32_t left = KEYS; left > 0; left -= left < FRAME ? left : FRAME) {
        uint32_t part = left < FRAME ? left : FRAME;
        bytes += SW_FRAME_ALIGN + (has_values ? sw_frame_align(8ULL * part) : 0) +
                 (has_found ? sw_frame_align(sw_found_bytes(part)) : 0);
    }
    return bytes;
}

/* Every reply has the bitmap, also if the program does not read it. --no-found declines it. */
Test(bulk_run, found_bitmaps_are_wanted_or_declined)
{
    for (int i = 0; i < 4; i++) {
        start(0, 8);
        struct sw_load_options options = options_for(SW_LOAD_SET_GET);
        options.no_found = i % 2;
        options.no_verify = i / 2;
        run_load(&options);
        for (int p = 0; p < 2; p++) {
            cr_assert_eq(result.phases[p].traffic.bytes_received,
                         reply_bytes(p == 1, !options.no_found), "case %d, phase %d", i, p);
        }
    }
}

/* Lost keys and wrong values are also distinguished without the bitmap. */
Test(bulk_run, losses_are_found_without_the_bitmap)
{
    start(0, 8);
    struct sw_load_options options = options_for(SW_LOAD_SET);
    options.no_found = true;
    run_load(&options);
    uint64_t gone = sw_load_key(&result.workload, 77), bad = sw_load_key(&result.workload, 20000);
    for (uint64_t i = 0; i < table.slots_count; i++) {
        struct sw_fake_slot *slot = &table.slots[i];
        slot->present &= slot->key != gone;
        slot->value ^= slot->key == bad && slot->used;
    }
    options.operation = SW_LOAD_GET;
    cr_assert_eq(status_of(&options), SW_LOAD_E_MISMATCH);
    cr_assert_eq(result.phases[0].missing, 1);
    cr_assert_eq(result.phases[0].wrong, 1);
}

/* Writes every key, deletes every key, and repeats until the time is over; also with prefilled
 * frames. */
Test(bulk_run, sets_and_deletes_by_turns)
{
    for (int i = 0; i < 4; i++) {
        start(0, i / 2 ? 4 : 8);
        struct sw_load_options options = options_for(SW_LOAD_SET_DELETE);
        options.first = 1234;
        options.seconds = i % 2 ? 0.2 : 0;
        options.frames_prefilled = i % 2 ? SW_LOAD_PREFILLED_ALL : 0;
        options.no_verify = i % 2;
        run_load(&options);
        while (i % 2 && result.phases[0].keys == KEYS && options.seconds < 20) {
            /* one turn took the whole time: the machine was busy */
            options.seconds *= 2;
            run_load(&options);
        }
        cr_assert_eq(result.phases_count, 2);
        const struct sw_load_phase_result *sets = &result.phases[0], *deletes = &result.phases[1];
        cr_assert_eq(sets->operation, SW_LOAD_SET);
        cr_assert_eq(deletes->operation, SW_LOAD_DELETE);
        cr_assert(sets->keys == deletes->keys && sets->keys % KEYS == 0);
        cr_assert(i % 2 ? sets->keys > KEYS : sets->keys == KEYS, "turns");
        cr_assert(sets->seconds + deletes->seconds >= options.seconds);
        cr_assert_eq(sets->hits, 0);
        cr_assert_eq(deletes->hits, deletes->keys);
        cr_assert_eq(sets->latency.count, sets->keys / KEYS * ((KEYS + FRAME - 1) / FRAME));
        cr_assert_eq(table.occupied, 0);
    }
}

/* A run reports keys that exist before it writes them, or are absent before it deletes them, with
 * the bitmap and without. The reports of prefilled frames also show them. */
Test(bulk_run, turns_on_keys_that_are_not_as_they_should_be)
{
    for (int i = 0; i < 4; i++) {
        start(0, 8);
        struct sw_load_options options = options_for(SW_LOAD_SET);
        options.first = 100;
        options.keys = 1000;
        run_load(&options);
        options.first = 600;
        options.no_found = i % 2;
        options.operation = i / 2 ? SW_LOAD_DELETE : SW_LOAD_SET_DELETE;
        cr_assert_eq(status_of(&options), SW_LOAD_E_MISMATCH);
        cr_assert_eq(result.phases[0].missing, i / 2 ? 500 : 0);
        cr_assert_eq(result.phases[0].wrong, i / 2 ? 0 : 500);
        cr_assert_eq(result.phases[0].hits, 500);
        cr_assert_eq(result.phases[0].example.is_set, !options.no_found);
    }
    start(0, 8);
    struct sw_load_options options = options_for(SW_LOAD_DELETE);
    options.frames_prefilled = SW_LOAD_PREFILLED_ALL;
    options.no_verify = true;
    run_load(&options);
    cr_assert_eq(result.phases[0].keys, KEYS);
    cr_assert_eq(result.phases[0].hits, 0);
}

/* Frames drawn before are sent as they are: keys of the run, and with them their values. */
static void prefilled_frames(enum sw_load_splice splice, enum sw_load_distribution_kind kind)
{
    for (int tcp = 0; tcp < 2; tcp++) {
        start(tcp ? SW_FAKE_TCP : 0, 8);
        struct sw_load_options options = options_for(SW_LOAD_SET);
        options.seconds = 0.1;
        options.frame = FRAME * 16;
        options.frames_prefilled = 2;
        options.no_verify = true;
        options.splice = splice;
        options.distribution = kind;
        run_load(&options);
        uint64_t keys = check_table(&result.workload);
        cr_assert_eq(result.phases[0].keys % options.frame, 0);
        cr_assert(keys > 0 && keys <= 2ULL * 2 * options.frame, "%lu keys", (unsigned long)keys);
        bool spliced = result.phases[0].traffic.bytes_spliced > 0;
        bool expected = options.splice == SW_LOAD_SPLICE_ALWAYS ||
                        (options.splice == SW_LOAD_SPLICE_AUTO && !tcp);
        cr_assert_eq(spliced, expected, "TCP: %d", tcp);
        options.operation = SW_LOAD_GET;
        run_load(&options);
        cr_assert_gt(result.phases[0].keys, 0);
        cr_assert_gt(result.phases[0].traffic.bytes_received, result.phases[0].keys * 8);
    }
}

/* One test each: they take seconds, and Criterion runs several tests at once. */
Test(bulk_run, prefilled_frames_spliced_or_not)
{
    prefilled_frames(SW_LOAD_SPLICE_AUTO, SW_LOAD_SEQUENTIAL);
}

Test(bulk_run, prefilled_frames_spliced)
{
    prefilled_frames(SW_LOAD_SPLICE_ALWAYS, SW_LOAD_UNIFORM);
}

Test(bulk_run, prefilled_frames_copied)
{
    prefilled_frames(SW_LOAD_SPLICE_NEVER, SW_LOAD_UNIFORM);
}

Test(bulk_run, an_open_loop_has_many_frames_in_flight)
{
    start(0, 8);
    struct sw_load_options options = options_for(SW_LOAD_GET);
    options.connections = 1;
    options.threads = 1;
    options.depth = 4;
    options.frame = 100;
    options.seconds = 1;
    options.rate = 100 * 1000;
    options.no_verify = true;
    table.reply_batch = 4; /* nothing is answered before four wait for it */
    const struct sw_load_phase_result *phase = &result.phases[0];
    for (int i = 0; i < 10 && (i == 0 || phase->unsent > 0); i++) { /* again on a busy machine */
        cr_assert_eq(status_of(&options), SW_LOAD_OK, "%s", error);
    }
    cr_assert_eq(phase->latency.count + phase->unsent, 1000);
    cr_assert_eq(phase->unsent, 0);
    /* A frame a millisecond: the first of four waits for three. */
    uint64_t p90 = sw_load_histogram_percentile(&phase->latency, 90);
    cr_assert(p90 >= 2900000U, "p90 %lu ns", (unsigned long)p90);
}

Test(bulk_run, a_series_adds_up)
{
    char path[] = "/tmp/sherwood-series-XXXXXX", line[256];
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
    start(0, 8);
    struct sw_load_options options = options_for(SW_LOAD_SET_GET);
    options.seconds = 1.2;
    options.series = path;
    run_load(&options);
    FILE *in = fopen(path, "r");
    cr_assert(in && fgets(line, sizeof(line), in));
    cr_assert_str_eq(line, "phase,second,seconds,keys,keys_per_second,units,p50_us,p99_us\n");
    uint64_t keys[2] = {0}, units[2] = {0}, rows[2] = {0};
    while (fgets(line, sizeof(line), in)) {
        char name[16];
        unsigned second;
        unsigned long k, u;
        double seconds, rate, p50, p99;
        cr_assert_eq(sscanf(line, "%15[^,],%u,%lf,%lu,%lf,%lu,%lf,%lf", name, &second, &seconds, &k,
                            &rate, &u, &p50, &p99),
                     8, "%s", line);
        int p = strcmp(name, "get") == 0;
        cr_assert_eq(second, ++rows[p]);
        cr_assert(p99 >= p50 && (u == 0 || p50 > 0), "%s", line);
        cr_assert(u == 0 || p99 * 1e3 <= (double)result.phases[p].latency.max * 1.01, "%s", line);
        keys[p] += k;
        units[p] += u;
    }
    fclose(in);
    for (int p = 0; p < 2; p++) {
        cr_assert_eq(keys[p], result.phases[p].keys);
        cr_assert_eq(units[p], result.phases[p].latency.count);
    }
    cr_assert(rows[0] >= 1 && rows[1] >= 2, "%lu and %lu rows", (unsigned long)rows[0],
              (unsigned long)rows[1]);
    unlink(path);
    options.series = "/nonexistent/file";
    cr_assert_eq(status_of(&options), SW_LOAD_E_USAGE);
    cr_assert(strstr(error, "/nonexistent/file"), "%s", error);
}

Test(bulk_run, silent_connections)
{
    for (int i = 0; i < 2; i++) {
        start(i ? SW_FAKE_TCP : 0, 8);
        struct sw_load_options options = options_for(SW_LOAD_SET_GET);
        options.idle_connections = 20;
        run_load(&options);
        cr_assert_eq(result.idle_alive, 20);
        stop();
        cr_assert_eq(server.connections, 20 + 5);
    }
}

static void no_pong(int fd, void *user)
{
    uint8_t first = 0;
    if (recv(fd, &first, 1, MSG_PEEK) == 1 && first == 'P') {
        sw_fake_write(fd, "-ERR no\r\n", 9);
        return;
    }
    sw_fake_table_script(fd, user);
}

Test(bulk_run, a_server_that_refuses_silent_connections)
{
    start_with(no_pong, 0, 8);
    struct sw_load_options options = options_for(SW_LOAD_GET);
    options.idle_connections = 3;
    cr_assert_eq(status_of(&options), SW_LOAD_E_PEER);
    cr_assert(strstr(error, "idle connection: the reply to PING was: -ERR no"), "%s", error);
}

/* The buckets of a series cover everything, in order, within a part in 128. */
Test(bulk_run, buckets_of_a_series)
{
    uint64_t next = 0;
    for (uint32_t b = 0; b < SW_LOAD_SERIES_BUCKETS; b++) {
        uint64_t high = sw_load_bucket_high(b, SW_LOAD_SERIES_BITS);
        cr_assert_eq(sw_load_bucket(next, SW_LOAD_SERIES_BITS), b, "low end of bucket %u", b);
        cr_assert_eq(sw_load_bucket(high, SW_LOAD_SERIES_BITS), b, "high end of bucket %u", b);
        cr_assert_leq((double)(high - next), (double)next / 128, "bucket %u", b);
        next = high + 1;
    }
    cr_assert_eq(next, 0, "the last ends at 2^64 - 1");
}
