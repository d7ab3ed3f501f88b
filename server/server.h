/* SPDX-License-Identifier: MIT
 *
 * server.h - the whole daemon as one object: table, loops, listener, HTTP. main.c and tests use it.
 *
 * It starts the table, the self-test, the loops, HTTP and the listener, in this order; main.c then
 * reports READY. It stops the listener first, then the loops, each once its connections have sent
 * the replies to the requests that they accepted; then the last snapshot is written, and HTTP and
 * the table are stopped.
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

/* Starts everything and returns with the loops running. `config` is copied; the server owns the
 * sockets of `activated` (NULL: none) from then on. Returns 0, and the server in *out; otherwise
 * with a sentence logged and nothing left running: SW_START_CONFIG if a file of users, secrets or
 * certificates that the options name is wrong, or the limit of open files too low, which a further
 * start does not mend, or -1. Two
 * servers may run in one process. */
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
 * loading fails a stop is asked for. May be called from any thread. */
bool sw_server_is_loading(const struct sw_server *server);

/* Does the server make progress? Returns true if every loop has finished an iteration since the
 * last call, or is inside a submit. To be called by one thread, between start and join. */
bool sw_server_alive(struct sw_server *server);

/* Reads anew what SIGHUP reads: reload.h. Returns 0, or -1 if something was not taken over; the log
 * says what. To be called by the main thread, between start and join. */
int sw_server_reload(struct sw_server *server);

/* A file descriptor that becomes readable when a stop has been asked for, so that main can poll it
 * together with its signals. The server owns it. */
int sw_server_stopped_fd(struct sw_server *server);

/* Fills in the statistics of the server. `server` is a struct sw_server. May be called from any
 * thread. */
void sw_server_snapshot(void *server, struct sw_server_stats *snapshot);

/* Writes the line that main prints at the start: addresses, engine, backend and the reason for it,
 * widths, capacity, memory. */
void sw_server_describe(const struct sw_server *server, char *line, size_t line_bytes);

#endif
