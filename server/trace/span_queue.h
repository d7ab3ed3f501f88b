/* SPDX-License-Identifier: MIT
 *
 * span_queue.h - the finished spans of a loop on their way to the exporter.
 *
 * A ring with one writer, the loop, and one reader, the exporter's thread. `written` counts the
 * spans that the loop has added, `taken` those that the exporter has removed; span number n lies in
 * slot n % room. The loop writes only slots from `taken` + room on, counted from `written`, and the
 * exporter reads only slots below `written`. Neither side waits or locks.
 */
#ifndef SHERWOOD_SERVER_TRACE_SPAN_QUEUE_H
#define SHERWOOD_SERVER_TRACE_SPAN_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/frame.h"
#include "proto/trace.h"

#define SW_SPAN_ADDRESS_BYTES 64
#define SW_SPAN_MESSAGE_BYTES SW_FRAME_TEXT_BYTES_MAX

/* What the server did for a request. */
struct sw_span {
    struct sw_trace trace;     /* of the request: its parent_id is that of the span's parent */
    uint64_t begin_ns, end_ns; /* by uv_hrtime */
    uint32_t operation;        /* of proto/operation.h; may be an unknown number */
    uint32_t count;            /* keys of the request */
    uint32_t status;           /* enum sw_reply_status */
    char table[SW_FRAME_TABLE_BYTES];    /* name of the place; "": it has no table */
    char peer[SW_SPAN_ADDRESS_BYTES];    /* address of the client, as in struct sw_peer */
    char own[SW_SPAN_ADDRESS_BYTES];     /* the server's, likewise */
    char message[SW_SPAN_MESSAGE_BYTES]; /* of a reply that is an error, cut to fit; or "" */
};

struct sw_span_queue {
    struct sw_span *spans;
    uint32_t room;                 /* slots */
    _Alignas(64) uint64_t written; /* atomic; the loop's */
    _Alignas(64) uint64_t taken;   /* atomic; the exporter's */
};

/* `room` is at least 1. Returns 0, or -1 if memory is short; sw_span_queue_fini may be called after
 * either. */
int sw_span_queue_init(struct sw_span_queue *queue, uint32_t room);
void sw_span_queue_fini(struct sw_span_queue *queue);

/* Returns the slot of the next span, or NULL if the queue is full. Threads: the loop's. */
struct sw_span *sw_span_queue_slot(struct sw_span_queue *queue);
/* Adds the span in that slot. Returns whether the caller must wake the exporter: a batch of spans
 * waits, or half of the queue. */
bool sw_span_queue_add(struct sw_span_queue *queue);

/* Returns the oldest span, or NULL if there is none. Threads: the exporter's. */
const struct sw_span *sw_span_queue_oldest(const struct sw_span_queue *queue);
/* Removes it. */
void sw_span_queue_drop(struct sw_span_queue *queue);

#endif
