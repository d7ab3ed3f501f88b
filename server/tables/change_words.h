/* SPDX-License-Identifier: MIT
 *
 * change_words.h - reads a change of the places from the words of TABLE, by either protocol.
 *
 * The functions are pure.
 */
#ifndef SHERWOOD_SERVER_TABLES_CHANGE_WORDS_H
#define SHERWOOD_SERVER_TABLES_CHANGE_WORDS_H

#include "proto/resp.h"
#include "server/tables/tables.h"

/* Reads CREATE, ALTER, DROP, RENAME, SWAP or SAVE, which is the first word, with its arguments.
 * `view`: has the table of LIKE, and the default table, with the options that CREATE does not give.
 * Returns 0, or -1 with a RESP error line in `error`. */
int sw_change_read(const struct sw_tables_view *view, const struct sw_resp_argument *words,
                   uint32_t count, struct sw_change *change, char *error, size_t error_bytes);

#endif
