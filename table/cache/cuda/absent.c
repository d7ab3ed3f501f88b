/* SPDX-License-Identifier: MIT
 *
 * absent.c - replaces the cache's CUDA backend if nvcc was not found.
 */
#include "table/cache/cache_backend.h"

const struct sw_backend *sw_cache_backend_cuda(void)
{
    return NULL;
}
