/* SPDX-License-Identifier: MIT
 *
 * table.h - the hash table behind one small C interface, whatever it runs on.
 *
 * A table maps unsigned integer keys of 32 or 64 bits to values of a fixed size: unsigned integers
 * of the keys' width, or any bytes (rows, and the cache engine). It lives in GPU memory (CUDA
 * backend) or in host memory (CPU backend). What holds the entries is its engine: ordered Robin
 * Hood (robin_hood.h), of which both backends hold the same keys in the same buckets after the same
 * batches (the exceptions, all at the probe cap: table/README.md, "Batches"); cuckoo; or a cache
 * that is never full. What is said below of the stash, max_probe, growth and left-overs is said of
 * Robin Hood unless the engine is named.
 *
 * Work arrives in batches. A batch takes effect as if its operations were applied one after the
 * other in array order, repeated keys included. Batches of one stream of one queue take effect in
 * the order of their submission. All others take effect in some one order: writes never overlap
 * each other or a read, reads overlap freely. Writes that wait for a device are carried out
 * together, whatever queue they are of (combine.h); each is admitted and reported by itself.
 *
 * Threads: a table may be used by any number of threads; a queue by one thread at a time.
 * Memory: everything is allocated by sw_table_create and sw_queue_create, nothing per batch; only a
 * table that grows, or is told to resize, takes new arrays and gives the old ones back.
 */
#ifndef SHERWOOD_TABLE_TABLE_H
#define SHERWOOD_TABLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/admission.h"
#include "table/op.h"
#include "table/ways.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Status codes: name, value, text. Negative values are errors; SW_PENDING is not. */
#define SW_STATUS_MAP(X)                                               \
    X(SW_OK, 0, "done")                                                \
    X(SW_PENDING, 1, "still running")                                  \
    X(SW_E_INVALID, -1, "invalid argument")                            \
    X(SW_E_NOMEM, -2, "not enough memory")                             \
    X(SW_E_FULL, -3, "refused: the table would pass its maximum load") \
    X(SW_E_NODEVICE, -4, "no usable CUDA device")                      \
    X(SW_E_NOTBUILT, -5, "this build has no such backend")             \
    X(SW_E_DEVICE, -6, "the device failed; the table is lost")         \
    X(SW_E_BUSY, -7, "too many batches in flight on this queue")       \
    X(SW_E_UNSUPPORTED, -8, "this engine has no such operation")

enum sw_status {
#define SW_STATUS_ENUM(name, value, text) name = value,
    SW_STATUS_MAP(SW_STATUS_ENUM)
#undef SW_STATUS_ENUM
};

/* Text of a status, static storage. */
const char *sw_status_text(int status);

struct sw_op_counters {
    uint64_t operations; /* operations carried out: hits + misses */
    uint64_t probes;     /* buckets inspected for them. A batch that CUDA carries out by streaming
                            the whole table counts all buckets. Cache: a write counts its key's
                            candidate buckets */
    uint64_t hits;       /* the key was present before the operation */
    uint64_t misses;     /* it was not */
};

struct sw_counters {
    struct sw_op_counters by_class[SW_CLASS_COUNT];
    uint64_t inserted;     /* absent key, now present */
    uint64_t updated;      /* present key, value written (the same value included) */
    uint64_t deleted;      /* present key, now absent */
    uint64_t failures;     /* times that an entry met the probe cap */
    uint64_t refused;      /* operations of groups refused with SW_E_FULL; counted nowhere else */
    uint64_t evicted;      /* cache: entries evicted to make room for others */
    uint64_t not_admitted; /* cache: new entries turned away, since every resident they might have
                              replaced had a higher score */
};

enum sw_backend_kind { SW_BACKEND_AUTO, SW_BACKEND_CPU, SW_BACKEND_CUDA };

/* The engine holds the entries. When to choose which: table/README.md, "Engines". */
enum sw_engine { SW_ENGINE_ROBIN_HOOD, SW_ENGINE_CUCKOO, SW_ENGINE_CACHE };

/* Cache: how many buckets a key may lie in: two, which fill evenly, or one, which is faster. */
enum sw_cache_mode { SW_CACHE_MEMORY, SW_CACHE_THROUGHPUT };

/* Cache: what an entry's score is; a full bucket evicts the lowest. EPOCH policies keep the epoch
 * in the high 32 bits. */
