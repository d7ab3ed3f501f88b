/* SPDX-License-Identifier: MIT
 *
 * frame.h - bulk frames: bytes to structs and back. Nothing here does I/O or allocates memory.
 *
 * | offset | bytes          | what                                                        |
 * | 0      | 4              | magic: 0xD5 'S' 'W' version (1, 2); 0xD5 is not ASCII       |
 * | 4      | 4              | header_bytes, little-endian                                 |
 * | 8      | 8              | body_bytes, little-endian                                   |
 * | 16     | header_bytes   | Request or Reply (sherwood.proto)                           |
 * |        |                | zeros up to a multiple of 64 from the start of the frame    |
 * |        | body_bytes     | arrays, each followed by zeros up to a multiple of 64       |
 *
 * The body of a request on keys holds the keys, followed by the operands if the operation takes
 * them, by a score for each key if has_scores is set, and by a time for each key if has_times is
 * set. Requests without keys have no body. The body of their reply holds the arrays that the
 * request wanted, in this order: values; found bitmap (key i is bit i % 64 of 64-bit word i / 64;
 * unused bits are zero); not-admitted bitmap; scores; keys, values and scores of the evicted
 * entries. The body of a SCAN reply holds keys, followed by values, and by scores if the request
 * wanted them. The body of a STATS reply holds figures (struct sw_figure), that of a TABLES reply
 * places (struct sw_frame_place), that of a TOPOLOGY reply bytes of a topology (proto/map.h). A
 * reply whose status is not OK has no body. A request with segments has the bodies of a request for
 * each of them, one after the other, and so has its reply. The length of every frame is a multiple
 * of 64 bytes, so that arrays stay aligned along a connection.
 *
 * All functions are pure and may be called from any thread.
 */
#ifndef SHERWOOD_PROTO_FRAME_H
#define SHERWOOD_PROTO_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/operation.h"
#include "proto/trace.h"
#include "proto/value_type.h"

#define SW_FRAME_MAGIC 0xD5
#define SW_FRAME_VERSION 1
/* The version of a request for a table in another place than 0, and of a request by segments. A
 * server that has one table refuses it, because it would skip the fields `table` and `segments`. A
 * server that has several tables and no segments refuses it if `table` is 0. */
#define SW_FRAME_VERSION_TABLES 2
#define SW_FRAME_PREFIX_BYTES 16
#define SW_FRAME_ALIGN 64
/* A header consists of a few integers and, in replies, a few short texts. */
#define SW_FRAME_HEADER_BYTES_MAX 1008
/* The prefix, the header and the padding of any frame fit in this many bytes. */
#define SW_FRAME_HEAD_BYTES_MAX 1024
#define SW_FRAME_TEXT_BYTES_MAX 256
/* Bytes of the name of a place, with the NUL. */
#define SW_FRAME_TABLE_BYTES 64
/* The largest number of keys that any server may allow in a frame. ServerInfo has the server's own
 * limit. */
#define SW_FRAME_OPS_MAX (1U << 24)

/* What can be wrong with the bytes of a frame: name, negative value, text for the peer. */
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

/* Values are those of enum Status. */
enum sw_reply_status {
    SW_REPLY_OK = 0,
    SW_REPLY_BAD_REQUEST,
    SW_REPLY_UNKNOWN_OPERATION,
    SW_REPLY_OUT_OF_MEMORY,
    SW_REPLY_SERVER_ERROR,
    SW_REPLY_SHUTTING_DOWN,
    SW_REPLY_TIMED_OUT,
    SW_REPLY_TOO_MANY_CONNECTIONS,
    SW_REPLY_NOT_DURABLE,
    SW_REPLY_OUTCOME_UNKNOWN,
    SW_REPLY_LOADING,
    SW_REPLY_NO_AUTH,
    SW_REPLY_WRONG_PASS,
    SW_REPLY_NO_PERMISSION,
    SW_REPLY_WRONG_SHARD = 40,
    SW_REPLY_SLOT_FROZEN,
    SW_REPLY_NOT_PRIMARY,
    SW_REPLY_NO_TABLE,
    SW_REPLY_TABLE_CHANGED
};
/* Returns the name in enum Status, static storage; NULL: no status has the value. */
const char *sw_reply_status_name(uint32_t status);

