/* SPDX-License-Identifier: MIT
 *
 * cell.inl - one cell, and the functions that access it. cuckoo.h includes it once per width.
 *
 * | bytes (_s64) | bytes (_s128) | field                 |
 * | 0..3         | 0..7          | value                 |
 * | 4..7         | 8..15         | key; all ones = EMPTY |
 *
 * An EMPTY cell has every bit set. The key whose bits are all ones has no cell: it is stored
 * outside the arrays (struct sw_state), so that every key is allowed.
 */

struct CK(cell) {
    alignas(2 * sizeof(CK_WORD)) CK_WORD value;
    CK_WORD key;
};
static_assert(sizeof(struct CK(cell)) == CK_BITS / 8, "one cell, one exchange");

SW_CUCKOO_INLINE struct CK(cell) CK(cell_of)(CK_WORD key, CK_WORD value)
{
    struct CK(cell) cell;
    cell.value = value;
    cell.key = key;
    return cell;
}

/* Loads a cell. No other thread may write cells at that time. On a GPU the load bypasses L1,
 * because a cell is rarely read twice. */
SW_CUCKOO_INLINE struct CK(cell) CK(cell_read)(const struct CK(cell) * cell)
{
#if defined(__CUDA_ARCH__) && CK_BITS == 64
    uint2 words = __ldcg((const uint2 *)cell);
    return CK(cell_of)(words.y, words.x);
#elif defined(__CUDA_ARCH__)
    ulonglong2 words = __ldcg((const ulonglong2 *)cell);
    return CK(cell_of)(words.y, words.x);
#else
    return *cell;
#endif
}

/* Atomic exchange: stores an entry in a cell and returns the old content. Relaxed order: the cell
 * is the whole message (M6). */
SW_CUCKOO_INLINE struct CK(cell) CK(cell_exchange)(struct CK(cell) * cell, struct CK(cell) entry)
{
#if CK_BITS == 64
    uint64_t word = ((uint64_t)entry.key << 32) | entry.value;
#if defined(__CUDA_ARCH__)
    word = atomicExch((unsigned long long *)cell, (unsigned long long)word);
#else
    word = __atomic_exchange_n((uint64_t *)(void *)cell, word, __ATOMIC_RELAXED);
#endif
    return CK(cell_of)((uint32_t)(word >> 32), (uint32_t)word);
#elif defined(__CUDA_ARCH__)
    const struct sw_wide put = {entry.value, entry.key};
    const struct sw_wide was = sw_wide_exchange(cell, put);
    return CK(cell_of)(was.high, was.low);
#else
    sw_cuckoo_u128 put = ((sw_cuckoo_u128)entry.key << 64) | entry.value;
    sw_cuckoo_u128 held = 0;
    for (;;) {
        sw_cuckoo_u128 was = __sync_val_compare_and_swap((sw_cuckoo_u128 *)(void *)cell, held, put);
        if (was == held) {
            return CK(cell_of)((uint64_t)(was >> 64), (uint64_t)was);
        }
        held = was;
    }
#endif
}
