/* SPDX-License-Identifier: MIT
 *
 * admit.inl - goes through a group and tracks the presence of its keys. Included by admit.c once
 * per width.
 */

/* The keys of a group, with presence, expiry time and key string (NULL: none) after the operations
 * so far. Open addressing, at most half full; EMPTY marks a free slot. */
struct RH(presence) {
    RH_WORD *m;
    uint8_t *present;
    uint64_t *times;             /* NULL: expiry times do not matter */
    const uint8_t **key_strings; /* likewise */
    uint64_t size;
    bool side_known;
    uint8_t side;
    uint64_t side_time;
    const uint8_t *side_key_string;
};

/* The state of one of these keys. */
struct RH(known) {
    uint8_t *present;
    uint64_t *time;
    const uint8_t **key_string;
};

static_assert(sizeof(struct RH(undo)) >= 2 * (sizeof(RH_WORD) + 1), "the scratch holds both");

static uint64_t RH(time_of)(const struct sw_cpu *cpu, RH_WORD m, bool present)
{
    return present ? sw_expiry_of(cpu->expiry, RH(unmix)(&cpu->table.RH_FIELD, m)) : 0;
}

/* Returns the key string of a key; NULL if the key is absent or has none. */
static const uint8_t *RH(key_string_of)(const struct sw_cpu *cpu, bool present, uint64_t row)
{
    return present ? sw_key_string_of_row(&cpu->arena, sw_arena_row(&cpu->arena, row)) : NULL;
}

static struct RH(known)
    RH(presence_of)(const struct sw_cpu *cpu, struct RH(presence) * group, RH_WORD m)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    uint64_t probes = 0;
    if (m == RH_EMPTY) {
        if (!group->side_known) {
            group->side_known = true;
            group->side = table->state->side_present != 0;
            group->side_time = group->times != NULL ? RH(time_of)(cpu, m, group->side != 0) : 0;
            group->side_key_string =
                group->key_strings != NULL
                    ? RH(key_string_of)(cpu, group->side != 0, table->state->side_value)
                    : NULL;
        }
        return (struct RH(known)){&group->side, &group->side_time, &group->side_key_string};
    }
    /* keys with one home are close together in m; the multiplication spreads them */
    uint64_t at = (uint64_t)(((sw_u128)(m * 0x9e3779b97f4a7c15ULL) * group->size) >> 64);
    while (group->m[at] != RH_EMPTY && group->m[at] != m) {
        at = at + 1 < group->size ? at + 1 : 0;
    }
    struct RH(known) known = {&group->present[at], group->times != NULL ? &group->times[at] : NULL,
                              group->key_strings != NULL ? &group->key_strings[at] : NULL};
    if (group->m[at] == RH_EMPTY) {
        group->m[at] = m;
        const struct RH(place) place = RH(locate)(table, m, &probes);
        *known.present = place.found;
        if (known.time != NULL) {
            *known.time = RH(time_of)(cpu, m, *known.present != 0);
        }
        if (known.key_string != NULL) {
            *known.key_string = RH(key_string_of)(cpu, place.found, place.value);
        }
    }
    return known;
}

/* Returns the effect of the operation on a present or absent key. A present integer stays present
 * for any value, unless the operation deletes it. */
static enum sw_effect RH(effect_on)(uint32_t op, bool present, const RH_WORD *operands, uint32_t i)
{
    RH_WORD out = 0;
    return operands == NULL ? sw_row_effect(op, present)
                            : RH(decide)(op, present, 0, operands[i], &out);
}

enum sw_admission RH(admit)(const struct sw_cpu *cpu, const struct sw_batch *batch,
                            const RH_WORD *m, const RH_WORD *operands, uint32_t first, uint32_t end,
                            bool stash_full)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    const struct sw_expiry *expiry =
        cpu->expiry != NULL && cpu->expiry->active ? cpu->expiry : NULL;
    const bool key_strings = cpu->arena.key_string_bytes > 0 && batch->values != NULL;
    uint64_t occupied = table->state->occupied;
    if (expiry != NULL && !sw_expiry_has_room(expiry, batch, first, end)) {
        return SW_REFUSED_FULL;
    }
    if (!key_strings && !stash_full && occupied + (end - first) <= table->occupied_max) {
        return SW_ADMITTED;
    }
    struct RH(presence) group = {.m = cpu->scratch.records, .size = 2 * (uint64_t)(end - first)};
    group.present = (uint8_t *)(group.m + group.size);
    group.times = expiry != NULL ? expiry->group_times : NULL;
    group.key_strings = key_strings ? cpu->scratch.key_strings : NULL;
    memset(group.m, 0xFF, group.size * sizeof(*group.m));
    for (uint32_t i = first; i < end; i++) {
        const uint32_t op = sw_cpu_op_at(batch, i);
        const uint8_t *key_string =
            key_strings ? sw_key_string_of_operation(&cpu->arena, batch, i) : NULL;
        struct RH(known) known = RH(presence_of)(cpu, &group, m[i]);
        if (key_strings && *known.present != 0 &&
            sw_key_strings_collide(&cpu->arena, *known.key_string, key_string)) {
            return SW_REFUSED_COLLISION;
        }
        enum sw_effect effect = RH(effect_on)(op, *known.present != 0, operands, i);
        if (expiry != NULL) {
            effect =
                sw_expiry_decide(op, *known.present != 0, effect, *known.time,
                                 sw_expiry_given(expiry, batch, i, op), expiry->past, known.time);
        }
        if (effect == SW_EFFECT_WRITE && !*known.present) {
            if (occupied >= table->occupied_max || stash_full) {
                return SW_REFUSED_FULL;
            }
            occupied++;
            *known.present = 1;
            if (key_strings) {
                *known.key_string = key_string;
            }
        } else if (effect == SW_EFFECT_WRITE && key_string != NULL) {
            *known.key_string = key_string;
        } else if (effect == SW_EFFECT_REMOVE) {
            occupied--;
            *known.present = 0;
        }
    }
    return SW_ADMITTED;
}
