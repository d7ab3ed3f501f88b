/* SPDX-License-Identifier: MIT
 *
 * absent.c - replaces the CUDA backend of the cuckoo engine if nvcc was not found.
 */
#include "table/cuckoo/cuckoo_backend.h"

const struct sw_backend *sw_cuckoo_backend_cuda(void)
{
    return NULL;
}
