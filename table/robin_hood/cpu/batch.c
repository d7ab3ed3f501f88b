/* SPDX-License-Identifier: MIT
 *
 * batch.c - chooses the execution strategy of a batch of operations, and carries the batch out.
 */
#include <string.h>

#include "table/robin_hood/cpu/admit.h"
#include "table/robin_hood/cpu/combined.h"
#include "table/robin_hood/cpu/expiring.h"
#include "table/robin_hood/cpu/expiry.h"
#include "table/robin_hood/cpu/get.h"
#include "table/robin_hood/cpu/id_writes.h"
#include "table/robin_hood/cpu/parallel.h"
#include "table/robin_hood/cpu/resize.h"
#include "table/robin_hood/cpu/room.h"
#include "table/robin_hood/cpu/rows.h"
#include "table/robin_hood/cpu/sets.h"

static struct sw_cpu_mix mix_of(const struct sw_batch *batch)
{
    uint64_t seen = 0;
    if (batch->ops == NULL) {
        seen = SW_OPS_ONE(batch->op);
    } else {
        for (uint32_t i = 0; i < batch->count; i++) {
            seen |= SW_OPS_ONE(batch->ops[i]);
        }
    }
    /* The terms of two sets may be alike: NOLINTNEXTLINE(misc-redundant-expression) */
    const uint64_t conditional = SW_OPS_DELETE | SW_OPS_REFUSE;
    struct sw_cpu_mix mix = {(seen & ~SW_OPS_READ) != 0, (seen & SW_OPS_DELETE) != 0,
                             (seen & conditional) != 0};
    return mix;
}

#define RH_FIELD SW_WIDTH_SUFFIX
#define SW_WIDTH_BODY "table/robin_hood/cpu/batch.inl"
#include "table/each_width.inl"

static void run_reads(struct sw_cpu *cpu, struct sw_batch *batch)
{
    if (cpu->config.is_set) {
        sw_run_set_reads(cpu, batch);
        return;
    }
    const bool expire = sw_expiry_some(cpu);
    sw_expiry_report_clock(cpu, batch);
    if (cpu->arena.rows != NULL) {
        SW_BY_WIDTH(cpu->config.slot_bits, sw_run_row_reads, cpu, batch);
    } else if (expire) {
        SW_BY_WIDTH(cpu->config.slot_bits, sw_run_expiring_reads, cpu, batch);
    } else {
        SW_BY_WIDTH(cpu->config.slot_bits, sw_run_reads, cpu, batch);
        sw_expiry_answer_never(batch);
    }
}

static void refuse_all(const struct sw_cpu *cpu, struct sw_batch *batch)
{
    batch->status = SW_E_FULL;
    sw_cpu_answer_refused(batch, 0, batch->count, sw_config_value_bytes(&cpu->config));
    if (batch->found != NULL) {
        memset(batch->found, 0, (batch->count + 63ULL) / 64 * sizeof(*batch->found));
    }
    batch->counters.refused = batch->count;
    if (batch->group_refused != NULL && batch->group_count > 0) {
        memset(batch->group_refused, 1, batch->group_count);
    }
}

/* Copies the keys of a batch, which others may change. Returns the keys as given. */
static const void *copy_keys(const struct sw_cpu *cpu, struct sw_batch *batch)
{
    const void *given = batch->keys;
    SW_BY_WIDTH(cpu->config.slot_bits, sw_load_keys, cpu, batch);
    batch->keys = cpu->scratch.keys;
    return given;
}

/* Carries out a batch that concerns expiry times. */
static void run_expiring(struct sw_cpu *cpu, struct sw_batch *batch, struct sw_cpu_mix mix)
{
    const uint64_t stash_before = cpu->state.stash_occupied;
    const void *given = copy_keys(cpu, batch);
    sw_expiry_begin(cpu, batch, batch->keys);
    if (cpu->expiry == NULL) { /* memory for expiry times is short */
        batch->keys = given;
        refuse_all(cpu, batch);
        return;
    }
    mix.conditional = true; /* expiry times decide which keys are removed */
    if (cpu->arena.rows != NULL) {
        SW_BY_WIDTH(cpu->config.slot_bits, sw_run_row_writes, cpu, batch, &mix);
    } else if (cpu->ids.limit > 0) {
        SW_BY_WIDTH(cpu->config.slot_bits, sw_run_id_writes, cpu, batch, &mix);
    } else {
        SW_BY_WIDTH(cpu->config.slot_bits, sw_run_expiring_writes, cpu, batch, &mix);
    }
    batch->keys = given;
    batch->_stash_change = (int64_t)(cpu->state.stash_occupied - stash_before);
    sw_expiry_end(cpu, batch);
}

