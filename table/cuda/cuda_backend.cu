/* SPDX-License-Identifier: MIT
 *
 * cuda_backend.cu - the CUDA backend: a table's device memory, and the members of sw_backend.
 */
#include "table/cuda/host.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pieces of the scratch start at multiples of this. */
#define PIECE_ALIGN 256
/* Operations of the larger batch that loads the kernels. */
#define WARM_UP_OPS (1U << 14)
/* 128-bit slots are written by atom.cas.b128. */
#define MAJOR_FOR_128_BITS 9

bool sw_cuda_check(struct sw_cuda_table *table, cudaError_t error, const char *what)
{
    if (error == cudaSuccess) {
        return true;
    }
    if (__atomic_exchange_n(&table->lost, 1, __ATOMIC_RELAXED) == 0) {
        fprintf(stderr, "cuda: %s failed, the table is lost: %s (%s)\n", what,
                cudaGetErrorString(error), cudaGetErrorName(error));
    }
    return false;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Cuts pieces from one allocation; with a base of NULL only counts. */
struct cutter {
    char *base;
    size_t used;
};

template <typename T> static void cut(struct cutter *cutter, T **piece, uint64_t count)
{
    *piece = cutter->base != NULL ? (T *)(cutter->base + cutter->used) : NULL;
    cutter->used += (count * sizeof(T) + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
}

/* Returns the bytes of a scratch for n operations on a table of so many buckets, both arrays. */
template <int BITS>
static size_t cut_scratch(struct sw_cuda_scratch<BITS> *scratch, void *base, uint64_t n,
                          uint64_t buckets, bool leftovers, size_t sort_bytes)
{
    struct cutter cutter = {(char *)base, 0};
    char *sort = NULL;
    cut(&cutter, &scratch->keys, n);
    cut(&cutter, &scratch->operands, n);
    cut(&cutter, &scratch->ops, n);
    cut(&cutter, &scratch->previous, n);
    cut(&cutter, &scratch->found, (n + 63) / 64);
    cut(&cutter, &scratch->m, n);
    cut(&cutter, &scratch->index, n);
    cut(&cutter, &scratch->m_sorted, n);
    cut(&cutter, &scratch->index_sorted, n);
    cut(&cutter, &scratch->updates, n);
    cut(&cutter, &scratch->deletes, n);
    cut(&cutter, &scratch->inserts, n);
    cut(&cutter, &scratch->touched, n);
    cut(&cutter, &scratch->clusters, n);
    cut(&cutter, &scratch->undo, n);
    cut(&cutter, &scratch->touched_bits, (buckets + 31) / 32);
    cut(&cutter, &sort, sort_bytes);
    scratch->sort = sort;
    scratch->sort_bytes = sort_bytes;
    scratch->leftovers = NULL;
    if (leftovers) {
        cut(&cutter, &scratch->leftovers, n);
    }
    return cutter.used;
}

template <int BITS>
static void set_view(typename sw_width<BITS>::view *view, typename sw_width<BITS>::slot *slots,
                     uint64_t buckets, uint64_t buckets_total, uint64_t max_probe)
{
    view->slots = slots;
    view->buckets = buckets;
    view->buckets_total = buckets_total;
    view->max_probe = max_probe;
}

template <int BITS>
static cudaError_t warm_up_get(const struct sw_cuda_device<BITS> *device,
                               const struct sw_cuda_batch<BITS> *batch, struct sw_cuda_tally *tally)
{
    struct sw_cuda_reads<BITS> reads;
    memset(&reads, 0, sizeof(reads));
    reads.batch_count = 1;
    reads.batches[0].keys = batch->keys;
    reads.batches[0].count = batch->count;
    reads.batches[0].record = batch->record;
    reads.batches[0].tally = tally;
    return sw_cuda_launch_get<BITS>(device, &reads, cudaStreamPerThread);
}

/* Launches every kernel once, on reads of key 0 in the empty table. The runtime loads a kernel and
 * reserves the memory of its threads when it is first launched: a device that has no room left for
 * them is refused here, and not lost later. The scratch stays zero where it must. */
template <int BITS>
static cudaError_t warm_up(const struct sw_cuda_device<BITS> *device, uint32_t batch_ops_max)
{
    struct sw_cuda_batch<BITS> batch = {
    };
    /* pieces of the scratch that these batches do not use, large enough by their alignment */
    struct sw_cuda_tally *tally = (struct sw_cuda_tally *)device->scratch.updates;
    batch.record = (struct sw_cuda_record *)device->scratch.clusters;
    batch.keys = device->scratch.operands;
    batch.op = SW_GET;
    batch.group_count = 1;
    batch.count = batch_ops_max;
    cudaError_t error = warm_up_get<BITS>(device, &batch, tally);
    /* few, since one thread applies them all; of the numbers that are sorted differently */
    for (uint32_t count = 1; count <= WARM_UP_OPS && error == cudaSuccess; count *= WARM_UP_OPS) {
        batch.count = count < batch_ops_max ? count : batch_ops_max;
        error = warm_up_get<BITS>(device, &batch, tally);
        if (error == cudaSuccess) {
            error = sw_cuda_launch_plan<BITS>(device, &batch, cudaStreamPerThread);
        }
        if (error == cudaSuccess) {
            error = sw_cuda_launch_commit<BITS>(device, &batch, true, cudaStreamPerThread);
        }
        if (error == cudaSuccess) {
            error = sw_cuda_launch_finish<BITS>(device, &batch, cudaStreamPerThread);
        }
    }
    return error;
}

static_assert(sizeof(struct sw_cuda_tally) <= PIECE_ALIGN, "fits in any piece of the scratch");
static_assert(sizeof(struct sw_cuda_record) <= PIECE_ALIGN, "fits in any piece of the scratch");

/* Allocates everything on the device, fills in *device and empties the table. Waits for it, so that
 * a binary built for other GPUs fails here. */
template <int BITS>
static cudaError_t allocate(struct sw_cuda_table *table, struct sw_cuda_device<BITS> *device,
                            const struct sw_table_config *config)
{
    typedef typename sw_width<BITS>::slot slot;
    const struct sw_geometry *geometry = &table->geometry;
    uint64_t buckets = geometry->buckets_total + geometry->stash_buckets_total;
    bool has_stash = geometry->stash_buckets != 0;
    size_t sort_bytes = 0;
    cudaError_t error = sw_cuda_sort_bytes<BITS>(config->batch_ops_max, &sort_bytes);
    size_t scratch_bytes = cut_scratch<BITS>(&device->scratch, NULL, config->batch_ops_max, buckets,
                                             !has_stash, sort_bytes);
    table->bytes_reserved = geometry->slots_total * sizeof(slot) + scratch_bytes +
                            sizeof(*table->state) + sizeof(*table->control);
    if (error == cudaSuccess) {
        error = cudaMalloc(&table->slots, geometry->slots_total * sizeof(slot));
    }
    if (error == cudaSuccess) {
        error = cudaMalloc(&table->scratch, scratch_bytes);
    }
    if (error == cudaSuccess) {
        error = cudaMalloc((void **)&table->state, sizeof(*table->state));
    }
    if (error == cudaSuccess) {
        error = cudaMalloc((void **)&table->control, sizeof(*table->control));
    }
    if (error != cudaSuccess) {
        return error;
    }
    cut_scratch<BITS>(&device->scratch, table->scratch, config->batch_ops_max, buckets, !has_stash,
                      sort_bytes);
    slot *slots = (slot *)table->slots;
    slot *stash = has_stash ? slots + geometry->buckets_total * SW_BUCKET_SLOTS : NULL;
    set_view<BITS>(&device->table.main, slots, geometry->buckets, geometry->buckets_total,
                   geometry->max_probe);
    /* the end of the stash is its only cap */
    set_view<BITS>(&device->table.stash, stash, geometry->stash_buckets,
                   geometry->stash_buckets_total, geometry->stash_buckets_total);
    device->table.state = table->state;
    device->table.occupied_max = geometry->occupied_max;
    device->table.stash_max = geometry->stash_max;
    device->table.seed = config->seed;
    device->control = table->control;

    error = cudaMemset(table->scratch, 0, scratch_bytes);
    if (error == cudaSuccess) {
        error = cudaMemset(table->state, 0, sizeof(*table->state));
    }
    if (error == cudaSuccess) {
        error = cudaMemset(table->control, 0, sizeof(*table->control));
    }
    if (error == cudaSuccess) {
        error = sw_cuda_launch_clear<BITS>(device, geometry->slots_total, cudaStreamPerThread);
    }
    if (error == cudaSuccess) {
        error = cudaMemsetAsync(table->control, 0, sizeof(*table->control), cudaStreamPerThread);
    }
    if (error == cudaSuccess) {
        error = warm_up<BITS>(device, config->batch_ops_max);
    }
    return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}

/* --- open and close --------------------------------------------------------------------------- */

/* Chooses the device. Its name goes to `reason`. */
static int choose_device(const struct sw_table_config *config, char *reason, size_t reason_size)
{
    struct cudaDeviceProp properties;
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && (config->device < 0 || config->device >= count)) {
        snprintf(reason, reason_size, "there is no CUDA device %d, only %d of them", config->device,
                 count);
        return SW_E_NODEVICE;
    }
    if (error == cudaSuccess) {
        error = cudaSetDevice(config->device);
    }
    if (error == cudaSuccess) {
        error = cudaGetDeviceProperties(&properties, config->device);
    }
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        snprintf(reason, reason_size, "the CUDA runtime says: %s", cudaGetErrorString(error));
        return SW_E_NODEVICE;
    }
    if (config->slot_bits == 128 && properties.major < MAJOR_FOR_128_BITS) {
        snprintf(reason, reason_size,
                 "%s has compute capability %d.%d; 128-bit slots need %d.0: use 64-bit slots",
                 properties.name, properties.major, properties.minor, MAJOR_FOR_128_BITS);
        return SW_E_NODEVICE;
    }
    if (!properties.unifiedAddressing || !properties.canMapHostMemory) {
        snprintf(reason, reason_size, "%s cannot reach host memory by the host's addresses",
                 properties.name);
        return SW_E_NODEVICE;
    }
    snprintf(reason, reason_size, "%s", properties.name);
    return SW_OK;
}

