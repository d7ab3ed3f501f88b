/* SPDX-License-Identifier: MIT
 *
 * configuration.h - the configuration of a table, and the memory that a table may use.
 */
#ifndef SHERWOOD_TABLE_CONFIGURATION_H
#define SHERWOOD_TABLE_CONFIGURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sw_backend_kind { SW_BACKEND_AUTO, SW_BACKEND_CPU, SW_BACKEND_CUDA };

/* The engine holds the entries. When to choose which: table/README.md, "Engines". */
enum sw_engine { SW_ENGINE_ROBIN_HOOD, SW_ENGINE_CUCKOO, SW_ENGINE_CACHE };

/* Cache: number of buckets in which a key may lie. MEMORY: two, which fill more evenly; THROUGHPUT:
 * one, which is faster. */
enum sw_cache_mode { SW_CACHE_MEMORY, SW_CACHE_THROUGHPUT };

/* Cache: the meaning of an entry's score. A full bucket evicts the entry with the lowest score.
 * EPOCH policies keep the epoch in the high 32 bits. */
enum sw_cache_policy {
    SW_CACHE_LRU,       /* the time of the last use */
    SW_CACHE_LFU,       /* the number of uses */
    SW_CACHE_EPOCH_LRU, /* the epoch of the last use, then its time, in batches */
    SW_CACHE_EPOCH_LFU, /* the epoch of the last use, then the number of uses */
    SW_CACHE_CUSTOM     /* a score set by the caller */
};

/* Return whether batches may set scores under this policy, and whether it has epochs. */
static inline bool sw_cache_takes_scores(enum sw_cache_policy policy)
{
    return policy == SW_CACHE_LFU || policy == SW_CACHE_EPOCH_LFU || policy == SW_CACHE_CUSTOM;
}
static inline bool sw_cache_has_epochs(enum sw_cache_policy policy)
{
    return policy == SW_CACHE_EPOCH_LRU || policy == SW_CACHE_EPOCH_LFU;
}
/* Returns "lru", "epoch-lfu", ..: static storage. */
const char *sw_cache_policy_name(enum sw_cache_policy policy);

/* Cache: execution strategy of batches that write on CUDA (table/cache/README.md). Rows exist only
 * in THROUGHPUT mode. LOCKS carries out operations under the locks of buckets. */
enum sw_cache_writing {
    SW_CACHE_WRITING_AUTO, /* the fastest for the batch, by measurement */
    SW_CACHE_WRITING_LOCKS,
    SW_CACHE_WRITING_SHORT_ROWS,
    SW_CACHE_WRITING_LONG_ROWS
};

enum sw_rows_in { SW_ROWS_IN_GPU, SW_ROWS_IN_HOST, SW_ROWS_IN_GPU_HOST /* GPU memory first */ };

/* Choices that a table makes by itself (all zero), and that studies and tests override. No choice
 * changes where keys are stored. */
enum sw_choice { SW_CHOICE_AUTO, SW_CHOICE_NEVER, SW_CHOICE_ALWAYS };
struct sw_table_tuning {
    enum sw_choice bulk;   /* CUDA: stream the whole table to carry out upserts or deletes */
    enum sw_choice ranges; /* CUDA: partition batches that certainly fit by ranges of m */
    enum sw_choice hints;  /* CUDA: keep displacement hints (table/robin_hood/README.md) */
    enum sw_choice holes;  /* CUDA: leave holes where entries are deleted, if the table can */
    /* CUDA: threads per block of the kernels that look up keys: a power of two from 64 to 1024; 0:
     * the default of each kernel */
    uint32_t block_size;
    /* CPU backend: least bytes of arrays for which a pass over them is long (host/long_phase.h); 0:
     * SW_LONG_BYTES */
    uint64_t long_bytes;
    bool without_probe_counts; /* CUDA: counters.probes and hits of large batches of GET stay 0 */
    enum sw_cache_writing cache_writing; /* CUDA */
};

/* A field that belongs to another engine must be 0, or the configuration is SW_E_INVALID. max_load
 * and stash_slots have defaults, so engines that do not use them ignore them. */
