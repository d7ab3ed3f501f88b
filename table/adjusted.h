/* SPDX-License-Identifier: MIT
 *
 * adjusted.h - changes of entries that no counter of a batch counts.
 *
 * Threads: any; the batch belongs to the caller.
 */
#ifndef SHERWOOD_TABLE_ADJUSTED_H
#define SHERWOOD_TABLE_ADJUSTED_H

#include <stdint.h>

struct sw_batch;

/* Returns how many operations of a completed batch changed only the time or the score of a key. An
 * EPOCH batch that succeeded returns 1. If the batch's answers do not show whether an operation
 * changed something, counts the operation: an unnecessary snapshot loses nothing. */
uint64_t sw_batch_adjusted(const struct sw_batch *batch);

#endif
