/* SPDX-License-Identifier: MIT
 *
 * memory.c - memory from the system.
 */
#include "table/cpu/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE_BYTES (2ULL << 20)

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
        /* advice: a kernel without huge pages serves small ones */
        (void)madvise(memory, (size_t)bytes, MADV_HUGEPAGE);
    }
    return memory;
}

void sw_memory_unmap(void *memory, uint64_t bytes)
{
    if (memory != NULL) {
        munmap(memory, (size_t)bytes);
    }
}

uint64_t sw_memory_installed(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page_bytes <= 0) {
        return UINT64_MAX;
    }
    return (uint64_t)pages * (uint64_t)page_bytes;
}
