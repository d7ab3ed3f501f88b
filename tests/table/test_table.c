/* SPDX-License-Identifier: MIT
 *
 * test_table.c - creating a table, what it says of itself, batches that are not valid, and batches
 * in flight.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "table/found_bytes.h"
#include "table/robin_hood/robin_hood_backend.h"
#include "tests/support/must.h"
#include "tests/support/table_fixture.h"
#include "tests/support/tested.h"

TestSuite(table, .timeout = 60);

static void create_fails(const struct sw_table_config *config, int expected, const char *word)
{
    char reason[512] = "untouched";
    struct sw_table *table = (struct sw_table *)reason;
    int status = sw_table_create(config, &table, reason, sizeof(reason));
    cr_assert_eq(status, expected, "%s", sw_status_text(status));
    cr_assert_null(table);
    cr_assert_not_null(strstr(reason, word), "\"%s\" says nothing of \"%s\"", reason, word);
    cr_assert_eq(sw_table_create(config, &table, NULL, 0), expected);
    cr_assert_null(table);
}

Test(table, absurd_capacity)
{
    struct sw_table_config config = fixture_config(128);
    config.capacity_slots = 1ULL << 56;
    create_fails(&config, SW_E_NOMEM, "memory");
    config.capacity_slots = 1ULL << 44; /* addresses there are, memory there is not */
    create_fails(&config, SW_E_NOMEM, "memory");
    config = fixture_config(128);
    config.stash_slots = 1ULL << 50;
    config.capacity_slots = 1ULL << 52;
    create_fails(&config, SW_E_NOMEM,
                 config.backend == SW_BACKEND_CUDA ? "smaller capacity" : "lower the capacity");
    config.capacity_slots = UINT64_MAX;
    create_fails(&config, SW_E_INVALID, "capacity");
}

Test(table, wrong_configuration)
{
    struct sw_table_config config = fixture_config(128);
    config.slot_bits = 96;
    create_fails(&config, SW_E_INVALID, "64 or 128");
}

Test(table, cuda_without_a_device)
{
    struct sw_table_config config = fixture_config(128);
    struct sw_table *table;
    char reason[512];
    config.backend = SW_BACKEND_CUDA;
    int status = sw_table_create(&config, &table, reason, sizeof(reason));
    if (status == SW_OK) {
        sw_table_destroy(table);
        cr_skip_test("a CUDA device answers here");
    }
    cr_assert_eq(status, sw_robin_hood_backend_cuda() == NULL ? SW_E_NOTBUILT : SW_E_NODEVICE, "%s",
                 reason);
    cr_assert_gt(strlen(reason), 20, "\"%s\"", reason);
}

Test(table, automatic_choice)
{
    struct sw_table_config config = fixture_config(128);
    config.backend = SW_BACKEND_AUTO;
    struct sw_table *table = must_create(&config);
    const struct sw_table_info info = table_info(table);
    cr_assert_neq(info.backend, SW_BACKEND_AUTO);
    if (info.backend == SW_BACKEND_CPU) {
        cr_assert_str_eq(info.backend_name, "cpu");
        cr_assert_not_null(strstr(info.backend_reason, sw_robin_hood_backend_cuda() == NULL
                                                           ? "this build has no CUDA backend"
                                                           : "no CUDA device replied"),
                           "%s", info.backend_reason);
    } else {
        cr_assert_str_eq(info.backend_name, "cuda");
    }
    sw_table_destroy(table);
    sw_table_destroy(NULL);
}

