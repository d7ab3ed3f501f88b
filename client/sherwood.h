/* SPDX-License-Identifier: MIT
 *
 * sherwood.h - libsherwood, the C client of a Sherwood server.
 *
 *     struct sherwood *client;
 *     if (sherwood_connect("127.0.0.1:7379", NULL, &client) != SHERWOOD_OK) ...
 *     if (sherwood_set(client, keys, values, count) != SHERWOOD_OK) ...
 *     if (sherwood_get(client, keys, count, values, found) != SHERWOOD_OK) ...
 *     sherwood_close(client);
 *
 * Keys and values are unsigned integers of the server's width: arrays of uint64_t, or of uint32_t
 * if sherwood_server() reports 4 bytes. Values of a server with the cache engine are byte strings
 * of value_bytes each, without gaps (sherwood_server.value_format). `found` is a bitmap of 64-bit
 * words: key i was present before the operation if bit i % 64 of word i / 64 is set
 * (sherwood_found). Arrays may have any length: the library splits a call that exceeds the server's
 * limit for a frame into several frames, and has several of them in flight at a time. Only
 * sherwood_submit is limited to one frame.
 *
 * Threads: a handle is used by one thread at a time; different handles are independent. There is no
 * global state, and SIGPIPE is never raised.
 *
 * Errors: every call returns SHERWOOD_OK or a negative code; sherwood_error() returns a sentence.
 * SHERWOOD_E_CONNECTION, SHERWOOD_E_TIMEOUT and SHERWOOD_E_PROTOCOL end the connection: its
 * requests in flight end with that code, their arrays are no longer touched (sherwood-regions.h
 * names the exception), and further calls return the same code. Close the handle then, and connect
 * again. A handle with several connections (options.stripes) goes on with those that are left.
 *
 * Memory: sherwood_connect allocates everything (about 280 KiB, and 200 KiB for each further
 * connection), the other calls allocate nothing. By TLS each connection has 90 KiB more, and
 * OpenSSL allocates as it goes.
 *
 * Sizes: structs that a program passes to the library carry their size as the program was compiled.
 * It is the first field of sherwood_options, sherwood_request, sherwood_cache and sherwood_times
 * (SHERWOOD_OPTIONS_INIT and the like, or .size = sizeof), and an argument of sherwood_stats and
 * sherwood_traffic. The library does not read or write beyond it.
 * Later versions may add fields at the end without breaking compiled programs; a field that this
 * version does not know must be 0. sherwood_piece and sherwood_operation_stats will not change.
 *
 * Alignment: arrays may have any; the library does not copy them. The kernel copies fastest if they
 * begin at multiples of 64 bytes, and those of SHERWOOD_CONSTANT requests at multiples of a page.
 */
#ifndef SHERWOOD_H
#define SHERWOOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHERWOOD_STATUS_MAP(X)                                                      \
    X(SHERWOOD_OK, 0, "done")                                                       \
    X(SHERWOOD_E_INVALID, -1, "invalid argument")                                   \
    X(SHERWOOD_E_NOMEM, -2, "not enough memory")                                    \
    X(SHERWOOD_E_ADDRESS, -3, "the address cannot be used")                         \
    X(SHERWOOD_E_CONNECTION, -4, "the connection failed or was closed")             \
    X(SHERWOOD_E_TIMEOUT, -5, "the server did not reply in time")                   \
    X(SHERWOOD_E_PROTOCOL, -6, "the server's reply was not understood")             \
    X(SHERWOOD_E_FULL, -7, "refused: the table is full: raise its --max-capacity")  \
    X(SHERWOOD_E_REQUEST, -8, "the server refused the request")                     \
    X(SHERWOOD_E_SERVER, -9, "the server failed or is shutting down")               \
    X(SHERWOOD_E_BUSY, -10, "too many requests in flight: wait for one first")      \
    X(SHERWOOD_E_PENDING, -11, "there is no reply yet")                             \
    X(SHERWOOD_E_NOT_DURABLE, -12, "refused: the server's log cannot be written")   \
    X(SHERWOOD_E_UNKNOWN_OUTCOME, -13, "carried out, and may be lost in a restart") \
    X(SHERWOOD_E_LOGIN, -14, "refused: no user, or a wrong user or password")       \
    X(SHERWOOD_E_PERMISSION, -15, "refused: the user may not do this")              \
    X(SHERWOOD_E_SHARD, -16, "refused: another node of the cluster has the keys")   \
    X(SHERWOOD_E_TABLE, -17, "refused: the table was dropped, or replaced by another one")

