/* SPDX-License-Identifier: MIT
 *
 * memory.h - host memory of the CPU backend: slots, scratch and I/O buffers.
 *
 * The system provides a page when it is first touched. Areas of 2 MiB or more request huge pages.
 */
#ifndef SHERWOOD_TABLE_HOST_MEMORY_H
#define SHERWOOD_TABLE_HOST_MEMORY_H

#include <stdint.h>

#include "proto/host/available_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Maps zeroed, page-aligned memory. Returns NULL if the system refuses or `bytes` is 0. */
void *sw_memory_map(uint64_t bytes);
/* Does the same and touches all pages, so that filling the memory causes no page faults. Also
 * returns NULL if `bytes` exceed 95 % of the available memory. */
void *sw_memory_map_touched(uint64_t bytes);
/* Gives the pages of mapped memory back to the system, which provides zeros when they are touched
 * again. */
void sw_memory_discard(void *memory, uint64_t bytes);
/* NULL is allowed. */
void sw_memory_unmap(void *memory, uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