struct sw_frame_prefix {
    uint32_t version; /* SW_FRAME_VERSION or SW_FRAME_VERSION_TABLES */
    uint32_t header_bytes;
    uint64_t body_bytes;
};

/* The kind of expiry time in a request. Values are those of enum Times. */
enum sw_frame_times {
    SW_FRAME_TIMES_UNSAID = 0,
    SW_FRAME_TIMES_AT, /* milliseconds since 1970 */
    SW_FRAME_TIMES_IN, /* milliseconds after the batch's clock */
    SW_FRAME_TIMES_KEEP
};
#define SW_FRAME_TIME_MAX INT64_MAX

/* Bits of want_evicted and has_evicted. */
enum sw_frame_evicted {
    SW_FRAME_EVICTED_KEYS = 1,
    SW_FRAME_EVICTED_VALUES = 2,
    SW_FRAME_EVICTED_SCORES = 4,
    SW_FRAME_EVICTED_ALL = 7
};

struct sw_request {
    uint64_t request_id;
    uint32_t operation; /* may be any number: check it with sw_request_check */
    uint32_t count;
    uint32_t key_bytes;
    uint32_t value_bytes;
    bool want_values;
    /* want_found was sent as false. A client that does not send it wants the bitmap */
    bool declines_found;
    bool found_bytes; /* by a ring only: a byte for each key instead of a bit */
    uint64_t cursor;
    uint64_t capacity_slots; /* RESIZE */
    bool has_scores;
    bool want_scores;
    bool want_not_admitted;
    /* bits of enum sw_frame_evicted; after decoding 0 or with KEYS, and without unknown bits */
    uint32_t want_evicted;
    bool by_score;
    uint64_t score_min, score_max;
    uint64_t epoch;
    uint64_t sequence;     /* WAIT_DURABLE: the write to wait for */
    uint64_t incarnation;  /* WAIT_DURABLE: of the server that sent this sequence */
    uint32_t timeout_ms;   /* WAIT_DURABLE, WAIT; 0: reply at once */
    uint32_t scale_bits;   /* ADD: of a float; 0: 1 */
    uint32_t operand_type; /* ADD: enum sw_value_type; 0: as the rows' numbers */
    uint32_t range_offset; /* GETRANGE, SETRANGE: the first byte of each value */
    uint32_t range_bytes;  /* GETRANGE, SETRANGE: number of bytes */
    uint32_t times;        /* may be any number: enum sw_frame_times */
    uint64_t time_ms;      /* AT, IN: the time of all keys; unused if has_times is set */
    bool has_times;        /* AT, IN: the body has a time for each key */
    /* epoch of the topology that split the keys; 0: the client has no topology */
    uint64_t map_epoch;
    /* replies SLOT_FROZEN received on this connection before the request was sent */
    uint32_t frozen_seen;
    uint32_t table;    /* number of a place; 0: that of the default table */
    uint32_t table_id; /* the table in the place must have this id; 0: any */
    bool names_table;  /* HELLO has a table_name: sw_frame_table_name_decode */
    bool is_sampled;   /* the request has a trace context with the flag `sampled`:
                          sw_frame_trace_decode */
    bool has_segments; /* reads of several tables: sw_frame_segments_decode */
    bool saves_table;  /* TABLE SAVE, which is no change: set by the server, not decoded */
};

/* An element of the body of a STATS reply: a name of the characters a-z, 0-9 and _, padded with
 * zeros, and its value. Servers differ in which figures they send and in which order, so a client
 * looks for names and ignores those that it does not know. */
#define SW_FIGURE_NAME_BYTES 56
struct sw_figure {
    char name[SW_FIGURE_NAME_BYTES];
    uint64_t value;
};
/* The largest number of figures in a reply. */
#define SW_FIGURES_MAX 128
/* Does the name have only these characters, at least one of them, and a zero at its end? */
bool sw_figure_is_valid(const struct sw_figure *figure);

/* An element of the body of a TABLES reply, little-endian: a place and the table that lies in it.
 */
struct sw_frame_place {
    char name[SW_FRAME_TABLE_BYTES]; /* ends with a NUL */
    uint32_t number;
    uint32_t id; /* of the table */
    uint64_t keys, keys_that_expire;
    uint64_t slots, slots_max;
    uint64_t bytes;     /* of memory that the table reserves */
    uint64_t unused[2]; /* 0 */
};
/* The most tables of a reply. */
#define SW_FRAME_PLACES_MAX 64

