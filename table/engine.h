/* SPDX-License-Identifier: MIT
 *
 * engine.h - the engines of this build: what each is called, which configurations it takes, and its
 * backends. An engine defines its struct sw_engine_parts in its own folder; engine.c lists them.
 *
 * Threads: constant data.
 */
#ifndef SHERWOOD_TABLE_ENGINE_H
#define SHERWOOD_TABLE_ENGINE_H

#include "table/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What not every engine has a use for, of a configuration. One that sets what its engine has no use
 * for is refused (config.c). */
enum sw_engine_field {
    SW_FIELD_MAX_CAPACITY = 1 << 0,
    SW_FIELD_MAX_PROBE = 1 << 1,
    SW_FIELD_BULK = 1 << 2,
    SW_FIELD_RANGES = 1 << 3,
    SW_FIELD_HINTS = 1 << 4,
    SW_FIELD_CACHE_WRITING = 1 << 5,
    SW_FIELD_HASH_FUNCTIONS = 1 << 6,
    SW_FIELD_VALUE_BYTES = 1 << 7,
    SW_FIELD_CACHE_MODE = 1 << 8,
    SW_FIELD_CACHE_POLICY = 1 << 9
};

struct sw_engine_parts {
    const char *name;
    uint32_t fields; /* of enum sw_engine_field: what it has a use for */
    /* Checks a configuration of which sw_config_valid and sw_config_own hold. SW_OK or SW_E_INVALID
     * (with a sentence in `reason`, unless that is NULL). */
    int (*valid)(const struct sw_table_config *config, char *reason, size_t reason_size);
    /* Memory of a valid configuration's slots, with all that lies beside them for good; without the
     * scratch of batches, which goes by the backend. */
    uint64_t (*bytes)(const struct sw_table_config *config);
    const struct sw_backend *cpu;
    const struct sw_backend *(*cuda)(void); /* NULL, or gives NULL: no CUDA backend */
};

/* Whether a table of this configuration can be: SW_OK or SW_E_INVALID. On SW_OK *parts are
 * the engine's; otherwise `reason` (unless NULL) has one sentence. */
int sw_engine_find(const struct sw_table_config *config, const struct sw_engine_parts **parts,
                   char *reason, size_t reason_size);

#ifdef __cplusplus
}
#endif

#endif
