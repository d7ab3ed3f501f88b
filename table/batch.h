/* SPDX-License-Identifier: MIT
 *
 * batch.h - batches of operations, and the queues that take them.
 */
#ifndef SHERWOOD_TABLE_BATCH_H
#define SHERWOOD_TABLE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/admission.h"
#include "table/counters.h"
#include "table/op.h"
#include "table/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sw_table;
struct sw_queue;

/* I/O memory: the memory that batches point into. The backend reaches it without a copy (pinned and
 * mapped on CUDA). It is 64-byte aligned. The caller owns it, and frees it with sw_io_free before
 * sw_table_destroy. */
void *sw_io_alloc(struct sw_table *table, size_t bytes);
void sw_io_free(struct sw_table *table, void *memory, size_t bytes);

/* A queue: its batches of one stream take effect in the order of submission. Use one queue per
 * thread. */
SW_MUST_CHECK int sw_queue_create(struct sw_table *table, struct sw_queue **out);
/* Does the same for a thread that uses several tables with one struct sw_device. Small batches of
 * reads of these tables may then share launches. `thread` is at least 1; only one thread uses the
 * queues with a number. */
SW_MUST_CHECK int sw_queue_create_for(struct sw_table *table, uint32_t thread,
                                      struct sw_queue **out);
/* Every batch of the queue must have completed. NULL is allowed. */
void sw_queue_destroy(struct sw_queue *queue);

enum sw_batch_kind {
    SW_BATCH_OPERATIONS, /* get, upsert, delete */
    SW_BATCH_CLEAR,      /* remove all entries; counters.deleted receives their number */
    SW_BATCH_SCAN,       /* read entries in layout order, from a cursor */
    SW_BATCH_RESIZE,     /* move everything to arrays of `capacity` slots, larger or smaller */
    /* cache: */
    SW_BATCH_COUNT_SCORES, /* count the entries with a score in `range`: `matched` */
    SW_BATCH_ERASE_SCORES, /* remove these entries; counters.deleted receives their number */
    SW_BATCH_EPOCH,        /* EPOCH policies: advance to `epoch` */
    /* tables in which entries expire: */
    SW_BATCH_SWEEP, /* remove expired entries */
    SW_BATCH_IMAGE  /* internal: sw_image_take submits it */
};
#define SW_BATCH_KIND_COUNT (SW_BATCH_SWEEP + 1)

#define SW_EXPIRE_KEEP UINT64_MAX
/* If the clock goes back by at most this, the table's clock stops until the time catches up. */
#define SW_CLOCK_HOLD_MS 60000U

/* One batch, in the caller's storage. The table borrows the arrays until sw_batch_poll returns
 * another status than SW_PENDING. They must lie in I/O memory of the table (the struct itself may
 * lie anywhere). Key and value arrays hold integers of the table's width, little-endian, aligned to
 * it; all other values have value_bytes bytes each. They are aligned to 16 if value_bytes is a
 * multiple of 16, otherwise to 8 for numbers of 64 bits, otherwise to 4. `found` words are 64 bits:
 * the answer of operation i is bit i % 64 of word i / 64; unused bits of the last word are zero.
 *
 * Other processes or threads may change keys and values of a `shared` batch while it runs. Such a
 * batch has no key strings. The table loads each element once, so the batch works on values that
 * each element had at some moment. A value of a cache may be a mix of two. The table writes answers
 * and does not read them back: if others write there, they spoil only the answers.
 *
 * A caller sets the members of its kind. The table does not read the members of other kinds, so
 * they may have any value. */
struct sw_batch {
    enum sw_batch_kind kind;
    uint32_t count;  /* OPERATIONS: number of operations; SCAN: entries wanted, at least 1; SWEEP:
                        see below */
    uint32_t stream; /* batches of one queue and one stream take effect in the order of their
                        submission; batches of different streams in any order. 0 if the caller has
                        only one stream */
    void *user;      /* the caller's; the table does not use it */

    /* Out; valid after the batch is done. */
    int status; /* SW_OK; SW_E_FULL: at least one group was refused; SW_E_DEVICE; SW_E_NOMEM: a scan
                   found no host memory for a larger window, or a resize found no memory;
                   SW_E_INVALID: the epoch of an EPOCH batch is not allowed */
    struct sw_counters counters;
    uint64_t write_sequence; /* number of a batch that may change the table: 1, 2, 3, .. without
                                gaps, in the order in which these batches take effect. Tables that
                                share a sequencer also share the numbers, so the numbers of one of
                                them have gaps. 0 for reads and scans */

