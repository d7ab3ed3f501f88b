/* SPDX-License-Identifier: MIT
 *
 * flight.h - frames in flight.
 *
 * A flight is a frame in flight, from the moment it is queued until its reply has been received. It
 * is a slot of a fixed ring in its connection, and its request_id names the slot, so a reply is
 * matched in constant time whatever the order of replies. A piece is a segment of arrays that are
 * not contiguous. A call is a blocking request, which waits for one or more flights. All of this
 * belongs to the thread that uses the handle.
 */
#ifndef SHERWOOD_CLIENT_FLIGHT_H
#define SHERWOOD_CLIENT_FLIGHT_H

#include "client/bounds.h"
#include "client/sherwood.h"
#include "proto/frame.h"
#include "proto/region.h"

struct sherwood_segment;
struct sw_client_flight;
struct sw_client_connection;

/* Values of sherwood_request._state. */
enum sw_client_request_state {
    SW_CLIENT_REQUEST_IDLE,
    SW_CLIENT_REQUEST_FLYING,
    SW_CLIENT_REQUEST_DONE
};

#define SW_CLIENT_NOT_REFUSED UINT64_MAX
/* A blocking call and the flights that it waits for. It lives on the stack of the call. */
struct sw_client_call {
    uint32_t flights;       /* in flight */
    bool has_failed;        /* a frame failed for another reason than those of refused_from */
    uint64_t refused_from;  /* the first key that a replica refused, or whose table had changed;
                               SW_CLIENT_NOT_REFUSED: none */
    uint64_t done_to;       /* all keys that the server has executed come before this one */
    int status;             /* of the first flight that failed */
    uint64_t failed_at;     /* the call_at of that flight */
    uint64_t overflows;     /* of all flights */
    uint32_t least;         /* smallest count of all replies; begin with the maximum */
    struct sw_reply *reply; /* out, for requests without keys; or NULL */
};

/* Receives the result of a flight, once. `reply` is NULL if the connection ended first. The slot of
 * the flight is free already: the function reads `flight`, and queues no frame. */
typedef void sw_client_done(struct sherwood *client, const struct sw_client_flight *flight,
                            int status, const struct sw_reply *reply);

/* A frame that is sent: head, keys in pieces, zeros, operands in pieces, zeros, scores, zeros,
 * times, zeros. With segments: head, and for each segment keys and zeros. */
#define SW_CLIENT_FRAME_PARTS_MAX (2 * SHERWOOD_PIECES_MAX + 7)
#define SW_CLIENT_SEGMENT_PARTS_MAX (2 * SW_FRAME_SEGMENTS_MAX + 1)

struct sw_client_flight {
    uint64_t id; /* 0: free */
    struct sw_request header;
    uint32_t head_bytes;
    uint8_t head[SW_CLIENT_HEAD_BYTES_MAX];
    /* of a HELLO with a login, of a TABLE, and of a frame with segments; NULL: `head` */
    const uint8_t *long_head;
    uint64_t frame_bytes;         /* head and body */
    struct sherwood_piece single; /* what `pieces` points to if the caller has none */
    const struct sherwood_piece *pieces;
    uint32_t pieces_count;                   /* 0: the request has no keys, or segments */
    const struct sherwood_segment *segments; /* the caller's; NULL: the frame has no segments */
    uint32_t segments_count;
    bool sent;
    uint32_t refused; /* the status of a reply that came before the frame was sent; 0: none */
    bool by_ring;
    bool is_constant;
    bool is_direct; /* its reply has a long body for the caller's arrays */
    void *first;    /* receives the keys of a SCAN, or the figures of STATS */
    void *second;   /* receives the found bitmap (NULL: declined), or the values of a SCAN */
    struct sherwood_cache *cache; /* arrays of a cache; or NULL */
    uint64_t cache_at;            /* index of the frame's first key in these arrays */
    uint64_t cache_keys;          /* keys of the whole call; the evicted arrays have this room */
    uint64_t *scores;             /* receives the scores of a SCAN */
    const uint64_t *times_ms;     /* times of the keys, if the header has_times */
    sw_client_done *done;
    void *owner;      /* for `done` */
    uint64_t call_at; /* index of the frame's first key in the call */
};

/* The trace context of requests, if they have one. */
struct sw_client_trace {
    bool is_set;
    struct sw_trace context;
};

