/* SPDX-License-Identifier: MIT
 *
 * device_absent.c - replaces device_place.cu in builds without nvcc.
 */
#include "bench/rows/place.h"

const struct sw_rowbench_place *sw_rowbench_device(void)
{
    return NULL;
}
