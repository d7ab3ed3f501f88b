/* SPDX-License-Identifier: MIT
 *
 * status.h - /status.json, the data of the status page (deploy/docs/ref/status.md has every field).
 */
#ifndef SHERWOOD_SERVER_OBSERVE_STATUS_H
#define SHERWOOD_SERVER_OBSERVE_STATUS_H

#include "server/observe/history.h"
#include "server/observe/text.h"

/* Version of the fields. It grows when a field is removed or changes its meaning. */
#define SW_STATUS_SCHEMA 1

/* A request for the samples of the history with numbers above `since`. */
struct sw_status_query {
    uint64_t since;
    uint64_t now_ms;  /* monotonic */
    uint64_t wall_ms; /* since 1970 */
};

/* Writes the document, or sets text->failed if there is no memory for it. */
void sw_status_render(const struct sw_server_stats *snapshot, const struct sw_history *history,
                      const struct sw_status_query *query, struct sw_text *text);

/* Parses the number of a sample in a request: decimal digits. NULL means 0. Returns false if it is
 * not a number. */
bool sw_status_parse_since(const char *text, uint64_t *since);

#endif