enum sw_cache_policy {
    SW_CACHE_LRU,       /* the time of the last use */
    SW_CACHE_LFU,       /* the number of uses */
    SW_CACHE_EPOCH_LRU, /* the epoch of the last use, then its time, in batches */
    SW_CACHE_EPOCH_LFU, /* the epoch of the last use, then the number of uses */
    SW_CACHE_CUSTOM     /* what the caller gives */
};

/* Whether batches may give scores under this policy; whether it has epochs. */
static inline bool sw_cache_takes_scores(enum sw_cache_policy policy)
{
    return policy == SW_CACHE_LFU || policy == SW_CACHE_EPOCH_LFU || policy == SW_CACHE_CUSTOM;
}
static inline bool sw_cache_has_epochs(enum sw_cache_policy policy)
{
    return policy == SW_CACHE_EPOCH_LRU || policy == SW_CACHE_EPOCH_LFU;
}
/* "lru", "epoch-lfu", ..: static storage. */
const char *sw_cache_policy_name(enum sw_cache_policy policy);

/* Cache: how batches that write are carried out on CUDA (table/cache/README.md). Rows are of
 * THROUGHPUT mode; LOCKS: under the locks of buckets. */
enum sw_cache_writing {
    SW_CACHE_WRITING_AUTO, /* the fastest for the batch, by measurement */
    SW_CACHE_WRITING_LOCKS,
    SW_CACHE_WRITING_SHORT_ROWS,
    SW_CACHE_WRITING_LONG_ROWS
};

enum sw_rows_in { SW_ROWS_IN_GPU, SW_ROWS_IN_HOST, SW_ROWS_IN_GPU_HOST /* the GPU's first */ };

/* Choices that a table makes by itself (all zero), and that studies and tests override. None
 * changes where keys end. */
enum sw_choice { SW_CHOICE_AUTO, SW_CHOICE_NEVER, SW_CHOICE_ALWAYS };
struct sw_table_tuning {
    enum sw_choice bulk;       /* CUDA: carry out upserts or deletes by streaming the whole table */
    enum sw_choice ranges;     /* CUDA: partition batches that are sure to fit by ranges of m */
    enum sw_choice hints;      /* CUDA: keep displacement hints (table/robin_hood/README.md) */
    uint32_t block_size;       /* CUDA: threads of a block of the kernels that look up keys:
                                  64, 128, .. 1024; 0: each kernel's own */
    bool without_probe_counts; /* CUDA: counters.probes and hits of large batches of GET stay 0 */
    enum sw_cache_writing cache_writing; /* CUDA */
};

/* A field that belongs to another engine must be 0, or the configuration is SW_E_INVALID. max_load
 * and stash_slots have defaults, so engines that do not use them ignore them. */
struct sw_table_config {
    enum sw_backend_kind backend;
    enum sw_engine engine;
    uint32_t slot_bits;          /* 64: u32 keys and values; 128: u64 keys and values */
    uint64_t capacity_slots;     /* rounded up to whole buckets; at least 1 bucket */
    uint64_t max_capacity_slots; /* a table that would refuse a write grows up to this first; a
                                    cache grows before more than half of it might be held. 0, or at
                                    most capacity_slots: it does not grow; cuckoo never does. Where
                                    growth fails, writes are refused (cache: entries are evicted),
                                    and growth is not tried again for at least a second. Rounded up
                                    to whole buckets */
    double max_load;    /* occupied / capacity at which writes are refused, (0, 1]. Up to 16 for
                           studies of tables without a stash and with a max_probe: then nothing is
                           refused, and what does not fit is handed back */
    uint32_t max_probe; /* largest displacement in buckets; 0: derived from max_load. Cuckoo: the
                           evictions after which an insert gives up; 0: derived */
    uint64_t seed;      /* of the mixing function; equal seeds give equal layouts */
    uint32_t batch_ops_max; /* operations a batch may hold, at most 2^28 */
    uint64_t stash_slots;   /* size of the stash, which keeps entries that meet the cap; 0: they are
                               handed back. A batch that begins with more in the stash may insert
                               nothing */
    uint32_t threads;       /* CPU backend: threads for large batches; 0: one per core */
    int device;             /* CUDA backend: device ordinal */
    struct sw_table_tuning tuning;
    uint32_t hash_functions; /* cuckoo: 2 or 3; 0: 3 */
    uint32_t value_bytes;    /* cache: 4..1024; rows: 4..4096; by 4. 0: slot_bits / 16 */
    uint32_t key_text_bytes; /* rows: of value_bytes, for texts of keys (admission.h); by 8 */
    uint64_t rows_max;       /* rows: entries it may have at any capacity; 0: what max_load says */
    enum sw_rows_in rows_in; /* rows on CUDA; entries are on the device */
    uint64_t rows_gpu_bytes; /* GPU_HOST: so much of the GPU's; 0: what is free, with a margin */
    enum sw_cache_mode cache_mode;
    enum sw_cache_policy cache_policy;
};

