/* SPDX-License-Identifier: MIT
 *
 * cache_config.h - tables whose engine is the cache, as tests make them.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_CACHE_CONFIG_H
#define SHERWOOD_TESTS_SUPPORT_CACHE_CONFIG_H

#include "table/table.h"

/* On the backend that is tested (tested.h), with 700 slots and batches of up to 4096 operations. */
struct sw_table_config cache_config(uint32_t slot_bits, uint32_t value_bytes,
                                    enum sw_cache_mode mode, enum sw_cache_policy policy);

#endif
