/* SPDX-License-Identifier: MIT
 *
 * image_times.c - a table of the times of an image.
 */
#include "table/robin_hood/cpu/image_times.h"

#include <stdlib.h>

#define LOAD 0.8
#define STASH_SLOTS 1024U
/* Times that are read, or looked up, together. */
#define PIECE 4096U
#define AHEAD 16U

static int open_table(uint64_t count, uint64_t seed, struct sw_cpu **out)
{
    struct sw_table_config config;
    char reason[256];
    void *times = NULL;
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.capacity_slots = (uint64_t)((double)count / LOAD) + SW_BUCKET_SLOTS;
    config.max_load = 1.0;
    config.seed = seed;
    config.batch_ops_max = PIECE;
    config.stash_slots = STASH_SLOTS;
    config.threads = 1;
    int status = sw_robin_hood_backend_cpu.open(&config, &times, reason, sizeof(reason));
    *out = times;
    return status;
}

static int add_all(struct sw_cpu_image *image, struct sw_cpu *times, uint64_t *memory)
{
    struct sw_image_columns columns = {.room = PIECE, .keys = memory, .values = memory + PIECE};
    int status = SW_OK;
    do {
        columns.count = 0;
        status = sw_cpu_image_read(image, &columns);
        struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                                 .op = SW_SET,
                                 .count = columns.count,
                                 .keys = columns.keys,
                                 .values = columns.values};
        if (status == SW_OK && columns.count > 0) {
            sw_cpu_run_operations(times, &batch);
            status = batch.status == SW_OK ? SW_OK : SW_E_NOMEM;
        }
    } while (status == SW_OK && columns.count == PIECE);
    return status;
}

int sw_image_times_read(struct sw_cpu_image *image, uint64_t count, uint64_t seed,
                        struct sw_cpu **out)
{
    struct sw_cpu *times = NULL;
    uint64_t *memory = malloc(2 * PIECE * sizeof(*memory));
    int status = memory == NULL ? SW_E_NOMEM : open_table(count, seed, &times);
    if (status == SW_OK) {
        status = add_all(image, times, memory);
    }
    free(memory);
    if (status != SW_OK) {
        sw_image_times_close(times);
        times = NULL;
    }
    *out = times;
    return status;
}

void sw_image_times_close(struct sw_cpu *times)
{
    if (times != NULL) {
        sw_robin_hood_backend_cpu.close(times);
    }
}

static uint64_t key_at(const void *keys, uint32_t key_bytes, uint32_t i)
{
    return key_bytes == 4 ? ((const uint32_t *)keys)[i] : ((const uint64_t *)keys)[i];
}

void sw_image_times_fill(const struct sw_cpu *times, const void *keys, uint32_t key_bytes,
                         uint32_t count, uint64_t *out)
{
    const struct sw_table_s128 *table = &times->table.s128;
    uint64_t probes = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (count - i > AHEAD) {
            sw_prefetch_s128(table, sw_mix_s128(table, key_at(keys, key_bytes, i + AHEAD)));
        }
        out[i] =
            sw_locate_s128(table, sw_mix_s128(table, key_at(keys, key_bytes, i)), &probes).value;
    }
}
