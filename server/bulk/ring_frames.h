/* SPDX-License-Identifier: MIT
 *
 * ring_frames.h - requests that come through rings: they become frames whose arrays lie in regions.
 * Everything is called on the loop.
 */
#ifndef SHERWOOD_SERVER_BULK_RING_FRAMES_H
#define SHERWOOD_SERVER_BULK_RING_FRAMES_H

#include <stdbool.h>

#include "server/bulk/frame_pool.h"

struct sw_bulk;
struct sw_conn;

/* Begins the submissions of clients, up to each ring's share of the iteration. Returns true if
 * there were any. */
bool sw_bulk_take_rings(struct sw_bulk *bulk);
/* The protocol's `resumed`. */
void sw_bulk_resumed(struct sw_conn *conn);

/* Publishes the completions to the clients, and wakes the clients that sleep. Call it before
 * sw_bulk_flush. */
void sw_bulk_publish_rings(struct sw_bulk *bulk);

/* Requests doorbells from the clients, because the loop is about to sleep. Returns false if a ring
 * already has a submission: then the loop must not sleep. */
bool sw_bulk_rings_may_sleep(struct sw_bulk *bulk);
/* Ends the request for doorbells: the loop is awake. */
void sw_bulk_rings_are_awake(struct sw_bulk *bulk);

#endif
