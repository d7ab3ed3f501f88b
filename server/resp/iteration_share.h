/* SPDX-License-Identifier: MIT
 *
 * iteration_share.h - counts the time (net/iteration.h) and the bytes of text replies that commands
 * use of their connection's share of an iteration. Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_RESP_ITERATION_SHARE_H
#define SHERWOOD_SERVER_RESP_ITERATION_SHARE_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/resp.h"

struct sw_command;
struct sw_conn;
struct sw_resp_conn;

/* Stalls the connection: the rest of its input waits for the next phase. */
void sw_iteration_share_yield(struct sw_conn *conn);

/* Returns true if the connection must wait for the next iteration, because of the text replies in
 * this one. If all connections together have used up their bytes, a connection without text replies
 * may still send commands on keys: run_text in run.c stalls the other commands. */
bool sw_iteration_share_text_is_spent(struct sw_resp_conn *state);

/* Adds a command that was carried out or refused, with this many bytes of text replies. `command`
 * may be NULL: it is unknown. */
void sw_iteration_share_add(struct sw_resp_conn *state, const struct sw_command *command,
                            const struct sw_resp_command *arguments, size_t text_bytes);

#endif
