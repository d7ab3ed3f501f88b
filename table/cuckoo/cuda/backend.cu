/* SPDX-License-Identifier: MIT
 *
 * backend.cu - the cuckoo engine's CUDA backend: opens, closes and audits a table.
 */
#include <stdlib.h>

#include "table/cuckoo/cuda/backend.cuh"
#include "table/device/cutter.cuh"
#include "table/device/shell.cuh"

namespace
{

/* --- open and close --------------------------------------------------------------------------- */

void table_close(void *context)
{
    struct sw_cuckoo_device_table *table = (struct sw_cuckoo_device_table *)context;
    sw_cuda_owner_close(table);
    (void)cudaFree(table->cells[0]);
    (void)cudaFree(table->cells[1]);
    (void)cudaFree(table->stash);
    (void)cudaFree(table->state);
    (void)cudaFree(table->control);
    (void)cudaFree(table->scratch);
    (void)cudaFree(table->device_table);
    free(table);
}

/* Cuts the scratch from one area and returns its size; with a base of NULL it only counts. */
template <int BITS>
size_t cut(struct sw_cuckoo_scratch<BITS> *scratch, char *base, size_t n, size_t sort_bytes)
{
    const size_t slices = sw_slices_of((uint32_t)n) + 1;
    struct sw_cuda_cutter cutter = {base, 0};
    char *sort = NULL;
    sw_cuda_cut(&cutter, &scratch->keys, n);
    sw_cuda_cut(&cutter, &scratch->sorted_keys, n);
    sw_cuda_cut(&cutter, &scratch->values, n);
    sw_cuda_cut(&cutter, &scratch->previous, n);
    sw_cuda_cut(&cutter, &scratch->index, n);
    sw_cuda_cut(&cutter, &scratch->sorted_index, n);
    sw_cuda_cut(&cutter, &scratch->ops, n);
    sw_cuda_cut(&cutter, &scratch->found, n);
    sw_cuda_cut(&cutter, &scratch->inserts, n);
    sw_cuda_cut(&cutter, &scratch->undo, n);
    sw_cuda_cut(&cutter, &scratch->runs.changes, slices);
    sw_cuda_cut(&cutter, &scratch->runs.begun, slices);
    sw_cuda_cut(&cutter, &scratch->runs.entering, slices);
    sw_cuda_cut(&cutter, &sort, sort_bytes);
    scratch->sort = sort;
    scratch->sort_bytes = sort_bytes;
    return cutter.used;
}

template <typename T>
cudaError_t allocate(struct sw_cuckoo_device_table *table, T **out, size_t bytes)
{
    table->bytes += bytes;
    return cudaMalloc((void **)out, bytes);
}

/* Writes the device's description of the table, and fills in the host's kernel parameters. */
template <int BITS> cudaError_t write_table(struct sw_cuckoo_device_table *table)
{
    typedef sw_cuckoo_kind<BITS> kind;
    typename kind::table made = {};
    struct sw_cuckoo_engine_control control = {};
    made.view.cells = (typename kind::cell *)table->cells[0];
    made.view.shape = table->geometry.shape;
    sw_cuckoo_engine_seeds(&made.view.shape, table->config.seed, 0);
    made.stash = (typename kind::cell *)table->stash;
    made.state = table->state;
    made.occupied_max = table->geometry.occupied_max;
    made.stash_max = table->geometry.stash_max;
    made.stash_most = table->geometry.stash_most;
    control.spare = table->cells[1];
    struct sw_cuckoo_write<BITS> *write = sw_cuckoo_parts<BITS>(table);
    write->table = (typename kind::table *)table->device_table;
    write->state = table->state;
    write->control = table->control;
    write->cells = table->geometry.cells;
    cudaError_t error =
        cudaMemcpy(table->device_table, &made, sizeof(made), cudaMemcpyHostToDevice);
    return error == cudaSuccess
               ? cudaMemcpy(table->control, &control, sizeof(control), cudaMemcpyHostToDevice)
               : error;
}

template <int BITS> cudaError_t allocate_all(struct sw_cuckoo_device_table *table)
{
    typedef sw_cuckoo_kind<BITS> kind;
    const size_t n = table->config.batch_ops_max;
    const size_t cells_bytes = table->geometry.cells * sizeof(typename kind::cell);
    struct sw_cuckoo_write<BITS> *write = sw_cuckoo_parts<BITS>(table);
    size_t sort_bytes = 0;
    cudaError_t error = sw_cuckoo_sort_bytes<BITS>((uint32_t)n, &sort_bytes);
    for (int i = 0; i < 2 && error == cudaSuccess; i++) {
        error = allocate(table, &table->cells[i], cells_bytes);
    }
    if (error == cudaSuccess) {
        error = allocate(table, &table->stash,
                         table->geometry.stash_room * sizeof(typename kind::cell));
    }
    if (error == cudaSuccess) {
        error = allocate(table, &table->state, sizeof(*table->state));
    }
    if (error == cudaSuccess) {
        error = allocate(table, &table->control, sizeof(*table->control));
    }
    if (error == cudaSuccess) {
        error = allocate(table, &table->device_table, sizeof(typename kind::table));
    }
    if (error == cudaSuccess) {
        error = allocate(table, &table->scratch, cut<BITS>(&write->scratch, NULL, n, sort_bytes));
    }
    if (error != cudaSuccess) {
        return error;
    }
    cut<BITS>(&write->scratch, (char *)table->scratch, n, sort_bytes);
    error = cudaMemset(table->cells[0], 0xFF, cells_bytes);
    if (error == cudaSuccess) {
        error = cudaMemset(table->state, 0, sizeof(*table->state));
    }
    return error == cudaSuccess ? write_table<BITS>(table) : error;
}

/* Loads all kernels. CUB's sort has different kernels for different sizes, so batches of several
 * sizes are run. */
template <int BITS> cudaError_t warm_up(struct sw_cuckoo_device_table *table)
{
    struct sw_cuckoo_write<BITS> write = *sw_cuckoo_parts<BITS>(table);
    struct sw_cuckoo_record *record = NULL;
    cudaError_t error = sw_cuckoo_load_read();
    if (error == cudaSuccess) {
        error = sw_cuckoo_load_write();
    }
    if (error == cudaSuccess) {
        error = sw_cuckoo_load_fold();
    }
    if (error == cudaSuccess) {
        error = sw_cuckoo_load_order();
    }
    if (error == cudaSuccess) {
        error = sw_cuckoo_load_rehash();
    }
    if (error == cudaSuccess) {
        error = cudaHostAlloc((void **)&record, sizeof(*record), cudaHostAllocMapped);
    }
    for (uint32_t count = table->config.batch_ops_max; error == cudaSuccess && count > 0;
         count /= 32) {
        /* GETs of the bytes in the scratch, which change nothing */
        write.work.op = SW_GET;
        write.work.count = count;
        write.work.keys = write.scratch.sorted_keys;
        write.work.group_count = 1;
        write.work.undo = write.scratch.undo;
        write.record = record;
        write.ticket = 1;
        error = sw_cuckoo_launch_write<BITS>(write, cudaStreamPerThread);
    }
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(cudaStreamPerThread);
    }
    (void)cudaFreeHost(record);
    return error;
}

