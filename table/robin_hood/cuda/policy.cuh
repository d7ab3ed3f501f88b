/* SPDX-License-Identifier: MIT
 *
 * policy.cuh - launch shapes and other constants of kernels, chosen by GPU.
 *
 * A kernel's file defines its constants as macros, with the alternatives that a search may try
 * (bench/tune/README.md). These constants are the base, which serves every GPU. policy_sm90.h holds
 * faster constants for one GPU; bench/tune/analyze.py --export writes it. A kernel's file defines,
 * say, SW_POLICY_GET and templates sw_policy_get_.. <ARCH, BITS> with its base, then includes this
 * file for their specialisations. ARCH is sw_cuda_device.arch, or 0 for the base.
 *
 * Every kernel's file includes the specialisations for itself, so they have no include guard.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_POLICY_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_POLICY_CUH

/* A search compiles variants of the base. */
#ifdef SW_TUNE
#define SW_POLICY_ARCH(device) ((void)(device), 0)
#else
#define SW_POLICY_ARCH(device) ((device)->arch)
#endif

/* The shape of a launch: at most BLOCK threads per block, and registers for RESIDENT threads per
 * multiprocessor. RESIDENT 0: registers for one block. */
template <int BLOCK, int RESIDENT> struct sw_cuda_shape {
    static constexpr int block = BLOCK;
    static constexpr int blocks_min = RESIDENT > BLOCK ? RESIDENT / BLOCK : 1;
};
/* For a block size that the caller set (sw_table_tuning). */
typedef sw_cuda_shape<1024, 0> sw_cuda_any_shape;

#endif

#ifndef SW_TUNE
#if __has_include("table/robin_hood/cuda/policy_sm90.h")
#include "table/robin_hood/cuda/policy_sm90.h"
#endif
#endif
