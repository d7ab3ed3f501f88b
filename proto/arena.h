/* SPDX-License-Identifier: MIT
 *
 * arena.h - a bounded bump allocator for protobuf-c over the caller's memory. Internal to proto/.
 *
 * Freeing does nothing: all memory is reclaimed when the caller's memory goes out of scope. When
 * the arena is exhausted, allocation fails, and protobuf-c then refuses the message that it is
 * decoding. An arena is used by one thread at a time.
 */
#ifndef SHERWOOD_PROTO_ARENA_H
#define SHERWOOD_PROTO_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#define SW_ARENA_ALIGN 16

struct sw_arena {
    ProtobufCAllocator allocator; /* valid as long as the arena and its memory */
    uint8_t *memory;              /* borrowed */
    size_t bytes;
    size_t used;
};

/* `memory` is aligned to SW_ARENA_ALIGN. The arena must not be moved afterwards. */
void sw_arena_init(struct sw_arena *arena, void *memory, size_t bytes);

#endif
