/* SPDX-License-Identifier: MIT
 *
 * uncached_copy.c - non-temporal stores, a cache line at a time.
 */
#include "server/bulk/uncached_copy.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#include <emmintrin.h>

#define LINE_BYTES 64

/* Copies whole lines. Returns their bytes. */
static size_t copy_lines(void *to, const void *from, size_t bytes)
{
    const size_t whole = bytes - bytes % LINE_BYTES;
    assert((uintptr_t)to % sizeof(__m128i) == 0);
    for (size_t at = 0; at < whole; at += sizeof(__m128i)) {
        const __m128i some = _mm_loadu_si128((const void *)((const uint8_t *)from + at));
        _mm_stream_si128((void *)((uint8_t *)to + at), some);
    }
    _mm_sfence(); /* orders these stores before the message to the device */
    return whole;
}
#else
static size_t copy_lines(void *to, const void *from, size_t bytes)
{
    (void)to;
    (void)from;
    (void)bytes;
    return 0;
}
#endif

void sw_bulk_copy_uncached(void *to, const void *from, size_t bytes)
{
    const size_t copied = copy_lines(to, from, bytes);
    memcpy((uint8_t *)to + copied, (const uint8_t *)from + copied, bytes - copied);
}
