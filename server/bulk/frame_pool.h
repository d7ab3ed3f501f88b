/* SPDX-License-Identifier: MIT
 *
 * frame_pool.h - bulk frames, and a loop's pool of unused ones.
 *
 * A frame lives from the head of a request to the last byte of its reply. Its memory comes from the
 * loop's I/O arena and holds the body of the request, then the body of the reply. The table reads
 * keys and operands where they were received, and replies are sent from where the table wrote them.
 * Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_BULK_FRAME_POOL_H
#define SHERWOOD_SERVER_BULK_FRAME_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "proto/frame.h"
#include "proto/region.h"
#include "server/batch/batches.h"
#include "server/list.h"

struct sw_bulk;
struct sw_bulk_reading;
struct sw_bulk_segments;
struct sw_bulk_shared;
struct sw_bulk_table;
struct sw_change_run;
struct sw_conn;
struct sw_memory_copies;
struct sw_region;

/* Most pieces of memory in the body of a reply: one with the arrays that are as long as the
 * request's, and three of evicted entries. A SCAN has three: keys, values and scores. */
#define SW_BULK_ARRAYS_MAX 4

struct sw_bulk_frame {
    struct sw_flight flight;
    struct sw_bulk *bulk;
    struct sw_conn *conn;
    struct sw_list link;  /* link in the pool, in the unsent replies, in bulk->waits, or in
                             bulk->copying */
    uint64_t deadline_ms; /* WAIT_DURABLE, WAIT: by the loop's clock */
    uint32_t reached;     /* WAIT: replicas that have the writes */
    struct sw_bulk_reading *reading; /* DIGEST: what its thread works on, owned; NULL: none */
    struct sw_change_run *change;    /* TABLE: owned; NULL: none */
    struct sw_request request;
    /* The table of the request, which must be used only while `view` is the number of the loop's
     * view, or after sw_bulk_enter_table until the reply. NULL: a reply without a request. */
    struct sw_bulk_table *table;
    uint32_t table_id;                 /* of this table */
    uint64_t view;                     /* the view in which the table was found */
    struct sw_bulk_segments *segments; /* in `memory`; NULL: the request has no segments */
    struct sw_bulk_shared *ring;       /* the ring of the request; NULL: it came as a frame */
    /* The arrays of the request: in `memory`, or in these regions; NULL: it has no such array. */
    void *arrays[SW_RING_ARRAYS];
    struct sw_region *regions[SW_RING_ARRAYS];
    uint64_t offsets[SW_RING_ARRAYS]; /* of the arrays in these regions */
    /* A request of a ring whose arrays all lie in `memory`, as those of a frame. Its results are
     * copied to the regions at the end. */
    bool is_copied;
    struct sw_memory_copies *copies; /* region_copies.h; NULL: there are no copies */
    void (*copied)(struct sw_bulk_frame *frame, int status);
    uint8_t *memory; /* in the arena; NULL: neither the request nor the reply has a body */
    size_t memory_bytes;
    bool keeps_ttl;      /* the batch is that of set_keepttl.h */
    uint64_t body_bytes; /* size of the request's body */
    uint64_t received;   /* bytes of the request's body that have been received */
    uint8_t *reply;      /* body of the reply, in `memory` */
    struct sw_body_layout reply_layout;
    uv_buf_t pieces[1 + SW_BULK_ARRAYS_MAX]; /* the reply: its head, then arrays in `memory` */
    unsigned piece_count;                    /* number of pieces */
    uint64_t reply_bytes;                    /* sum of the sizes of all pieces */
    /* Not cleared with the fields above. */
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    struct sw_trace trace;   /* of a request that is_sampled */
    uint64_t trace_begin_ns; /* when its head was decoded, by uv_hrtime */
};

struct sw_bulk_pool {
    struct sw_list spare; /* unused frames */
    uint32_t spare_count; /* length of `spare` */
    uint32_t spare_least; /* smallest spare_count since the last sweep */
};

void sw_bulk_pool_init(struct sw_bulk_pool *pool);
void sw_bulk_pool_fini(struct sw_bulk_pool *pool);

/* Frees frames that were not used since the last call, at most SW_SPARE_FRAMES_FREED_MAX. To be
 * called every SW_SWEEP_MS. */
void sw_bulk_pool_sweep(struct sw_bulk_pool *pool);

/* Takes a frame without arena memory from the pool, or allocates one. The caller owns it until
 * sw_bulk_frame_put. Returns NULL if there is no memory. */
struct sw_bulk_frame *sw_bulk_frame_take(struct sw_bulk *bulk, struct sw_conn *conn);
/* Allocates arena memory for the frame. Returns false if there is none now. */
bool sw_bulk_frame_reserve(struct sw_bulk_frame *frame, uint64_t bytes);
/* Frees the arena memory and returns the frame to the pool. */
void sw_bulk_frame_put(struct sw_bulk_frame *frame);

/* The frame whose link this is. */
static inline struct sw_bulk_frame *sw_bulk_frame_at(struct sw_list *link)
{
    return SW_CONTAINER(link, struct sw_bulk_frame, link);
}

#endif
