/* SPDX-License-Identifier: MIT
 *
 * sherwood.h - libsherwood, the C client of a Sherwood server.
 *
 *     struct sherwood *client;
 *     if (sherwood_connect("127.0.0.1:7379", NULL, &client) != SHERWOOD_OK) ...
 *     sherwood_set(client, keys, values, count);
 *     sherwood_get(client, keys, count, values, found);
 *     sherwood_close(client);
 *
 * Keys and values are unsigned integers of the server's width: arrays of uint64_t, or of uint32_t
 * when sherwood_server() reports 4 bytes. `found` is a bitmap of 64-bit words: key i was present
 * before the operation if bit i % 64 of word i / 64 is set (sherwood_found). Arrays of any length
 * are accepted; calls longer than the server's frame limit are split, and keep several frames in
 * flight. Only submit is limited to one frame.
 *
 * Threads: one handle is used by one thread at a time; different handles are independent. There is
 * no global state. SIGPIPE is never raised (MSG_NOSIGNAL). Errors: every call returns SHERWOOD_OK
 * or a negative code; sherwood_error() gives a sentence. After SHERWOOD_E_CONNECTION,
 * SHERWOOD_E_TIMEOUT or SHERWOOD_E_PROTOCOL the connection is over: requests in flight end with
 * that code, arrays are no longer touched, and further calls only repeat it; close the handle and
 * connect again. Memory: everything is allocated by connect (about 100 KiB), nothing by the other
 * calls.
 */
#ifndef SHERWOOD_H
#define SHERWOOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHERWOOD_STATUS_MAP(X)                                               \
    X(SHERWOOD_OK, 0, "done")                                                \
    X(SHERWOOD_E_INVALID, -1, "invalid argument")                            \
    X(SHERWOOD_E_NOMEM, -2, "not enough memory")                             \
    X(SHERWOOD_E_ADDRESS, -3, "the address cannot be used")                  \
    X(SHERWOOD_E_CONNECTION, -4, "the connection failed or was closed")      \
    X(SHERWOOD_E_TIMEOUT, -5, "the server did not answer in time")           \
    X(SHERWOOD_E_PROTOCOL, -6, "the server's answer was not understood")     \
    X(SHERWOOD_E_FULL, -7, "refused: the table would pass its maximum load") \
    X(SHERWOOD_E_REQUEST, -8, "the server refused the request")              \
    X(SHERWOOD_E_SERVER, -9, "the server failed or is shutting down")        \
    X(SHERWOOD_E_BUSY, -10, "too many requests in flight: wait for one first")

enum sherwood_status {
#define SHERWOOD_STATUS_ENUM(name, value, text) name = value,
    SHERWOOD_STATUS_MAP(SHERWOOD_STATUS_ENUM)
#undef SHERWOOD_STATUS_ENUM
};

/* Text of a code, static storage. */
const char *sherwood_status_text(int status);

struct sherwood;

struct sherwood_options {
    int connect_timeout_ms; /* 0: 5000 */
    int request_timeout_ms; /* without any progress; 0: 30000 */
};

struct sherwood_server {
    char version[32];
    char backend[16];
    char backend_reason[128];
    uint32_t key_bytes;   /* 4 or 8 */
    uint32_t value_bytes; /* 4 or 8 */
    uint32_t frame_ops_max;
    uint32_t requests_in_flight_max; /* the server's limit, or 256 if that is less */
    uint64_t capacity_slots; /* when the connection was made: sherwood_stats has what it is now */
    uint64_t occupied_max;   /* likewise */
};

/* Connects to "host:port", "[v6]:port" or "unix:/path" and learns what the server is. NULL options
 * are the defaults. On failure *out is NULL. The caller owns *out. */
int sherwood_connect(const char *address, const struct sherwood_options *options,
                     struct sherwood **out);
/* The same, with one sentence of what went wrong and what to do in `text` (may be NULL). */
int sherwood_connect_text(const char *address, const struct sherwood_options *options,
                          struct sherwood **out, char *text, size_t text_bytes);

/* Closes the connection and frees the handle; requests in flight are abandoned. NULL is allowed. */
void sherwood_close(struct sherwood *client);

/* Facts of the server, valid until close. */
const struct sherwood_server *sherwood_server(const struct sherwood *client);

/* One sentence about the last call that failed on this handle; valid until the next call. */
const char *sherwood_error(const struct sherwood *client);

