/* SPDX-License-Identifier: MIT
 *
 * stats_reply.h - the body of the reply to STATS: every statistic of the server, as name and value.
 *
 * To add a figure, add a row to stats_reply.c or a counter to observe/counters.h. libsherwood and
 * sherwood-cli show whatever figures they receive. These are pure functions, for any thread.
 */
#ifndef SHERWOOD_SERVER_BULK_STATS_REPLY_H
#define SHERWOOD_SERVER_BULK_STATS_REPLY_H

#include "proto/frame.h"
#include "server/observe/server_stats.h"

/* Returns the largest number of figures in a reply to a client that requests at most `wanted`
 * figures (0: all). */
uint32_t sw_bulk_stats_count(uint32_t wanted);

/* Writes the first `count` figures of the snapshot and skips unknown ones. `count` is from
 * sw_bulk_stats_count. Returns the number of figures written. */
uint32_t sw_bulk_stats_write(const struct sw_server_stats *snapshot, struct sw_figure *out,
                             uint32_t count);

#endif
