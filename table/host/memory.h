/* SPDX-License-Identifier: MIT
 *
 * memory.h - host memory of the CPU backend: slots, scratch and I/O buffers.
 *
 * The system provides a page when it is first touched. Areas of 2 MiB or more request huge pages.
 */
#ifndef SHERWOOD_TABLE_HOST_MEMORY_H
#define SHERWOOD_TABLE_HOST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Returns the RAM of this machine in bytes; UINT64_MAX if it is unknown. */
uint64_t sw_memory_installed(void);

/* Returns the bytes that this process can still allocate: the minimum of MemAvailable and of the
 * bytes that its control groups and RLIMIT_AS leave. A file that cannot be read sets no limit.
 * Returns UINT64_MAX if there is no limit. Other processes may allocate the same memory at any
 * time. */
uint64_t sw_memory_available(void);

/* Returns the most bytes that this process may ever use: the minimum of the RAM of this machine and
 * of the limits of its control groups and RLIMIT_AS. The memory in use does not change the result.
 * RLIMIT_AS counts every mapping, touched or not, so `mapped` bytes that the process maps for other
 * things are subtracted from it. The result is the same at every start on a machine. Returns
 * UINT64_MAX if no limit can be read. */
uint64_t sw_memory_limit(uint64_t mapped);

/* Returns MemAvailable in bytes, from the text of /proc/meminfo. Exposed for tests. */
uint64_t sw_memory_of_meminfo(const char *text);
/* Returns the minimum of the bytes that the groups in the text of /proc/self/cgroup leave, at each
 * level up to the root: limit minus usage, where page cache does not count as usage. If `whole`,
 * returns the minimum of the limits. `root_2` and `root_1` are the mount points of version 2 and of
 * version 1's memory controller. */
uint64_t sw_memory_of_groups(const char *text, const char *root_2, const char *root_1, bool whole);

#ifdef __cplusplus
}
#endif

#endif