/* What a request does to each of its keys. */
enum sherwood_operation {
    SHERWOOD_GET = 1,
    SHERWOOD_SET = 2,         /* insert or replace */
    SHERWOOD_SUM = 3,         /* insert or add, modulo 2^width */
    SHERWOOD_MIN = 4,         /* insert or keep the smaller */
    SHERWOOD_MAX = 5,         /* insert or keep the larger */
    SHERWOOD_SET_ABSENT = 6,  /* insert if absent */
    SHERWOOD_SET_PRESENT = 7, /* replace if present */
    SHERWOOD_INCREMENT = 8,   /* add, refused where it would overflow */
    SHERWOOD_DECREMENT = 9,   /* subtract, refused below zero */
    SHERWOOD_DELETE = 10
};

/* Blocking calls. Operations of a call, and of calls one after the other, take effect in order,
 * repeated keys included. `found` and `previous` may be NULL. */
int sherwood_get(struct sherwood *client, const void *keys, size_t count, void *values,
                 uint64_t *found);
int sherwood_set(struct sherwood *client, const void *keys, const void *values, size_t count);
int sherwood_delete(struct sherwood *client, const void *keys, size_t count, uint64_t *found);
/* Any operation; `values` are the operands of writes; `previous` receives each key's value before
 * the operation (0 if absent; for GET: the value). A call longer than a frame that is refused with
 * SHERWOOD_E_FULL has been applied in part: each frame as a whole or not at all, those before the
 * refused one and perhaps some that were in flight behind it. */
int sherwood_run(struct sherwood *client, enum sherwood_operation operation, const void *keys,
                 const void *values, size_t count, void *previous, uint64_t *found);

/* Many requests in flight on one connection. The struct (zero it before its first use) and the
 * arrays are borrowed until the request has been waited for; results land in them directly. Each
 * submitted request is given back once, by wait or wait_any. Close abandons the rest. */
struct sherwood_request {
    enum sherwood_operation operation;
    uint32_t count; /* at most frame_ops_max */
    const void *keys;
    const void *values; /* operands, or NULL */
    void *previous;     /* out, or NULL */
    uint64_t *found;    /* out, or NULL */
    /* Out, once waited for. */
    int status;
    uint64_t hits;
    void *user; /* the caller's, never touched */
    /* The library's. */
    uint64_t _id;
    int _state;
    struct sherwood_request *_next;
};

/* Queues a request and sends what the socket takes; never blocks. SHERWOOD_E_BUSY if
 * requests_in_flight_max are unanswered (and only then). What the socket did not take is sent by
 * the calls that wait. After an error the request is not queued. */
int sherwood_submit(struct sherwood *client, struct sherwood_request *request);
/* Blocks until the request has been answered; returns its status. */
int sherwood_wait(struct sherwood *client, struct sherwood_request *request);
/* Blocks until any request has been answered, gives it back and returns its status. If none is in
 * flight: NULL in *out, and SHERWOOD_OK or the code of the connection that is over. */
int sherwood_wait_any(struct sherwood *client, struct sherwood_request **out);

/* Control. */
int sherwood_ping(struct sherwood *client);
int sherwood_clear(struct sherwood *client);
/* Gives the table this many slots, more or fewer, from 1 to its maximum; in any case as many as its
 * keys need. `now` (may be NULL) receives how many it has then. SHERWOOD_E_FULL: there was no
 * memory for the old and the new table at once, or too many keys would meet the probe cap; nothing
 * was changed. No byte moves while the table does, so a large table may need more than
 * request_timeout_ms: after SHERWOOD_E_TIMEOUT the resize may still be carried out (sherwood_stats
 * on a new connection has the capacity). */
int sherwood_resize(struct sherwood *client, uint64_t capacity_slots, uint64_t *now);
/* Reads entries from *cursor (0 to begin), at most `capacity`; *cursor comes back as 0 at the end.
 * Every entry present throughout is returned at least once. */
int sherwood_scan(struct sherwood *client, uint64_t *cursor, void *keys, void *values,
                  uint32_t capacity, uint32_t *count);

struct sherwood_operation_stats {
    uint64_t operations, probes, hits, misses;
};
struct sherwood_stats {
    struct sherwood_operation_stats get, upsert, remove;
    uint64_t inserted, updated, deleted, failures, refused;
    uint64_t occupied, capacity_slots, stash_occupied, batches, connections, uptime_seconds;
    uint64_t occupied_max;       /* keys at which the table grows or refuses new ones */
    uint64_t max_capacity_slots; /* slots it may have at most */
    uint64_t growths, resizes;   /* by itself; on request */
    uint64_t resize_failures;    /* either, for lack of memory or for the probe cap */
    uint64_t table_bytes;
};
int sherwood_stats(struct sherwood *client, struct sherwood_stats *stats);

static inline bool sherwood_found(const uint64_t *found, size_t i)
{
    return found[i / 64] >> (i % 64) & 1;
}
/* 64-bit words of a found bitmap of `count` keys. */
static inline size_t sherwood_found_words(size_t count)
{
    return (count + 63) / 64;
}

#ifdef __cplusplus
}
#endif

#endif