static int explain(cudaError_t error, uint64_t bytes, char *reason, size_t reason_size)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    (void)cudaGetLastError();
    if (error != cudaErrorMemoryAllocation) {
        snprintf(reason, reason_size, "the CUDA device cannot be used: %s",
                 cudaGetErrorString(error));
        return SW_E_NODEVICE;
    }
    (void)cudaMemGetInfo(&free_bytes, &total_bytes);
    snprintf(reason, reason_size,
             "the table needs %llu bytes of device memory, %llu are free: choose a smaller "
             "capacity or smaller batches",
             (unsigned long long)bytes, (unsigned long long)free_bytes);
    return SW_E_NOMEM;
}

static void cuda_close(void *context)
{
    struct sw_cuda_table *table = (struct sw_cuda_table *)context;
    (void)cudaSetDevice(table->device);
    if (table->write_done != NULL) {
        (void)cudaEventDestroy(table->write_done);
    }
    (void)cudaFree(table->slots);
    (void)cudaFree(table->scratch);
    (void)cudaFree(table->state);
    (void)cudaFree(table->control);
    pthread_mutex_destroy(&table->order);
    free(table);
}

static int cuda_open(const struct sw_table_config *config, const struct sw_geometry *geometry,
                     void **out, char *reason, size_t reason_size)
{
    *out = NULL;
    int status = choose_device(config, reason, reason_size);
    if (status != SW_OK) {
        return status;
    }
    struct sw_cuda_table *table = (struct sw_cuda_table *)calloc(1, sizeof(*table));
    if (table == NULL) {
        snprintf(reason, reason_size, "not enough host memory");
        return SW_E_NOMEM;
    }
    if (pthread_mutex_init(&table->order, NULL) != 0) {
        free(table);
        snprintf(reason, reason_size, "a mutex cannot be created");
        return SW_E_NOMEM;
    }
    table->device = config->device;
    table->slot_bits = config->slot_bits;
    table->geometry = *geometry;
    cudaError_t error = config->slot_bits == 64 ? allocate<64>(table, &table->narrow, config)
                                                : allocate<128>(table, &table->wide, config);
    if (error == cudaSuccess) {
        error = cudaEventCreateWithFlags(&table->write_done, cudaEventDisableTiming);
    }
    if (error != cudaSuccess) {
        uint64_t bytes = table->bytes_reserved;
        cuda_close(table); /* first: what was allocated is free then */
        status = explain(error, bytes, reason, reason_size);
        return status;
    }
    *out = table;
    return SW_OK;
}

