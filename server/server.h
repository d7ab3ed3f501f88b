/* SPDX-License-Identifier: MIT
 *
 * server.h - the whole daemon as one object: table, loops, listener, HTTP. main.c and tests use it.
 *
 * A start creates the table, runs the self-test, starts the loops, HTTP and the listener, and
 * begins to load the snapshot. main.c reports READY once the snapshot is loaded. A stop ends the
 * threads of the shard and of the registry, then the listener, then the loops. Each loop ends once
 * its connections have sent the replies to accepted requests. Then the server ends the log, or
 * writes a last snapshot if it has no complete log and SHUTDOWN did not forbid it. HTTP and the
 * table end last.
 */
#ifndef SHERWOOD_SERVER_SERVER_H
#define SHERWOOD_SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/config/config.h"
#include "server/notify.h"
#include "server/observe/server_stats.h"

struct sw_server;

/* Starts everything and returns with the loops running. Copies `config`. The server owns the
 * sockets of `activated` (NULL: none) from then on. Returns 0, and the server in *out. On failure
 * logs a sentence, leaves nothing running, and returns -1 or SW_START_CONFIG. SW_START_CONFIG:
 * another start would fail alike, because a file of users, secrets or certificates is wrong, or the
 * limit of open files is too low. Two servers may run in one process. */
#define SW_START_CONFIG (-2)
int sw_server_start(const struct sw_config *config, const struct sw_activated *activated,
                    struct sw_server **out);

/* Begins the shutdown and returns at once. May be called from any thread. */
void sw_server_stop(struct sw_server *server);

/* Waits until sw_server_stop is called (by the owner, by SHUTDOWN, or because the device is lost),
 * completes the shutdown and frees the server. Returns the exit status of the process: 0, or 1 if
 * the device was lost, or no snapshot could be loaded or, at the end, written. To be called by one
 * thread. */
int sw_server_join(struct sw_server *server);

/* Is the newest snapshot of data-dir still being loaded? Requests on the table are refused then. If
 * loading fails, the server stops. May be called from any thread. */
bool sw_server_is_loading(const struct sw_server *server);

/* Does the server make progress? Returns true if every loop has finished an iteration since the
 * last call, or is inside a submit. To be called by one thread, between start and join. */
bool sw_server_alive(struct sw_server *server);

/* Reads again what SIGHUP reads: sw_reload_all. Returns 0, or -1 after logging an error. To be
 * called by the main thread, between start and join. */
int sw_server_reload(struct sw_server *server);

/* Returns a file descriptor that becomes readable when a stop is requested, so that main can poll
 * it with its signals. The server owns it. */
int sw_server_stopped_fd(struct sw_server *server);

/* Fills in the statistics of the server. `server` is a struct sw_server. May be called from any
 * thread. */
void sw_server_snapshot(void *server, struct sw_server_stats *snapshot);

/* Writes the line that main prints at the start: addresses, engine, backend and the reason for it,
 * widths, capacity, memory. */
void sw_server_describe(const struct sw_server *server, char *line, size_t line_bytes);

#endif
