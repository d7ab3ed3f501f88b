/* SPDX-License-Identifier: MIT
 *
 * config.h - checks of a table's configuration that all engines share.
 *
 * Threads: pure functions of their arguments.
 */
#ifndef SHERWOOD_TABLE_CONFIG_H
#define SHERWOOD_TABLE_CONFIG_H

#include <stddef.h>

#include "table/status.h"
#include "table/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Checks the requirements of all engines. Returns SW_OK, or SW_E_INVALID with a sentence in
 * `reason`. */
SW_MUST_CHECK int sw_config_valid(const struct sw_table_config *config, char *reason,
                                  size_t reason_size);

/* Checks that the configuration sets only fields that the engine uses. `engine` is its name,
 * `fields` the set of its enum sw_engine_field. Returns as sw_config_valid. */
SW_MUST_CHECK int sw_config_own(const struct sw_table_config *config, const char *engine,
                                uint32_t fields, char *reason, size_t reason_size);

/* Returns the size of a value of a valid configuration. */
uint32_t sw_config_value_bytes(const struct sw_table_config *config);

/* Returns whether a valid configuration is a table of ids: the values of its keys are numbers below
 * rows_max, which the table chooses. */
static inline bool sw_config_has_ids(const struct sw_table_config *config)
{
    return config->value_bytes == 0 && config->rows_max != 0;
}

/* Writes a sentence to `reason` unless that is NULL, and returns SW_E_INVALID. */
__attribute__((format(printf, 3, 4))) int sw_config_refuse(char *reason, size_t reason_size,
                                                           const char *format, ...);

#ifdef __cplusplus
}
#endif

#endif
