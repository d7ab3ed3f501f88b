/* SPDX-License-Identifier: MIT
 *
 * arrays.cu - allocates the arrays of a table in one piece, in the order of a stream.
 */
#include "table/robin_hood/cuda/rebuild/arrays.cuh"

#include <string.h>

#include "table/device/cutter.cuh"
#include "table/device/direct.cuh"
#include "table/robin_hood/cuda/rebuild/rebuild.cuh"

static size_t cut_all(struct sw_cuda_arrays *arrays, char *base, size_t slot_bytes, bool with_hints)
{
    struct sw_cuda_cutter cutter = {base, 0};
    const struct sw_geometry *geometry = &arrays->geometry;
    uint64_t buckets = geometry->buckets_total + geometry->stash_buckets_total;
    uint64_t segments = 1ULL << sw_cuda_segment_bits(geometry->buckets);
    char *slots = NULL;
    sw_cuda_cut(&cutter, &slots, geometry->slots_total * slot_bytes);
    sw_cuda_cut(&cutter, &arrays->locks, (buckets + 31) / 32);
    sw_cuda_cut(&cutter, &arrays->status, SW_CUDA_STATUS_WORDS(segments));
    sw_cuda_cut(&cutter, &arrays->offsets, segments + 1);
    arrays->slots = slots;
    arrays->hints = NULL;
    if (with_hints) {
        sw_cuda_cut(&cutter, &arrays->hints, sw_hint_bytes(geometry->buckets));
    }
    return cutter.used;
}

uint64_t sw_cuda_arrays_bytes(const struct sw_geometry *geometry, uint32_t format, bool with_hints)
{
    struct sw_cuda_arrays arrays = {};
    arrays.geometry = *geometry;
    return cut_all(&arrays, NULL, sw_format_slot_bytes(format), with_hints);
}

static cudaError_t allocate(struct sw_cuda_arrays *arrays, struct sw_cuda_pool *pool,
                            cudaStream_t stream)
{
    if (arrays->exported) {
        arrays->bytes = sw_cuda_export_bytes(arrays->bytes);
        return cudaMalloc(&arrays->memory, arrays->bytes);
    }
    const cudaError_t error =
        cudaMallocFromPoolAsync(&arrays->memory, arrays->bytes, pool->memory, stream);
    if (error == cudaSuccess) {
        sw_cuda_pool_use(pool, arrays->bytes);
    }
    return error;
}

cudaError_t sw_cuda_arrays_open(struct sw_cuda_arrays *arrays, const struct sw_geometry *geometry,
                                uint32_t format, bool with_hints, bool all, bool exported,
                                struct sw_cuda_pool *pool, cudaStream_t stream)
{
    const size_t slot_bytes = sw_format_slot_bytes(format);
    const size_t bucket_bytes = SW_BUCKET_SLOTS * slot_bytes;
    memset(arrays, 0, sizeof(*arrays));
    arrays->geometry = *geometry;
    arrays->exported = exported;
    arrays->bytes = cut_all(arrays, NULL, slot_bytes, with_hints);
    cudaError_t error = allocate(arrays, pool, stream);
    if (error != cudaSuccess) {
        memset(arrays, 0, sizeof(*arrays));
        return error;
    }
    cut_all(arrays, (char *)arrays->memory, slot_bytes, with_hints);
    size_t written = all ? 0 : geometry->buckets * bucket_bytes;
    error = cudaMemsetAsync((char *)arrays->slots + written, 0xFF,
                            geometry->slots_total * slot_bytes - written, stream);
    if (error == cudaSuccess) {
        error = cudaMemsetAsync(arrays->locks, 0,
                                (geometry->buckets_total + geometry->stash_buckets_total + 31) /
                                    32 * sizeof(uint32_t),
                                stream);
    }
    if (error == cudaSuccess && with_hints) {
        error = cudaMemsetAsync(arrays->hints, 0, sw_hint_count(geometry->buckets), stream);
    }
    if (error != cudaSuccess) {
        sw_cuda_arrays_close(arrays, pool, stream);
    }
    return error;
}

void sw_cuda_arrays_close(struct sw_cuda_arrays *arrays, struct sw_cuda_pool *pool,
                          cudaStream_t stream)
{
    if (arrays->memory != NULL && arrays->exported) {
        (void)cudaFree(arrays->memory);
    } else if (arrays->memory != NULL) {
        sw_cuda_pool_use(pool, 0 - (uint64_t)arrays->bytes);
        (void)cudaFreeAsync(arrays->memory, stream);
    }
    memset(arrays, 0, sizeof(*arrays));
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
void sw_cuda_arrays_use(const struct sw_cuda_arrays *arrays, struct sw_cuda_device<BITS> *device)
{
    typedef typename sw_width<BITS>::slot slot;
    const struct sw_geometry *geometry = &arrays->geometry;
    slot *slots = (slot *)arrays->slots;
    bool has_stash = geometry->stash_buckets != 0;
    slot *stash = has_stash ? slots + geometry->buckets_total * SW_BUCKET_SLOTS : NULL;
    set_view<BITS>(&device->table.main, slots, geometry->buckets, geometry->buckets_total,
                   geometry->max_probe);
    /* only the end of the stash limits its probes */
    set_view<BITS>(&device->table.stash, stash, geometry->stash_buckets,
                   geometry->stash_buckets_total, geometry->stash_buckets_total);
    device->table.occupied_max = geometry->occupied_max;
    device->table.stash_max = geometry->stash_max;
    device->locks = arrays->locks;
    device->hints = arrays->hints_stale ? NULL : arrays->hints;
    device->offsets = arrays->offsets;
    device->status = arrays->status;
}

#define INSTANTIATE(BITS, ...)                                            \
    template void sw_cuda_arrays_use<BITS>(const struct sw_cuda_arrays *, \
                                           struct sw_cuda_device<BITS> *);
SW_FORMATS(INSTANTIATE)
