/* SPDX-License-Identifier: MIT
 *
 * test_cow_guard.c - an array that is written while another thread reads it as it was at one
 * instant.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "table/host/cow_guard.h"

/* Words of 1 MiB and a partial piece: more than the first chunks hold. */
#define WORDS ((1U << 17) + 5U)
#define PIECE_WORDS (SW_COW_GUARD_PIECE / sizeof(uint64_t))
#define WRITERS 3U

static uint64_t *new_array(void)
{
    uint64_t *array = malloc(WORDS * sizeof(*array));
    for (uint64_t i = 0; i < WORDS; i++) {
        array[i] = i;
    }
    return array;
}

static void write_word(struct sw_cow_guard *guard, uint64_t *array, uint64_t at)
{
    sw_cow_guard_before_write(guard, array + at);
    __atomic_store_n(array + at, UINT64_MAX - 1, __ATOMIC_RELAXED);
}

/* Reads all that is left: each word as it was, once. Returns how many. */
static uint64_t read_all(struct sw_cow_guard *guard, uint8_t *seen)
{
    const void *part = NULL;
    uint64_t bytes = 0, words = 0;
    while (sw_cow_guard_read(guard, &part, &bytes)) {
        const uint64_t *word = part;
        cr_assert_eq(bytes % SW_COW_GUARD_PIECE, 0);
        for (uint64_t i = 0; i < bytes / sizeof(*word); i++) {
            if (word[i] != UINT64_MAX) {
                cr_assert_lt(word[i], WORDS, "as it was, not as it is");
                cr_assert_eq(seen[word[i]]++, 0, "once");
                words++;
            }
        }
    }
    return words;
}

Test(cow_guard, what_is_written_before_it_is_read_is_copied)
{
    uint64_t *array = new_array();
    uint8_t *seen = calloc(WORDS, 1);
    struct sw_cow_guard *guard = sw_cow_guard_create(array, WORDS * sizeof(*array));
    cr_assert_not_null(guard);
    for (uint64_t at = 0; at < WORDS; at += 7 * PIECE_WORDS) {
        write_word(guard, array, at);
        write_word(guard, array, at); /* the second one finds it done */
    }
    write_word(guard, array, WORDS - 1);
    uint64_t outside = 0;
    write_word(guard, &outside, 0);
    cr_assert_eq(read_all(guard, seen), WORDS);
    cr_assert_not(sw_cow_guard_is_lost(guard));
    sw_cow_guard_destroy(guard);
    free(seen);
    free(array);
}

struct writing {
    struct sw_cow_guard *guard;
    uint64_t *array;
    unsigned first;
};

static void *write_ahead(void *context)
{
    const struct writing *writing = context;
    for (uint64_t at = writing->first; at < WORDS; at += WRITERS) {
        write_word(writing->guard, writing->array, at * 2654435761U % WORDS);
    }
    return NULL;
}

/* More is copied than there are chunks for, so writers wait for the reader, and take more where it
 * does not come. */
static void check_beside_writers(bool reads_at_once)
{
    uint64_t *array = new_array();
    uint8_t *seen = calloc(WORDS, 1);
    struct sw_cow_guard *guard = sw_cow_guard_create(array, WORDS * sizeof(*array));
    struct writing writing[WRITERS];
    pthread_t threads[WRITERS];
    uint64_t words = 0;
    for (unsigned i = 0; i < WRITERS; i++) {
        writing[i] = (struct writing){guard, array, i};
        cr_assert_eq(pthread_create(&threads[i], NULL, write_ahead, &writing[i]), 0);
    }
    if (reads_at_once) {
        words = read_all(guard, seen);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
    words += reads_at_once ? 0 : read_all(guard, seen);
    cr_assert_eq(words, WORDS);
    sw_cow_guard_destroy(guard);
    free(seen);
    free(array);
}

Test(cow_guard, writers_that_are_faster_than_the_reader_take_more_memory)
{
    check_beside_writers(true);
    check_beside_writers(false);
}

Test(cow_guard, one_that_is_lost_stops_nobody)
{
    uint64_t *array = new_array();
    uint8_t *seen = calloc(WORDS, 1);
    const void *part = NULL;
    uint64_t bytes = 0;
    struct sw_cow_guard *guard = sw_cow_guard_create(array, WORDS * sizeof(*array));
    write_word(guard, array, 1);
    cr_assert(sw_cow_guard_read(guard, &part, &bytes));
    sw_cow_guard_abandon(guard);
    memset(array, 0, WORDS * sizeof(*array)); /* no reader needs it any more */
    cr_assert(sw_cow_guard_is_lost(guard));
    cr_assert_not(sw_cow_guard_read(guard, &part, &bytes));
    cr_assert_eq(read_all(guard, seen), 0);
    sw_cow_guard_destroy(guard);
    free(seen);
    free(array);
}
