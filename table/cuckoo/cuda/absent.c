/* SPDX-License-Identifier: MIT
 *
 * absent.c - stands in for the cuckoo table on CUDA where nvcc was not found.
 */
#include "table/cuckoo/cuckoo_backend.h"

const struct sw_backend *sw_cuckoo_backend_cuda(void)
{
    return NULL;
}
