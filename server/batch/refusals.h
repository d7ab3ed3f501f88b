/* SPDX-License-Identifier: MIT
 *
 * refusals.h - what the table's refusals are called, whichever protocol tells them.
 */
#ifndef SHERWOOD_SERVER_BATCH_REFUSALS_H
#define SHERWOOD_SERVER_BATCH_REFUSALS_H

/* Two unsigned long long: slots wanted, slots at most. */
#define SW_RESIZE_RANGE                                                                           \
    "cannot resize to %llu slots: at least 1 and at most %llu slots (the larger of capacity and " \
    "max-capacity)"
#define SW_RESIZE_FAILED                                                                         \
    "there is no memory for the old and the new table at once, or too many keys would meet the " \
    "probe cap: nothing was changed"

#endif
