/* SPDX-License-Identifier: MIT
 *
 * gather.h - combines small bulk writes of the connections of one loop into batches.
 *
 * A batch of writes costs the device much the same whether it has four thousand operations or sixty
 * thousand, and the table runs batches of writes one after the other. So small write frames wait
 * until the end of the loop's turn, or longer while SW_GATHERS combined batches are in flight.
 * Consecutive frames with the same operation are then copied into one batch, in which each frame is
 * a group. A frame whose neighbours have another operation is submitted alone, without copying.
 *
 * The frames of a connection keep their order: before another request of the connection is started,
 * sw_gather_flush must be called. Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_BULK_GATHER_H
#define SHERWOOD_SERVER_BULK_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/batch/flight.h"
#include "server/list.h"

struct sw_bulk;
struct sw_bulk_frame;

/* A combined batch and its frames. The arrays are in I/O memory. */
struct sw_gathered {
    struct sw_flight flight;
    struct sw_bulk *bulk;
    bool busy;             /* it is in flight */
    struct sw_list frames; /* in the order of their groups */
    uint8_t *keys;
    uint8_t *values;
    uint8_t *previous;
    uint64_t *found;
    uint32_t *group_ends;
    uint8_t *group_refused;
};

struct sw_gather {
    struct sw_list waiting;  /* frames that are not submitted yet, oldest first */
    uint32_t operations_max; /* most operations of a combined batch */
    void *memory;
    size_t memory_bytes;
    struct sw_gathered *batches; /* [SW_GATHERS] */
};

/* Returns 0, or -1 if there is no memory; sw_gather_fini may be called after either. */
int sw_gather_init(struct sw_bulk *bulk);
void sw_gather_fini(struct sw_bulk *bulk);

/* Is this frame, whose batch is filled in, a write that is small enough to be combined? */
bool sw_gather_takes(const struct sw_bulk_frame *frame);
/* Queues such a frame, and borrows it until its `done`. */
void sw_gather_add(struct sw_bulk_frame *frame);

/* Submits queued frames while fewer than SW_GATHERS combined batches are in flight. Returns true if
 * any was submitted. */
bool sw_gather_submit(struct sw_bulk *bulk);
/* Submits all queued frames. */
void sw_gather_flush(struct sw_bulk *bulk);

#endif