enum sherwood_status {
#define SHERWOOD_STATUS_ENUM(name, value, text) name = value,
    SHERWOOD_STATUS_MAP(SHERWOOD_STATUS_ENUM)
#undef SHERWOOD_STATUS_ENUM
};

/* The compiler warns where a program drops the result of such a function. A program that means to
 * drop results defines it as nothing before it includes this header. */
#ifndef SHERWOOD_MUST_CHECK
#ifdef __GNUC__
#define SHERWOOD_MUST_CHECK __attribute__((warn_unused_result))
#else
#define SHERWOOD_MUST_CHECK
#endif
#endif

/* Returns the text of a code, in static storage. */
const char *sherwood_status_text(int status);

struct sherwood;

/* Initializes a struct: sets `size`, and every other field to 0. */
#define SHERWOOD_INIT_OF(name)      \
    {                               \
        .size = sizeof(struct name) \
    }

struct sherwood_options {
    size_t size;            /* sizeof(struct sherwood_options) */
    int connect_timeout_ms; /* for the connection, then for the greeting; 0: 5000 */
    int request_timeout_ms; /* without a byte received, or sent of the oldest request; 0: 30000 */
    /* Connections of the handle, 1 to SHERWOOD_STRIPES_MAX; 0: 1. A request goes to the one that
     * has the fewest requests in flight. With more than one, requests that are in flight at the
     * same time may take effect in any order, but the writes of one blocking call keep theirs. */
    uint32_t stripes;
    /* Buffers of each socket, at most SHERWOOD_SOCKET_BUFFER_MAX. 0: TCP buffers are tuned by the
     * kernel, and the send buffer of a Unix socket is 1 MiB. Without privileges, the kernel's
     * limits (net.core.rmem_max, wmem_max) apply. */
    uint32_t send_buffer_bytes;
    uint32_t receive_buffer_bytes;
    /* For addresses that begin with "tls://"; with other addresses these fields are an error. Files
     * are PEM. The call that connects reads them. */
    const char *tls_ca;          /* root certificates, a file or a folder; NULL: the system's */
    const char *tls_cert;        /* a certificate for servers that ask for one; NULL: none */
    const char *tls_key;         /* its private key */
    const char *tls_server_name; /* the host that the server's certificate must name; a host
                                    name is also sent as SNI; NULL: the host of the address */
    uint32_t tls_insecure;       /* 1: accept any certificate of the server */
    /* The login of each connection. A handle of one address does not keep it after connecting. A
     * handle of several addresses or of a cluster keeps a copy, to connect again. A user has at
     * most 63 bytes, a password at most 512. Both NULL: no login, which a server without a password
     * accepts. */
    const char *user; /* NULL with a password: "default" */
    const char *password;
    /* The longest time in microseconds that a call polls the ring for its reply before it sleeps.
     * It polls only while replies have lately come about that fast. 0: 50, or no polling on a
     * machine of one or two cores. Negative: no polling. */
    int spin_us;
};
#define SHERWOOD_OPTIONS_INIT SHERWOOD_INIT_OF(sherwood_options)
#define SHERWOOD_STRIPES_MAX 256
#define SHERWOOD_SOCKET_BUFFER_MAX (64U << 20)

