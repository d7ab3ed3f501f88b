/* SPDX-License-Identifier: MIT
 *
 * cuda_backend.cu - the CUDA backend: a table's device memory, and the members of sw_backend.
 */
#include "table/config.h"
#include "table/device/direct.cuh"
#include "table/device/shell.cuh"
#include "table/host/memory.h"
#include "table/robin_hood/cuda/rebuild/reserve.cuh"
#include "table/robin_hood/cuda/times/expiry.cuh"
#include "table/robin_hood/ids_backend.h"
#include "table/robin_hood/set_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Up to this load most keys are in their home bucket: hints would cost more than they save.
 */
#define HINTS_MAX_LOAD 0.86

/* --- memory ----------------------------------------------------------------------------------- */

static bool keeps_hints(const struct sw_table_config *config)
{
    return config->tuning.hints == SW_CHOICE_ALWAYS ||
           (config->tuning.hints == SW_CHOICE_AUTO && config->max_load > HINTS_MAX_LOAD);
}

/* Returns 90 for 9.0, or 0 if the query fails. */
static int compute_capability(int device)
{
    int major = 0;
    int minor = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess) {
        (void)cudaGetLastError(); /* the base policy serves any GPU */
        return 0;
    }
    return 10 * major + minor;
}

/* Returns 1 if the query fails. Launches then have fewer blocks than could run, but the blocks
 * loop. */
static uint32_t multiprocessors_of(int device)
{
    int count = 0;
    if (cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) {
        (void)cudaGetLastError();
    }
    return count > 0 ? (uint32_t)count : 1;
}

static cudaError_t open_combined(struct sw_cuda_table *table, uint32_t ops_max)
{
    struct sw_cuda_combined *combined = &table->combined;
    combined->key_bytes = table->slot_bits / 16;
    combined->value_bytes =
        table->config.value_bytes != 0 || sw_cuda_is_set(table) ? 0 : combined->key_bytes;
    combined->counts_alone = table->config.key_text_bytes > 0; /* the engine does not compare key
                                                                  strings */
    combined->record_bytes = sizeof(struct sw_cuda_record);
    combined->operations_max = sw_cuda_combined_max(SW_COMBINED_STREAMED_MAX, ops_max,
                                                    combined->key_bytes, combined->value_bytes);
    return sw_cuda_combined_open(combined, false, table->launcher);
}

template <int BITS>
static cudaError_t open_rows(struct sw_cuda_table *table, const struct sw_geometry *geometry,
                             uint32_t multiprocessors)
{
    if (table->config.value_bytes == 0) {
        return cudaSuccess;
    }
    cudaError_t error = sw_cuda_arena_open(&table->arena, &table->config, geometry,
                                           table->combined.operations_max, table->launcher);
    return error == cudaSuccess ? sw_cuda_rows_load<BITS>(&table->arena.view, multiprocessors)
                                : error;
}

template <int BITS> static cudaError_t open_ids(struct sw_cuda_table *table)
{
    const struct sw_table_config *config = &table->config;
    if (!sw_config_has_ids(config)) {
        return cudaSuccess;
    }
    const cudaError_t error =
        sw_cuda_ids_open(&table->ids, config->rows_max, table->combined.operations_max);
    table->scratch_bytes += table->ids.bytes;
    return error == cudaSuccess ? sw_cuda_ids_load<BITS>() : error;
}

/* Direct reads need the state: it then lies in their page. */
static cudaError_t allocate_state(struct sw_cuda_table *table)
{
    const bool direct = sw_cuda_may_export(&table->config);
    table->scratch_bytes = sizeof(*table->state) + sizeof(*table->control);
    cudaError_t error = direct ? sw_cuda_direct_open(table)
                               : cudaMalloc((void **)&table->state, sizeof(*table->state));
    if (error == cudaSuccess && direct) {
        table->state = &table->direct->page->state;
        table->scratch_bytes += sw_cuda_export_bytes(sizeof(*table->direct->page));
    }
    if (error == cudaSuccess) {
        error = cudaMalloc((void **)&table->control, sizeof(*table->control));
    }
    if (error == cudaSuccess) {
        error = cudaMemsetAsync(table->state, 0, sizeof(*table->state), cudaStreamPerThread);
    }
    return error == cudaSuccess
               ? cudaMemsetAsync(table->control, 0, sizeof(*table->control), cudaStreamPerThread)
               : error;
}

