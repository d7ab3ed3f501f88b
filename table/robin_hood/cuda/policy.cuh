/* SPDX-License-Identifier: MIT
 *
 * policy.cuh - launch shapes and other constants of kernels, chosen by GPU.
 *
 * A kernel's file has its constants as macros, with what may be tried in their place
 * (bench/tune/README.md): base, which every GPU gets. policy_sm90.h, written by
 * bench/tune/analyze.py --export, has what was found to be faster on one GPU. A kernel's file
 * defines, say, SW_POLICY_GET and templates sw_policy_get_.. <ARCH, BITS> of its base, then
 * includes this file for their specialisations. ARCH is sw_cuda_device.arch, or 0 for base.
 *
 * Included by every kernel's file for its own part, so there is no guard around the
 * specialisations.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_POLICY_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_POLICY_CUH

/* A search compiles variants of base. */
#ifdef SW_TUNE
#define SW_POLICY_ARCH(device) 0
#else
#define SW_POLICY_ARCH(device) ((device)->arch)
#endif

/* Blocks of so many threads, at most, and registers for RESIDENT threads a multiprocessor; 0: for
 * one block. */
template <int BLOCK, int RESIDENT> struct sw_cuda_shape {
    static constexpr int block = BLOCK;
    static constexpr int blocks_min = RESIDENT > BLOCK ? RESIDENT / BLOCK : 1;
};
/* For a block size that was asked for (sw_table_tuning). */
typedef sw_cuda_shape<1024, 0> sw_cuda_any_shape;

#endif

#ifndef SW_TUNE
#if __has_include("table/robin_hood/cuda/policy_sm90.h")
#include "table/robin_hood/cuda/policy_sm90.h"
#endif
#endif
