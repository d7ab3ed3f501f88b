/* SPDX-License-Identifier: MIT
 *
 * place.c - the arrays of the study of rows in host memory, and the rates of that memory: one
 * thread for each processor moves rows.
 */
#include "bench/rows/place.inl"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/study/report.h"

#define THREADS_MAX 64
#define UNIT 16
#define PAGE_BYTES ((size_t)2 << 20)

/* --- memory with huge pages, as the tables use, or the ceilings would be too low -------------- */

static bool host_choose(int device)
{
    return sw_study_host.choose(device);
}

static void host_describe(int device, FILE *out)
{
    sw_study_host.describe(device, out);
}

static void *host_alloc(size_t bytes)
{
    size_t pages = (bytes / PAGE_BYTES + 1) * PAGE_BYTES;
    void *memory = aligned_alloc(PAGE_BYTES, pages);
    if (memory == NULL) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
    } else {
        (void)madvise(memory, pages, MADV_HUGEPAGE); /* else small pages remain */
    }
    return memory;
}

static bool host_fill(void *memory, int byte, size_t bytes)
{
    return sw_study_host.fill(memory, byte, bytes);
}

static bool host_copy(void *to, const void *from, size_t bytes)
{
    return sw_study_host.copy(to, from, bytes);
}

static const struct sw_study_place host_memory = {
    "cpu", host_choose, host_describe, host_alloc, free, host_fill, host_copy,
};

/* --- moves ------------------------------------------------------------------------------------ */

struct share {
    const struct sw_rowbench_moved *moved;
    uint64_t first;
    uint64_t end;
};

static void add_row(float *to, const float *from, uint64_t bytes)
{
    for (uint64_t w = 0; w < bytes / sizeof(*to); w++) {
        to[w] += from[w];
    }
}

static void move_row(const struct sw_rowbench_moved *moved, uint64_t j)
{
    uint64_t bytes = (uint64_t)moved->units * UNIT;
    uint64_t place = moved->move == SW_ROWBENCH_COPY ? j : sw_rowbench_place_of(moved, j);
    char *arena = (char *)moved->arena + place * bytes;
    char *packed = (char *)moved->packed + j * bytes;
    switch (moved->move) {
    case SW_ROWBENCH_SCATTER:
        memcpy(arena, packed, bytes);
        break;
    case SW_ROWBENCH_SUM:
    case SW_ROWBENCH_SUM_HOT_TENTH:
    case SW_ROWBENCH_SUM_HOT_HALF:
        add_row((float *)(void *)arena, (const float *)(const void *)packed, bytes);
        break;
    case SW_ROWBENCH_GATHER:
        if (!sw_rowbench_has(moved, j)) {
            memset(packed, 0, bytes);
            break;
        }
        memcpy(packed, arena, bytes);
        break;
    default:
        memcpy(packed, arena, bytes);
    }
}

/* Adds the first row to the first row of the arena, moved->hot times. */
static void add_hot(const struct sw_rowbench_moved *moved)
{
    uint64_t bytes = (uint64_t)moved->units * UNIT;
    for (uint64_t j = 0; j < moved->hot; j++) {
        add_row((float *)moved->arena, (const float *)moved->packed, bytes);
    }
}

static void *move_share(void *context)
{
    const struct share *share = context;
    if (share->first == 0) {
        add_hot(share->moved);
    }
    for (uint64_t j = share->first > share->moved->hot ? share->first : share->moved->hot;
         j < share->end; j++) {
        move_row(share->moved, j);
    }
    return NULL;
}

static bool host_move(const struct sw_rowbench_moved *moved, double *seconds)
{
    pthread_t threads[THREADS_MAX];
    struct share shares[THREADS_MAX];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t total = processors < 1 ? 1 : (uint64_t)processors;
    total = total > THREADS_MAX ? THREADS_MAX : total;
    uint64_t started = 0;
    double begun = sw_study_clock();
    for (uint64_t t = 0; t < total; t++) {
        shares[t] = (struct share){moved, moved->count * t / total, moved->count * (t + 1) / total};
        if (t + 1 == total || pthread_create(&threads[t], NULL, move_share, &shares[t]) != 0) {
            shares[t].end = moved->count; /* the calling thread moves the remaining rows */
            (void)move_share(&shares[t]);
            break;
        }
        started++;
    }
    for (uint64_t t = 0; t < started; t++) {
        pthread_join(threads[t], NULL);
    }
    *seconds = sw_study_clock() - begun;
    return true;
}

const struct sw_rowbench_place sw_rowbench_host = {
    &host_memory, draw_keys, draw_rows, expand, judge, note, host_move, NULL, NULL,
};