/* Robin Hood, 128-bit slots, 2^24 of them, load 0.85, AUTO, batches of 2^20, a stash of 2^16. */
void sw_table_config_init(struct sw_table_config *config);

/* Whether a table of this configuration is possible, without creating it: SW_OK, or SW_E_INVALID
 * with one sentence in `reason` (unless it is NULL) that says what to do. Only sw_table_create
 * tells whether there is memory or a device for it. A pure function. */
int sw_table_config_check(const struct sw_table_config *config, char *reason, size_t reason_size);

/* Bytes of the slots and of all that lies beside them while the table lives, without the scratch of
 * batches. 0 if sw_table_config_check refuses the configuration. A pure function. */
uint64_t sw_table_config_bytes(const struct sw_table_config *config);

struct sw_table;
struct sw_queue;

/* Creates an empty table. On failure *out is NULL, the status is returned and `reason` (if not
 * NULL) receives one sentence that says what to do. The caller owns *out. On SW_BACKEND_AUTO the
 * engine's CUDA backend is taken if the build has it and a device answers, otherwise its CPU
 * backend. */
int sw_table_create(const struct sw_table_config *config, struct sw_table **out, char *reason,
                    size_t reason_size);

/* Frees the table. Every queue must have been destroyed. NULL is allowed. */
void sw_table_destroy(struct sw_table *table);

/* Facts about a table. Those marked * change when it grows or shrinks: they describe the last
 * resize submitted. Strings live as long as the table. Any thread may call this at any time. */
struct sw_table_info {
    enum sw_backend_kind backend; /* never AUTO */
    const char *backend_name;     /* "cpu" or "cuda" */
    const char *backend_reason;   /* why it was chosen: "NVIDIA H200", .. */
    const char *bus_id;           /* PCI address of the GPU; empty: none, or not known */
    enum sw_engine engine;
    const char *engine_name;           /* "robin_hood", "cuckoo" or "cache" */
    uint64_t operations;               /* bit 1 << enum sw_op is set if the table carries it out */
    uint32_t batch_kinds;              /* the same for enum sw_batch_kind */
    enum sw_cache_policy cache_policy; /* cache */
    uint32_t slot_bits;
    uint32_t key_bytes;      /* 4 or 8 */
    uint32_t value_bytes;    /* 4 or 8; cache: 4..1024; rows: 4..4096 */
    uint32_t key_text_bytes; /* .. of which the last ones are the text of the key; 0: none */
    uint32_t bucket_slots;
    uint32_t max_probe;          /* * 0: the engine has no probe cap */
    uint64_t buckets;            /* * home buckets, without the max_probe tail buckets */
    uint64_t capacity_slots;     /* * buckets * bucket_slots */
    uint64_t max_capacity_slots; /* what it may grow to; at least the first capacity_slots */
    uint64_t occupied_max;       /* * entries at which writes are refused */
    uint64_t rows_mapped, rows_max, row_bytes_gpu, row_bytes_host; /* * have memory; 0: no rows */
    double max_load;                                               /* cache: 1 */
    uint64_t stash_slots;                                          /* cache: 0 */
    /* Slots and the scratch of batches, in device memory or, for the CPU backend, host memory. A
     * queue on CUDA adds less than 2 KiB of device memory, and pinned host memory for 64 records
     * and for a scan's windows: max(16384, max_probe + 2) buckets of the table (at most all of
     * them) and as many of the stash, doubled whenever a scan needs more. */
    uint64_t bytes_reserved; /* * */
    uint64_t seed;
    uint32_t batch_ops_max;
    bool filters_slots; /* batches of GET may have a filter */
};
void sw_table_info(const struct sw_table *table, struct sw_table_info *info);

