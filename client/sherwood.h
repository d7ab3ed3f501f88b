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
 * when sherwood_server() reports 4 bytes. Values of a server with the cache engine are bytes:
 * value_bytes for each, one behind the other (sherwood_server.value_format). `found` is a bitmap of
 * 64-bit words: key i was present before the operation if bit i % 64 of word i / 64 is set
 * (sherwood_found). Arrays of any length are accepted; calls longer than the server's frame limit
 * are split, and keep several frames in flight. Only submit is limited to one frame.
 *
 * Threads: one handle is used by one thread at a time; different handles are independent. There is
 * no global state. SIGPIPE is never raised. Errors: every call returns SHERWOOD_OK or a negative
 * code; sherwood_error() gives a sentence. After SHERWOOD_E_CONNECTION, SHERWOOD_E_TIMEOUT or
 * SHERWOOD_E_PROTOCOL the connection is over: requests in flight on it end with that code, arrays
 * are no longer touched, and further calls only repeat it; close the handle and connect again. A
 * handle of several stripes goes on with those that are left. Memory: everything is allocated by
 * connect (about 220 KiB, and 160 KiB for each further stripe), nothing by the other calls.
 *
 * Structs that a program hands over carry their size as the program was compiled: the first field
 * of sherwood_options and sherwood_request (SHERWOOD_OPTIONS_INIT, SHERWOOD_REQUEST_INIT, or .size
 * = sizeof), an argument of sherwood_stats and sherwood_traffic. No byte beyond it is read or
 * written, so later versions add fields at the end and programs go on without being compiled again;
 * a field of a later version that is not 0 is refused by this one. sherwood_piece and
 * sherwood_operation_stats stay as they are.
 *
 * Arrays may have any alignment. Data goes from them to the socket, and from the socket into them,
 * without a copy in this library; arrays that begin at multiples of 64 bytes are the fastest to
 * copy for the kernel, those of SHERWOOD_CONSTANT requests at multiples of a page.
 */
#ifndef SHERWOOD_H
#define SHERWOOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHERWOOD_STATUS_MAP(X)                                                 \
    X(SHERWOOD_OK, 0, "done")                                                  \
    X(SHERWOOD_E_INVALID, -1, "invalid argument")                              \
    X(SHERWOOD_E_NOMEM, -2, "not enough memory")                               \
    X(SHERWOOD_E_ADDRESS, -3, "the address cannot be used")                    \
    X(SHERWOOD_E_CONNECTION, -4, "the connection failed or was closed")        \
    X(SHERWOOD_E_TIMEOUT, -5, "the server did not reply in time")              \
    X(SHERWOOD_E_PROTOCOL, -6, "the server's reply was not understood")        \
    X(SHERWOOD_E_FULL, -7, "refused: the table would pass its maximum load")   \
    X(SHERWOOD_E_REQUEST, -8, "the server refused the request")                \
    X(SHERWOOD_E_SERVER, -9, "the server failed or is shutting down")          \
    X(SHERWOOD_E_BUSY, -10, "too many requests in flight: wait for one first") \
    X(SHERWOOD_E_PENDING, -11, "there is no reply yet")

enum sherwood_status {
#define SHERWOOD_STATUS_ENUM(name, value, text) name = value,
    SHERWOOD_STATUS_MAP(SHERWOOD_STATUS_ENUM)
#undef SHERWOOD_STATUS_ENUM
};

/* Text of a code, static storage. */
const char *sherwood_status_text(int status);

struct sherwood;

