/* SPDX-License-Identifier: MIT
 *
 * cluster.h - frames in cluster mode: does this node have the keys, and what is the topology?
 *
 * A frame is refused as a whole if one of its keys is in a slot of another node. The server also
 * refuses a frame, whatever its keys, if its client used a topology from before this node last lost
 * a slot. Otherwise the server could refuse an earlier frame of a connection and carry out a later
 * one, so they would take effect out of order. Both checks use the view of the loop's cluster
 * handle. While a slot is handed over, a frame with its keys gets SLOT_FROZEN. So does every frame
 * that the client sent before it received that reply. Everything is called on the connection's
 * loop.
 */
#ifndef SHERWOOD_SERVER_BULK_CLUSTER_H
#define SHERWOOD_SERVER_BULK_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/frame.h"
#include "server/bulk/bulk.h"
#include "server/cluster/cluster.h"

/* NULL: the server is not in cluster mode. */
static inline const struct sw_cluster_view *sw_bulk_view(const struct sw_bulk *bulk)
{
    return bulk->net->cluster.view;
}

/* The epoch of the topology; 0: there is none. */
static inline uint64_t sw_bulk_map_epoch(const struct sw_bulk *bulk)
{
    const struct sw_cluster_view *view = sw_bulk_view(bulk);
    return view == NULL || view->topology == NULL ? 0 : view->topology->epoch;
}

/* Returns true if the node owns all keys of the frame's batch; outside a cluster always. Otherwise
 * sends the reply and returns false. If the table checks the keys itself, sw_bulk_owns_keys passes
 * the slots of the loop's view to the batch, and returns true. sw_bulk_owned_keys then returns the
 * result once the batch is done. */
bool sw_bulk_owns_keys(struct sw_bulk_frame *frame);
bool sw_bulk_owned_keys(struct sw_bulk_frame *frame);

/* Keeps only the entries of a SCAN that are in the slots of this node. Returns their number. */
uint32_t sw_bulk_keep_owned(struct sw_bulk_frame *frame, const struct sw_batch *batch);

/* Returns why a request cannot be carried out in cluster mode, or outside of it; NULL: it can. */
const char *sw_bulk_cluster_refusal(const struct sw_bulk *bulk, uint32_t operation);
/* Sets in `info` whether the server is in cluster mode, and the epoch of its topology. */
void sw_bulk_cluster_info(const struct sw_bulk *bulk, struct sw_server_info *info);

/* Returns the largest number of bytes in the reply to a TOPOLOGY whose client wants at most
 * `wanted` bytes (0: no limit of the client). */
uint32_t sw_bulk_topology_count(uint32_t wanted);
/* Replies with a part of the topology. */
void sw_bulk_start_topology(struct sw_bulk_frame *frame);

#endif
