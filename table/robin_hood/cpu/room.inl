/* SPDX-License-Identifier: MIT
 *
 * room.inl - growth before a batch. Included by room.c once per width, and by sets.c.
 */

static_assert(sizeof(struct RH(undo)) >= 2 * sizeof(RH_WORD), "the scratch holds a set of keys");

/* Counts the distinct absent keys that some operation would insert. The batch adds at most this
 * number of entries, and fewer if operations are refused for their operand or delete keys. Copies
 * the keys (rule 9), and sets work->keys to the copy. */
static uint64_t RH(count_absent)(const struct sw_cpu *cpu, struct RH(work) * work)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    RH_WORD *keys = cpu->scratch.keys;
    RH_WORD *seen = cpu->scratch.records; /* open addressing, at most half full */
    uint64_t size = 2 * (uint64_t)work->count;
    uint64_t absent = 0;
    uint64_t probes = 0;
    bool side = false;
    memset(seen, 0xFF, size * sizeof(*seen));
    for (uint32_t i = 0; i < work->count && i < SW_CPU_AHEAD; i++) {
        keys[i] = SW_LOAD_ONCE(work->keys + i);
    }
    for (uint32_t i = 0; i < work->count; i++) {
        if (work->count - i > SW_CPU_AHEAD) {
            keys[i + SW_CPU_AHEAD] = SW_LOAD_ONCE(work->keys + i + SW_CPU_AHEAD);
            RH(prefetch)(table, RH(mix)(table, keys[i + SW_CPU_AHEAD]));
        }
        RH_WORD m = RH(mix)(table, keys[i]);
        if (!SW_OPS_HAS(SW_OPS_INSERT, work->ops != NULL ? work->ops[i] : work->op) ||
            RH(locate)(table, m, &probes).found) {
            continue;
        }
        if (m == RH_EMPTY) {
            absent += !side;
            side = true;
            continue;
        }
        /* keys with one home are close together in m; the multiplication spreads them */
        uint64_t at = (uint64_t)(((sw_u128)(m * 0x9e3779b97f4a7c15ULL) * size) >> 64);
        while (seen[at] != RH_EMPTY && seen[at] != m) {
            at = at + 1 < size ? at + 1 : 0;
        }
        absent += seen[at] == RH_EMPTY;
        seen[at] = m;
    }
    work->keys = keys;
    return absent;
}

uint64_t RH(absent_in)(const struct sw_cpu *cpu, const struct sw_batch *batch)
{
    struct RH(work)
        work = {.ops = batch->ops, .op = batch->op, .count = batch->count, .keys = batch->keys};
    return RH(count_absent)(cpu, &work);
}

bool RH(make_room)(struct sw_cpu *cpu, struct RH(work) * work, const struct sw_cpu_mix *mix)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    uint64_t occupied = table->state->occupied;
    bool stash_full = table->state->stash_occupied > table->stash_max;
    if ((!stash_full && occupied + work->count <= table->occupied_max) || !sw_cpu_may_grow(cpu)) {
        return true;
    }
    uint64_t absent = RH(count_absent)(cpu, work);
    bool in_vain = work->group_count == 1 && !mix->conditional &&
                   !sw_geometry_may_hold(&cpu->config, occupied + absent);
    if (absent > 0 && !in_vain && (stash_full || occupied + absent > table->occupied_max)) {
        return sw_cpu_grow_or_postpone(cpu, occupied + absent);
    }
    return true;
}
