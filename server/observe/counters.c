/* SPDX-License-Identifier: MIT
 *
 * counters.c - adds up the counters and gauges of several loops.
 */
#include "server/observe/counters.h"

#include <assert.h>
#include <stddef.h>

static_assert(sizeof(struct sw_loop_counters) % sizeof(uint64_t) == 0 &&
                  offsetof(struct sw_loop_counters, batch_us_sum) + sizeof(uint64_t) ==
                      sizeof(struct sw_loop_counters),
              "the struct has 64-bit counters only");

void sw_loop_counters_add(struct sw_loop_counters *to, const struct sw_loop_counters *from)
{
    uint64_t *sum = (uint64_t *)to;
    const uint64_t *counter = (const uint64_t *)from;
    for (size_t i = 0; i < sizeof(*to) / sizeof(*sum); i++) {
        sum[i] += __atomic_load_n(&counter[i], __ATOMIC_RELAXED);
    }
}
