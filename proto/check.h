/* SPDX-License-Identifier: MIT
 *
 * check.h - the check of bytes in files: XXH3-64 of libxxhash, which is compiled in.
 */
#ifndef SHERWOOD_PROTO_CHECK_H
#define SHERWOOD_PROTO_CHECK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Returns the check of `bytes` bytes. `data` may be NULL if `bytes` is 0. Pure; threads: any. */
uint64_t sw_check64(const void *data, size_t bytes, uint64_t seed);
/* Returns the check of the pieces in order, as if they were contiguous. Pure; threads: any. */
uint64_t sw_check64_pieces(const struct iovec *pieces, unsigned count, uint64_t seed);

#endif