struct sw_server_info {
    char version[32]; /* texts end with a NUL and are cut to fit */
    char backend[16];
    char backend_reason[128];
    uint32_t key_bytes, value_bytes, frame_ops_max, requests_in_flight_max;
    uint64_t capacity_slots, occupied_max;
    char engine[16];
    uint32_t value_format; /* enum sw_frame_values, or a number of a later version */
    char policy[16];
    uint64_t frame_bytes_max;
    uint64_t incarnation; /* of the log, another one at each start and full resync; 0: no log */
    uint32_t resp_keys;   /* enum sw_resp_keys of key_form.h, or a number of a later version */
    uint32_t value_type;  /* enum ValueType of sherwood.proto, or a number of a later version */
    uint32_t dimension;
    bool is_cluster;       /* the server has only the keys of its own slots */
    uint64_t map_epoch;    /* of its topology; 0: none */
    bool takes_times;      /* frames may have expiry times */
    bool takes_tables;     /* the reply is to a HELLO with table_name, and has the fields below */
    uint32_t table;        /* number of the place */
    uint32_t table_id;     /* of the table that lies there */
    uint32_t segments_max; /* most segments of a request; 0: the server knows no segments */
    uint32_t run;          /* random number of this start of the server; 0: an older server */
    char table_name[SW_FRAME_TABLE_BYTES];
};

/* The reply to ATTACH: the limits of what a connection may register. */
struct sw_sharing {
    uint32_t regions_max, ring_entries_max;
    uint64_t region_bytes_max;
    bool has_device; /* regions can be memory of the server's CUDA device, of this number */
    uint8_t device_uuid[16];
    bool found_bytes; /* the server takes SW_RING_FOUND_BYTES */
    bool details;     /* the server takes every operation on keys by a ring, and SW_RING_DETAILS */
};

/* DIGEST: a checksum of all entries. */
struct sw_frame_digest {
    uint64_t sequence, entries, sums[2];
};

struct sw_reply {
    uint64_t request_id;
    uint32_t status;
    uint32_t count; /* of keys, entries, figures or bytes */
    uint32_t key_bytes;
    uint32_t value_bytes;
    bool has_values;
    /* has_found was sent as false. A server that does not send it sends the bitmap */
    bool lacks_found;
    uint64_t hits;
    uint64_t overflows; /* keys that INCREMENT or DECREMENT left as they were */
    uint64_t cursor;
    uint64_t capacity_slots; /* RESIZE */
    bool has_scores;
    bool has_not_admitted;
    uint32_t has_evicted; /* of enum sw_frame_evicted */
    uint32_t evicted_count;
    uint64_t not_admitted;
    uint64_t matched;
    uint64_t epoch;
    uint64_t write_sequence;  /* sequence of this request's write; 0: it wrote nothing */
    uint64_t durable_through; /* writes up to here survive a crash */
    int64_t first_bad_index;  /* WRONG_SHARD: of a key; -1: the client's topology is too old */
    uint32_t slot;            /* WRONG_SHARD: of that key */
    uint64_t map_epoch;       /* WRONG_SHARD, TOPOLOGY: the server's */
    char message[SW_FRAME_TEXT_BYTES_MAX]; /* ends with a NUL; empty if the status is OK */
    bool has_info;
    struct sw_server_info info;
    bool has_sharing;
    struct sw_sharing sharing;
    bool has_digest;
    struct sw_frame_digest digest;
};

/* `bytes` rounded up to a multiple of 64: the length of an array with its padding. */
static inline uint64_t sw_frame_align(uint64_t bytes)
{
    return (bytes + SW_FRAME_ALIGN - 1) / SW_FRAME_ALIGN * SW_FRAME_ALIGN;
}
/* The bytes from the start of a frame to its body. */
static inline uint64_t sw_frame_head_bytes(uint32_t header_bytes)
{
    return sw_frame_align(SW_FRAME_PREFIX_BYTES + (uint64_t)header_bytes);
}
/* The bytes of the found bitmap of `count` keys, without padding. */
static inline uint64_t sw_found_bytes(uint32_t count)
{
    return ((uint64_t)count + 63) / 64 * 8;
}