cudaError_t open_combined(struct sw_cuckoo_device_table *table)
{
    struct sw_cuda_combined *combined = &table->combined;
    combined->key_bytes = combined->value_bytes = table->config.slot_bits / 16;
    combined->record_bytes = sizeof(struct sw_cuckoo_record);
    combined->operations_max =
        sw_cuda_combined_max(SW_COMBINED_OPERATIONS_MAX, table->config.batch_ops_max,
                             combined->key_bytes, combined->value_bytes);
    return sw_cuda_combined_open(combined, false, table->launcher);
}

cudaError_t allocate_for(struct sw_cuckoo_device_table *table, const struct sw_table_config *config)
{
    table->config = *config;
    sw_cuckoo_geometry_compute(config, &table->geometry);
    cudaError_t error = SW_BY_BITS(config->slot_bits, allocate_all, table);
    if (error == cudaSuccess) {
        error = open_combined(table);
    }
    if (error == cudaSuccess) {
        error = SW_BY_BITS(config->slot_bits, warm_up, table);
    }
    return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}

void table_facts(void *context, struct sw_backend_facts *facts)
{
    const struct sw_cuckoo_device_table *table = (const struct sw_cuckoo_device_table *)context;
    sw_cuckoo_backend_facts(&table->geometry, table->bytes + sw_cuda_owner_bytes(table), facts);
    facts->bus_id = table->bus_id;
    facts->image_bytes =
        (table->geometry.cells + table->geometry.stash_room) * (table->config.slot_bits / 8);
    facts->combined_ops_max = facts->gathered_ops_max = table->combined.operations_max;
}