/* Runs every kernel once, and waits for all that was enqueued. Kernels of writes use the scratch.
 */
template <int BITS> static cudaError_t warm_up(struct sw_cuda_table *table, uint64_t slots_total)
{
    struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(table);
    cudaError_t error = sw_cuda_turn_take(table->launcher);
    sw_cuda_use_scratch<BITS>(table);
    if (error == cudaSuccess) {
        error = sw_cuda_warm_up<BITS>(device, table->config.batch_ops_max, slots_total);
    }
    const cudaError_t waited = cudaStreamSynchronize(cudaStreamPerThread);
    sw_cuda_turn_return(table->launcher);
    return error == cudaSuccess ? waited : error;
}

/* Allocates all device memory, fills in the device's view of the table, and empties the table.
 * Waits for the device, so that a binary built for other GPUs fails here. */
template <int BITS>
static cudaError_t allocate_all(struct sw_cuda_table *table, const struct sw_geometry *geometry)
{
    const struct sw_table_config *config = &table->config;
    struct sw_cuda_device<BITS> *device = sw_cuda_device_of<BITS>(table);
    const uint32_t ops_max = sw_cuda_scratch_ops(config, geometry);
    cudaError_t error = sw_cuda_pool_of(table->launcher, &table->pool);
    if (error == cudaSuccess) {
        error = allocate_state(table);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_reserve_scratch<BITS>(table, ops_max);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_arrays_open(&table->arrays, geometry, BITS, table->has_hints, true,
                                    table->direct != NULL, table->pool, cudaStreamPerThread);
    }
    if (error == cudaSuccess) {
        device->multiprocessors = multiprocessors_of(table->device);
        error = sw_cuda_range_blocks<BITS>(device->multiprocessors, &device->rest_blocks);
    }
    if (error != cudaSuccess) {
        return error;
    }
    sw_cuda_arrays_use<BITS>(&table->arrays, device);
    device->table.state = table->state;
    device->table.seed = config->seed;
    if (table->direct != NULL) {
        table->direct->no_jumps = &device->table.main.no_jumps;
    }
    device->control = table->control;
    device->block_size = config->tuning.block_size;
    device->arch = compute_capability(table->device);
    device->counts_probes = !config->tuning.without_probe_counts;
    error = open_combined(table, ops_max);
    if constexpr (!sw_width<BITS>::is_set) {
        if (error == cudaSuccess) {
            error = open_rows<BITS>(table, geometry, device->multiprocessors);
        }
        if (error == cudaSuccess) {
            error = open_ids<BITS>(table);
        }
    }
    return error == cudaSuccess ? warm_up<BITS>(table, geometry->slots_total) : error;
}

/* --- open and close --------------------------------------------------------------------------- */

static void cuda_close(void *context)
{
    struct sw_cuda_table *table = (struct sw_cuda_table *)context;
    (void)cudaSetDevice(table->device);
    sw_cuda_expiry_close(table);
    if (table->direct != NULL) {
        table->state = NULL; /* goes with its page */
        sw_cuda_direct_close(table);
    }
    if (table->pool != NULL) {
        sw_cuda_arrays_close(&table->arrays, table->pool, cudaStreamPerThread);
        (void)cudaStreamSynchronize(cudaStreamPerThread);
        sw_cuda_pool_release(table->pool); /* not later: who drops a table may need its memory */
    }
    pthread_mutex_destroy(&table->growth);
    sw_cuda_arena_close(&table->arena);
    sw_cuda_ids_close(&table->ids);
    (void)cudaFree(table->state);
    (void)cudaFree(table->control);
    sw_cuda_owner_close(table); /* last: a device of its own goes with it */
    free(table);
}