    /* Expiry: only Robin Hood with a stash has it. CUDA has it only if batch_ops_max is not larger
     * than a launch takes. An entry may have an expiry time, in milliseconds since 1970; 0: never.
     * All operations of a batch, and a scan, use one clock: clock_ms, or the latest clock of an
     * earlier batch if that is later. If the clock of a batch has reached the time of an entry, the
     * entry is absent for the batch. A batch that writes first removes such entries of its own
     * keys. It removes further expired entries before it would refuse a group for room. After that,
     * times no longer matter, with one exception: an operation that gives its key a time which the
     * clock has already passed removes the key at once. Entries removed because they expired are
     * counted in `expired` alone. */
    uint64_t clock_ms; /* in: the caller's clock; 0: no entry counts as expired; out: the clock of
                          the batch */
    /* Keys to remove first: the `expired_keys` of another batch. The status is SW_E_INVALID if one
     * of them has no expiry time. */
    const void *remove_keys;
    /* Out: the keys removed first; allocated by malloc, freed by the caller; or NULL. */
    void *expired_keys;
    uint32_t remove_count;
    uint32_t expired_keys_count; /* out, at most 2 * count */
    uint64_t expired; /* out: entries removed first, and expired entries removed by operations */
    bool wants_expired_keys; /* writes, SWEEP: the caller wants `expired_keys` */
    bool some_expire;        /* out, writes: some entry had a time before or after the batch */
    /* The thread must not wait long: the time of growth, a RESIZE, a CLEAR or a long search for
     * expired entries of a large table in host memory. Then a thread of its own carries out such a
     * batch, and the batch is pending. Until it is done, submits of batches with no_wait return
     * SW_E_BUSY. */
    bool no_wait;
    bool releases; /* CLEAR: the cuckoo engine in host memory gives its memory back until the next
                      batch. Other engines have RESIZE for that. */

    /* Used by the backend from submit to completion. */
    int _stage; /* atomic: write_combiner.c; host/long_phase.c */
    struct sw_batch *_next;
    uint64_t _ticket;
    int64_t _stash_change; /* entries of the stash after the batch, minus before it */

    /* Members of each kind. CLEAR has none. */
    union {
        /* OPERATIONS: the kind that most code handles. Its members have no name of their own. */
        struct {
            enum sw_op op;      /* the operation of all, if ops is NULL */
            bool shared;        /* others may change keys and values (imported_memory.h) */
            bool on_device;     /* keys and values lie in device memory */
            bool wide_operands; /* rows: all operands belong to ADD_F16, ADD_BF16 or their PRESENT
                                   forms, consist of 32-bit IEEE 754 numbers, and are twice as long
                                   as a row */
            bool restores;      /* SET: store scores as given under every policy. For entries of an
                                   image; later uses get later times than these scores. A cache of
                                   ids takes SET only so (cache/ids.h) */
            const uint8_t *ops; /* [count] enum sw_op each, or NULL */
            const void *keys;   /* [count] */
            const void *values; /* [count] operands; NULL if every operation is GET, PEEK, DELETE or
                                   SET_SCORE */
            /* [count] The values that operations of SW_OPS_PAIR expect, in the format of `values`.
             * Other operations do not read them. NULL if the batch has no such operation. Others
             * must not change them. */
            const void *expected;
            /* [count] SETRANGE: the part of the row that the first bytes of the operand replace
             * (proto/ops/range_apply.h). Operations of SW_OPS_PAIR on rows: the number of bytes
             * that they compare, from the first one on. Other operations do not read it. NULL if
             * the batch has no such operation. Others must not change it. */
            const uint32_t *ranges;
            const struct sw_slot_filter *filter; /* slot_filter.h: only for GET, if filters_slots;
                                                    or NULL */
            uint32_t first_outside; /* out: index of the first key that the filter rejects; count:
                                       none */
            void *previous;  /* out [count]: value before the operation, 0 if absent; or NULL.
                                Elements have sw_table_info.value_bytes bytes, as in `values` */
            uint64_t *found; /* out [(count + 63) / 64]: 1: the key was present before the
                                operation; or NULL */
            uint64_t *not_admitted; /* out, bits as in `found`: cache: 1: a new entry for the key
                                       was not admitted. NULL: not wanted, or another engine */

