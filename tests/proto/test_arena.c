/* SPDX-License-Identifier: MIT
 *
 * test_arena.c - the bump allocator: aligned, disjoint, bounded.
 */
#include "proto/arena.h"

#include <stdalign.h>

#include "tests/proto/guard.h"

Test(arena, gives_aligned_disjoint_memory_until_it_is_used_up)
{
    alignas(SW_ARENA_ALIGN) uint8_t memory[1000];
    struct sw_arena arena;
    for (size_t size = 1; size <= 64; size++) {
        size_t given = 0;
        uint8_t *end = memory;
        sw_arena_init(&arena, memory, sizeof(memory));
        for (;;) {
            uint8_t *at = arena.allocator.alloc(arena.allocator.allocator_data, size);
            if (at == NULL) {
                break;
            }
            cr_assert((uintptr_t)at % SW_ARENA_ALIGN == 0);
            cr_assert(at >= end && at + size <= memory + sizeof(memory));
            memset(at, 0xAA, size);
            arena.allocator.free(arena.allocator.allocator_data, at);
            end = at + size;
            given++;
        }
        size_t step = (size + SW_ARENA_ALIGN - 1) / SW_ARENA_ALIGN * SW_ARENA_ALIGN;
        cr_assert(given == (sizeof(memory) - size) / step + 1, "%zu of %zu bytes", given, size);
    }
}

Test(arena, refuses_sizes_near_the_largest)
{
    alignas(SW_ARENA_ALIGN) uint8_t memory[64];
    struct sw_arena arena;
    sw_arena_init(&arena, memory, sizeof(memory));
    for (size_t less = 0; less < 64; less++) {
        cr_assert(arena.allocator.alloc(&arena, SIZE_MAX - less) == NULL);
    }
    cr_assert(arena.allocator.alloc(&arena, 65) == NULL);
    cr_assert(arena.allocator.alloc(&arena, 64) == memory);
    cr_assert(arena.allocator.alloc(&arena, 1) == NULL);
}
