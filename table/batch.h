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
    SW_BATCH_COUNT_SCORES, /* count the entries with a score in `range`: `matched` */
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
 * there spoils these alone.
 *
 * A caller fills in what its kind has. What another kind has is not read: it may be anything. */
struct sw_batch {
    enum sw_batch_kind kind;
    uint32_t count;  /* OPERATIONS: how many; SCAN: entries wanted, at least 1; SWEEP: below */
    uint32_t stream; /* batches of one queue with the same stream take effect in the order of
                        their submission, those of other streams in any order. 0 if the caller has
                        only one */
    void *user;      /* the caller's, never touched */

    /* Out, valid once polled done. */
    int status; /* SW_OK; SW_E_FULL if at least one group was refused; SW_E_DEVICE; SW_E_NOMEM if
                   a scan found no host memory for a larger window, or a resize none at all;
                   SW_E_INVALID of an EPOCH */
    struct sw_counters counters;
    uint64_t write_sequence; /* the place of a batch that may change the table among all such
                                batches, which is the order in which they take effect: 1, 2, 3, ..
                                without gaps. 0 for reads and scans */

    /* Expiry: Robin Hood with a stash; on CUDA neither where texts of keys are kept nor with larger
     * batches than a launch takes. An entry may have a time, in milliseconds since 1970, at which
     * it expires; never is 0. All operations of a batch, and a scan, have one clock: clock_ms, or
     * the latest that an earlier batch had, if that is later. From its time on, at the clock of a
     * batch, an entry is absent for it. Batches that write remove such entries first, of the keys
     * that they name, and further ones before a group would be refused for room. Then they judge no
     * time any more, except that one which they give to a key, and which the clock has passed,
     * removes the key at once. Entries removed for their time are counted in `expired` alone. */
    uint64_t clock_ms; /* in, 0: no time has come; out: the clock of the batch */
    const void *bury;  /* removed first, as what another batch had in `buried`, or SW_E_INVALID */
    void *buried;      /* out: the keys removed first; from malloc, the caller's; or NULL */
    uint32_t bury_count;
    uint32_t buried_count; /* out, at most 2 * count */
    uint64_t expired;      /* out: those, and what operations removed */
    bool wants_buried;     /* writes, SWEEP: `buried` is wanted */
    bool some_expire;      /* out, writes: some entry had a time before or after the batch */

    /* The backend's, from submit to completion. */
    int _stage; /* atomic: combine.c */
    struct sw_batch *_next;
    uint64_t _ticket;
    int64_t _stash_change; /* entries of the stash after the batch, minus before it */

    /* What each kind has besides; CLEAR has nothing. */
    union {
        /* OPERATIONS: the kind that most code handles. Its members have no name of their own. */
        struct {
            enum sw_op op;      /* what every operation does, if ops is NULL */
            bool shared;        /* others may change keys and values: memory.h */
            bool on_device;     /* .. which are in the device's memory */
            bool wide_operands; /* rows: all operands are of ADD_F16, ADD_BF16 or their PRESENT
                                   forms, have numbers of 32 bits, IEEE 754, and are twice as long
                                   as a row */
            bool restores;      /* SET: scores are stored as given, whatever the policy. For entries
                                   of an image; later uses get later times than these */
            const uint8_t *ops; /* [count] enum sw_op each, or NULL */
            const void *keys;   /* [count] */
            const void *values; /* [count] operands; NULL if every operation is GET, PEEK, DELETE or
                                   SET_SCORE */
            const struct sw_slot_filter *filter; /* slot_filter.h: of GET where filters_slots, or
                                                    NULL */
            uint32_t first_outside; /* out: the first key that the filter does not let pass, or
                                       count */
            void *previous;  /* out [count]: value before the operation, 0 if absent; or NULL.
                                Elements have sw_table_info.value_bytes bytes, as in `values` */
            uint64_t *found; /* out [(count + 63) / 64]: was the key present before it; or NULL */
            uint64_t *not_admitted; /* out, bits as in `found`: cache: was a new entry for the key
                                       turned away? NULL: not wanted, or another engine */

            /* Cache. `scores` are given to the uses of entries and to new entries; NULL, which it
             * is under LRU and EPOCH_LRU, or [count].
             *   LFU, EPOCH_LFU  so many uses (up to 2^64 - 1 and 2^32 - 1 in all); without scores:
             *                   1 each
             *   CUSTOM          the score itself
             * Under CUSTOM a new entry gets 0 where there are no scores, and others keep theirs, as
             * they do under a GET; SET_SCORE must have scores. */
            const uint64_t *scores;
            uint64_t *scores_out; /* out [count]: the key's score after the operation, 0 if it is
                                     absent then; or NULL. On CUDA the reads of a batch of reads
                                     overlap: the score may be that after another of them */

            /* Group g is [group_ends[g-1], group_ends[g]); what becomes of it: admission.h. With
             * group_count 0 the batch is one group. group_refused (bytes, enum sw_admission) is
             * written if not NULL. Robin Hood on CUDA: a batch that writes has no more groups than
             * operations. */
            uint32_t group_count;
            const uint32_t *group_ends; /* [group_count], ascending, last == count */
            uint8_t *group_refused;     /* out [group_count], or NULL */

