/* SPDX-License-Identifier: MIT
 *
 * expiry_removal.inl - removes an expired entry. Included by expiry_removal.c once per width.
 */

/* Removes an entry and its expiry time. */
static void RH(remove_expired)(struct sw_cpu *cpu, uint64_t key)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    struct sw_expiry *expiry = cpu->expiry;
    struct RH(work) work = {0}; /* no leftovers, since the table has a stash */
    const RH_WORD word = (RH_WORD)key;
    const RH_WORD m = RH(mix)(table, word);
    uint64_t probes = 0;
    if (!note_expired(expiry, &word, sizeof(word))) {
        expiry->failed = true;
        return;
    }
    struct RH(place) place = RH(locate)(table, m, &probes);
    if (cpu->arena.rows != NULL) {
        sw_row_image_before_write(cpu->row_image, m, place.value);
        sw_arena_give(&cpu->arena, place.value);
    } else if (cpu->ids.limit > 0) {
        sw_ids_give(&cpu->ids, place.value);
    }
    RH(remove)(table, &work, &place, m, &probes);
    sw_expiry_put(expiry, key, 0);
    expiry->expired++;
}
