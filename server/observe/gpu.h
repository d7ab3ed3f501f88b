/* SPDX-License-Identifier: MIT
 *
 * gpu.h - how full and how busy the GPU of the table is, by NVML: the driver's library, which is
 * loaded at run time if it is there.
 *
 * A thread of its own asks once a second, because an answer may take the driver milliseconds. What
 * others read is the last answer, under a mutex that is never held while the driver is asked.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_GPU_H
#define SHERWOOD_SERVER_OBSERVE_GPU_H

#include <stdint.h>

#define SW_NVML_LIBRARY "libnvidia-ml.so.1"

/* Stands for a figure that is not known: there is no GPU, no NVML, or no answer for it. */
#define SW_GPU_UNKNOWN UINT64_MAX

struct sw_gpu_facts {
    uint64_t memory_used_bytes; /* by all processes */
    uint64_t memory_total_bytes;
    uint64_t busy_percent; /* of the driver's last period, in which a kernel ran */
    /* of the driver's last period, in which its memory was read or written */
    uint64_t memory_busy_percent;
};

struct sw_gpu;

/* Watches the GPU with this PCI address, which is borrowed, through this library. What prevents
 * that is logged once, in a sentence, and the figures stay unknown. An empty address: there is no
 * GPU, and *out is NULL. Returns 0, or -1 with a sentence logged if there is no memory or thread.
 */
int sw_gpu_watch(const char *library, const char *bus_id, struct sw_gpu **out);
/* NULL is allowed. */
void sw_gpu_destroy(struct sw_gpu *gpu);

/* Asks NVML for the memory in bytes of each GPU of this machine, and returns the least:
 * SW_GPU_UNKNOWN if there is no GPU, no NVML, or no answer. Logs nothing. Takes as long as the
 * driver's NVML takes to begin. */
uint64_t sw_gpu_memory_least(const char *library);

/* Any thread. NULL: all figures are unknown. */
void sw_gpu_facts(struct sw_gpu *gpu, struct sw_gpu_facts *facts);

#endif
