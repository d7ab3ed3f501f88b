/* SPDX-License-Identifier: MIT
 *
 * resp_client.h - one connection that sends pipelines of commands and checks the replies.
 *
 * A pipeline is the commands of one unit: it is formatted at once, sent as the socket takes it, and
 * done when its last reply has been read. Replies are looked at where they lie in the input buffer.
 * One thread at a time. Nothing is allocated after prepare.
 */
#ifndef SHERWOOD_LOAD_RESP_CLIENT_H
#define SHERWOOD_LOAD_RESP_CLIENT_H

#include "bench/load/secure.h"
#include "bench/load/worker.h"

/* Input is read in pieces of this size; longer than any reply this client asks for. */
#define SW_LOAD_RESP_INPUT_BYTES 65536

struct sw_load_resp_client {
    struct sw_load_link link;
    bool wants_write;         /* the socket took only a part: the caller polls for room */
    bool polls_write;         /* the caller's */
    struct sw_load_unit unit; /* in flight, or taken; its count is 0: idle. Owns its arrays. */
    struct sw_load_partition partition; /* if the run has a mix */
    char *output;                       /* owned */
    size_t output_bytes;
    size_t output_sent;
    uint8_t *input; /* owned */
    size_t input_bytes;
    uint32_t keys_answered; /* of the unit */
    uint32_t array_left;    /* elements still to come of an MGET reply */
};

/* Buffers for units of `unit_keys` keys; with partitions, partition `number` is this client's.
 * Returns 0 or SW_LOAD_E_NOMEM. */
int sw_load_resp_prepare(struct sw_load_resp_client *client, const struct sw_load_setup *setup,
                         uint32_t unit_keys, uint32_t number);
/* Bytes that prepare will allocate, without a partition. */
uint64_t sw_load_resp_bytes(uint32_t unit_keys, uint32_t key_bytes, uint32_t value_bytes);
/* Frees the buffers and closes the socket. */
void sw_load_resp_fini(struct sw_load_resp_client *client);

/* Takes the next unit and formats it; the client must be idle. False if there is none: the client
 * stays idle. */
bool sw_load_resp_take(struct sw_load_resp_client *client, struct sw_load_worker *worker);
/* Starts to send the unit that was taken. Returns 0 or an error kept in the worker. */
int sw_load_resp_send(struct sw_load_resp_client *client, struct sw_load_worker *worker);
/* Sends what the socket takes. */
int sw_load_resp_flush(struct sw_load_resp_client *client, struct sw_load_worker *worker);
/* Reads what has arrived and checks it. When the unit is complete the client is idle. */
int sw_load_resp_read(struct sw_load_resp_client *client, struct sw_load_worker *worker);

#endif
