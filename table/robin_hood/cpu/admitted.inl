/* SPDX-License-Identifier: MIT
 *
 * admitted.inl - writes of integers in array order, each group behind an admission. Included by
 * expiring.inl and id_writes.inl once per width, after they have defined RH(apply_admitted), which
 * carries out one operation of an admitted group.
 */

/* Mixes the keys in place. Loads the operands once, since others may change them. */
static void RH(load)(const struct sw_cpu *cpu, const struct sw_batch *batch, RH_WORD *m,
                     RH_WORD *operands)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        m[i] = RH(mix)(&cpu->table.RH_FIELD, m[i]);
        operands[i] = batch->values != NULL ? SW_LOAD_ONCE((const RH_WORD *)batch->values + i) : 0;
    }
}

/* Prefetches the buckets of a key, and those of its expiry time if the batch concerns times. */
static inline void RH(prefetch_entry)(const struct sw_cpu *cpu, RH_WORD m, bool times)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    RH(prefetch)(table, m);
    if (times) {
        sw_expiry_prefetch(cpu->expiry, RH(unmix)(table, m));
    }
}

/* Carries out a batch of writes whose keys are in the scratch: each group is first admitted, then
 * its operations are applied. `by_presence`: the operands do not decide who inserts. `times`: the
 * batch concerns expiry times. Both are constants where this is inlined. */
__attribute__((always_inline)) static inline void
RH(run_admitted_writes)(struct sw_cpu *cpu, struct sw_batch *batch, const struct sw_cpu_mix *mix,
                        const bool by_presence, const bool times)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    const uint32_t groups = batch->group_count > 0 ? batch->group_count : 1;
    RH_WORD *m = cpu->scratch.keys, *operands = cpu->scratch.entries;
    struct RH(work) work = {.ops = batch->ops,
                            .op = batch->op,
                            .count = batch->count,
                            .keys = m,
                            .found = batch->found,
                            .group_count = groups};
    uint64_t word = 0;
    if (!RH(make_room)(cpu, &work, mix)) {
        return;
    }
    if (times) {
        sw_expiry_make_room(cpu, batch);
    }
    RH(load)(cpu, batch, m, operands);
    const bool stash_full = table->state->stash_occupied > table->stash_max;
    for (uint32_t i = 0; i < batch->count && i < SW_CPU_AHEAD; i++) {
        RH(prefetch_entry)(cpu, m[i], times);
    }
    for (uint32_t g = 0, i = 0; g < groups; g++) {
        const uint32_t first = i;
        const uint32_t end = batch->group_count > 0 ? batch->group_ends[g] : batch->count;
        const enum sw_admission admission =
            RH(admit)(cpu, batch, m, by_presence ? NULL : operands, first, end, stash_full);
        const bool admitted = admission == SW_ADMITTED;
        for (; i < end; i++) {
            if (batch->count - i > SW_CPU_AHEAD) {
                RH(prefetch_entry)(cpu, m[i + SW_CPU_AHEAD], times);
            }
            if (batch->count - i > SW_CPU_NEAR) {
                RH(prefetch_next)(table, m[i + SW_CPU_NEAR]);
            }
            const bool found =
                admitted && RH(apply_admitted)(cpu, batch, i, m[i], operands[i], &batch->counters);
            RH(answer)(&work, i, batch->count, found, &word);
        }
        if (!admitted) {
            batch->counters.refused += end - first;
            batch->status = SW_E_FULL;
            sw_cpu_answer_refused(batch, first, end, sizeof(RH_WORD));
        }
        if (batch->group_count > 0 && batch->group_refused != NULL) {
            batch->group_refused[g] = (uint8_t)admission;
        }
    }
}
