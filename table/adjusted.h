/* SPDX-License-Identifier: MIT
 *
 * adjusted.h - changes of entries that no counter of a batch counts.
 *
 * Threads: the batch is the caller's.
 */
#ifndef SHERWOOD_TABLE_ADJUSTED_H
#define SHERWOOD_TABLE_ADJUSTED_H

#include <stdint.h>

struct sw_batch;

/* Returns how many operations of a batch that is done have changed only the time or the score of a
 * key, and 1 for an epoch. Counts an operation of which the batch's answers do not tell: a snapshot
 * too many loses nothing. */
uint64_t sw_batch_adjusted(const struct sw_batch *batch);

#endif
