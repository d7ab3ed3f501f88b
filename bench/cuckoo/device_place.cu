/* SPDX-License-Identifier: MIT
 *
 * device_place.cu - keys are drawn and answers judged in device memory.
 */
#include "bench/cuckoo/place.inl"

const struct sw_cbench_place *sw_cbench_device(void)
{
    static const struct sw_cbench_place place = {&sw_study_device, draw_keys, draw_queries, judge};
    return &place;
}
