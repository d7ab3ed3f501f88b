/* SPDX-License-Identifier: MIT
 *
 * catalog_encode.h - the messages of views: what a record CHANGE or CATALOG has as its column.
 *
 * Threads: any that keeps the views.
 */
#ifndef SHERWOOD_SERVER_LOG_CATALOG_ENCODE_H
#define SHERWOOD_SERVER_LOG_CATALOG_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "server/tables/tables.h"

/* Encodes the change from one view to the next, with zeros up to a multiple of SW_WAL_ALIGN, as a
 * column of a record needs. Returns memory that the caller frees, or NULL. */
uint8_t *sw_catalog_encode_change(const struct sw_tables_view *before,
                                  const struct sw_tables_view *next, size_t *bytes);
/* Encodes the catalog of a view likewise. */
uint8_t *sw_catalog_encode_view(const struct sw_tables_view *view, size_t *bytes);

#endif
