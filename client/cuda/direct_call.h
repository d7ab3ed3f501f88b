/* SPDX-License-Identifier: MIT
 *
 * direct_call.h - the memory that the library and its kernels share (direct_get.cu). All addresses
 * are those of the device.
 *
 *   a small call   one launch of one block, which makes all attempts
 *   a large call   SW_DIRECT_ATTEMPTS launches: each makes one attempt, unless an earlier one has
 *                  succeeded
 *
 * An attempt looks all keys up. At the end of the call the kernel writes `done` of the call's
 * words, or `ready`. After `ready` the thread of ordered.c sends the request to the server.
 *
 * The library changes the view only while no block of a kernel is active: it sets `generation` to 0
 * and waits until `started` of every state is 0.
 */
#ifndef SHERWOOD_CLIENT_CUDA_DIRECT_CALL_H
#define SHERWOOD_CLIENT_CUDA_DIRECT_CALL_H

#include <stdint.h>

#define SW_DIRECT_ATTEMPTS 3
#define SW_DIRECT_BLOCK 256
/* Keys that a thread looks up at the same time, in small calls and in large ones. */
#define SW_DIRECT_SMALL_KEYS 4
#define SW_DIRECT_LARGE_KEYS 2
/* Most keys of a small call. */
#define SW_DIRECT_SMALL (SW_DIRECT_SMALL_KEYS * SW_DIRECT_BLOCK)
/* Most blocks of a launch: `ended` of the state counts them in 16 bits. */
#define SW_DIRECT_BLOCKS_MAX 65535
/* Most blocks of an attempt after the first. */
#define SW_DIRECT_BLOCKS_AGAIN 264

/* Where the server's table lies, as proto/region.h has it. */
struct sw_direct_view {
    uint64_t generation; /* 0: the table is not mapped, and every call goes to the server */
    uint64_t page;
    uint64_t slots;
    uint64_t seed;
    uint64_t buckets, buckets_total, max_probe;
    uint64_t stash_buckets, stash_buckets_total;
};

/* The state of a call, zero between calls. Only its kernels change it. Small calls use `started`
 * alone. */
struct sw_direct_state {
    uint64_t epoch;      /* seen by the first block of the attempt, plus 1; 0: no block has begun */
    uint64_t ended;      /* of the blocks that have ended: SW_DIRECT_ENDED and what is above it */
    uint32_t started;    /* blocks of active launches that have begun */
    uint32_t is_settled; /* an attempt succeeded */
    uint32_t unused[10];
};
/* Units of `ended`. The bits below SW_DIRECT_ENDED count hits. */
#define SW_DIRECT_ENDED ((uint64_t)1 << 32)  /* a block that has ended */
#define SW_DIRECT_FAILED ((uint64_t)1 << 48) /* one that saw a write, or another epoch */

/* Flags of a launch. */
#define SW_DIRECT_BYTES 1U /* found is a byte for each key instead of a bit */
#define SW_DIRECT_FIRST 2U /* the first attempt */
#define SW_DIRECT_LAST 4U  /* the last attempt */
#define SW_DIRECT_CLEAR 8U /* a replay of a graph: the first attempt sets `done` to 0 */

/* Parameters of a launch. */
struct sw_direct_call {
    uint64_t view, state;           /* of the structs above */
    uint64_t keys, previous, found; /* arrays; 0: declined */
    uint64_t ready, done;           /* words */
    uint32_t count;
    uint32_t ticket; /* for `ready` or `done` */
    uint32_t flags;
    uint32_t unused;
};

#endif
