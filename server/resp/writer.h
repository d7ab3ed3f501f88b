/* SPDX-License-Identifier: MIT
 *
 * writer.h - the buffer in which consecutive replies to one connection are formatted. Everything is
 * called on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_RESP_WRITER_H
#define SHERWOOD_SERVER_RESP_WRITER_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "proto/decimal.h"
#include "proto/resp.h"
#include "server/resp/output.h"
#include "server/resp/resp.h"

struct sw_conn;

/* The buffer for consecutive replies to one connection. */
struct sw_writer {
    struct sw_conn *conn;
    uint64_t sequence; /* of the write that the replies wait for; 0: none */
    char *at;          /* the next reply goes here */
    char *end;         /* end of the buffer */
    char *begin;       /* beginning of the buffer */
};

static inline void sw_writer_flush(struct sw_writer *writer)
{
    assert(writer->at <= writer->end);
    sw_resp_send_after(sw_resp_of(writer->conn), writer->begin,
                       (size_t)(writer->at - writer->begin), writer->sequence);
    writer->at = writer->begin;
}

/* Size of the longest reply, or element of an array, that is neither a text nor a blob. */
#define SW_REPLY_BYTES 128

static inline void sw_writer_reserve(struct sw_writer *writer)
{
    if (writer->end - writer->at < SW_REPLY_BYTES) {
        sw_writer_flush(writer);
    }
}

static inline void sw_writer_line(struct sw_writer *writer, const char *line)
{
    sw_writer_reserve(writer);
    writer->at = sw_resp_put_bytes(writer->at, line, strlen(line));
}

static inline void sw_writer_text(struct sw_writer *writer, const char *text, size_t size)
{
    if ((size_t)(writer->end - writer->at) < size) {
        sw_writer_flush(writer);
    }
    if ((size_t)(writer->end - writer->at) < size) {
        sw_resp_send_after(sw_resp_of(writer->conn), text, size, writer->sequence);
        return;
    }
    writer->at = sw_resp_put_bytes(writer->at, text, size);
}

/* Writes an integer reply. RESP integers are signed; a larger integer is written as a big number in
 * RESP3, and as a bulk string in RESP2. */
static inline void sw_writer_unsigned(struct sw_writer *writer, uint64_t value, bool resp3)
{
    sw_writer_reserve(writer);
    if (value <= INT64_MAX) {
        writer->at = sw_resp_put_unsigned(writer->at, value);
    } else if (resp3) {
        *writer->at++ = '(';
        writer->at += sw_decimal_format(value, writer->at);
        writer->at = sw_resp_put_bytes(writer->at, "\r\n", 2);
    } else {
        writer->at = sw_resp_put_bulk_integer(writer->at, value);
    }
}

/* Writes an integer reply, or null unless the number exists. */
static inline void sw_writer_number(struct sw_writer *writer, bool exists, uint64_t value,
                                    bool resp3)
{
    if (exists) {
        sw_writer_unsigned(writer, value, resp3);
    } else {
        sw_writer_reserve(writer);
        writer->at = sw_resp_put_null(writer->at, resp3);
    }
}

/* Writes an integer as a bulk string, or null unless it was found. */
static inline void sw_writer_value(struct sw_writer *writer, bool found, uint64_t value, bool resp3)
{
    sw_writer_reserve(writer);
    writer->at =
        found ? sw_resp_put_bulk_integer(writer->at, value) : sw_resp_put_null(writer->at, resp3);
}

/* Writes the line `bulk`, or null unless its key was found. */
static inline void sw_writer_word(struct sw_writer *writer, bool found, const char *bulk,
                                  bool resp3)
{
    sw_writer_line(writer, found ? bulk : resp3 ? "_\r\n" : "$-1\r\n");
}

/* Writes the head of an array of `count` elements. */
static inline void sw_writer_array(struct sw_writer *writer, uint32_t count)
{
    sw_writer_reserve(writer);
    writer->at = sw_resp_put_array(writer->at, count);
}

/* Writes `size` bytes of a value as a bulk string. */
static inline void sw_writer_bulk(struct sw_writer *writer, const uint8_t *bytes, uint32_t size)
{
    if ((size_t)(writer->end - writer->at) < SW_REPLY_BYTES + size) {
        sw_writer_flush(writer);
    }
    writer->at = sw_resp_put_bulk_header(writer->at, size);
    writer->at = sw_resp_put_bytes(writer->at, bytes, size);
    writer->at = sw_resp_put_bytes(writer->at, "\r\n", 2);
}

#endif