struct sw_table_stats {
    struct sw_counters counters; /* of all batches whose completion was polled */
    uint64_t occupied;           /* entries held, those of the stash included: inserted - deleted -
                                    evicted - expired - handed back */
    uint64_t stash_occupied;
    uint64_t batches;
    uint64_t writes;         /* those that may have changed the table */
    uint64_t write_launches; /* launches that carried these out, often several in one */
    uint64_t grown;          /* times the table grew by itself */
    uint64_t resized;        /* SW_BATCH_RESIZE batches carried out */
    uint64_t resize_failed;  /* times that either found no memory, or no capacity at which the stash
                                takes what meets the cap; the table stayed as it was */
    uint64_t epoch;          /* cache with an EPOCH policy: the current one */
    struct sw_way_counters ways[SW_WAY_COUNT]; /* batches that hold writes, by the way they were
                                                  carried out; 0 but for Robin Hood on CUDA */
    uint64_t expired;                          /* entries removed since their time had come */
    uint64_t expires;      /* entries that expire, those included whose time has come */
    uint64_t expires_next; /* none of them does before; 0: there are none */
    uint64_t ttl_mean_ms;  /* of those that the last whole sweep kept */
    uint64_t clock_steps;  /* times the clock was followed when it went back */
    uint64_t changes;      /* of what an image holds, but for uses in a cache */
};
void sw_table_stats(const struct sw_table *table, struct sw_table_stats *stats);

/* I/O memory: what batches point into. The backend reaches it without a copy (pinned and mapped on
 * CUDA). 64-byte aligned, owned by the caller, given back with sw_io_free before the table goes. */
void *sw_io_alloc(struct sw_table *table, size_t bytes);
void sw_io_free(struct sw_table *table, void *memory, size_t bytes);

/* A queue: its batches take effect in the order of submission, stream by stream. One a thread. */
int sw_queue_create(struct sw_table *table, struct sw_queue **out);
/* Every batch of the queue must have completed. NULL is allowed. */
void sw_queue_destroy(struct sw_queue *queue);

enum sw_batch_kind {
    SW_BATCH_OPERATIONS, /* get, upsert, delete */
    SW_BATCH_CLEAR,      /* remove everything; counters.deleted receives how many entries */
    SW_BATCH_SCAN,       /* read entries in layout order, from a cursor */
    SW_BATCH_RESIZE,     /* move everything to arrays of `capacity` slots, larger or smaller */
    /* cache: */
    SW_BATCH_COUNT_SCORES, /* count the entries with score_min <= score <= score_max: `matched` */
    SW_BATCH_ERASE_SCORES, /* remove them; counters.deleted receives how many */
    SW_BATCH_EPOCH,        /* EPOCH policies: go on to `epoch` */
    /* where entries expire: */
    SW_BATCH_SWEEP, /* remove entries whose time has come */
    SW_BATCH_IMAGE  /* the table's own: what sw_image_take submits */
};
#define SW_BATCH_KIND_COUNT (SW_BATCH_SWEEP + 1)

#define SW_EXPIRE_KEEP UINT64_MAX
/* A clock that is set back by no more is held until the time is there again. */
#define SW_CLOCK_HOLD_MS 60000U

/* One batch, in the caller's storage. Arrays are borrowed until sw_batch_poll says it is done, and
 * must lie in I/O memory of the table (the struct itself need not). Key and value arrays hold
 * integers of the table's width, little-endian, aligned to it; all other values are value_bytes
 * bytes each, aligned to 16 where that is a multiple of 16, otherwise to 4, or to 8 for numbers of
 * 64 bits. `found` words are 64 bits: the answer of operation i is bit i % 64 of word i / 64;
 * unused bits of the last word are zero.
 *
 * Others may change keys and values of a `shared` batch, which has no texts of keys, while it runs:
 * each element is loaded once, so the batch is one on some values that each had; a value of a cache
 * may be part of one and part of another. Answers are written and not read back: what others write
 * there spoils these alone. */
