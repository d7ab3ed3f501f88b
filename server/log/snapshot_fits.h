/* SPDX-License-Identifier: MIT
 *
 * snapshot_fits.h - whether a table can hold what a snapshot has.
 */
#ifndef SHERWOOD_SERVER_LOG_SNAPSHOT_FITS_H
#define SHERWOOD_SERVER_LOG_SNAPSHOT_FITS_H

#include "server/log/snapshot_load.h"

struct sw_table_info;

/* Compares the header in `load`, of the file `name`, with the table. Returns false and an error in
 * `reason` if the table cannot hold the entries. */
bool sw_snapshot_fits(const struct sw_load *load, const struct sw_table_info *info,
                      const char *name, char reason[SW_LOAD_REASON_BYTES]);

/* Returns whether the table chooses the values of its keys (--ids). A cache, which has the same
 * operations, does not. */
bool sw_table_gives_ids(const struct sw_table_info *info);

#endif
