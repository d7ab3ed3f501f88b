/* SPDX-License-Identifier: MIT
 *
 * image_times.c - a table of the expiry times of an image.
 */
#include "table/robin_hood/cpu/image_times.h"

#define LOAD 0.8
#define STASH_SLOTS 1024U
#define AHEAD 16U

int sw_image_times_open(const struct sw_expiry_table_calls *expiry_calls, uint64_t count,
                        uint64_t slots, uint64_t seed, struct sw_cpu **out)
{
    struct sw_table_config config;
    void *times = NULL;
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.capacity_slots = (uint64_t)((double)count / LOAD) + SW_BUCKET_SLOTS;
    config.max_capacity_slots = slots > config.capacity_slots ? slots : config.capacity_slots;
    config.max_load = 1.0;
    config.seed = seed;
    config.batch_ops_max = SW_IMAGE_TIMES_PIECE;
    config.stash_slots = STASH_SLOTS;
    config.threads = 1;
    int status = expiry_calls->open(&config, &times);
    *out = times;
    return status;
}

void sw_image_times_close(struct sw_cpu *times)
{
    if (times != NULL) {
        times->expiry_calls->close(times);
    }
}

int sw_image_times_add(struct sw_cpu *times, const uint64_t *keys, const uint64_t *values,
                       uint32_t count)
{
    struct sw_batch batch = {
        .kind = SW_BATCH_OPERATIONS, .op = SW_SET, .count = count, .keys = keys, .values = values};
    times->expiry_calls->run(times, &batch);
    return batch.status == SW_OK ? SW_OK : SW_E_NOMEM;
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