struct sw_batch {
    enum sw_batch_kind kind;
    enum sw_op op;      /* what every operation does, if ops is NULL */
    bool shared;        /* others may change keys and values: memory.h */
    bool on_device;     /* .. which are in the device's memory */
    uint32_t count;     /* operations; SCAN: entries wanted, at least 1 */
    const uint8_t *ops; /* [count] enum sw_op each, or NULL */
    const void *keys;   /* [count] */
    const void *values; /* [count] operands; NULL if every operation is GET, PEEK, DELETE or
                           SET_SCORE */
    bool wide_operands; /* rows: all operands are of ADD_F16, ADD_BF16 or their PRESENT forms, have
                           numbers of 32 bits, IEEE 754, and are twice as long as a row */
    uint32_t stream;    /* batches of one queue with the same stream take effect in the order of
                           their submission, those of other streams in any order. 0 if the caller has
                           only one */
    uint64_t write_sequence; /* out: the place of a batch that may change the table among all such
                                batches, which is the order in which they take effect: 1, 2, 3, ..
                                without gaps. 0 for reads and scans */
    const struct sw_slot_filter *filter; /* slot_filter.h: of GET where filters_slots, or NULL */
    uint32_t first_outside; /* out: the first key that the filter does not let pass, or count */
    void *previous;  /* out [count]: value before the operation, 0 if absent; or NULL. Elements have
                        sw_table_info.value_bytes bytes, as in `values` */
    uint64_t *found; /* out [(count + 63) / 64]: was the key present before it; or NULL */
    uint64_t *not_admitted; /* out, bits as in `found`: cache: was a new entry for the key turned
                               away? NULL: not wanted, or another engine */

    /* Cache. `scores` are given to the uses of entries and to new entries; NULL, which it is under
     * LRU and EPOCH_LRU, or [count].
     *   LFU, EPOCH_LFU  so many uses (up to 2^64 - 1 and 2^32 - 1 in all); without scores: 1 each
     *   CUSTOM          the score itself
     * Under CUSTOM a new entry gets 0 where there are no scores, and others keep theirs, as they do
     * under a GET; SET_SCORE must have scores. */
    const uint64_t *scores;
    bool restores;        /* SET: scores are stored as given, whatever the policy. For entries of an
                             image; later uses get later times than these */
    uint64_t *scores_out; /* out [count]: the key's score after the operation, 0 if it is absent
                             then; or NULL. On CUDA the reads of a batch of reads overlap: the score
                             may be that after another of them */

    /* Group g is [group_ends[g-1], group_ends[g]); what becomes of it: admission.h. With
     * group_count 0 the batch is one group. group_refused (bytes, enum sw_admission) is written if
     * not NULL. Robin Hood on CUDA: a batch that writes has no more groups than operations. */
    uint32_t group_count;
    const uint32_t *group_ends; /* [group_count], ascending, last == count */
    uint8_t *group_refused;     /* out [group_count], or NULL */

    /* SCAN: entries whose mixed key is >= cursor, ascending. Every entry present from the first
     * call (cursor 0) to the last (cursor comes back as 0) is returned at least once, whatever else
     * is inserted or deleted meanwhile. A call may return fewer than `count`, or none, and still
     * have a cursor that is not 0. Arrays have room for `count`. A scan takes effect at some moment
     * between submit and completion: where the device must read again, after batches submitted
     * later to the same queue. A queue of the CUDA backend takes one scan at a time (SW_E_BUSY).
     * Rows on CUDA are those of a later moment than the keys; those deleted between are left out.
     */
    uint64_t cursor;               /* in and out */
    void *scan_keys, *scan_values; /* out */
    uint64_t *scan_scores;         /* out: cache; or NULL */
    uint32_t scan_count;           /* out */
    bool by_score;                 /* cache: entries with score_min <= score <= score_max only */

    uint64_t score_min, score_max; /* SCAN by_score, COUNT_SCORES, ERASE_SCORES */
    uint64_t matched;              /* out: COUNT_SCORES */
    uint64_t epoch; /* EPOCH: the new epoch, at least the current one and below 2^32, otherwise
                       status is SW_E_INVALID and nothing happens; 0: it stays. Out: the current
                       one */

