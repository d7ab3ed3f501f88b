/* SPDX-License-Identifier: MIT
 *
 * check.h - the check of bytes in files: XXH3-64 of libxxhash, which is compiled in.
 */
#ifndef SHERWOOD_PROTO_CHECK_H
#define SHERWOOD_PROTO_CHECK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* A pure function, for any thread. `data` may be NULL if `bytes` is 0. */
uint64_t sw_check64(const void *data, size_t bytes, uint64_t seed);
/* The same of bytes that lie in pieces, as if one were behind the other. */
uint64_t sw_check64_pieces(const struct iovec *pieces, unsigned count, uint64_t seed);

#endif
