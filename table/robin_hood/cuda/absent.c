/* SPDX-License-Identifier: MIT
 *
 * absent.c - replaces the CUDA backend if nvcc was not found.
 */
#include "table/robin_hood/ids_backend.h"
#include "table/robin_hood/robin_hood_backend.h"
#include "table/robin_hood/set_backend.h"

const struct sw_backend *sw_robin_hood_backend_cuda(void)
{
    return NULL;
}

const struct sw_backend *sw_robin_hood_rows_backend_cuda(void)
{
    return NULL;
}

const struct sw_backend *sw_robin_hood_ids_backend_cuda(void)
{
    return NULL;
}

const struct sw_backend *sw_robin_hood_set_backend_cuda(void)
{
    return NULL;
}
