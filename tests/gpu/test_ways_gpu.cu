/* SPDX-License-Identifier: MIT
 *
 * test_ways_gpu.cu - which way batches of upserts take on CUDA: those of 2^14 operations and more
 * go by ranges.
 *
 *   test_ways_gpu
 *
 * A line per case, and a last line "N passed, N failed"; the exit status is 1 if any failed. That
 * the results are right is for test_table_gpu; this looks into the backend, which alone knows the
 * way.
 */
#include <stdio.h>
#include <string.h>

#include "table/cuda/host.cuh"

namespace
{

struct trial {
    uint32_t slot_bits;
    uint32_t count; /* operations of every batch */
    bool found;     /* asked for */
    bool ranged;    /* whether batches of stored keys must go by ranges */
};

const struct trial trials[] = {
    {64, SW_CUDA_RANGES_MIN, false, true},     {128, SW_CUDA_RANGES_MIN, true, true},
    {64, 2 * SW_CUDA_RANGES_MIN, true, true},  {128, 2 * SW_CUDA_RANGES_MIN, false, true},
    {64, SW_CUDA_RANGES_MIN - 1, true, false}, {128, SW_CUDA_RANGES_MIN - 1, false, false},
};

/* The first stores the keys, the others find them all. */
#define BATCHES 8

/* Returns how many of the batches of stored keys went by ranges; -1 if one of them failed. */
int run(const struct sw_backend *backend, void *table, void *queue, const struct trial *trial)
{
    const size_t bytes = (size_t)trial->count * (trial->slot_bits / 16);
    const size_t found_bytes = ((size_t)trial->count + 63) / 64 * 8;
    char *io = (char *)backend->io_alloc(table, bytes + found_bytes);
    int failed = io == NULL;
    uint64_t before = 0;
    for (uint32_t i = 0; !failed && i < trial->count; i++) {
        uint64_t key = i + 1;
        memcpy(io + (size_t)i * (trial->slot_bits / 16), &key, trial->slot_bits / 16);
    }
    for (int b = 0; !failed && b < BATCHES; b++) {
        struct sw_batch batch;
        memset(&batch, 0, sizeof(batch));
        batch.kind = SW_BATCH_OPERATIONS;
        batch.op = SW_SET;
        batch.count = trial->count;
        batch.keys = io;
        batch.values = io;
        batch.found = trial->found ? (uint64_t *)(io + bytes) : NULL;
        failed = backend->submit(queue, &batch) != SW_OK;
        int status = SW_PENDING;
        while (!failed && status == SW_PENDING) {
            status = backend->poll(queue, &batch);
        }
        failed |= status != SW_OK || batch.counters.inserted != (b == 0 ? trial->count : 0);
        before = b == 0 ? ((struct sw_cuda_table *)table)->ranged : before;
    }
    backend->io_free(table, io, bytes + found_bytes);
    return failed ? -1 : (int)(((struct sw_cuda_table *)table)->ranged - before);
}

bool passes(const struct trial *trial)
{
    const struct sw_backend *backend = sw_backend_cuda();
    struct sw_table_config config;
    char reason[256] = "";
    void *table = NULL;
    void *queue = NULL;
    int ranged = -1;
    sw_table_config_init(&config);
    config.slot_bits = trial->slot_bits;
    config.capacity_slots = 1 << 20;
    config.batch_ops_max = 1 << 16;
    if (backend->open(&config, &table, reason, sizeof(reason)) == SW_OK &&
        backend->queue_open(table, &queue) == SW_OK) {
        ranged = run(backend, table, queue, trial);
    }
    if (queue != NULL) {
        backend->queue_close(queue);
    }
    if (table != NULL) {
        backend->close(table);
    }
    bool good = ranged == (trial->ranged ? BATCHES - 1 : 0);
    printf("%s %u operations, %u-bit slots%s: %d of %d batches of stored keys by ranges %s\n",
           good ? "ok    " : "FAILED", trial->count, trial->slot_bits,
           trial->found ? ", found" : "", ranged, BATCHES - 1, reason);
    return good;
}

} // namespace

int main(void)
{
    unsigned passed = 0;
    const unsigned count = sizeof(trials) / sizeof(trials[0]);
    for (unsigned t = 0; t < count; t++) {
        passed += passes(&trials[t]);
    }
    printf("%u passed, %u failed\n", passed, count - passed);
    return passed == count ? 0 : 1;
}