static void run_writes(struct sw_cpu *cpu, struct sw_batch *batch, const struct sw_cpu_mix *mix)
{
    if (sw_expiry_concerns(cpu, batch)) {
        run_expiring(cpu, batch, *mix);
        return;
    }
    sw_expiry_report_clock(cpu, batch);
    sw_expiry_answer_never(batch);
    if (cpu->arena.rows != NULL) {
        SW_BY_WIDTH(cpu->config.slot_bits, sw_run_row_writes, cpu, batch, mix);
    } else {
        SW_BY_WIDTH(cpu->config.slot_bits, sw_run_writes, cpu, batch, mix);
    }
}

static void run_id_writes(struct sw_cpu *cpu, struct sw_batch *batch, const struct sw_cpu_mix *mix)
{
    if (sw_expiry_concerns(cpu, batch)) {
        run_expiring(cpu, batch, *mix);
        return;
    }
    const uint64_t stash_before = cpu->state.stash_occupied;
    const void *given = copy_keys(cpu, batch);
    sw_expiry_report_clock(cpu, batch);
    sw_expiry_answer_never(batch);
    SW_BY_WIDTH(cpu->config.slot_bits, sw_run_id_writes, cpu, batch, mix);
    batch->keys = given;
    batch->_stash_change = (int64_t)(cpu->state.stash_occupied - stash_before);
}

/* Carries out a batch of writes. The table has scratch. */
static inline void write_with_scratch(struct sw_cpu *cpu, struct sw_batch *batch,
                                      const struct sw_cpu_mix *mix)
{
    if (cpu->config.is_set) {
        sw_run_set_writes(cpu, batch, mix);
    } else if (cpu->ids.limit > 0) {
        run_id_writes(cpu, batch, mix);
    } else {
        run_writes(cpu, batch, mix);
    }
}

static __attribute__((noinline)) void write_batch(struct sw_cpu *cpu, struct sw_batch *batch,
                                                  const struct sw_cpu_mix *mix)
{
    sw_cpu_borrow_scratch(cpu);
    write_with_scratch(cpu, batch, mix);
    sw_cpu_return_scratch(cpu);
}

/* --- the phase of a write --------------------------------------------------------------------- */

/* Carries out a batch in a long phase. `table` is a struct sw_cpu. */
static void grow_and_write(void *table, struct sw_batch *batch)
{
    struct sw_cpu *cpu = table;
    const struct sw_cpu_mix mix = mix_of(batch);
    const uint64_t stash_before = cpu->state.stash_occupied;
    const uint64_t entries = cpu->postponed;
    cpu->postponed = 0;
    /* it grows without the scratch of the device, for which other tables may wait */
    if (entries > 0) {
        sw_cpu_grow(cpu, entries);
    }
    if (entries == 0 && sw_cpu_map_scratch(cpu)) {
        write_with_scratch(cpu, batch, &mix);
        sw_cpu_unmap_scratch(cpu);
    } else {
        write_batch(cpu, batch, &mix);
    }
    batch->_stash_change = (int64_t)(cpu->state.stash_occupied - stash_before);
}

/* Returns whether this table, or that of its expiry times, may grow in a long pass for the batch,
 * which concerns expiry times. The room is that before expired entries are removed. */
static bool may_grow_long(struct sw_cpu *cpu, const struct sw_batch *batch)
{
    const struct sw_cpu *times = cpu->expiry != NULL ? cpu->expiry->times : NULL;
    const uint64_t most = cpu->geometry.occupied_max; /* also of times */
    if (sw_cpu_is_short_of_room(cpu, batch->count) && sw_cpu_pass_is_long(cpu) &&
        sw_cpu_may_grow(cpu)) {
        sw_cpu_borrow_scratch(cpu);
        const uint64_t absent = SW_BY_WIDTH(cpu->config.slot_bits, sw_absent_in, cpu, batch);
        sw_cpu_return_scratch(cpu);
        if (absent > 0 && sw_cpu_is_short_of_room(cpu, (uint32_t)absent)) {
            return true;
        }
    }
    return times != NULL && sw_cpu_is_short_of_room(times, batch->count) &&
           (sw_cpu_stash_is_full(times) || most > times->geometry.occupied_max) &&
           sw_cpu_pass_is_long(times) && sw_cpu_may_grow(times);
}

