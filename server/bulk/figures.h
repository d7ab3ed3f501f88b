/* SPDX-License-Identifier: MIT
 *
 * figures.h - the reply to STATS: every figure of the server by name. A figure more is one row in
 * figures.c (or a counter more in observe/counters.h); libsherwood and sherwood-cli show it as it
 * comes. Pure functions, any thread.
 */
#ifndef SHERWOOD_SERVER_BULK_FIGURES_H
#define SHERWOOD_SERVER_BULK_FIGURES_H

#include "proto/frame.h"
#include "server/observe/snapshot.h"

/* How many figures a reply has for a client that takes `wanted` (0: all of them). */
uint32_t sw_figures_count(uint32_t wanted);

/* Writes the first `count` figures of the snapshot; `count` is from sw_figures_count. */
void sw_figures_write(const struct sw_snapshot *snapshot, struct sw_figure *out, uint32_t count);

#endif
