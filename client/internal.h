/* SPDX-License-Identifier: MIT
 *
 * internal.h - what the files of libsherwood share: the handle, its stripes, frames in flight.
 *
 * A handle has one or more stripes, each a connection. A frame in flight is a slot of a fixed ring
 * inside a stripe (a "flight"); its request_id names the slot, so replies are matched in constant
 * time in whatever order they come. Nothing is allocated after connect. Everything here belongs to
 * the one thread that uses the handle.
 */
#ifndef SHERWOOD_CLIENT_INTERNAL_H
#define SHERWOOD_CLIENT_INTERNAL_H

#include "client/sherwood.h"
#include "client/transport.h"
#include "proto/frame.h"

/* The most frames a stripe keeps unanswered; a server that allows more is not asked for more. */
#define SW_CLIENT_FLIGHTS_MAX 256
/* Prefix and header of a request: a few small integers. */
#define SW_CLIENT_HEAD_BYTES_MAX 128
/* Replies are read ahead into this much, unless a long body is expected next. */
#define SW_CLIENT_BUFFER_BYTES 65536
/* Where bytes nobody asked for go, again and again, so that it stays in the cache: padding, a found
 * bitmap without an array, values that are dropped. */
#define SW_CLIENT_SCRATCH_BYTES 65536
/* Bodies from here on are received straight into the caller's arrays. */
#define SW_CLIENT_LONG_BYTES 2048
/* From here on a body's end is waited for, instead of its next segment (SO_RCVLOWAT). */
#define SW_CLIENT_LOW_WATER_BYTES 131072
#define SW_CLIENT_LOW_WATER_BYTES_MAX (4U << 20)
/* So often it looks for less than that. */
#define SW_CLIENT_LOOK_MS 200
/* Arrays of constant requests from here on are sent as pages. */
#define SW_CLIENT_PAGES_BYTES 65536
#define SW_CLIENT_VALUE_BYTES_MAX 1024
#define SW_CLIENT_ERROR_BYTES 512
/* A struct that says it is longer was never given a size. */
#define SW_CLIENT_STRUCT_BYTES_MAX 4096
#define SW_CLIENT_ADDRESS_BYTES 128
/* Splits of a call happen at multiples of this, so that found bitmaps meet at words. */
#define SW_CLIENT_SPLIT_KEYS 64
#define SW_CLIENT_CONNECT_TIMEOUT_MS 5000
#define SW_CLIENT_REQUEST_TIMEOUT_MS 30000
/* Of the time between two calls, so much counts towards a timeout. */
#define SW_CLIENT_GAP_MS 10

/* _state of a request. */
enum sw_client_request_state {
    SW_CLIENT_REQUEST_IDLE,
    SW_CLIENT_REQUEST_FLYING,
    SW_CLIENT_REQUEST_DONE
};

/* A blocking call: one or more flights that it waits for. Lives on the caller's stack. */
struct sw_client_call {
    uint32_t flights;       /* unanswered */
    int status;             /* of the first flight that failed */
    uint64_t overflows;     /* of all flights */
    struct sw_reply *reply; /* out, of a control request; or NULL */
};

/* A part of a reply's body: `bytes` go to `data`, or nowhere if that is NULL. */
struct sw_client_part {
    uint8_t *data;
    size_t bytes;
};
/* Values in pieces, padding, bitmap, padding. */
#define SW_CLIENT_PARTS_MAX (SHERWOOD_PIECES_MAX + 3)
/* A frame that is sent: head, keys in pieces, zeros, operands in pieces, zeros. */
#define SW_CLIENT_FRAME_PARTS_MAX (2 * SHERWOOD_PIECES_MAX + 3)

struct sw_client_flight {
    uint64_t id; /* 0: free */
    struct sw_request header;
    uint32_t head_bytes;
    uint8_t head[SW_CLIENT_HEAD_BYTES_MAX];
    uint64_t frame_bytes;         /* head and body */
    struct sherwood_piece single; /* `pieces` if the caller had none */
    const struct sherwood_piece *pieces;
    uint32_t pieces_count; /* 0: control */
    bool sent;
    bool is_constant;
    bool is_direct;                   /* its reply has a long body for the caller's arrays */
    void *first;                      /* where a SCAN's keys, or figures, go */
    void *second;                     /* where the second array goes: bitmap, values of a SCAN */
    struct sherwood_request *request; /* of the caller of submit; or NULL */
    struct sw_client_call *call;      /* or NULL */
};

/* One connection of a handle. */
struct sw_client_stripe {
    struct sherwood *client;
    struct sw_client_transport *transport; /* owned */
    int broken;                            /* 0, or why it is over */
    uint32_t in_flight;
    uint32_t direct; /* of them, those with is_direct */
    uint64_t moved;  /* the client's clock when a byte last moved, or the first flight began */

    /* Slots whose frames are not fully sent, in order. */
    uint32_t queue[SW_CLIENT_FLIGHTS_MAX];
    uint32_t queue_first, queue_count;
    uint64_t queue_offset; /* bytes of the first one's frame that are sent */
    int send_errno;        /* sending failed: only what the server still says is read */

    /* Receiving: flight of the body being read, or NULL while a head is. */
    struct sw_client_flight *receiving;
    struct sw_reply reply;
    struct sw_client_part parts[SW_CLIENT_PARTS_MAX];
    uint32_t part, parts_count;
    uint32_t low_water; /* bytes below which the transport does not report any */
    size_t buffer_begin, buffer_end;
    bool received_any;  /* a whole head was understood on this connection */
    bool watches_write; /* by the descriptor */

