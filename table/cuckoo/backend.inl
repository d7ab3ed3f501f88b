/* SPDX-License-Identifier: MIT
 *
 * backend.inl - functions shared by the backends. backend.c includes it once per width.
 */

struct CK(work) CK(work_of)(const struct sw_batch *batch)
{
    struct CK(work) work = {.ops = batch->ops,
                            .op = batch->op,
                            .count = batch->count,
                            .keys = batch->keys,
                            .values = batch->values,
                            .expected = batch->expected,
                            .previous = batch->previous,
                            .found = batch->found,
                            .group_count = batch->group_count > 0 ? batch->group_count : 1,
                            .group_ends = batch->group_ends,
                            .group_refused = batch->group_count > 0 ? batch->group_refused : NULL};
    return work;
}

/* Returns the first place of the key in the order of a look-up: cells, then the stash. */
static const struct CK(cell) * CK(first_place)(const struct CK(table) * table, CK_WORD key)
{
    uint64_t probes = 0;
    return CK(locate)(table, key, &probes).cell;
}

static int CK(check)(const struct CK(table) * table, char *violation, size_t violation_size)
{
    uint64_t cells = sw_cuckoo_cells(&table->view.shape);
    uint64_t held = table->state->side_present != 0;
    for (uint64_t c = 0; c < cells + table->state->stash_occupied; c++) {
        const struct CK(cell) *cell =
            c < cells ? table->view.cells + c : table->stash + (c - cells);
        if (cell->key == CK_ONES && c < cells) {
            continue;
        }
        held++;
        if (cell->key == CK_ONES || CK(first_place)(table, cell->key) != cell) {
            snprintf(violation, violation_size,
                     "%s %llu holds key %llu, which a look-up finds elsewhere or not at all",
                     c < cells ? "cell" : "stash entry",
                     (unsigned long long)(c < cells ? c : c - cells),
                     (unsigned long long)cell->key);
            return SW_E_INVALID;
        }
    }
    if (held != table->state->occupied) {
        snprintf(violation, violation_size, "%llu entries are held, %llu are counted",
                 (unsigned long long)held, (unsigned long long)table->state->occupied);
        return SW_E_INVALID;
    }
    return SW_OK;
}
