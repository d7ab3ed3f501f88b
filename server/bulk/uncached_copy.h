/* SPDX-License-Identifier: MIT
 *
 * uncached_copy.h - a copy that leaves nothing in the caches of the processor.
 */
#ifndef SHERWOOD_SERVER_BULK_UNCACHED_COPY_H
#define SHERWOOD_SERVER_BULK_UNCACHED_COPY_H

#include <stddef.h>

/* Copies `bytes` bytes. `to` is aligned to 16. A device then reads them from memory, which is
 * faster than from the cache of this processor. The stores come before every later store of the
 * caller, so a launch that follows sees them. Processors without such stores use memcpy. Threads:
 * any. */
void sw_bulk_copy_uncached(void *to, const void *from, size_t bytes);

#endif
