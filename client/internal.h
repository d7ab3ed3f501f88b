/* SPDX-License-Identifier: MIT
 *
 * internal.h - what the files of libsherwood share: the handle, frames in flight, the wire.
 *
 * A frame in flight is a slot of a fixed ring inside the handle (a "flight"); its request_id names
 * the slot, so replies are matched in constant time in whatever order they come. Nothing is
 * allocated after connect. Everything here belongs to the one thread that uses the handle.
 */
#ifndef SHERWOOD_CLIENT_INTERNAL_H
#define SHERWOOD_CLIENT_INTERNAL_H

#include "client/sherwood.h"
#include "proto/frame.h"

/* The most frames a handle keeps unanswered; a server that allows more is not asked for more. */
#define SW_CLIENT_FLIGHTS_MAX 256
/* Prefix and header of a request: a few small integers. */
#define SW_CLIENT_HEAD_BYTES_MAX 128
/* Replies are read ahead into this much; longer bodies go straight into the caller's arrays. */
#define SW_CLIENT_BUFFER_BYTES 16384
/* Where bytes nobody asked for go: padding, a found bitmap without an array. */
#define SW_CLIENT_SCRATCH_BYTES 4096
#define SW_CLIENT_ERROR_BYTES 512
#define SW_CLIENT_ADDRESS_BYTES 128
/* Splits of a call happen at multiples of this, so that found bitmaps meet at words. */
#define SW_CLIENT_SPLIT_KEYS 64
#define SW_CLIENT_CONNECT_TIMEOUT_MS 5000
#define SW_CLIENT_REQUEST_TIMEOUT_MS 30000

/* _state of a request. */
enum sw_request_state { SW_REQUEST_IDLE, SW_REQUEST_FLYING, SW_REQUEST_DONE };

/* A blocking call: one or more flights that it waits for. Lives on the caller's stack. */
struct sw_client_call {
    uint32_t flights;       /* unanswered */
    int status;             /* of the first flight that failed */
    struct sw_reply *reply; /* out, of a control request; or NULL */
};

/* A part of a body: `bytes` at `data`; NULL discards them when received, is zeros when sent. */
struct sw_client_part {
    uint8_t *data;
    size_t bytes;
};
#define SW_PARTS_MAX 5

struct sw_client_flight {
    uint64_t id; /* 0: free */
    struct sw_request header;
    uint8_t head[SW_CLIENT_HEAD_BYTES_MAX];
    struct sw_client_part
        parts[SW_PARTS_MAX]; /* what is sent: head, keys, zeros, operands, zeros */
    bool sent;
    void *first;  /* where the reply's first array goes: values, or keys of a SCAN; or NULL */
    void *second; /* the second: found bitmap, or values of a SCAN; or NULL */
    struct sherwood_request *request; /* of the caller of submit; or NULL */
    struct sw_client_call *call;      /* or NULL */
};

struct sherwood {
    int fd;
    int broken; /* 0, or the code every further call returns */
    int request_timeout_ms;
    struct sherwood_server server;
    char address[SW_CLIENT_ADDRESS_BYTES];
    char error[SW_CLIENT_ERROR_BYTES];

    uint32_t flights_max; /* 1 until the server has said how many */
    uint32_t in_flight;
    uint64_t sequence;

    /* Slots whose frames are not fully sent, in order. */
    uint32_t queue[SW_CLIENT_FLIGHTS_MAX];
    uint32_t queue_first, queue_count;
    uint64_t queue_offset; /* bytes of the first one's frame that are sent */
    int send_errno;        /* sending failed: only what the server still says is read */

    /* Receiving: flight of the body being read, or NULL while a head is. */
    struct sw_client_flight *receiving;
    struct sw_reply reply;
    struct sw_client_part parts[SW_PARTS_MAX];
    uint32_t part, parts_count;
    size_t buffer_begin, buffer_end;
    bool received_any; /* a whole head was understood on this connection */

    /* Answered requests of submit that nobody waited for yet. */
    struct sherwood_request *done_first, *done_last;

    struct sw_client_flight flights[SW_CLIENT_FLIGHTS_MAX];
    uint8_t scratch[SW_CLIENT_SCRATCH_BYTES];
    uint8_t buffer[SW_CLIENT_BUFFER_BYTES];
};

/* --- error.c --- */

/* Sets the sentence and returns `status`. */
int sw_client_fail(struct sherwood *client, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, and the connection is over: requests in flight end with `status`, the callers' arrays
 * are no longer touched, further calls return `status`. */
int sw_client_break(struct sherwood *client, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The code of a server's status; SHERWOOD_E_PROTOCOL for one that is unknown. */
int sw_client_status(uint32_t reply_status);
/* Copies text that a peer sent, printable characters only. */
void sw_client_clean(const char *text, size_t size, char *out, size_t out_bytes);

/* --- flight.c --- */

/* Is there a free flight? */
bool sw_client_flight_free(const struct sherwood *client);
/* Queues a frame. `keys` and `operands` may be NULL for control. Returns the flight, whose request,
 * call, first and second are the caller's to set; NULL if none is free or the head cannot be
 * encoded. */
struct sw_client_flight *sw_client_flight_queue(struct sherwood *client,
                                                const struct sw_request *header, const void *keys,
                                                const void *operands);
/* The flight a reply answers, or NULL. */
struct sw_client_flight *sw_client_flight_find(struct sherwood *client, uint64_t id);
/* Frees the flight and hands its result on. */
void sw_client_flight_finish(struct sherwood *client, struct sw_client_flight *flight, int status,
                             const struct sw_reply *reply);

/* --- send.c, receive.c --- */

/* Sends what the socket takes; never blocks. A failure is kept in send_errno: the server may have
 * said why, so the receiving side ends the connection. */
void sw_client_send(struct sherwood *client);
/* Receives what the socket has; never blocks. SHERWOOD_OK, or the connection is broken and the code
 * says why. */
int sw_client_receive(struct sherwood *client);

/* --- reply.c --- */

/* The head of a reply is in client->reply, `body_bytes` follow. Checks it against the request and
 * sets `receiving` and `parts`, or finishes the flight if there is no body. */
int sw_client_reply(struct sherwood *client, uint64_t body_bytes);

/* --- wait.c --- */

/* Sends and receives until at least some bytes have moved, or breaks the connection after
 * `timeout_ms` without any. */
int sw_client_step(struct sherwood *client, int timeout_ms);
/* Blocks until the call has no flights left (a broken connection ends them all); returns its
 * status. */
int sw_client_finish_call(struct sherwood *client, struct sw_client_call *call, int timeout_ms);

/* --- control.c --- */

/* One control request and its reply. */
int sw_client_control(struct sherwood *client, uint32_t operation, struct sw_reply *reply,
                      int timeout_ms);

#endif
