/* SPDX-License-Identifier: MIT
 *
 * reply_kind.h - the kinds of RESP replies. Constant, any thread.
 */
#ifndef SHERWOOD_SERVER_RESP_REPLY_KIND_H
#define SHERWOOD_SERVER_RESP_REPLY_KIND_H

/* How a reply is made of the results of its operations. */
enum sw_answer {
    SW_ANSWER_TEXT,          /* bytes in the round's text */
    SW_ANSWER_QUEUED,        /* +QUEUED; the command is counted when EXEC carries it out */
    SW_ANSWER_ARRAY,         /* the head of an array; its elements are the replies that follow */
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

#endif
