/* SPDX-License-Identifier: MIT
 *
 * connection.h - the connections of a handle. They belong to the thread that uses the handle.
 * Nothing is allocated after connect.
 */
#ifndef SHERWOOD_CLIENT_CONNECTION_H
#define SHERWOOD_CLIENT_CONNECTION_H

#include "client/flight.h"
#include "client/ring.h"
#include "client/transport.h"

/* A part of a reply's body: `bytes` bytes that are stored at `data`, or dropped if that is NULL. */
struct sw_client_part {
    uint8_t *data;
    size_t bytes;
};
/* The most parts of a body: values and found bits of each segment. Padding follows each array. A
 * body without segments has fewer: values in pieces, the found bitmap, five arrays of a cache. */
#define SW_CLIENT_PARTS_MAX (4 * SW_FRAME_SEGMENTS_MAX)

/* One connection of a handle. */
struct sw_client_connection {
    struct sherwood *client;
    struct sw_client_transport *transport; /* owned */
    uint64_t incarnation;                  /* id of the server's log; 0: it does not log writes */
    uint32_t number;                       /* no other connection of the handle has had it */
    int broken;                            /* 0, or the code that ended it */
    uint32_t in_flight;
    uint32_t direct; /* flights among these whose is_direct is set */
    uint64_t moved;  /* the client's clock when a byte was last received, or sent while no request
                        waited for its reply, or when the first flight began */

    /* The slots of frames that are not completely sent, in order. */
    uint32_t queue[SW_CLIENT_FLIGHTS_MAX];
    uint32_t queue_first, queue_count;
    uint64_t queue_offset; /* how many bytes of the first frame have been sent */
    int send_errno; /* not 0: sending failed; the connection only receives the remaining replies */

    /* The flight whose body is being received, or NULL while a head is. */
    struct sw_client_flight *receiving;
    struct sw_reply reply;
    struct sw_client_part parts[SW_CLIENT_PARTS_MAX];
    uint32_t part, parts_count;
    uint32_t low_water; /* the low-water mark of the transport */
    size_t buffer_begin, buffer_end;
    bool received_any;          /* a reply has been received on this connection */
    struct sw_client_ring ring; /* only the first connection has one */
    char address[SW_CLIENT_ADDRESS_BYTES];
    uint64_t map_epoch; /* the largest epoch of a topology that the server has sent; 0: none */
    uint64_t keys, frames, refusals; /* of shard requests */
    uint32_t frozen;                 /* replies with the status SLOT_FROZEN */
    bool has_written;                /* a request that may change the table was sent */
    bool watches_write; /* the descriptor reports when the transport can be written to */

    struct sw_client_flight flights[SW_CLIENT_FLIGHTS_MAX];
    uint8_t buffer[SW_CLIENT_BUFFER_BYTES];
};

/* Returns the free connection with the fewest frames in flight, or NULL if every connection is
 * busy. */
struct sw_client_connection *sw_client_connection_pick(struct sherwood *client);
/* Updates which events of this connection make the descriptor of sherwood_descriptor readable.
 * Removes a connection that has ended from the descriptor. */
void sw_client_connection_watch(struct sw_client_connection *connection);
/* Stores the sentence for sherwood_error and ends the connection: its requests in flight end with
 * `status`, and the callers' arrays are no longer touched. If it was the last connection, further
 * calls return `status`. */
int sw_client_break(struct sw_client_connection *connection, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