            /* Times. What inserts gives the new entry its time. SET and SET_PRESENT give a present
             * one theirs too, so never if there is none; other operations on values leave it. With
             * SW_EXPIRE_KEEP a new entry never expires, and a present one keeps its time. A clear,
             * and a delete, end it. A group is also refused where there is no memory for its times.
             * On CUDA a batch that writes has no more groups than operations once some batch has
             * given a time. */
            const uint64_t
                *expires; /* [count]; NULL: expire_at for all. Others must not change it */
            uint64_t expire_at;
            uint64_t
                *expires_out; /* out [count]: the time before the operation, 0: none; or NULL */

            /* Tables without a stash: entries that met the probe cap and are no longer in the
             * table; often not the caller's keys but older ones. They leave at the end of the
             * batch: until then its operations find and change them, and they count towards
             * occupied_max. Each key is listed once. Which ones leave is a matter of the backend if
             * the batch also deletes. Room for `count` each, required if stash_slots is 0. Cache:
             * the entries evicted, which `evicted` counts, as many as there are; NULL where the
             * caller does not want them. */
            void *leftover_keys;
            void *leftover_values;
            uint64_t *leftover_scores; /* cache; or NULL */
            uint32_t leftover_count;   /* out */

            uint32_t _upserts; /* operations of it that may insert */
            uint32_t _way;     /* CUDA: 1 + enum sw_way; 0: carried out in no such way */
            bool _adjusts;     /* it has an EXPIRE, or SET_SCORE */
            bool _times;       /* it has an EXPIRE, or gives times, asks for them, or buries */
        };

        /* SCAN: entries whose mixed key is >= cursor, ascending. Every entry present from the first
         * call (cursor 0) to the last (cursor comes back as 0) is returned at least once, whatever
         * else is inserted or deleted meanwhile. A call may return fewer than `count`, or none, and
         * still have a cursor that is not 0. Arrays have room for `count`. A scan takes effect at
         * some moment between submit and completion: where the device must read again, after
         * batches submitted later to the same queue. A queue of the CUDA backend takes one scan at
         * a time (SW_E_BUSY). Rows on CUDA are those of a later moment than the keys; those deleted
         * between are left out. */
        struct {
            uint64_t cursor;               /* in and out */
            void *keys, *values;           /* out */
            uint64_t *scores;              /* out: cache; or NULL */
            uint32_t got;                  /* out: entries */
            bool by_score;                 /* cache: those with score_min <= score <= score_max */
            uint64_t score_min, score_max; /* by_score */
        } scan;

        /* RESIZE: the slots wanted; rounded up to whole buckets, and to what max_load needs for the
         * entries held. More than max_capacity_slots is SW_E_INVALID. The stash is merged on the
         * way, and what meets the cap is in it afterwards; never more than stash_slots entries, or
         * than before if it held more. Where more would be (without a stash: any; nothing is handed
         * back) the capacity is doubled, up to max_capacity_slots, until it is enough. SW_E_NOMEM:
         * there was no memory for both arrays at once, or no capacity was enough; nothing changed.
         * Growth moves everything in the same way. The CUDA backend does not double: it answers
         * SW_E_NOMEM; and it cannot resize a table without a stash or with a max_probe below the
         * derived one (SW_E_INVALID). Cache: the capacity is the one that was wanted, however many
         * entries there are: those that have no room there leave, where a bucket is full those of
         * the lowest scores, and are counted as evicted. */
        uint64_t capacity; /* in; out: the capacity it has now */

        struct { /* COUNT_SCORES, ERASE_SCORES: min <= score <= max */
            uint64_t min, max;
            uint64_t matched; /* out: COUNT_SCORES */
        } range;

        uint64_t epoch; /* EPOCH: the new epoch, at least the current one and below 2^32, otherwise
                           status is SW_E_INVALID and nothing happens; 0: it stays. Out: the current
                           one */

        /* SWEEP looks at `count` of the entries that expire, and removes those whose time has come;
         * it has a write_sequence only if there were some, and waits for writes. If clock_ms is
         * over SW_CLOCK_HOLD_MS before the table's clock, it removes what has expired by that, in
         * as many calls as it takes, and only then the table's clock goes back. With `bury` it
         * removes these alone, with a count of 0 nothing, before the clock goes back. */
        struct {
            uint64_t cursor; /* out: not 0 if the sweep has not come to its end */
            uint64_t looked; /* out: the entries that it has looked at */
        } sweep;

        struct {               /* IMAGE: the table's own */
            void *memory;      /* out: the backend's */
            uint64_t sequence; /* out: of the last write before it */
            uint64_t held_ns;  /* out: how long writes waited */
            uint64_t epoch;    /* out: cache */
            bool borrows;
            bool expires; /* out: its entries may have times */
        } image;
    };
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

/* The next write has the number after this. No write is in flight; nor a read, if it goes back. */
void sw_table_set_sequence(struct sw_table *table, uint64_t sequence);
/* The last write_sequence given out: a batch that is done shows no later write. Any thread. */
uint64_t sw_table_last_sequence(struct sw_table *table);

/* Convenience for tools and tests: submit, then poll until done. Returns the batch's status. */
int sw_batch_run(struct sw_queue *queue, struct sw_batch *batch);

#ifdef __cplusplus
}
#endif

#endif