Test(table, info)
{
    struct sw_table_config config = fixture_config(64);
    config.capacity_slots = 4095;
    config.threads = 3;
    struct sw_table *table = must_create(&config);
    const struct sw_table_info info = table_info(table);
    cr_assert_eq(info.backend, config.backend);
    cr_assert_eq(info.slot_bits, 64);
    cr_assert_eq(info.key_bytes, 4);
    cr_assert_eq(info.value_bytes, 4);
    cr_assert_eq(info.bucket_slots, 4);
    cr_assert_eq(info.buckets, 1024);
    cr_assert_eq(info.capacity_slots, 4096);
    cr_assert_eq(info.occupied_max, 3481);
    cr_assert_eq(info.stash_slots, 256);
    cr_assert_eq(info.seed, 1);
    cr_assert_eq(info.batch_ops_max, 4096);
    if (config.backend == SW_BACKEND_CPU) {
        cr_assert_not_null(strstr(info.backend_reason, "3 threads"), "%s", info.backend_reason);
        /* table/robin_hood/README.md, "The CPU backend": 24 + 16 bytes an operation, and the
         * slices' offsets */
        cr_assert_eq(info.bytes_reserved, sw_table_raw_bytes(table) + 4096 * 40 + 3 * 4 * 64 * 4);
    }
    sw_table_destroy(table);
}

Test(table, io_memory)
{
    struct sw_table_config config = fixture_config(64);
    struct sw_table *table = must_create(&config);
    for (size_t bytes = 0; bytes < 100000; bytes = bytes * 3 + 1) {
        uint8_t *memory = sw_io_alloc(table, bytes);
        cr_assert_not_null(memory);
        cr_assert_eq((uintptr_t)memory % 64, 0);
        memset(memory, 1, bytes);
        sw_io_free(table, memory, bytes);
    }
    cr_assert_null(sw_io_alloc(table, SIZE_MAX));
    cr_assert_null(sw_io_alloc(table, SIZE_MAX - 63));
    sw_io_free(table, NULL, 0);
    sw_table_destroy(table);
}

/* Returns what submit says of a batch that was spoiled by `spoil`. */
static int submit(struct fixture *fixture, void (*spoil)(struct sw_batch *, struct fixture *))
{
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .count = 100,
                             .ops = fixture->ops,
                             .keys = fixture->keys,
                             .values = fixture->values,
                             .previous = fixture->previous,
                             .found = fixture->found,
                             .group_count = 2,
                             .group_ends = fixture->group_ends,
                             .leftover_keys = fixture->leftover_keys,
                             .leftover_values = fixture->leftover_values};
    memset(fixture->ops, SW_SET, 200);
    fixture->group_ends[0] = 50;
    fixture->group_ends[1] = 100;
    spoil(&batch, fixture);
    int status = sw_batch_submit(fixture->queue, &batch);
    if (status == SW_OK) {
        do {
            status = sw_batch_poll(fixture->queue, &batch);
        } while (status == SW_PENDING);
    }
    return status;
}

static void make_scan(struct sw_batch *batch, struct fixture *fixture)
{
    *batch = (struct sw_batch){.kind = SW_BATCH_SCAN,
                               .count = 100,
                               .scan.keys = fixture->keys,
                               .scan.values = fixture->values};
}

#define SPOIL(name, code)                                             \
    static void name(struct sw_batch *batch, struct fixture *fixture) \
    {                                                                 \
        (void)batch;                                                  \
        (void)fixture;                                                \
        code;                                                         \
    }
