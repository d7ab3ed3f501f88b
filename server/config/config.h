/* SPDX-License-Identifier: MIT
 *
 * config.h - everything an operator can set, from defaults, a file and flags, in that order.
 *
 * options.c holds one table with a row an option: name, section of the file, type, bounds,
 * help. The flag is --name, the key in the file is name; --help, --check-config and the man page's
 * list come from that table. Constant after start.
 */
#ifndef SHERWOOD_SERVER_CONFIG_CONFIG_H
#define SHERWOOD_SERVER_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_CONFIG_PATH_MAX 108 /* of a Unix socket: sizeof(sun_path), the NUL included */

struct sw_config {
    /* [server] */
    char bind[64];                        /* address of RESP and bulk frames; empty: no TCP */
    uint32_t port;                        /* 7379 */
    char unix_socket[SW_CONFIG_PATH_MAX]; /* empty: none */
    uint32_t unix_socket_mode;            /* octal, 0660 */
    uint64_t unix_buffer_bytes;           /* 1 MiB; 0: the kernel's default */
    uint64_t tcp_buffer_bytes;            /* 0: the kernel sizes them */
    char http_bind[64];                   /* empty: no HTTP */
    uint32_t http_port;                   /* 9379 */
    uint32_t loops;                       /* I/O threads; 0: half the cores, at least 1 */
    uint32_t busy_poll_us;                /* 0: loops sleep at once */
    uint32_t log_level;                   /* syslog priorities; 6: info */

    /* [table] */
    uint32_t backend;        /* enum sw_backend_kind */
    uint32_t device;         /* CUDA device ordinal */
    uint32_t engine;         /* enum sw_engine */
    uint32_t key_bits;       /* 32 or 64: keys, and values but of the cache engine */
    uint64_t capacity;       /* slots; accepts K, M, G, T (binary) */
    uint64_t max_capacity;   /* slots it may grow to; 0: no more than capacity */
    double max_load;         /* 0.85 */
    uint32_t max_probe;      /* 0: from max_load */
    uint64_t seed;           /* 0: random at start */
    uint32_t threads;        /* CPU backend, large batches; 0: all cores */
    uint64_t stash;          /* slots for entries that meet the probe cap */
    uint32_t hash_functions; /* cuckoo engine: 2 or 3 */
    uint32_t value_bytes;    /* cache engine: what a value may hold; 0: 60, or 64 if fixed */
    uint32_t value_format;   /* cache engine: enum sw_value_format, STRING or FIXED */
    uint32_t policy;         /* cache engine: enum sw_cache_policy */
    uint32_t cache_mode;     /* cache engine: enum sw_cache_mode */

    /* [limits] */
    uint32_t connections_max;        /* 10000 */
    uint64_t arena_bytes;            /* I/O memory of a loop, 256 MiB; size of frames in flight */
    uint32_t round_ops_max;          /* RESP operations a loop gathers for one batch; 0, as the two
                                        like it: what fits, until sw_config_load knows how many */
    uint32_t frame_ops_max;          /* keys in a bulk frame */
    uint32_t frames_in_flight_max;   /* of a connection, 64 */
    uint64_t output_bytes_max;       /* unsent RESP answers of a connection before it is closed,
                                        64 MiB */
    uint64_t output_bytes_pause;     /* unsent answers at which its input is paused, 1 MiB */
    uint32_t resp_arguments_max;     /* of a command */
    uint64_t resp_request_bytes_max; /* of a command, 4 MiB */
    uint64_t input_bytes_max;        /* of all connections, in incomplete requests, 256 MiB */
    uint32_t request_timeout_ms;     /* from a request's first byte to its last, 30000; 0: none */
    uint32_t write_timeout_ms; /* without the peer taking a byte of its answers, 60000; 0: none */
    uint32_t idle_timeout_ms;  /* without a request, 0: none */
    uint32_t http_connections_max;   /* 64 */
    uint32_t http_timeout_ms;        /* of a request and its reply as a whole, 10000 */
    uint64_t http_request_bytes_max; /* memory of an HTTP connection, 16 KiB */
};

/* What the table's values are to clients. */
enum sw_value_format {
    SW_VALUE_INTEGER, /* unsigned integers of the keys' width */
    SW_VALUE_STRING,  /* a length of SW_VALUE_LENGTH_BYTES, little-endian, then as many bytes, then
                         zeros */
    SW_VALUE_FIXED    /* bytes, always as many as fit */
};
#define SW_VALUE_LENGTH_BYTES 4U
#define SW_VALUE_BYTES_MAX 1024U /* of a value in the table (table.h), its length included */

enum sw_config_action {
    SW_CONFIG_RUN,  /* start the daemon */
    SW_CONFIG_EXIT, /* --help, --version, --check-config: done, exit 0 */
    SW_CONFIG_ERROR /* a sentence on stderr was written; exit 2 */
};

void sw_config_init(struct sw_config *config);

/* Defaults, then the file named by --config (if any), then flags. Writes help and errors to stdout
 * and stderr. Contradictions between options are errors here. */
enum sw_config_action sw_config_load(struct sw_config *config, int argc, char **argv);

/* What the table is to be created with. `seed` 0 stays 0: whoever creates the table draws one. */
struct sw_table_config;
void sw_config_table(const struct sw_config *config, struct sw_table_config *table);

/* What values are, and the bytes of one in the table and in bulk frames (engine.c). */
enum sw_value_format sw_config_value_format(const struct sw_config *config);
uint32_t sw_config_stored_bytes(const struct sw_config *config);

/* What leaves when there is no room, as redis's maxmemory-policy calls it. */
const char *sw_config_redis_policy(const struct sw_config *config);

/* True if the table may grow at all, and at max-capacity would be larger than this machine's
 * memory: then one in host memory cannot grow so far. `bytes` receives how large, or 0 if it may
 * not grow; `installed` the machine's memory. */
bool sw_config_outgrows_memory(const struct sw_config *config, uint64_t *bytes,
                               uint64_t *installed);

/* The value of option `name` as text, for CONFIG GET; false if there is none. `index` enumerates:
 * returns false past the last. */
bool sw_config_get(const struct sw_config *config, size_t index, const char **name, char *value,
                   size_t value_bytes);

#endif
