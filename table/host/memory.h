/* SPDX-License-Identifier: MIT
 *
 * memory.h - host memory of the CPU backend: slots, scratch and I/O buffers.
 *
 * Pages are taken from the system when first touched; large areas ask for huge pages.
 */
#ifndef SHERWOOD_TABLE_HOST_MEMORY_H
#define SHERWOOD_TABLE_HOST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zeroed, page-aligned; NULL if the system refuses or `bytes` is 0. */
void *sw_memory_map(uint64_t bytes);
/* The same, touched already, so that filling it takes no longer than it must. NULL also if `bytes`
 * are more than 95 % of what is available. */
void *sw_memory_map_touched(uint64_t bytes);
/* NULL is allowed. */
void sw_memory_unmap(void *memory, uint64_t bytes);

/* RAM of this machine in bytes; UINT64_MAX if it cannot be told. */
uint64_t sw_memory_installed(void);

/* Bytes this process can use beyond what it uses now: the least of MemAvailable and of what its
 * control groups and RLIMIT_AS leave. A file that cannot be read sets no limit; UINT64_MAX if there
 * is none. Others may take of it at the same time. */
uint64_t sw_memory_available(void);

/* Bytes this process may ever have: the least of the RAM of this machine and of the limits of its
 * control groups and RLIMIT_AS, whatever is in use. RLIMIT_AS counts every mapping, touched or not,
 * so `mapped` bytes that the process maps for other things are subtracted from it. The same at
 * every start on a machine. UINT64_MAX if there is no limit that can be read. */
uint64_t sw_memory_limit(uint64_t mapped);

/* Its parts, for tests. MemAvailable of the text of /proc/meminfo, in bytes. */
uint64_t sw_memory_of_meminfo(const char *text);
/* What the groups named by the text of /proc/self/cgroup leave, each level up to the root: limit
 * minus usage, page cache not counted as used; if `whole`, the limit alone. The hierarchies of
 * version 2 and of version 1's memory controller are mounted at these paths. */
uint64_t sw_memory_of_groups(const char *text, const char *root_2, const char *root_1, bool whole);

#ifdef __cplusplus
}
#endif

#endif
