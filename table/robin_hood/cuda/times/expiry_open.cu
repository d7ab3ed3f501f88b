/* SPDX-License-Identifier: MIT
 *
 * expiry_open.cu - allocates the memory for expiry times when the first time is set. A resize
 * shrinks it to the need, and frees all of it if no entry has a time.
 */
#include <stdlib.h>
#include <string.h>

#include "table/device/cutter.cuh"
#include "table/device/zeroed.cuh"
#include "table/robin_hood/cuda/times/expiry.cuh"

/* Configuration of the second table. Its maximum capacity suffices if every entry of the table
 * expires. */
static struct sw_table_config config_of(const struct sw_cuda_table *table)
{
    const uint64_t most = sw_geometry_capacity_max(&table->config);
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CUDA;
    config.device = table->config.device;
    config.capacity_slots = SW_EXPIRY_FIRST_SLOTS < most ? SW_EXPIRY_FIRST_SLOTS : most;
    config.max_capacity_slots = most;
    config.max_load = table->config.max_load;
    config.seed = table->config.seed;
    config.batch_ops_max = table->combined.operations_max < SW_CUDA_TIMES_OPS_MAX
                               ? table->combined.operations_max
                               : SW_CUDA_TIMES_OPS_MAX;
    config.stash_slots = SW_EXPIRY_STASH_SLOTS;
    config.tuning.hints = SW_CHOICE_NEVER; /* they do not pay next to other look-ups */
    return config;
}

/* Cuts the arrays of the view from `base`, for n operations; with NULL it only counts. */
static size_t cut(struct sw_cuda_expiry_view *view, void *base, uint64_t n)
{
    struct sw_cuda_cutter cutter = {(char *)base, 0};
    sw_cuda_cut(&cutter, &view->control, 1);
    sw_cuda_cut(&cutter, &view->wanted, n);
    sw_cuda_cut(&cutter, &view->before, n);
    sw_cuda_cut(&cutter, &view->ops, n);
    sw_cuda_cut(&cutter, &view->silent, n);
    sw_cuda_cut(&cutter, &view->was, n);
    sw_cuda_cut(&cutter, &view->first, n);
    sw_cuda_cut(&cutter, &view->time, n);
    sw_cuda_cut(&cutter, &view->time_before, n);
    sw_cuda_cut(&cutter, &view->present, n);
    sw_cuda_cut(&cutter, &view->refused, n);
    sw_cuda_cut(&cutter, &view->found_expired, n);
    view->kept_keys = (uint64_t *)(void *)view->found_expired;
    view->kept_times = view->kept_keys + n;
    static_assert(sizeof(*view->found_expired) >= 2 * sizeof(uint64_t), "both lists");
    sw_cuda_cut(&cutter, &view->ended_keys, n);
    return cutter.used;
}

static cudaError_t allocate(struct sw_cuda_table *table, struct sw_cuda_expiry *expiry)
{
    const uint64_t n = table->combined.operations_max;
    struct sw_cuda_combined *inner = &expiry->inner;
    expiry->bytes = cut(&expiry->view, NULL, n);
    cudaError_t error = sw_cuda_allocate_zeroed(&expiry->memory, expiry->bytes);
    if (error == cudaSuccess) {
        cut(&expiry->view, expiry->memory, n);
        error = cudaHostAlloc((void **)&expiry->pinned, sizeof(*expiry->pinned),
                              cudaHostAllocMapped | cudaHostAllocPortable);
    }
    if (error == cudaSuccess) {
        inner->operations_max = n < SW_CUDA_REMOVALS_MAX ? (uint32_t)n : SW_CUDA_REMOVALS_MAX;
        inner->key_bytes = table->combined.key_bytes;
        inner->value_bytes = table->combined.value_bytes;
        inner->record_bytes = table->combined.record_bytes;
        inner->stream = table->combined.stream;
        error = sw_cuda_combined_reserve_own(inner, &expiry->inner_buffer);
        expiry->bytes += inner->bytes;
    }
    return error;
}

/* Frees the memory; keeps the state of the sweep. */
static void close_memory(struct sw_cuda_expiry *expiry)
{
    if (expiry->times != NULL) {
        expiry->times->expiry_calls->close(expiry->times_queue);
    }
    sw_cuda_launch_buffer_close(&expiry->inner_buffer);
    (void)cudaFreeHost(expiry->pinned);
    (void)cudaFree(expiry->memory);
    free(expiry->found_expired);
    expiry->times_queue = NULL;
    expiry->times = NULL;
    expiry->inner = {};
    expiry->pinned = NULL;
    expiry->memory = NULL;
    expiry->bytes = 0;
    expiry->found_expired = NULL;
    expiry->found_expired_room = 0;
}

/* Opens the memory. Returns false if memory is short; then everything is closed. */
static bool open_memory(struct sw_cuda_table *table, struct sw_cuda_expiry *expiry)
{
    const struct sw_table_config config = config_of(table);
    void *opened = NULL;
    const int status = table->expiry_calls->open(&config, &opened);
    if (status == SW_OK) {
        expiry->times_queue = (struct sw_cuda_queue *)opened;
        expiry->times = expiry->times_queue->table;
    }
    const cudaError_t error = status == SW_OK ? allocate(table, expiry) : cudaErrorUnknown;
    if (error != cudaSuccess) {
        if (status == SW_OK && error != cudaErrorMemoryAllocation) {
            (void)sw_cuda_check(table, error, "memory for times");
        }
        (void)cudaGetLastError(); /* leaves the context as it was */
        close_memory(expiry);
    }
    return error == cudaSuccess;
}

bool sw_cuda_expiry_open(struct sw_cuda_table *table)
{
    struct sw_cuda_expiry *expiry = table->expiry;
    if (expiry != NULL && sw_cuda_expiry_is_open(expiry)) {
        return true;
    }
    if (expiry != NULL) {
        const bool is_open = open_memory(table, expiry);
        sw_cuda_expiry_resized(table);
        return is_open;
    }
    expiry = (struct sw_cuda_expiry *)calloc(1, sizeof(*expiry));
    if (expiry == NULL || !open_memory(table, expiry)) {
        free(expiry);
        return false;
    }
    sw_expiry_pass_clear(&expiry->pass);
    /* release: other host threads see a complete struct (expiry.cu:expiry_of) */
    __atomic_store_n(&table->expiry, expiry, __ATOMIC_RELEASE);
    sw_cuda_expiry_resized(table);
    return true;
}

void sw_cuda_expiry_close(struct sw_cuda_table *table)
{
    struct sw_cuda_expiry *expiry = table->expiry;
    if (expiry != NULL) {
        close_memory(expiry);
        free(expiry->expired_keys);
        free(expiry);
    }
}

cudaError_t sw_cuda_expiry_resize(struct sw_cuda_queue *queue)
{
    struct sw_cuda_expiry *expiry = queue->table->expiry;
    if (expiry == NULL || !sw_cuda_expiry_is_open(expiry)) {
        return cudaSuccess;
    }
    cudaError_t error = sw_cuda_settle(queue);
    if (error != cudaSuccess) {
        return error;
    }
    if (expiry->held == 0) {
        close_memory(expiry);
        sw_cuda_expiry_resized(queue->table);
        return cudaSuccess;
    }
    struct sw_batch least = {};
    least.kind = SW_BATCH_RESIZE;
    least.capacity = 1;
    error = sw_cuda_times_run(expiry, &least);
    sw_cuda_expiry_resized(queue->table);
    return least.status == SW_E_NOMEM ? cudaSuccess : error; /* the table keeps its size */
}
