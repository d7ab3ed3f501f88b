/* SPDX-License-Identifier: MIT
 *
 * device_absent.c - stands in for device_place.cu where nvcc was not found.
 */
#include "bench/rows/place.h"

const struct sw_rowbench_place *sw_rowbench_device(void)
{
    return NULL;
}
