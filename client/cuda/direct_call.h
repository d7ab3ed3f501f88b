/* SPDX-License-Identifier: MIT
 *
 * direct_call.h - the memory that the library and its kernels share (direct_get.cu). All addresses
 * are those of the device.
 *
 *   a call       SW_DIRECT_ATTEMPTS launches of one kernel: each looks all keys up, unless an
 * earlier one has succeeded. The last one writes `done` of the call's words, or `ready`: then the
 * thread of ordered.c sends the request to the server the library  changes the view only while no
 * block of a kernel is active: it sets `generation` 0 and waits until `started` of every state is 0
 */
#ifndef SHERWOOD_CLIENT_CUDA_DIRECT_CALL_H
#define SHERWOOD_CLIENT_CUDA_DIRECT_CALL_H

#include <stdint.h>

#define SW_DIRECT_ATTEMPTS 3
#define SW_DIRECT_BLOCK 256
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

/* The state of a call, zero between calls. Only its kernels change it. */
struct sw_direct_state {
    uint64_t epoch;    /* seen by the first block that ended, plus 1; 0: no block has ended */
    uint32_t started;  /* blocks that have begun */
    uint32_t finished; /* blocks that have ended */
    uint32_t hits;
    uint32_t is_bad;     /* some block saw a write, or another epoch or generation */
    uint32_t is_settled; /* an attempt succeeded */
    uint32_t unused[9];
};

/* Parameters of a launch. */
struct sw_direct_call {
    uint64_t view, state;           /* of the structs above */
    uint64_t keys, previous, found; /* arrays; 0: declined */
    uint64_t ready, done;           /* words */
    uint32_t count;
    uint32_t ticket;      /* for `ready` or `done` */
    uint32_t found_bytes; /* 1: a byte for each key instead of a bit */
    uint32_t is_last;     /* 1: the last attempt */
};

#endif
