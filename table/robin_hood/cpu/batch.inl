/* SPDX-License-Identifier: MIT
 *
 * batch.inl - carries out one batch of operations. Included by batch.c once per width, and by
 * sets.c.
 */

static struct RH(work) RH(work_of)(const struct sw_batch *batch)
{
    struct RH(work) work = {.ops = batch->ops,
                            .op = batch->op,
                            .count = batch->count,
                            .keys = batch->keys,
                            .values = RH(values_of)(batch->values),
                            .expected = batch->expected,
                            .previous = RH(values_of)(batch->previous),
                            .found = batch->found,
                            .group_count = batch->group_count > 0 ? batch->group_count : 1,
                            .group_ends = batch->group_ends,
                            .group_refused = batch->group_count > 0 ? batch->group_refused : NULL};
    return work;
}

static void RH(run_reads)(struct sw_cpu *cpu, struct sw_batch *batch)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    struct RH(work) work = RH(work_of)(batch);
    if (batch->count >= SW_PARALLEL_GETS_MIN && sw_cpu_try_parallel(cpu)) {
        RH(parallel_get)(cpu, &work, &batch->counters);
        sw_pool_unlock(cpu->pool);
    } else {
        RH(get_range)(table, &work, 0, batch->count, &batch->counters);
    }
    sw_cpu_admit_all(batch);
}

static void RH(hand_back)(const struct RH(table) * table, const struct RH(work) * work,
                          struct sw_batch *batch)
{
    RH_WORD *keys = batch->leftover_keys;
    RH_WORD *values = batch->leftover_values;
    for (uint32_t k = 0; k < work->leftover_count; k++) {
        keys[k] = RH(unmix)(table, work->leftovers[k].m);
        values[k] = RH(slot_value)(work->leftovers[k]);
    }
    batch->leftover_count = work->leftover_count;
}

/* Returns true if there is room for every absent key of the batch. Looks up all keys, which costs
 * far less than carrying out a large batch in order. */
static bool RH(absent_fit)(struct sw_cpu *cpu, struct RH(work) * work)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    return table->state->occupied + RH(parallel_absent)(cpu, work) <= table->occupied_max;
}

/* Carries out the batch on all threads. Returns false if it carried out no operation; work->keys
 * may then point to a copy. */
static bool RH(run_in_parallel)(struct sw_cpu *cpu, struct RH(work) * work, bool room,
                                struct sw_counters *counters)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    bool stash_room = table->state->stash_occupied <= table->stash_max;
    if (work->count < SW_PARALLEL_WRITES_MIN || !stash_room || !sw_cpu_try_parallel(cpu)) {
        return false;
    }
    bool fits = room || RH(absent_fit)(cpu, work);
    if (fits) {
        RH(parallel_upsert)(cpu, work, counters);
    }
    sw_pool_unlock(cpu->pool);
    return fits;
}

static bool RH(gains_alone)(const struct sw_cpu *cpu, const struct RH(work) * work)
{
    return work->count >= SW_UPDATES_FIRST_MIN && work->count < SW_PARALLEL_WRITES_MIN &&
           cpu->scratch.index != NULL;
}

static void RH(run_writes)(struct sw_cpu *cpu, struct sw_batch *batch, const struct sw_cpu_mix *mix)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    const struct sw_state *state = table->state;
    struct RH(work) work = RH(work_of)(batch);
    uint64_t stash_before = state->stash_occupied;
    if (!RH(make_room)(cpu, &work, mix)) {
        return;
    }
    bool room = state->occupied + batch->count <= table->occupied_max;
    bool sure = room && state->stash_occupied <= table->stash_max;

    work.leftovers = table->stash.slots == NULL ? cpu->scratch.entries : NULL;
    if (!mix->deletes && RH(run_in_parallel)(cpu, &work, room, &batch->counters)) {
        sw_cpu_admit_all(batch);
    } else if (!mix->deletes && sure && RH(gains_alone)(cpu, &work)) {
        RH(upsert_alone)(cpu, &work, &batch->counters);
        sw_cpu_admit_all(batch);
    } else {
        work.undo = sure ? NULL : cpu->scratch.records;
        if (!RH(execute_in_order)(table, &work, &batch->counters)) {
            batch->status = SW_E_FULL;
        }
    }
    RH(hand_back)(table, &work, batch);
    batch->_stash_change = (int64_t)(state->stash_occupied - stash_before);
}

/* Copies the keys to the scratch, since others may change them. */
static inline void RH(load_keys)(const struct sw_cpu *cpu, const struct sw_batch *batch)
{
    RH_WORD *keys = cpu->scratch.keys;
    for (uint32_t i = 0; i < batch->count; i++) {
        keys[i] = SW_LOAD_ONCE((const RH_WORD *)batch->keys + i);
    }
}
