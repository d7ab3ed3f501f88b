/* SPDX-License-Identifier: MIT
 *
 * random_access.h - random reads and compare-and-swaps of device memory: what no table that looks
 * up or inserts keys one by one can pass.
 */
#ifndef SHERWOOD_BENCH_MEMORY_BANDWIDTH_RANDOM_ACCESS_H
#define SHERWOOD_BENCH_MEMORY_BANDWIDTH_RANDOM_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/timing/ceiling.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Gathers read lines of 32, 64, 128 bytes at random places. A CAS writes a word of 64 bits at a
 * random place, each word at most once, and always finds what it expects. LOAD_CAS first reads the
 * 32 bytes around the word, as an insert reads the bucket. */
enum sw_bandwidth_access {
    SW_BANDWIDTH_GATHER_32,
    SW_BANDWIDTH_GATHER_64,
    SW_BANDWIDTH_GATHER_128,
    SW_BANDWIDTH_CAS,
    SW_BANDWIDTH_LOAD_CAS,
    SW_BANDWIDTH_ACCESSES
};

/* Static storage: gather_32, .., cas, load_cas */
const char *sw_bandwidth_access_name(enum sw_bandwidth_access which);

/* One way to do it. */
struct sw_bandwidth_shape {
    enum sw_bandwidth_access access;
    uint32_t line_bytes;
    uint32_t lines_per_thread; /* on their way at a time */
    uint32_t lanes_per_line;   /* 1: a thread reads a line alone; more: 16 bytes a lane */
};

/* All of them, ordered by access. */
uint32_t sw_bandwidth_shapes(void);
struct sw_bandwidth_shape sw_bandwidth_shape_at(uint32_t number);

struct sw_bandwidth_timed {
    double seconds;      /* by events */
    uint64_t operations; /* lines, or words */
    uint64_t dram_bytes; /* read plus written: a CAS moves a sector of 32 bytes both ways */
};

/* One repetition over memory->source (gathers) or memory->target (the others). What a CAS wrote is
 * counted afterwards. On false one line on stderr says why. */
bool sw_bandwidth_access_run(struct sw_timing_memory *memory, uint32_t shape_number,
                             struct sw_bandwidth_timed *timed);

/* Asks for so many bytes a fetch into L2 (a hint to the device); what the device made of
 * it comes back. bytes 0 only asks. */
bool sw_bandwidth_l2_fetch(uint32_t bytes, uint32_t *granted);

#ifdef __cplusplus
}
#endif

#endif
