/* SPDX-License-Identifier: MIT
 *
 * memory.c - memory from the system.
 */
#include "table/host/memory.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define HUGE_PAGE_BYTES (2ULL << 20)
/* 1/20 (5 %) of the available memory stays free for others. */
#define AVAILABLE_MARGIN 20

void *sw_memory_map(uint64_t bytes)
{
    if (bytes == 0 || bytes > (uint64_t)PTRDIFF_MAX) {
        return NULL;
    }
    void *memory =
        mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    if (bytes >= HUGE_PAGE_BYTES) {
        /* advice: a kernel without huge pages provides small pages */
        (void)madvise(memory, (size_t)bytes, MADV_HUGEPAGE);
    }
    return memory;
}

void *sw_memory_map_touched(uint64_t bytes)
{
    uint64_t available = sw_memory_available();
    void *memory = bytes <= available - available / AVAILABLE_MARGIN ? sw_memory_map(bytes) : NULL;
#ifdef MADV_POPULATE_WRITE
    if (memory != NULL) {
        /* a kernel without this call provides the pages when they are first written */
        (void)madvise(memory, (size_t)bytes, MADV_POPULATE_WRITE);
    }
#endif
    return memory;
}

void sw_memory_discard(void *memory, uint64_t bytes)
{
    (void)madvise(memory, (size_t)bytes, MADV_DONTNEED);
}

void sw_memory_unmap(void *memory, uint64_t bytes)
{
    if (memory != NULL) {
        munmap(memory, (size_t)bytes);
    }
}
