/* SPDX-License-Identifier: MIT
 *
 * internal.h - what the files of libsherwood share: the handle, its connections, frames in flight.
 *
 * A stripe is one of the connections of a handle. A flight is a frame in flight, from the moment it
 * is queued until its reply has been received; it is a slot of a fixed ring in its stripe, and its
 * request_id names the slot, so a reply is matched in constant time whatever the order of replies.
 * A piece is a segment of arrays that are not contiguous. A call is a blocking request, which waits
 * for one or more flights. Nothing is allocated after connect. Everything here belongs to the one
 * thread that uses the handle.
 */
#ifndef SHERWOOD_CLIENT_INTERNAL_H
#define SHERWOOD_CLIENT_INTERNAL_H

#include "client/sherwood.h"
#include "client/transport.h"
#include "proto/frame.h"

/* The largest number of frames in flight on a stripe, even if the server allows more. */
#define SW_CLIENT_FLIGHTS_MAX 256
/* Room for the prefix and the header of a request, which consists of a few small integers. */
#define SW_CLIENT_HEAD_BYTES_MAX 128
/* The size of a stripe's buffer for reading ahead. It is not used where a long body comes next. */
#define SW_CLIENT_BUFFER_BYTES 65536
/* The size of the memory that receives what nobody wants: padding, a found bitmap or values without
 * an array. It is overwritten again and again, so that it stays in the processor's cache. */
#define SW_CLIENT_SCRATCH_BYTES 65536
/* Bodies of at least this length are received straight into the caller's arrays. */
#define SW_CLIENT_LONG_BYTES 2048
/* If at least this much of a body is missing, the low-water mark of the transport (SO_RCVLOWAT) is
 * set so that the thread is woken once for all of it, but at the latest after .._MAX bytes. */
#define SW_CLIENT_LOW_WATER_BYTES 131072
#define SW_CLIENT_LOW_WATER_BYTES_MAX (4U << 20)
/* While such a mark is set, the transport is also read after this time, so that bytes below the
 * mark count as progress. */
#define SW_CLIENT_LOOK_MS 200
/* Arrays of constant requests are sent as pages if they have at least this length. */
#define SW_CLIENT_PAGES_BYTES 65536
#define SW_CLIENT_VALUE_BYTES_MAX 1024
#define SW_CLIENT_ERROR_BYTES 512
/* A struct whose size field is larger than this was not initialised. */
#define SW_CLIENT_STRUCT_BYTES_MAX 4096
#define SW_CLIENT_ADDRESS_BYTES 128
/* A long call is split at multiples of this many keys, so that the found bitmap of each frame
 * begins at a word of the caller's. */
#define SW_CLIENT_SPLIT_KEYS 64
#define SW_CLIENT_CONNECT_TIMEOUT_MS 5000
#define SW_CLIENT_REQUEST_TIMEOUT_MS 30000
/* Of the time that passes between two calls of the library, at most this much counts towards a
 * timeout. */
#define SW_CLIENT_GAP_MS 10

/* Values of sherwood_request._state. */
enum sw_client_request_state {
    SW_CLIENT_REQUEST_IDLE,
    SW_CLIENT_REQUEST_FLYING,
    SW_CLIENT_REQUEST_DONE
};

/* A blocking call and the flights that it waits for. It lives on the stack of the call. */
struct sw_client_call {
    uint32_t flights;       /* in flight */
    int status;             /* of the first flight that failed */
    uint64_t overflows;     /* of all flights */
    struct sw_reply *reply; /* out, for requests without keys; or NULL */
};

/* A part of a reply's body: `bytes` bytes that are stored at `data`, or dropped if that is NULL. */
struct sw_client_part {
    uint8_t *data;
    size_t bytes;
};
/* A body that is received: values in pieces, padding, the bitmap, padding. */
#define SW_CLIENT_PARTS_MAX (SHERWOOD_PIECES_MAX + 3)
/* A frame that is sent: head, keys in pieces, zeros, operands in pieces, zeros. */
#define SW_CLIENT_FRAME_PARTS_MAX (2 * SHERWOOD_PIECES_MAX + 3)

