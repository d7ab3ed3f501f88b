/* SPDX-License-Identifier: MIT
 *
 * records.cu - allocates the blocks of records.
 */
#include "table/device/records.cuh"

#include <stdlib.h>
#include <string.h>

#include "table/device/pool.cuh"
#include "table/host/parts.h"

#define CHUNK_BLOCKS 32
#define ALL_BLOCKS UINT32_MAX

/* An allocation, for blocks of one size. */
struct sw_cuda_record_chunk {
    struct sw_cuda_record_chunk *next;
    char *memory;
    size_t block_bytes;
    uint32_t used; /* bit b: a channel has block b */
};

void sw_cuda_records_open(struct sw_cuda_records *pool)
{
    /* the default attributes of Linux need no resources, so this cannot fail */
    pthread_mutex_init(&pool->mutex, NULL);
}

void sw_cuda_records_close(struct sw_cuda_records *pool)
{
    pthread_mutex_destroy(&pool->mutex);
}

/* Adds a chunk. Under the mutex. */
static cudaError_t add_chunk(struct sw_cuda_records *pool, size_t block_bytes)
{
    if (sw_now_ns() < pool->short_until_ns) {
        return cudaErrorMemoryAllocation;
    }
    struct sw_cuda_record_chunk *chunk = (struct sw_cuda_record_chunk *)calloc(1, sizeof(*chunk));
    cudaError_t error = cudaErrorMemoryAllocation;
    if (chunk != NULL) {
        error = cudaHostAlloc((void **)&chunk->memory, CHUNK_BLOCKS * block_bytes,
                              cudaHostAllocMapped | cudaHostAllocPortable);
    }
    if (error != cudaSuccess) {
        free(chunk);
        pool->short_until_ns = sw_now_ns() + SW_CUDA_RETRY_NS;
        return error;
    }
    chunk->block_bytes = block_bytes;
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    return cudaSuccess;
}

/* Returns a chunk with a free block of this size; NULL: there is none. Under the mutex. */
static struct sw_cuda_record_chunk *find(const struct sw_cuda_records *pool, size_t block_bytes)
{
    struct sw_cuda_record_chunk *chunk = pool->chunks;
    while (chunk != NULL && (chunk->block_bytes != block_bytes || chunk->used == ALL_BLOCKS)) {
        chunk = chunk->next;
    }
    return chunk;
}

cudaError_t sw_cuda_records_get(struct sw_cuda_records *pool, size_t bytes, char **block)
{
    pthread_mutex_lock(&pool->mutex);
    const cudaError_t error = find(pool, bytes) == NULL ? add_chunk(pool, bytes) : cudaSuccess;
    if (error == cudaSuccess) {
        struct sw_cuda_record_chunk *chunk = find(pool, bytes);
        const uint32_t number = (uint32_t)__builtin_ctz(~chunk->used);
        chunk->used |= 1U << number;
        *block = chunk->memory + number * bytes;
        memset(*block, 0, bytes);
    }
    pthread_mutex_unlock(&pool->mutex);
    return error;
}

void sw_cuda_records_return(struct sw_cuda_records *pool, const char *block)
{
    pthread_mutex_lock(&pool->mutex);
    struct sw_cuda_record_chunk **at = &pool->chunks;
    while (block < (*at)->memory || block >= (*at)->memory + CHUNK_BLOCKS * (*at)->block_bytes) {
        at = &(*at)->next;
    }
    struct sw_cuda_record_chunk *chunk = *at;
    chunk->used &= ~(1U << ((size_t)(block - chunk->memory) / chunk->block_bytes));
    if (chunk->used == 0) {
        *at = chunk->next;
        (void)cudaFreeHost(chunk->memory);
        free(chunk);
    }
    pool->short_until_ns = 0;
    pthread_mutex_unlock(&pool->mutex);
}
