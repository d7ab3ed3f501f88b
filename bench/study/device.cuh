/* SPDX-License-Identifier: MIT
 *
 * device.cuh - errors of the CUDA runtime, for the study's .cu files.
 */
#ifndef SHERWOOD_BENCH_STUDY_DEVICE_CUH
#define SHERWOOD_BENCH_STUDY_DEVICE_CUH

#include <cuda_runtime.h>

/* True if `error` is no error; otherwise prints one line that says what was going on. */
bool sw_study_ok(cudaError_t error, const char *what);

/* The same for the last launch and all work on the device, after waiting for it. */
bool sw_study_done(const char *what);

#endif
