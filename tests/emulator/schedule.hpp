/* SPDX-License-Identifier: MIT
 *
 * schedule.hpp - the threads of all running kernels, and the choice of the thread that runs.
 *
 * One host thread at a time may be in here: runtime.cpp sees to it.
 */
#ifndef SHERWOOD_EMULATOR_SCHEDULE_HPP
#define SHERWOOD_EMULATOR_SCHEDULE_HPP

#include <cuda_runtime.h>

/* Read from the environment once, and said on stderr. */
struct emu_options {
    uint64_t seed;   /* EMU_SEED: what is drawn when; or drawn itself */
    unsigned blocks; /* EMU_BLOCKS: of a kernel, how many run at once */
    bool async;      /* EMU_ASYNC: a launch returns before the kernel has run */
    uint64_t copy_ms; /* EMU_COPY_MS: how long a copy of another process's memory takes, if async */
};
const emu_options *emu_options_read(void);

uint64_t emu_random(void);
/* What is drawn from here on depends on nothing but the seed. */
void emu_draw_anew(void);

/* A kernel at work. */
struct emu_grid;
/* `before`: the kernel that it follows, if that one is at work; or NULL. */
emu_grid *emu_grid_begin(const emu_launched *launched, emu_grid *before);
bool emu_grid_lets_follow(const emu_grid *grid);
bool emu_grid_is_done(const emu_grid *grid);
void emu_grid_end(emu_grid *grid);

/* Runs the started kernels for `turns` turns, or until one of the kernels is done. */
void emu_run(uint64_t turns);

/* Whether this is a thread of a kernel, and not the host. */
bool emu_on_device(void);
/* So many accesses of memory were made by the thread whose turn it is: now and then it is over. */
void emu_spend(unsigned accesses, const void *at);

/* Says where it happened and ends the program. */
[[noreturn]] void emu_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