/* The bytes of the array of a request that receives `found`. */
static inline uint64_t sw_request_found_bytes(const struct sw_request *request)
{
    return request->found_bytes ? ((uint64_t)request->count + 7) / 8 * 8
                                : sw_found_bytes(request->count);
}

/* The offsets of the arrays of a body, in bytes, in this order. An absent array has the offset of
 * the next one, or of the end of the body. */
struct sw_body_layout {
    uint64_t first;  /* keys (request, SCAN), figures (STATS), places (TABLES), bytes (TOPOLOGY),
                        values */
    uint64_t second; /* operands, found bitmap or values of a SCAN */
    uint64_t not_admitted; /* bitmap */
    uint64_t scores;       /* given (request), after the operation, or of a SCAN's entries */
    uint64_t times;        /* of a request; in a reply the offset of the next array */
    uint64_t evicted_keys;
    uint64_t evicted_values;
    uint64_t evicted_scores;
    uint64_t bytes; /* the whole body */
};
struct sw_body_layout sw_request_layout(const struct sw_request *request);
/* Returns true if the operands are 32-bit floats for rows of 16-bit numbers. */
bool sw_request_is_wide(const struct sw_request *request);
/* Does the log get a SET of the results? Then the server needs the values before and the found
 * bits, also if the client does not want them. */
bool sw_request_logs_results(const struct sw_request *request);
/* Returns the bytes of one operand; 0 if the operation takes none. An operand of CAS is two values:
 * the value that the key must have, and its new value. */
uint32_t sw_request_operand_bytes(const struct sw_request *request);
/* Returns the bytes of one value of the reply. A value of GETRANGE is a part, a value of TTL a
 * time. */
uint32_t sw_request_answer_bytes(const struct sw_request *request);
/* The layout of a reply to a request of this operation. Reads of the reply only the status, the
 * counts, the widths, and the has_ fields. */
struct sw_body_layout sw_reply_layout(const struct sw_reply *reply, uint32_t operation);

/* Decodes a prefix from the `size` bytes that have arrived. Returns SW_FRAME_PREFIX_BYTES, or 0 if
 * more bytes are needed, or an error as soon as the bytes show one (the first wrong byte of the
 * magic number is enough). A body longer than body_bytes_max is an error. */
int sw_frame_prefix_decode(const uint8_t *bytes, size_t size, uint64_t body_bytes_max,
                           struct sw_frame_prefix *prefix);

/* Decode the protobuf header, of `size` bytes. They return 0 or SW_FRAME_E_HEADER. They need only a
 * fixed buffer on the stack, whatever the bytes are. */
int sw_request_decode(const uint8_t *header, size_t size, struct sw_request *request);
int sw_reply_decode(const uint8_t *header, size_t size, struct sw_reply *reply);

/* The login of a HELLO. It is not in struct sw_request, because every frame copies that struct. */
#define SW_FRAME_USER_BYTES 64      /* with the NUL */
#define SW_FRAME_PASSWORD_BYTES 512 /* it may hold any bytes */
struct sw_frame_login {
    bool is_there;                  /* there is a user or a password */
    char user[SW_FRAME_USER_BYTES]; /* empty: default */
    uint32_t password_bytes;
    uint8_t password[SW_FRAME_PASSWORD_BYTES];
};
/* Decodes the login of a header that sw_request_decode has accepted. Returns 0, or
 * SW_FRAME_E_HEADER if a text is too long or a user's name holds a NUL. */
int sw_frame_login_decode(const uint8_t *header, size_t size, struct sw_frame_login *login);
/* Does what sw_request_encode does, for a request with a login. */
int sw_frame_login_encode(const struct sw_request *request, const struct sw_frame_login *login,
                          uint8_t *out, size_t out_bytes);

/* The words of a TABLE, as they are in the header. */
#define SW_FRAME_WORDS_MAX 128
struct sw_frame_words {
    uint32_t count;
    uint32_t bytes[SW_FRAME_WORDS_MAX];
    /* one behind the other; the sum of their lengths is smaller than this array */
    uint8_t text[SW_FRAME_HEADER_BYTES_MAX];
};
/* Decodes the words of a header that sw_request_decode has accepted. Returns 0, or
 * SW_FRAME_E_HEADER if there are none, or more than SW_FRAME_WORDS_MAX. */
