/* SPDX-License-Identifier: MIT
 *
 * test_cuckoo_hash.c - hashes, places and bounds of cuckoo tables.
 */
#include <criterion/criterion.h>

#include "table/cuckoo/engine.h"

Test(cuckoo_hash, xxhash_is_xxh32)
{
    /* XXH32 of "abcd" and "abcdefgh", from the reference implementation */
    cr_expect_eq(sw_xxh32_of_4(0x64636261U, 0), 0xa3643705U);
    cr_expect_eq(sw_xxh32_of_8(0x6867666564636261ULL, 0), 0x0bb3c6bbU);
    cr_expect_eq(sw_xxh32_of_4(0x64636261U, 0x9E3779B1U), 0x0a7e979cU);
    cr_expect_eq(sw_xxh32_of_8(0x6867666564636261ULL, 0x9E3779B1U), 0x5e035064U);
}

Test(cuckoo_hash, places_lie_in_their_array)
{
    struct sw_cuckoo_shape shape = {.each = 1000003, .functions = 3};
    for (uint32_t number = 0; number < 3; number++) {
        for (uint32_t i = 0; i < 3; i++) {
            shape.seeds[i] = sw_cuckoo_seed_of(number, i);
        }
        for (uint32_t i = 0; i < 3; i++) {
            cr_expect_eq(sw_cuckoo_place_of(&shape, 0, i), i * shape.each);
            cr_expect_eq(sw_cuckoo_place_of(&shape, UINT32_MAX, i), (i + 1) * shape.each - 1);
            for (uint32_t j = 0; j < i; j++) {
                cr_expect_neq(shape.seeds[i], shape.seeds[j]);
            }
        }
    }
}

Test(cuckoo_hash, chain_bound)
{
    cr_expect_eq(sw_cuckoo_chain_bound(0.2, 1 << 24), 5);
    cr_expect_eq(sw_cuckoo_chain_bound(1.0, 1 << 24), 24);
    cr_expect_eq(sw_cuckoo_chain_bound(19.2, 1 << 24), 461);
    cr_expect_eq(sw_cuckoo_chain_bound(0.2, 1), 1);
    cr_expect_eq(sw_cuckoo_chain_bound(0.2, 0), 1);
}
