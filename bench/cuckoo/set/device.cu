/* SPDX-License-Identifier: MIT
 *
 * device.cu - a cuckoo set in device memory: its memory, and its calls as launches on a
 * stream of its own, each waited for.
 */
#include <new>
#include <stdio.h>
#include <string.h>

#include "bench/cuckoo/set/launch.cuh"
#include "bench/study/span.h"

/* AUTO inserts by pieces if a batch has at least this share of an array's cells: below it, writing
 * whole pieces moves more memory than the exchanges it saves. */
#define PARTITIONED_SHARE 8

namespace
{

struct arrays {
    struct sw_cset_config config;
    uint64_t bytes; /* of one set of arrays */
    uint64_t list_bytes;
    uint32_t *cells[2];
    uint32_t current;
    uint32_t *list; /* keys left over */
    struct sw_cset_control *control;
    struct sw_cset_partition partition;
    cudaStream_t stream;
    const char *failure;
};

/* SW_OK, or SW_E_DEVICE with the runtime's text kept. */
int checked(struct arrays *arrays, cudaError_t error)
{
    if (error == cudaSuccess) {
        return SW_OK;
    }
    arrays->failure = cudaGetErrorString(error);
    return SW_E_DEVICE;
}

/* Waits for all work and reads the control block. */
cudaError_t finish(struct arrays *arrays, struct sw_cset_control *control)
{
    cudaError_t error = cudaMemcpyAsync(control, arrays->control, sizeof(*control),
                                        cudaMemcpyDeviceToHost, arrays->stream);
    sw_study_span_mark(arrays->stream);
    return error == cudaSuccess ? cudaStreamSynchronize(arrays->stream) : error;
}

sw_cset_put put_of(struct arrays *arrays, const struct sw_cuckoo_shape *shape, uint32_t which)
{
    sw_cset_put put = {};
    put.view.cells = (struct sw_cuckoo_cell_k32 *)arrays->cells[which];
    put.view.shape = *shape;
    put.left = arrays->list;
    put.control = arrays->control;
    return put;
}

/* The lists' lengths and `failed`; not whether the key of all ones is there. */
cudaError_t reset(struct arrays *arrays)
{
    return cudaMemsetAsync(arrays->control, 0, offsetof(struct sw_cset_control, has_ones),
                           arrays->stream);
}

void arrays_close(void *context)
{
    struct arrays *arrays = (struct arrays *)context;
    (void)cudaSetDevice(arrays->config.device);
    (void)cudaFree(arrays->cells[0]);
    (void)cudaFree(arrays->cells[1]);
    (void)cudaFree(arrays->list);
    (void)cudaFree(arrays->control);
    sw_cset_partition_close(&arrays->partition);
    if (arrays->stream != NULL) {
        (void)cudaStreamDestroy(arrays->stream);
    }
    delete arrays;
}

int arrays_clear(void *context)
{
    struct arrays *arrays = (struct arrays *)context;
    cudaError_t error =
        cudaMemsetAsync(arrays->cells[arrays->current], 0xFF, arrays->bytes, arrays->stream);
    if (error == cudaSuccess) {
        error = cudaMemsetAsync(arrays->control, 0, sizeof(*arrays->control), arrays->stream);
    }
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(arrays->stream);
    }
    return checked(arrays, error);
}

cudaError_t allocate(struct arrays *arrays)
{
    const struct sw_cset_config *config = &arrays->config;
    bool may_part = config->way != SW_CSET_WAY_DIRECT &&
                    config->cells_each * sizeof(uint32_t) <= SW_CSET_PARTITIONED_BYTES_MAX;
    cudaError_t error = cudaStreamCreateWithFlags(&arrays->stream, cudaStreamNonBlocking);
    for (int i = 0; i < 2 && error == cudaSuccess; i++) {
        error = cudaMalloc((void **)&arrays->cells[i], arrays->bytes);
    }
    if (error == cudaSuccess) {
        error = cudaMalloc((void **)&arrays->list, arrays->list_bytes);
    }
    if (error == cudaSuccess) {
        error = cudaMalloc((void **)&arrays->control, sizeof(*arrays->control));
    }
    if (error == cudaSuccess && may_part) {
        error = sw_cset_partition_open(&arrays->partition, config);
    }
    return error;
}

int arrays_open(const struct sw_cset_config *config, void **out, char *reason, size_t reason_size)
{
    cudaError_t error = cudaSetDevice(config->device);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        if (reason != NULL) {
            snprintf(reason, reason_size, "no usable CUDA device: %s", cudaGetErrorString(error));
        }
        return SW_E_NODEVICE;
    }
    struct arrays *arrays = new (std::nothrow) struct arrays();
    if (arrays == NULL) {
        return SW_E_NOMEM;
    }
    arrays->config = *config;
    arrays->failure = "";
    arrays->bytes = config->cells_each * config->functions * sizeof(uint32_t);
    arrays->list_bytes = (uint64_t)config->batch_max * sizeof(uint32_t);
    error = allocate(arrays);
    int status = error == cudaErrorMemoryAllocation ? SW_E_NOMEM : checked(arrays, error);
    if (status == SW_OK) {
        status = arrays_clear(arrays);
    }
    if (status != SW_OK) {
        (void)cudaGetLastError();
        if (reason != NULL) {
            snprintf(reason, reason_size, "the arrays of the cuckoo set: %s",
                     status == SW_E_NOMEM ? "not enough device memory" : arrays->failure);
        }
        arrays_close(arrays);
        return status;
    }
    *out = arrays;
    return SW_OK;
}

/* --- insert ----------------------------------------------------------------------------------- */

