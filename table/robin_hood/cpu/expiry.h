/* SPDX-License-Identifier: MIT
 *
 * expiry.h - expiry times of the entries of a table: a second table of 128-bit slots maps keys to
 * times.
 *
 * The second table has an entry for each key that expires, and all its keys are keys of the table.
 * It is created when the first key gets a time. While it is empty, a batch that sets no time costs
 * one check.
 *
 * A write batch runs in two steps. First sw_expiry_begin removes expired entries, by the batch's
 * clock. Then the operations run in order and do not compare times with the clock again. So the
 * same operations after the same removals have the same effect at any clock. The log and replicas
 * need this.
 *
 * Threads: the caller is in a phase of the table: a read phase if the function takes a const table,
 * otherwise a write phase. A write holds the second table's own lock from begin to end, since
 * images of that table are read and dropped outside the phases of the first table.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_EXPIRY_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_EXPIRY_H

#include <stddef.h>
#include <string.h>

#include "table/robin_hood/cpu/cpu.h"
#include "table/robin_hood/cpu/due.h"
#include "table/robin_hood/expiry_times.h"

struct sw_expiry {
    struct sw_cpu *times;
    uint64_t *group_times; /* [2 * batch_ops_max]: expiry times of the keys of a group (admit.h) */
    uint64_t group_times_bytes;
    uint64_t batch_bytes; /* memory for batches: group_times, and the scratch of `times` */
    uint64_t bytes;       /* bytes of memory that the table's facts include */
    struct sw_expiry_pass pass;
    struct sw_due due;     /* bounds of all times, except of expired entries that are suspended */
    bool leaves_suspended; /* there may be such an exception */
    /* state of the current batch */
    bool active; /* its operations use expiry times */
    bool some;   /* some entry had a time before it */
    bool failed; /* memory is short: the groups of the batch are refused */
    bool roomy;  /* there is room for all times that the batch may set */
    uint64_t past;
    uint64_t expired;
    bool wants_expired_keys;
    uint8_t *expired_keys; /* keys of the table's width */
    uint32_t expired_keys_count, expired_keys_room;
    uint64_t piece_keys[SW_EXPIRY_PIECE], piece_times[SW_EXPIRY_PIECE];
};

/* Opens the second table. Returns NULL if memory is short. */
struct sw_expiry *sw_expiry_open(const struct sw_cpu *cpu);
void sw_expiry_close(struct sw_cpu *cpu);

/* Implements sw_table_suspend_expiry; enters the phase that it needs. */
void sw_expiry_suspend(void *table, bool (*is_suspended)(const void *context, uint64_t key),
                       const void *context);
/* Returns whether expiry of this key is suspended. */
static inline bool sw_expiry_is_suspended(const struct sw_cpu *cpu, uint64_t key)
{
    return cpu->is_suspended != NULL && cpu->is_suspended(cpu->suspended_context, key);
}

/* Returns whether some entry expires. */
static inline bool sw_expiry_some(const struct sw_cpu *cpu)
{
    return cpu->expiry != NULL && cpu->expiry->times->state.occupied != 0;
}

/* Returns the expiry time that operation i sets. */
static inline uint64_t sw_expiry_wanted(const struct sw_batch *batch, uint32_t i)
{
    return batch->expires != NULL ? batch->expires[i] : batch->expire_at;
}

/* Returns the expiry time that operation i of the current batch sets; `op` is that operation. A new
 * key that gets an id lives for a millisecond at least: the id that is answered must be its own. */
static inline uint64_t sw_expiry_given(const struct sw_expiry *expiry, const struct sw_batch *batch,
                                       uint32_t i, uint32_t op)
{
    const uint64_t wanted = sw_expiry_wanted(batch, i);
    const bool gives_id = SW_OPS_HAS(SW_OPS_ONE(SW_FIND_OR_INSERT), op);
    return gives_id && wanted != 0 && wanted <= expiry->past ? expiry->past + 1 : wanted;
}

