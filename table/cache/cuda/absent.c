/* SPDX-License-Identifier: MIT
 *
 * absent.c - stands in for the cache's CUDA backend where nvcc was not found.
 */
#include "table/cache/cache_backend.h"

const struct sw_backend *sw_cache_backend_cuda(void)
{
    return NULL;
}
