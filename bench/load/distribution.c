/* SPDX-License-Identifier: MIT
 *
 * distribution.c - draws of keys (see distribution.h).
 */
#include "bench/load/distribution.h"

void sw_load_distribution_init(struct sw_load_distribution *distribution,
                               enum sw_load_distribution_kind kind, double theta, uint64_t keys)
{
    *distribution = (struct sw_load_distribution){.kind = kind};
    if (kind == SW_LOAD_ZIPF || kind == SW_LOAD_LATEST) {
        sw_load_zipf_init(&distribution->zipf, keys, theta);
    }
}

void sw_load_fill_drawn(const struct sw_load_workload *workload,
                        const struct sw_load_distribution *distribution, uint64_t *random,
                        size_t count, void *keys)
{
    if (distribution->kind == SW_LOAD_UNIFORM) {
        sw_load_fill_random(workload, random, count, keys);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t index = sw_load_zipf_draw(&distribution->zipf, random);
        if (distribution->kind == SW_LOAD_LATEST) {
            index = workload->keys - 1 - index;
        }
        sw_load_put_element(keys, workload->key_bytes, i, sw_load_key(workload, index));
    }
}

void sw_load_fill_range(const struct sw_load_workload *workload, uint64_t first, size_t count,
                        void *keys)
{
    while (count > 0) {
        uint64_t from = first % workload->keys, left = workload->keys - from;
        size_t some = left < count ? (size_t)left : count;
        sw_load_fill_keys(workload, from, some, keys);
        keys = (char *)keys + some * workload->key_bytes;
        first += some;
        count -= some;
    }
}
