/* SPDX-License-Identifier: MIT
 *
 * arrays.cu - the device memory of a cache.
 */
#include "table/cache/cuda/arrays.cuh"

#include <stdlib.h>

#include "table/cache/cuda/ids.cuh"
#include "table/device/cutter.cuh"

static void cut_rows(struct sw_cuda_cutter *cutter, struct sw_cache_rows *rows,
                     const struct sw_cache_slots *slots)
{
    if (slots->two) {
        uint64_t buckets = sw_cache_first_buckets(slots);
        sw_cuda_cut(cutter, &rows->counts, buckets);
        sw_cuda_cut(cutter, &rows->entries, buckets * SW_CACHE_ROW);
        sw_cuda_cut(cutter, &rows->places, rows->ops_max);
    } else {
        uint64_t ranges = sw_cache_ranges(slots, rows->range_rows);
        sw_cuda_cut(cutter, &rows->range_counts, ranges);
        sw_cuda_cut(cutter, &rows->ranges, ranges * rows->range_ops);
    }
    sw_cuda_cut(cutter, &rows->rest, rows->ops_max);
    sw_cuda_cut(cutter, &rows->rest_count, 1);
    sw_cuda_cut(cutter, &rows->rest_count_next, 1);
}

/* Cuts the arrays out of memory at `base`, and returns their bytes. */
static uint64_t cut(struct sw_cache_arrays *arrays, void *base)
{
    struct sw_cuda_cutter cutter = {(char *)base, 0};
    struct sw_cache_slots *slots = &arrays->slots;
    uint64_t capacity = slots->buckets * SW_CACHE_BUCKET_SLOTS;
    sw_cuda_cut(&cutter, &slots->digests, capacity);
    sw_cuda_cut(&cutter, &slots->marks, capacity);
    sw_cuda_cut(&cutter, &slots->heads, slots->buckets);
    sw_cuda_cut(&cutter, &arrays->totals, 1);
    if (arrays->rows.ops_max > 0) {
        cut_rows(&cutter, &arrays->rows, slots);
    }
    uint8_t *entries = NULL;
    sw_cuda_cut(&cutter, &entries,
                slots->apart ? capacity * sizeof(struct sw_cache_entry)
                             : slots->buckets * sw_cache_entries_bytes(slots->value_bytes));
    sw_cache_lay_out(slots, entries);
    return cutter.used;
}

static cudaError_t clear_rows(const struct sw_cache_rows *rows, const struct sw_cache_slots *slots)
{
    if (rows->ops_max == 0) {
        return cudaSuccess;
    }
    cudaError_t error =
        slots->two
            ? cudaMemset(rows->counts, 0, sw_cache_first_buckets(slots) * sizeof(*rows->counts))
            : cudaMemset(rows->range_counts, 0,
                         sw_cache_ranges(slots, rows->range_rows) * sizeof(*rows->range_counts));
    if (error == cudaSuccess) {
        error = cudaMemset(rows->rest_count, 0, sizeof(*rows->rest_count));
    }
    return error == cudaSuccess
               ? cudaMemset(rows->rest_count_next, 0, sizeof(*rows->rest_count_next))
               : error;
}

static void choose_rows(struct sw_cache_rows *rows, const struct sw_cache_slots *slots,
                        enum sw_cache_writing writing)
{
    rows->are_long = sw_cache_rows_are_long(slots, writing);
    rows->range_rows = rows->are_long ? SW_CACHE_LONG_RANGE_ROWS : SW_CACHE_SHORT_RANGE_ROWS;
    rows->range_ops = rows->are_long ? SW_CACHE_LONG_RANGE_OPS : SW_CACHE_SHORT_RANGE_OPS;
    rows->ops_min = writing == SW_CACHE_WRITING_AUTO ? SW_CACHE_ROWS_MIN : 1;
    rows->ops_max = sw_cache_rows_max(slots, rows->are_long, rows->ops_min);
}

/* Maps host memory for all values. The kernels access it over the bus. */
static cudaError_t open_values(struct sw_cache_arrays *arrays)
{
    struct sw_cache_slots *slots = &arrays->slots;
    const uint64_t bytes = sw_cache_values_bytes(slots);
    int device = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess) {
        error = sw_cuda_range_open(&arrays->values, device, true, bytes);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_range_map(&arrays->values, bytes);
    }
    slots->values = arrays->values.base;
    return error;
}

