/* SPDX-License-Identifier: MIT
 *
 * device_absent.c - replaces device_place.cu in builds without nvcc.
 */
#include "bench/cuckoo/place.h"

const struct sw_cbench_place *sw_cbench_device(void)
{
    return NULL;
}
