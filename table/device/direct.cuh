/* SPDX-License-Identifier: MIT
 *
 * direct.cuh - direct reads: kernels of other processes look up keys in the table's memory
 * (exported_table.h). The page tells them whether a write was under way.
 *
 * The host knows the epoch: all writes of a table are in one order, under `order`. So a mark is a
 * store of a number. A kernel of one thread stores it, before the first kernel that changes the
 * table (sw_cuda_wait_for_reads) and after the last one (sw_cuda_write_submitted). A table without
 * readers has no such kernels.
 *
 * D1: a reader that sees a store of a write also sees, afterwards, the odd epoch before that write:
 * kernels of a stream are in order, and both processes use one memory of one device.
 *
 * Threads: under `order`, except open and close.
 */
#ifndef SHERWOOD_TABLE_DEVICE_DIRECT_CUH
#define SHERWOOD_TABLE_DEVICE_DIRECT_CUH

#include <cuda_runtime.h>
#include <stddef.h>

#include "table/device/channel.cuh"
#include "table/exported_table.h"
#include "table/operation.h"

/* Exported memory of other sizes is read slowly by other processes (SW_REGION_DEVICE_PAGE of
 * server/region/memory.h). */
#define SW_CUDA_EXPORT_UNIT ((size_t)2 << 20)

static inline size_t sw_cuda_export_bytes(size_t bytes)
{
    return (bytes + SW_CUDA_EXPORT_UNIT - 1) / SW_CUDA_EXPORT_UNIT * SW_CUDA_EXPORT_UNIT;
}

/* The page, which readers map. */
struct sw_cuda_direct_page {
    uint64_t epoch; /* odd while a write may change the table */
    uint64_t generation;
    uint64_t no_jumps; /* of the view of the main array (robin_hood.inl) */
    uint64_t unused[5];
    struct sw_state state;
    alignas(64) uint64_t hits; /* of valid direct reads; readers add to both */
    uint64_t misses;
};
static_assert(offsetof(struct sw_cuda_direct_page, state) == 64 && sizeof(struct sw_state) <= 64 &&
                  offsetof(struct sw_cuda_direct_page, hits) == 128,
              "SW_DIRECT_LAYOUT");

/* An allocation and its handle. The driver takes microseconds to make one. */
struct sw_cuda_exported {
    void *memory; /* NULL: none */
    cudaIpcMemHandle_t handle;
};

struct sw_cuda_direct {
    struct sw_cuda_direct_page *page; /* device */
    const uint64_t *no_jumps;         /* the host's; of the device view */
    uint64_t epoch, generation;       /* what the next mark stores */
    uint64_t stored;                  /* the generation that the last mark stored */
    uint32_t readers;
    struct sw_cuda_exported exported_page, arrays;
    struct sw_cuda_channel channel; /* of the marks that no write makes */
};

/* Allocates the page. Its state is zero. After a failure, and for NULL, sw_cuda_direct_close may be
 * called. */
cudaError_t sw_cuda_direct_open(struct sw_cuda_channel_owner *owner);
/* Ends all direct reads, and frees the page: the owner no longer has one. */
void sw_cuda_direct_close(struct sw_cuda_channel_owner *owner);

/* Counts a reader more, or one less. The first call waits for all earlier writes. The device must
 * be current. Call these without `order`. */
cudaError_t sw_cuda_direct_add(struct sw_cuda_channel_owner *owner);
cudaError_t sw_cuda_direct_remove(struct sw_cuda_channel_owner *owner);
/* Makes all exports invalid. Direct reads that end later are invalid. */
cudaError_t sw_cuda_direct_end(struct sw_cuda_channel_owner *owner);

/* Marks the begin and the end of a write on the channel's stream, if the table has readers. Several
 * begins have one end. */
cudaError_t sw_cuda_direct_mark(struct sw_cuda_channel *channel, bool begins);
/* Stores the numbers of the host in the page. */
cudaError_t sw_cuda_direct_store(struct sw_cuda_direct *direct, cudaStream_t stream);
/* The next end of a write, or the next first reader, makes earlier exports invalid. */
static inline void sw_cuda_direct_renew(struct sw_cuda_channel_owner *owner)
{
    if (owner->direct != NULL) {
        owner->direct->generation++;
        owner->direct->arrays.memory = NULL; /* other arrays may have its address */
    }
}
/* Reads the counts of the page. The device must be current. */
cudaError_t sw_cuda_direct_counts(struct sw_cuda_channel_owner *owner, uint64_t counts[2]);

#endif
