/* SPDX-License-Identifier: MIT
 *
 * place.h - the memory of the arrays of the study of rows, host or device; the functions that fill
 * and check them, and the rates of that memory.
 *
 * Members that return bool wait until their work is done; on false one line on stderr says why.
 * Threads: one.
 */
#ifndef SHERWOOD_BENCH_ROWS_PLACE_H
#define SHERWOOD_BENCH_ROWS_PLACE_H

#include "bench/rows/draw.h"
#include "bench/study/place.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sw_rowbench_answer {
    SW_ROWBENCH_RIGHT,
    SW_ROWBENCH_MISSED,  /* stored, but not found */
    SW_ROWBENCH_PHANTOM, /* found, but not stored */
    SW_ROWBENCH_WRONG,   /* a float that differs from the expected one */
    SW_ROWBENCH_ANSWERS
};

/* Answers of a GET and the expected contents. Each key determines its number, so the order of the
 * keys does not matter. */
struct sw_rowbench_judged {
    const uint64_t *keys;
    const uint8_t *results; /* 1 found, 0 absent */
    const float *rows;
    const uint8_t *model; /* generation of each number that may be stored; 0: absent */
    uint64_t numbers;     /* numbers in the model; other numbers are absent */
    uint32_t dim;
    bool zeroes_absent; /* rows of absent keys must be 0 */
    bool adds;    /* since the model's generation, each key was added to once, and the hot key `hot`
                     times */
    uint64_t hot; /* number of the hot key */
    uint64_t hot_times;
    uint64_t seed;
};

/* Rates of memory: moves `count` rows of `units` times 16 bytes, each at a random place of an arena
 * of `rows` rows, a power of two. */
enum sw_rowbench_move {
    SW_ROWBENCH_COPY,    /* neighbouring rows to neighbouring rows */
    SW_ROWBENCH_GATHER,  /* from the arena; zeros for absent rows */
    SW_ROWBENCH_SCATTER, /* to the arena */
    SW_ROWBENCH_SUM,     /* added to rows of the arena */
    /* Like SUM, but a tenth, or half, of the operands go to one row and are not moved: the same
     * operand is added to that row again and again. Each sum waits for the sum before it. */
    SW_ROWBENCH_SUM_HOT_TENTH,
    SW_ROWBENCH_SUM_HOT_HALF,
    SW_ROWBENCH_MOVES
};

struct sw_rowbench_moved {
    enum sw_rowbench_move move;
    void *arena;
    void *packed;
    uint64_t rows;
    uint64_t count;
    uint64_t present; /* of `count`, evenly spread; only for GATHER */
    uint64_t hot;     /* of `count`, the first ones; SUM_HOT_TENTH, SUM_HOT_HALF; otherwise 0 */
    uint32_t units;
    uint64_t draw; /* each draw has another order */
};

struct sw_rowbench_place {
    const struct sw_study_place *memory;
    bool (*draw_keys)(uint64_t *keys, const struct sw_rowbench_keys *drawn);
    /* Writes the rows of a generation; generation 0: the operands of ADD. */
    bool (*draw_rows)(float *rows, const uint64_t *keys, uint64_t count, uint32_t dim,
                      uint32_t generation, uint64_t seed);
    bool (*expand)(uint8_t *results, const uint64_t *bits, uint64_t count);
    /* Compares the answers with the model. Adds to the counts. */
    bool (*judge)(const struct sw_rowbench_judged *judged, uint64_t count,
                  unsigned long long counts[SW_ROWBENCH_ANSWERS]);
    bool (*note)(uint8_t *model, const uint64_t *keys, uint64_t count, uint32_t generation,
                 uint64_t seed);
    bool (*move)(const struct sw_rowbench_moved *moved, double *seconds);
    /* Allocates pinned memory of the host that the device can access; NULL: this place is the host.
     */
    void *(*alloc_pinned)(size_t bytes);
    void (*free_pinned)(void *memory);
};

extern const struct sw_rowbench_place sw_rowbench_host;
/* NULL in builds without nvcc. */
const struct sw_rowbench_place *sw_rowbench_device(void);

/* Returns the place of row j of a move in the arena: a permutation of 0 .. rows - 1. */
SW_HD static inline uint64_t sw_rowbench_place_of(const struct sw_rowbench_moved *moved, uint64_t j)
{
    uint64_t mask = moved->rows - 1;
    uint64_t bits = 0;
    while (moved->rows >> bits > 1) {
        bits++;
    }
    uint64_t place = (j * 0x9e3779b97f4a7c15ULL + moved->draw) & mask;
    place ^= place >> (bits / 2 + 1);
    return (place * 0xd6e8feb86659fd93ULL) & mask;
}

SW_HD static inline bool sw_rowbench_has(const struct sw_rowbench_moved *moved, uint64_t j)
{
    return (j + 1) * moved->present / moved->count != j * moved->present / moved->count;
}

#ifdef __cplusplus
}
#endif

#endif
