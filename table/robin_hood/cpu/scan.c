/* SPDX-License-Identifier: MIT
 *
 * scan.c - a scan of the slots. The windows point directly into the table's memory.
 */
#include "table/robin_hood/cpu/arrays.h"

void sw_cpu_scan_slots(const struct sw_cpu *cpu, struct sw_batch *batch)
{
    const struct sw_geometry *geometry = &cpu->geometry;
    struct sw_scan_window main = {0};
    struct sw_scan_window stash = {0};
    const uint32_t format = sw_cpu_format(cpu);
    uint64_t bucket_bytes = (uint64_t)SW_BUCKET_SLOTS * sw_format_slot_bytes(format);

    const uint8_t *slots = cpu->slots;
    sw_cpu_arrays_home(cpu, batch->scan.cursor, &main.first, &stash.first);
    main.slots = slots + main.first * bucket_bytes;
    if (cpu->state.stash_occupied > 0) {
        stash.slots = slots + (geometry->buckets_total + stash.first) * bucket_bytes;
        stash.buckets = geometry->stash_buckets_total - stash.first;
    }
    const struct sw_scan_shape shape = {cpu->config.seed, geometry->buckets,
                                        geometry->buckets_total, geometry->stash_buckets,
                                        geometry->stash_buckets_total};
    uint64_t rest = geometry->buckets_total - main.first;
    main.buckets = SW_SCAN_WINDOW < rest ? SW_SCAN_WINDOW : rest;
    while (!sw_scan_collect(format, &shape, &cpu->state, &main, &stash, batch)) {
        main.buckets = main.buckets < rest / 2 ? main.buckets * 2 : rest;
    }
}
