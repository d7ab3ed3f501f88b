/* SPDX-License-Identifier: MIT
 *
 * engine.h - the engines of this build: the name, the configurations and the backends of each. An
 * engine defines its struct sw_engine_parts in its own folder; engine.c lists them.
 *
 * Threads: constant data.
 */
#ifndef SHERWOOD_TABLE_ENGINE_H
#define SHERWOOD_TABLE_ENGINE_H

#include "table/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fields of a configuration that only some engines use. config.c rejects a configuration that sets
 * a field which its engine does not use. */
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
    SW_FIELD_CACHE_POLICY = 1 << 9,
    SW_FIELD_ROWS_MAX = 1 << 10,
    SW_FIELD_ROWS_IN = 1 << 11,
    SW_FIELD_KEY_STRINGS = 1 << 12,
    SW_FIELD_SET = 1 << 13
};

struct sw_engine_parts {
    const char *name;
    uint32_t fields; /* set of enum sw_engine_field: the fields it uses */
    /* Checks a configuration that sw_config_valid and sw_config_own accept. Returns SW_OK, or
     * SW_E_INVALID with a sentence in `reason` (unless it is NULL). */
    int (*valid)(const struct sw_table_config *config, char *reason, size_t reason_size);
    /* Returns the bytes of the slots of a valid configuration and of the arrays beside them that
     * exist as long as the table. The scratch of batches is not included: it depends on the
     * backend. */
    uint64_t (*bytes)(const struct sw_table_config *config);
    const struct sw_backend *cpu;
    const struct sw_backend *(*cuda)(void); /* returns NULL if this build has no CUDA backend */
};

/* Finds the engine of a configuration, and checks whether such a table is possible. Returns SW_OK
 * and the engine's parts in *parts, or SW_E_INVALID with one sentence in `reason` (unless it is
 * NULL). */
int sw_engine_find(const struct sw_table_config *config, const struct sw_engine_parts **parts,
                   char *reason, size_t reason_size);

#ifdef __cplusplus
}
#endif

#endif
