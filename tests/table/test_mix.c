/* SPDX-License-Identifier: MIT
 *
 * test_mix.c - the mixing functions are bijections, and spread dense keys.
 */
#include <criterion/criterion.h>

#include "table/mix.h"
#include "tests/support/random.h"

Test(mix, inverse)
{
    struct random random = random_of(4);
    for (int i = 0; i < 200000; i++) {
        uint64_t key = i < 100000 ? (uint64_t)i : random_next(&random);
        uint64_t seed = i % 3 == 0 ? 0 : random_next(&random);
        cr_assert_eq(sw_unmix_64(sw_mix_64(key, seed), seed), key);
        cr_assert_eq(sw_mix_64(sw_unmix_64(key, seed), seed), key);
        cr_assert_eq(sw_unmix_32(sw_mix_32((uint32_t)key, seed), seed), (uint32_t)key);
        cr_assert_eq(sw_mix_32(sw_unmix_32((uint32_t)key, seed), seed), (uint32_t)key);
    }
    cr_assert_eq(sw_mix_64(sw_unmix_64(UINT64_MAX, 9), 9), UINT64_MAX);
    cr_assert_eq(sw_mix_32(sw_unmix_32(UINT32_MAX, 9), 9), UINT32_MAX);
}

/* 2^16 consecutive keys in 256 parts by the top bits: 256 each, give or take 6 sigma. */
Test(mix, spreads_dense_keys)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        int parts[2][256] = {{0}};
        for (uint32_t key = 0; key < 65536; key++) {
            parts[0][sw_mix_32(key, seed) >> 24]++;
            parts[1][sw_mix_64(key, seed) >> 56]++;
        }
        for (int i = 0; i < 512; i++) {
            int count = parts[i / 256][i % 256];
            cr_assert(count > 256 - 96 && count < 256 + 96, "seed %d part %d: %d", (int)seed, i,
                      count);
        }
    }
}