struct sherwood_options {
    size_t size;            /* sizeof(struct sherwood_options) */
    int connect_timeout_ms; /* 0: 5000 */
    int request_timeout_ms; /* without any progress; 0: 30000 */
    /* Connections of the handle, 1 to SHERWOOD_STRIPES_MAX; 0: 1. A request goes to the one with
     * the fewest unanswered. With more than one, requests that are in flight at the same time have
     * no order among them; the writes of one blocking call keep theirs. */
    uint32_t stripes;
    /* Of each socket, at most SHERWOOD_SOCKET_BUFFER_MAX; 0: TCP as the kernel tunes it, Unix 1 MiB
     * to send. The kernel's own limits (net.core.rmem_max, wmem_max) hold for the unprivileged. */
    uint32_t send_buffer_bytes;
    uint32_t receive_buffer_bytes;
};
#define SHERWOOD_OPTIONS_INIT                   \
    {                                           \
        .size = sizeof(struct sherwood_options) \
    }
#define SHERWOOD_STRIPES_MAX 256
#define SHERWOOD_SOCKET_BUFFER_MAX (64U << 20)

/* What values are. */
enum sherwood_values {
    SHERWOOD_VALUES_INTEGER = 0, /* unsigned integers of value_bytes bytes */
    SHERWOOD_VALUES_STRING = 1,  /* a length of 4 bytes, little-endian, at most value_bytes - 4; as
                                    many bytes; zeros up to value_bytes */
    SHERWOOD_VALUES_FIXED = 2    /* value_bytes bytes */
};

