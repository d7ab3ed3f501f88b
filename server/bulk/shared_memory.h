/* SPDX-License-Identifier: MIT
 *
 * shared_memory.h - the memory that a connection shares with its client: regions, and a ring.
 * Everything is called on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_BULK_SHARED_MEMORY_H
#define SHERWOOD_SERVER_BULK_SHARED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/bulk/frame_pool.h"
#include "server/list.h"
#include "server/region/memory.h"
#include "server/region/ring.h"

struct sw_conn;

struct sw_bulk_shared {
    struct sw_conn *conn;
    struct sw_list link;                /* link in bulk->rings, once there is a ring */
    struct sw_ring ring;                /* memory NULL: there is none yet */
    struct sw_region_request requested; /* parameters of the REGION or RELEASE in progress */
    struct sw_bulk_frame *pending;      /* that request, while its reply waits; NULL: none */
    /* The first record of the ring while its inputs are copied, and until it is taken. The copy of
     * the record is used then, because the client may change the ring. */
    struct sw_submission record;
    struct sw_bulk_frame *inputs; /* has the copies in its memory; NULL: there are none */
    int copied;                   /* status of the copies; SW_PENDING while they are under way */
    uint32_t regions_max;
    struct sw_region *regions[]; /* by index; NULL: there is none */
};

/* Notes the parameters in the header of a REGION or RELEASE that is about to run. Returns false if
 * the header is of another request. */
bool sw_bulk_shared_note(struct sw_conn *conn, const uint8_t *header, size_t header_bytes);

/* Carry out ATTACH, REGION and RELEASE; as sw_bulk_start, they take the frame. */
void sw_bulk_attach(struct sw_bulk_frame *frame);
void sw_bulk_register(struct sw_bulk_frame *frame);
void sw_bulk_release(struct sw_bulk_frame *frame);

/* Releases everything. No request of the connection may be in flight. */
void sw_bulk_shared_close(struct sw_conn *conn);

#endif
