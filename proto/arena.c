/* SPDX-License-Identifier: MIT
 *
 * arena.c - a bounded bump allocator for protobuf-c.
 */
#include "proto/arena.h"

static void *arena_alloc(void *data, size_t size)
{
    struct sw_arena *arena = data;
    size_t left = arena->bytes - arena->used;
    if (size > left) {
        return NULL;
    }
    size_t padded = (size + SW_ARENA_ALIGN - 1) / SW_ARENA_ALIGN * SW_ARENA_ALIGN;
    void *out = arena->memory + arena->used;
    arena->used += padded < left ? padded : left;
    return out;
}

static void arena_free(void *data, void *pointer)
{
    (void)data;
    (void)pointer;
}

void sw_arena_init(struct sw_arena *arena, void *memory, size_t bytes)
{
    arena->allocator = (ProtobufCAllocator){arena_alloc, arena_free, arena};
    arena->memory = memory;
    arena->bytes = bytes;
    arena->used = 0;
}
