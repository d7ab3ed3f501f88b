/* SPDX-License-Identifier: MIT
 *
 * expiry_table.h - the functions of a table of expiry times: 128-bit slots that map keys to times.
 *
 * A backend builds these functions from its own parts and passes them to a table when the table is
 * opened. Expiry and images call the second table through them, with batches and never with single
 * keys. So no file below the engine calls the engine. Functions return 0 or an error of the
 * backend.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_EXPIRY_TABLE_H
#define SHERWOOD_TABLE_ROBIN_HOOD_EXPIRY_TABLE_H

#include "table/config.h"
#include "table/table.h"

struct sw_expiry_table_calls {
    /* Returns SW_OK, or an error such as SW_E_NOMEM or SW_E_DEVICE; then nothing is open. */
    int (*open)(const struct sw_table_config *config, void **times);
    void (*close)(void *times);
    /* Carries out a batch from its submission to its end. */
    int (*run)(void *times, struct sw_batch *batch);
    /* Grows the table for `more` entries, if it may grow. Short memory is not an error. */
    int (*grow)(void *times, uint64_t more);
};

#endif
