/* SPDX-License-Identifier: MIT
 *
 * host.inl - the calls of ops.h on cells in host memory. Included by host.c once per kind.
 */

static struct CK(view)
    CK(view_of)(struct host *host, const struct sw_cuckoo_shape *shape, uint32_t which)
{
    struct CK(view) view = {.cells = host->cells[which], .shape = *shape};
    return view;
}

static uint64_t CK(host_insert)(struct host *host, const struct sw_cuckoo_shape *shape,
                                const CK_WORD *keys, const CK_WORD *values, uint64_t count)
{
    struct CK(view) view = CK(view_of)(host, shape, host->current);
    struct CK(cell) *list = host->list;
    uint64_t left = 0;
    for (uint64_t i = 0; i < count; i++) {
        CK_WORD key = SW_LOAD_ONCE(keys + i);
        CK_WORD value = values != NULL ? SW_LOAD_ONCE(values + i) : 0;
        struct CK(cell) hand = CK(cell_of)(key, value);
        if (key == CK_ONES) {
            host->side.present = 1;
            host->side.value = value;
        } else if (!CK(insert)(&view, &hand)) {
            list[left++] = hand;
        }
    }
    return left;
}

static bool CK(host_move)(struct host *host, const struct sw_cuckoo_shape *from,
                          const struct sw_cuckoo_shape *to, uint64_t left)
{
    struct CK(view) old = CK(view_of)(host, from, host->current);
    struct CK(view) new = CK(view_of)(host, to, !host->current);
    const struct CK(cell) *list = host->list;
    uint64_t cells = sw_cuckoo_cells(from);
    for (uint64_t i = 0; i < cells + left; i++) {
        struct CK(cell) hand = i < cells ? old.cells[i] : list[i - cells];
        if (hand.key != CK_ONES && !CK(insert)(&new, &hand)) {
            return false;
        }
    }
    return true;
}

static void CK(host_find)(struct host *host, const struct sw_cuckoo_shape *shape,
                          const CK_WORD *keys, CK_WORD *values, uint32_t *found, uint64_t count)
{
    struct CK(view) view = CK(view_of)(host, shape, host->current);
    memset(found, 0, (count + 31) / 32 * sizeof(*found));
    for (uint64_t i = 0; i < count; i++) {
        CK_WORD key = SW_LOAD_ONCE(keys + i);
        bool is_side = key == CK_ONES;
        const struct CK(cell) *cell = is_side ? NULL : CK(find)(&view, key);
        bool present = is_side ? host->side.present != 0 : cell != NULL;
        found[i / 32] |= (uint32_t)present << i % 32;
        if (values != NULL) {
            values[i] = cell != NULL         ? CK(cell_value)(*cell)
                        : is_side && present ? (CK_WORD)host->side.value
                                             : 0;
        }
    }
}

static void CK(host_copy_left)(const struct host *host, CK_WORD *keys, CK_WORD *values,
                               uint64_t left)
{
    const struct CK(cell) *list = host->list;
    for (uint64_t i = 0; i < left; i++) {
        keys[i] = list[i].key;
        if (values != NULL) {
            values[i] = CK(cell_value)(list[i]);
        }
    }
}
