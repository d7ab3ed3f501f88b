/* SPDX-License-Identifier: MIT
 *
 * reply_kind.h - the kinds of RESP replies to commands on keys.
 */
#ifndef SHERWOOD_SERVER_RESP_REPLY_KIND_H
#define SHERWOOD_SERVER_RESP_REPLY_KIND_H

/* How a reply is made from the results of the command's operations. */
enum sw_reply_kind {
    SW_REPLY_KIND_TEXT,         /* a text reply, in the text of the batch */
    SW_REPLY_KIND_QUEUED,       /* +QUEUED; the command is counted when EXEC carries it out */
    SW_REPLY_KIND_NULL_ARRAY,   /* a null array: EXEC after a watched key has changed */
    SW_REPLY_KIND_ARRAY,        /* the head of an array; its elements are the replies that follow */
    SW_REPLY_KIND_OK,           /* +OK */
    SW_REPLY_KIND_OK_IF_ABSENT, /* +OK; null if the key was present, or a cache did not admit it */
    SW_REPLY_KIND_OK_IF_PRESENT, /* +OK; null if the key was absent */
    SW_REPLY_KIND_VALUE,         /* the value before the operation; null if the key was absent */
    SW_REPLY_KIND_VALUES,        /* an array of the values before; null for each absent key */
    SW_REPLY_KIND_IDS, /* an array: for each key its id, if it has one, and 1 if it is new */
    SW_REPLY_KIND_COUNT_PRESENT, /* the number of keys that were present */
    SW_REPLY_KIND_ONE_IF_ABSENT, /* 1; 0 if the key was present, or a cache did not admit it */
    SW_REPLY_KIND_AFTER,       /* the value after the operation, or the error that it does not fit;
                                  null if the key is absent then */
    SW_REPLY_KIND_PREFIX,      /* how many keys were present before the first absent one */
    SW_REPLY_KIND_DIGITS,      /* the number of digits of the value; 0 if the key was absent */
    SW_REPLY_KIND_TYPE,        /* +string; +none if the key was absent */
    SW_REPLY_KIND_TTL,         /* seconds; -1: never; -2 if the key was absent */
    SW_REPLY_KIND_PTTL,        /* milliseconds; otherwise like TTL */
    SW_REPLY_KIND_EXPIRETIME,  /* seconds since 1970; otherwise like TTL */
    SW_REPLY_KIND_PEXPIRETIME, /* milliseconds since 1970; otherwise like TTL */
    SW_REPLY_KIND_EXPIRED,     /* 1; 0 if the key was absent, or its time was not changed */
    SW_REPLY_KIND_SWAPPED,     /* 1; 0 if the key did not have the expected value of CAS */
    SW_REPLY_KIND_PERSISTED,   /* 1; 0 if the key was absent, or never expired */
    SW_REPLY_KIND_NULL,        /* null */
    SW_REPLY_KIND_TRY_AGAIN,   /* the error of a command that an older topology admitted */
    SW_REPLY_KIND_NO_KEY,      /* the error of RENAME for an absent key */
    SW_REPLY_KIND_SAME_KEY,    /* the error of COPY to the key itself */
    SW_REPLY_KIND_TOO_MANY,    /* the error of WATCH beyond watched-keys-max */
    SW_REPLY_KIND_MADE,        /* the text of the batch, which rmw.c has made */
    SW_REPLY_KIND_ONE,         /* 1 */
    SW_REPLY_KIND_ZERO,        /* 0 */
    SW_REPLY_KIND_BYTES,       /* the bytes that the entry takes; null if the key was absent */
    SW_REPLY_KIND_ENCODING,    /* "int"; null if the key was absent */
    /* The following kinds are for tables whose values are byte strings. */
    SW_REPLY_KIND_BLOB,          /* the value before the operation; null if the key was absent */
    SW_REPLY_KIND_BLOBS,         /* an array of the values before; null for each absent key */
    SW_REPLY_KIND_BLOB_AFTER,    /* the value after the operation; null if the key is absent then */
    SW_REPLY_KIND_BLOB_BYTES,    /* the length of the value; 0 if the key was absent */
    SW_REPLY_KIND_BLOB_ENCODING, /* "raw"; null if the key was absent */
    SW_REPLY_KIND_RANGE,   /* part of a value, also of an integer; the operand has its bounds */
    SW_REPLY_KIND_COUNTED, /* the integer after INCRBY of a string or a row of one integer, or an
                            * error
                            */
    SW_REPLY_KIND_FLOAT,   /* the text after INCRBYFLOAT of a string or a row of one f32 or f64,
                              likewise */
    SW_REPLY_KIND_APPENDED /* the length after APPEND or SETRANGE, likewise */
};

#endif
