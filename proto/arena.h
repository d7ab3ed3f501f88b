/* SPDX-License-Identifier: MIT
 *
 * arena.h - a bounded bump allocator for protobuf-c over the caller's memory. Internal to proto/.
 *
 * Nothing is given back before the memory itself goes out of scope. When it is used up, allocation
 * fails, and protobuf-c fails the message at hand cleanly. One thread at a time.
 */
#ifndef SHERWOOD_PROTO_ARENA_H
#define SHERWOOD_PROTO_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#define SW_ARENA_ALIGN 16

struct sw_arena {
    ProtobufCAllocator allocator; /* valid while the arena and its memory are */
    uint8_t *memory;              /* borrowed */
    size_t bytes;
    size_t used;
};

/* `memory` is aligned to SW_ARENA_ALIGN. The arena must not be moved afterwards. */
void sw_arena_init(struct sw_arena *arena, void *memory, size_t bytes);

#endif
