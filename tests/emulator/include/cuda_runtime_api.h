/* SPDX-License-Identifier: MIT
 *
 * cuda_runtime_api.h - CUDA's runtime for C: here the same header is for both languages.
 */
#include "cuda_runtime.h"
