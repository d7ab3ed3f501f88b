/* SPDX-License-Identifier: MIT
 *
 * watching.h - WATCH and UNWATCH: the keys that a connection watches until its EXEC. WATCH holds
 * the write gate while it adds its keys. EXEC holds it while it checks whether they were changed,
 * and writes (rmw.c). Everything is called on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_RESP_WATCHING_H
#define SHERWOOD_SERVER_RESP_WATCHING_H

#include <stdbool.h>
#include <stdint.h>

struct sw_resp_conn;

/* Returns true if the connection watches keys. */
bool sw_watching_is_on(struct sw_resp_conn *state);

/* Watches these keys in addition. The loop holds the empty gate. Returns as sw_watched_add. */
int64_t sw_watching_add(struct sw_resp_conn *state, const void *keys, uint32_t count);

/* Notes the earliest expiry time of the keys that are added next; UINT64_MAX: they never expire. */
void sw_watching_until(struct sw_resp_conn *state, uint64_t at);

/* Returns true if a watched key was changed or has expired. It also returns true if the server is a
 * replica, or if the fence of replication or the view of the cluster has changed. The loop holds
 * the empty gate. */
bool sw_watching_is_changed(struct sw_resp_conn *state);

/* Removes all watched keys. */
void sw_watching_forget(struct sw_resp_conn *state);

#endif