    /* Expiry: Robin Hood with a stash; on CUDA neither where texts of keys are kept nor with larger
     * batches than a launch takes. An entry may have a time, in milliseconds since 1970, at which
     * it expires; never is 0. All operations of a batch, and a scan, have one clock: clock_ms, or
     * the latest that an earlier batch had, if that is later. From its time on, at the clock of a
     * batch, an entry is absent for it. Batches that write remove such entries first, of the keys
     * that they name, and further ones before a group would be refused for room. Then they judge no
     * time any more, except that one which they give to a key, and which the clock has passed,
     * removes the key at once. Entries removed for their time are counted in `expired` alone.
     *
     * What inserts gives the new entry its time. SET and SET_PRESENT give a present one theirs
     * too, so never if there is none; other operations on values leave it. With SW_EXPIRE_KEEP a
     * new entry never expires, and a present one keeps its time. A clear, and a delete, end it.
     * A group is also refused where there is no memory for its times. On CUDA a batch that writes
     * has no more groups than operations once some batch has given a time.
     *
     * SWEEP looks at `count` of the entries that expire, and removes those whose time has come; it
     * has a write_sequence only if there were some, and waits for writes. `cursor` is not 0 if the
     * sweep has not come to its end. If clock_ms is over SW_CLOCK_HOLD_MS before the table's clock,
     * it removes what has expired by that, in as many calls as it takes, and only then the table's
     * clock goes back. With `bury` it removes these alone, with a count of 0 nothing, before the
     * clock goes back. */
    uint64_t clock_ms;       /* in, 0: no time has come; out: the clock of the batch */
    const uint64_t *expires; /* [count]; NULL: expire_at for all. Others must not change it */
    uint64_t expire_at;
    uint64_t *expires_out; /* out [count]: the time before the operation, 0: none; or NULL */
    bool some_expire;      /* out, writes: some entry had a time before or after the batch */
    const void *bury; /* removed first, as what another batch had in `buried`, or SW_E_INVALID */
    uint32_t bury_count;
    bool wants_buried;     /* writes, SWEEP: `buried` is wanted */
    void *buried;          /* out: the keys removed first; from malloc, the caller's; or NULL */
    uint32_t buried_count; /* out, at most 2 * count */
    uint64_t expired;      /* out: those, and what operations removed */

    /* RESIZE: the slots wanted; rounded up to whole buckets, and to what max_load needs for the
     * entries held. More than max_capacity_slots is SW_E_INVALID. The stash is merged on the way,
     * and what meets the cap is in it afterwards; never more than stash_slots entries, or than
     * before if it held more. Where more would be (without a stash: any; nothing is handed back)
     * the capacity is doubled, up to max_capacity_slots, until it is enough. SW_E_NOMEM: there was
     * no memory for both arrays at once, or no capacity was enough; nothing changed. Growth moves
     * everything in the same way. The CUDA backend does not double: it answers SW_E_NOMEM; and it
     * cannot resize a table without a stash or with a max_probe below the derived one
     * (SW_E_INVALID). Cache: the capacity is the one that was wanted, however many entries there
     * are: those that have no room there leave, where a bucket is full those of the lowest scores,
     * and are counted as evicted. */
    uint64_t capacity; /* in; out: the capacity it has now */

    /* Tables without a stash: entries that met the probe cap and are no longer in the table; often
     * not the caller's keys but older ones. They leave at the end of the batch: until then its
     * operations find and change them, and they count towards occupied_max. Each key is listed
     * once. Which ones leave is a matter of the backend if the batch also deletes. Room for `count`
     * each, required if stash_slots is 0. Cache: the entries evicted, which `evicted` counts, as
     * many as there are; NULL where the caller does not want them. */
    void *leftover_keys;
    void *leftover_values;
    uint64_t *leftover_scores; /* cache; or NULL */
    uint32_t leftover_count;   /* out */

    /* Out, valid once polled done. */
    int status; /* SW_OK; SW_E_FULL if at least one group was refused; SW_E_DEVICE; SW_E_NOMEM if
                   a scan found no host memory for a larger window, or a resize none at all;
                   SW_E_INVALID of an EPOCH */
    struct sw_counters counters;

    void *user; /* the caller's, never touched */

    /* The backend's, from submit to completion. */
    struct sw_batch *_next;
    int _stage; /* atomic: combine.c */
    uint64_t _ticket;
    int64_t _stash_change; /* entries of the stash after the batch, minus before it */
    uint32_t _upserts;     /* operations of it that may insert */
    uint32_t _way;         /* CUDA: 1 + enum sw_way; 0: carried out in no such way */
    void *_image;          /* of sw_image_take */
    uint64_t _image_sequence, _held_ns;
    bool _borrows, _adjusts; /* .. it has an EXPIRE, or SET_SCORE */
    bool _times;             /* it has an EXPIRE, or gives times, asks for them, or buries */
};

