/* SPDX-License-Identifier: MIT
 *
 * test_wide.cu - the compare-and-swap and the exchange of table/device/wide.cuh for compute
 * capabilities below 9.0, under every schedule in which threads lose their turn at most
 * --turns-lost times.
 *
 *   test_wide [--seconds N] [--turns-lost N] [--must-fail]
 *
 * Two or three threads put entries into a few cells, by exchange, or by compare-and-swap from what
 * they loaded half by half. No two entries are alike in either half. After each schedule all that
 * was taken out must have been whole, and every entry must be somewhere exactly once: taken out by
 * one thread, or in a cell. Then the next cells, until the time is over. --must-fail is for
 * functions without a part of their code: some schedule must be wrong.
 */
#include "table/device/wide.cuh"

#include "search.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.hpp"

namespace
{

#define THREADS_MAX 3
#define CELLS_MAX 2
#define CALLS_MAX 3
#define ENTRIES_MAX (CELLS_MAX + THREADS_MAX * CALLS_MAX)

/* One entry that a thread puts somewhere. */
struct call {
    uint64_t entry;
    uint32_t cell;
    bool exchanges;
};

struct trial {
    alignas(16) sw_wide cells[CELLS_MAX];
    call calls[THREADS_MAX][CALLS_MAX];
    sw_wide taken[THREADS_MAX][CALLS_MAX];
    uint32_t threads, cell_count, call_count;
    char fault[128];
};

/* No half is that of another entry. */
sw_wide entry_of(uint64_t number)
{
    return sw_wide{number, ~number};
}

uint64_t below(uint64_t bound)
{
    return emu_random() % bound;
}

} // namespace

static __global__ void put_kernel(trial *trial)
{
    for (uint32_t c = 0; c < trial->call_count; c++) {
        const call &call = trial->calls[blockIdx.x][c];
        sw_wide *cell = &trial->cells[call.cell];
        const sw_wide put = entry_of(call.entry);
        sw_wide was;
        if (call.exchanges) {
            was = sw_wide_exchange(cell, put);
        } else {
            sw_wide want = {((volatile uint64_t *)cell)[0], ((volatile uint64_t *)cell)[1]};
            for (;;) {
                was = sw_wide_cas(cell, want, put);
                if (was.low == want.low && was.high == want.high) {
                    break;
                }
                want = was;
            }
        }
        trial->taken[blockIdx.x][c] = was;
    }
}

namespace
{

void draw_trial(trial *trial)
{
    memset(trial, 0, sizeof(*trial));
    trial->threads = 2 + (uint32_t)below(THREADS_MAX - 1);
    trial->cell_count = 1 + (uint32_t)below(CELLS_MAX);
    trial->call_count = 1 + (uint32_t)below(trial->threads > 2 ? 2 : CALLS_MAX);
    for (uint32_t t = 0; t < trial->threads; t++) {
        for (uint32_t c = 0; c < trial->call_count; c++) {
            trial->calls[t][c] = call{CELLS_MAX + t * CALLS_MAX + c,
                                      (uint32_t)below(trial->cell_count), below(2) == 0};
        }
    }
}

void run_trial(trial *trial)
{
    for (uint32_t c = 0; c < CELLS_MAX; c++) {
        trial->cells[c] = entry_of(c);
    }
    emu_launched shape = emu_shape(trial->threads, 1);
    shape.combined = true;
    emu_launch(shape, "put_kernel", put_kernel, trial);
}

/* Notes that an entry is here. */
bool note(trial *trial, const sw_wide &entry, uint32_t *seen)
{
    if (entry.high != ~entry.low || entry.low >= ENTRIES_MAX) {
        snprintf(trial->fault, sizeof(trial->fault), "%llx and %llx are no entry",
                 (unsigned long long)entry.low, (unsigned long long)entry.high);
        return false;
    }
    if (seen[entry.low]++ != 0) {
        snprintf(trial->fault, sizeof(trial->fault), "entry %llu is there twice",
                 (unsigned long long)entry.low);
        return false;
    }
    return true;
}

/* Returns true if the cells and the taken entries hold no entry twice. Their number is the number
 * of entries put, so no entry is missing. */
bool is_right(trial *trial)
{
    uint32_t seen[ENTRIES_MAX] = {0};
    bool right = true;
    for (uint32_t c = 0; c < CELLS_MAX && right; c++) {
        right = note(trial, trial->cells[c], seen);
    }
    for (uint32_t t = 0; t < trial->threads; t++) {
        for (uint32_t c = 0; c < trial->call_count && right; c++) {
            right = note(trial, trial->taken[t][c], seen);
        }
    }
    return right;
}

} // namespace

int main(int argc, char **argv)
{
    static trial trial;
    double limit = 4;
    unsigned turns_lost = 2;
    bool must_fail = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
            limit = atof(argv[++i]);
        } else if (strcmp(argv[i], "--turns-lost") == 0 && i + 1 < argc) {
            turns_lost = (unsigned)atoi(argv[++i]);
        } else if (strcmp(argv[i], "--must-fail") == 0) {
            must_fail = true;
        } else {
            fprintf(stderr, "usage: %s [--seconds N] [--turns-lost N] [--must-fail]\n", argv[0]);
            return 2;
        }
    }
    emu_draw_anew();
    uint64_t trials = 0;
    uint64_t schedules = 0;
    bool good = true;
    for (const double end = emu_seconds() + limit; good && emu_seconds() < end; trials++) {
        draw_trial(&trial);
        const emu_searched searched = emu_search(&trial.cells, sizeof(trial.cells), turns_lost, [] {
            run_trial(&trial);
            return is_right(&trial);
        });
        schedules += searched.schedules;
        good = searched.good;
    }
    if (!good) {
        printf("# %u threads, %u cells, %u calls each: %s\n", trial.threads, trial.cell_count,
               trial.call_count, trial.fault);
    }
    const bool passed = good != must_fail && trials > 0;
    printf("%s exchange and compare-and-swap%s: %llu cases, %llu schedules\n",
           passed ? "ok    " : "FAILED", must_fail ? " that must fail" : "",
           (unsigned long long)trials, (unsigned long long)schedules);
    printf("%d passed, %d failed\n", passed, !passed);
    return passed ? 0 : 1;
}
