/* SPDX-License-Identifier: MIT
 *
 * follow.h - handles of several addresses, of which one is the primary: finding it at connect, and
 * going to the new one after a fail-over.
 *
 * A handle of several addresses has endpoints. It connects to the first address that is a primary:
 * a replica names its primary, which is tried next. When a replica refuses a write, nothing was
 * done, so the handle connects to the primary and sends the write again. Used by the thread that
 * uses the handle.
 */
#ifndef SHERWOOD_CLIENT_FOLLOW_H
#define SHERWOOD_CLIENT_FOLLOW_H

#include "client/handle.h"

/* A call goes to another primary at most this many times. */
#define SW_CLIENT_FOLLOWS_MAX 4

/* Connects a handle that has endpoints and no connection: to the primary, or to a replica if there
 * is no primary. On failure it returns a code, with a sentence in `text`. */
int sw_client_follow_open(struct sherwood *client, char *text, size_t text_bytes);

/* Can a call be sent again from key *from on, behind a refusal by a replica? If so, connects to the
 * primary and returns SHERWOOD_OK. Otherwise, and if no primary is found in time, returns the
 * status of the call, with the sentence in the handle. `follows` counts what the call has followed.
 */
int sw_client_follow_call(struct sherwood *client, const struct sw_client_call *call, int *follows,
                          size_t *from);

#endif
