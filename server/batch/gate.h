/* SPDX-License-Identifier: MIT
 *
 * gate.h - the gate that all writes of all loops pass on their way to the table. A command that
 * looks at keys and then writes closes it meanwhile, so that nobody else writes in between.
 *
 * Invariant: from the moment at which sw_gate_is_empty says true until sw_gate_open, no write but
 * the holder's is in the table, and every write that was there before has taken effect. Reads pass
 * at any time.
 *
 * A write that finds the gate closed waits in its submitter (flight.c), which its loop polls. Who
 * wants to close it waits until those that it kept out have gone in, so that neither starves. Loops
 * that wait for anything here do not sleep: what they wait for takes as long as a few batches.
 *
 * Threads: a side belongs to its loop. The gate is shared.
 */
#ifndef SHERWOOD_SERVER_BATCH_GATE_H
#define SHERWOOD_SERVER_BATCH_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "server/list.h"

struct sw_gate;
struct sw_watched;

/* A loop's side of the gate. */
struct sw_gate_side {
    struct sw_gate *gate;
    struct sw_list link;     /* of all sides, under the gate's mutex */
    bool was_kept_out;       /* a write waits; under the mutex */
    uint8_t line_before[64]; /* `writes` has a cache line of its own */
    uint64_t writes;         /* atomic: writes inside */
    uint8_t line_behind[64];
};

/* With the keys that clients watch, at most so many (watched.h). Returns NULL if there is no
 * memory.
 */
struct sw_gate *sw_gate_create(uint32_t watched_keys_max);
/* Every side must have left. NULL is allowed. */
void sw_gate_destroy(struct sw_gate *gate);

struct sw_watched *sw_gate_watched(struct sw_gate *gate);

/* Borrows the gate. The side must not move. */
void sw_gate_side_init(struct sw_gate_side *side, struct sw_gate *gate);
void sw_gate_side_fini(struct sw_gate_side *side);

/* A write wants to go in. Returns false if the gate is closed: try again soon. */
bool sw_gate_enter(struct sw_gate_side *side);
/* It has taken effect, or was refused. */
void sw_gate_leave(struct sw_gate_side *side);

/* Closes the gate, unless somebody else has. Returns true if this side holds it from now on. */
bool sw_gate_close(struct sw_gate_side *side);
/* Is the gate, which this side has closed, empty by now? */
bool sw_gate_is_empty(const struct sw_gate_side *side);
void sw_gate_open(struct sw_gate_side *side);

#endif