            /* Cache: `scores` [count] applies to uses of entries and to new entries; or NULL. It
             * must be NULL under LRU and EPOCH_LRU.
             *   LFU, EPOCH_LFU  number of uses to count (up to 2^64 - 1 and 2^32 - 1 in all);
             *                   without scores: 1 per operation
             *   CUSTOM          the score itself
             * Under CUSTOM and without scores a new entry gets the score 0, and a present entry
             * keeps its score. GET also keeps the score. SET_SCORE needs scores. */
            const uint64_t *scores;
            uint64_t *scores_out; /* out [count]: the key's score after the operation, 0 if the key
                                     is then absent; or NULL. On CUDA the reads of a batch overlap:
                                     the score may include other reads of the batch */

            /* Group g is [group_ends[g-1], group_ends[g]); admission.h says when it is refused.
             * With group_count 0 the batch is one group. group_refused (bytes, enum sw_admission)
             * receives the results if it is not NULL. Robin Hood on CUDA: a batch that writes has
             * no more groups than operations. */
            uint32_t group_count;
            const uint32_t *group_ends; /* [group_count], ascending, last == count */
            uint8_t *group_refused;     /* out [group_count], or NULL */

            /* Expiry times. An operation that inserts gives the new entry its time. SET and
             * SET_PRESENT also give a present entry their time; without one the entry never expires
             * afterwards. Other operations on values keep the time of a present entry. With
             * SW_EXPIRE_KEEP a new entry never expires, and a present entry keeps its time. Clear
             * and delete remove the time. A group is also refused if there is no memory for its
             * times. On CUDA, after some batch has given a time, a batch that writes has no more
             * groups than operations. */
            const uint64_t
                *expires; /* [count]; NULL: expire_at for all. Others must not change it */
            uint64_t expire_at;
            uint64_t
                *expires_out; /* out [count]: the time before the operation, 0: none; or NULL */

            /* Tables without a stash: entries that met the probe cap and have left the table; they
             * are often older entries, with other keys than the batch. They leave at the end of the
             * batch: until then its operations find and change them, and they count towards
             * occupied_max. Each key is listed once. If the batch also deletes, the backends may
             * choose different entries. The arrays have room for `count` entries and are required
             * if stash_slots is 0. Cache: the entries that operations of the batch evicted; NULL if
             * the caller does not want them. `evicted` also counts entries that growth evicted;
             * they are not listed. */
            void *leftover_keys;
            void *leftover_values;
            uint64_t *leftover_scores; /* cache; or NULL */
            uint32_t leftover_count;   /* out */

            uint32_t _upserts;    /* operations of the batch that may insert */
            uint32_t _write_path; /* CUDA: 1 + enum sw_write_path; 0: another strategy */
            bool _adjusts;        /* the batch has an EXPIRE, or SET_SCORE */
            bool _times; /* the batch has an EXPIRE, gives or returns times, or has `remove_keys` */
        };

        /* SCAN: entries whose mixed key is >= cursor, ascending. Every entry present from the first
         * call (cursor 0) to the last (cursor comes back as 0) is returned at least once, whatever
         * else is inserted or deleted meanwhile. A call may return fewer entries than `count`, or
         * none, with a cursor other than 0. Arrays have room for `count`. A scan takes effect at
         * some moment between submit and completion. If the device must read again, batches
         * submitted later to the same queue may take effect before the scan. A queue of the CUDA
         * backend takes one scan at a time (SW_E_BUSY). On CUDA rows are read later than the keys;
         * entries deleted in between are left out. */
        struct {
            uint64_t cursor;               /* in and out */
            void *keys, *values;           /* out */
            uint64_t *scores;              /* out: cache; or NULL */
            uint32_t got;                  /* out: entries */
            bool by_score;                 /* cache: only entries with score_min <= score <=
                                              score_max */
            uint64_t score_min, score_max; /* by_score */
        } scan;

        /* RESIZE: the slots wanted; rounded up to whole buckets, and to the minimum that max_load
         * needs for the entries held. More than max_capacity_slots is SW_E_INVALID. The resize
         * merges the stash. Entries that meet the cap are in the new stash afterwards: at most
         * stash_slots entries, or at most the number before if that was larger. If more entries met
         * the cap (without a stash: any; a resize hands nothing back), the capacity is doubled
         * until it is enough, up to max_capacity_slots. SW_E_NOMEM: there was no memory for both
         * arrays at once, or no capacity was enough; nothing changed. Growth moves everything in
         * the same way. The CUDA backend does not double: it returns SW_E_NOMEM. It cannot resize a
         * table without a stash or with a max_probe below the derived one (SW_E_INVALID). Cache:
         * the capacity is always the one wanted. Where a bucket is full in the new arrays, the
         * entries with the lowest scores leave and are counted as evicted. */
        uint64_t capacity; /* in; out: the new capacity */

