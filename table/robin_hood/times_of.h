/* SPDX-License-Identifier: MIT
 *
 * times_of.h - what keeps the times of entries: a table of 128-bit slots, from key to time.
 *
 * A backend makes these functions of its own parts and gives them to a table when it opens it.
 * Expiry and images call the second table through them, by batches and never by keys: so no file
 * below the engine calls the engine. Functions return 0 or an error of the backend.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_TIMES_OF_H
#define SHERWOOD_TABLE_ROBIN_HOOD_TIMES_OF_H

#include "table/config.h"
#include "table/table.h"

struct sw_times_of {
    /* SW_E_NOMEM, SW_E_DEVICE or another status: nothing is open. */
    int (*open)(const struct sw_table_config *config, void **times);
    void (*close)(void *times);
    /* Carries out a batch, from its submission to its end. */
    int (*run)(void *times, struct sw_batch *batch);
    /* Grows the table for `more` entries, if it may grow. Too little memory is no error. */
    int (*grow)(void *times, uint64_t more);
};

#endif
