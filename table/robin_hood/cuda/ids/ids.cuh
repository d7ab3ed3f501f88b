/* SPDX-License-Identifier: MIT
 *
 * ids.cuh - tables of ids on CUDA (ids_backend.h): the memory of the map, and the steps of a launch
 * around the engine's.
 *
 * The engine of integers carries out a batch before its ids are known:
 *
 *   1. sw_cuda_ids_gathered turns each FIND_OR_INSERT into a SET_ABSENT.
 *   2. sw_cuda_ids_begin gives operation i the operand limit + i, a tentative value that no id has.
 *   3. The engine decides which groups are refused, and which operations insert or remove keys.
 *   4. sw_cuda_ids_end goes through these operations in array order. An insert takes the lowest
 * free id, or the one in its operand, and a removal frees one. Then the tentative values of entries
 *      and answers are replaced by the ids of the operations that wrote them.
 *
 * A table has at most `limit` entries (sw_geometry_compute), so the engine refuses what has no id.
 *
 * Threads: the table's owner opens and closes the memory; the others under `order`.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_IDS_IDS_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_IDS_IDS_CUH

#include "table/device/combined_launch.cuh"
#include "table/robin_hood/cuda/device.cuh"
#include "table/robin_hood/cuda/ids/id_map.cuh"

struct sw_cuda_ids {
    struct sw_cuda_id_map map; /* limit 0: the values are not ids */
    uint32_t *given;           /* device [operations_max]: id that operation i gives its key */
    uint32_t *takes;           /* device one for each tile of a launch and one more: new keys before
                                  the tile */
    void *memory;              /* device; contains all of these and the levels of the map */
    uint64_t bytes;            /* of `memory` */
};

/* Operations that one block goes through at a time. */
#define SW_CUDA_ID_TILE 1024

/* A batch that the engine carries out. All arrays are device memory. */
template <int BITS> struct sw_cuda_id_batch {
    typedef typename sw_width<BITS>::word word;
    uint32_t count;
    uint32_t op;
    const uint8_t *ops; /* NULL: all are `op` */
    const word *keys;
    word *values;   /* the operands */
    word *previous; /* the engine's answers; after the last step the table's */
    const uint64_t *found;
    uint32_t group_count;
    const uint32_t *group_ends;
    const uint8_t *group_refused;
    const int32_t *status; /* the engine's: SW_E_FULL if it refused any group */
    bool only_takes;       /* no operation frees an id or has one as operand */
    bool only_frees;       /* all operations are deletes */
    const struct sw_cuda_parts *parts;
    uint32_t *part_words; /* sw_cuda_combined.words */
};

static inline bool sw_cuda_ids_are_open(const struct sw_cuda_ids *ids)
{
    return ids->map.limit != 0;
}

/* Returns the bytes of device memory for `limit` ids and launches of `operations_max`
 * operations. */
uint64_t sw_cuda_ids_bytes(uint64_t limit, uint32_t operations_max);
/* Allocates the memory; all ids are free. The device must be current. After a failure, call close
 * too. */
cudaError_t sw_cuda_ids_open(struct sw_cuda_ids *ids, uint64_t limit, uint32_t operations_max);
void sw_cuda_ids_close(struct sw_cuda_ids *ids);
/* Enqueues a kernel that frees all ids. */
cudaError_t sw_cuda_ids_clear(const struct sw_cuda_ids *ids, cudaStream_t stream);

/* The kernels of the steps. The first one changes an array of operations. */
cudaError_t sw_cuda_launch_ids_gathered(uint8_t *ops, uint32_t count, cudaStream_t stream);
template <int BITS>
cudaError_t sw_cuda_launch_ids_begin(const struct sw_cuda_ids *ids,
                                     const struct sw_cuda_id_batch<BITS> *batch,
                                     cudaStream_t stream);
template <int BITS>
cudaError_t sw_cuda_launch_ids_end(const struct sw_cuda_ids *ids,
                                   const struct sw_cuda_device<BITS> *device,
                                   const struct sw_cuda_id_batch<BITS> *batch, cudaStream_t stream);
/* Loads all kernels. */
template <int BITS> cudaError_t sw_cuda_ids_load(void);

#endif
