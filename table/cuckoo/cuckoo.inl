/* SPDX-License-Identifier: MIT
 *
 * cuckoo.inl - look-up and insert on t arrays of cells. cuckoo.h includes it once per width.
 *
 * Array i can hold a key only in the cell of function i. An insert exchanges its entry with the
 * content of its cell in array 0. It carries the removed entry to that entry's cell in the next
 * array, and so on in turn, until it removes EMPTY.
 *
 * Phases: look-ups run concurrently with look-ups only. Inserts, of distinct absent keys, run
 * concurrently with inserts only. While inserts run, each entry is in one cell or is carried by one
 * thread.
 *
 * look_in and insert_from process several keys at once, so that a GPU thread waits for several
 * cells in parallel. `count` is at most SW_CUCKOO_IN_FLIGHT_MAX; the callers pass constants, so
 * that the loops unroll.
 */

/* A table's arrays. Plain data: passed by value to kernels. */
struct CK(view) {
    struct CK(cell) * cells; /* function 0's array, then 1's, then 2's */
    struct sw_cuckoo_shape shape;
};

SW_CUCKOO_INLINE uint32_t CK(hash)(CK_WORD key, uint32_t seed)
{
#if CK_BITS == 128
    return sw_xxh32_of_8(key, seed);
#else
    return sw_xxh32_of_4(key, seed);
#endif
}

SW_CUCKOO_INLINE struct CK(cell) *
    CK(cell_at)(const struct CK(view) * view, CK_WORD key, uint32_t i)
{
    uint32_t hash = CK(hash)(key, sw_cuckoo_seed(&view->shape, i));
    return view->cells + sw_cuckoo_place_of(&view->shape, hash, i);
}

/* Looks up in array i the keys whose bits are set in `wanted` (never the key of all ones). Returns
 * the bits of the keys found; cells[] receives their cells. */
SW_CUCKOO_INLINE uint32_t CK(look_in)(const struct CK(view) * view, const CK_WORD *keys,
                                      uint32_t wanted, struct CK(cell) * cells, uint32_t count,
                                      uint32_t i)
{
    struct CK(cell) held[SW_CUCKOO_IN_FLIGHT_MAX];
    uint32_t found = 0;
    SW_CUCKOO_UNROLL
    for (uint32_t k = 0; k < count; k++) {
        held[k] = CK(cell_of)(CK_ONES, CK_ONES);
        if ((wanted >> k & 1) != 0) {
            held[k] = CK(cell_read)(CK(cell_at)(view, keys[k], i));
        }
    }
    SW_CUCKOO_UNROLL
    for (uint32_t k = 0; k < count; k++) {
        if ((wanted >> k & 1) != 0 && held[k].key == keys[k]) {
            cells[k] = held[k];
            found |= 1U << k;
        }
    }
    return found;
}

/* Inserts the entries carried[k] whose bits are set in `live`. Each has had `taken` exchanges
 * before, so the next exchange is in array `taken` % functions. Returns the bits of the inserts
 * that reached chain_max: carried[k] is then an entry that is in no cell, usually a different one.
 *
 * Other inserts may run concurrently: each exchange of a whole cell leaves every entry in exactly
 * one cell or carried by one thread (rule 2 of README.md; M6 of table/README.md). */
SW_CUCKOO_INLINE uint32_t CK(insert_from)(const struct CK(view) * view, struct CK(cell) * carried,
                                          uint32_t live, uint32_t taken, uint32_t count,
                                          uint32_t functions)
{
    struct CK(cell) was[SW_CUCKOO_IN_FLIGHT_MAX];
    uint32_t i = taken % functions;
    while (live != 0 && taken < view->shape.chain_max) {
        SW_CUCKOO_UNROLL
        for (uint32_t k = 0; k < count; k++) {
            if ((live >> k & 1) != 0) {
                was[k] = CK(cell_exchange)(CK(cell_at)(view, carried[k].key, i), carried[k]);
            }
        }
        SW_CUCKOO_UNROLL
        for (uint32_t k = 0; k < count; k++) {
            if ((live >> k & 1) != 0) {
                /* if a caller breaks the contract and inserts a key twice, one copy stays */
                bool done = was[k].key == CK_ONES || was[k].key == carried[k].key;
                carried[k] = was[k];
                live &= done ? ~(1U << k) : ~0U;
            }
        }
        i = i + 1 < functions ? i + 1 : 0;
        taken++;
    }
    return live;
}

/* Inserts one entry, whose key is absent and not all ones. Returns false if an entry reached
 * chain_max; then *carried is that entry, which is in no cell. */
SW_CUCKOO_INLINE bool CK(insert)(const struct CK(view) * view, struct CK(cell) * carried)
{
    return CK(insert_from)(view, carried, 1, 0, 1, view->shape.functions) == 0;
}
