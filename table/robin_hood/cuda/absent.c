/* SPDX-License-Identifier: MIT
 *
 * absent.c - stands in for the CUDA backend where nvcc was not found.
 */
#include "table/robin_hood/robin_hood_backend.h"

const struct sw_backend *sw_robin_hood_backend_cuda(void)
{
    return NULL;
}

const struct sw_backend *sw_robin_hood_rows_backend_cuda(void)
{
    return NULL;
}
