/* SPDX-License-Identifier: MIT
 *
 * parts.h - functions shared by the CPU backends of all engines. Submit executes the whole batch,
 * or a thread does (long_phase.h), so a queue has no state. I/O memory is ordinary memory.
 *
 * Functions with a `void *` parameter are members of struct sw_backend. Threads: any.
 */
#ifndef SHERWOOD_TABLE_HOST_PARTS_H
#define SHERWOOD_TABLE_HOST_PARTS_H

#include "table/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the number of cores that this process may use. */
uint32_t sw_cpu_cores(void);

/* Returns the time of the monotonic clock in nanoseconds. */
uint64_t sw_now_ns(void);

void *sw_cpu_io_alloc(void *table, size_t bytes);
void sw_cpu_io_free(void *table, void *memory, size_t bytes);

/* Returns the table itself as the queue: a queue has no state. */
int sw_cpu_queue_open(void *table, void **out);
void sw_cpu_queue_close(void *queue);
int sw_cpu_poll(void *queue, struct sw_batch *batch);

#ifdef __cplusplus
}
#endif

#endif
