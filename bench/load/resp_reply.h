/* SPDX-License-Identifier: MIT
 *
 * resp_reply.h - parses RESP2 replies. No I/O, no allocation; any thread.
 */
#ifndef SHERWOOD_LOAD_RESP_REPLY_H
#define SHERWOOD_LOAD_RESP_REPLY_H

#include <stddef.h>
#include <stdint.h>

enum sw_load_reply_kind {
    SW_LOAD_REPLY_STATUS,  /* "+OK": text, size */
    SW_LOAD_REPLY_ERROR,   /* "-ERR why": text, size */
    SW_LOAD_REPLY_INTEGER, /* ":42": text, size */
    SW_LOAD_REPLY_BULK,    /* "$2", "42": text, size */
    SW_LOAD_REPLY_NULL,    /* "$-1" or "*-1" */
    SW_LOAD_REPLY_ARRAY    /* "*3": size elements follow */
};

struct sw_load_reply {
    enum sw_load_reply_kind kind;
    const uint8_t *text; /* points into the parsed bytes */
    size_t size;
};

/* A larger count or bulk string counts as garbage. */
#define SW_LOAD_REPLY_SIZE_MAX (1U << 20)

/* Parses one reply, or the head of an array. Returns the bytes consumed (> 0), 0 if it needs more,
 * -1 if the bytes are not a reply. */
int64_t sw_load_reply_parse(const uint8_t *bytes, size_t size, struct sw_load_reply *reply);

#endif