/* Rejects tuning values that this backend does not support and values that no backend supports. */
static bool tuning_is_valid(const struct sw_table_config *config, char *reason, size_t reason_size)
{
    uint32_t block = config->tuning.block_size;
    if (block != 0 && (block < 64 || block > 1024 || (block & (block - 1)) != 0)) {
        snprintf(reason, reason_size, "a block must have 64, 128, 256, 512 or 1024 threads, not %u",
                 (unsigned)block);
        return false;
    }
    if (config->max_capacity_slots > config->capacity_slots && !sw_cuda_may_resize(config)) {
        snprintf(
            reason, reason_size,
            "a table on a GPU grows only with a stash and with a probe cap that is hardly ever "
            "met: leave max-probe out");
        return false;
    }
    return true;
}

/* A batch on ids is always gathered. */
static bool ids_are_possible(const struct sw_table_config *config, char *reason, size_t reason_size)
{
    const uint32_t bytes = config->slot_bits / 16;
    const uint32_t most =
        sw_cuda_combined_max(SW_COMBINED_STREAMED_MAX, config->batch_ops_max, bytes, bytes);
    if (sw_config_has_ids(config) && config->batch_ops_max > most) {
        snprintf(reason, reason_size,
                 "a batch on ids on a GPU must hold at most %u operations, not %u", (unsigned)most,
                 (unsigned)config->batch_ops_max);
        return false;
    }
    return true;
}

/* Returns the device memory for rows. */
static uint64_t bytes_of_rows(const struct sw_table_config *config)
{
    if (config->value_bytes == 0 || config->rows_in == SW_ROWS_IN_HOST) {
        return 0;
    }
    return config->rows_in == SW_ROWS_IN_GPU_HOST
               ? config->rows_gpu_bytes
               : sw_geometry_rows_max(config) * sw_row_stride(config->value_bytes);
}

/* --- tables and queues ------------------------------------------------------------------------ */

static cudaError_t allocate_for(struct sw_cuda_table *table, const struct sw_table_config *config)
{
    struct sw_geometry geometry;
    (void)sw_geometry_compute(config, &geometry, NULL, 0); /* cuda_open has rejected invalid
                                                              geometries */
    table->config = *config;
    table->slot_bits = config->slot_bits;
    table->format = sw_format(config->slot_bits, config->is_set);
    table->has_hints = keeps_hints(config);
    table->new_keys = SW_CUDA_NEW_KEYS_ALL;
    pthread_mutex_init(&table->growth, NULL); /* cannot fail, like the owner's mutexes */
    const cudaError_t error = SW_BY_FORMAT_NUMBER(table->format, allocate_all, table, &geometry);
    if (error == cudaSuccess) {
        sw_cuda_table_resized(table);
    }
    return error;
}

namespace
{
struct robin_hood : sw_cuda_shell_defaults {
    typedef struct sw_cuda_table Table;
    typedef struct sw_cuda_queue Queue;
    typedef struct sw_cuda_tally Tally;
    typedef struct sw_cuda_record Record;
    static const uint32_t TALLIES = SW_CUDA_IN_FLIGHT_MAX;
    static constexpr auto allocate = allocate_for;
    static constexpr auto close = cuda_close;
    static constexpr auto close_queue = sw_cuda_queue_free;
    static int valid(const struct sw_table_config *config, char *reason, size_t reason_size)
    {
        return tuning_is_valid(config, reason, reason_size) &&
                       sw_cuda_arena_is_possible(config, reason, reason_size) &&
                       ids_are_possible(config, reason, reason_size)
                   ? SW_OK
                   : SW_E_INVALID;
    }
    static uint64_t bytes(const Table *table, const struct sw_table_config *config)
    {
        struct sw_geometry geometry;
        (void)sw_geometry_compute(config, &geometry, NULL, 0);
        return table->scratch_bytes + table->scratch_need + table->combined.bytes +
               geometry.bytes_total + bytes_of_rows(config) +
               (sw_config_has_ids(config) ? sw_cuda_ids_bytes(config->rows_max, 0) : 0);
    }
};
} // namespace