        struct { /* COUNT_SCORES, ERASE_SCORES: min <= score <= max */
            uint64_t min, max;
            uint64_t matched; /* out: COUNT_SCORES */
        } range;

        uint64_t epoch; /* EPOCH: the new epoch, at least the current one and below 2^32, otherwise
                           status is SW_E_INVALID and nothing happens; 0: the epoch does not change.
                           Out: the current epoch */

        /* SWEEP checks `count` of the entries that expire, and removes those that have expired. It
         * waits for writes, and has a write_sequence only if it removed entries. If clock_ms is
         * more than SW_CLOCK_HOLD_MS before the table's clock, the sweep first removes what has
         * expired by the table's clock. That takes one or more calls; then the table's clock goes
         * back. With `remove_keys` the sweep removes only these keys before the clock goes back;
         * with a count of 0 it removes nothing. */
        struct {
            uint64_t cursor; /* out: 0 if the sweep has come to its end */
            uint64_t looked; /* out: number of entries checked */
        } sweep;

        struct {               /* IMAGE: internal */
            void *memory;      /* out: the backend's */
            uint64_t sequence; /* out: number of the last write before the image */
            uint64_t held_ns;  /* out: how long writes waited */
            uint64_t epoch;    /* out: cache */
            bool borrows;
            bool expires; /* out: its entries may have times */
        } image;
    };
};

/* Submits a batch. Returns SW_OK, SW_E_INVALID (nothing happened; the batch contradicts the rules
 * above), SW_E_UNSUPPORTED (nothing happened; sw_table_info does not list the kind or an
 * operation), SW_E_BUSY (nothing happened; poll, then submit again) or SW_E_DEVICE.
 *
 * On the CPU backend the work is done before the function returns, except that of some batches with
 * no_wait. On CUDA the function does not
 * wait for the device, with three exceptions: it launches a RESIZE of any queue, it launches a
 * batch that concerns times, or the table grows, which allocates memory. The same holds for
 * sw_batch_poll. On CUDA batches wait without limit: writes until others are done, reads until the
 * writes of their stream are launched. There only reads return SW_E_BUSY: if the queue has 64 of
 * them already, or for a second scan. The table may hold back small batches of reads, to launch
 * several as one, until one is polled. */
SW_MUST_CHECK int sw_batch_submit(struct sw_queue *queue, struct sw_batch *batch);

/* Returns SW_PENDING while the batch runs, then batch->status. After that the batch belongs to the
 * caller again, and the table's statistics include it. Batches of a queue complete in order, except
 * for a scan that must read again. Never blocks. While the batch is pending, a poll reads one word
 * of host memory. It calls the driver only every 65536th time, or if the table is lost. */
SW_MUST_CHECK int sw_batch_poll(struct sw_queue *queue, struct sw_batch *batch);

/* Returns whether a batch for which others with no_wait do not wait is being carried out: polls and
 * submits of the next millisecond are likely in vain. Threads: any. */
bool sw_table_is_held(const struct sw_table *table);
/* Returns whether such a batch holds up reads, or else writes. Beside one that only reads, such as
 * an image, other reads go on. Threads: any. */
bool sw_table_holds(const struct sw_table *table, bool reads);
/* Does the same for a caller that has not submitted its batch, and asks again within a second: as
 * if the batch had been turned away, no further search with no_wait begins before a write. */
bool sw_table_keeps_out(const struct sw_table *table, bool reads);

/* Sets the number of the last write: the next write gets the number after it. No write may be in
 * flight. If the number decreases, no read may be in flight either. */
void sw_table_set_sequence(struct sw_table *table, uint64_t sequence);
/* Returns the last write_sequence assigned: a completed batch shows no later write. Any thread. */
uint64_t sw_table_last_sequence(struct sw_table *table);

/* Submits a batch and polls it until it is done, for tools and tests. Returns the batch's
 * status. */
SW_MUST_CHECK int sw_batch_run(struct sw_queue *queue, struct sw_batch *batch);

#ifdef __cplusplus
}
#endif

#endif
