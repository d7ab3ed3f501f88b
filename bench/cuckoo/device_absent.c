/* SPDX-License-Identifier: MIT
 *
 * device_absent.c - stands in for device_place.cu and set/device.cu where nvcc was not found.
 */
#include "bench/cuckoo/place.h"
#include "bench/cuckoo/set/ops.h"

const struct sw_cbench_place *sw_cbench_device(void)
{
    return NULL;
}

const struct sw_cset_ops *sw_cset_cuda_ops(void)
{
    return NULL;
}
