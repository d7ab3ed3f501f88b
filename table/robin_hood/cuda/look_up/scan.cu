/* SPDX-License-Identifier: MIT
 *
 * scan.cu - windows of the table for scans. They are copied to pinned memory; sw_scan_collect reads
 * them.
 */
#include "table/robin_hood/cuda/host.cuh"

#include <string.h>

/* The state comes first in the staging memory, padded so that slots stay aligned. */
#define STATE_BYTES 64
static_assert(sizeof(struct sw_state) <= STATE_BYTES, "the state fits before the windows");

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static size_t bucket_bytes(const struct sw_cuda_table *table)
{
    return (size_t)sw_format_slot_bytes(table->format) * SW_BUCKET_SLOTS;
}

cudaError_t sw_cuda_scan_reserve(struct sw_cuda_queue *queue, uint64_t window)
{
    const struct sw_geometry *geometry = &queue->table->arrays.geometry;
    struct sw_cuda_scan *scan = &queue->scan;
    uint64_t main_room = smaller(window, geometry->buckets_total);
    uint64_t stash_room = smaller(window, geometry->stash_buckets_total);
    size_t bytes = STATE_BYTES + (main_room + stash_room) * bucket_bytes(queue->table);
    void *staging = NULL;
    if (bytes > scan->staging_bytes) {
        cudaError_t error = cudaHostAlloc(&staging, bytes, cudaHostAllocPortable);
        if (error != cudaSuccess) {
            return error;
        }
        cudaFreeHost(scan->staging);
        scan->staging = (char *)staging;
        scan->staging_bytes = bytes;
    }
    scan->window = window;
    scan->main_room = main_room;
    scan->stash_room = stash_room;
    return cudaSuccess;
}

