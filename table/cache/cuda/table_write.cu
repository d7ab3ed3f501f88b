/* SPDX-License-Identifier: MIT
 *
 * table_write.cu - a table's batch with writes, in array order for each key.
 */
#include "table/cache/cuda/bins.cuh"
#include "table/cache/cuda/rows.cuh"
#include "table/cache/cuda/table_end.cuh"
#include "table/device/bits.cuh"

/* Writes the bits of the answers, copies the keys of evicted entries, and fills the record. */
static __global__ void __launch_bounds__(SW_CACHE_THREADS)
    answer_kernel(const struct sw_cache_table_batch batch)
{
    bool answers = batch.found != NULL || batch.not_admitted != NULL;
    uint32_t index = blockIdx.x * SW_CACHE_THREADS + threadIdx.x;
    uint32_t result = SW_CACHE_MISS;
    if (answers && index < batch.count) {
        result = batch.scratch.results[index];
    }
    const uint32_t first = blockIdx.x * SW_CACHE_THREADS;
    sw_bits_answer<SW_CACHE_THREADS>(batch.found, batch.count, first, result == SW_CACHE_HIT);
    sw_bits_answer<SW_CACHE_THREADS>(batch.not_admitted, batch.count, first,
                                     result == SW_CACHE_REFUSED);
    if (batch.leftover_keys != NULL && index < __ldcg(&batch.tally->list.listed)) {
        if (batch.key_bytes == 4) {
            ((uint32_t *)batch.leftover_keys)[index] = (uint32_t)batch.scratch.left[index];
        } else {
            ((uint64_t *)batch.leftover_keys)[index] = batch.scratch.left[index];
        }
    }
    __syncthreads(); /* M2, M7: what the block wrote, before thread 0 fences it */
    if (threadIdx.x == 0) {
        sw_cache_end_table_block(&batch);
    }
}

/* Launches a batch that does not use rows: mixed operations, or too few of them. */
static cudaError_t launch_bins(const struct sw_cache_table_batch *batch, cudaStream_t stream)
{
    uint32_t most = batch->scratch.bins.ops_max;
    cudaError_t error = cudaSuccess;
    for (uint64_t first = 0; error == cudaSuccess && first < batch->count; first += most) {
        uint64_t left = batch->count - first;
        struct sw_cache_chosen all = {first, (uint32_t)(left < most ? left : most), NULL, NULL};
        error = sw_cache_launch_bins(batch, &all, first != 0, stream);
    }
    return error;
}

cudaError_t sw_cache_table_write(const struct sw_cache_table_batch *batch,
                                 struct sw_cache_rows *rows, cudaStream_t stream)
{
    bool answers =
        batch->found != NULL || batch->not_admitted != NULL || batch->leftover_keys != NULL;
    if (batch->ops == NULL && batch->op == SW_DELETE) {
        return sw_cache_table_delete(batch, stream);
    }
    cudaError_t error = sw_cache_rows_suit(batch, rows) ? sw_cache_launch_rows(batch, rows, stream)
                                                        : launch_bins(batch, stream);
    if (error != cudaSuccess) {
        return error;
    }
    if (!answers) {
        return sw_cache_table_end(batch, stream);
    }
    answer_kernel<<<sw_cache_blocks(batch->count), SW_CACHE_THREADS, 0, stream>>>(*batch);
    return cudaGetLastError();
}

/* --- warming up ------------------------------------------------------------------------------- */

struct warm_memory {
    struct sw_cache_table_tally tally;
    struct sw_cache_record record;
    uint64_t key;
    uint64_t bits;
};

/* Runs a GET of key 0 as a read, a PEEK, an empty scan, and a count and an erasure by score. */
static cudaError_t launch_reads(struct sw_cache_table_batch *batch)
{
    struct sw_cache_window nothing = sw_cache_window();
    batch->op = SW_GET;
    cudaError_t error = sw_cache_table_read(batch, NULL);
    batch->op = SW_PEEK;
    if (error == cudaSuccess) {
        error = sw_cache_table_read(batch, NULL);
    }
    if (error == cudaSuccess) {
        error = sw_cache_table_scan(batch, &nothing, NULL);
    }
    if (error == cudaSuccess) {
        error = sw_cache_table_count(batch, 0, 0, NULL);
    }
    return error == cudaSuccess ? sw_cache_table_erase(batch, 0, 0, NULL) : error;
}

/* Runs a GET of key 0 as a write, empty rows, and a DELETE with and without answers. */
static cudaError_t launch_writes(struct sw_cache_table_batch *batch, struct sw_cache_rows *rows)
{
    struct sw_cache_rows none = sw_cache_rows();
    cudaError_t error = sw_cache_table_write(batch, &none, NULL);
    if (error == cudaSuccess && rows->ops_max > 0) {
        error = sw_cache_warm_up_rows(batch, rows, NULL);
    }
    batch->op = SW_DELETE;
    if (error == cudaSuccess) {
        error = sw_cache_table_delete(batch, NULL);
    }
    batch->found = NULL;
    return error == cudaSuccess ? sw_cache_table_delete(batch, NULL) : error;
}

static cudaError_t launch_all(struct sw_cache_table_batch batch, struct sw_cache_rows *rows,
                              struct warm_memory *memory)
{
    batch.op = SW_GET;
    batch.count = 1;
    batch.keys = &memory->key;
    batch.tally = &memory->tally;
    batch.record = &memory->record;
    batch.found = (uint32_t *)&memory->bits;
    cudaError_t error = sw_cache_allow_many();
    if (error == cudaSuccess) {
        error = launch_writes(&batch, rows);
    }
    if (error == cudaSuccess) {
        error = launch_reads(&batch);
    }
    return error == cudaSuccess ? cudaStreamSynchronize(NULL) : error;
}

cudaError_t sw_cache_table_warm_up(const struct sw_cache_table_batch *batch,
                                   struct sw_cache_rows *rows)
{
    struct warm_memory *memory = NULL;
    cudaError_t error = cudaMalloc((void **)&memory, sizeof(*memory));
    if (error == cudaSuccess) {
        error = cudaMemset(memory, 0, sizeof(*memory));
    }
    if (error == cudaSuccess) {
        error = launch_all(*batch, rows, memory);
    }
    (void)cudaFree(memory);
    return error;
}
