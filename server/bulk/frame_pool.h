/* SPDX-License-Identifier: MIT
 *
 * frame_pool.h - bulk frames, from the first byte of a request to the last byte of its reply, and
 * the spare ones of a loop.
 *
 * A frame's memory comes from the loop's I/O arena: the request's body, then the reply's. Keys and
 * operands are used where they were received, and replies are sent from where they were computed.
 * One owner thread.
 */
#ifndef SHERWOOD_SERVER_BULK_FRAME_POOL_H
#define SHERWOOD_SERVER_BULK_FRAME_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "proto/frame.h"
#include "server/batch/batches.h"
#include "server/list.h"

struct sw_bulk;
struct sw_conn;

struct sw_bulk_frame {
    struct sw_flight flight;
    struct sw_bulk *bulk;
    struct sw_conn *conn;
    struct sw_list link; /* spare frames, writes that gather, unsent replies */
    struct sw_request request;
    uint8_t *memory; /* arena: the request's body, then the reply's; NULL if neither has any */
    size_t memory_bytes;
    uint64_t body_bytes;
    uint64_t received; /* of the body */
    uint8_t *reply;
    struct sw_body_layout reply_layout;
    uv_buf_t pieces[3]; /* what is sent: the head, arrays in `memory` */
    unsigned piece_count;
    uint64_t reply_bytes; /* of all pieces */
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
};

struct sw_frame_pool {
    struct sw_list spare;
    uint32_t spare_count;
    uint32_t spare_least; /* the fewest since the last sweep */
};

void sw_frame_pool_init(struct sw_frame_pool *pool);
void sw_frame_pool_fini(struct sw_frame_pool *pool);

/* Gives back spare frames that nobody needed since the last call, some at a time. Every
 * SW_SWEEP_MS. */
void sw_frame_pool_sweep(struct sw_frame_pool *pool);

/* A frame without memory; NULL if there is none. */
struct sw_bulk_frame *sw_bulk_frame_take(struct sw_bulk *bulk, struct sw_conn *conn);
/* Arena memory for it; false if there is none now. */
bool sw_bulk_frame_reserve(struct sw_bulk_frame *frame, uint64_t bytes);
/* Gives the frame and its memory back. */
void sw_bulk_frame_put(struct sw_bulk_frame *frame);

static inline struct sw_bulk_frame *sw_bulk_frame_at(struct sw_list *link)
{
    return SW_CONTAINER(link, struct sw_bulk_frame, link);
}

#endif