/* The format of values. */
enum sherwood_values {
    SHERWOOD_VALUES_INTEGER = 0, /* unsigned integers of value_bytes bytes */
    SHERWOOD_VALUES_STRING = 1, /* a length of 4 bytes, little-endian, at most value_bytes - 4; then
                                   the bytes of the string; then zeros up to value_bytes */
    SHERWOOD_VALUES_FIXED = 2   /* value_bytes bytes */
};

/* The type of values of the formats STRING and FIXED. */
enum sherwood_type {
    SHERWOOD_BYTES = 0,
    SHERWOOD_STRING = 1,
    SHERWOOD_U32 = 2,
    SHERWOOD_U64 = 3,
    SHERWOOD_F32 = 4,
    SHERWOOD_F16 = 5,
    SHERWOOD_BF16 = 6,
    SHERWOOD_I64 = 7,
    SHERWOOD_F64 = 8,
    SHERWOOD_NONE = 9
};

struct sherwood_server {
    char version[32];
    char backend[16];
    char backend_reason[128];
    uint32_t key_bytes;   /* 4 or 8 */
    uint32_t value_bytes; /* of an element of `values` and `previous`: 4 or 8; rows: 4 to 4096; 0:
                             keys have no values, and `values` may be NULL */
    uint32_t frame_ops_max;
    /* Requests in flight of the handle: the server's limit for a connection, at most 256, times the
     * number of connections. */
    uint32_t requests_in_flight_max;
    uint64_t capacity_slots; /* when the connection was made; sherwood_stats has the current one */
    uint64_t occupied_max;   /* when the connection was made */
    char engine[16];         /* "robin_hood", "cuckoo" or "cache"; empty: an older server */
    enum sherwood_values value_format;
    char policy[16]; /* cache: "lru", "lfu", "epoch-lru", "epoch-lfu" or "custom"; empty: none */
    uint64_t frame_bytes_max; /* most bytes of the arrays of a request and of its longest reply
                                 together; 0: an older server */
    uint32_t resp_keys;       /* enum sherwood_resp_keys, or a number of a later version */
    enum sherwood_type value_type;
    uint32_t dimension;   /* numbers of a value; 1 where it has none; 0: an older server */
    uint32_t takes_times; /* 1: requests may have times; 0: no key expires by them */
    uint32_t run;         /* of each start another number; of a cluster: of a node; 0: unknown */
};

/* How clients by RESP write a key (--resp-keys). Here keys are numbers in each case. */
enum sherwood_resp_keys {
    SHERWOOD_RESP_KEYS_DECIMAL = 0, /* digits */
    SHERWOOD_RESP_KEYS_RAW = 1,     /* the bytes of the number, the lowest first */
    SHERWOOD_RESP_KEYS_HASH = 2,    /* any text: the number is sherwood_hash_key of it */
    SHERWOOD_RESP_KEYS_AUTO = 3     /* any text: the number is sherwood_text_key of it */
};

/* Returns the key that a server with --resp-keys hash makes of this text: its XXH3-64. Pure. */
uint64_t sherwood_hash_key(const void *text, size_t size);
/* Returns the key that a server with --resp-keys auto makes of this text: a decimal up to 2^64 - 1
 * without leading zeros is that number, any other text is sherwood_hash_key. Pure. */
uint64_t sherwood_text_key(const void *text, size_t size);

/* Connects to "host:port", "[v6]:port" or "unix:/path", or by TLS to "tls://host:port" or
 * "tls://[v6]:port", whose certificate is verified, and requests the facts of the server. `address`
 * may be several addresses with commas between them: then it connects to the primary
 * (sherwood-replicas.h). If `options` is NULL, it uses the defaults. The caller owns *out; on
 * failure it is NULL. */
SHERWOOD_MUST_CHECK int sherwood_connect(const char *address,
                                         const struct sherwood_options *options,
                                         struct sherwood **out);
/* Does the same. On failure it also writes a sentence to `text`, which may be NULL: what went
 * wrong, and what to do. */
SHERWOOD_MUST_CHECK int sherwood_connect_text(const char *address,
                                              const struct sherwood_options *options,
                                              struct sherwood **out, char *text, size_t text_bytes);