/* Allocates the memory of the queue's first scan. Returns false if there is none. */
static bool reserve_first(struct sw_cuda_queue *queue)
{
    const uint64_t window = (uint64_t)queue->table->arrays.geometry.max_probe + 2;
    if (sw_cuda_scan_reserve(queue, window > SW_SCAN_WINDOW ? window : SW_SCAN_WINDOW) !=
        cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    return true;
}

template <int BITS>
static cudaError_t copy_windows(struct sw_cuda_queue *queue, const struct sw_batch *batch)
{
    typedef sw_width<BITS> W;
    const typename W::table *table = &sw_cuda_device_of<BITS>(queue->table)->table;
    struct sw_cuda_scan *scan = &queue->scan;
    size_t bytes = bucket_bytes(queue->table);
    if (scan->staging == NULL && !reserve_first(queue)) {
        return cudaSuccess; /* the poll returns SW_E_NOMEM */
    }
    if ((scan->main_room < scan->window && scan->main_room < table->main.buckets_total) ||
        (scan->stash_room < scan->window && scan->stash_room < table->stash.buckets_total)) {
        /* the table has grown; if there is no memory, the smaller windows are used */
        if (sw_cuda_scan_reserve(queue, scan->window) != cudaSuccess) {
            (void)cudaGetLastError();
        }
    }
    char *main_at = scan->staging + STATE_BYTES;
    typename W::word cursor = (typename W::word)batch->scan.cursor;

    scan->main.slots = main_at;
    scan->main.first = W::home(&table->main, cursor);
    scan->main.buckets = smaller(scan->main_room, table->main.buckets_total - scan->main.first);
    scan->stash.slots = NULL;
    scan->stash.first = 0;
    scan->stash.buckets = 0;
    if (table->stash.slots != NULL) {
        scan->stash.slots = main_at + scan->main.buckets * bytes;
        scan->stash.first = W::home(&table->stash, cursor);
        scan->stash.buckets =
            smaller(scan->stash_room, table->stash.buckets_total - scan->stash.first);
    }
    scan->shape = {table->seed, table->main.buckets, table->main.buckets_total,
                   table->stash.buckets, table->stash.buckets_total};
    cudaError_t error = cudaMemcpyAsync(scan->staging, table->state, sizeof(*table->state),
                                        cudaMemcpyDeviceToHost, queue->stream);
    if (error == cudaSuccess) {
        error = cudaMemcpyAsync(main_at, table->main.slots + scan->main.first * SW_BUCKET_SLOTS,
                                scan->main.buckets * bytes, cudaMemcpyDeviceToHost, queue->stream);
    }
    if (error == cudaSuccess && scan->stash.buckets != 0) {
        error = cudaMemcpyAsync((void *)scan->stash.slots,
                                table->stash.slots + scan->stash.first * SW_BUCKET_SLOTS,
                                scan->stash.buckets * bytes, cudaMemcpyDeviceToHost, queue->stream);
    }
    return error;
}

cudaError_t sw_cuda_scan_copy(struct sw_cuda_queue *queue, const struct sw_batch *batch)
{
    return SW_BY_FORMAT_NUMBER(queue->table->format, copy_windows, queue, batch);
}

bool sw_cuda_scan_answer(struct sw_cuda_queue *queue, struct sw_batch *batch)
{
    const struct sw_cuda_table *table = queue->table;
    const struct sw_cuda_scan *scan = &queue->scan;
    struct sw_batch answer = *batch;
    if (sw_cuda_scan_requests_rows(queue)) {
        answer.scan.values = NULL;
    }
    if (!sw_scan_collect(table->format, &scan->shape, (const struct sw_state *)scan->staging,
                         &scan->main, &scan->stash, &answer)) {
        return false;
    }
    batch->scan.cursor = answer.scan.cursor;
    batch->scan.got = answer.scan.got;
    return true;
}

/* Allocates `found` for the read of the values. Returns false if there is no memory. */
static bool reserve_found(struct sw_cuda_queue *queue)
{
    if (queue->scan.found != NULL) {
        return true;
    }
    const uint64_t words = ((uint64_t)queue->table->config.batch_ops_max + 63) / 64;
    if (cudaHostAlloc((void **)&queue->scan.found, words * sizeof(uint64_t),
                      cudaHostAllocMapped | cudaHostAllocPortable) != cudaSuccess) {
        (void)cudaGetLastError();
        queue->scan.found = NULL;
    }
    return queue->scan.found != NULL;
}

bool sw_cuda_scan_request_rows(struct sw_cuda_queue *queue, const struct sw_batch *batch)
{
    struct sw_batch *rows = &queue->scan.rows;
    if (!reserve_found(queue)) {
        return false;
    }
    memset(rows, 0, sizeof(*rows));
    rows->kind = SW_BATCH_OPERATIONS;
    rows->op = SW_GET;
    rows->count = batch->scan.got;
    rows->keys = batch->scan.keys;
    rows->previous = batch->scan.values;
    rows->found = queue->scan.found;
    rows->clock_ms = batch->clock_ms;
    queue->scan.reads_rows = true;
    return true;
}

void sw_cuda_scan_receive_rows(struct sw_cuda_queue *queue, struct sw_batch *batch)
{
    const size_t key_bytes = queue->table->slot_bits / 16;
    const size_t row_bytes =
        sw_cuda_has_rows(queue->table) ? queue->table->config.value_bytes : key_bytes;
    uint8_t *keys = (uint8_t *)batch->scan.keys;
    uint8_t *rows = (uint8_t *)batch->scan.values;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < batch->scan.got; i++) {
        if ((queue->scan.found[i / 64] >> (i % 64) & 1) == 0) {
            continue;
        }
        if (kept < i) {
            memcpy(keys + kept * key_bytes, keys + i * key_bytes, key_bytes);
            memcpy(rows + kept * row_bytes, rows + i * row_bytes, row_bytes);
        }
        kept++;
    }
    batch->scan.got = kept;
    batch->clock_ms = queue->scan.rows.clock_ms;
}
