/* SPDX-License-Identifier: MIT
 *
 * absent.c - stands in for the CUDA backend where nvcc was not found.
 */
#include "table/backend.h"

const struct sw_backend *sw_backend_cuda(void)
{
    return NULL;
}