/* Closes the connections and frees the handle. Requests in flight are abandoned. May be NULL. */
void sherwood_close(struct sherwood *client);

/* Returns the facts of the server; they are valid until sherwood_close. */
const struct sherwood_server *sherwood_server(const struct sherwood *client);

/* Returns an error text about the last call that failed on this handle, valid until the next call
 * on the handle. The handle owns the text. */
const char *sherwood_error(const struct sherwood *client);

/* The operation that a request applies to each of its keys. */
enum sherwood_operation {
    SHERWOOD_GET = 1,         /* read */
    SHERWOOD_SET = 2,         /* insert or replace */
    SHERWOOD_SUM = 3,         /* insert, or add modulo 2^width */
    SHERWOOD_MIN = 4,         /* insert, or keep the smaller value */
    SHERWOOD_MAX = 5,         /* insert, or keep the larger value */
    SHERWOOD_SET_ABSENT = 6,  /* insert if absent */
    SHERWOOD_SET_PRESENT = 7, /* replace if present */
    SHERWOOD_INCREMENT = 8,   /* add; a key whose value would overflow keeps its value */
    SHERWOOD_DECREMENT = 9,   /* subtract; a key whose value would be negative keeps its value */
    SHERWOOD_DELETE = 10,     /* remove */
    SHERWOOD_OR = 64,  /* set the operand's bits; an absent key counts as 0, and is inserted */
    SHERWOOD_XOR = 65, /* toggle the operand's bits; an absent key counts as 0, and is inserted */
    SHERWOOD_AND = 66, /* keep only the operand's bits; an absent key stays absent */
    SHERWOOD_ANDNOT = 67, /* clear the operand's bits; an absent key stays absent */
    SHERWOOD_MUL = 73,  /* multiply a present key; one whose value would overflow keeps its value */
    SHERWOOD_CAS = 68,  /* if the value equals the operand's first value, store the second */
    SHERWOOD_PEEK = 11, /* cache: read; does not count as a use */
    SHERWOOD_FIND_OR_INSERT = 12, /* cache: insert if absent; otherwise read and count a use */
    SHERWOOD_SET_SCORE = 13,      /* cache: if present, record a use with the request's score */
    SHERWOOD_SET_VALUE = 14,      /* cache: replace if present; does not count as a use */
    SHERWOOD_ADD_F32 = 15,        /* insert, or add number by number: 32-bit floats */
    SHERWOOD_ADD_U32 = 16, /* insert, or add number by number: 32-bit integers, modulo 2^32 */
    SHERWOOD_ADD_U64 = 17, /* as ADD_U32, of u64 and i64; value_bytes is a multiple of 8 */
    SHERWOOD_ADD_PRESENT_F32 = 18, /* add if present */
    SHERWOOD_ADD_PRESENT_U32 = 19,
    SHERWOOD_ADD_PRESENT_U64 = 20,
    SHERWOOD_ADD_F16 = 21,  /* rows: as ADD_F32, each sum rounded to 16 bits, IEEE 754 */
    SHERWOOD_ADD_BF16 = 22, /* rows: as ADD_F16, in bfloat16: the high half of a 32-bit float */
    SHERWOOD_ADD_PRESENT_F16 = 23,
    SHERWOOD_ADD_PRESENT_BF16 = 24,
    SHERWOOD_EXPIRE = 25,         /* set the expiry time of a present key */
    SHERWOOD_EXPIRE_NONE = 26,    /* as EXPIRE, if the key has no expiry time */
    SHERWOOD_EXPIRE_SOME = 27,    /* as EXPIRE, if the key has an expiry time */
    SHERWOOD_EXPIRE_LATER = 28,   /* as EXPIRE, if the key has an earlier expiry time */
    SHERWOOD_EXPIRE_EARLIER = 29, /* as EXPIRE, if the key has a later expiry time or none */
    SHERWOOD_EXPIRE_SHORTEN = 30, /* as EXPIRE, if the key has a later expiry time */
    SHERWOOD_INCRBY = 77,         /* rows of strings: add an integer, a decimal text, as in redis */
    SHERWOOD_INCRBYFLOAT = 78,    /* rows of strings: add a decimal number; other values stay */
    SHERWOOD_APPEND = 79,         /* rows of strings: append; an absent key counts as empty */
    SHERWOOD_SETRANGE = 69,       /* rows: replace part; an absent key counts as zeros */
    SHERWOOD_INCREMENT_F32 = 80,  /* rows of f32: add; a number stays if its sum is not finite */
    SHERWOOD_INCREMENT_U64 = 81,  /* rows of u64: add; a number stays if its sum would overflow */
    SHERWOOD_DECREMENT_U64 = 82,  /* rows of u64: subtract if present; a smaller number stays */
    SHERWOOD_INCREMENT_I64 = 83,  /* rows of i64: add; a number stays if its sum would overflow */
    SHERWOOD_ADD_F64 = 84, /* rows: as ADD_F32, 64-bit floats; value_bytes is a multiple of 8 */
    SHERWOOD_ADD_PRESENT_F64 = 85,
    SHERWOOD_INCREMENT_F64 = 86, /* rows of f64: add; a number stays if its sum is not finite */
    SHERWOOD_GETRANGE = 70,      /* rows, also of a cache: read part of the value */
    SHERWOOD_PERSIST = 71,       /* remove the expiry time of a present key */
    SHERWOOD_TTL = 72, /* read the expiry time: 8 bytes; 0 if the key never expires or is absent */
    SHERWOOD_ASSIGN = 87 /* ids: return the key's id; an absent key gets a free one */
};

