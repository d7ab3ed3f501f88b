/* SPDX-License-Identifier: MIT
 *
 * ceilings.h - the rates of device memory that tables are compared with: copies, random reads and
 * random compare-and-swaps. No table that looks keys up or inserts them one by one can be faster.
 *
 * Threads: one.
 */
#ifndef SHERWOOD_BENCH_STUDY_CEILINGS_H
#define SHERWOOD_BENCH_STUDY_CEILINGS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A gather reads lines of 32, 64 or 128 bytes at random places. A CAS writes a word of 64 bits at a
 * random place, each word at most once, and always finds what it expects. LOAD_CAS first reads the
 * 32 bytes around the word, as an insert reads the bucket. */
enum sw_study_access {
    SW_STUDY_COPY_MEMCPY, /* by the CUDA runtime */
    SW_STUDY_COPY_UINT4,  /* by a kernel of 16-byte loads and stores */
    SW_STUDY_GATHER_32,
    SW_STUDY_GATHER_64,
    SW_STUDY_GATHER_128,
    SW_STUDY_CAS,
    SW_STUDY_LOAD_CAS,
    SW_STUDY_ACCESSES
};

/* Returns a name in static storage: copy_memcpy, copy_uint4, gather_32, .., cas, load_cas */
const char *sw_study_access_name(enum sw_study_access access);

/* One variant of an access. */
struct sw_study_shape {
    enum sw_study_access access;
    uint32_t line_bytes;       /* 0: a copy */
    uint32_t lines_per_thread; /* lines in flight for each thread */
    uint32_t lanes_per_line;   /* 1: a thread reads a whole line; more: 16 bytes a lane */
};

/* Returns the number of shapes, which are ordered by access. */
uint32_t sw_study_shapes(void);
struct sw_study_shape sw_study_shape_at(uint32_t number);
/* Returns the shape in which a thread reads 128 bytes at a time, in whole lines; a copy has only
 * one shape. */
uint32_t sw_study_shape_usual(enum sw_study_access access);

struct sw_study_memory {
    uint64_t bytes;  /* size of each of the two arrays; a power of two, at least 4096 */
    void *source;    /* random words: source of copies and gathers */
    void *target;    /* target of copies and swaps */
    uint64_t *sink;  /* keeps the compiler from removing the gathers */
    uint64_t number; /* number of the next run: each run reads other places */
};

/* On failure prints one line on stderr and returns false; nothing is allocated. */
bool sw_study_memory_open(struct sw_study_memory *memory, uint64_t bytes, uint64_t seed);
void sw_study_memory_close(struct sw_study_memory *memory);

struct sw_study_timed {
    double seconds;      /* by CUDA events */
    uint64_t operations; /* lines or words of the run; 0: a copy */
    uint64_t dram_bytes; /* bytes read plus written: a CAS moves a sector of 32 bytes in both
                            directions */
};

/* Runs one repetition, then compares a copy with its source, or counts the words that a CAS wrote.
 * On failure prints one line on stderr and returns false. */
bool sw_study_access_run(struct sw_study_memory *memory, uint32_t shape,
                         struct sw_study_timed *timed);

/* The same for `count` writes of different words of `target`. Each thread reads the 32 bytes around
 * a word of 64 bits at a random place, and stores the word. That is the least that a write of a
 * stored key does. */
bool sw_study_write_run(struct sw_study_memory *memory, uint64_t count,
                        struct sw_study_timed *timed);

/* Requests `bytes` for each fetch into L2 (a hint to the device). *granted is the device's value.
 * bytes 0 only queries it. */
bool sw_study_l2_fetch(uint32_t bytes, uint32_t *granted);

#ifdef __cplusplus
}
#endif

#endif
