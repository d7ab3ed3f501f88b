/* SPDX-License-Identifier: MIT
 *
 * expiring.inl - reads and writes of integers if some entries expire, and writes of ids. Included
 * by expiring.c once per width.
 */

/* --- reads ------------------------------------------------------------------------------------ */

static void RH(read_block)(const struct sw_cpu *cpu, const struct sw_batch *batch, uint32_t begin,
                           uint32_t end, struct sw_op_counters *count)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    const RH_WORD *keys = batch->keys;
    RH_WORD *previous = batch->previous;
    RH_WORD loaded[SW_CPU_BLOCK];
    uint64_t word = 0;
    for (uint32_t i = begin; i < end; i++) {
        loaded[i - begin] = SW_LOAD_ONCE(keys + i);
        RH(prefetch)(table, RH(mix)(table, loaded[i - begin]));
        sw_expiry_prefetch(cpu->expiry, loaded[i - begin]);
    }
    for (uint32_t i = begin; i < end; i++) {
        RH(prefetch_next)(table, RH(mix)(table, loaded[i - begin]));
    }
    for (uint32_t i = begin; i < end; i++) {
        const RH_WORD m = RH(mix)(table, loaded[i - begin]);
        const struct RH(place) place = RH(locate)(table, m, &count->probes);
        const uint64_t at = place.found ? sw_expiry_of(cpu->expiry, loaded[i - begin]) : 0;
        const bool found = place.found && (at == 0 || at > batch->clock_ms);
        word |= (uint64_t)found << (i - begin);
        if (previous != NULL) {
            previous[i] = found ? place.value : 0;
        }
        if (batch->expires_out != NULL) {
            batch->expires_out[i] = found ? at : 0;
        }
    }
    if (batch->found != NULL) {
        batch->found[begin / SW_CPU_BLOCK] = word;
    }
    count->operations += end - begin;
    count->hits += (uint64_t)__builtin_popcountll(word);
    count->misses += end - begin - (uint64_t)__builtin_popcountll(word);
}

/* Carries out reads, a chunk at a time. All participating threads share the chunks of the batch. */
static void RH(read_job)(void *context, uint32_t thread, uint32_t threads)
{
    struct expiring_reads *reads = context;
    struct sw_op_counters mine = {0};
    (void)thread;
    (void)threads;
    for (;;) {
        const uint64_t begin = __atomic_fetch_add(&reads->next, CHUNK, __ATOMIC_RELAXED);
        uint64_t end = begin + CHUNK;
        end = end < reads->batch->count ? end : reads->batch->count;
        if (begin >= end) {
            break;
        }
        for (uint64_t at = begin; at < end; at += SW_CPU_BLOCK) {
            const uint64_t last = at + SW_CPU_BLOCK < end ? at + SW_CPU_BLOCK : end;
            RH(read_block)(reads->cpu, reads->batch, (uint32_t)at, (uint32_t)last, &mine);
        }
    }
    struct sw_op_counters *all = &reads->batch->counters.by_class[SW_CLASS_GET];
    __atomic_fetch_add(&all->operations, mine.operations, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all->probes, mine.probes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all->hits, mine.hits, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all->misses, mine.misses, __ATOMIC_RELAXED);
}

void RH(run_expiring_reads)(struct sw_cpu *cpu, struct sw_batch *batch)
{
    struct expiring_reads reads = {.cpu = cpu, .batch = batch};
    if (batch->count >= SW_PARALLEL_GETS_MIN && sw_cpu_try_parallel(cpu)) {
        sw_pool_run(cpu->pool, RH(read_job), &reads);
        sw_pool_unlock(cpu->pool);
    } else {
        RH(read_job)(&reads, 0, 1);
    }
    sw_cpu_admit_all(batch);
}

/* --- writes ----------------------------------------------------------------------------------- */

/* Carries out the admitted operation i. Returns whether its key was present. */
static bool RH(apply_admitted)(struct sw_cpu *cpu, const struct sw_batch *batch, uint32_t i,
                               RH_WORD m, RH_WORD operand, struct sw_counters *counters)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    /* no leftovers, since the table has a stash */
    struct RH(work) work = {.expected = batch->expected};
    const uint32_t op = sw_cpu_op_at(batch, i);
    struct sw_op_counters *count = &counters->by_class[sw_op_class_of(op)];
    struct RH(place) place = RH(locate)(table, m, &count->probes);
    RH_WORD out = 0;
    enum sw_effect effect = RH(decide_at)(&work, i, op, place.found, place.value, operand, &out);
    effect = sw_expiry_apply(cpu->expiry, batch, i, op, RH(unmix)(table, m), place.found, effect);
    if (effect == SW_EFFECT_REMOVE) {
        RH(remove)(table, &work, &place, m, &count->probes);
        counters->deleted += op == SW_DELETE;
    } else if (effect == SW_EFFECT_WRITE && place.found) {
        RH(write_at)(table, &place, m, out);
        counters->updated++;
    } else if (effect == SW_EFFECT_WRITE) {
        const uint64_t in_stash = table->state->stash_occupied;
        RH(insert)(table, &work, m, out, &count->probes);
        counters->failures += table->state->stash_occupied - in_stash;
        counters->inserted++;
    }
    if (batch->previous != NULL) {
        ((RH_WORD *)batch->previous)[i] = place.value;
    }
    count->operations++;
    count->hits += place.found;
    count->misses += !place.found;
    return place.found;
}

#include "table/robin_hood/cpu/admitted.inl"

void RH(run_expiring_writes)(struct sw_cpu *cpu, struct sw_batch *batch,
                             const struct sw_cpu_mix *mix)
{
    RH(run_admitted_writes)(cpu, batch, mix, false, true);
}