/* The fields of struct sw_request that only some operations use. */
struct sw_client_details {
    uint32_t scale_bits, operand_type;  /* of ADD */
    uint32_t range_offset, range_bytes; /* of GETRANGE and SETRANGE */
    uint32_t times;                     /* enum sw_frame_times */
    uint64_t time_ms;                   /* the time of all keys, if times_ms is NULL */
    const uint64_t *times_ms;           /* a time for each key, from the first key on; or NULL */
};
static inline void sw_client_add_details(struct sw_request *header,
                                         const struct sw_client_details *details)
{
    header->scale_bits = details->scale_bits;
    header->operand_type = details->operand_type;
    header->range_offset = details->range_offset;
    header->range_bytes = details->range_bytes;
    header->times = details->times;
    header->time_ms = details->time_ms;
    header->has_times = details->times_ms != NULL;
}

/* The parts of a frame, and the places for its reply, as in the flight. */
struct sw_client_frame {
    struct sw_request header; /* without the id */
    sw_client_done *done;
    void *owner; /* for `done` */
    uint64_t call_at;
    void *first;
    void *second;
    uint64_t *scores;
    const struct sherwood_piece *pieces; /* NULL: `single` is the only one, if it has keys */
    uint32_t pieces_count;
    struct sherwood_piece single;
    const struct sherwood_segment *segments; /* if the header has_segments */
    uint32_t segments_count;
    bool gives_ids; /* the frame has the ids of the segments' tables */
    bool is_constant;
    const struct sw_client_trace *trace; /* NULL: that of the handle */
    const uint64_t *times_ms;            /* times of the keys, if the header has_times */
    struct sherwood_cache *cache;
    uint64_t cache_at, cache_keys;
    const struct sw_frame_login *login; /* of a HELLO; NULL: none */
    const char *table_name;             /* of a HELLO; NULL: none */
    const char *const *words;           /* of a TABLE; NULL: none */
    uint32_t words_count;
    uint8_t *long_head; /* of a frame with a login, words or segments: room for the head,
                           SW_FRAME_HEAD_BYTES_MAX, until the reply arrives */
    bool is_split;      /* the places of the evicted entries are not known yet */
    const struct sw_client_table *ring_table; /* of a record of the ring; NULL: it is of none */
    bool by_ring; /* sw_client_ring_place has found that the ring can carry the frame */
    struct sw_submission submission; /* if by_ring: the record in the ring */
};

/* Returns a flight for a frame, which the caller sends, or NULL if no flight is free. */
struct sw_client_flight *sw_client_flight_take(struct sw_client_connection *connection,
                                               const struct sw_client_frame *frame);
/* Frees a flight before any byte of it was sent, without calling its `done`. */
void sw_client_flight_put_back(struct sw_client_connection *connection,
                               struct sw_client_flight *flight);
/* An array of the caller's that a flight reads or writes. */
struct sw_client_array {
    const void *at;
    uint64_t bytes;
    bool is_out; /* the reply is written to this array */
};
#define SW_CLIENT_ARRAYS_MAX (3 * SW_FRAME_SEGMENTS_MAX)
/* Lists the arrays of a flight that are not NULL. Returns how many there are. */
uint32_t sw_client_flight_arrays(const struct sw_client_flight *flight,
                                 struct sw_client_array arrays[SW_CLIENT_ARRAYS_MAX]);
/* Returns the flight that has this request_id, or NULL. */
struct sw_client_flight *sw_client_flight_find(struct sw_client_connection *connection,
                                               uint64_t id);
/* Frees the flight, and passes its result to `done`. */
void sw_client_flight_finish(struct sw_client_connection *connection,
                             struct sw_client_flight *flight, int status,
                             const struct sw_reply *reply);
/* `done` of a frame of a blocking call: the owner is a struct sw_client_call. */
sw_client_done sw_client_call_done;
/* `done` of a submitted request: the owner is a struct sherwood_request. */
sw_client_done sw_client_request_done;
/* Begins a request under this id; ends it with a result. */
void sw_client_request_begin(struct sherwood_request *request, uint64_t id);
void sw_client_request_finish(struct sherwood *client, struct sherwood_request *request, int status,
                              uint64_t hits, uint64_t overflows);

#endif
