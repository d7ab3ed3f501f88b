/* SPDX-License-Identifier: MIT
 *
 * place.c - arrays in host memory.
 */
#include "bench/study/place.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64

static bool host_choose(int device)
{
    (void)device;
    return true;
}

static void host_describe(int device, FILE *out)
{
    (void)device;
    (void)out;
}

static void *host_alloc(size_t bytes)
{
    void *memory = aligned_alloc(ALIGNMENT, (bytes / ALIGNMENT + 1) * ALIGNMENT);
    if (memory == NULL) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
    }
    return memory;
}

static bool host_fill(void *memory, int byte, size_t bytes)
{
    memset(memory, byte, bytes);
    return true;
}

static bool host_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return true;
}

const struct sw_study_place sw_study_host = {
    .name = "cpu",
    .choose = host_choose,
    .describe = host_describe,
    .alloc = host_alloc,
    .free = free,
    .fill = host_fill,
    .copy = host_copy,
};
