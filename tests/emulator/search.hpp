/* SPDX-License-Identifier: MIT
 *
 * search.hpp - every schedule of a small kernel, instead of one that is drawn.
 *
 * The search schedules blocks. The threads of a block run in a fixed order, so a block should be a
 * warp or less. A block may lose its turn at every access of the watched memory, but only a limited
 * number of times in a run (Musuvathi and Qadeer, "Iterative Context Bounding for Systematic Testing of
 * Multithreaded Programs", 2007). A turn that ends because the block does, or because an atomic
 * changed nothing, as where a lock was taken, does not count.
 */
#ifndef SHERWOOD_EMULATOR_SEARCH_HPP
#define SHERWOOD_EMULATOR_SEARCH_HPP

#include <functional>
#include <stddef.h>
#include <stdint.h>

struct emu_searched {
    uint64_t schedules; /* that were run */
    bool good;          /* every run was; otherwise the last was not */
};

/* Runs `run`, which makes the same kernels do the same, once for every schedule with at most
 * `turns_lost` turns lost at accesses of [from, from + bytes); until one is not good. */
emu_searched emu_search(const void *from, size_t bytes, unsigned turns_lost,
                        const std::function<bool()> &run);

/* Returns the monotonic clock in seconds. */
double emu_seconds(void);

#endif
