/* SPDX-License-Identifier: MIT
 *
 * block_scan.cuh - prefix sums of a block: its first thread makes all of them.
 */
#ifndef SHERWOOD_EMULATOR_BLOCK_SCAN_CUH
#define SHERWOOD_EMULATOR_BLOCK_SCAN_CUH

#include <cuda_runtime.h>

namespace cub
{
template <typename T, int THREADS> struct BlockScan {
    struct TempStorage {
        T before[THREADS]; /* of all threads before this one; nothing for the first */
        T own[THREADS];
        T all;
    };
    TempStorage &shared;
    explicit BlockScan(TempStorage &storage) : shared(storage)
    {
    }

    /* Returns what all have together. */
    template <typename JOIN> T scan(T own, JOIN join)
    {
        shared.own[threadIdx.x] = own;
        __syncthreads();
        if (threadIdx.x == 0) {
            shared.all = shared.own[0];
            for (int i = 1; i < THREADS; i++) {
                shared.before[i] = shared.all;
                shared.all = join(shared.all, shared.own[i]);
            }
        }
        __syncthreads();
        return shared.all;
    }
    template <typename JOIN> void InclusiveScan(T in, T &out, JOIN join)
    {
        scan(in, join);
        out = threadIdx.x == 0 ? in : join(shared.before[threadIdx.x], in);
    }
    template <typename JOIN> void ExclusiveScan(T in, T &out, T first, JOIN join, T &all)
    {
        all = scan(in, join);
        out = threadIdx.x == 0 ? first : join(first, shared.before[threadIdx.x]);
    }
    template <typename JOIN> void ExclusiveScan(T in, T &out, T first, JOIN join)
    {
        T all;
        ExclusiveScan(in, out, first, join, all);
    }
    template <int N> void ExclusiveSum(T (&in)[N], T (&out)[N], T &all)
    {
        T sum = T();
        for (int i = 0; i < N; i++) {
            T one = in[i];
            out[i] = sum;
            sum += one;
        }
        all = scan(sum, [](T a, T b) { return (T)(a + b); });
        for (int i = 0; i < N; i++) {
            out[i] += threadIdx.x == 0 ? T() : shared.before[threadIdx.x];
        }
    }
};
} // namespace cub

#endif
