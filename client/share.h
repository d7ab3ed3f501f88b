/* SPDX-License-Identifier: MIT
 *
 * share.h - splitting a request among the shards of a cluster, and joining the answers.
 *
 * A job is a request, or a part of a long call, that is under way at a cluster. It has a share for
 * each shard: the keys and operands of that shard, in order, and room for the answers. where[i] is
 * the share of key i, so the answer to key i is the next one of that share: one pass splits and one
 * joins, without lists of places. All memory is kept with the job and used again. It belongs to the
 * thread that uses the handle.
 */
#ifndef SHERWOOD_CLIENT_SHARE_H
#define SHERWOOD_CLIENT_SHARE_H

#include "client/flight.h"
#include "proto/cluster/topology.h"

struct sw_client_job;

enum sw_client_share_state {
    SW_CLIENT_SHARE_EMPTY, /* no keys; or they are in other shares by now */
    SW_CLIENT_SHARE_WAITING,
    SW_CLIENT_SHARE_FLYING,
    SW_CLIENT_SHARE_REFUSED, /* nothing was done: it is to be sent again */
    SW_CLIENT_SHARE_DONE
};

struct sw_client_share {
    uint8_t *keys;
    uint8_t *values;
    uint64_t *times_ms; /* if the job has a time for each key; its room is `times_room` */
    uint32_t count, room, times_room;
    uint32_t next; /* the answer that is joined next */
    enum sw_client_share_state state;
    uint16_t shard;    /* of the topology that the handle has */
    uint32_t attempts; /* failed attempts, without those counted in .. */
    uint32_t frozen;   /* .. `frozen`: refusals while a slot was handed over */
    uint32_t refusal;  /* status of the last refusal; 0: there was no connection */
    uint32_t answer_room;
    uint8_t *previous;
    uint64_t *found;
    struct sherwood_piece piece; /* what the flight sends and receives */
    struct sw_client_job *job;
};

struct sw_client_job {
    struct sw_client_job *next;
    struct sherwood_request *request; /* of sherwood_submit; or NULL */
    struct sw_client_call *call;      /* of a blocking call; or NULL */
    enum sherwood_operation operation;
    const struct sherwood_piece *pieces; /* the caller's arrays */
    struct sherwood_piece single;        /* what `pieces` points to if the caller has none */
    uint32_t pieces_count;
    uint64_t *answers_found; /* or NULL */
    bool wants_values;
    bool keeps_values; /* they are not dropped */
    uint32_t count;
    struct sw_client_details details;     /* times_ms are those of all keys, the caller's */
    uint32_t key_bytes, value_bytes;      /* of the server */
    uint32_t operand_bytes, answer_bytes; /* of an element of what is sent, and of `previous` */
    uint16_t *where;
    uint32_t where_room;
    struct sw_client_share *shares; /* the first ones are those of the shards, in order */
    uint32_t shares_count, shares_room;
    uint32_t open; /* shares that have keys and are not DONE */
    int status;    /* of the first share that failed */
    uint64_t hits, overflows;
};

/* Sets the operation of the job and the widths of its elements. Frees memory of other widths. */
void sw_client_job_describe(struct sw_client_job *job, enum sherwood_operation operation,
                            const struct sw_client_details *details);
/* Splits the arrays of the job by this topology. Returns SHERWOOD_OK, or SHERWOOD_E_NOMEM, or
 * SHERWOOD_E_SHARD with the slot in *slot: no shard has it. */
int sw_client_split(struct sw_client_job *job, const struct sw_topology *topology, uint32_t *slot);
/* Splits a share again; its keys go to shares behind the others, and it is EMPTY. `places` has room
 * for the shards of the topology. Returns as sw_client_split does, with nothing changed on failure.
 */
int sw_client_split_again(struct sw_client_job *job, uint32_t share,
                          const struct sw_topology *topology, uint32_t *places, uint32_t *slot);
/* Makes room for the answers to a share. Returns false if there is no memory. */
bool sw_client_share_room(struct sw_client_share *share);
/* Stores the answers in the caller's arrays. All shares must be DONE without a failure. */
void sw_client_join(struct sw_client_job *job);
/* Frees the memory of the job, and the job. NULL is allowed. */
void sw_client_job_free(struct sw_client_job *job);

#endif
