/* SPDX-License-Identifier: MIT
 *
 * parts.c - functions shared by the CPU backends of all engines.
 */
#include "table/host/parts.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define IO_ALIGNMENT 64

uint32_t sw_cpu_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) < 1) {
        return 1; /* the machine has more cores than cpu_set_t counts: one thread always works */
    }
    return (uint32_t)CPU_COUNT(&set);
}

uint64_t sw_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

void *sw_cpu_io_alloc(void *table, size_t bytes)
{
    (void)table;
    if (bytes > PTRDIFF_MAX - IO_ALIGNMENT) {
        return NULL;
    }
    bytes = bytes > 0 ? (bytes + IO_ALIGNMENT - 1) / IO_ALIGNMENT * IO_ALIGNMENT : IO_ALIGNMENT;
    return aligned_alloc(IO_ALIGNMENT, bytes);
}

void sw_cpu_io_free(void *table, void *memory, size_t bytes)
{
    (void)table;
    (void)bytes;
    free(memory);
}

int sw_cpu_queue_open(void *table, void **out)
{
    *out = table;
    return SW_OK;
}

void sw_cpu_queue_close(void *queue)
{
    (void)queue;
}

int sw_cpu_poll(void *queue, struct sw_batch *batch)
{
    (void)queue;
    return __atomic_load_n(&batch->_stage, __ATOMIC_ACQUIRE) == 0 ? batch->status : SW_PENDING;
}
