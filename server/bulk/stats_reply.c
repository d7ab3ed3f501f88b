/* SPDX-License-Identifier: MIT
 *
 * stats_reply.c - the figures of the reply to STATS.
 */
#include "server/bulk/stats_reply.h"

#include <assert.h>

/* The four counts of a class of operations. */
#define CLASS_MAP(X, name, class)                                   \
    X(name##_operations, stats.counters.by_class[class].operations) \
    X(name##_hits, stats.counters.by_class[class].hits)             \
    X(name##_misses, stats.counters.by_class[class].misses)         \
    X(name##_probes, stats.counters.by_class[class].probes)

/* X(name, field of struct sw_server_stats), in the order in which clients show the figures. */
#define FIGURE_MAP(X)                              \
    CLASS_MAP(X, get, SW_CLASS_GET)                \
    CLASS_MAP(X, upsert, SW_CLASS_UPSERT)          \
    CLASS_MAP(X, delete, SW_CLASS_DELETE)          \
    X(inserted, stats.counters.inserted)           \
    X(updated, stats.counters.updated)             \
    X(deleted, stats.counters.deleted)             \
    X(probe_failures, stats.counters.failures)     \
    X(refused, stats.counters.refused)             \
    X(evicted, stats.counters.evicted)             \
    X(not_admitted, stats.counters.not_admitted)   \
    X(table_batches, stats.batches)                \
    X(keys, stats.occupied)                        \
    X(keys_max, info.occupied_max)                 \
    X(stash_keys, stats.stash_occupied)            \
    X(capacity_slots, info.capacity_slots)         \
    X(max_capacity_slots, info.max_capacity_slots) \
    X(table_bytes, info.bytes_reserved)            \
    X(rows_mapped, info.rows_mapped)               \
    X(rows_max, info.rows_max)                     \
    X(row_bytes_gpu, info.row_bytes_gpu)           \
    X(row_bytes_host, info.row_bytes_host)         \
    X(growths, stats.grown)                        \
    X(resizes, stats.resized)                      \
    X(resize_failures, stats.resize_failed)        \
    X(loading, persistence.loading)                \
    X(saves, persistence.saves)                    \
    X(save_failures, persistence.failures)         \
    X(unsaved_changes, persistence.changes)        \
    X(client_pause_ms, pause_left_ms)              \
    X(uptime_in_seconds, uptime_seconds)

/* Likewise, left out where they are not known. */
#define GPU_MAP(X)                                    \
    X(gpu_memory_used_bytes, gpu.memory_used_bytes)   \
    X(gpu_memory_total_bytes, gpu.memory_total_bytes) \
    X(gpu_busy_percent, gpu.busy_percent)             \
    X(gpu_memory_busy_percent, gpu.memory_busy_percent)

#define ONE_MORE(...) +1
#define ALWAYS (0 FIGURE_MAP(ONE_MORE) SW_GAUGE_MAP(ONE_MORE) SW_COUNTER_MAP(ONE_MORE))
#define ROWS (ALWAYS GPU_MAP(ONE_MORE))
static_assert(ROWS <= SW_FIGURES_MAX, "SW_FIGURES_MAX is too small for all figures");
#define NAME_FITS(name, ...)                                                                  \
    static_assert(sizeof(#name) <= SW_FIGURE_NAME_BYTES, #name " is too long for a figure's " \
                                                               "name");
FIGURE_MAP(NAME_FITS)
SW_GAUGE_MAP(NAME_FITS)
SW_COUNTER_MAP(NAME_FITS)
GPU_MAP(NAME_FITS)

uint32_t sw_bulk_stats_count(uint32_t wanted)
{
    return wanted == 0 || wanted > ROWS ? ROWS : wanted;
}

uint32_t sw_bulk_stats_write(const struct sw_server_stats *snapshot, struct sw_figure *out,
                             uint32_t count)
{
#define FIGURE(name, field) {#name, snapshot->field},
#define COUNTER(name, help) {#name, snapshot->counters.name},
    const struct sw_figure all[] = {FIGURE_MAP(FIGURE) SW_GAUGE_MAP(COUNTER) SW_COUNTER_MAP(COUNTER)
                                        GPU_MAP(FIGURE)};
    assert(count <= ROWS);
    uint32_t written = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i < ALWAYS || all[i].value != SW_GPU_UNKNOWN) {
            out[written++] = all[i];
        }
    }
    return written;
}
