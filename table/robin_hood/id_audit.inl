/* SPDX-License-Identifier: MIT
 *
 * id_audit.inl - collects the ids of the entries in slots. Included by id_audit.c once per width.
 */

static bool RH(collect_slots)(const struct sw_id_entries *entries, struct sw_ids *ids)
{
    const struct RH(slot) *slots = entries->slots;
    for (uint64_t i = 0; i < entries->slots_total; i++) {
        if (slots[i].m != RH_EMPTY && !collect(ids, slots[i].value)) {
            return false;
        }
    }
    return true;
}
