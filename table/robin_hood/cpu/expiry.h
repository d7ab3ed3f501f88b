/* SPDX-License-Identifier: MIT
 *
 * expiry.h - when the entries of a table expire: a second table, of 128-bit slots, from key to
 * time.
 *
 * It has an entry for each key that expires, and for no other: every key of it is one of the table.
 * Until the first key is given a time there is none, and while it is empty a batch that gives no
 * time pays for one look at it.
 *
 * Batches that write are carried out in two steps. sw_expiry_begin removes entries whose time has
 * come, by the batch's clock. Then operations are carried out in order, and no time is judged any
 * more: so the same operations behind the same removals have the same effect at any clock, which is
 * what a log and a replica need.
 *
 * Threads: the caller is in the table's phase: a read phase where a function takes a const table,
 * a write phase elsewhere. The second table's own lock is held by a write from begin to end, since
 * images of it are read and dropped outside the phases of the first.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_EXPIRY_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_EXPIRY_H

#include <stddef.h>

#include "table/robin_hood/cpu/cpu.h"
#include "table/robin_hood/times.h"

struct sw_expiry {
    struct sw_cpu *times;
    uint64_t *walk; /* [2 * batch_ops_max]: times in a walk of groups (admit.h) */
    uint64_t walk_bytes;
    uint64_t bytes; /* of memory, as the table's facts have it */
    struct sw_expiry_pass pass;
    /* the batch that is being carried out */
    bool active; /* operations of it concern times */
    bool some;   /* some entry had a time before it */
    bool failed; /* no memory: its groups are refused */
    bool roomy;  /* there is room for all times that it may give */
    uint64_t past;
    uint64_t expired;
    bool wants_buried;
    uint8_t *buried; /* keys of the table's width */
    uint32_t buried_count, buried_room;
    uint64_t piece_keys[SW_EXPIRY_PIECE], piece_times[SW_EXPIRY_PIECE];
};

/* NULL: there is no memory. */
struct sw_expiry *sw_expiry_open(const struct sw_cpu *cpu);
void sw_expiry_close(struct sw_cpu *cpu);

/* As sw_table_hold says; enters the phase it needs. */
void sw_expiry_hold(void *table, bool (*holds)(const void *context, uint64_t key),
                    const void *context);
/* Is the entry of this key left where it is when its time has come? */
static inline bool sw_expiry_is_held(const struct sw_cpu *cpu, uint64_t key)
{
    return cpu->holds != NULL && cpu->holds(cpu->holds_context, key);
}

/* Some entry expires. */
static inline bool sw_expiry_some(const struct sw_cpu *cpu)
{
    return cpu->expiry != NULL && cpu->expiry->times->state.occupied != 0;
}

/* The time that operation i gives. */
static inline uint64_t sw_expiry_wanted(const struct sw_batch *batch, uint32_t i)
{
    return batch->expires != NULL ? batch->expires[i] : batch->expire_at;
}

static inline uint64_t sw_expiry_key(const struct sw_cpu *cpu, const void *keys, uint64_t i)
{
    return cpu->config.slot_bits == 64 ? ((const uint32_t *)keys)[i] : ((const uint64_t *)keys)[i];
}

/* Whether a batch that writes concerns times. */
static inline bool sw_expiry_concerns(const struct sw_cpu *cpu, const struct sw_batch *batch)
{
    return sw_expiry_some(cpu) || sw_expiry_gives_or_buries(batch);
}

/* The clock of a batch: what it came with, or the table's if that is later, which it becomes. Any
 * phase. */
uint64_t sw_expiry_clock(struct sw_cpu *cpu, uint64_t clock_ms);

/* Tells the batch its clock, if an entry has ever expired. */
static inline void sw_expiry_tell(struct sw_cpu *cpu, struct sw_batch *batch)
{
    if (cpu->expiry != NULL) {
        batch->clock_ms = sw_expiry_clock(cpu, batch->clock_ms);
    }
}

/* When a key expires; 0: never. Only where some entry expires. */
uint64_t sw_expiry_of(const struct sw_expiry *expiry, uint64_t key);
void sw_expiry_prefetch(const struct sw_expiry *expiry, uint64_t key);
/* 0: never. There is room. */
void sw_expiry_put(struct sw_expiry *expiry, uint64_t key, uint64_t at);

/* What operation i of the batch that is carried out does, instead of `effect` (sw_expiry_decide);
 * its answer is written, and its time kept. */
enum sw_effect sw_expiry_apply(struct sw_expiry *expiry, const struct sw_batch *batch, uint32_t i,
                               uint32_t op, uint64_t key, bool found, enum sw_effect effect);

/* Whether there is room for the times of operations [first, end). */
bool sw_expiry_has_room(const struct sw_expiry *expiry, const struct sw_batch *batch,
                        uint32_t first, uint32_t end);

/* Begins a batch that writes and concerns times. Its keys, `keys`, which nobody changes, are those
 * of the table's width. Entries are removed: those it names (`bury`), those of its keys whose time
 * has come, and, where room for its inserts is not certain, as many more of these as it has
 * operations. */
void sw_expiry_begin(struct sw_cpu *cpu, struct sw_batch *batch, const void *keys);
/* Once the table has room for its inserts: sees to it that there is room for its times. */
void sw_expiry_make_room(struct sw_cpu *cpu, const struct sw_batch *batch);
void sw_expiry_end(struct sw_cpu *cpu, struct sw_batch *batch);

/* A clear, in its write phase. */
void sw_expiry_clear(struct sw_cpu *cpu);

/* A resize, in its write phase: the second table has as many slots as its entries need. */
void sw_expiry_resize(struct sw_cpu *cpu);

/* SW_BATCH_SWEEP; enters the phases it needs. */
void sw_expiry_run_sweep(struct sw_cpu *cpu, struct sw_batch *batch);

/* A read phase: leaves out of what a scan has found the entries whose time has come. */
void sw_expiry_filter(const struct sw_cpu *cpu, struct sw_batch *batch);

/* A read phase: every key of the second table is one of the first. SW_OK; SW_E_INVALID with the
 * first violation as text. */
int sw_expiry_check(const struct sw_cpu *cpu, char *violation, size_t violation_size);

#endif