    struct sw_client_flight flights[SW_CLIENT_FLIGHTS_MAX];
    uint8_t buffer[SW_CLIENT_BUFFER_BYTES];
};

struct sherwood {
    int broken; /* 0, or the code every further call returns: all stripes are over */
    int request_timeout_ms;
    struct sherwood_server server;
    char address[SW_CLIENT_ADDRESS_BYTES];
    char error[SW_CLIENT_ERROR_BYTES];

    uint32_t flights_max; /* of a stripe; 1 until the server has said how many */
    uint32_t in_flight;   /* of all stripes */
    uint64_t sequence;
    uint64_t clock;     /* ms spent waiting */
    uint64_t polled_ms; /* when that was last counted */
    int epoll;          /* the descriptor, or -1 */
    struct sherwood_traffic traffic;

    uint64_t overflows; /* of the last sherwood_run */

    /* Of the last sherwood_stats. */
    uint32_t figures_count;
    struct sw_figure figures[SW_FIGURES_MAX];

    /* Answered requests of submit that nobody waited for yet. */
    struct sherwood_request *done_first, *done_last;

    uint8_t scratch[SW_CLIENT_SCRATCH_BYTES];
    uint32_t next; /* the stripe that is looked at first */
    uint32_t stripes_count;
    struct sw_client_stripe *stripes[SHERWOOD_STRIPES_MAX];
};

/* --- error.c --- */

/* Sets the sentence and returns `status`. */
int sw_client_fail(struct sherwood *client, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, and the stripe is over: its requests in flight end with `status`, the callers' arrays
 * are no longer touched. If it was the last, further calls return `status`. */
int sw_client_break(struct sw_client_stripe *stripe, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The code of a server's status; SHERWOOD_E_PROTOCOL for one that is unknown. */
int sw_client_status(uint32_t reply_status);
/* Are the bytes of a struct from one offset to another 0? What a program wants of a later version
 * is not. */
bool sw_client_is_zero(const void *object, size_t from, size_t to);
/* Copies text that a peer sent, printable characters only. */
void sw_client_clean(const char *text, size_t size, char *out, size_t out_bytes);

/* --- connect.c --- */

/* sherwood_connect_text by way of the dialer's transports. */
int sw_client_connect(const struct sw_client_dialer *dialer, const char *address,
                      const struct sherwood_options *options, struct sherwood **out, char *text,
                      size_t text_bytes);

/* --- stripe.c --- */

/* Connects and greets. NULL with a code in *status and a sentence in `text`. */
struct sw_client_stripe *
sw_client_stripe_open(struct sherwood *client, const struct sw_client_dialer *dialer,
                      const char *address, const struct sherwood_options *options,
                      struct sw_reply *greeting, int *status, char *text, size_t text_bytes);
/* NULL is allowed. */
void sw_client_stripe_close(struct sw_client_stripe *stripe);
/* Has it a free flight, and is it not over? */
bool sw_client_stripe_is_free(const struct sw_client_stripe *stripe);
/* The stripe with the fewest unanswered frames that is free, or NULL. */
struct sw_client_stripe *sw_client_stripe_pick(struct sherwood *client);
/* Brings the descriptor's interest up to date; and takes a stripe that is over from it. */
void sw_client_stripe_watch(struct sw_client_stripe *stripe);

/* --- flight.c --- */

/* What a frame is made of. */
struct sw_client_frame {
    struct sw_request header;            /* all but the id */
    const struct sherwood_piece *pieces; /* NULL: `single`, or none if that has no keys */
    uint32_t pieces_count;
    struct sherwood_piece single;
    bool is_constant;
};

/* Queues a frame. Returns the flight, whose request, call, first and second are the caller's to
 * set; NULL if none is free or the head cannot be encoded. */
struct sw_client_flight *sw_client_flight_queue(struct sw_client_stripe *stripe,
                                                const struct sw_client_frame *frame);
/* The flight a reply answers, or NULL. */
struct sw_client_flight *sw_client_flight_find(struct sw_client_stripe *stripe, uint64_t id);
/* Frees the flight and hands its result on. */
void sw_client_flight_finish(struct sw_client_stripe *stripe, struct sw_client_flight *flight,
                             int status, const struct sw_reply *reply);

/* --- send.c, receive.c --- */

/* Sends what the socket takes; never blocks. A failure is kept in send_errno: the server may have
 * said why, so the receiving side ends the connection. */
void sw_client_send(struct sw_client_stripe *stripe);
/* The same for all stripes. */
void sw_client_send_all(struct sherwood *client);
/* Receives what the socket has; never blocks. SHERWOOD_OK, or the stripe is over and the code says
 * why. */
int sw_client_receive(struct sw_client_stripe *stripe);

/* --- reply.c --- */

/* The head of a reply is in stripe->reply, `body_bytes` follow. Checks it against the request and
 * sets `receiving` and `parts`, or finishes the flight if there is no body. */
int sw_client_reply(struct sw_client_stripe *stripe, uint64_t body_bytes);
/* The server is at its limit of connections, as it `said`. */
int sw_client_turned_away(struct sw_client_stripe *stripe, const char *said);

/* --- wait.c --- */

/* Sends and receives until at least some bytes have moved, or `limit_ms` have passed (negative: no
 * limit), or a stripe is over after request_timeout_ms without a byte. */
void sw_client_step(struct sherwood *client, int limit_ms);
/* Blocks until the call has no flights left (a stripe that is over ends its own); returns its
 * status. */
int sw_client_finish_call(struct sherwood *client, struct sw_client_call *call);

#endif