/* Sets all except the addresses. */
static void describe(struct sw_cache_arrays *arrays, const struct sw_cache_slots *slots,
                     enum sw_cache_writing writing)
{
    *arrays = sw_cache_arrays();
    arrays->slots = *slots;
    arrays->writing = writing;
    if (writing != SW_CACHE_WRITING_LOCKS) {
        choose_rows(&arrays->rows, slots, writing);
    }
    arrays->bytes = cut(arrays, NULL);
}

uint64_t sw_cache_arrays_bytes(const struct sw_cache_slots *slots, enum sw_cache_writing writing)
{
    struct sw_cache_arrays arrays;
    describe(&arrays, slots, writing);
    return arrays.bytes;
}

cudaError_t sw_cache_arrays_open(struct sw_cache_arrays *arrays, const struct sw_cache_slots *slots,
                                 enum sw_cache_writing writing)
{
    describe(arrays, slots, writing);
    cudaError_t error = cudaMalloc(&arrays->memory, arrays->bytes);
    if (error != cudaSuccess) {
        return error;
    }
    cut(arrays, arrays->memory);
    if (slots->apart) {
        error = open_values(arrays);
        if (error != cudaSuccess) {
            sw_cache_arrays_close(arrays);
            return error;
        }
    }
    error = cudaMemset(arrays->totals, 0, sizeof(*arrays->totals));
    if (error == cudaSuccess) {
        error = cudaMemset(arrays->slots.heads, 0, slots->buckets * sizeof(*slots->heads));
    }
    if (error == cudaSuccess) {
        error = clear_rows(&arrays->rows, slots);
    }
    if (error == cudaSuccess) {
        error = sw_cache_launch_clear(&arrays->slots, arrays->totals, NULL, NULL);
    }
    if (error == cudaSuccess && slots->ids != 0) {
        error = sw_cache_launch_number(&arrays->slots, NULL);
    }
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(NULL);
    }
    if (error != cudaSuccess) {
        sw_cache_arrays_close(arrays);
    }
    return error;
}

void sw_cache_arrays_close(struct sw_cache_arrays *arrays)
{
    (void)cudaFree(arrays->memory);
    arrays->memory = NULL;
    sw_cuda_range_close(&arrays->values);
}

static cudaError_t fetch(const struct sw_cache_arrays *arrays, struct sw_cache_snapshot *snapshot)
{
    const struct sw_cache_slots *from = &arrays->slots;
    struct sw_cache_slots *to = &snapshot->slots;
    uint64_t capacity = from->buckets * SW_CACHE_BUCKET_SLOTS;
    struct part {
        void *to;
        const void *from;
        uint64_t bytes;
    } parts[] = {
        {to->digests, from->digests, capacity},
        {to->marks, from->marks, capacity},
        {to->entries, from->entries, capacity * from->entry_stride},
        {to->heads, from->heads, from->buckets * sizeof(*from->heads)},
        {&snapshot->counters, arrays->totals, sizeof(snapshot->counters)},
        {to->values, from->values, to->values == NULL ? 0 : capacity * from->value_stride},
    };
    for (const struct part &part : parts) {
        cudaError_t error = cudaMemcpy(part.to, part.from, part.bytes, cudaMemcpyDeviceToHost);
        if (error != cudaSuccess) {
            return error;
        }
    }
    return cudaSuccess;
}

int sw_cache_arrays_snapshot(const struct sw_cache_arrays *arrays,
                             struct sw_cache_snapshot *snapshot, cudaError_t *error)
{
    uint64_t capacity = arrays->slots.buckets * SW_CACHE_BUCKET_SLOTS;
    struct sw_cache_slots *slots = &snapshot->slots;
    *slots = arrays->slots;
    slots->values = NULL;
    snapshot->loose = false;
    *error = cudaSuccess;
    const uint64_t id_bytes = slots->ids == 0 ? 0 : slots->value_stride;
    snapshot->memory = malloc(capacity * (2 + slots->entry_stride + id_bytes) +
                              slots->buckets * sizeof(*slots->heads));
    if (snapshot->memory == NULL) {
        return SW_E_NOMEM;
    }
    slots->entries = (uint8_t *)snapshot->memory;
    slots->heads = (struct sw_cache_head *)(slots->entries + capacity * slots->entry_stride);
    slots->digests = (uint8_t *)(slots->heads + slots->buckets);
    slots->marks = slots->digests + capacity;
    slots->values = slots->ids == 0 ? NULL : slots->marks + capacity;
    *error = fetch(arrays, snapshot);
    if (*error != cudaSuccess) {
        free(snapshot->memory);
        return SW_E_DEVICE;
    }
    return SW_OK;
}
