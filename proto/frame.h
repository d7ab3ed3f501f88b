/* SPDX-License-Identifier: MIT
 *
 * frame.h - bulk frames: bytes to structs and back. No I/O, no allocation.
 *
 * | offset | bytes          | what                                                        |
 * | 0      | 4              | magic: 0xD5 'S' 'W' version (1); 0xD5 is not ASCII          |
 * | 4      | 4              | header_bytes, little-endian                                 |
 * | 8      | 8              | body_bytes, little-endian                                   |
 * | 16     | header_bytes   | Request or Reply (sherwood.proto)                           |
 * |        |                | zeros up to a multiple of 64 from the start of the frame    |
 * |        | body_bytes     | arrays, each followed by zeros up to a multiple of 64       |
 *
 * Body of a request: keys; then operands, for writes that take one (not DELETE). None for control.
 * Body of a reply: values, if has_values; then the found bitmap (bit i % 64 of 64-bit word i / 64;
 * unused bits are zero). Of a SCAN reply: keys, then values. A reply whose status is not OK has
 * none. Of a STATS reply: figures (struct sw_figure). Every frame is a multiple of 64 bytes long,
 * so arrays keep their alignment along a connection.
 *
 * All functions are pure and may be called from any thread.
 */
#ifndef SHERWOOD_PROTO_FRAME_H
#define SHERWOOD_PROTO_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_FRAME_MAGIC 0xD5
#define SW_FRAME_VERSION 1
#define SW_FRAME_PREFIX_BYTES 16
#define SW_FRAME_ALIGN 64
/* A header is a few integers and, in replies, two short texts. */
#define SW_FRAME_HEADER_BYTES_MAX 1008
/* Prefix, header and padding of any frame fit in this. */
#define SW_FRAME_HEAD_BYTES_MAX 1024
#define SW_FRAME_TEXT_BYTES_MAX 256
/* The most keys any server may allow in a frame; a server's own limit is in ServerInfo. */
#define SW_FRAME_OPS_MAX (1U << 24)

/* What can be wrong with bytes. Values are negative; text is for the peer. */
#define SW_FRAME_ERROR_MAP(X)                                              \
    X(SW_FRAME_E_MAGIC, -1, "not a bulk frame (bad magic)")                \
    X(SW_FRAME_E_VERSION, -2, "unsupported frame version")                 \
    X(SW_FRAME_E_HEADER_SIZE, -3, "frame header is empty or too large")    \
    X(SW_FRAME_E_BODY_SIZE, -4, "frame body is too large")                 \
    X(SW_FRAME_E_HEADER, -5, "frame header is not a valid message")        \
    X(SW_FRAME_E_OPERATION, -6, "unknown operation")                       \
    X(SW_FRAME_E_WIDTH, -7, "key or value width differs from the table's") \
    X(SW_FRAME_E_COUNT, -8, "count is zero or passes the server's limit")  \
    X(SW_FRAME_E_LAYOUT, -9, "body length contradicts count and widths")   \
    X(SW_FRAME_E_SPACE, -10, "output buffer too small")

enum sw_frame_error {
#define SW_FRAME_ERROR_ENUM(name, value, text) name = value,
    SW_FRAME_ERROR_MAP(SW_FRAME_ERROR_ENUM)
#undef SW_FRAME_ERROR_ENUM
};
const char *sw_frame_error_text(int error);

/* The operations. One row is all that the enum, the names and the predicates below need, in this
 * folder, the server and the client; a row that sherwood.proto, the table or sherwood.h lacks does
 * not compile there.
 *
 * On keys: name, number, does it take operands? The table has an operation of the same name. */
#define SW_DATA_OPERATION_MAP(X) \
    X(GET, 1, false)             \
    X(SET, 2, true)              \
    X(SUM, 3, true)              \
    X(MIN, 4, true)              \
    X(MAX, 5, true)              \
    X(SET_ABSENT, 6, true)       \
    X(SET_PRESENT, 7, true)      \
    X(INCREMENT, 8, true)        \
    X(DECREMENT, 9, true)        \
    X(DELETE, 10, false)
