/* SPDX-License-Identifier: MIT
 *
 * device_absent.c - stands in for device_place.cu where nvcc was not found.
 */
#include "bench/cuckoo/place.h"

const struct sw_cbench_place *sw_cbench_device(void)
{
    return NULL;
}
