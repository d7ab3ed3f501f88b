/* SPDX-License-Identifier: MIT
 *
 * test_write_path_gpu.cu - the write path of batches that are sure to fit on CUDA: by ranges,
 * whatever their operations and answers are, unless that is forbidden.
 *
 *   test_write_path_gpu
 *
 * A line per case, and a last line "N passed, N failed"; the exit status is 1 if any failed. That
 * the results are right is for test_table_gpu; this looks into the backend, which alone knows the
 * write path.
 */
#include <stdio.h>
#include <string.h>

#include "table/robin_hood/cuda/host.cuh"

namespace
{

struct trial {
    uint32_t slot_bits;
    uint32_t count; /* operations of every batch */
    bool mixed;     /* GETs between SETs, given as an array */
    bool found;     /* asked for */
    bool previous;
    bool forbidden; /* ranges */
};

const struct trial trials[] = {
    {64, 1, false, true, false, false},         {128, 1, true, true, true, false},
    {64, 257, false, false, false, false},      {128, 4096, true, true, true, false},
    {64, 4096, true, false, true, false},       {128, 1 << 14, false, true, false, false},
    {64, 1 << 14, false, true, true, false},    {64, 1 << 16, true, true, true, false},
    {128, 1 << 16, false, false, false, false}, {64, 1 << 14, false, true, false, true},
    {128, 4096, true, true, true, true},
};

/* The first one, of SETs, stores the keys, the others find them all. */
#define BATCHES 8

/* What a batch points to. */
struct arrays {
    char *io;
    char *previous;
    uint64_t *found;
    uint8_t *ops;
};

/* A batch's keys are its values. */
void fill_arrays(const struct arrays *arrays, const struct trial *trial)
{
    for (uint32_t i = 0; i < trial->count; i++) {
        uint64_t key = i + 1;
        memcpy(arrays->io + (size_t)i * (trial->slot_bits / 16), &key, trial->slot_bits / 16);
        arrays->ops[i] = i % 2 == 0 ? SW_SET : SW_GET;
    }
}

/* Returns how many of the batches of stored keys went by ranges; -1 if one of them failed. */
int run_all(const struct sw_backend *backend, struct sw_cuda_table *table, void *queue,
            const struct arrays *arrays, const struct trial *trial)
{
    const struct sw_write_path_counters *path = &table->write_paths[SW_WRITE_PATH_RANGES];
    uint64_t before = 0;
    fill_arrays(arrays, trial);
    for (int b = 0; b < BATCHES; b++) {
        struct sw_batch batch;
        memset(&batch, 0, sizeof(batch));
        batch.kind = SW_BATCH_OPERATIONS;
        batch.op = SW_SET;
        batch.count = trial->count;
        batch.keys = arrays->io;
        batch.values = arrays->io;
        batch.ops = trial->mixed && b > 0 ? arrays->ops : NULL;
        batch.found = trial->found ? arrays->found : NULL;
        batch.previous = trial->previous ? arrays->previous : NULL;
        int status = backend->submit(queue, &batch) == SW_OK ? SW_PENDING : SW_E_DEVICE;
        while (status == SW_PENDING) {
            status = backend->poll(queue, &batch);
        }
        if (status != SW_OK || batch.counters.inserted != (b == 0 ? trial->count : 0)) {
            return -1;
        }
        before = b == 0 ? path->batches : before;
    }
    return (int)(path->batches - before);
}

int run_backend(const struct sw_backend *backend, void *table, void *queue,
                const struct trial *trial)
{
    const size_t bytes = ((size_t)trial->count * (trial->slot_bits / 16) + 63) / 64 * 64;
    const size_t found_bytes = ((size_t)trial->count + 63) / 64 * 64;
    const size_t all = 2 * bytes + found_bytes + trial->count;
    char *io = (char *)backend->io_alloc(table, all);
    if (io == NULL) {
        return -1;
    }
    const struct arrays arrays = {io, io + bytes, (uint64_t *)(io + 2 * bytes),
                                  (uint8_t *)(io + 2 * bytes + found_bytes)};
    int ranged = run_all(backend, (struct sw_cuda_table *)table, queue, &arrays, trial);
    backend->io_free(table, io, all);
    return ranged;
}

bool passes(const struct trial *trial)
{
    const struct sw_backend *backend = sw_robin_hood_backend_cuda();
    struct sw_table_config config;
    char reason[256] = "";
    void *table = NULL;
    void *queue = NULL;
    int ranged = -1;
    sw_table_config_init(&config);
    config.slot_bits = trial->slot_bits;
    config.capacity_slots = 1 << 20;
    config.batch_ops_max = 1 << 16;
    config.tuning.bulk = SW_CHOICE_NEVER;
    config.tuning.ranges = trial->forbidden ? SW_CHOICE_NEVER : SW_CHOICE_AUTO;
    if (backend->open(&config, &table, reason, sizeof(reason)) == SW_OK &&
        backend->queue_open(table, &queue) == SW_OK) {
        ranged = run_backend(backend, table, queue, trial);
    }
    if (queue != NULL) {
        backend->queue_close(queue);
    }
    if (table != NULL) {
        backend->close(table);
    }
    bool good = ranged == (trial->forbidden ? 0 : BATCHES - 1);
    printf("%s %u operations%s, %u-bit slots%s%s%s: %d of %d batches of stored keys by ranges %s\n",
           good ? "ok    " : "FAILED", trial->count, trial->mixed ? " of two kinds" : "",
           trial->slot_bits, trial->found ? ", found" : "", trial->previous ? ", previous" : "",
           trial->forbidden ? ", forbidden" : "", ranged, BATCHES - 1, reason);
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