struct sw_sequencer; /* sequencer.h */
struct sw_device;    /* device.h */
struct sw_growth;    /* growth.h */
struct sw_table_config {
    struct sw_sequencer *sequencer; /* numbers the writes; borrowed; NULL: the table's own */
    struct sw_device *shared; /* resources that the table shares with other tables; borrowed; NULL:
                                 the table's own */
    struct sw_growth *growth; /* decides about more memory; borrowed; NULL: none */
    enum sw_backend_kind backend;
    enum sw_engine engine;
    uint32_t slot_bits;          /* 64: u32 keys and values; 128: u64 keys and values */
    bool is_set;                 /* Robin Hood: entries are keys without values, and slots have half
                                    of slot_bits. Values of batches have 0 bytes */
    uint64_t capacity_slots;     /* rounded up to whole buckets; at least 1 bucket */
    uint64_t max_capacity_slots; /* a table that would refuse a write first grows, at most to this
                                    capacity; a cache grows before more than half of its slots might
                                    be occupied. 0, or at most capacity_slots: the table does not
                                    grow; cuckoo never grows. If growth fails, writes are refused
                                    (cache: entries are evicted), and the table does not try again
                                    for at least a second. Rounded up to whole buckets */
    double max_load;    /* occupied / capacity at which writes are refused, (0, 1]. Up to 16 for
                           studies of tables without a stash and with a max_probe: entries that do
                           not fit are then handed back */
    uint32_t max_probe; /* largest displacement in buckets; 0: derived from max_load. Cuckoo: most
                           evictions of an insert before it gives up; 0: derived */
    uint64_t seed;      /* of the mixing function; equal seeds give equal layouts */
    uint32_t batch_ops_max; /* operations a batch may hold, at most 2^28 */
    uint64_t stash_slots;   /* entries of the stash, which keeps entries that meet the cap; 0: the
                               table hands them back. If the stash holds more when a batch begins,
                               the batch may insert nothing */
    uint32_t threads;       /* CPU backend: threads for large batches; 0: one per core. Not used if
                               `shared` is set: the device has the threads */
    int device;             /* CUDA backend: device ordinal */
    uint32_t submitters;    /* CUDA backend: threads that submit batches; 0: unknown. While each of
                               them can have a core, a thread that waits for another one's submission
                               does not sleep */
    bool direct; /* CUDA, Robin Hood with integers: kernels of other processes may look up keys in
                    the table's memory (exported_table.h). Other tables ignore it */
    struct sw_table_tuning tuning;
    uint32_t hash_functions; /* cuckoo: 2 or 3; 0: 3 */
    uint32_t value_bytes;    /* cache: 4..1024; rows: 4..4096; a multiple of 4. 0: slot_bits / 16 */
    uint32_t key_text_bytes; /* rows: last bytes of a row, for the key string (admission.h); a
                                multiple of 8 */
    uint64_t rows_max; /* rows: most entries at any capacity; 0: the limit of max_load. Without
                          value_bytes: a table of ids, which are below rows_max. In a
                          cache each slot has an id: capacity_slots and max_capacity_slots are
                          at most rows_max, and whole buckets of that */
    enum sw_rows_in rows_in; /* rows, or values of a cache (not gpu+host), on CUDA; entries are
                                always in device memory */
    uint64_t rows_gpu_bytes; /* GPU_HOST: bytes of GPU memory; 0: the free memory, with a margin */
    enum sw_cache_mode cache_mode;
    enum sw_cache_policy cache_policy;
};

/* Sets the defaults: Robin Hood, 2^24 slots of 128 bits, max_load 0.85, AUTO, batches of 2^20
 * operations, a stash of 2^16 entries. */
void sw_table_config_init(struct sw_table_config *config);

/* Checks whether a table of this configuration is possible, without creating it. Returns SW_OK, or
 * SW_E_INVALID with one sentence in `reason` (unless it is NULL) that says what to do. Only
 * sw_table_create finds out whether memory and a device are available. A pure function. */
SW_MUST_CHECK int sw_table_config_check(const struct sw_table_config *config, char *reason,
                                        size_t reason_size);

/* Returns the bytes of the slots and of the arrays beside them that exist as long as the table,
 * without the scratch of batches. Returns 0 if sw_table_config_check rejects the configuration. A
 * pure function. */
uint64_t sw_table_config_bytes(const struct sw_table_config *config);

/* Returns whether a table of this configuration may lie in the memory of a device: the build has
 * the CUDA backend of its engine, and the configuration does not choose the CPU. Does not call any
 * device. */
bool sw_table_config_may_use_device(const struct sw_table_config *config);

/* Returns the most bytes of host memory that this process may ever have: the RAM of this machine,
 * or a lower limit of a control group or of RLIMIT_AS. RLIMIT_AS counts every mapping, so `mapped`
 * bytes that the caller maps for other things are subtracted from it. Returns UINT64_MAX if the
 * limit is unknown. */
uint64_t sw_table_host_memory(uint64_t mapped);

#ifdef __cplusplus
}
#endif

#endif