struct sherwood_server {
    char version[32];
    char backend[16];
    char backend_reason[128];
    uint32_t key_bytes;   /* 4 or 8 */
    uint32_t value_bytes; /* of an element of `values` and `previous`: 4 or 8; cache: 4 to 1024 */
    uint32_t frame_ops_max;
    /* Of the handle: the server's limit for a connection, or 256 if that is less, times stripes. */
    uint32_t requests_in_flight_max;
    uint64_t capacity_slots; /* when the connection was made: sherwood_stats has what it is now */
    uint64_t occupied_max;   /* likewise */
    char engine[16];         /* "robin_hood", "cuckoo" or "cache"; empty: an older server */
    enum sherwood_values value_format;
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
    SHERWOOD_INCREMENT = 8,   /* add; a key whose value would overflow keeps it */
    SHERWOOD_DECREMENT = 9,   /* subtract; a key whose value would fall below zero keeps it */
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

/* How many keys the last sherwood_run (INCREMENT, DECREMENT) left as they were, because the result
 * would have passed the largest value, or zero. That is no error: the other keys were changed.
 * `previous` tells which. */
uint64_t sherwood_overflows(const struct sherwood *client);

/* A part of a request whose arrays are not contiguous. */
struct sherwood_piece {
    const void *keys;
    const void *values; /* operands, or NULL */
    void *previous;     /* out, or NULL */
    uint32_t count;     /* not 0 */
};
#define SHERWOOD_PIECES_MAX 16

/* What may be asked of a request beyond its operation. */
enum sherwood_request_flag {
    /* The values are asked for, received and dropped, and so is the found bitmap: `hits` is the
     * answer. For those that measure or warm up. */
    SHERWOOD_DISCARD = 1,
    /* Submit sends nothing: the next call that has to wait, or a submit without this, sends all
     * that is queued in one go. */
    SHERWOOD_DELAY = 2,
    /* The bytes of keys and values do not change from now until the process ends, so the kernel may
     * send their pages (from 64 KiB on) without a copy. It may do so after the request was
     * answered, failed or was abandoned too: do not change or free them, do not map others there.
     */
    SHERWOOD_CONSTANT = 4
};

/* Many requests in flight. The struct (begin with SHERWOOD_REQUEST_INIT), its pieces and the arrays
 * are borrowed until the request has been waited for; results land in them directly, and those of a
 * request that failed are not to be used. Each submitted request is given back once, by a call that
 * waits. Close abandons the rest. */
struct sherwood_request {
    size_t size; /* sizeof(struct sherwood_request) */
    enum sherwood_operation operation;
    uint32_t count; /* at most frame_ops_max; with pieces the sum of theirs */
    const void *keys;
    const void *values; /* operands, or NULL */
    void *previous;     /* out, or NULL */
    uint64_t *found;    /* out, or NULL */
    /* Instead of keys, values and previous (NULL then): up to SHERWOOD_PIECES_MAX pieces, one frame
     * on the wire. If one of them has `previous`, those without drop their values. */
    const struct sherwood_piece *pieces;
    uint32_t pieces_count;
    uint32_t flags; /* of enum sherwood_request_flag, or 0 */
    /* Out, once waited for. */
    int status;
    uint64_t hits;      /* keys that were present before */
    uint64_t overflows; /* keys that an INCREMENT or DECREMENT left as they were */
    void *user;         /* the caller's, never touched */
    /* The library's. */
    uint64_t _id;
    int _state;
    struct sherwood_request *_next;
};
#define SHERWOOD_REQUEST_INIT                   \
    {                                           \
        .size = sizeof(struct sherwood_request) \
    }

/* Queues a request and sends what the socket takes; never blocks. SHERWOOD_E_BUSY if
 * requests_in_flight_max are unanswered (and only then). What the socket did not take is sent by
 * the calls that wait. After an error the request is not queued. */
int sherwood_submit(struct sherwood *client, struct sherwood_request *request);
/* Blocks until the request has been answered; returns its status. */
int sherwood_wait(struct sherwood *client, struct sherwood_request *request);
/* The same for at most `timeout_ms` (0: only sends and receives what is possible at once; negative:
 * without a limit): SHERWOOD_E_PENDING if it has not been answered until then; it stays in flight.
 */
int sherwood_wait_for(struct sherwood *client, struct sherwood_request *request, int timeout_ms);
/* Blocks until any request has been answered, gives it back and returns its status. If none is in
 * flight: NULL in *out, and SHERWOOD_OK or the code of the connection that is over. */
int sherwood_wait_any(struct sherwood *client, struct sherwood_request **out);
/* The same for at most `timeout_ms`: NULL in *out and SHERWOOD_E_PENDING if none was answered. */
int sherwood_wait_any_for(struct sherwood *client, struct sherwood_request **out, int timeout_ms);

/* A descriptor for poll, epoll or an event loop: readable (POLLIN) when a call that waits has
 * something to do. Before sleeping on it, call sherwood_wait_any_for with a timeout of 0 until *out
 * is NULL: what has been received already does not show on it. Timeouts pass only in calls that
 * wait. Made by the first call; the library's, closed by sherwood_close. -1 if there is none to be
 * had. */
int sherwood_descriptor(struct sherwood *client);

/* Stripes that are not over yet. */
uint32_t sherwood_stripes(const struct sherwood *client);

/* What the handle has cost since connect; `size` is sizeof(struct sherwood_traffic). */
struct sherwood_traffic {
    uint64_t reads, writes, polls, options; /* system calls: receive, send, wait, socket options */
    uint64_t bytes_received, bytes_sent;
    uint64_t bytes_spliced; /* of those sent: as pages, without a copy */
};
void sherwood_traffic(const struct sherwood *client, struct sherwood_traffic *traffic, size_t size);

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

/* Statistics. A field is 0 where the server does not tell it. */
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
    uint64_t evicted;      /* keys that left a cache to make room for others */
    uint64_t not_admitted; /* new keys a cache did not take: all others had a higher score */
};
/* `size` is sizeof(struct sherwood_stats) as the program was compiled: no byte beyond it is
 * written, and fields that this library does not know are 0. */
int sherwood_stats(struct sherwood *client, struct sherwood_stats *stats, size_t size);
/* All figures that the last sherwood_stats received, those without a field included, in the
 * server's order: i from 0 until it returns false. Names are short texts of a-z, 0-9 and _, valid
 * until the next sherwood_stats or close. `name` and `value` may be NULL. */
bool sherwood_figure(const struct sherwood *client, uint32_t i, const char **name, uint64_t *value);

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