/* Submits a batch. Returns SW_OK, SW_E_INVALID (nothing happened; the batch contradicts the rules
 * above), SW_E_UNSUPPORTED (nothing happened; the kind or an operation is not one of those that
 * sw_table_info names), SW_E_BUSY (nothing happened; poll, then submit again) or SW_E_DEVICE.
 * On the CPU backend the work is done before it returns. On CUDA it never waits for the device,
 * unless a RESIZE of any queue is to be launched, or a batch that concerns times, which wait, or a
 * table grows, which allocates; the same holds for sw_batch_poll. Batches wait there without limit
 * for their turn: writes until others are done, reads until the writes of their stream are
 * launched. SW_E_BUSY is said only of reads, by a queue that has 64 of them, or of a second scan.
 * Small batches of reads may be held back, to launch several as one, until one is polled. */
int sw_batch_submit(struct sw_queue *queue, struct sw_batch *batch);

/* SW_PENDING while running, otherwise batch->status. Once it is not SW_PENDING the batch belongs to
 * the caller again and the table's statistics include it. Batches of a queue complete in order, but
 * for a scan that must read again. Never blocks; while the batch is pending it reads one word of
 * host memory, and asks the driver only every 65536th time, or on a lost table. */
int sw_batch_poll(struct sw_queue *queue, struct sw_batch *batch);

/* Convenience for tools and tests: submit, then poll until done. Returns the batch's status. */
int sw_batch_run(struct sw_queue *queue, struct sw_batch *batch);

/* Images: what a table holds at one instant, between two writes. For robin_hood on the CPU nothing
 * is copied beforehand: a write first copies what it changes and the image has not read, and where
 * there is no memory for that the image is lost. Elsewhere writes wait while the arrays are copied;
 * reads go on, except on CUDA while rows in host memory or times are copied. With `borrow` nothing
 * is copied: no batch that writes may be submitted before the image is dropped. Blocks; the queue
 * must be idle. SW_OK; SW_E_NOMEM: no memory for sw_image_bytes more where the slots lie;
 * SW_E_BUSY: there is an image; SW_E_UNSUPPORTED; SW_E_DEVICE. Drop images before the table. */
struct sw_image;
int sw_image_take(struct sw_queue *queue, bool borrow, struct sw_image **out);
uint64_t sw_image_bytes(const struct sw_table *table); /* 0: unsupported */
/* write_sequence of its last write; how long writes waited, if that is known; a cache's epoch. */
uint64_t sw_image_sequence(const struct sw_image *image);
uint64_t sw_image_held_ns(const struct sw_image *image);
uint64_t sw_image_epoch(const struct sw_image *image);
/* Reads the next entries, in any order, each once: `count` of them, fewer only at the end. Arrays
 * are any memory; `scores`: of a cache, or times (expiring.h); or NULL. SW_OK; SW_E_NOMEM: it is
 * lost; SW_E_DEVICE. */
int sw_image_read(struct sw_image *image, uint32_t count, void *keys, void *values,
                  uint64_t *scores, uint32_t *got);
void sw_image_drop(struct sw_image *image); /* NULL is allowed */
/* The next write has the number after this. No write is in flight; nor a read, if it goes back. */
void sw_table_set_sequence(struct sw_table *table, uint64_t sequence);
/* The last write_sequence given out: a batch that is done shows no later write. Any thread. */
uint64_t sw_table_last_sequence(struct sw_table *table);

/* Audits the whole table: the invariants of table/robin_hood/README.md by a full scan.
 * Blocks; no batch may be in flight. Returns SW_OK, or SW_E_INVALID with the first violation as
 * text in `violation`; SW_E_UNSUPPORTED where the engine has no audit. */
int sw_table_check(struct sw_table *table, char *violation, size_t violation_size);

/* Copies all slots (buckets + max_probe tail buckets, in order; then the stash's) to host memory
 * for tests that compare backends bucket by bucket. `slots` has room for sw_table_raw_bytes().
 * Robin Hood only: of another engine there are 0 bytes, and copying is SW_E_UNSUPPORTED. */
size_t sw_table_raw_bytes(const struct sw_table *table);
int sw_table_raw_copy(struct sw_table *table, void *slots);

#ifdef __cplusplus
}
#endif

#endif