/* Does what write_in_phase does, for a batch that must not wait and is short of room. A batch that
 * concerns expiry times removes expired entries before its room is known, so its growth cannot be
 * postponed. A thread also carries out a long search for expired entries. */
static bool write_or_hand_over(struct sw_cpu *cpu, struct sw_batch *batch,
                               const struct sw_cpu_mix *mix)
{
    const bool expires = !cpu->config.is_set && sw_expiry_concerns(cpu, batch);
    const bool is_long =
        expires && (may_grow_long(cpu, batch) || sw_expiry_search_is_long(cpu, batch));
    if (!is_long) {
        cpu->postpones = !expires;
        write_batch(cpu, batch, mix);
        cpu->postpones = false;
    }
    if (is_long || cpu->postponed > 0) {
        sw_long_phase_run(&cpu->long_phase, &cpu->lock, grow_and_write, cpu, batch);
        return false;
    }
    return true;
}

/* Carries out a batch in a write phase. Returns false if the phase has become that of the batch:
 * the batch is numbered, and ends the phase. */
__attribute__((always_inline)) static inline bool
write_in_phase(struct sw_cpu *cpu, struct sw_batch *batch, const struct sw_cpu_mix *mix)
{
    if (batch->no_wait &&
        (sw_cpu_is_short_of_room(cpu, batch->count) ||
         (cpu->expiry != NULL && sw_cpu_is_short_of_room(cpu->expiry->times, batch->count)))) {
        return write_or_hand_over(cpu, batch, mix);
    }
    write_batch(cpu, batch, mix);
    return true;
}

static bool write_alone(struct sw_cpu *cpu, struct sw_batch *batch)
{
    const struct sw_cpu_mix mix = mix_of(batch);
    const bool in_phase = write_in_phase(cpu, batch, &mix);
    if (in_phase) {
        batch->write_sequence = sw_phase_lock_count(&cpu->lock);
    }
    return in_phase;
}

__attribute__((always_inline)) static inline int
run_alone(struct sw_cpu *cpu, struct sw_batch *batch, const struct sw_cpu_mix *mix)
{
    const int status = sw_batch_enter_write(&cpu->lock, batch);
    if (status == SW_OK && write_in_phase(cpu, batch, mix)) {
        sw_batch_leave_write(&cpu->lock, batch);
    }
    return status;
}

/* --- batches ---------------------------------------------------------------------------------- */

int sw_cpu_run_operations(struct sw_cpu *cpu, struct sw_batch *batch)
{
    const struct sw_cpu_mix mix = mix_of(batch);
    int status = SW_OK;
    if (!mix.writes) {
        status = sw_batch_enter_read(&cpu->lock, batch);
        if (status == SW_OK) {
            run_reads(cpu, batch);
            sw_phase_lock_leave_read(&cpu->lock);
        }
        return status;
    }
    const bool others = sw_cpu_begin_write(cpu);
    if (!others || mix.deletes || !sw_cpu_write_combined(cpu, batch, write_alone)) {
        status = run_alone(cpu, batch, &mix);
    }
    sw_cpu_end_write(cpu);
    return status;
}

/* --- ids -------------------------------------------------------------------------------------- */

/* Carries out a batch of FIND_OR_INSERT as a read. *all is false if some key is absent, or the
 * batch is another one; then it has changed nothing. Returns SW_OK or SW_E_BUSY. */
static int find_all_ids(struct sw_cpu *cpu, struct sw_batch *batch, bool *all)
{
    *all = false;
    if (batch->ops != NULL || !SW_OPS_HAS(SW_OPS_ABSENT, (uint32_t)batch->op) ||
        batch->remove_count > 0) {
        return SW_OK;
    }
    const int status = sw_batch_enter_read(&cpu->lock, batch);
    if (status != SW_OK) {
        return status;
    }
    run_reads(cpu, batch);
    sw_phase_lock_leave_read(&cpu->lock);
    struct sw_op_counters *reads = &batch->counters.by_class[SW_CLASS_GET];
    *all = reads->hits == batch->count;
    if (*all) {
        batch->counters.by_class[SW_CLASS_UPSERT] = *reads;
    }
    *reads = (struct sw_op_counters){0};
    return SW_OK;
}

int sw_cpu_run_id_operations(struct sw_cpu *cpu, struct sw_batch *batch)
{
    const struct sw_cpu_mix mix = mix_of(batch);
    bool all = false;
    if (!mix.writes) {
        return sw_cpu_run_operations(cpu, batch);
    }
    const int status = find_all_ids(cpu, batch, &all);
    return status != SW_OK || all ? status : run_alone(cpu, batch, &mix);
}
