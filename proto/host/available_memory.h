/* SPDX-License-Identifier: MIT
 *
 * available_memory.h - the memory that a process may use: what the machine, its control groups and
 * its limits leave. The table and the client library share it. Threads: any.
 */
#ifndef SHERWOOD_PROTO_HOST_AVAILABLE_MEMORY_H
#define SHERWOOD_PROTO_HOST_AVAILABLE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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
