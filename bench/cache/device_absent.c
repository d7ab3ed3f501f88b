/* SPDX-License-Identifier: MIT
 *
 * device_absent.c - replaces device_place.cu in builds without nvcc.
 */
#include "bench/cache/place.h"

const struct sw_cachebench_place *sw_cachebench_device(void)
{
    return NULL;
}
