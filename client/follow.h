/* SPDX-License-Identifier: MIT
 *
 * follow.h - handles of several addresses: finds the primary at connect, and connects to the new
 * primary after a fail-over.
 *
 * A handle of several addresses has endpoints. It connects to the first address that is a primary:
 * a replica names its primary, and the handle tries that address next. When a replica refuses a
 * write, nothing was changed, so the handle connects to the primary and sends the write again.
 * Threads: the one that uses the handle.
 */
#ifndef SHERWOOD_CLIENT_FOLLOW_H
#define SHERWOOD_CLIENT_FOLLOW_H

#include "client/handle.h"

/* The most times that one call connects to another primary. */
#define SW_CLIENT_FOLLOWS_MAX 4

/* Connects a handle that has endpoints and no connection: to the primary, or to a replica if there
 * is no primary. On failure it returns a code, with a sentence in `text`. */
int sw_client_follow_open(struct sherwood *client, char *text, size_t text_bytes);

/* Connects to the primary after a replica refused a call, or requests the facts of a table that has
 * changed (table.h), if the call can be sent again from key *from on. Returns SHERWOOD_OK, or the
 * status of the call with the sentence in the handle if the call cannot be sent again or no primary
 * is found in time. `follows` counts the reconnects of the call. */
int sw_client_follow_call(struct sherwood *client, const struct sw_client_call *call, int *follows,
                          size_t *from);

#endif