static inline uint64_t sw_expiry_key(const struct sw_cpu *cpu, const void *keys, uint64_t i)
{
    return cpu->config.slot_bits == 64 ? ((const uint32_t *)keys)[i] : ((const uint64_t *)keys)[i];
}

/* Returns whether a write batch concerns expiry times. */
static inline bool sw_expiry_concerns(const struct sw_cpu *cpu, const struct sw_batch *batch)
{
    return sw_expiry_some(cpu) || sw_expiry_sets_or_removes(batch);
}

/* Returns the clock of a batch: its own clock, or the table's if that is later. The result becomes
 * the table's clock. Any phase. */
uint64_t sw_expiry_clock(struct sw_cpu *cpu, uint64_t clock_ms);

/* Writes the clock to the batch, if an entry has ever expired. */
static inline void sw_expiry_report_clock(struct sw_cpu *cpu, struct sw_batch *batch)
{
    if (cpu->expiry != NULL) {
        batch->clock_ms = sw_expiry_clock(cpu, batch->clock_ms);
    }
}

/* Reports "no expiry time" for every key of the batch. */
static inline void sw_expiry_answer_never(const struct sw_batch *batch)
{
    if (batch->expires_out != NULL) {
        memset(batch->expires_out, 0, batch->count * sizeof(*batch->expires_out));
    }
}

/* Returns the expiry time of a key; 0: never. Call it only if some entry expires. */
uint64_t sw_expiry_of(const struct sw_expiry *expiry, uint64_t key);
void sw_expiry_prefetch(const struct sw_expiry *expiry, uint64_t key);
/* Sets the expiry time of a key; 0: never. There must be room. */
void sw_expiry_put(struct sw_expiry *expiry, uint64_t key, uint64_t at);

/* Returns the effect of operation i of the current batch, instead of `effect` (sw_expiry_decide).
 * Stores the new expiry time and writes the old one to expires_out. */
enum sw_effect sw_expiry_apply(struct sw_expiry *expiry, const struct sw_batch *batch, uint32_t i,
                               uint32_t op, uint64_t key, bool found, enum sw_effect effect);

/* Returns whether there is room for the expiry times of the operations [first, end). */
bool sw_expiry_has_room(const struct sw_expiry *expiry, const struct sw_batch *batch,
                        uint32_t first, uint32_t end);

/* Begins a write batch that concerns expiry times. `keys` are its keys, of the table's width, which
 * must not change meanwhile. Removes the keys that the batch lists (`remove_keys`) and the expired
 * entries of its keys. If room for its inserts is not certain, also removes up to batch->count
 * other expired entries. */
void sw_expiry_begin(struct sw_cpu *cpu, struct sw_batch *batch, const void *keys);
/* Returns whether that search for other expired entries is long. Removes nothing, but the next
 * search knows what this one has found. */
bool sw_expiry_search_is_long(struct sw_cpu *cpu, const struct sw_batch *batch);
/* Makes room for the batch's expiry times, once the table has room for its inserts. */
void sw_expiry_make_room(struct sw_cpu *cpu, const struct sw_batch *batch);
void sw_expiry_end(struct sw_cpu *cpu, struct sw_batch *batch);

/* Part of a clear, in its write phase. */
void sw_expiry_clear(struct sw_cpu *cpu);

/* Part of a resize, in its write phase: shrinks the second table to the slots that its entries
 * need. */
void sw_expiry_resize(struct sw_cpu *cpu);

/* Carries out SW_BATCH_SWEEP; enters the phases that it needs. Returns SW_OK or SW_E_BUSY. */
int sw_expiry_run_sweep(struct sw_cpu *cpu, struct sw_batch *batch);

/* Removes expired entries from the result of a scan. In a read phase. */
void sw_expiry_filter(const struct sw_cpu *cpu, struct sw_batch *batch);

/* Checks that every key of the second table is a key of the first. In a read phase. Returns SW_OK,
 * or SW_E_INVALID with the first violation as text. */
int sw_expiry_check(const struct sw_cpu *cpu, char *violation, size_t violation_size);

#endif