struct sw_client_flight {
    uint64_t id; /* 0: free */
    struct sw_request header;
    uint32_t head_bytes;
    uint8_t head[SW_CLIENT_HEAD_BYTES_MAX];
    uint64_t frame_bytes;         /* head and body */
    struct sherwood_piece single; /* what `pieces` points to if the caller has none */
    const struct sherwood_piece *pieces;
    uint32_t pieces_count; /* 0: the request has no keys */
    bool sent;
    bool is_constant;
    bool is_direct;                   /* its reply has a long body for the caller's arrays */
    void *first;                      /* receives the keys of a SCAN, or the figures of STATS */
    void *second;                     /* receives the found bitmap, or the values of a SCAN */
    struct sherwood_request *request; /* of sherwood_submit; or NULL */
    struct sw_client_call *call;      /* or NULL */
};

/* One connection of a handle. */
struct sw_client_stripe {
    struct sherwood *client;
    struct sw_client_transport *transport; /* owned */
    int broken;                            /* 0, or the code with which it ended */
    uint32_t in_flight;
    uint32_t direct; /* how many of these are is_direct */
    uint64_t moved;  /* the client's clock when a byte last moved, or the first flight began */

    /* The slots of frames that are not completely sent, in order. */
    uint32_t queue[SW_CLIENT_FLIGHTS_MAX];
    uint32_t queue_first, queue_count;
    uint64_t queue_offset; /* how many bytes of the first frame have been sent */
    int send_errno;        /* not 0: sending failed, and only what the server still sends is read */

    /* The flight whose body is being received, or NULL while a head is. */
    struct sw_client_flight *receiving;
    struct sw_reply reply;
    struct sw_client_part parts[SW_CLIENT_PARTS_MAX];
    uint32_t part, parts_count;
    uint32_t low_water; /* the low-water mark of the transport */
    size_t buffer_begin, buffer_end;
    bool received_any;  /* a reply has been received on this connection */
    bool watches_write; /* the descriptor reports when the transport can be written to */

    struct sw_client_flight flights[SW_CLIENT_FLIGHTS_MAX];
    uint8_t buffer[SW_CLIENT_BUFFER_BYTES];
};

struct sherwood {
    int broken; /* 0, or, once all stripes have ended, the code that every further call returns */
    int request_timeout_ms;
    struct sherwood_server server;
    char address[SW_CLIENT_ADDRESS_BYTES];
    char error[SW_CLIENT_ERROR_BYTES];

    uint32_t flights_max; /* of a stripe; 1 until the server has sent its limit */
    uint32_t in_flight;   /* of all stripes */
    uint64_t sequence;
    uint64_t clock;     /* milliseconds spent waiting */
    uint64_t polled_ms; /* when `clock` was last brought up to date */
    int epoll;          /* the descriptor, or -1 */
    struct sherwood_traffic traffic;

    uint64_t overflows; /* of the last sherwood_run */

    /* What the last sherwood_stats received. */
    uint32_t figures_count;
    struct sw_figure figures[SW_FIGURES_MAX];

    /* Submitted requests whose reply has been received, and which no waiting call has returned yet.
     */
    struct sherwood_request *done_first, *done_last;

    uint8_t scratch[SW_CLIENT_SCRATCH_BYTES];
    uint32_t next; /* the stripe that is considered first for the next request */
    uint32_t stripes_count;
    struct sw_client_stripe *stripes[SHERWOOD_STRIPES_MAX];
};

/* --- error.c --- */