/* --- audit ------------------------------------------------------------------------------------ */

/* Audits a copy of the table in host memory: cells, then the stash. */
template <int BITS>
int check(struct sw_cuckoo_device_table *table, char *memory, char *violation,
          size_t violation_size)
{
    typedef sw_cuckoo_kind<BITS> kind;
    typename kind::table copy;
    struct sw_state state;
    const size_t cells_bytes = table->geometry.cells * sizeof(typename kind::cell);
    cudaError_t error = sw_cuda_wait_for_channels(table);
    if (error == cudaSuccess) {
        error = cudaMemcpy(&copy, table->device_table, sizeof(copy), cudaMemcpyDeviceToHost);
    }
    if (error == cudaSuccess) {
        error = cudaMemcpy(&state, table->state, sizeof(state), cudaMemcpyDeviceToHost);
    }
    if (error == cudaSuccess) {
        error = cudaMemcpy(memory, copy.view.cells, cells_bytes, cudaMemcpyDeviceToHost);
    }
    if (error == cudaSuccess) {
        error =
            cudaMemcpy(memory + cells_bytes, copy.stash,
                       state.stash_occupied * sizeof(typename kind::cell), cudaMemcpyDeviceToHost);
    }
    if (!sw_cuda_check(table, error, "reading the table back")) {
        return SW_E_DEVICE;
    }
    copy.view.cells = (typename kind::cell *)memory;
    copy.stash = (typename kind::cell *)(memory + cells_bytes);
    copy.state = &state;
    return sw_cuckoo_check(BITS, &copy, violation, violation_size);
}

int table_check(void *context, char *violation, size_t violation_size)
{
    struct sw_cuckoo_device_table *table = (struct sw_cuckoo_device_table *)context;
    const size_t cell_bytes = table->config.slot_bits / 8;
    size_t bytes = (table->geometry.cells + table->geometry.stash_room) * cell_bytes;
    char *memory = (char *)aligned_alloc(64, (bytes / 64 + 1) * 64);
    if (memory == NULL) {
        return SW_E_NOMEM;
    }
    int status = SW_E_DEVICE;
    if (sw_cuda_check(table, cudaSetDevice(table->device), "choosing the device")) {
        status = cell_bytes == 8 ? check<64>(table, memory, violation, violation_size)
                                 : check<128>(table, memory, violation, violation_size);
    }
    free(memory);
    return status;
}

struct cuckoo : sw_cuda_shell_defaults {
    typedef struct sw_cuckoo_device_table Table;
    typedef struct sw_cuckoo_queue Queue;
    typedef struct sw_cuckoo_tally Tally;
    typedef struct sw_cuckoo_record Record;
    static const uint32_t TALLIES = SW_CUDA_IN_FLIGHT_MAX;
    static constexpr auto allocate = allocate_for;
    static constexpr auto close = table_close;
    static constexpr auto prepare_image = sw_cuckoo_prepare_image;
    static constexpr auto enqueue = sw_cuckoo_enqueue;
    static constexpr auto write = sw_cuckoo_write_combined;
    static constexpr auto copy_results = sw_cuckoo_copy_results;
    static uint64_t bytes(const Table *table, const struct sw_table_config *)
    {
        return table->bytes + table->combined.bytes;
    }
    static const int32_t *status(const Record *record)
    {
        return &record->status;
    }
};

const struct sw_backend backend = {
    "cuda",
    SW_BACKEND_ALL_OPERATIONS,
    SW_CUCKOO_KINDS,
    false,
    sw_cuda_shell_open<cuckoo>,
    table_close,
    table_facts,
    sw_cuda_shell_io_alloc<cuckoo>,
    sw_cuda_shell_io_free<cuckoo>,
    sw_cuda_shell_queue_open<cuckoo>,
    sw_cuda_shell_queue_close<cuckoo>,
    sw_cuda_shell_submit<cuckoo>,
    sw_cuda_shell_poll<cuckoo>,
    sw_cuda_shell_submit_combined<cuckoo>,
    NULL, /* no combined_ops: the cost of a launch grows with its operations */
    sw_cuda_shell_poll_combined<cuckoo>,
    NULL,
    table_check,
    NULL,
    sw_cuda_slots_image_read,
    sw_cuda_slots_image_drop,
    &sw_cuda_importing<sw_cuckoo_device_table>,
    NULL,
    NULL,
    NULL,
};

} // namespace

const struct sw_backend *sw_cuckoo_backend_cuda(void)
{
    return &backend;
}