/* Blocking calls. The operations of a call take effect in order, also on repeated keys, and so do
 * calls that follow each other. `found` and `previous` may be NULL: the client declines them, and
 * the server neither makes nor sends them. (An older server sends the bitmap all the same; it is
 * dropped.) Without `found`, a value of 0 may be that of an absent key. */
SHERWOOD_MUST_CHECK int sherwood_get(struct sherwood *client, const void *keys, size_t count,
                                     void *values, uint64_t *found);
SHERWOOD_MUST_CHECK int sherwood_set(struct sherwood *client, const void *keys, const void *values,
                                     size_t count);
SHERWOOD_MUST_CHECK int sherwood_delete(struct sherwood *client, const void *keys, size_t count,
                                        uint64_t *found);
/* Carries out any operation. `values` are the operands, if the operation takes any. `previous`
 * receives each key's value before the operation (0 if it was absent), which for GET is the value.
 * If a call of several frames ends with SHERWOOD_E_FULL, each frame took effect as a whole or not
 * at all: those before the refused one did, and perhaps some that were in flight after it. */
SHERWOOD_MUST_CHECK int sherwood_run(struct sherwood *client, enum sherwood_operation operation,
                                     const void *keys, const void *values, size_t count,
                                     void *previous, uint64_t *found);

/* Arrays of scores and of evicted entries, for any operation on the keys of a cache, in addition to
 * those of sherwood_run. Begin with SHERWOOD_CACHE_INIT; one struct belongs to one call or request
 * at a time. The server neither makes nor sends an out array that is NULL. In a request with pieces
 * each of these arrays covers all pieces. */
