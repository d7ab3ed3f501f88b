/* SPDX-License-Identifier: MIT
 *
 * gather.h - small bulk writes of all connections of a loop that share batches.
 *
 * A batch of writes costs the device much the same whether it has four thousand operations or sixty
 * thousand, and batches of writes run one after the other. So small write frames wait for the end
 * of the loop's turn, and while SW_GATHERS batches of them are in flight. Those that follow each
 * other with the same operation are then copied together, a group each; one that finds no company
 * goes as it lies. A connection's frames keep their order: whoever starts something else for it
 * calls sw_gather_flush first. One owner thread.
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

/* Frames copied together, and their batch. Arrays are in I/O memory. */
struct sw_gathered {
    struct sw_flight flight;
    struct sw_bulk *bulk;
    bool busy;
    struct sw_list frames; /* in the order of their groups */
    uint8_t *keys;
    uint8_t *values;
    uint8_t *previous;
    uint64_t *found;
    uint32_t *group_ends;
    uint8_t *group_refused;
};

struct sw_gather {
    struct sw_list waiting;
    uint32_t operations_max;
    void *memory;
    size_t memory_bytes;
    struct sw_gathered *batches; /* [SW_GATHERS] */
};

/* Returns 0, or -1 (memory); fini is allowed after both. */
int sw_gather_init(struct sw_bulk *bulk);
void sw_gather_fini(struct sw_bulk *bulk);

/* May this frame wait for others? Its batch is filled in. */
bool sw_gather_takes(const struct sw_bulk_frame *frame);
void sw_gather_add(struct sw_bulk_frame *frame);

/* Submits what waits, as far as SW_GATHERS allows. Returns true if anything was submitted. */
bool sw_gather_submit(struct sw_bulk *bulk);
/* Submits all that waits. */
void sw_gather_flush(struct sw_bulk *bulk);

#endif
