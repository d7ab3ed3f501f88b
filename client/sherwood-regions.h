/* SPDX-License-Identifier: MIT
 *
 * sherwood-regions.h - memory shared with a server on this machine. sherwood.h includes it.
 *
 * The address of such a server is "unix:/path". The server reads and writes arrays in regions where
 * they are: no byte of them is sent, and while both sides are awake a request takes no system call.
 * Every call on keys, and sherwood_scan, takes such arrays.
 *
 * A request goes through the ring if all of its arrays lie in regions. Values must be aligned to
 * 16, 8 or 4 bytes, whichever divides value_bytes. These requests go by the socket, wherever their
 * arrays lie: requests with SHERWOOD_DISCARD or several pieces; calls of several frames that report
 * evicted entries. Requests with times, a scale or another operand_type also do, and so do CAS,
 * EXPIRE and the operations listed behind them. But if one of their arrays lies in memory of a
 * device, they go through the ring, and the server copies their arrays. (An older server cannot.)
 * sherwood_traffic counts both. The socket carries no memory of a device: SHERWOOD_E_INVALID.
 * Requests that are in flight through the ring and the socket may take effect
 * in any order. Regions belong to the first connection.
 *
 * A program may change a region at any time: a request in flight then takes the value before or
 * after, and only its own answers suffer.
 *
 * When a connection ends, the library takes the arrays of its requests in flight away from the
 * server. A region of sherwood_region_create keeps its address and its contents, and each page that
 * an answer would have been written to becomes a page of this process alone. Memory that the caller
 * registered is the exception: see sherwood_region_register.
 */
#ifndef SHERWOOD_REGIONS_H
#define SHERWOOD_REGIONS_H

#include "sherwood.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sherwood_region;
/* Makes a region of `bytes` zeros, rounded up to pages. SHERWOOD_E_REQUEST: the server shares no
 * memory, or no more; sherwood_error names the limit. The handle owns the region. */
SHERWOOD_MUST_CHECK int sherwood_region_create(struct sherwood *client, size_t bytes,
                                               struct sherwood_region **out);
/* Returns the region's memory. Stores its size in *bytes, which may be NULL. */
void *sherwood_region_memory(const struct sherwood_region *region, size_t *bytes);
/* Takes the next bytes of a region, aligned to 64. Returns NULL if there are no more. */
SHERWOOD_MUST_CHECK void *sherwood_region_allocate(struct sherwood_region *region, size_t bytes);
/* Takes back everything that was allocated. */
void sherwood_region_reset(struct sherwood_region *region);
/* Waits for the requests in flight that use the region, on every connection of the handle, and
 * frees it. NULL is allowed. An error frees it as well. sherwood_close frees all regions of its
 * handle. */
int sherwood_region_destroy(struct sherwood_region *region);

/* The kind of the caller's memory that becomes a region. */
enum sherwood_memory_kind {
    SHERWOOD_MEMORY_DESCRIPTOR = 2, /* a memfd, sealed against shrinking (F_SEAL_SHRINK), of just
                                       `bytes` bytes, a multiple of 4096, all of them allocated;
                                       `address`: where the caller has mapped it */
    SHERWOOD_MEMORY_CUDA_IPC = 3    /* of the server's device, or one that it has peer access to:
                                       `handle` is the IPC handle of an allocation; `address` is
                                       `offset` bytes behind its start */
};
struct sherwood_memory {
    size_t size; /* sizeof(struct sherwood_memory) */
    enum sherwood_memory_kind kind;
    int descriptor; /* the caller keeps it, and closes it */
    void *address;
    size_t bytes;
    uint64_t offset;
    uint8_t device_uuid[16];
    uint8_t handle[64];
};
#define SHERWOOD_MEMORY_INIT SHERWOOD_INIT_OF(sherwood_memory)
/* The memory must stay until the region is destroyed; it is the caller's to free. The library
 * cannot take this memory away from the server. So where a connection ends with requests in flight,
 * the server may still write to their arrays, until it has closed its side or ended. After
 * SHERWOOD_E_TIMEOUT the safe way is to unmap this memory and to register new memory. */
SHERWOOD_MUST_CHECK int sherwood_region_register(struct sherwood *client,
                                                 const struct sherwood_memory *memory,
                                                 struct sherwood_region **out);
/* Stores the UUID of the server's CUDA device. Its memory can become a region, and memory of
 * devices that it has peer access to. SHERWOOD_E_REQUEST: the server has no such device. */
SHERWOOD_MUST_CHECK int sherwood_region_device(struct sherwood *client, uint8_t uuid[16]);

/* Where the server's table lies in the memory of its CUDA device. libsherwood-cuda uses it. The
 * handles are those of CUDA IPC; layout is 1. */
struct sherwood_table_memory {
    size_t size; /* sizeof(struct sherwood_table_memory) */
    uint32_t layout;
    uint32_t slot_bits;
    uint64_t generation;
    uint64_t seed;
    uint64_t buckets, buckets_total, max_probe;
    uint64_t stash_buckets, stash_buckets_total;
    uint64_t bytes; /* of the arrays */
    uint8_t page_handle[64];
    uint8_t arrays_handle[64];
};
#define SHERWOOD_TABLE_MEMORY_INIT SHERWOOD_INIT_OF(sherwood_table_memory)
/* Registers this client as a direct reader of the table that the server began with, and describes
 * the table. If *region is NULL, *region receives the registration; sherwood_region_destroy ends
 * it. Otherwise *region is that registration, and the description is renewed. SHERWOOD_E_REQUEST:
 * only the server can read the table for this client; sherwood_error says why. */
SHERWOOD_MUST_CHECK int sherwood_region_table(struct sherwood *client,
                                              struct sherwood_region **region,
                                              struct sherwood_table_memory *out);

/* GET or PEEK, with all arrays in regions: `values`, which may be NULL, receives the values, and
 * `found` a byte of 0 or 1 for each key, and zeros up to a multiple of 8 bytes. `found` is aligned
 * to
 * 8. The flag SHERWOOD_FOUND_BYTES of a request without pieces does the same. SHERWOOD_E_INVALID:
 * other operations or arrays, a cluster, or a server that is too old for this. */
SHERWOOD_MUST_CHECK int sherwood_read_found_bytes(struct sherwood *client,
                                                  enum sherwood_operation operation,
                                                  const void *keys, size_t count, void *values,
                                                  uint8_t *found);

#ifdef __cplusplus
}
#endif

#endif
