/* SPDX-License-Identifier: MIT
 *
 * cluster.h - frames in cluster mode: does this node have the keys, and what is the topology?
 *
 * A frame is refused as a whole if one of its keys is in a slot of another node. It is refused
 * without a look at its keys if its client split it by a topology from before this node last lost a
 * slot: otherwise the frames of a connection could take effect in another order than they were
 * sent in, where an earlier one is refused and a later one has only keys that stayed. Both are
 * checked against the view of the loop's cluster handle. While a slot is handed over a frame with
 * its keys is refused as SLOT_FROZEN, and so is every frame that its client sent before it had that
 * reply. Everything is called on the connection's loop.
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

/* Does the node have all keys of the frame's batch? Outside a cluster it does. If not, it returns
 * false, and the reply has been sent. Where the table looks at the keys itself the batch is given
 * the slots of the loop's view, and sw_bulk_owned_keys says the same once it is done. */
bool sw_bulk_owns_keys(struct sw_bulk_frame *frame);
bool sw_bulk_owned_keys(struct sw_bulk_frame *frame);

/* Keeps only the entries of a SCAN that are in the slots of this node. Returns their number. */
uint32_t sw_bulk_keep_owned(struct sw_bulk_frame *frame, const struct sw_batch *batch);

/* Says why a request cannot be carried out in cluster mode, or outside of it; NULL: it can. */
const char *sw_bulk_cluster_refusal(const struct sw_bulk *bulk, uint32_t operation);
/* Says in the facts of the server whether it is in cluster mode. */
void sw_bulk_cluster_info(const struct sw_bulk *bulk, struct sw_server_info *info);

/* Returns the largest number of bytes in the reply to a TOPOLOGY whose client wants at most
 * `wanted` bytes (0: no limit of the client). */
uint32_t sw_bulk_topology_count(uint32_t wanted);
/* Replies with a part of the topology. */
void sw_bulk_start_topology(struct sw_bulk_frame *frame);

#endif