struct sherwood_cache {
    size_t size; /* sizeof(struct sherwood_cache) */
    /* [count] or NULL: scores for uses of entries and for new entries. lfu and epoch-lfu: the
     * number of uses to count (NULL: 1 each). custom: the score itself (NULL: a new key gets 0, a
     * present key keeps its own). lru and epoch-lru make scores themselves: SHERWOOD_E_REQUEST. */
    const uint64_t *scores;
    uint64_t *scores_out;   /* out [count]: after the operation; 0: the key is absent then */
    uint64_t *not_admitted; /* out, a bitmap as `found`: the key was absent and was turned away,
                               because all entries that it might have replaced have higher scores */
    /* Out, room for `count` each: entries that were evicted, in no particular order. evicted_values
     * and evicted_scores need evicted_keys. */
    void *evicted_keys;
    void *evicted_values;
    uint64_t *evicted_scores;
    uint64_t evicted_count;      /* out: of the entries in these; 0 if they are NULL */
    uint64_t not_admitted_count; /* out, with or without the bitmap */
};
#define SHERWOOD_CACHE_INIT SHERWOOD_INIT_OF(sherwood_cache)
/* Does what sherwood_run does, with the arrays of `cache`, which may be NULL. */
SHERWOOD_MUST_CHECK int sherwood_run_cache(struct sherwood *client,
                                           enum sherwood_operation operation, const void *keys,
                                           const void *values, size_t count, void *previous,
                                           uint64_t *found, struct sherwood_cache *cache);

/* A segment of a request whose arrays are not contiguous. */
struct sherwood_piece {
    const void *keys;
    const void *values; /* operands, or NULL */
    void *previous;     /* out; may be NULL */
    uint32_t count;     /* of keys; not 0 */
};
#define SHERWOOD_PIECES_MAX 16

/* Flags of a request. */
enum sherwood_request_flag {
    /* The server sends the values, and the library drops them; `hits` is kept, and the bitmap if
     * there is `found`. This is for measuring and for warming up. */
    SHERWOOD_DISCARD = 1,
    /* sherwood_submit only queues the request. The next call that has to wait, or the next submit
     * without this flag, sends all queued requests together. */
    SHERWOOD_DELAY = 2,
    /* Keys and values do not change from now until the process ends, so that the kernel may send
     * their pages (of arrays of at least 64 KiB) without a copy. It may do so even after the reply,
     * or after the request failed or was abandoned: do not change, free or unmap this memory. */
    SHERWOOD_CONSTANT = 4,
    SHERWOOD_FOUND_BYTES = 8 /* `found` has a byte for each key: sherwood_read_found_bytes */
};

/* A request for sherwood_submit; many may be in flight. Begin with SHERWOOD_REQUEST_INIT. The
 * library borrows the struct, its pieces and the arrays until a waiting call has returned the
 * request, which happens once for each submitted request. Results are received straight into the
 * arrays; those of a request that failed are undefined. sherwood_close abandons all of them. */
struct sherwood_request {
    size_t size; /* sizeof(struct sherwood_request) */
    enum sherwood_operation operation;
    uint32_t count; /* of keys, at most frame_ops_max; with pieces: the sum of their counts */
    const void *keys;
    const void *values; /* operands, or NULL */
    void *previous;     /* out; NULL: declined */
    uint64_t *found;    /* out; NULL: declined */
    /* Instead of keys, values and previous, which are NULL then: up to SHERWOOD_PIECES_MAX
     * segments, which are one frame on the wire. If one has `previous`, the values of those without
     * it are dropped. */
    const struct sherwood_piece *pieces;
    uint32_t pieces_count;
    uint32_t flags; /* of enum sherwood_request_flag, or 0 */
    /* Out; valid once a waiting call has returned the request. */
    int status;
    uint64_t hits;      /* keys that were present before */
    uint64_t overflows; /* keys that kept their value in an INCREMENT or DECREMENT */
    void *user;         /* the caller's; the library never touches it */
    /* Private to the library. */
    uint64_t _id;
    int _state;
    struct sherwood_request *_next;
    /* Since 0.2. */
    struct sherwood_cache *cache; /* borrowed as the arrays are; or NULL */
    /* As in sherwood_add, .._get_range and .._set_range; otherwise 0. */
    float scale;
    enum sherwood_type operand_type;
    uint32_t range_offset, range_bytes;
    const struct sherwood_times *times; /* borrowed likewise, of the keys of all pieces; or NULL */
};
#define SHERWOOD_REQUEST_INIT SHERWOOD_INIT_OF(sherwood_request)

