/* SPDX-License-Identifier: MIT
 *
 * move_status.h - status of a move of slots, for CLUSTER MOVE STATUS, INFO and the metrics.
 */
#ifndef SHERWOOD_SERVER_MOVE_MOVE_STATUS_H
#define SHERWOOD_SERVER_MOVE_MOVE_STATUS_H

#include <stdint.h>

#include "server/cluster/state_file.h"

/* Phases: name, text. */
#define SW_MOVE_PHASE_MAP(X)                                                           \
    X(SW_MOVE_RESTS, "none")                                                           \
    X(SW_MOVE_REMOVES, "removes")   /* old keys of slots, at either node */            \
    X(SW_MOVE_CONNECTS, "connects") /* target: to the source */                        \
    X(SW_MOVE_SNAPSHOT, "snapshot") /* the keys at one instant */                      \
    X(SW_MOVE_STREAM, "stream")     /* the writes since then */                        \
    X(SW_MOVE_HANDED, "handed")     /* source: the slots are served nowhere, or at the \
                                       target, which is asked */                       \
    X(SW_MOVE_DECIDES, "decides")   /* target: everything is here, and becomes durable */

enum sw_move_phase {
#define SW_MOVE_PHASE_ENUM(name, text) name,
    SW_MOVE_PHASE_MAP(SW_MOVE_PHASE_ENUM)
#undef SW_MOVE_PHASE_ENUM
};

#define SW_MOVE_REASON_BYTES 400

struct sw_move_status {
    enum sw_move_phase phase;
    enum sw_cluster_role role;
    uint64_t attempt;
    char peer[SW_TOPOLOGY_ID + 1];
    unsigned slots;
    uint64_t keys; /* sent or received in this attempt, in the snapshot and in writes */
    uint64_t bytes;
    uint64_t lag_writes; /* source: writes that the target has not applied */
    uint64_t freeze_us;  /* source: how long slots were not served in the last move */
    /* Since the start of the server. */
    uint64_t taken, handed_over; /* moves that were decided */
    uint64_t keys_taken, keys_handed_over;
    uint64_t failures;                  /* failed attempts */
    char trouble[SW_MOVE_REASON_BYTES]; /* why the last attempt failed; empty: it did not */
};

#endif
