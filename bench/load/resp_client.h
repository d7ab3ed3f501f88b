/* SPDX-License-Identifier: MIT
 *
 * resp_client.h - one connection that sends pipelines of commands and checks the replies.
 *
 * A pipeline is the commands of one unit. The client formats it as a whole, sends as much as the
 * socket accepts at a time, and is done after the last reply. It parses replies in the input
 * buffer, without a copy. One thread at a time. Nothing is allocated after prepare.
 */
#ifndef SHERWOOD_LOAD_RESP_CLIENT_H
#define SHERWOOD_LOAD_RESP_CLIENT_H

#include "bench/load/secure.h"
#include "bench/load/worker.h"

/* Size of the input buffer; longer than any reply to this client. */
#define SW_LOAD_RESP_INPUT_BYTES 65536

struct sw_load_resp_client {
    struct sw_load_link link;
    bool wants_write; /* the socket accepted only a part: the caller polls until it can write */
    bool polls_write; /* set by the caller */
    struct sw_load_unit unit; /* in flight, or taken; idle if its count is 0. Owns its arrays */
    struct sw_load_partition partition; /* if the run has a mix */
    char *output;                       /* owned */
    size_t output_bytes;
    size_t output_sent;
    uint8_t *input; /* owned */
    size_t input_bytes;
    uint32_t keys_answered; /* keys of the unit that were answered */
    uint32_t array_left;    /* elements of an MGET reply that have not arrived */
};

/* Allocates buffers for units of `unit_keys` keys. If the run has partitions, partition `number` is
 * this client's. Returns 0 or SW_LOAD_E_NOMEM. */
int sw_load_resp_prepare(struct sw_load_resp_client *client, const struct sw_load_setup *setup,
                         uint32_t unit_keys, uint32_t number);
/* Returns the bytes that prepare allocates, without a partition. */
uint64_t sw_load_resp_bytes(uint32_t unit_keys, uint32_t key_bytes, uint32_t value_bytes);
/* Frees the buffers and closes the socket. */
void sw_load_resp_fini(struct sw_load_resp_client *client);

/* Takes the next unit and formats it; the client must be idle. Returns false if the phase has no
 * more: the client stays idle. */
bool sw_load_resp_take(struct sw_load_resp_client *client, struct sw_load_worker *worker);
/* Starts to send the unit. Returns 0 or an error that the worker keeps. */
int sw_load_resp_send(struct sw_load_resp_client *client, struct sw_load_worker *worker);
/* Sends as much as the socket accepts. */
int sw_load_resp_flush(struct sw_load_resp_client *client, struct sw_load_worker *worker);
/* Reads and checks the replies that have arrived. After the last reply the client is idle. */
int sw_load_resp_read(struct sw_load_resp_client *client, struct sw_load_worker *worker);

#endif
