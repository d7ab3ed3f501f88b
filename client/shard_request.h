/* SPDX-License-Identifier: MIT
 *
 * shard_request.h - splitting a request among the shards of a cluster, and joining the answers.
 *
 * A cluster request is a request of the caller, or a run of keys of a long call. It has a part for
 * each shard: the keys and operands of that shard, in order, and room for the answers. part_of[i]
 * is the part of key i, so the answer to key i is the next one of that part: one pass splits and
 * one pass joins, without lists of places. A cluster request keeps its memory when it is used
 * again. It belongs to the thread that uses the handle.
 */
#ifndef SHERWOOD_CLIENT_SHARD_REQUEST_H
#define SHERWOOD_CLIENT_SHARD_REQUEST_H

#include "client/flight.h"
#include "proto/cluster/topology.h"

struct sw_client_cluster_request;

enum sw_client_shard_request_state {
    SW_CLIENT_SHARD_REQUEST_EMPTY, /* the part has no keys, or other parts have them by now */
    SW_CLIENT_SHARD_REQUEST_WAITING,
    SW_CLIENT_SHARD_REQUEST_FLYING,
    SW_CLIENT_SHARD_REQUEST_REFUSED, /* the server changed nothing: the part must be sent again */
    SW_CLIENT_SHARD_REQUEST_DONE
};

struct sw_client_shard_request {
    uint8_t *keys;
    uint8_t *values;
    uint64_t *times_ms; /* a time for each key, if the request has them; its room is `times_room` */
    uint32_t count, room, times_room;
    uint32_t next; /* index of the answer that sw_client_join stores next */
    enum sw_client_shard_request_state state;
    uint16_t shard;    /* shard in the handle's topology */
    uint32_t attempts; /* failed attempts, except those that `frozen` counts */
    uint32_t frozen;   /* refusals while a slot was handed over */
    uint32_t refusal;  /* status of the last refusal; 0: there was no connection */
    uint32_t answer_room;
    uint8_t *previous;
    uint64_t *found;
    struct sherwood_piece piece; /* what the flight sends and receives */
    struct sw_client_cluster_request *request;
};

struct sw_client_cluster_request {
    struct sw_client_cluster_request *next;
    struct sherwood_request *submitted; /* of sherwood_submit; or NULL */
    struct sw_client_call *call;        /* of a blocking call; or NULL */
    enum sherwood_operation operation;
    const struct sherwood_piece *pieces; /* the caller's arrays */
    struct sherwood_piece single;        /* what `pieces` points to if the caller has none */
    uint32_t pieces_count;
    uint64_t *answers_found; /* or NULL */
    bool wants_values;
    bool keeps_values; /* the caller wants the values */
    uint32_t count;
    struct sw_client_trace trace;         /* the handle's when the request began */
    struct sw_client_details details;     /* its times_ms are the caller's, for all keys */
    uint32_t key_bytes, value_bytes;      /* of the server */
    uint32_t operand_bytes, answer_bytes; /* of an element of the operands, and of `previous` */
    uint16_t *part_of;
    uint32_t part_of_room;
    struct sw_client_shard_request *parts; /* the first parts are those of the shards, in order */
    uint32_t parts_count, parts_room;
    uint32_t open; /* parts that have keys and are not DONE */
    int status;    /* of the first part that failed */
    uint64_t hits, overflows;
};

/* Sets the operation of the request and the widths of its elements. Frees memory of other widths.
 */
void sw_client_cluster_request_describe(struct sw_client_cluster_request *request,
                                        enum sherwood_operation operation,
                                        const struct sw_client_details *details);
/* Splits the arrays of the request by this topology. Returns SHERWOOD_OK, SHERWOOD_E_NOMEM, or
 * SHERWOOD_E_SHARD if a slot has no owner: *slot is that slot. */
int sw_client_split(struct sw_client_cluster_request *request, const struct sw_topology *topology,
                    uint32_t *slot);
/* Splits a part again. Appends parts for its keys, and leaves the part EMPTY. `places` has room for
 * the shards of the topology. Returns as sw_client_split does; a failure changes nothing. */
int sw_client_split_again(struct sw_client_cluster_request *request, uint32_t part,
                          const struct sw_topology *topology, uint32_t *places, uint32_t *slot);
/* Makes room for the answers to a part. Returns false if there is no memory. */
bool sw_client_shard_request_reserve_answers(struct sw_client_shard_request *part);
/* Stores the answers in the caller's arrays. All parts must be DONE without a failure. */
void sw_client_join(struct sw_client_cluster_request *request);
/* Frees the memory of the request, and the request. NULL is allowed. */
void sw_client_cluster_request_free(struct sw_client_cluster_request *request);

#endif
