/* SPDX-License-Identifier: MIT
 *
 * rebuild.cuh - one pass that writes a whole table: builds, merges, grows, shrinks.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_REBUILD_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_REBUILD_CUH

#include "table/robin_hood/cuda/device.cuh"

/* Entries of m are cut into segments by their top bits, so many that a segment has at most this
 * many home buckets: 2048 slots. A block has room for a quarter more entries; a segment with more
 * (keys repeated hundreds of times in the batch, or made to meet) makes the pass fail. */
#define SW_CUDA_SEGMENT_BUCKETS (2048 / SW_BUCKET_SLOTS)
#define SW_CUDA_REBUILD_ENTRIES 2560
#define SW_CUDA_REBUILD_BLOCK 256
/* So many operations of a segment can be merged in place, and on average no more than so many
 * should be. */
#define SW_CUDA_MERGE_OPS 768
#define SW_CUDA_MERGE_OPS_USUAL 512
/* Words of rebuild.status: one a segment, and two for each block of those that join them. */
#define SW_CUDA_STATUS_WORDS(segments) ((segments) + 2 * ((segments) / SW_CUDA_REBUILD_BLOCK + 1))

template <int BITS> struct sw_cuda_rebuild {
    typedef typename sw_width<BITS>::word word;
    typename sw_width<BITS>::table table; /* the new one; EMPTY from the last home bucket on */
    typename sw_width<BITS>::view old;    /* slots is NULL if there is none; may hold tombstones:
                                             removed entries, m EMPTY and the value 0 */
    uint8_t *hints;                       /* of the new table, or NULL */
    uint32_t op;                          /* SET, SUM, MIN or MAX */
    uint32_t shift;                       /* m >> shift is its segment */
    uint32_t segments;
    const word *m;           /* batch: mixed keys in order of segments, stable; or NULL */
    const word *values;      /* batch: their operands */
    const uint32_t *index;   /* batch: which operations they are; used only for `found` */
    uint32_t *found;         /* bits by operation, which become 1 where its key was present before
                                it; or NULL. If the rebuild fails they are undefined */
    const uint32_t *offsets; /* [segments + 1] where each begins in the batch; or NULL */
    unsigned long long *status; /* [SW_CUDA_STATUS_WORDS(segments)] */
    struct sw_cuda_control *control;
};

/* Top bits of m that number the segments. */
uint32_t sw_cuda_segment_bits(uint64_t buckets);

/* Whether every segment of such a table has room for all entries it may hold: then a rebuild in
 * place without a batch cannot fail. */
bool sw_cuda_fits_in_place(uint64_t buckets, uint64_t max_probe);

/* Writes the table, or sets control->rebuild_failed where a segment holds too many entries or one
 * meets the probe cap; then the new table's slots are undefined and the old one is untouched. In
 * place (old.slots are the table's) nothing is changed then, except that a rebuild without a batch
 * must not fail. counters.inserted counts keys of the batch that were absent; the side cell's net
 * effect is left in the control block. Fills in offsets unless NULL (then rebuild->offsets is NULL
 * too). */
template <int BITS>
cudaError_t sw_cuda_launch_rebuild(const struct sw_cuda_rebuild<BITS> *rebuild, uint32_t count,
                                   uint32_t *offsets, cudaStream_t stream);

#endif
