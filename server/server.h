/* SPDX-License-Identifier: MIT
 *
 * server.h - the whole daemon as one object: table, loops, listeners, HTTP. main.c and tests use
 * it.
 *
 * Start order: table, self-test batch, loops, HTTP, listeners, READY. Stop order: listeners, then
 * connections as their last accepted request is answered, loops, HTTP, table.
 */
#ifndef SHERWOOD_SERVER_SERVER_H
#define SHERWOOD_SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/config/config.h"
#include "server/notify.h"
#include "server/observe/snapshot.h"

struct sw_server;

/* Starts everything and returns with the loops running. `config` is copied. On failure returns -1
 * with a sentence logged, and nothing is left running. Two servers may run in one process. */
int sw_server_start(const struct sw_config *config, const struct sw_activated *activated,
                    struct sw_server **out);

/* Begins the shutdown: any thread; also async-signal-unsafe callers only. Returns at once. */
void sw_server_stop(struct sw_server *server);

/* Waits until a stop (asked for by sw_server_stop, SHUTDOWN or a lost device) is complete, then
 * frees the server. Returns the process's exit status: 0, or 1 if the device was lost. */
int sw_server_join(struct sw_server *server);

/* Called by the waiting thread about once a period to learn if the server still makes progress:
 * true if every loop has turned since the last call, or is busy in the table (for the watchdog). */
bool sw_server_alive(struct sw_server *server);

/* A file descriptor that becomes readable when the server has stopped by itself (SHUTDOWN, lost
 * device), so that main can poll it beside its signals. */
int sw_server_stopped_fd(struct sw_server *server);

void sw_server_snapshot(void *server, struct sw_snapshot *snapshot);

/* The one line a person reads at start: addresses, backend and why, widths, capacity, bytes. */
void sw_server_describe(const struct sw_server *server, char *line, size_t line_bytes);

#endif
