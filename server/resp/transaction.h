/* SPDX-License-Identifier: MIT
 *
 * transaction.h - MULTI, EXEC and DISCARD.
 *
 * Between MULTI and EXEC a connection's commands are checked and kept as they came. EXEC gives all
 * of them to the round at once, and their operations become one group of it: they take effect whole
 * and with nothing between them, or not at all. Their replies are the elements of EXEC's. A command
 * that is refused while it is queued makes EXEC refuse the transaction.
 *
 * What is queued is bounded: its bytes by resp-request-bytes-max, and all transactions together
 * take at most half of input-bytes-max; its arguments by what one round holds. Everything belongs
 * to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_RESP_TRANSACTION_H
#define SHERWOOD_SERVER_RESP_TRANSACTION_H

#include <stdbool.h>

#include "proto/resp.h"
#include "server/net/conn.h"
#include "server/resp/command.h"

struct sw_transaction;

/* Carries out a command of kind TRANSACTION. Returns false, with nothing done and the connection
 * stalled, if EXEC has to wait for room in the round. */
bool sw_transaction_run(struct sw_conn *conn, const struct sw_command *command);

/* Queues a command of an open transaction, or refuses it, with a reply either way. Its arity has
 * been checked, and the engine has it. Returns false, with nothing done and the connection stalled,
 * if the round has no room to check it. */
bool sw_transaction_queue(struct sw_conn *conn, const struct sw_command *command,
                          const struct sw_resp_command *arguments);

/* A command was refused: if a transaction is open, EXEC will refuse it. */
void sw_transaction_spoil(struct sw_conn *conn);

/* Forgets the open transaction, if there is one. */
void sw_transaction_drop(struct sw_conn *conn);

#endif
