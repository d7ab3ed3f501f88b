/* SPDX-License-Identifier: MIT
 *
 * memory.h - host memory of the CPU backend: slots, scratch and I/O buffers.
 *
 * Pages are taken from the system when first touched; large areas ask for huge pages.
 */
#ifndef SHERWOOD_TABLE_CPU_MEMORY_H
#define SHERWOOD_TABLE_CPU_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed, page-aligned; NULL if the system refuses or `bytes` is 0. */
void *sw_memory_map(uint64_t bytes);
/* NULL is allowed. */
void sw_memory_unmap(void *memory, uint64_t bytes);

/* RAM of this machine in bytes; UINT64_MAX if it cannot be told. */
uint64_t sw_memory_installed(void);

#endif
