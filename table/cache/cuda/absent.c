/* SPDX-License-Identifier: MIT
 *
 * absent.c - stands in for the cache's CUDA driver and backend where nvcc was not found.
 */
#include "table/cache/cache_backend.h"
#include "table/cache/driver.h"

const struct sw_cache_driver *sw_cache_driver_cuda(void)
{
    return NULL;
}

const struct sw_backend *sw_cache_backend_cuda(void)
{
    return NULL;
}
