/* SPDX-License-Identifier: MIT
 *
 * absent.c - stands in for the cuckoo table on CUDA where nvcc was not found.
 */
#include "table/cuckoo/cuckoo_backend.h"
#include "table/cuckoo/ops.h"

const struct sw_cuckoo_ops *sw_cuckoo_cuda_ops(void)
{
    return NULL;
}

const struct sw_backend *sw_cuckoo_backend_cuda(void)
{
    return NULL;
}
