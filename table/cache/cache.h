/* SPDX-License-Identifier: MIT
 *
 * cache.h - a cache of fixed-size values that is never full.
 *
 * A cache maps u64 keys (every one is legal) to values of 4 to 1024 bytes, and gives each entry a
 * 64-bit score. Its slots lie in buckets of 128. A key may lie in one bucket (THROUGHPUT) or in
 * either of two (MEMORY; a new key goes to the emptier one, on a tie to its first). A newcomer that
 * finds its buckets full takes the place of the entry with the lowest score of them; if its own
 * score is lower still, it is not admitted. Of equal scores the first bucket's entry leaves before
 * the second's, then the lowest slot. Layout and invariants: table/cache/README.md.
 *
 * Work arrives in batches over arrays. Every answer of a batch, and what it leaves behind, is that
 * of its operations applied one after the other: in array order on the CPU, in some order on CUDA
 * (where a key is repeated in a batch, which of its writes is the last is not specified). Batches
 * that write never overlap each other or a batch that reads; those that read overlap freely. They
 * take effect in the order of submission.
 *
 * CUDA: a batch is enqueued on the caller's stream and sw_cache_submit does not wait for it. Arrays
 * are device memory or pinned host memory, and belong to the batch until the stream has passed it;
 * batches of other streams are ordered against it by the cache. Arrays of values are aligned
 * to 16, 8 or 4 bytes: the largest of those that divides value_bytes. At most SW_CACHE_STREAMS_MAX
 * streams are known to a cache at a time; a stream must outlive the cache, or be released. A failed
 * CUDA call loses the cache: everything from then on is SW_E_DEVICE.
 * CPU: `stream` is ignored and a batch is done when sw_cache_submit returns.
 *
 * Threads: any number may use a cache. Memory: all of it is allocated by sw_cache_create.
 */
#ifndef SHERWOOD_TABLE_CACHE_CACHE_H
#define SHERWOOD_TABLE_CACHE_CACHE_H

#include "table/table.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SW_CACHE_BUCKET_SLOTS 128
#define SW_CACHE_STREAMS_MAX 64
#define SW_CACHE_VALUE_BYTES_MAX 1024
#define SW_CACHE_BATCH_MAX (1U << 28) /* operations of a batch */

/* How batches that write are carried out on CUDA (table/cache/README.md): what they do is the same,
 * the order of their operations is not. For tests. */
enum sw_cache_writing {
    SW_CACHE_WRITING_AUTO, /* what was found to be best for the batch */
    SW_CACHE_WRITING_LOCKS,
    SW_CACHE_WRITING_SHORT_ROWS,
    SW_CACHE_WRITING_LONG_ROWS /* THROUGHPUT mode; in MEMORY mode the same as SHORT_ROWS */
};

struct sw_cache_config {
    enum sw_backend_kind backend;
    int device;           /* CUDA: device ordinal */
    uint64_t capacity;    /* slots, rounded up to whole buckets: 1, or in MEMORY mode 2, at least */
    uint32_t value_bytes; /* 4..1024, a multiple of 4 */
    enum sw_cache_mode mode;
    enum sw_cache_policy policy;
    uint64_t epoch;                /* EPOCH policies: the first one, below 2^32 */
    uint64_t seed;                 /* of the hash function */
    enum sw_cache_writing writing; /* CUDA */
};

struct sw_cache;

/* Creates an empty cache. On failure *out is NULL, the status is returned and `reason` (if not
 * NULL) receives one sentence that says what to do. AUTO: CUDA if the build has it and a device
 * answers. The caller owns *out. */
int sw_cache_create(const struct sw_cache_config *config, struct sw_cache **out, char *reason,
                    size_t reason_size);
/* Waits for the batches in flight. NULL is allowed. */
void sw_cache_destroy(struct sw_cache *cache);

struct sw_cache_info {
    struct sw_cache_config config; /* as given, but backend is never AUTO and capacity is what it
                                      is */
    uint64_t buckets;
    uint64_t bytes_reserved; /* device memory, or host memory for the CPU backend */
};
void sw_cache_info(const struct sw_cache *cache, struct sw_cache_info *info);

/* An entry's score, by policy. `given` is scores[i], or 1 where scores is NULL.
 *   LRU        the time of its last use. A batch of n operations that uses entries takes n ticks of
 *              the cache's clock, operation i the i-th of them. scores must be NULL.
 *   LFU        the uses so far: a newcomer's is `given`, a use adds `given` (up to 2^64 - 1).
 *   EPOCH_LRU  epoch << 32 | batches that used entries since the epoch began (up to 2^32 - 1).
 *              scores must be NULL.
 *   EPOCH_LFU  epoch << 32 | uses, as LFU (up to 2^32 - 1; `given` likewise); a use also brings the
 *              entry to the current epoch.
 *   CUSTOM     `given`; scores must not be NULL for operations that use entries.
 * Writing an entry is a use; finding it is one if the batch says `touch`. */
