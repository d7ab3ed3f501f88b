/* SPDX-License-Identifier: MIT
 *
 * catalog_view.h - a catalog of the tables of the server, and the tables that a catalog describes.
 *
 * Threads: one at a time.
 */
#ifndef SHERWOOD_SERVER_LOG_CATALOG_VIEW_H
#define SHERWOOD_SERVER_LOG_CATALOG_VIEW_H

#include "proto/catalog.h"
#include "server/log/catalog_encode.h"
#include "server/log/catalog_file.h"
#include "server/tables/tables.h"

/* Makes the catalog of a view. Its tables are through `sequence` and have no file: the caller sets
 * both for those that have one. Borrows the names of the view. Returns 0, or -1 if there is no
 * memory; sw_catalog_unmake frees the catalog after either. */
int sw_catalog_make(struct sw_catalog *catalog, const struct sw_tables_view *view,
                    uint64_t sequence);
void sw_catalog_unmake(struct sw_catalog *catalog);

/* Carries out a decoded change: sw_tables_apply, which has `applied`. Returns 0; or -1 and an error
 * in `reason`. */
int sw_catalog_carry_out(const struct sw_catalog *change, struct sw_tables *tables,
                         const struct sw_config *base, const struct sw_tables_applied *applied,
                         char reason[SW_LOAD_REASON_BYTES]);
/* Returns the shape of a table in files. */
struct sw_wal_shape sw_catalog_shape(const struct sw_served *served);

/* Makes the places and tables of a decoded catalog, empty: sw_tables_restore. `base`: the options
 * of the server. Returns 0; or -1 and an error in `reason`. */
int sw_catalog_restore(const struct sw_catalog *catalog, struct sw_tables *tables,
                       const struct sw_config *base, char reason[SW_LOAD_REASON_BYTES]);

#endif
