/* SPDX-License-Identifier: MIT
 *
 * round.h - what a loop gathers from its RESP connections and submits as one batch.
 *
 * Commands append operations and one pending answer each; the batch keeps their order, so every
 * connection sees its own commands take effect one after the other. When it is done, the answers
 * are written in the same order. A loop has two rounds: one gathers while the other is in flight.
 */
#ifndef SHERWOOD_SERVER_BATCH_ROUND_H
#define SHERWOOD_SERVER_BATCH_ROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "server/batch/flight.h"
#include "server/observe/text.h"
#include "server/resp/command.h"

struct sw_loop;
struct sw_conn;

/* How an answer is made of the results of its operations. */
enum sw_answer {
    SW_ANSWER_TEXT,          /* bytes in the round's text */
    SW_ANSWER_OK,            /* +OK */
    SW_ANSWER_OK_IF_ABSENT,  /* +OK, or null if the key was present, or turned away */
    SW_ANSWER_OK_IF_PRESENT, /* +OK, or null if it was absent */
    SW_ANSWER_VALUE,         /* the value before the operation, or null */
    SW_ANSWER_VALUES,        /* an array of these */
    SW_ANSWER_COUNT_PRESENT, /* how many keys were present */
    SW_ANSWER_ONE_IF_ABSENT, /* 1, or 0 likewise */
    SW_ANSWER_SUM,           /* value + operand, or the overflow error */
    SW_ANSWER_DIFFERENCE,    /* value - operand, or the overflow error */
    SW_ANSWER_DIGITS,        /* length of the value as text, 0 if absent */
    SW_ANSWER_TYPE,          /* +string or +none */
    SW_ANSWER_TTL,           /* -1 or -2 */
    SW_ANSWER_ZERO,          /* 0 */
    SW_ANSWER_BYTES,         /* bytes of a slot, or null */
    SW_ANSWER_ENCODING,      /* "int", or null */
    /* Where values are bytes. */
    SW_ANSWER_BLOB,         /* the value before the operation, or null */
    SW_ANSWER_BLOBS,        /* an array of these */
    SW_ANSWER_BLOB_BYTES,   /* length of the value, 0 if absent */
    SW_ANSWER_BLOB_ENCODING /* "raw", or null */
};

struct sw_pending {
    struct sw_conn *conn;
    uint32_t first;  /* operation, or offset in the round's text */
    uint32_t count;  /* operations, or bytes of text */
    uint32_t group;  /* of the batch, if count > 0 and it has operations */
    uint8_t answer;  /* enum sw_answer */
    uint8_t command; /* enum sw_command_id, or SW_COMMAND_COUNT if unknown */
    bool resp3;
    bool silent; /* CLIENT REPLY OFF or SKIP */
};

struct sw_round {
    struct sw_flight flight;
    struct sw_loop *loop;
    uint32_t operations_max;
    uint32_t pending_max;
    uint32_t operations;
    uint32_t pendings;
    uint32_t groups;
    bool uniform;      /* every operation so far is ops[0] */
    bool shows_values; /* some answer is made of a value; where these are integers: always */

    /* While it is with the server's sw_commit; any thread. */
    struct sw_round *next;
    bool is_shared; /* it is there; the loop's own thread */
    bool committed; /* atomic: the results are here */

    /* I/O memory. */
    void *memory;
    size_t memory_bytes;
    uint8_t *ops;
    void *keys;
    void *values;
    void *previous;
    uint64_t *found;
    uint64_t *not_admitted; /* NULL: the engine turns nobody away */
    uint32_t *group_ends;
    uint8_t *group_refused;

    struct sw_pending *pending;
    struct sw_text text;
};

int sw_round_init(struct sw_round *round, struct sw_loop *loop);
void sw_round_fini(struct sw_round *round);

/* Is there room for one more command of this many operations? */
bool sw_round_has_room(const struct sw_round *round, uint32_t operations);

/* Appends one operation; room has been checked. It takes effect only once a pending answer covers
 * it; until then sw_round_rewind takes it back. */
void sw_round_add(struct sw_round *round, enum sw_op op, uint64_t key, uint64_t value);
/* The same where values are bytes: returns where this one's go, for the caller to fill all of
 * them if `op` takes an operand. */
uint8_t *sw_round_add_blob(struct sw_round *round, enum sw_op op, uint64_t key);
void sw_round_rewind(struct sw_round *round, uint32_t operations);

/* Appends the answer of `conn` for the operations since `first`. */
void sw_round_answer(struct sw_round *round, struct sw_conn *conn, const struct sw_command *command,
                     enum sw_answer answer, uint32_t first);
/* Appends an answer that is the round's text since `first` (empty: nothing is sent). `command` may
 * be NULL. */
void sw_round_answer_text(struct sw_round *round, struct sw_conn *conn,
                          const struct sw_command *command, size_t first);

/* Sends the round on its way; it must hold something. Its answers are written when it is done, at
 * once if it has no operations. */
void sw_round_submit(struct sw_round *round);

/* Answers a round that was submitted together with others', if the results are here. Returns true
 * if so. */
bool sw_round_poll_shared(struct sw_round *round);

/* Writes the answers (answer.c). */
void sw_round_write_answers(struct sw_round *round);

/* Integers of the table's width in arrays. */
static inline uint64_t sw_integer_at(const void *array, uint32_t bytes, uint32_t i)
{
    return bytes == 8 ? ((const uint64_t *)array)[i] : ((const uint32_t *)array)[i];
}
static inline void sw_integer_put(void *array, uint32_t bytes, uint32_t i, uint64_t value)
{
    if (bytes == 8) {
        ((uint64_t *)array)[i] = value;
    } else {
        ((uint32_t *)array)[i] = (uint32_t)value;
    }
}

#endif
