/* SPDX-License-Identifier: MIT
 *
 * gate.h - the write lock of the table, here called the gate: all writes of all loops pass it. A
 * read-modify-write command closes the gate between its read and its write.
 *
 * Invariant: from the moment at which sw_gate_is_empty returns true until sw_gate_open, the holder
 * is the only writer of the table, and every earlier write has taken effect. Reads pass at any
 * time.
 *
 * A write that finds the gate closed waits in its submitter (flight.c), which its loop polls. The
 * next close waits until the writes that the last close kept out have entered, so that neither side
 * starves. Loops that wait here do not sleep: the wait takes as long as a few batches.
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

/* A loop's slot in the gate. */
struct sw_gate_side {
    struct sw_gate *gate;
    struct sw_list link; /* in the gate's list of sides; under the gate's mutex */
    bool was_kept_out; /* a write of this side found the gate closed, and waits; under the mutex */
    uint8_t line_before[64]; /* `writes` has a cache line of its own */
    uint64_t writes;         /* atomic: writes inside */
    uint8_t line_behind[64];
};

/* Creates the gate and its list of at most `watched_keys_max` watched keys (watched.h). Returns
 * NULL if there is no memory. */
struct sw_gate *sw_gate_create(uint32_t watched_keys_max);
/* Destroys the gate. Call sw_gate_side_fini for every side first. NULL is allowed. */
void sw_gate_destroy(struct sw_gate *gate);

struct sw_watched *sw_gate_watched(struct sw_gate *gate);

/* Borrows the gate. The side must not move. */
void sw_gate_side_init(struct sw_gate_side *side, struct sw_gate *gate);
void sw_gate_side_fini(struct sw_gate_side *side);

/* Admits a write. Returns false if the gate is closed: the caller tries again soon. */
bool sw_gate_enter(struct sw_gate_side *side);
/* Ends a write that has taken effect or was rejected. */
void sw_gate_leave(struct sw_gate_side *side);

/* Closes the gate unless another side has closed it. Returns true if this side now holds it. */
bool sw_gate_close(struct sw_gate_side *side);
/* Returns true if no write is left inside the gate, which this side has closed. */
bool sw_gate_is_empty(const struct sw_gate_side *side);
void sw_gate_open(struct sw_gate_side *side);

/* The gates of one or two tables, which one loop holds together. A loop closes two in the order of
 * the tables' ids, so that no two loops wait for each other. */
struct sw_gates {
    struct sw_gate_side *sides[2];
    uint32_t count, closed; /* sides[0] to sides[closed - 1] hold their gates */
};
/* Closes the gates that are open. Returns true if this loop holds all, and no write is left in any
 * of them; else the caller tries again soon. */
bool sw_gates_close(struct sw_gates *gates);
void sw_gates_open(struct sw_gates *gates);

#endif
