/* SPDX-License-Identifier: MIT
 *
 * load_once.h - single-read loads from memory that others may change meanwhile: the keys and
 * operands of a batch.
 *
 * Each function of this file forces the compiler to load an element exactly once, so two uses of
 * the value cannot disagree (batch.h, struct sw_batch; table/robin_hood/README.md, rule 9). Host
 * and device.
 */
#ifndef SHERWOOD_TABLE_LOAD_ONCE_H
#define SHERWOOD_TABLE_LOAD_ONCE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Loads an aligned integer as a whole. */
#if defined(__CUDA_ARCH__)
#define SW_LOAD_ONCE(pointer) (*(const volatile __typeof__(*(pointer)) *)(pointer))
#else
#define SW_LOAD_ONCE(pointer) __atomic_load_n(pointer, __ATOMIC_RELAXED)
#endif

/* Copies `bytes` bytes, a multiple of 4 and aligned to 4. If the source changes meanwhile, the copy
 * may hold some old and some new words. */
static inline void sw_copy_once(void *to, const void *from, size_t bytes)
{
#if defined(__SANITIZE_THREAD__)
    /* ThreadSanitizer would report the loads of memcpy as a race */
    for (size_t at = 0; at < bytes / sizeof(uint32_t); at++) {
        ((uint32_t *)to)[at] = SW_LOAD_ONCE((const uint32_t *)from + at);
    }
#else
    memcpy(to, from, bytes);
#endif
}

#endif
