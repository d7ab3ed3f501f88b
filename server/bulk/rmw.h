/* SPDX-License-Identifier: MIT
 *
 * rmw.h - read-modify-write frames: CAS.
 *
 * Such a frame closes the gate of writes (batch/gate.h) and waits until the writes that were before
 * it have taken effect. Then the server checks it again: the role of the server, the rules of its
 * user, and the slots of the node. The frame reads all its keys and computes the new values
 * (rmw_values.h) in steps. Between two steps the loop does its other work. The frame writes the
 * changed values as one group and opens the gate. So no other client, by either protocol, writes
 * between its read and its write.
 *
 * It begins after the earlier requests of its connection have their replies, and later ones wait
 * until it has written. A loop carries out one such frame at a time, in the order of arrival. Of
 * all loops, only one frame or RESP command (resp/rmw.h) at a time holds the gate. Everything
 * belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_BULK_RMW_H
#define SHERWOOD_SERVER_BULK_RMW_H

#include <stdbool.h>
#include <stdint.h>

#include "server/bulk/rmw_values.h"
#include "server/list.h"

struct sw_bulk;
struct sw_bulk_frame;

enum sw_bulk_rmw_state {
    SW_BULK_RMW_WAITS, /* for the gate */
    SW_BULK_RMW_HOLDS, /* it has closed the gate, and waits for those inside */
    SW_BULK_RMW_FLIES, /* its read, or its write, is in flight */
    SW_BULK_RMW_MAKES  /* new values */
};

struct sw_bulk_rmw {
    struct sw_list frames;         /* that wait, oldest first */
    struct sw_bulk_frame *current; /* the one that holds the gate; NULL: none */
    enum sw_bulk_rmw_state state;
    struct sw_rmw_values values;
    uint64_t seed;
    uint64_t view_number; /* of the cluster's view that admitted it; 0: there is no cluster */
    uint64_t started_us;  /* when the frame became the current one */
};

void sw_bulk_rmw_init(struct sw_bulk_rmw *rmw, uint64_t seed);

/* Takes a frame that has been received completely. Its arrays are set. */
void sw_bulk_rmw_start(struct sw_bulk_frame *frame);

/* Continues the current frame, or begins the next one. Returns true if it did. */
bool sw_bulk_rmw_poll(struct sw_bulk *bulk);

/* Is there a frame? Then the loop must not sleep. */
bool sw_bulk_rmw_is_busy(const struct sw_bulk *bulk);
/* Is there a frame that was admitted by an older view of the cluster than the loop's, and has not
 * written? */
bool sw_bulk_rmw_is_of_older_view(const struct sw_bulk *bulk);

#endif
