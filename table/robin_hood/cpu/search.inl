/* SPDX-License-Identifier: MIT
 *
 * search.inl - searches one bucket without a branch. Included by search.h once per format of slots.
 *
 * Robin Hood order gives the slot of a key no pattern, so a branch on it would be mispredicted for
 * most keys, and the loads of the following keys would wait for the misprediction.
 *
 * The array must have no holes (robin_hood.inl). If 64-bit m's with the upper half 0 fill bucket
 * 0, a search for m = 0 goes on, and would find a hole. Only CUDA leaves holes. The callers assert
 * that there are none.
 *
 * Threads: any number, while no thread changes an m of the bucket.
 */

/* What one bucket tells of m (not all ones). */
struct RH(match) {
    uint32_t same;   /* bit i: slot i holds m */
    uint32_t larger; /* not 0: a slot is larger than m, so m is in no later bucket */
};

#if defined(__x86_64__) && SW_BUCKET_SLOTS == 4 && !defined(__SANITIZE_THREAD__)
/* Loads the upper 32 bits of each m, and the lower ones if m has them. The loads include values,
 * which other threads may write. They are not used. */
static inline __m128i RH(load_halves)(const struct RH(slot) * bucket, __m128i *lower)
{
    const __m128i *at = (const __m128i *)(const void *)bucket;
    (void)lower;
    __m128 first = _mm_castsi128_ps(_mm_load_si128(at));
#if defined(SW_WIDTH_SET) && RH_BITS == 64
    return _mm_castps_si128(first);
#else
    __m128 second = _mm_castsi128_ps(_mm_load_si128(at + 1));
#if RH_BITS == 128 && !defined(SW_WIDTH_SET)
    first = _mm_castpd_ps(_mm_unpackhi_pd(_mm_castps_pd(first), _mm_castps_pd(second)));
    second = _mm_castpd_ps(_mm_unpackhi_pd(_mm_load_pd((const double *)(at + 2)),
                                           _mm_load_pd((const double *)(at + 3))));
#endif
#if RH_BITS == 128
    *lower = _mm_castps_si128(_mm_shuffle_ps(first, second, _MM_SHUFFLE(2, 0, 2, 0)));
#endif
    return _mm_castps_si128(_mm_shuffle_ps(first, second, _MM_SHUFFLE(3, 1, 3, 1)));
#endif
}

/* Compares the halves of 64-bit m's. A slot with the same upper half does not count as larger, so
 * the caller may have to search one more bucket, once in some 2^32 / slots keys. */
static inline struct RH(match) RH(search)(const struct RH(slot) * bucket, RH_WORD m)
{
    const __m128i sign =
        _mm_set1_epi32(INT32_MIN); /* turns a signed comparison into an unsigned one */
    __m128i lower = _mm_setzero_si128();
    const __m128i upper = RH(load_halves)(bucket, &lower);
#if RH_BITS == 128
    const __m128i halves = _mm_cvtsi64_si128((int64_t)m);
    const __m128i mine = _mm_shuffle_epi32(halves, _MM_SHUFFLE(1, 1, 1, 1));
    const __m128i same =
        _mm_and_si128(_mm_cmpeq_epi32(upper, mine),
                      _mm_cmpeq_epi32(lower, _mm_shuffle_epi32(halves, _MM_SHUFFLE(0, 0, 0, 0))));
#else
    const __m128i mine = _mm_set1_epi32((int32_t)m);
    const __m128i same = _mm_cmpeq_epi32(upper, mine);
#endif
    const __m128i larger = _mm_cmpgt_epi32(_mm_xor_si128(upper, sign), _mm_xor_si128(mine, sign));
    return (struct RH(match)){(uint32_t)_mm_movemask_ps(_mm_castsi128_ps(same)),
                              (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(larger))};
}
#else
static inline struct RH(match) RH(search)(const struct RH(slot) * bucket, RH_WORD m)
{
    struct RH(match) match = {0, 0};
    SW_UNROLL_BUCKET
    for (uint32_t i = 0; i < SW_BUCKET_SLOTS; i++) {
        const RH_WORD held = RH(slot_load)(bucket + i).m;
        match.same |= (uint32_t)(held == m) << i;
        match.larger |= held > m;
    }
    return match;
}
#endif
