/* SPDX-License-Identifier: MIT
 *
 * standalone.cu - a cuckoo table in device memory: its memory, and its calls as launches on a
 * stream of its own, each waited for.
 */
#include <new>
#include <stdio.h>
#include <string.h>

#include "table/cuckoo/cuda/launch.cuh"

/* AUTO inserts by pieces if a batch has at least this share of an array's cells: below it, writing
 * whole pieces moves more memory than the exchanges it saves. */
#define PARTITIONED_SHARE 8

namespace
{

struct arrays {
    struct sw_cuckoo_config config;
    uint64_t bytes; /* of one set of arrays */
    uint64_t list_bytes;
    void *cells[2];
    uint32_t current;
    void *list; /* entries left over */
    struct sw_cuckoo_control *control;
    struct sw_cuckoo_partition partition;
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
cudaError_t finish(struct arrays *arrays, struct sw_cuckoo_control *control)
{
    cudaError_t error = cudaMemcpyAsync(control, arrays->control, sizeof(*control),
                                        cudaMemcpyDeviceToHost, arrays->stream);
    return error == cudaSuccess ? cudaStreamSynchronize(arrays->stream) : error;
}

template <int BITS>
sw_cuckoo_put<BITS> put_of(struct arrays *arrays, const struct sw_cuckoo_shape *shape,
                           uint32_t which)
{
    typedef sw_cuckoo_kind<BITS> kind;
    sw_cuckoo_put<BITS> put = {};
    put.view.cells = (typename kind::cell *)arrays->cells[which];
    put.view.shape = *shape;
    put.left = (typename kind::cell *)arrays->list;
    put.control = arrays->control;
    return put;
}

/* The lists' lengths and `failed`; not the side cell. */
cudaError_t reset(struct arrays *arrays)
{
    return cudaMemsetAsync(arrays->control, 0, offsetof(struct sw_cuckoo_control, side),
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
    sw_cuckoo_partition_close(&arrays->partition);
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
    const struct sw_cuckoo_config *config = &arrays->config;
    bool may_part = config->way != SW_CUCKOO_WAY_DIRECT && config->cell_bits != 128 &&
                    config->cells_each * (config->cell_bits / 8) <= SW_CUCKOO_PARTITIONED_BYTES_MAX;
    cudaError_t error = cudaStreamCreateWithFlags(&arrays->stream, cudaStreamNonBlocking);
    for (int i = 0; i < 2 && error == cudaSuccess; i++) {
        error = cudaMalloc(&arrays->cells[i], arrays->bytes);
    }
    if (error == cudaSuccess) {
        error = cudaMalloc(&arrays->list, arrays->list_bytes);
    }
    if (error == cudaSuccess) {
        error = cudaMalloc((void **)&arrays->control, sizeof(*arrays->control));
    }
    if (error == cudaSuccess && may_part) {
        error = sw_cuckoo_partition_open(&arrays->partition, config);
    }
    return error;
}

int arrays_open(const struct sw_cuckoo_config *config, void **out, char *reason, size_t reason_size)
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
    arrays->bytes = config->cells_each * config->functions * (config->cell_bits / 8);
    arrays->list_bytes = (uint64_t)config->batch_max * (config->cell_bits / 8);
    error = allocate(arrays);
    int status = error == cudaErrorMemoryAllocation ? SW_E_NOMEM : checked(arrays, error);
    if (status == SW_OK) {
        status = arrays_clear(arrays);
    }
    if (status != SW_OK) {
        (void)cudaGetLastError();
        if (reason != NULL) {
            snprintf(reason, reason_size, "the arrays of the cuckoo table: %s",
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
    return arrays->config.way == SW_CUCKOO_WAY_PARTITIONED ||
           count >= arrays->config.cells_each / PARTITIONED_SHARE;
}

template <int BITS>
cudaError_t insert(struct arrays *arrays, const struct sw_cuckoo_shape *shape, const void *keys,
                   const void *values, uint64_t count, bool is_empty)
{
    typedef typename sw_cuckoo_kind<BITS>::word word;
    sw_cuckoo_put<BITS> put = put_of<BITS>(arrays, shape, arrays->current);
    put.keys = (const word *)keys;
    put.values = BITS == 32 ? NULL : (const word *)values;
    put.count = count;
    if constexpr (BITS != 128) {
        if (by_pieces(arrays, count)) {
            return sw_cuckoo_put_partitioned<BITS>(arrays->partition, put, is_empty,
                                                   arrays->stream);
        }
    }
    return sw_cuckoo_put_direct<BITS>(put, arrays->config.insert_keys, arrays->stream);
}

int arrays_insert(void *context, const struct sw_cuckoo_shape *shape, const void *keys,
                  const void *values, uint64_t count, bool is_empty, uint64_t *left)
{
    struct arrays *arrays = (struct arrays *)context;
    struct sw_cuckoo_control control = {};
    cudaError_t error = reset(arrays);
    if (error == cudaSuccess) {
        error = arrays->config.cell_bits == 32
                    ? insert<32>(arrays, shape, keys, values, count, is_empty)
                : arrays->config.cell_bits == 64
                    ? insert<64>(arrays, shape, keys, values, count, is_empty)
                    : insert<128>(arrays, shape, keys, values, count, is_empty);
    }
    if (error == cudaSuccess) {
        error = finish(arrays, &control);
    }
    *left = control.left;
    return checked(arrays, error);
}

template <int BITS>
cudaError_t move(struct arrays *arrays, const struct sw_cuckoo_shape *from,
                 const struct sw_cuckoo_shape *to, uint64_t left)
{
    typedef typename sw_cuckoo_kind<BITS>::cell cell;
    sw_cuckoo_put<BITS> put = put_of<BITS>(arrays, to, !arrays->current);
    cudaError_t error = sw_cuckoo_move_cells<BITS>(
        put, (const cell *)arrays->cells[arrays->current], sw_cuckoo_cells(from), arrays->stream);
    return error != cudaSuccess
               ? error
               : sw_cuckoo_move_cells<BITS>(put, (const cell *)arrays->list, left, arrays->stream);
}

int arrays_move(void *context, const struct sw_cuckoo_shape *from, const struct sw_cuckoo_shape *to,
                uint64_t left, bool *complete)
{
    struct arrays *arrays = (struct arrays *)context;
    struct sw_cuckoo_control control = {};
    cudaError_t error =
        cudaMemsetAsync(arrays->cells[!arrays->current], 0xFF, arrays->bytes, arrays->stream);
    if (error == cudaSuccess) {
        error = reset(arrays);
    }
    if (error == cudaSuccess) {
        error = arrays->config.cell_bits == 32   ? move<32>(arrays, from, to, left)
                : arrays->config.cell_bits == 64 ? move<64>(arrays, from, to, left)
                                                 : move<128>(arrays, from, to, left);
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

template <int BITS>
cudaError_t find(struct arrays *arrays, const struct sw_cuckoo_shape *shape, const void *keys,
                 void *values, uint32_t *found, uint64_t count)
{
    typedef sw_cuckoo_kind<BITS> kind;
    sw_cuckoo_ask<BITS> ask = {};
    ask.view.cells = (typename kind::cell *)arrays->cells[arrays->current];
    ask.view.shape = *shape;
    ask.keys = (const typename kind::word *)keys;
    ask.values = BITS == 32 ? NULL : (typename kind::word *)values;
    ask.found = found;
    ask.count = count;
    ask.side = &arrays->control->side;
    return sw_cuckoo_ask_all<BITS>(ask, arrays->config.find_keys, arrays->config.find_together,
                                   arrays->stream);
}

int arrays_find(void *context, const struct sw_cuckoo_shape *shape, const void *keys, void *values,
                uint32_t *found, uint64_t count)
{
    struct arrays *arrays = (struct arrays *)context;
    cudaError_t error =
        arrays->config.cell_bits == 32   ? find<32>(arrays, shape, keys, values, found, count)
        : arrays->config.cell_bits == 64 ? find<64>(arrays, shape, keys, values, found, count)
                                         : find<128>(arrays, shape, keys, values, found, count);
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(arrays->stream);
    }
    return checked(arrays, error);
}

int arrays_copy_cells(void *context, const struct sw_cuckoo_shape *shape, void *cells)
{
    struct arrays *arrays = (struct arrays *)context;
    (void)shape;
    return checked(arrays, cudaMemcpy(cells, arrays->cells[arrays->current], arrays->bytes,
                                      cudaMemcpyDeviceToHost));
}

template <int BITS> void spread(const void *list, uint64_t left, void *keys, void *values)
{
    typedef sw_cuckoo_kind<BITS> kind;
    const typename kind::cell *cells = (const typename kind::cell *)list;
    for (uint64_t i = 0; i < left; i++) {
        ((typename kind::word *)keys)[i] = cells[i].key;
        if constexpr (BITS != 32) {
            if (values != NULL) {
                ((typename kind::word *)values)[i] = cells[i].value;
            }
        }
    }
}

int arrays_copy_left(void *context, void *keys, void *values, uint64_t left)
{
    struct arrays *arrays = (struct arrays *)context;
    uint64_t bytes = left * (arrays->config.cell_bits / 8);
    char *list = new (std::nothrow) char[bytes + 1];
    if (list == NULL) {
        return SW_E_NOMEM;
    }
    cudaError_t error = cudaMemcpy(list, arrays->list, bytes, cudaMemcpyDeviceToHost);
    if (error == cudaSuccess && arrays->config.cell_bits == 32) {
        spread<32>(list, left, keys, values);
    } else if (error == cudaSuccess && arrays->config.cell_bits == 64) {
        spread<64>(list, left, keys, values);
    } else if (error == cudaSuccess) {
        spread<128>(list, left, keys, values);
    }
    delete[] list;
    return checked(arrays, error);
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

const struct sw_cuckoo_ops ops = {
    arrays_open, arrays_close,     arrays_clear,      arrays_insert, arrays_move,    arrays_swap,
    arrays_find, arrays_copy_left, arrays_copy_cells, arrays_bytes,  arrays_failure,
};

} // namespace

const struct sw_cuckoo_ops *sw_cuckoo_cuda_ops(void)
{
    return &ops;
}
