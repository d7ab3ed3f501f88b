/* SPDX-License-Identifier: MIT
 *
 * arrays.inl - the typed view of a table's slots. Included by arrays.c once per format.
 */

static union sw_cpu_table RH(arrays_table)(const struct sw_cpu *cpu,
                                           const struct sw_geometry *geometry, void *slots,
                                           struct sw_state *state)
{
    struct RH(slot) *first = slots;
    const bool stash = geometry->stash_buckets > 0;
    union sw_cpu_table table;
    table.RH_FIELD = (struct RH(table)){
        {first, geometry->buckets, geometry->buckets_total, geometry->max_probe, NULL, 0},
        {stash ? first + geometry->buckets_total * SW_BUCKET_SLOTS : NULL, geometry->stash_buckets,
         geometry->stash_buckets_total, geometry->stash_buckets_total, NULL, 0},
        state,
        geometry->occupied_max,
        geometry->stash_max,
        cpu->config.seed};
    return table;
}

static bool RH(arrays_rebuild)(const union sw_cpu_table *from, const union sw_cpu_table *to,
                               uint64_t stash_limit)
{
    return RH(rebuild)(&from->RH_FIELD, &to->RH_FIELD, stash_limit);
}

static void RH(arrays_guard)(union sw_cpu_table *table, struct sw_cow_guard *guard)
{
    table->RH_FIELD.main.guard = table->RH_FIELD.stash.guard = guard;
}

static void RH(arrays_home)(const union sw_cpu_table *table, uint64_t m, uint64_t *main,
                            uint64_t *stash)
{
    const RH_WORD word = m < RH_EMPTY ? (RH_WORD)m : RH_EMPTY;
    *main = RH(home)(&table->RH_FIELD.main, word);
    *stash = RH(home)(&table->RH_FIELD.stash, word);
}