/* --- the times of entries --------------------------------------------------------------------- */

static int cuda_open(const struct sw_table_config *config, void **out, char *reason,
                     size_t reason_size);

/* Opens a table of this backend with one queue. *out is that queue. */
static int times_open(const struct sw_table_config *config, void **out)
{
    char reason[256];
    void *times = NULL;
    int status = cuda_open(config, &times, reason, sizeof(reason));
    if (status == SW_OK) {
        ((struct sw_cuda_table *)times)->forbids_holes = true;
        status = sw_cuda_shell_queue_open<robin_hood>(times, out);
        if (status != SW_OK) {
            cuda_close(times);
        }
    }
    return status;
}

static void times_close(void *context)
{
    struct sw_cuda_table *times = ((struct sw_cuda_queue *)context)->table;
    sw_cuda_shell_queue_close<robin_hood>(context);
    cuda_close(times);
}

static int times_run(void *context, struct sw_batch *batch)
{
    struct sw_cuda_queue *queue = (struct sw_cuda_queue *)context;
    int status = sw_cuda_submit(queue, batch);
    if (status != SW_OK) {
        return cudaErrorUnknown; /* submit has reported the error */
    }
    do {
        const cudaError_t error = cudaStreamSynchronize(queue->stream);
        if (error != cudaSuccess) {
            return error;
        }
        status = sw_cuda_poll(queue, batch);
    } while (status == SW_PENDING);
    return status == SW_OK ? cudaSuccess : cudaErrorUnknown;
}

static int times_grow(void *context, uint64_t more)
{
    struct sw_cuda_queue *queue = (struct sw_cuda_queue *)context;
    if (!sw_cuda_channel_begin(queue)) {
        return cudaErrorUnknown;
    }
    cudaError_t error =
        sw_cuda_must_grow(queue->table, more) ? sw_cuda_grow_for(queue, more, 0) : cudaSuccess;
    if (error == cudaSuccess) {
        error = sw_cuda_write_submitted(queue);
    }
    error = sw_cuda_channel_end(queue, error) ? error : cudaErrorUnknown;
    return error == cudaSuccess ? cudaStreamSynchronize(queue->stream) : error;
}

static const struct sw_expiry_table_calls expiry_calls = {times_open, times_close, times_run,
                                                          times_grow};

static int cuda_open(const struct sw_table_config *config, void **out, char *reason,
                     size_t reason_size)
{
    struct sw_geometry geometry;
    *out = NULL;
    int status = sw_geometry_compute(config, &geometry, reason, reason_size);
    if (status == SW_OK) {
        status = sw_cuda_shell_open<robin_hood>(config, out, reason, reason_size);
    }
    if (status == SW_E_NOMEM && config->rows_in != SW_ROWS_IN_GPU) {
        const size_t told = strnlen(reason, reason_size);
        snprintf(reason + told, reason_size - told,
                 "; of the host's, where rows are to lie, %llu are available",
                 (unsigned long long)sw_memory_available());
    }
    if (status == SW_OK) {
        ((struct sw_cuda_table *)*out)->expiry_calls = &expiry_calls;
    }
    return status;
}

/* --- the other members ------------------------------------------------------------------------ */

