/* SPDX-License-Identifier: MIT
 *
 * segment_borders.cuh - before a rebuild in place, sorts the buckets that hold entries of several
 * segments.
 *
 * A block that writes its segment's slots must not overwrite another segment's entry that has not
 * been read. Entries are ordered from bucket to bucket, but not within a bucket.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_SEGMENT_BORDERS_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_SEGMENT_BORDERS_CUH

#include "table/robin_hood/cuda/rebuild/rebuild.cuh"

/* Sets borders[s] to the first bucket, from the first home of segment s on, that may hold its
 * entries. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    find_borders_kernel(const struct sw_cuda_rebuild<BITS> rebuild, unsigned long long *borders)
{
    typedef sw_width<BITS> W;
    typedef typename W::word word;
    const typename W::view *view = &rebuild.table.main;
    uint32_t s = blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    if (s >= rebuild.segments) {
        return;
    }
    const word low = (word)s << rebuild.shift;
    uint64_t b = W::home(view, low);
    for (bool found = false; !found && b < view->buckets_total; b += !found) {
        typename W::slot held[SW_BUCKET_SLOTS];
        W::bucket_read(view, b, held);
#pragma unroll
        for (int i = 0; i < SW_BUCKET_SLOTS; i++) { /* tombstones do not tell where the segment
                                                       begins */
            found |= held[i].m >= low && (held[i].m != W::empty || sw_is_empty<BITS>(held[i]));
        }
    }
    borders[s] = b;
}

/* Sorts each of these buckets once, with tombstones last. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    sort_borders_kernel(const struct sw_cuda_rebuild<BITS> rebuild,
                        const unsigned long long *borders)
{
    typedef sw_width<BITS> W;
    const typename W::view *view = &rebuild.table.main;
    uint32_t s = blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    if (s >= rebuild.segments) {
        return;
    }
    const uint64_t b = borders[s];
    if (b < view->buckets_total && (s == 0 || borders[s - 1] != b)) {
        typename W::slot held[SW_BUCKET_SLOTS];
        W::bucket_read(view, b, held);
        W::bucket_sort(held);
#pragma unroll
        for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
            view->slots[b * SW_BUCKET_SLOTS + i] = held[i];
        }
    }
}

template <int BITS>
static cudaError_t sw_cuda_launch_borders(const struct sw_cuda_rebuild<BITS> *rebuild,
                                          cudaStream_t stream)
{
    const uint32_t blocks = (rebuild->segments + SW_CUDA_BLOCK - 1) / SW_CUDA_BLOCK;
    find_borders_kernel<BITS><<<blocks, SW_CUDA_BLOCK, 0, stream>>>(*rebuild, rebuild->status);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) {
        sort_borders_kernel<BITS><<<blocks, SW_CUDA_BLOCK, 0, stream>>>(*rebuild, rebuild->status);
        error = cudaGetLastError();
    }
    return error;
}

#endif