SPOIL(nothing, )
SPOIL(unknown_kind, batch->kind = (enum sw_batch_kind)9)
SPOIL(unknown_op, batch->ops = NULL; batch->op = SW_OP_END)
SPOIL(huge_op, batch->ops = NULL; batch->op = (enum sw_op)(1U << 30))
SPOIL(unknown_op_inside, fixture->ops[99] = SW_OP_END)
SPOIL(unknown_op_aliasing, fixture->ops[0] = 64)
SPOIL(no_keys, batch->keys = NULL)
SPOIL(no_values, batch->values = NULL)
SPOIL(too_many, batch->count = 4097; batch->group_count = 0)
SPOIL(groups_fall, fixture->group_ends[0] = 101)
SPOIL(groups_end_early, fixture->group_ends[1] = 99)
SPOIL(groups_end_late, fixture->group_ends[1] = 101)
SPOIL(no_group_ends, batch->group_ends = NULL)
SPOIL(nobody_is_turned_away, batch->not_admitted = fixture->found)
SPOIL(found_bytes_of_a_write, batch->found = sw_found_as_bytes(fixture->found))
SPOIL(scan_of_all, make_scan(batch, fixture))
SPOIL(scan_nothing, make_scan(batch, fixture); batch->count = 0)
SPOIL(scan_nowhere, make_scan(batch, fixture); batch->scan.keys = NULL)
SPOIL(scan_no_values, make_scan(batch, fixture); batch->scan.values = NULL)
SPOIL(scan_too_many, make_scan(batch, fixture); batch->count = 4097)
SPOIL(no_leftovers, batch->leftover_keys = NULL)
SPOIL(no_leftover_values, batch->leftover_values = NULL)
SPOIL(reads_need_little, memset(fixture->ops, SW_GET, 50); memset(fixture->ops + 50, SW_DELETE, 50);
      batch->values = NULL; batch->leftover_keys = NULL)

Test(table, batches_that_are_not_valid)
{
    struct sw_table_config config = fixture_config(128);
    struct fixture fixture;
    void (*const spoilers[])(struct sw_batch *, struct fixture *) = {unknown_kind,
                                                                     unknown_op,
                                                                     huge_op,
                                                                     unknown_op_inside,
                                                                     unknown_op_aliasing,
                                                                     no_keys,
                                                                     no_values,
                                                                     too_many,
                                                                     groups_fall,
                                                                     groups_end_early,
                                                                     groups_end_late,
                                                                     no_group_ends,
                                                                     scan_nothing,
                                                                     scan_nowhere,
                                                                     scan_no_values,
                                                                     scan_too_many,
                                                                     nobody_is_turned_away,
                                                                     found_bytes_of_a_write};
    fixture_open(&fixture, &config);
    for (size_t i = 0; i < sizeof(spoilers) / sizeof(spoilers[0]); i++) {
        cr_assert_eq(submit(&fixture, spoilers[i]), SW_E_INVALID, "spoiler %zu", i);
    }
    const struct sw_table_stats stats = table_stats(fixture.table);
    cr_assert_eq(stats.batches, 0);
    cr_assert_eq(stats.occupied, 0);
    cr_assert_eq(submit(&fixture, nothing), SW_OK);
    cr_assert_eq(submit(&fixture, scan_of_all), SW_OK);
    cr_assert_eq(submit(&fixture, reads_need_little), SW_OK);
    cr_assert_eq(submit(&fixture, no_leftovers), SW_OK, "the stash takes them");
    fixture_close(&fixture);

    config.stash_slots = 0;
    fixture_open(&fixture, &config);
    cr_assert_eq(submit(&fixture, no_leftovers), SW_E_INVALID);
    cr_assert_eq(submit(&fixture, no_leftover_values), SW_E_INVALID);
    cr_assert_eq(submit(&fixture, reads_need_little), SW_OK);
    fixture_close(&fixture);
}

/* --- in flight -------------------------------------------------------------------------------- */

#define FLIGHTS 80 /* more reads than a queue of the CUDA backend takes */
#define FLIGHT_WORDS 8

struct flights {
    struct fixture fixture;
    uint64_t *memory; /* a key, an operand, previous and found of each */
    struct sw_batch batches[FLIGHTS];
};

/* One operation on the same key. */
static int send_flight(struct flights *flights, int f, enum sw_op op)
{
    uint64_t *words = flights->memory + (size_t)f * FLIGHT_WORDS;
    const uint64_t sent[FLIGHT_WORDS] = {77, 1};
    memcpy(words, sent, sizeof(sent));
    flights->batches[f] = (struct sw_batch){.op = op,
                                            .count = 1,
                                            .keys = words,
                                            .values = words + 1,
                                            .previous = words + 2,
                                            .found = words + 3};
    return sw_batch_submit(flights->fixture.queue, &flights->batches[f]);
}

