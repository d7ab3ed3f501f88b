/* SPDX-License-Identifier: MIT
 *
 * engine.h - the engines of this build: what checks their configuration, and their backends.
 *
 * Threads: constant data.
 */
#ifndef SHERWOOD_TABLE_ENGINE_H
#define SHERWOOD_TABLE_ENGINE_H

#include "table/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sw_engine_parts {
    /* Checks a configuration of which sw_config_valid holds. SW_OK or SW_E_INVALID (with a sentence
     * in `reason`, unless that is NULL). NULL: there is nothing more to check. */
    int (*valid)(const struct sw_table_config *config, char *reason, size_t reason_size);
    /* Memory of a valid configuration's slots, with all that lies beside them for good; without the
     * scratch of batches, which goes by the backend. */
    uint64_t (*bytes)(const struct sw_table_config *config);
    const struct sw_backend *cpu;
    const struct sw_backend *(*cuda)(void); /* NULL, or gives NULL: no CUDA backend */
};

/* Whether a table of this configuration can be: SW_OK, SW_E_INVALID, or SW_E_NOTBUILT if this build
 * lacks the engine. On SW_OK *parts are the engine's; otherwise `reason` (unless NULL) has one
 * sentence. */
int sw_engine_find(const struct sw_table_config *config, const struct sw_engine_parts **parts,
                   char *reason, size_t reason_size);

#ifdef __cplusplus
}
#endif

#endif
