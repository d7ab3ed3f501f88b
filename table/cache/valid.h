/* SPDX-License-Identifier: MIT
 *
 * valid.h - what must hold of a cache's configuration and of a batch.
 *
 * Threads: pure functions of their arguments.
 */
#ifndef SHERWOOD_TABLE_CACHE_VALID_H
#define SHERWOOD_TABLE_CACHE_VALID_H

#include "table/cache/cache.h"

#ifdef __cplusplus
extern "C" {
#endif

/* SW_OK or SW_E_INVALID, with a sentence in `reason`. */
int sw_cache_config_valid(const struct sw_cache_config *config, char *reason, size_t reason_size);

/* SW_OK or SW_E_INVALID. */
int sw_cache_batch_valid(const struct sw_cache_config *config, const struct sw_cache_batch *batch);

#ifdef __cplusplus
}
#endif

#endif
