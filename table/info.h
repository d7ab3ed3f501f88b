/* SPDX-License-Identifier: MIT
 *
 * info.h - facts and statistics of a table. Threads: any.
 */
#ifndef SHERWOOD_TABLE_INFO_H
#define SHERWOOD_TABLE_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "table/configuration.h"
#include "table/counters.h"
#include "table/write_path.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sw_table;

/* Facts about a table. Those marked * change when the table grows or shrinks: they describe it
 * after the last resize submitted. Strings live as long as the table. Any thread may call this at
 * any time. */
struct sw_table_info {
    enum sw_backend_kind backend; /* never AUTO */
    const char *backend_name;     /* "cpu" or "cuda" */
    const char *backend_reason;   /* why the table chose it: "NVIDIA H200", .. */
    const char *bus_id;           /* PCI address of the GPU; empty: none, or unknown */
    enum sw_engine engine;
    const char *engine_name;           /* "robin_hood", "cuckoo" or "cache" */
    uint64_t operations;               /* bit 1 << enum sw_op is set if the table supports the
                                          operation */
    uint32_t batch_kinds;              /* the same for enum sw_batch_kind */
    enum sw_cache_policy cache_policy; /* cache */
    uint32_t slot_bits;
    uint32_t key_bytes;      /* 4 or 8 */
    uint32_t value_bytes;    /* 4 or 8; cache: 4..1024; rows: 4..4096 */
    uint32_t key_text_bytes; /* last bytes of value_bytes, for the key string; 0: none */
    uint32_t bucket_slots;
    uint32_t max_probe;          /* * 0: the engine has no probe cap */
    uint64_t buckets;            /* * home buckets, without the max_probe tail buckets */
    uint64_t capacity_slots;     /* * buckets * bucket_slots */
    uint64_t max_capacity_slots; /* limit of growth; at least the first capacity_slots */
    uint64_t occupied_max;       /* * entries at which writes are refused */
    uint64_t rows_mapped, rows_max, row_bytes_gpu, row_bytes_host; /* * rows that have memory, their
                                                                      limit, and bytes of that
                                                                      memory; 0: no rows */
    double max_load;                                               /* cache: 1 */
    uint64_t stash_slots;                                          /* cache: 0 */
    /* Slots and the scratch of batches, in device memory or, for the CPU backend, host memory. A
     * queue on CUDA adds less than 2 KiB of device memory. It also adds pinned host memory for 64
     * records and for the windows of a scan: max(16384, max_probe + 2) buckets of the table (at
     * most all of them) and the same number of the stash, doubled whenever a scan needs more. */
    uint64_t bytes_reserved; /* * */
    /* Device memory that the table has mapped in addition: arrays that the last growth or resize
     * replaced, or memory for the next growth. The table releases it after a second without growth,
     * and while less than an eighth of the device's memory is free. */
    uint64_t bytes_unused; /* * */
    uint64_t seed;
    uint32_t batch_ops_max;
    bool filters_slots; /* batches of GET may have a `filter` */
};
void sw_table_info(const struct sw_table *table, struct sw_table_info *info);

struct sw_table_stats {
    struct sw_counters counters; /* of all batches polled done */
    uint64_t occupied;           /* entries, including those of the stash: inserted - deleted -
                                    evicted - expired - handed back */
    uint64_t stash_occupied;
    uint64_t batches;
    uint64_t writes;         /* batches that may have changed the table */
    uint64_t write_launches; /* launches of these batches; a launch often carries out several */
    uint64_t grown;          /* times the table grew by itself */
    uint64_t resized;        /* SW_BATCH_RESIZE batches carried out */
    uint64_t resize_failed;  /* growths and resizes that found no memory, or no capacity at which
                                the stash has room for the entries that meet the cap; the table
                                stayed as it was */
    uint64_t epoch;          /* cache with an EPOCH policy: the current epoch */
    struct sw_write_path_counters
        write_paths[SW_WRITE_PATH_COUNT]; /* batches with writes, by execution
                        strategy; 0 except for Robin Hood on CUDA */
    uint64_t expired;                     /* entries removed because they had expired */
    uint64_t expires;                     /* entries with an expiry time, including expired ones */
    uint64_t expires_next; /* no entry expires before this time; 0: no entry expires */
    uint64_t ttl_mean_ms;  /* approximate mean time to live of the entries that expire */
    uint64_t clock_steps;  /* times that the table's clock went back */
    uint64_t holes_max;   /* upper bound of the slots that deletes left as holes; 0 except for Robin
                             Hood on CUDA */
    uint64_t hole_passes; /* passes over the table that closed holes */
    uint64_t changes;     /* changes of the contents of an image; uses of a cache's entries are not
                             counted */
};
void sw_table_stats(const struct sw_table *table, struct sw_table_stats *stats);
/* Returns sw_table_stats.grown alone, without the sums over the queues. */
uint64_t sw_table_grown(const struct sw_table *table);

#ifdef __cplusplus
}
#endif

#endif
