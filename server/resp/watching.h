/* SPDX-License-Identifier: MIT
 *
 * watching.h - WATCH and UNWATCH: the keys that a connection watches until its EXEC. WATCH holds
 * the gate of writes while it notes them, as EXEC does while it looks whether they were changed and
 * writes (alone.c). Everything is called on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_RESP_WATCHING_H
#define SHERWOOD_SERVER_RESP_WATCHING_H

#include <stdbool.h>
#include <stdint.h>

struct sw_resp_conn;

/* Does EXEC depend on what became of keys? */
bool sw_watching_is_on(struct sw_resp_conn *state);

/* Watches these keys, too; the loop holds the empty gate. Returns false, with none watched, if that
 * would pass watched-keys-max. */
bool sw_watching_add(struct sw_resp_conn *state, const void *keys, uint32_t count);

/* One of the keys that are to be added next expires at this time, none before; UINT64_MAX: none. */
void sw_watching_until(struct sw_resp_conn *state, uint64_t at);

/* Was one of them changed? Whatever made the table another one counts, too: this server was a
 * replica, or its cluster has another topology. The loop holds the empty gate. */
bool sw_watching_is_changed(struct sw_resp_conn *state);

/* Watches nothing any more. */
void sw_watching_forget(struct sw_resp_conn *state);

#endif