/* Others: name, number, who carries it out: the SERVER, or the TABLE, which has a kind of batch of
 * the same name. */
#define SW_CONTROL_OPERATION_MAP(X) \
    X(HELLO, 32, SERVER)            \
    X(PING, 33, SERVER)             \
    X(STATS, 34, SERVER)            \
    X(CLEAR, 35, TABLE)             \
    X(SCAN, 36, TABLE)              \
    X(RESIZE, 37, TABLE)
#define SW_OPERATION_MAP(X) SW_DATA_OPERATION_MAP(X) SW_CONTROL_OPERATION_MAP(X)
/* Numbers are below this, so that sets of operations fit in a uint64_t. */
#define SW_OPERATION_NUMBERS 64

enum sw_operation {
#define SW_OPERATION_ENUM(name, number, ...) SW_OPERATION_##name = (number),
    SW_OPERATION_MAP(SW_OPERATION_ENUM)
#undef SW_OPERATION_ENUM
};
bool sw_operation_is_known(uint32_t operation);
/* "GET", "SCAN", ..; "?" if it is not known. */
const char *sw_operation_name(uint32_t operation);
/* It is done to keys: the request has a body of them. */
bool sw_operation_is_data(uint32_t operation);
/* The body has operands too. */
bool sw_operation_has_operands(uint32_t operation);
/* INCREMENT, DECREMENT: a key keeps its value where the result would pass `max` or zero. */
bool sw_operation_may_overflow(uint32_t operation);
/* The value of a key after the operation, which has operands: `old` is the value before (0 if the
 * key was absent), `max` the largest one of the table's width. Returns false, with *out equal to
 * `old`, where it would overflow. */
bool sw_operation_apply(uint32_t operation, bool found, uint64_t old, uint64_t operand,
                        uint64_t max, uint64_t *out);

/* Values are those of enum Status. */
enum sw_reply_status {
    SW_REPLY_OK = 0,
    SW_REPLY_BAD_REQUEST,
    SW_REPLY_UNKNOWN_OPERATION,
    SW_REPLY_OUT_OF_MEMORY,
    SW_REPLY_SERVER_ERROR,
    SW_REPLY_SHUTTING_DOWN,
    SW_REPLY_TIMED_OUT,
    SW_REPLY_TOO_MANY_CONNECTIONS
};

/* What values are: name, number of enum ValueFormat, word.
 * INTEGER: unsigned integers.
 * STRING: a length of 4 bytes, little-endian, then the bytes, then zeros.
 * FIXED: value_bytes bytes. */
#define SW_FRAME_VALUES_MAP(X) \
    X(INTEGER, 0, "integer")   \
    X(STRING, 1, "string")     \
    X(FIXED, 2, "fixed")

enum sw_frame_values {
#define SW_FRAME_VALUES_ENUM(name, number, word) SW_FRAME_VALUES_##name = (number),
    SW_FRAME_VALUES_MAP(SW_FRAME_VALUES_ENUM)
#undef SW_FRAME_VALUES_ENUM
};
bool sw_frame_values_is_known(uint32_t format);
/* "integer", ..; "?" if it is not known. */
const char *sw_frame_values_name(uint32_t format);

struct sw_frame_prefix {
    uint32_t header_bytes;
    uint64_t body_bytes;
};

struct sw_request {
    uint64_t request_id;
    uint32_t operation; /* any value a peer may send: check with sw_request_check */
    uint32_t count;
    uint32_t key_bytes;
    uint32_t value_bytes;
    bool want_values;
    uint64_t cursor;
    uint64_t capacity_slots; /* RESIZE */
};

/* An element of the body of a STATS reply: a name of a-z, 0-9 and _, then zeros; its value. What
 * figures there are, and in which order, is the server's matter: take them by name, pass over
 * names that you do not know. */
