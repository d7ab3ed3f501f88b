/* SPDX-License-Identifier: MIT
 *
 * transaction.h - MULTI, EXEC and DISCARD.
 *
 * Between MULTI and EXEC the commands of a connection are checked and queued. EXEC adds the
 * operations of all of them to the batch as one group: either all take effect, with no other
 * operation between them, or none does. Their replies are the elements of the array that EXEC
 * replies with. If a command is refused while it is queued, EXEC refuses the transaction.
 *
 * The bytes of a queue are limited by resp-request-bytes-max, and those of all queues together by
 * half of input-bytes-max; its arguments must fit one batch. Everything belongs to the loop's
 * thread.
 */
#ifndef SHERWOOD_SERVER_RESP_TRANSACTION_H
#define SHERWOOD_SERVER_RESP_TRANSACTION_H

#include <stdbool.h>

#include "proto/resp.h"
#include "server/net/conn.h"
#include "server/resp/command.h"

struct sw_resp_conn;
struct sw_transaction;

/* Carries out a command of kind TRANSACTION. Returns false, with nothing done and the connection
 * stalled, if EXEC has to wait for room in the batch. */
bool sw_transaction_run(struct sw_resp_conn *state, const struct sw_command *command);

/* Queues a command of an open transaction, or refuses it, with a reply either way. Its arity has
 * been checked, and the engine has it. Returns false, with nothing done and the connection stalled,
 * if the batch has no room to check it. */
bool sw_transaction_queue(struct sw_resp_conn *state, const struct sw_command *command,
                          const struct sw_resp_command *arguments);

/* To be called when a command was refused: EXEC will refuse the transaction, if one is open. */
void sw_transaction_spoil(struct sw_resp_conn *state);

/* Returns true if a transaction that changes keys is open. */
bool sw_transaction_writes(const struct sw_resp_conn *state);

/* Discards the open transaction, if there is one, and the watched keys. */
void sw_transaction_drop(struct sw_resp_conn *state);

#endif
