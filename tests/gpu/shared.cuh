/* SPDX-License-Identifier: MIT
 *
 * shared.cuh - for test_shared_gpu.cu: an allocation of another process, and a table that imports
 * it.
 */
#ifndef SHERWOOD_TESTS_GPU_SHARED_CUH
#define SHERWOOD_TESTS_GPU_SHARED_CUH

#include <cuda_runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "table/imported_memory.h"

namespace
{

unsigned passed, failed;
uint64_t seed = 1;
bool small;
bool says_so = true; /* that batches are shared */

/* Stops the program: what is wrong once is wrong in all that follows. */
void expect(bool holds, const char *what, uint64_t got, uint64_t wanted)
{
    if (!holds) {
        printf("not ok %s: %llu, not %llu\n", what, (unsigned long long)got,
               (unsigned long long)wanted);
        printf("%u passed, %u failed\n", passed, failed + 1);
        fflush(stdout);
        _exit(1); /* the other thread uses CUDA still */
    }
}

void expect_equal(const char *what, uint64_t got, uint64_t wanted)
{
    expect(got == wanted, what, got, wanted);
}

void good(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        printf("not ok %s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

uint64_t next_random()
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* --- who owns the memory ---------------------------------------------------------------------- */

#define ARENA_BYTES ((size_t)48 << 20)

/* An allocation of somebody else. */
struct owner {
    pid_t process;
    int ends; /* closed: the owner ends */
    cudaIpcMemHandle_t handle;
    void *memory; /* the emulator's */
};

#ifdef SHERWOOD_EMULATOR_CUDA_RUNTIME_H
void start_owner(struct owner *owner)
{
    good(cudaMalloc(&owner->memory, ARENA_BYTES), "memory of the owner");
    good(cudaIpcGetMemHandle(&owner->handle, owner->memory), "its handle");
}

void end_owner(struct owner *owner)
{
    good(cudaFree(owner->memory), "giving it back");
}
#else
[[noreturn]] void own(int handles, int ends)
{
    void *memory = NULL;
    cudaIpcMemHandle_t handle;
    char unused;
    good(cudaMalloc(&memory, ARENA_BYTES), "memory of the owner");
    good(cudaMemset(memory, 0, ARENA_BYTES), "clearing it");
    good(cudaDeviceSynchronize(), "clearing it");
    good(cudaIpcGetMemHandle(&handle, memory), "its handle");
    if (write(handles, &handle, sizeof(handle)) != (ssize_t)sizeof(handle)) {
        _exit(1);
    }
    while (read(ends, &unused, 1) > 0) {
    }
    _exit(0);
}

/* Before this process uses CUDA, which does not survive a fork. */
void start_owner(struct owner *owner)
{
    int handles[2];
    int ends[2];
    if (pipe(handles) != 0 || pipe(ends) != 0) {
        exit(1);
    }
    owner->process = fork();
    if (owner->process == 0) {
        close(ends[1]);
        own(handles[1], ends[0]);
    }
    close(handles[1]);
    close(ends[0]);
    owner->ends = ends[1];
    expect_equal("a handle of another process",
                 (uint64_t)read(handles[0], &owner->handle, sizeof(owner->handle)),
                 sizeof(owner->handle));
    close(handles[0]);
}

void end_owner(struct owner *owner)
{
    close(owner->ends);
    waitpid(owner->process, NULL, 0);
}
#endif

/* --- a table ---------------------------------------------------------------------------------- */

struct subject {
    struct sw_table *table;
    struct sw_queue *queue;
    struct sw_table_info info;
};

void open_subject(struct subject *subject, enum sw_engine engine, uint32_t slot_bits,
                  uint64_t capacity, uint32_t most)
{
    struct sw_table_config config;
    char reason[512] = "";
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CUDA;
    config.engine = engine;
    config.slot_bits = slot_bits;
    config.capacity_slots = capacity;
    config.batch_ops_max = most;
    config.stash_slots = engine == SW_ENGINE_CACHE ? 0 : 4096;
    config.value_bytes = engine != SW_ENGINE_CACHE ? 0 : 64;
    int status = sw_table_create(&config, &subject->table, reason, sizeof(reason));
    if (status != SW_OK) {
        printf("not ok no table: %s\n", reason);
        exit(1);
    }
    sw_table_info(subject->table, &subject->info);
    expect_equal("a queue", (uint64_t)sw_queue_create(subject->table, &subject->queue), SW_OK);
}

void close_subject(struct subject *subject)
{
    sw_queue_destroy(subject->queue);
    sw_table_destroy(subject->table);
}

struct sw_memory_source source_of(const struct subject *subject, const struct owner *owner,
                                  uint64_t offset, uint64_t bytes)
{
    struct sw_memory_source source;
    memset(&source, 0, sizeof(source));
    source.kind = SW_MEMORY_CUDA_IPC;
    source.offset = offset;
    source.bytes = bytes;
    memcpy(source.handle, &owner->handle, sizeof(source.handle));
    expect(sw_memory_device(subject->table, source.device_uuid), "the table has a device", 0, 1);
    return source;
}

} // namespace

#endif
