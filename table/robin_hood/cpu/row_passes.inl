/* SPDX-License-Identifier: MIT
 *
 * row_passes.inl - scans and moves of rows. Included by row_passes.c once per width.
 */

/* --- scans ------------------------------------------------------------------------------------ */

/* Copies the rows of a scan; `words` has the row numbers. */
static void RH(scan_rows)(const struct sw_cpu *cpu, const void *words, uint8_t *to, uint32_t count)
{
    const struct sw_arena *arena = &cpu->arena;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(to + (size_t)i * arena->value_bytes,
               sw_arena_row(arena, ((const RH_WORD *)words)[i]), arena->value_bytes);
    }
}

/* --- moving ----------------------------------------------------------------------------------- */

/* Moves entries with row numbers >= `limit` to lower rows. There are enough lower rows: the table
 * has at most `limit` entries. */
static void RH(lower_rows)(struct sw_cpu *cpu, uint64_t limit)
{
    const struct RH(table) *table = &cpu->table.RH_FIELD;
    struct RH(slot) *slots = table->main.slots;
    sw_arena_limit(&cpu->arena, limit);
    for (uint64_t i = 0; i < cpu->geometry.slots_total; i++) {
        if (slots[i].m != RH_EMPTY && slots[i].value >= limit) {
            slots[i].value = (RH_WORD)lower_row(cpu, slots[i].m, slots[i].value);
        }
    }
    if (table->state->side_present != 0 && table->state->side_value >= limit) {
        table->state->side_value = lower_row(cpu, RH_EMPTY, table->state->side_value);
    }
}