enum sw_cache_op {
    /* values is written if the key is present, or becomes a new entry. */
    SW_CACHE_INSERT_OR_ASSIGN,
    /* The same; those that left for it are listed in evicted_*. */
    SW_CACHE_INSERT_AND_EVICT,
    /* values_out receives the value; untouched if the key is absent. */
    SW_CACHE_FIND,
    /* places receives the address of the value in the cache's memory, NULL if the key is absent. It
     * is good until the next batch that writes. */
    SW_CACHE_FIND_PLACES,
    SW_CACHE_CONTAINS,
    SW_CACHE_ERASE,
    /* As find, a use; but an absent key becomes a new entry with values, and values_out receives
     * those: also where the newcomer was not admitted. */
    SW_CACHE_FIND_OR_INSERT,
    /* Present: values is added to the entry's, number by number of type `element`. Absent: a new
     * entry. With accumulate: an operation that says 1 does nothing if the key is absent, one that
     * says 0 does nothing if it is present. */
    SW_CACHE_ACCUM_OR_ASSIGN,
    /* Present: value and score, score alone, or value alone (that is no use). Absent: nothing. */
    SW_CACHE_ASSIGN,
    SW_CACHE_ASSIGN_SCORES,
    SW_CACHE_ASSIGN_VALUES,
    SW_CACHE_OP_COUNT
};

enum sw_cache_element { SW_CACHE_F32, SW_CACHE_U32, SW_CACHE_U64 }; /* integers wrap around */

/* What became of an operation. */
enum sw_cache_result {
    SW_CACHE_MISS = 0,     /* the key was absent and still is */
    SW_CACHE_HIT = 1,      /* it was present */
    SW_CACHE_INSERTED = 2, /* it was absent and is present now, in a slot that was empty */
    SW_CACHE_REPLACED = 3, /* likewise, in the slot of an entry that left */
    SW_CACHE_REFUSED = 4   /* it was not admitted: every resident's score was higher */
};

struct sw_cache_counters {
    uint64_t hits;
    uint64_t misses;   /* absent, whatever happened then */
    uint64_t inserted; /* new entries: results INSERTED and REPLACED */
    uint64_t erased;
    uint64_t evicted;      /* entries that left to make room */
    uint64_t not_admitted; /* results REFUSED */
};

/* One batch; the struct itself is not kept. Arrays an operation does not name must be NULL, those
 * marked "or NULL" may be. */
struct sw_cache_batch {
    enum sw_cache_op op;
    uint32_t count;                     /* at most SW_CACHE_BATCH_MAX; 0 does nothing */
    const uint64_t *keys;               /* [count] */
    const void *values;                 /* [count] values: operations that write one */
    const uint64_t *scores;             /* [count] or NULL: see above */
    const uint8_t *accumulate;          /* [count] of 0 and 1, or NULL: ACCUM_OR_ASSIGN */
    enum sw_cache_element element;      /* ACCUM_OR_ASSIGN; U64: value_bytes is a multiple of 8 */
    bool touch;                         /* FIND, FIND_PLACES and CONTAINS: finding is a use */
    void *values_out;                   /* [count] values: FIND, FIND_OR_INSERT */
    void **places;                      /* [count]: FIND_PLACES */
    uint64_t *scores_out;               /* [count] or NULL: FIND, FIND_PLACES, FIND_OR_INSERT: the
                                           score after the operation; untouched if the key is absent */
    uint8_t *results;                   /* [count] enum sw_cache_result, or NULL */
    uint64_t *evicted_keys;             /* [count]: INSERT_AND_EVICT, in no particular order */
    void *evicted_values;               /* [count] values, or NULL */
    uint64_t *evicted_scores;           /* [count], or NULL */
    uint64_t *evicted_count;            /* out: one number */
    struct sw_cache_counters *counters; /* one, or NULL: what the batch did is added to it */
};

/* Returns SW_OK (the batch is enqueued; on the CPU, done), SW_E_INVALID (nothing happened; it
 * contradicts the rules above), SW_E_BUSY (nothing happened; too many streams) or SW_E_DEVICE. */
int sw_cache_submit(struct sw_cache *cache, const struct sw_cache_batch *batch, void *stream);

/* Waits for what was submitted to the stream. */
int sw_cache_wait(struct sw_cache *cache, void *stream);
/* Waits for what was submitted to the stream and forgets it; it may be destroyed then. */
int sw_cache_release_stream(struct sw_cache *cache, void *stream);

/* Removes everything. A batch that writes. */
int sw_cache_clear(struct sw_cache *cache, void *stream);

/* Lists entries of the slots [first, first + slots) in slot order on the CPU, in any order on CUDA;
 * with score_min <= score <= score_max only. A batch that reads. Arrays have room for `slots`
 * entries (export of a range of scores that is known to be small needs no less); values and scores
 * may be NULL. *count receives how many. */
struct sw_cache_export {
    uint64_t first;
    uint64_t slots; /* first + slots <= capacity */
    uint64_t score_min;
    uint64_t score_max;
    uint64_t *keys;
    void *values;
    uint64_t *scores;
    uint64_t *count;
};
/* Every entry of the slots, whatever its score. */
int sw_cache_export_batch(struct sw_cache *cache, const struct sw_cache_export *what, void *stream);
/* Those whose score is in range. */
int sw_cache_export_batch_if(struct sw_cache *cache, const struct sw_cache_export *what,
                             void *stream);

/* Starts an epoch: of the batches submitted from now on. EPOCH policies; not below the current one
 * and below 2^32, or SW_E_INVALID. */
int sw_cache_set_epoch(struct sw_cache *cache, uint64_t epoch);

/* Entries held, and what all batches did. Both wait for the batches submitted. */
int sw_cache_size(struct sw_cache *cache, uint64_t *size);
int sw_cache_stats(struct sw_cache *cache, struct sw_cache_counters *counters);

/* Audits the whole cache: the invariants of table/cache/README.md by a full scan. Waits for the
 * batches submitted. SW_OK, or SW_E_INVALID with the first violation as text. */
int sw_cache_check(struct sw_cache *cache, char *violation, size_t violation_size);

#ifdef __cplusplus
}
#endif

#endif
