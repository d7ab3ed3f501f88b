/* SPDX-License-Identifier: MIT
 *
 * test_input.c - memory of incomplete requests: what it counts, where it lies, and that it is given
 * back.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/limits.h"
#include "server/net/input.h"
#include "tests/support/random.h"
#include "tests/support/threads.h"

enum { MIB = 1 << 20, THREADS = 4 };

static struct sw_input_budget budget_of(uint64_t bytes)
{
    return (struct sw_input_budget){.bytes_max = bytes};
}

/* Adds `count` bytes; each differs by its position. */
static enum sw_input_result put(struct sw_input *input, struct sw_input_budget *budget,
                                size_t count, uint8_t first)
{
    enum sw_input_result result = sw_input_grow(input, budget, count);
    if (result == SW_INPUT_OK) {
        for (size_t i = 0; i < count; i++) {
            input->bytes[input->end++] = (uint8_t)(first + i);
        }
    }
    sw_input_check(input);
    return result;
}

static void expect(const struct sw_input *input, size_t count, uint8_t first)
{
    cr_assert_eq(sw_input_held(input), count);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(input->bytes[input->start + i], (uint8_t)(first + i), "byte %zu", i);
    }
}

/* Pages of the process that are in memory. */
static size_t resident_bytes(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    cr_assert_not_null(file);
    cr_assert_eq(fscanf(file, "%*s %zu", &pages), 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Is anything mapped there? */
static bool is_mapped(void *memory, size_t bytes)
{
    unsigned char pages[4096];
    cr_assert_leq(bytes / 4096, sizeof(pages));
    return mincore(memory, bytes, pages) == 0;
}

Test(input, a_new_one_has_no_memory)
{
    struct sw_input input = {0};
    sw_input_check(&input);
    cr_assert_null(input.bytes);
    cr_assert_eq(sw_input_held(&input), 0);
}

Test(input, the_budget_counts_the_capacity)
{
    struct sw_input input = {0};
    struct sw_input_budget budget = budget_of(MIB);
    cr_assert_eq(put(&input, &budget, 100, 0), SW_INPUT_OK);
    cr_assert_geq(input.capacity, 100);
    cr_assert_eq(sw_input_budget_used(&budget), input.capacity);
    cr_assert_eq(put(&input, &budget, 5000, 100), SW_INPUT_OK);
    cr_assert_eq(sw_input_budget_used(&budget), input.capacity);
    expect(&input, 5100, 0);
    sw_input_free(&input, &budget);
    cr_assert_eq(sw_input_budget_used(&budget), 0);
}

Test(input, room_that_is_there_costs_nothing)
{
    struct sw_input input = {0};
    struct sw_input_budget budget = budget_of(MIB);
    cr_assert_eq(sw_input_grow(&input, &budget, 4096), SW_INPUT_OK);
    uint64_t used = sw_input_budget_used(&budget);
    for (int i = 0; i < 4096; i += 64) {
        cr_assert_eq(put(&input, &budget, 64, 0), SW_INPUT_OK);
    }
    cr_assert_eq(sw_input_budget_used(&budget), used);
    sw_input_free(&input, &budget);
}

Test(input, over_budget_changes_nothing)
{
    struct sw_input input = {0};
    struct sw_input_budget budget = budget_of(10000);
    cr_assert_eq(put(&input, &budget, 6000, 7), SW_INPUT_OK);
    struct sw_input before = input;
    cr_assert_eq(put(&input, &budget, 6000, 0), SW_INPUT_OVER_BUDGET);
    cr_assert_eq(memcmp(&before, &input, sizeof(input)), 0);
    expect(&input, 6000, 7);
    cr_assert_eq(sw_input_budget_used(&budget), before.capacity);
    sw_input_free(&input, &budget);
}

Test(input, what_others_hold_counts)
{
    struct sw_input one = {0}, other = {0};
    struct sw_input_budget budget = budget_of(10000);
    cr_assert_eq(put(&one, &budget, 6000, 0), SW_INPUT_OK);
    cr_assert_eq(put(&other, &budget, 6000, 0), SW_INPUT_OVER_BUDGET);
    cr_assert_null(other.bytes);
    sw_input_free(&one, &budget);
    cr_assert_eq(put(&other, &budget, 6000, 0), SW_INPUT_OK);
    sw_input_free(&other, &budget);
}

/* The capacity doubles so that growing is cheap; near the limit it must not be the doubling that
 * fails. */
Test(input, a_request_that_fits_the_budget_fits_whatever_came_before)
{
    struct sw_input input = {0};
    struct sw_input_budget budget = budget_of(10000);
    for (int i = 0; i < 9; i++) {
        cr_assert_eq(put(&input, &budget, 1000, (uint8_t)(i * 1000)), SW_INPUT_OK, "%d", i);
    }
    expect(&input, 9000, 0);
    sw_input_free(&input, &budget);
}

/* Large requests cannot take everything: a small one that is incomplete goes on. */
Test(input, large_ones_leave_an_eighth_to_small_ones)
{
    struct sw_input large = {0}, small = {0};
    struct sw_input_budget budget = budget_of(8 * MIB);
    cr_assert_eq(put(&large, &budget, 7 * MIB, 0), SW_INPUT_OK);
    cr_assert_eq(put(&large, &budget, 1, 0), SW_INPUT_OVER_BUDGET);
    cr_assert_eq(put(&small, &budget, SW_INPUT_MAPPED_BYTES, 0), SW_INPUT_OVER_BUDGET);
    cr_assert_eq(put(&small, &budget, SW_INPUT_MAPPED_BYTES - 1, 0), SW_INPUT_OK);
    cr_assert_leq(sw_input_budget_used(&budget), 8 * MIB);
    sw_input_free(&large, &budget);
    sw_input_free(&small, &budget);
}

Test(input, growing_brings_the_rest_to_the_beginning)
{
    struct sw_input input = {0};
    struct sw_input_budget budget = budget_of(MIB);
    cr_assert_eq(put(&input, &budget, 4000, 0), SW_INPUT_OK);
    size_t capacity = input.capacity;
    input.start = 3900; /* consumed */
    cr_assert_eq(put(&input, &budget, 3000, (uint8_t)4000), SW_INPUT_OK);
    cr_assert_eq(input.start, 0);
    cr_assert_eq(input.capacity, capacity, "consumed bytes are room again");
    expect(&input, 3100, (uint8_t)3900);
    sw_input_free(&input, &budget);
}

/* From the heap to a mapping of its own, and to a larger one. */
Test(input, bytes_survive_every_move)
{
    struct sw_input input = {0};
    struct sw_input_budget budget = budget_of(64 * MIB);
    size_t count = 0;
    while (count < 4 * MIB) {
        size_t more = count < 2 * SW_INPUT_MAPPED_BYTES ? 4096 : 65536;
        cr_assert_eq(put(&input, &budget, more, (uint8_t)count), SW_INPUT_OK);
        count += more;
    }
    expect(&input, count, 0);
    sw_input_free(&input, &budget);
    cr_assert_eq(sw_input_budget_used(&budget), 0);
}

Test(input, a_large_one_is_whole_pages_for_itself)
{
    struct sw_input input = {0};
    struct sw_input_budget budget = budget_of(8 * MIB);
    cr_assert_eq(sw_input_grow(&input, &budget, SW_INPUT_MAPPED_BYTES + 1), SW_INPUT_OK);
    cr_assert_eq((uintptr_t)input.bytes % 4096, 0);
    cr_assert_eq(input.capacity % 4096, 0);
    uint8_t *bytes = input.bytes;
    size_t capacity = input.capacity;
    cr_assert(is_mapped(bytes, capacity));
    sw_input_free(&input, &budget);
    cr_assert_not(is_mapped(bytes, capacity), "it is still there");
    sw_input_check(&input);
}

/* Many that grow side by side, as those of an attack do, and then all close. */
Test(input, closing_gives_the_memory_back_to_the_system)
{
    enum { INPUTS = 64 };
#ifdef __SANITIZE_THREAD__
    cr_skip_test("ThreadSanitizer keeps memory beside all that was used");
#endif
    static struct sw_input inputs[INPUTS];
    struct sw_input_budget budget = budget_of(256 * MIB);
    size_t before = resident_bytes();
    for (size_t size = 0; size < MIB; size += 32768) {
        for (int i = 0; i < INPUTS; i++) {
            cr_assert_eq(put(&inputs[i], &budget, 32768, 0), SW_INPUT_OK);
        }
    }
    cr_assert_gt(resident_bytes(), before + 60 * MIB);
    for (int i = 0; i < INPUTS; i++) {
        sw_input_free(&inputs[i], &budget);
    }
    cr_assert_lt(resident_bytes(), before + 16 * MIB);
    cr_assert_eq(sw_input_budget_used(&budget), 0);
}

Test(input, freeing_again_changes_nothing)
{
    struct sw_input input = {0};
    struct sw_input_budget budget = budget_of(MIB);
    cr_assert_eq(put(&input, &budget, 10, 0), SW_INPUT_OK);
    sw_input_free(&input, &budget);
    sw_input_free(&input, &budget);
    cr_assert_eq(sw_input_budget_used(&budget), 0);
}

Test(input, more_than_there_can_be_is_refused)
{
    struct sw_input input = {0};
    struct sw_input_budget budget = budget_of(UINT64_MAX);
    cr_assert_eq(put(&input, &budget, 10, 3), SW_INPUT_OK);
    cr_assert_eq(sw_input_grow(&input, &budget, (size_t)1 << 60), SW_INPUT_NO_MEMORY);
    cr_assert_eq(sw_input_budget_used(&budget), input.capacity);
    expect(&input, 10, 3);
    sw_input_free(&input, &budget);
}

struct loop {
    uint64_t number;
    struct sw_input_budget *budget;
    uint64_t refused;
};

static void *grow_and_free(void *argument)
{
    struct loop *loop = argument;
    struct sw_input inputs[8] = {{0}};
    struct random random = random_of(loop->number);
    for (int step = 0; step < 20000; step++) {
        struct sw_input *input = &inputs[random_below(&random, 8)];
        if (random_below(&random, 3) == 0) {
            sw_input_free(input, loop->budget);
        } else {
            size_t bytes = 1 + random_below(&random, 3 * SW_INPUT_MAPPED_BYTES);
            loop->refused += sw_input_grow(input, loop->budget, bytes) != SW_INPUT_OK;
            input->end = input->capacity;
        }
        sw_input_check(input);
        cr_assert_leq(sw_input_budget_used(loop->budget), loop->budget->bytes_max);
    }
    for (int i = 0; i < 8; i++) {
        sw_input_free(&inputs[i], loop->budget);
    }
    return NULL;
}

Test(input, loops_share_one_budget)
{
    struct sw_input_budget budget = budget_of(2 * MIB);
    struct loop loops[THREADS];
    uint64_t refused = 0;
    random_seed(); /* printed by one */
    for (uint64_t i = 0; i < THREADS; i++) {
        loops[i] = (struct loop){.number = i, .budget = &budget};
    }
    threads_run(THREADS, grow_and_free, loops, sizeof(loops[0]));
    for (int i = 0; i < THREADS; i++) {
        refused += loops[i].refused;
    }
    cr_assert_eq(sw_input_budget_used(&budget), 0);
    cr_assert_gt(refused, 0, "the budget was never met");
}