bool by_pieces(const struct arrays *arrays, uint64_t count)
{
    if (arrays->partition.parts == 0) {
        return false;
    }
    return arrays->config.way == SW_CSET_WAY_PARTITIONED ||
           count >= arrays->config.cells_each / PARTITIONED_SHARE;
}

cudaError_t insert(struct arrays *arrays, const struct sw_cuckoo_shape *shape, const uint32_t *keys,
                   uint64_t count, bool is_empty)
{
    sw_cset_put put = put_of(arrays, shape, arrays->current);
    put.keys = keys;
    put.count = count;
    return by_pieces(arrays, count)
               ? sw_cset_put_partitioned(arrays->partition, put, is_empty, arrays->stream)
               : sw_cset_put_direct(put, arrays->config.insert_keys, arrays->config.block_size,
                                    arrays->stream);
}

int arrays_insert(void *context, const struct sw_cuckoo_shape *shape, const uint32_t *keys,
                  uint64_t count, bool is_empty, uint64_t *left)
{
    struct arrays *arrays = (struct arrays *)context;
    struct sw_cset_control control = {};
    cudaError_t error = reset(arrays);
    if (error == cudaSuccess) {
        error = insert(arrays, shape, keys, count, is_empty);
    }
    if (error == cudaSuccess) {
        error = finish(arrays, &control);
    }
    *left = control.left;
    return checked(arrays, error);
}

cudaError_t move(struct arrays *arrays, const struct sw_cuckoo_shape *from,
                 const struct sw_cuckoo_shape *to, uint64_t left)
{
    sw_cset_put put = put_of(arrays, to, !arrays->current);
    cudaError_t error = sw_cset_move_cells(put, arrays->cells[arrays->current],
                                           sw_cuckoo_cells(from), arrays->stream);
    return error == cudaSuccess ? sw_cset_move_cells(put, arrays->list, left, arrays->stream)
                                : error;
}

int arrays_move(void *context, const struct sw_cuckoo_shape *from, const struct sw_cuckoo_shape *to,
                uint64_t left, bool *complete)
{
    struct arrays *arrays = (struct arrays *)context;
    struct sw_cset_control control = {};
    cudaError_t error =
        cudaMemsetAsync(arrays->cells[!arrays->current], 0xFF, arrays->bytes, arrays->stream);
    if (error == cudaSuccess) {
        error = reset(arrays);
    }
    if (error == cudaSuccess) {
        error = move(arrays, from, to, left);
    }
    if (error == cudaSuccess) {
        error = finish(arrays, &control);
    }
    *complete = control.failed == 0;
    return checked(arrays, error);
}

void arrays_swap(void *context)
{
    struct arrays *arrays = (struct arrays *)context;
    arrays->current = !arrays->current;
}

/* --- find, and copies ------------------------------------------------------------------------- */

cudaError_t find(struct arrays *arrays, const struct sw_cuckoo_shape *shape, const uint32_t *keys,
                 uint32_t *found, uint64_t count)
{
    sw_cset_ask ask = {};
    ask.view = put_of(arrays, shape, arrays->current).view;
    ask.keys = keys;
    ask.found = found;
    ask.count = count;
    ask.control = arrays->control;
    return sw_cset_ask_all(ask, arrays->config.find_keys, arrays->config.block_size,
                           arrays->config.find_together, arrays->stream);
}

int arrays_find(void *context, const struct sw_cuckoo_shape *shape, const uint32_t *keys,
                uint32_t *found, uint64_t count)
{
    struct arrays *arrays = (struct arrays *)context;
    cudaError_t error = find(arrays, shape, keys, found, count);
    if (error == cudaSuccess) {
        sw_study_span_mark(arrays->stream);
        error = cudaStreamSynchronize(arrays->stream);
    }
    return checked(arrays, error);
}

int arrays_insert_and_find(void *context, const struct sw_cuckoo_shape *shape, const uint32_t *keys,
                           uint64_t count, bool is_empty, uint64_t *left, const uint32_t *queries,
                           uint32_t *found, uint64_t query_count)
{
    struct arrays *arrays = (struct arrays *)context;
    struct sw_cset_control control = {};
    cudaError_t error = reset(arrays);
    if (error == cudaSuccess) {
        error = insert(arrays, shape, keys, count, is_empty);
    }
    if (error == cudaSuccess) {
        error = find(arrays, shape, queries, found, query_count);
    }
    if (error == cudaSuccess) {
        error = finish(arrays, &control);
    }
    *left = control.left;
    return checked(arrays, error);
}

int arrays_copy_cells(void *context, uint32_t *cells)
{
    struct arrays *arrays = (struct arrays *)context;
    return checked(arrays, cudaMemcpy(cells, arrays->cells[arrays->current], arrays->bytes,
                                      cudaMemcpyDeviceToHost));
}

int arrays_copy_left(void *context, uint32_t *keys, uint64_t left)
{
    struct arrays *arrays = (struct arrays *)context;
    return checked(arrays,
                   cudaMemcpy(keys, arrays->list, left * sizeof(*keys), cudaMemcpyDeviceToHost));
}

uint64_t arrays_bytes(const void *context)
{
    const struct arrays *arrays = (const struct arrays *)context;
    return 2 * arrays->bytes + arrays->list_bytes + arrays->partition.bytes;
}

const char *arrays_failure(const void *context)
{
    return ((const struct arrays *)context)->failure;
}

const struct sw_cset_ops ops = {
    arrays_open,  arrays_close,   arrays_clear, arrays_insert,    arrays_insert_and_find,
    arrays_move,  arrays_swap,    arrays_find,  arrays_copy_left, arrays_copy_cells,
    arrays_bytes, arrays_failure,
};

} // namespace

const struct sw_cset_ops *sw_cset_cuda_ops(void)
{
    return &ops;
}
