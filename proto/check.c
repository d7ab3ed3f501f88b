/* SPDX-License-Identifier: MIT
 *
 * check.c - XXH3-64, compiled in: for short records that takes half the time of a call into the
 * shared library, and libsherwood needs no library more.
 */
#include "proto/check.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t sw_check64(const void *data, size_t bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, bytes, seed);
}

uint64_t sw_check64_pieces(const struct iovec *pieces, unsigned count, uint64_t seed)
{
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset_withSeed(&state, seed);
    for (unsigned i = 0; i < count; i++) {
        XXH3_64bits_update(&state, pieces[i].iov_base, pieces[i].iov_len);
    }
    return XXH3_64bits_digest(&state);
}
