/* SPDX-License-Identifier: MIT
 *
 * cache_config.c - tables whose engine is the cache, as tests make them.
 */
#include "tests/support/cache_config.h"

#include "tests/support/tested.h"

struct sw_table_config cache_config(uint32_t slot_bits, uint32_t value_bytes,
                                    enum sw_cache_mode mode, enum sw_cache_policy policy)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = tested_backend();
    config.engine = SW_ENGINE_CACHE;
    config.slot_bits = slot_bits;
    config.value_bytes = value_bytes;
    config.cache_mode = mode;
    config.cache_policy = policy;
    config.capacity_slots = 700;
    config.batch_ops_max = 4096;
    tested_tune(&config);
    tested_place(&config);
    return config;
}
