/* SPDX-License-Identifier: MIT
 *
 * frame_slot.h - one bulk frame from its first byte to the last byte of its answer.
 */
#ifndef SHERWOOD_SERVER_BULK_FRAME_SLOT_H
#define SHERWOOD_SERVER_BULK_FRAME_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "proto/frame.h"
#include "server/batch/flight.h"

struct sw_conn;
struct sw_loop;

struct sw_frame {
    struct sw_flight flight;
    struct sw_loop *loop;
    struct sw_conn *conn;
    struct sw_frame *next; /* the loop's spare frames, its writes that gather, unsent answers */
    struct sw_request request;
    uint8_t *memory; /* arena: the request's body, then the answer's; NULL if neither has any */
    size_t memory_bytes;
    uint64_t body_bytes;
    uint64_t received; /* of the body */
    uint8_t *answer;
    struct sw_body_layout answer_layout;
    uv_buf_t pieces[3]; /* what is sent: the head, arrays in `memory` */
    unsigned piece_count;
    uint64_t answer_bytes; /* of all pieces */
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
};

/* A frame without memory; NULL if there is none. */
struct sw_frame *sw_frame_take(struct sw_loop *loop, struct sw_conn *conn);
/* Arena memory for it; false if there is none now. */
bool sw_frame_reserve(struct sw_frame *frame, uint64_t bytes);
/* Gives the frame and its memory back. */
void sw_frame_put(struct sw_frame *frame);

/* Starts frame->flight; its answer is sent when the batch is done. */
void sw_frame_fly(struct sw_frame *frame);

/* Sends the answer with these arrays (of the frame's memory; at most 2), then gives the frame back.
 * The request counts as answered. */
void sw_frame_answer(struct sw_frame *frame, const struct sw_reply *reply, const uv_buf_t *arrays,
                     unsigned count);

#endif