int sw_frame_words_decode(const uint8_t *header, size_t size, struct sw_frame_words *words);
/* Does what sw_request_encode does, for a TABLE with these words, which end with a NUL. `count` is
 * at most SW_FRAME_WORDS_MAX. */
int sw_frame_words_encode(const struct sw_request *request, const char *const *words,
                          uint32_t count, uint8_t *out, size_t out_bytes);

/* Returns the version that the frame of this request has. */
static inline uint32_t sw_request_version(const struct sw_request *request)
{
    return request->table != 0 || request->has_segments ? SW_FRAME_VERSION_TABLES
                                                        : SW_FRAME_VERSION;
}

/* The segments of a request, a GET or PEEK: element i of each array belongs to segment i. */
#define SW_FRAME_SEGMENTS_MAX 64
/* Bytes that the server adds for each segment, and once more for the frame, before it compares the
 * bodies with frame_bytes_max. */
#define SW_FRAME_SEGMENT_BYTES 1024
struct sw_frame_segments {
    uint32_t count;
    uint32_t tables[SW_FRAME_SEGMENTS_MAX];      /* numbers of places */
    uint32_t counts[SW_FRAME_SEGMENTS_MAX];      /* of keys */
    uint32_t value_bytes[SW_FRAME_SEGMENTS_MAX]; /* as each table has it */
    uint32_t table_ids[SW_FRAME_SEGMENTS_MAX];   /* 0: any table */
};
/* Decodes the segments of a header that sw_request_decode has accepted. Returns 0, or
 * SW_FRAME_E_HEADER if there are none, or more than SW_FRAME_SEGMENTS_MAX, or if the lists have
 * different lengths. Numbers of tables and counts may be any. */
int sw_frame_segments_decode(const uint8_t *header, size_t size,
                             struct sw_frame_segments *segments);
/* Does what sw_request_encode does, for a request with has_segments. `trace`: its trace context;
 * NULL: none. Returns SW_FRAME_E_SPACE if the numbers are so large that they do not fit a header.
 */
int sw_frame_segments_encode(const struct sw_request *request,
                             const struct sw_frame_segments *segments, const struct sw_trace *trace,
                             uint64_t body_bytes, uint8_t *out, size_t out_bytes);
/* Returns the request of segment i alone: its body lies in the body of the whole request, behind
 * those of the segments before it. */
struct sw_request sw_frame_segment(const struct sw_request *request,
                                   const struct sw_frame_segments *segments, uint32_t i);

/* Decodes the table_name of a HELLO that sw_request_decode has accepted. Returns 0, or
 * SW_FRAME_E_HEADER if the name is too long or holds a NUL. */
int sw_frame_table_name_decode(const uint8_t *header, size_t size, char name[SW_FRAME_TABLE_BYTES]);
/* Does what sw_request_encode does, for a HELLO with a table_name. */
int sw_frame_table_name_encode(const struct sw_request *request, const char *name, uint8_t *out,
                               size_t out_bytes);

/* Decodes the trace context of a header whose request is_sampled. Returns 0, or SW_FRAME_E_HEADER
 * if there is none. */
int sw_frame_trace_decode(const uint8_t *header, size_t size, struct sw_trace *trace);
/* Does what sw_request_encode does, for a request with a trace context. Ignores is_sampled. */
int sw_frame_trace_encode(const struct sw_request *request, const struct sw_trace *trace,
                          uint64_t body_bytes, uint8_t *out, size_t out_bytes);

/* Checks a request against the widths of the table, the limit of keys in a frame, and the length of
 * the frame's body. Returns 0 or an error. */
int sw_request_check(const struct sw_request *request, uint32_t key_bytes, uint32_t value_bytes,
                     uint32_t ops_max, uint64_t body_bytes);

/* Write the prefix, the header and the padding, but not the body. They return the number of bytes
 * written, which is a multiple of 64, or SW_FRAME_E_SPACE; SW_FRAME_HEAD_BYTES_MAX bytes are always
 * enough. */
int sw_request_encode(const struct sw_request *request, uint64_t body_bytes, uint8_t *out,
                      size_t out_bytes);
int sw_reply_encode(const struct sw_reply *reply, uint64_t body_bytes, uint8_t *out,
                    size_t out_bytes);

#endif