/* Stores the sentence for sherwood_error and returns `status`. */
int sw_client_fail(struct sherwood *client, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Does the same and ends the stripe: its requests in flight end with `status`, and the callers'
 * arrays are no longer touched. If it was the last stripe, further calls return `status`. */
int sw_client_break(struct sw_client_stripe *stripe, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns the code for a status of the protocol; SHERWOOD_E_PROTOCOL if it is unknown. */
int sw_client_status(uint32_t reply_status);
/* Are all bytes of a struct from one offset to another 0? If they are not, a program uses a field
 * of a later version. */
bool sw_client_is_zero(const void *object, size_t from, size_t to);
/* Copies text that a peer sent, and replaces all but printable characters. */
void sw_client_clean(const char *text, size_t size, char *out, size_t out_bytes);

/* --- connect.c --- */

/* Does what sherwood_connect_text does, over transports of this dialer. */
int sw_client_connect(const struct sw_client_dialer *dialer, const char *address,
                      const struct sherwood_options *options, struct sherwood **out, char *text,
                      size_t text_bytes);

/* --- stripe.c --- */

/* Connects and exchanges HELLO. On failure it returns NULL, a code in *status and a sentence in
 * `text`. */
struct sw_client_stripe *
sw_client_stripe_open(struct sherwood *client, const struct sw_client_dialer *dialer,
                      const char *address, const struct sherwood_options *options,
                      struct sw_reply *greeting, int *status, char *text, size_t text_bytes);
/* NULL is allowed. */
void sw_client_stripe_close(struct sw_client_stripe *stripe);
/* Can the stripe take another frame? */
bool sw_client_stripe_is_free(const struct sw_client_stripe *stripe);
/* Returns the free stripe that has the fewest frames in flight, or NULL if none is free. */
struct sw_client_stripe *sw_client_stripe_pick(struct sherwood *client);
/* Updates what the descriptor of sherwood_descriptor waits for on this stripe, and removes a stripe
 * that has ended from it. */
void sw_client_stripe_watch(struct sw_client_stripe *stripe);

/* --- flight.c --- */

/* What a frame is made of. */
struct sw_client_frame {
    struct sw_request header;            /* without the id */
    const struct sherwood_piece *pieces; /* NULL: `single` is the only one, if it has keys */
    uint32_t pieces_count;
    struct sherwood_piece single;
    bool is_constant;
};

/* Queues a frame. Returns its flight, of which the caller sets request, call, first and second; or
 * NULL if no flight is free or the head cannot be encoded. */
struct sw_client_flight *sw_client_flight_queue(struct sw_client_stripe *stripe,
                                                const struct sw_client_frame *frame);
/* Returns the flight that has this request_id, or NULL. */
struct sw_client_flight *sw_client_flight_find(struct sw_client_stripe *stripe, uint64_t id);
/* Frees the flight, and passes its result to its request or call. */
void sw_client_flight_finish(struct sw_client_stripe *stripe, struct sw_client_flight *flight,
                             int status, const struct sw_reply *reply);

/* --- send.c, receive.c --- */

/* Sends as much as the transport accepts; never blocks. A failure is only noted in send_errno: the
 * server may have sent the reason, so the connection ends when receiving finds its end. */
void sw_client_send(struct sw_client_stripe *stripe);
/* Does the same for all stripes. */
void sw_client_send_all(struct sherwood *client);
/* Receives what the transport has; never blocks. Returns SHERWOOD_OK, or the code with which the
 * stripe ended. */
int sw_client_receive(struct sw_client_stripe *stripe);

/* --- reply.c --- */

/* Checks the head of a reply, which is in stripe->reply, against its request. `body_bytes` follow
 * it: sets `receiving` and `parts`, or finishes the flight if there is no body. Returns
 * SHERWOOD_OK, or the code with which the stripe ended. */
int sw_client_reply(struct sw_client_stripe *stripe, uint64_t body_bytes);
/* Ends the stripe because the server refused it at its limit of connections, in these words. */
int sw_client_turned_away(struct sw_client_stripe *stripe, const char *said);

/* --- wait.c --- */

/* Sends and receives until some bytes have moved, or `limit_ms` have passed (negative: no limit),
 * or a stripe has ended because no byte moved for request_timeout_ms. */
void sw_client_step(struct sherwood *client, int limit_ms);
/* Blocks until the call has no flights left, and returns its status. A stripe that ends finishes
 * its flights, so this always returns. */
int sw_client_finish_call(struct sherwood *client, struct sw_client_call *call);

#endif
