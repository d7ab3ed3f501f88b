/* SPDX-License-Identifier: MIT
 *
 * id_writes.inl - writes of a table of ids. Included by id_writes.c once per width.
 */

/* Can a SET give the key this id? */
static bool RH(may_set_id)(const struct sw_ids *ids, const struct RH(place) * place, RH_WORD id)
{
    return (place->found && place->value == id) || (id < ids->limit && !sw_ids_is_in_use(ids, id));
}

/* Carries out an operation that writes the id of a key: FIND_OR_INSERT takes the lowest free one,
 * and SET has it as operand. Unless `is_valid`, the key keeps its id, or takes the lowest free one.
 * Returns the id. */
static RH_WORD RH(write_id)(struct sw_cpu *cpu, uint32_t op, RH_WORD m,
                            const struct RH(place) * place, RH_WORD operand, bool is_valid,
                            struct sw_counters *counters)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    struct RH(work) work = {0}; /* no leftovers, since the table has a stash */
    const uint64_t in_stash = table->state->stash_occupied;
    if (place->found) {
        const RH_WORD id = is_valid ? operand : place->value;
        sw_ids_give(&cpu->ids, place->value);
        sw_ids_mark(&cpu->ids, id);
        RH(write_at)(table, place, m, id);
        counters->updated++;
        return id;
    }
    RH_WORD id = operand;
    if (SW_OPS_HAS(SW_OPS_ABSENT, op) || !is_valid) {
        id = (RH_WORD)sw_ids_take(&cpu->ids);
    } else {
        sw_ids_mark(&cpu->ids, id);
    }
    RH(insert)(table, &work, m, id, &counters->by_class[SW_CLASS_UPSERT].probes);
    counters->failures += table->state->stash_occupied - in_stash;
    counters->inserted++;
    return id;
}

/* Carries out the admitted operation i on a table of ids. Returns whether its key was present. */
static bool RH(apply_admitted)(struct sw_cpu *cpu, struct sw_batch *batch, uint32_t i, RH_WORD m,
                               RH_WORD operand, struct sw_counters *counters)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    struct RH(work) work = {0};
    const uint32_t op = sw_cpu_op_at(batch, i);
    struct sw_op_counters *count = &counters->by_class[sw_op_class_of(op)];
    struct RH(place) place = RH(locate)(table, m, &count->probes);
    enum sw_effect effect = sw_row_effect(op, place.found);
    RH_WORD id = place.value;
    if (cpu->expiry != NULL && cpu->expiry->active) {
        effect =
            sw_expiry_apply(cpu->expiry, batch, i, op, RH(unmix)(table, m), place.found, effect);
    }
    if (effect == SW_EFFECT_REMOVE) {
        sw_ids_give(&cpu->ids, place.value);
        RH(remove)(table, &work, &place, m, &count->probes);
        counters->deleted += SW_OPS_HAS(SW_OPS_DELETE, op);
    } else if (effect == SW_EFFECT_WRITE) {
        const bool is_valid =
            SW_OPS_HAS(SW_OPS_ABSENT, op) || RH(may_set_id)(&cpu->ids, &place, operand);
        id = RH(write_id)(cpu, op, m, &place, operand, is_valid, counters);
        batch->status = is_valid ? batch->status : SW_E_INVALID;
    }
    if (batch->previous != NULL) {
        ((RH_WORD *)batch->previous)[i] = SW_OPS_HAS(SW_OPS_ABSENT, op) ? id : place.value;
    }
    count->operations++;
    count->hits += place.found;
    count->misses += !place.found;
    return place.found;
}

#include "table/robin_hood/cpu/admitted.inl"

void RH(run_id_writes)(struct sw_cpu *cpu, struct sw_batch *batch, const struct sw_cpu_mix *mix)
{
    if (cpu->expiry != NULL && cpu->expiry->active) {
        RH(run_admitted_writes)(cpu, batch, mix, true, true);
    } else {
        RH(run_admitted_writes)(cpu, batch, mix, true, false);
    }
}