#define SW_FIGURE_NAME_BYTES 56
struct sw_figure {
    char name[SW_FIGURE_NAME_BYTES];
    uint64_t value;
};
/* The most figures a reply has. */
#define SW_FIGURES_MAX 128
/* Is the name one, and ended by a zero? */
bool sw_figure_is_valid(const struct sw_figure *figure);

struct sw_server_info {
    char version[32]; /* texts are NUL-terminated, cut to fit */
    char backend[16];
    char backend_reason[128];
    uint32_t key_bytes, value_bytes, frame_ops_max, requests_in_flight_max;
    uint64_t capacity_slots, occupied_max;
    char engine[16];
    uint32_t value_format; /* enum sw_frame_values, or a later one */
};

struct sw_reply {
    uint64_t request_id;
    uint32_t status;
    uint32_t count; /* of keys, entries or figures */
    uint32_t key_bytes;
    uint32_t value_bytes;
    bool has_values;
    uint64_t hits;
    uint64_t overflows; /* keys that INCREMENT or DECREMENT left as they were */
    uint64_t cursor;
    uint64_t capacity_slots;               /* RESIZE */
    char message[SW_FRAME_TEXT_BYTES_MAX]; /* NUL-terminated; empty if OK */
    bool has_info;
    struct sw_server_info info;
};

/* Bytes from the start of a frame to its body, and of an array in a body. */
static inline uint64_t sw_frame_align(uint64_t bytes)
{
    return (bytes + SW_FRAME_ALIGN - 1) / SW_FRAME_ALIGN * SW_FRAME_ALIGN;
}
static inline uint64_t sw_frame_head_bytes(uint32_t header_bytes)
{
    return sw_frame_align(SW_FRAME_PREFIX_BYTES + (uint64_t)header_bytes);
}
/* Bytes of the found bitmap of `count` keys, without padding. */
static inline uint64_t sw_found_bytes(uint32_t count)
{
    return ((uint64_t)count + 63) / 64 * 8;
}

/* Where the arrays of a body lie, in bytes from its start. */
struct sw_body_layout {
    uint64_t first;  /* keys (request, SCAN reply), figures (STATS reply), values (others) */
    uint64_t second; /* operands, found bitmap, values of a SCAN; == bytes if there is none */
    uint64_t bytes;  /* the whole body */
};
struct sw_body_layout sw_request_layout(const struct sw_request *request);
/* Of the reply to a request of this operation: count, widths, has_values and status count. */
struct sw_body_layout sw_reply_layout(const struct sw_reply *reply, uint32_t operation);

/* Reads a prefix from the first `size` bytes. Returns SW_FRAME_PREFIX_BYTES, 0 if more bytes are
 * needed, or an error as soon as the bytes at hand show one (the first bad magic byte is enough).
 * body_bytes_max is the caller's limit. */
int sw_frame_prefix_decode(const uint8_t *bytes, size_t size, uint64_t body_bytes_max,
                           struct sw_frame_prefix *prefix);

/* Decodes the protobuf header (header_bytes of it). Returns 0 or SW_FRAME_E_HEADER. Memory use is
 * bounded by a fixed buffer on the stack, whatever the bytes. */
int sw_request_decode(const uint8_t *header, size_t size, struct sw_request *request);
int sw_reply_decode(const uint8_t *header, size_t size, struct sw_reply *reply);

/* Does the request make sense against the table's widths, the operation limit and the frame's
 * body_bytes? Returns 0 or an error. */
int sw_request_check(const struct sw_request *request, uint32_t key_bytes, uint32_t value_bytes,
                     uint32_t ops_max, uint64_t body_bytes);

/* Writes prefix, header and padding. Returns the bytes written (a multiple of 64) or
 * SW_FRAME_E_SPACE; SW_FRAME_HEAD_BYTES_MAX is always enough. The body follows from wherever it is.
 */
int sw_request_encode(const struct sw_request *request, uint64_t body_bytes, uint8_t *out,
                      size_t out_bytes);
int sw_reply_encode(const struct sw_reply *reply, uint64_t body_bytes, uint8_t *out,
                    size_t out_bytes);

#endif
