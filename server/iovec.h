/* SPDX-License-Identifier: MIT
 *
 * iovec.h - lists of pieces of memory, as writev(2) takes them.
 */
#ifndef SHERWOOD_SERVER_IOVEC_H
#define SHERWOOD_SERVER_IOVEC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Removes `bytes` bytes, at most those of all pieces, from the front of *count pieces. */
static inline void sw_iovec_skip(struct iovec **pieces, int *count, size_t bytes)
{
    for (; *count > 0 && bytes >= (*pieces)->iov_len; ++*pieces, --*count) {
        bytes -= (*pieces)->iov_len;
    }
    if (*count > 0) {
        (*pieces)->iov_base = (uint8_t *)(*pieces)->iov_base + bytes;
        (*pieces)->iov_len -= bytes;
    }
}

#endif
