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

/* Begins what clients have submitted, of each ring its share. Returns true if there was anything.
 */
bool sw_bulk_take_rings(struct sw_bulk *bulk);
/* The protocol's `resumed`. */
void sw_bulk_resumed(struct sw_conn *conn);

/* Shows clients what was completed, and wakes those that sleep. To be called before
 * sw_bulk_flush. */
void sw_bulk_publish_rings(struct sw_bulk *bulk);

/* Asks clients for bells, since the loop is about to sleep. Returns false if there is something to
 * be taken already: then it must not sleep. */
bool sw_bulk_rings_may_sleep(struct sw_bulk *bulk);
/* It does not sleep any more. */
void sw_bulk_rings_are_awake(struct sw_bulk *bulk);

#endif