/* --- the other members ------------------------------------------------------------------------ */

static uint64_t cuda_bytes_reserved(const void *context)
{
    return ((const struct sw_cuda_table *)context)->bytes_reserved;
}

static void *cuda_io_alloc(void *context, size_t bytes)
{
    const struct sw_cuda_table *table = (const struct sw_cuda_table *)context;
    void *memory = NULL;
    size_t some = bytes > 0 ? bytes : 1; /* of 0 bytes the runtime makes NULL and no error */
    if (cudaSetDevice(table->device) != cudaSuccess ||
        cudaHostAlloc(&memory, some, cudaHostAllocMapped | cudaHostAllocPortable) != cudaSuccess) {
        (void)cudaGetLastError(); /* a refusal is no failure of later launches */
        return NULL;
    }
    return memory;
}

static void cuda_io_free(void *context, void *memory, size_t bytes)
{
    const struct sw_cuda_table *table = (const struct sw_cuda_table *)context;
    (void)bytes;
    (void)cudaSetDevice(table->device);
    (void)cudaFreeHost(memory);
}

static int cuda_read_back(void *context, struct sw_state *state, void *slots)
{
    struct sw_cuda_table *table = (struct sw_cuda_table *)context;
    cudaError_t error = cudaSetDevice(table->device);
    if (error == cudaSuccess) {
        error = cudaDeviceSynchronize();
    }
    if (error == cudaSuccess) {
        error = cudaMemcpy(state, table->state, sizeof(*state), cudaMemcpyDeviceToHost);
    }
    if (error == cudaSuccess) {
        error =
            cudaMemcpy(slots, table->slots, table->geometry.slots_total * (table->slot_bits / 8),
                       cudaMemcpyDeviceToHost);
    }
    return sw_cuda_check(table, error, "reading the table back") ? SW_OK : SW_E_DEVICE;
}

const struct sw_backend *sw_backend_cuda(void)
{
    static const struct sw_backend backend = {
        "cuda",         cuda_open,    cuda_close,         cuda_bytes_reserved,
        cuda_io_alloc,  cuda_io_free, sw_cuda_queue_open, sw_cuda_queue_close,
        sw_cuda_submit, sw_cuda_poll, cuda_read_back,
    };
    return &backend;
}
