/* SPDX-License-Identifier: MIT
 *
 * series.c - the rows of a time series (see series.h).
 */
#include "bench/load/series.h"

#include "bench/load/histogram.h"

#include <inttypes.h>
#include <string.h>

#define SECOND_NS 1000000000ULL

void sw_load_series_record(struct sw_load_series_counts *counts, uint64_t latency_ns)
{
    atomic_uint_fast64_t *bucket =
        &counts->buckets[sw_load_bucket(latency_ns, SW_LOAD_SERIES_BITS)];
    uint64_t count = atomic_load_explicit(bucket, memory_order_relaxed);
    atomic_store_explicit(bucket, count + 1, memory_order_relaxed);
}

bool sw_load_series_open(struct sw_load_series *series, const char *path)
{
    memset(series, 0, sizeof(*series));
    if (!sw_cli_output_open(&series->output, path)) {
        return false;
    }
    series->out = series->output.file;
    fputs("phase,second,seconds,keys,keys_per_second,units,p50_us,p99_us\n", series->out);
    return true;
}

void sw_load_series_start(struct sw_load_series *series, const char *phase, uint64_t now_ns)
{
    series->phase = phase;
    series->start_ns = series->row_ns = now_ns;
    series->keys = 0;
    series->second = 0;
    memset(series->before, 0, sizeof(series->before));
    memset(series->now, 0, sizeof(series->now));
}

bool sw_load_series_is_due(const struct sw_load_series *series, uint64_t now_ns)
{
    return series->out && now_ns >= series->start_ns + (series->second + 1ULL) * SECOND_NS;
}

void sw_load_series_add(struct sw_load_series *series, const struct sw_load_series_counts *counts)
{
    for (uint32_t i = 0; i < SW_LOAD_SERIES_BUCKETS; i++) {
        series->now[i] += atomic_load_explicit(&counts->buckets[i], memory_order_relaxed);
    }
}

/* Returns a percentile of the current row, which has `units` units. */
static double percentile_us(const struct sw_load_series *series, uint64_t units, uint64_t percent)
{
    uint64_t rank = (units * percent + 99) / 100, seen = 0;
    for (uint32_t i = 0; i < SW_LOAD_SERIES_BUCKETS; i++) {
        seen += series->now[i] - series->before[i];
        if (seen >= rank && rank > 0) {
            return (double)sw_load_bucket_high(i, SW_LOAD_SERIES_BITS) / 1e3;
        }
    }
    return 0;
}

void sw_load_series_row(struct sw_load_series *series, uint64_t keys_done, uint64_t now_ns)
{
    uint64_t units = 0, keys = keys_done - series->keys;
    double seconds = (double)(now_ns - series->row_ns) / 1e9;
    for (uint32_t i = 0; i < SW_LOAD_SERIES_BUCKETS; i++) {
        units += series->now[i] - series->before[i];
    }
    series->second++;
    if (series->out && (units || keys)) {
        fprintf(series->out, "%s,%u,%.3f,%" PRIu64 ",%.0f,%" PRIu64 ",%.3f,%.3f\n", series->phase,
                series->second, seconds, keys, seconds > 0 ? (double)keys / seconds : 0, units,
                percentile_us(series, units, 50), percentile_us(series, units, 99));
    } else if (series->out && seconds >= 1) {
        fprintf(series->out, "%s,%u,%.3f,0,0,0,0,0\n", series->phase, series->second, seconds);
    }
    memcpy(series->before, series->now, sizeof(series->before));
    memset(series->now, 0, sizeof(series->now));
    series->keys = keys_done;
    series->row_ns = now_ns;
}

bool sw_load_series_close(struct sw_load_series *series)
{
    if (!series->out) {
        return true;
    }
    const bool has_rows = series->phase != NULL;
    series->out = NULL;
    return sw_cli_output_end(&series->output, has_rows) || !has_rows;
}