/* Queues a request and sends as much as the socket accepts; it never blocks. The calls that wait
 * send the rest. Returns SHERWOOD_E_BUSY if, and only if, requests_in_flight_max requests are in
 * flight. After an error the request is not queued. */
SHERWOOD_MUST_CHECK int sherwood_submit(struct sherwood *client, struct sherwood_request *request);
/* Blocks until the reply to the request is there, and returns the status of the request. */
SHERWOOD_MUST_CHECK int sherwood_wait(struct sherwood *client, struct sherwood_request *request);
/* Does the same, and waits at most `timeout_ms` milliseconds (0: it sends and receives only what is
 * possible at once; negative: no limit). If no reply has come by then, it returns
 * SHERWOOD_E_PENDING, and the request stays in flight. */
SHERWOOD_MUST_CHECK int sherwood_wait_for(struct sherwood *client, struct sherwood_request *request,
                                          int timeout_ms);
/* Blocks until the reply to any request is there, stores that request in *out, and returns its
 * status. If no request is in flight, *out is NULL, and it returns SHERWOOD_OK, or the code that
 * ended the connection. */
SHERWOOD_MUST_CHECK int sherwood_wait_any(struct sherwood *client, struct sherwood_request **out);
/* Does the same, and waits at most `timeout_ms` milliseconds. If no reply has come by then, *out is
 * NULL, and it returns SHERWOOD_E_PENDING. */
SHERWOOD_MUST_CHECK int sherwood_wait_any_for(struct sherwood *client,
                                              struct sherwood_request **out, int timeout_ms);

/* Returns a descriptor for poll, epoll or an event loop. It is readable (POLLIN) when a call that
 * waits has something to do. Replies that have been received already do not make it readable:
 * before sleeping on it, call sherwood_wait_any_for with a timeout of 0 until *out is NULL.
 * Timeouts are checked only by calls that wait. The first call creates the descriptor; the library
 * owns it, and sherwood_close closes it. Returns -1 if it cannot be created. */
SHERWOOD_MUST_CHECK int sherwood_descriptor(struct sherwood *client);

/* Returns the number of connections of the handle that are still usable. */
uint32_t sherwood_stripes(const struct sherwood *client);

/* Counters of the handle since connect. `size` is sizeof(struct sherwood_traffic). */
struct sherwood_traffic {
    uint64_t reads, writes, polls, options; /* system calls: receive, send, wait, socket options */
    uint64_t bytes_received, bytes_sent;
    uint64_t bytes_spliced; /* of those sent: as pages, without a copy */
    uint64_t ring_requests; /* requests through the ring, without a byte on the socket */
    uint64_t ring_bells;    /* times the server had to be woken for them */
};
void sherwood_traffic(const struct sherwood *client, struct sherwood_traffic *traffic, size_t size);

/* sherwood_ping waits for one reply of the server. sherwood_clear removes all keys. */
SHERWOOD_MUST_CHECK int sherwood_ping(struct sherwood *client);
SHERWOOD_MUST_CHECK int sherwood_clear(struct sherwood *client);
/* Gives the table this many slots, more or fewer than before, from 1 to its maximum. A table always
 * gets enough slots for its keys. A cache is the exception: it evicts keys that have no room.
 * `now`, which may be NULL, receives the number of slots that it has then. SHERWOOD_E_FULL means
 * that nothing was changed, because there was no memory for the old and the new table at once, or
 * too many keys would have met the probe cap. No byte is sent while the table is being moved, so a
 * large table may need more than request_timeout_ms: after SHERWOOD_E_TIMEOUT the resize may still
 * be carried out (sherwood_stats on a new connection tells). */
SHERWOOD_MUST_CHECK int sherwood_resize(struct sherwood *client, uint64_t capacity_slots,
                                        uint64_t *now);
/* Reads at most `capacity` entries from *cursor on. Begin with *cursor 0; the scan is complete when
 * *cursor is 0 again. Every entry that is present throughout is returned at least once. A cursor
 * belongs to the handle and the connection that returned it. After connecting again it is
 * SHERWOOD_E_INVALID: begin with 0 then. */
