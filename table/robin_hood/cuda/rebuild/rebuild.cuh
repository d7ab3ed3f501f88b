/* SPDX-License-Identifier: MIT
 *
 * rebuild.cuh - a rebuild: writes a whole table to build, merge, grow or shrink it.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_REBUILD_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_REBUILD_CUH

#include "table/robin_hood/cuda/device.cuh"

/* The top bits of m cut the entries into segments of at most SW_CUDA_SEGMENT_BUCKETS home buckets,
 * or 2048 slots. A block has room for SW_CUDA_REBUILD_ENTRIES entries, a quarter more. A segment
 * with more entries makes the rebuild fail. That happens if keys are repeated hundreds of times in
 * the batch, or were chosen to collide. */
#define SW_CUDA_SEGMENT_BUCKETS (2048 / SW_BUCKET_SLOTS)
#define SW_CUDA_REBUILD_ENTRIES 2560
#define SW_CUDA_REBUILD_BLOCK 256
/* At most SW_CUDA_MERGE_OPS operations of a segment can be merged in place. The average over the
 * segments should be below SW_CUDA_MERGE_OPS_USUAL. */
#define SW_CUDA_MERGE_OPS 768
#define SW_CUDA_MERGE_OPS_USUAL 512
/* Words of rebuild.status: one per segment, and two for each block that joins segments
 * (segment_ends.cuh). */
#define SW_CUDA_STATUS_WORDS(segments) ((segments) + 2 * ((segments) / SW_CUDA_REBUILD_BLOCK + 1))

template <int BITS> struct sw_cuda_rebuild {
    typedef typename sw_width<BITS>::word word;
    typename sw_width<BITS>::table table; /* the new table; EMPTY from the last home bucket on */
    typename sw_width<BITS>::view old;    /* the old table, slots NULL: none; may have tombstones:
                                             removed entries, m EMPTY and the value 0. Without a
                                             batch it may also have holes (holes.cuh) */
    uint8_t *hints;                       /* of the new table, or NULL */
    uint32_t op;                          /* SET, SUM, MIN or MAX; of a key set SET or SET_ABSENT */
    uint32_t shift;                       /* m >> shift is its segment */
    uint32_t segments;
    const word *m;              /* batch: mixed keys, sorted stably by segment; NULL: no batch */
    const word *values;         /* batch: their operands; not used in a key set */
    const uint32_t *index;      /* batch: the numbers of their operations; used only for `found` */
    uint32_t *found;            /* one bit per operation, set if its key was present before it;
                                   undefined if the rebuild fails; NULL: not wanted */
    const uint32_t *offsets;    /* [segments + 1] where each segment begins in the batch; or NULL */
    unsigned long long *status; /* [SW_CUDA_STATUS_WORDS(segments)] */
    struct sw_cuda_control *control;
};

/* Returns the number of top bits of m that number the segments. */
uint32_t sw_cuda_segment_bits(uint64_t buckets);

/* Returns whether every segment of such a table fits the room of a block. Then a rebuild in place
 * without a batch cannot fail. */
bool sw_cuda_fits_in_place(uint64_t buckets, uint64_t max_probe);

/* Writes the table. If a segment has too many entries, or an entry meets the probe cap, sets
 * control->rebuild_failed. Then the new table's slots are undefined, and the old table is
 * unchanged. A rebuild in place (old.slots are the table's) leaves the table unchanged if it fails.
 * A rebuild in place without a batch must not fail. Adds the batch's absent keys to
 * counters.inserted, and leaves the side cell's net effect in the control block. Fills in offsets
 * unless it is NULL; then rebuild->offsets is also NULL. */
template <int BITS>
cudaError_t sw_cuda_launch_rebuild(const struct sw_cuda_rebuild<BITS> *rebuild, uint32_t count,
                                   uint32_t *offsets, cudaStream_t stream);

#endif
