/* SPDX-License-Identifier: MIT
 *
 * driver.h - what carries out the batches of a cache: the CPU's, or CUDA's. Not for users.
 *
 * cache.c checks arguments, sets the time of batches and chooses the driver; a driver owns the
 * memory and keeps batches that write apart from all others, in the order of enter.
 */
#ifndef SHERWOOD_TABLE_CACHE_DRIVER_H
#define SHERWOOD_TABLE_CACHE_DRIVER_H

#include "table/cache/slots.h"
#include "table/cache/work.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What scanners look at: host memory. */
struct sw_cache_snapshot {
    struct sw_cache_slots slots; /* without values */
    void *memory;                /* what must be freed; or NULL */
    struct sw_cache_counters counters;
};

struct sw_cache_driver {
    enum sw_backend_kind kind;

    /* slots: buckets, seed, value_bytes, two and policy are set. *reason as in sw_cache_create. */
    int (*open)(const struct sw_cache_config *config, const struct sw_cache_slots *slots,
                void **out, char *reason, size_t reason_size);
    void (*close)(void *cache);
    uint64_t (*bytes_reserved)(void *cache);

    /* Around each of the calls below: after what was entered before it, as the phases ask. If enter
     * fails, nothing is owed. */
    int (*enter)(void *cache, bool writes, void *stream);
    void (*leave)(void *cache, bool writes);

    int (*run)(void *cache, const struct sw_cache_work *work, void *stream);
    int (*clear)(void *cache, void *stream);
    int (*list)(void *cache, const struct sw_cache_export *what, void *stream);

    /* Blocking, without enter. */
    int (*wait)(void *cache, void *stream);
    int (*release)(void *cache, void *stream);
    int (*counters)(void *cache, struct sw_cache_counters *counters);

    /* Blocking, entered as a batch that writes. */
    int (*snapshot)(void *cache, struct sw_cache_snapshot *snapshot);
};

extern const struct sw_cache_driver sw_cache_driver_cpu;
/* NULL if this build has no CUDA (cuda/absent.c). */
const struct sw_cache_driver *sw_cache_driver_cuda(void);

/* Checks a snapshot (check.c). */
int sw_cache_check_snapshot(const struct sw_cache_snapshot *snapshot, char *violation,
                            size_t violation_size);

#ifdef __cplusplus
}
#endif

#endif