SHERWOOD_MUST_CHECK int sherwood_scan(struct sherwood *client, uint64_t *cursor, void *keys,
                                      void *values, uint32_t capacity, uint32_t *count);

/* Cache engine: entries with score_min <= score <= score_max. The scan does what sherwood_scan
 * does, for these entries only; `scores`, which may be NULL, receives their scores. `matched`,
 * which may be NULL, receives the number of entries that were counted or erased. */
SHERWOOD_MUST_CHECK int sherwood_scan_scores(struct sherwood *client, uint64_t *cursor,
                                             uint64_t score_min, uint64_t score_max, void *keys,
                                             void *values, uint64_t *scores, uint32_t capacity,
                                             uint32_t *count);
SHERWOOD_MUST_CHECK int sherwood_count_scores(struct sherwood *client, uint64_t score_min,
                                              uint64_t score_max, uint64_t *matched);
SHERWOOD_MUST_CHECK int sherwood_erase_scores(struct sherwood *client, uint64_t score_min,
                                              uint64_t score_max, uint64_t *matched);
/* Policies with epochs: advances the epoch to `epoch`, which must be below 2^32 and not before the
 * current one (otherwise SHERWOOD_E_REQUEST). 0 leaves it unchanged. `now`, which may be NULL,
 * receives the current epoch. */
SHERWOOD_MUST_CHECK int sherwood_epoch(struct sherwood *client, uint64_t epoch, uint64_t *now);

/* Waits until the writes whose replies this handle has received survive a crash of the server's
 * machine, for at most timeout_ms milliseconds (negative: without limit). With appendfsync everysec
 * and no, a loader calls it from time to time, instead of paying for a sync in each frame.
 * SHERWOOD_E_TIMEOUT: the writes are not durable yet. SHERWOOD_E_REQUEST: the server does not log
 * writes. */
SHERWOOD_MUST_CHECK int sherwood_wait_durable(struct sherwood *client, int timeout_ms);

/* Statistics. A field that the server does not send is 0. */
struct sherwood_operation_stats {
    uint64_t operations, probes, hits, misses;
};
struct sherwood_stats {
    struct sherwood_operation_stats get, upsert, remove;
    uint64_t inserted, updated, deleted, failures, refused;
    uint64_t occupied, capacity_slots, stash_occupied, batches, connections, uptime_seconds;
    uint64_t occupied_max;       /* the number of keys at which the table grows or refuses more */
    uint64_t max_capacity_slots; /* the largest number of slots it may grow to */
    uint64_t growths, resizes;   /* resizes by the table itself; on request */
    uint64_t resize_failures;    /* of both kinds: no memory, or too many keys at the probe cap */
    uint64_t table_bytes;
    uint64_t evicted;      /* keys that a cache removed to make room for others */
    uint64_t not_admitted; /* new keys that a cache did not admit: all others had a higher score */
};
/* Asks the server for its statistics. `size` is sizeof(struct sherwood_stats) as the program was
 * compiled: nothing is written beyond it; fields that this version does not know are set to 0. */
SHERWOOD_MUST_CHECK int sherwood_stats(struct sherwood *client, struct sherwood_stats *stats,
                                       size_t size);
/* Returns figure number i of all that the last sherwood_stats received, including those without a
 * field in the struct; false if there are no more. They are in the server's order. A name consists
 * of a-z, 0-9 and _, and is valid until the next sherwood_stats or sherwood_close. `name` and
 * `value` may be NULL. */
SHERWOOD_MUST_CHECK bool sherwood_figure(const struct sherwood *client, uint32_t i,
                                         const char **name, uint64_t *value);

#ifdef __cplusplus
}
#endif

#include "sherwood-regions.h" /* memory that is shared with a server */
#include "sherwood-times.h"   /* when keys expire */
#include "sherwood-words.h" /* sherwood_add, sherwood_cas and others that need no more than arrays */

#endif
