/* SPDX-License-Identifier: MIT
 *
 * config.h - what must hold of a table's configuration, whatever the engine.
 *
 * Threads: pure functions of their arguments.
 */
#ifndef SHERWOOD_TABLE_CONFIG_H
#define SHERWOOD_TABLE_CONFIG_H

#include <stddef.h>

#include "table/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Checks what every engine requires. Returns SW_OK or SW_E_INVALID (with a sentence in
 * `reason`). */
int sw_config_valid(const struct sw_table_config *config, char *reason, size_t reason_size);

/* Checks that only fields are set that the engine of this name uses: `fields`, of enum
 * sw_engine_field. Returns as sw_config_valid. */
int sw_config_own(const struct sw_table_config *config, const char *engine, uint32_t fields,
                  char *reason, size_t reason_size);

/* The size of a value of a valid configuration. */
uint32_t sw_config_value_bytes(const struct sw_table_config *config);

/* Writes a sentence to `reason` unless that is NULL, and returns SW_E_INVALID. */
__attribute__((format(printf, 3, 4))) int sw_config_refuse(char *reason, size_t reason_size,
                                                           const char *format, ...);

#ifdef __cplusplus
}
#endif

#endif
