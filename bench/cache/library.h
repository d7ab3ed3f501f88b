/* SPDX-License-Identifier: MIT
 *
 * library.h - a cache under test: Sherwood's in either mode, or a peer's (bench/peers/hkv.cu).
 *
 * Members return when their work is done; members that return bool print failures on stderr.
 * Threads: one.
 */
#ifndef SHERWOOD_BENCH_CACHE_LIBRARY_H
#define SHERWOOD_BENCH_CACHE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Enum name, name on the command line and in the files, description. */
#define SW_CACHEBENCH_OPERATION_MAP(X)                                                 \
    X(FIND, "find", "copies values out")                                               \
    X(FIND_PLACES, "find_places", "addresses of values; find* at HierarchicalKV")      \
    X(CONTAINS, "contains", "found or not")                                            \
    X(INSERT_OR_ASSIGN, "insert_or_assign", "writes, present or not")                  \
    X(INSERT_AND_EVICT, "insert_and_evict", "the same, and lists what left")           \
    X(FIND_OR_INSERT, "find_or_insert", "copies values out, inserts absent keys")      \
    X(ASSIGN, "assign", "writes those that are present")                               \
    X(ACCUM_OR_ASSIGN, "accum_or_assign", "adds to those present, inserts the others") \
    X(ERASE, "erase", "removes those that are present")

enum sw_cachebench_operation {
#define SW_CACHEBENCH_OPERATION_ENUM(name, text, what) SW_CACHEBENCH_##name,
    SW_CACHEBENCH_OPERATION_MAP(SW_CACHEBENCH_OPERATION_ENUM)
#undef SW_CACHEBENCH_OPERATION_ENUM
        SW_CACHEBENCH_OPERATIONS
};

#define SW_CACHEBENCH_BIT(operation) (1U << SW_CACHEBENCH_##operation)

struct sw_cachebench_wanted {
    bool on_host;
    int device;
    uint64_t capacity; /* in entries */
    uint32_t dim;      /* floats of a value */
    uint32_t room;     /* the most operations of a call */
    bool custom;       /* the caller gives the scores; otherwise the cache is LRU */
    uint32_t rows_in;  /* rows only: enum sw_rows_in */
    uint64_t rows_gpu_bytes;
};

/* Arrays of a call, in the table's memory. Each has room for the study's largest call. A library
 * reads and writes only the arrays of the operation. */
struct sw_cachebench_arrays {
    uint64_t room;
    uint64_t *keys;
    float *values;       /* [room][dim] */
    uint64_t *scores;    /* NULL: LRU */
    uint8_t *accumulate; /* 1: add, because the key is present. 0: insert, because it is absent */
    float *values_out;   /* [room][dim] */
    void **places;
    uint8_t *results;       /* 1 found, 0 absent; only look-ups write them */
    uint64_t *evicted_keys; /* this and the next three: what the cache evicted */
    float *evicted_values;
    uint64_t *evicted_scores;
    uint64_t *evicted_count;
    uint64_t *bits; /* instead of results, for libraries with is_table */
    uint64_t *told; /* instead of evicted_count, in host memory */
};

struct sw_cachebench_library {
    const char *name;
    const char *about;   /* for run_info.txt; NULL: nothing */
    uint32_t operations; /* bits of the supported operations; always insert_or_assign and find */
    bool on_device_only;
    bool in_place;   /* find_or_insert takes the values from values_out */
    bool fills_only; /* does not run the experiment operations */
    bool is_table;   /* answers like table.h: bits, and a count on the host; find_or_insert reports
                        which keys were present before */
    /* Opens a cache. Returns NULL with a sentence in `reason` on failure. */
    void *(*open)(const struct sw_cachebench_wanted *wanted, char *reason, size_t reason_size);
    void (*close)(void *cache);
    bool (*clear)(void *cache);
    bool (*size)(void *cache, uint64_t *entries);
    uint64_t (*capacity)(void *cache);
    /* Runs an operation on the first `count` elements of the arrays. */
    bool (*call)(void *cache, enum sw_cachebench_operation operation,
                 const struct sw_cachebench_arrays *arrays, uint64_t count);
};

#define SW_CACHEBENCH_LIBRARIES_MAX 16 /* with the NULL that ends the list */

/* The libraries of this build; the list ends with NULL. Static storage. */
extern const struct sw_cachebench_library *const sw_cachebench_libraries[];

extern const struct sw_cachebench_library sw_cachebench_sherwood_memory;
extern const struct sw_cachebench_library sw_cachebench_sherwood_throughput;
extern const struct sw_cachebench_library sw_cachebench_sherwood_memory_host;
extern const struct sw_cachebench_library sw_cachebench_sherwood_throughput_host;
extern const struct sw_cachebench_library sw_cachebench_sherwood_rows; /* a table, for bench/rows */
/* bench/peers/hkv.cu: one bucket a key, values on the GPU and on the host; two, on the host and on
 * the GPU. */
extern const struct sw_cachebench_library sw_cachebench_hkv;
extern const struct sw_cachebench_library sw_cachebench_hkv_host;
extern const struct sw_cachebench_library sw_cachebench_hkv_memory;
extern const struct sw_cachebench_library sw_cachebench_hkv_memory_gpu;

#ifdef __cplusplus
}
#endif

#endif
