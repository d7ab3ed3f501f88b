/* SPDX-License-Identifier: MIT
 *
 * valid.h - batches before they are submitted.
 *
 * Threads: the caller's is the batch; the table's own is constant.
 */
#ifndef SHERWOOD_TABLE_VALID_H
#define SHERWOOD_TABLE_VALID_H

#include "table/instance.h"

/* SW_OK; SW_E_INVALID: it contradicts the rules of batch.h; SW_E_UNSUPPORTED. Notes whether it
 * concerns times by itself. */
int sw_batch_check(const struct sw_table *table, struct sw_batch *batch);

#endif