static void land_flight(struct flights *flights, int f, uint64_t expected)
{
    int status;
    do {
        status = sw_batch_poll(flights->fixture.queue, &flights->batches[f]);
    } while (status == SW_PENDING);
    cr_assert_eq(status, SW_OK, "%s", sw_status_text(status));
    cr_assert_eq(flights->memory[f * FLIGHT_WORDS + 2], expected);
}

static struct flights *open_flights(void)
{
    struct flights *flights = calloc(1, sizeof(*flights));
    struct sw_table_config config = fixture_config(128);
    fixture_open(&flights->fixture, &config);
    flights->memory = sw_io_alloc(flights->fixture.table, FLIGHTS * FLIGHT_WORDS * 8);
    cr_assert_not_null(flights->memory);
    return flights;
}

static void close_flights(struct flights *flights)
{
    sw_io_free(flights->fixture.table, flights->memory, FLIGHTS * FLIGHT_WORDS * 8);
    fixture_close(&flights->fixture);
    free(flights);
}

/* Batches of one queue take effect in order: each sees what the one before it left. Every third
 * reads. */
Test(table, batches_in_flight_follow_each_other)
{
    struct flights *flights = open_flights();
    const uint64_t total = 1000;
    for (uint64_t i = 0; i < total + FLIGHTS; i++) {
        int f = (int)(i % FLIGHTS);
        if (i >= FLIGHTS) {
            land_flight(flights, f, ((i - FLIGHTS) * 2 + 2) / 3);
        }
        if (i < total) {
            cr_assert_eq(send_flight(flights, f, i % 3 == 2 ? SW_GET : SW_INCREMENT), SW_OK);
        }
    }
    close_flights(flights);
}

/* A queue on CUDA holds a limited number of unpolled reads. The CPU executes them at once. */
Test(table, a_queue_full_of_reads_is_busy)
{
    struct flights *flights = open_flights();
    int status = SW_OK;
    int sent = 0;
    while (status == SW_OK && sent < FLIGHTS) {
        status = send_flight(flights, sent, SW_GET);
        sent += status == SW_OK;
    }
    cr_assert_eq(status, tested_backend() == SW_BACKEND_CUDA ? SW_E_BUSY : SW_OK);
    for (int f = 0; f < sent; f++) {
        land_flight(flights, f, 0);
    }
    cr_assert_eq(send_flight(flights, 0, SW_GET), SW_OK);
    land_flight(flights, 0, 0);
    close_flights(flights);
}

/* Returns whether the mapping that has `memory` requests huge pages. */
static bool requests_huge_pages(const void *memory)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    bool is_here = false;
    bool requests = false;
    cr_assert_not_null(maps);
    while (fgets(line, sizeof(line), maps) != NULL) {
        unsigned long long first, end;
        if (sscanf(line, "%llx-%llx ", &first, &end) == 2) {
            is_here = (uintptr_t)memory >= first && (uintptr_t)memory < end;
        }
        requests |= is_here && strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg") != NULL;
    }
    (void)fclose(maps);
    return requests;
}

Test(table, large_memory_of_a_device_has_huge_pages)
{
    struct fixture fixture;
    const struct sw_table_config config = fixture_config(128);
    fixture_open(&fixture, &config);
    if (tested_backend() != SW_BACKEND_CUDA ||
        access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) {
        fixture_close(&fixture);
        cr_skip_test("the memory belongs to no device, or the kernel has no huge pages");
    }
    const size_t bytes = (2U << 20) + 12345;
    uint8_t *large = sw_io_alloc(fixture.table, bytes), *small = sw_io_alloc(fixture.table, 4096);
    cr_assert(large != NULL && small != NULL);
    large[bytes - 1] = small[4095] = 1;
    cr_expect(requests_huge_pages(large));
    sw_io_free(fixture.table, large, bytes);
    sw_io_free(fixture.table, small, 4096);
    fixture_close(&fixture);
}
