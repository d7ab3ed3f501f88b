/* SPDX-License-Identifier: MIT
 *
 * device_absent.c - stands in for device_place.cu where nvcc was not found.
 */
#include "bench/cache/place.h"

const struct sw_cachebench_place *sw_cachebench_device(void)
{
    return NULL;
}
