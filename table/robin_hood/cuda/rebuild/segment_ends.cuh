/* SPDX-License-Identifier: MIT
 *
 * segment_ends.cuh - computes where each segment ends, after all of them have been measured: the
 * end of the first pass of a merge in place.
 *
 * Two kernels scan the runs of look_back.cuh. In the first, each block joins its segments to one
 * run. In the second, each block joins the runs before its own, then scans its segments.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_SEGMENT_ENDS_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_SEGMENT_ENDS_CUH

#include <cub/block/block_scan.cuh>

#include "table/robin_hood/cuda/rebuild/look_back.cuh"

#define SW_ENDS_BLOCK SW_CUDA_REBUILD_BLOCK
#define SW_ENDS_NOWHERE (-((int64_t)1 << 60))

/* Packs the measure of a segment. n and e are its run. `ahead` is the most slots that an entry is
 * past its home if the segment's entries begin at its first home. `far` is the largest distance
 * from home that the segment's own entries cause. All are less than 2^15.
 */
static __device__ inline unsigned long long sw_measured_pack(uint32_t n, int32_t e, int32_t ahead,
                                                             int32_t far)
{
    if (n == 0) {
        return 0;
    }
    return (unsigned long long)n | (unsigned long long)(uint16_t)e << 16 |
           (unsigned long long)(uint16_t)(int16_t)ahead << 32 |
           (unsigned long long)(uint16_t)far << 48;
}

/* A run over segments, in slots of the table. */
struct sw_far_run {
    int64_t n;
    int64_t e;
};

struct sw_far_join {
    __device__ sw_far_run operator()(const sw_far_run &first, const sw_far_run &second) const
    {
        sw_far_run both;
        both.n = first.n + second.n;
        both.e = max(first.e + second.n, second.e);
        return both;
    }
};

typedef cub::BlockScan<sw_far_run, SW_ENDS_BLOCK> sw_ends_scan;

/* Returns the first slot of a segment's first home. */
template <int BITS>
static __device__ inline int64_t sw_ends_origin(const struct sw_cuda_rebuild<BITS> &rebuild,
                                                uint32_t s)
{
    typedef typename sw_width<BITS>::word word;
    return (int64_t)(sw_width<BITS>::home(&rebuild.table.main, (word)s << rebuild.shift) *
                     SW_BUCKET_SLOTS);
}

template <int BITS>
static __device__ inline sw_far_run sw_ends_run(const struct sw_cuda_rebuild<BITS> &rebuild,
                                                uint32_t s)
{
    sw_far_run run = {0, SW_ENDS_NOWHERE};
    unsigned long long word = s < rebuild.segments ? rebuild.status[s] : 0;
    if (word != 0) {
        run.n = (int64_t)(word & 0xFFFF);
        run.e = sw_ends_origin<BITS>(rebuild, s) + (int64_t)(word >> 16 & 0xFFFF);
    }
    return run;
}

template <int BITS>
static __global__ void __launch_bounds__(SW_ENDS_BLOCK)
    join_kernel(const struct sw_cuda_rebuild<BITS> rebuild, sw_far_run *joined)
{
    __shared__ typename sw_ends_scan::TempStorage scan;
    sw_far_run own = sw_ends_run<BITS>(rebuild, blockIdx.x * SW_ENDS_BLOCK + threadIdx.x);
    sw_ends_scan(scan).InclusiveScan(own, own, sw_far_join());
    if (threadIdx.x == SW_ENDS_BLOCK - 1) {
        joined[blockIdx.x] = own;
    }
}

/* Writes where each segment ends. Sets control->rebuild_failed if an entry meets the probe cap or
 * the table's end. */
template <int BITS>
static __global__ void __launch_bounds__(SW_ENDS_BLOCK)
    ends_kernel(const struct sw_cuda_rebuild<BITS> rebuild, const sw_far_run *joined)
{
    __shared__ typename sw_ends_scan::TempStorage scan;
    const sw_far_run nothing = {0, SW_ENDS_NOWHERE};
    const uint32_t s = blockIdx.x * SW_ENDS_BLOCK + threadIdx.x;
    const struct sw_view_limits {
        int64_t far;
        int64_t end;
    } limits = {(int64_t)min(rebuild.table.main.max_probe + 1, (uint64_t)1 << 40) * SW_BUCKET_SLOTS,
                (int64_t)(rebuild.table.main.buckets_total * SW_BUCKET_SLOTS)};
    sw_far_run before = nothing;
    sw_far_run all;
    for (uint32_t from = 0; from < blockIdx.x; from += SW_ENDS_BLOCK) {
        sw_far_run other = from + threadIdx.x < blockIdx.x ? joined[from + threadIdx.x] : nothing;
        sw_ends_scan(scan).ExclusiveScan(other, other, nothing, sw_far_join(), all);
        before = sw_far_join()(before, all);
        __syncthreads(); /* M2: before `scan` is used again */
    }
    const unsigned long long word = s < rebuild.segments ? rebuild.status[s] : 0;
    const sw_far_run own = sw_ends_run<BITS>(rebuild, s);
    sw_far_run to_own;
    sw_ends_scan(scan).ExclusiveScan(own, to_own, nothing, sw_far_join());
    to_own = sw_far_join()(before, to_own);
    if (s >= rebuild.segments) {
        return;
    }
    const int64_t end = max(sw_far_join()(to_own, own).e, (int64_t)0);
    if (word != 0) {
        const int64_t far = (int64_t)(word >> 48);
        const int64_t ahead =
            to_own.e - sw_ends_origin<BITS>(rebuild, s) + (int64_t)(int16_t)(uint16_t)(word >> 32);
        if (max(far, ahead) >= limits.far || end > limits.end) {
            rebuild.control->rebuild_failed = 1;
        }
    }
    rebuild.status[s] = SW_STATUS_END << SW_STATUS_KIND | (unsigned long long)end;
}

template <int BITS>
static cudaError_t sw_cuda_launch_ends(const struct sw_cuda_rebuild<BITS> *rebuild,
                                       cudaStream_t stream)
{
    const uint32_t blocks = (rebuild->segments + SW_ENDS_BLOCK - 1) / SW_ENDS_BLOCK;
    sw_far_run *joined = (sw_far_run *)(rebuild->status + rebuild->segments);
    join_kernel<BITS><<<blocks, SW_ENDS_BLOCK, 0, stream>>>(*rebuild, joined);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) {
        ends_kernel<BITS><<<blocks, SW_ENDS_BLOCK, 0, stream>>>(*rebuild, joined);
        error = cudaGetLastError();
    }
    return error;
}

#endif
