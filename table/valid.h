/* SPDX-License-Identifier: MIT
 *
 * valid.h - validates batches before they are submitted.
 *
 * Threads: any. The batch belongs to the caller; the function reads only constant and atomic
 * members of the table.
 */
#ifndef SHERWOOD_TABLE_VALID_H
#define SHERWOOD_TABLE_VALID_H

#include "table/instance.h"
#include "table/status.h"

/* Checks a batch. SW_OK; SW_E_INVALID: it contradicts the rules of batch.h; SW_E_UNSUPPORTED. Sets
 * _adjusts and _times of the batch. */
SW_MUST_CHECK int sw_batch_check(const struct sw_table *table, struct sw_batch *batch);

#endif
