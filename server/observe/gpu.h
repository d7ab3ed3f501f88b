/* SPDX-License-Identifier: MIT
 *
 * gpu.h - memory and load of the table's GPU, from NVML. NVML is a library of the driver, which the
 * server loads at run time if it exists.
 *
 * A thread queries NVML once a second, because an answer may take milliseconds. Other threads read
 * the last answer under a mutex. No thread holds the mutex during a query.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_GPU_H
#define SHERWOOD_SERVER_OBSERVE_GPU_H

#include <stdint.h>

#define SW_NVML_LIBRARY "libnvidia-ml.so.1"

/* An unknown figure: there is no GPU, no NVML, or no answer. */
#define SW_GPU_UNKNOWN UINT64_MAX

struct sw_gpu_facts {
    uint64_t memory_used_bytes; /* by all processes */
    uint64_t memory_total_bytes;
    uint64_t busy_percent; /* part of the driver's last period in which a kernel ran */
    /* part of the driver's last period in which GPU memory was read or written */
    uint64_t memory_busy_percent;
};

struct sw_gpu;

/* Starts to watch the GPU with this PCI address through this library. Borrows both texts. If NVML
 * does not work, logs that once, and the figures stay unknown. With an empty address there is no
 * GPU: sets *out to NULL. Returns 0; or logs an error and returns -1 if memory or a thread is
 * lacking. */
int sw_gpu_watch(const char *library, const char *bus_id, struct sw_gpu **out);
/* NULL is allowed. */
void sw_gpu_destroy(struct sw_gpu *gpu);

/* Returns the memory of this machine's smallest GPU in bytes; SW_GPU_UNKNOWN if there is no GPU, no
 * NVML, or no answer. Logs nothing. Blocks until NVML has initialised. */
uint64_t sw_gpu_memory_least(const char *library);

/* Copies the last figures. With `gpu` NULL all are unknown. Threads: any. */
void sw_gpu_facts(struct sw_gpu *gpu, struct sw_gpu_facts *facts);

#endif