static void cuda_facts(void *context, struct sw_backend_facts *facts)
{
    struct sw_cuda_table *table = (struct sw_cuda_table *)context;
    pthread_mutex_lock(&table->order);
    sw_geometry_facts(&table->config, &table->arrays.geometry, facts);
    facts->bus_id = table->bus_id;
    facts->bytes_reserved = sw_cuda_table_bytes(table);
    facts->bytes_unused = sw_cuda_pool_unused(table->pool, table->arrays.bytes);
    if (sw_cuda_has_rows(table)) {
        const uint64_t mapped = sw_cuda_arena_mapped(&table->arena);
        facts->rows_max = sw_geometry_rows_max(&table->config);
        facts->rows_mapped = mapped < facts->rows_max ? mapped : facts->rows_max;
        sw_cuda_arena_row_bytes(&table->arena, &facts->row_bytes_gpu, &facts->row_bytes_host);
        facts->image_bytes += mapped * table->arena.view.stride;
    }
    facts->gathers_all = sw_cuda_has_rows(table) || sw_cuda_has_ids(table);
    facts->finds_first = sw_cuda_has_ids(table);
    facts->grown = table->grown;
    facts->resized = table->resized;
    facts->resize_failed = table->resize_failed;
    facts->holes_max = table->holes.most;
    facts->hole_passes = table->hole_passes;
    facts->combined_ops_max = sw_cuda_combined_usual(table);
    facts->gathered_ops_max = table->combined.operations_max;
    facts->filters_slots = true;
    for (int w = 0; w < SW_WRITE_PATH_COUNT; w++) {
        facts->write_paths[w].batches =
            __atomic_load_n(&table->write_paths[w].batches, __ATOMIC_RELAXED);
        facts->write_paths[w].operations =
            __atomic_load_n(&table->write_paths[w].operations, __ATOMIC_RELAXED);
    }
    sw_cuda_expiry_facts(table, facts);
    pthread_mutex_unlock(&table->order);
}

static bool must_wait(const void *context, uint32_t flying)
{
    return sw_cuda_turn_must_wait((const struct sw_cuda_table *)context, flying);
}

/* A table with rows, or of ids, and a key set have no leftovers. In a key set no entry expires. */
template <uint64_t OPERATIONS, bool LEAVES_OVER, bool EXPIRES = true>
static const struct sw_backend *backend_of()
{
    static const struct sw_backend backend = {
        "cuda",
        OPERATIONS | (EXPIRES ? SW_BACKEND_EXPIRES : 0),
        SW_BACKEND_ALL_KINDS | (EXPIRES ? 1U << SW_BATCH_SWEEP : 0),
        LEAVES_OVER,
        cuda_open,
        cuda_close,
        cuda_facts,
        sw_cuda_shell_io_alloc<robin_hood>,
        sw_cuda_shell_io_free<robin_hood>,
        sw_cuda_shell_queue_open<robin_hood>,
        sw_cuda_shell_queue_close<robin_hood>,
        sw_cuda_submit,
        sw_cuda_poll,
        sw_cuda_submit_combined,
        sw_cuda_combined_ops,
        sw_cuda_poll_combined,
        sw_cuda_flush,
        sw_cuda_audit,
        sw_cuda_raw_copy,
        sw_cuda_image_read,
        sw_cuda_image_drop,
        &sw_cuda_importing<sw_cuda_table>,
        NULL,
        NULL,
        sw_cuda_clock,
        EXPIRES ? sw_cuda_suspend_expiry : NULL,
        NULL,
        sw_cuda_keeps_times,
        must_wait,
        sw_cuda_tidy,
        sw_cuda_queue_join,
        &sw_cuda_exporting,
    };
    return &backend;
}

const struct sw_backend *sw_robin_hood_backend_cuda(void)
{
    return backend_of<SW_BACKEND_ALL_OPERATIONS, true>();
}

const struct sw_backend *sw_robin_hood_rows_backend_cuda(void)
{
    return backend_of<SW_ROW_OPERATIONS, false>();
}

const struct sw_backend *sw_robin_hood_ids_backend_cuda(void)
{
    return backend_of<SW_ID_OPERATIONS, false>();
}

const struct sw_backend *sw_robin_hood_set_backend_cuda(void)
{
    return backend_of<SW_SET_OPERATIONS, false, false>();
}
