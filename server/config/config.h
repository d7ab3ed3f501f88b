/* SPDX-License-Identifier: MIT
 *
 * config.h - everything an operator can set, from defaults, a file and flags, in that order.
 *
 * option_rows.inl has one row for each option: its name, section of the file, type, bounds, default
 * and help. The fields below are where values go. After start the struct is constant, so every
 * thread may read it. The live options are the exception: threads read them by SW_LIVE (live.h).
 * Only the main thread calls sw_config_load, before it starts other threads.
 */
#ifndef SHERWOOD_SERVER_CONFIG_CONFIG_H
#define SHERWOOD_SERVER_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/key_form.h"
#include "proto/value_type.h"

#define SW_CONFIG_PATH_MAX 108 /* of a Unix socket: sizeof(sun_path), the NUL included */

#define SW_CONFIG_DIR_MAX 128
#define SW_CONFIG_FILE_MAX 160 /* of a certificate or a key */
#define SW_CONFIG_SAVE_MAX 128
#define SW_CONFIG_UNIX_USERS_MAX 160 /* SW_OPTION_VALUE_BYTES */

/* Values of appendfsync: when the server replies to a write, if there is a log. */
enum sw_config_sync { SW_CONFIG_ALWAYS, SW_CONFIG_EVERYSEC, SW_CONFIG_NO };

/* Where options come from. Borrowed from main's arguments, so it lives as long as the process. */
struct sw_config_origin {
    int argc;
    char **argv;
    const char *path; /* of the configuration file; NULL: there is none */
};

/* The value of an option that is "auto", until sw_config_fit derives a number. */
#define SW_CONFIG_AUTO UINT64_MAX

/* Bits of `derived`: options whose value was 0 or auto, and was replaced by a computed default. */
enum sw_config_derived {
    SW_DERIVED_LOOPS = 1,
    SW_DERIVED_ROUND_OPS = 2,
    SW_DERIVED_FRAME_OPS = 4,
    SW_DERIVED_ARGUMENTS = 8,
    SW_DERIVED_CAPACITY = 16,
    SW_DERIVED_MAX_CAPACITY = 32,
    SW_DERIVED_BATCH_BYTES = 64
};

/* The kind of address that the server reports to clients of a cluster. */
enum sw_config_endpoint { SW_CONFIG_ENDPOINT_IP, SW_CONFIG_ENDPOINT_HOSTNAME };
/* Whether the keys of a command may lie in several slots of the node. */
enum sw_config_multi_slot { SW_CONFIG_MULTI_SLOT_NO, SW_CONFIG_MULTI_SLOT_NODE };

/* Which TLS clients must send a certificate. */
enum sw_config_tls_clients {
    SW_CONFIG_TLS_CLIENTS_ANY,
    SW_CONFIG_TLS_CLIENTS_OPTIONAL,
    SW_CONFIG_TLS_CLIENTS_REQUIRED
};

struct sw_config {
    struct sw_config_origin origin;
    uint32_t derived; /* enum sw_config_derived */

    /* [server] */
    char bind[64];                        /* address of RESP and bulk frames; empty: no TCP */
    uint32_t port;                        /* 7379 */
    char unix_socket[SW_CONFIG_PATH_MAX]; /* empty: none */
    uint32_t unix_socket_mode;            /* octal, 0660 */
    uint64_t unix_buffer_bytes;           /* 1 MiB; 0: the kernel's default */
    uint64_t tcp_buffer_bytes;            /* 0: the kernel sizes them */
    uint32_t tls_port;                    /* of RESP and bulk frames over TLS; 0: none */
    uint32_t tls_only;                    /* 1: there is no port without TLS */
    uint32_t stop_with_stdin;             /* 1: the end of standard input stops the server */
    char tls_cert[SW_CONFIG_FILE_MAX];    /* PEM files; empty: none */
    char tls_key[SW_CONFIG_FILE_MAX];
    char tls_ca[SW_CONFIG_FILE_MAX];
    uint32_t tls_auth_clients;                 /* 0: no, 1: optional, 2: yes */
    uint32_t tls_user_from_cert;               /* 1: yes */
    uint32_t tls_min_version;                  /* 12 or 13 */
    uint32_t protected_mode;                   /* 1: yes */
    char unix_users[SW_CONFIG_UNIX_USERS_MAX]; /* uid:N=USER,..; empty: none */
    char requirepass_file[SW_CONFIG_FILE_MAX]; /* the password of `default`; empty: none */
    char acl_file[SW_CONFIG_FILE_MAX];         /* users; empty: none */
    char http_token_file[SW_CONFIG_FILE_MAX];  /* token of /metrics, /status.json; empty: none */
    char http_bind[64];                        /* empty: no HTTP */
    uint32_t http_port;                        /* 9379 */
    uint32_t http_tls;                         /* 1: HTTP is over TLS */
    uint32_t loops;                            /* I/O threads; 0: half the cores, at least 1 */
    uint32_t busy_poll_us;                     /* 0: loops sleep at once */
    uint32_t log_level;                        /* syslog priorities; 6: info */
    uint64_t slowlog_log_slower_than;          /* microseconds; the largest number: off */
    uint64_t slowlog_max_len;                  /* entries */
    uint64_t latency_monitor_threshold;        /* milliseconds; 0: off */
    uint32_t latency_tracking;                 /* 1: yes */
    char otlp_endpoint[SW_CONFIG_FILE_MAX];    /* http://host:port; empty: nothing is traced */
    char otlp_tls_ca[SW_CONFIG_FILE_MAX];      /* PEM file; empty: the system's roots */

    /* [table] */
    uint32_t backend;      /* enum sw_backend_kind */
    uint32_t device;       /* CUDA device ordinal */
    uint32_t engine;       /* enum sw_engine */
    uint32_t key_bits;     /* 32 or 64: width of keys, and of values except with the cache engine */
    uint64_t capacity;     /* slots; accepts K, M, G, T (binary); SW_CONFIG_AUTO is derived */
    uint64_t max_capacity; /* most slots; 0: capacity; SW_CONFIG_AUTO is derived */
    uint64_t slots_most;   /* no option: TABLE ALTER can raise max_capacity to this; 0: not */
    double max_load;       /* 0.85 */
    uint32_t max_probe;    /* 0: from max_load */
    uint64_t seed;         /* 0: random at start */
    uint32_t threads;      /* CPU backend, large batches; 0: all cores */
    uint64_t stash;        /* slots for entries that reach the probe cap */
    uint32_t hash_functions; /* cuckoo engine: 2 or 3 */
    uint32_t value_bytes;    /* size of a value. 0: integers in the robin_hood engine; 60, or 64 if
                                fixed, in the cache engine */
    uint32_t value_type;     /* robin_hood engine: enum sw_value_type */
    uint64_t rows_max;       /* robin_hood engine; 0: max_load times max_capacity */
    uint64_t ids;            /* limit of the ids of keys; 0: values are not ids */
    uint32_t rows_in;        /* robin_hood engine: enum sw_rows_in */
    uint64_t rows_gpu_bytes; /* robin_hood engine, rows_in gpu+host; 0: the table's choice */
    uint32_t value_format;   /* cache engine: enum sw_value_format, STRING or FIXED */
    uint32_t policy;         /* cache engine: enum sw_cache_policy */
    uint32_t cache_mode;     /* cache engine: enum sw_cache_mode */
    uint64_t memory_max;     /* host memory of the table; 0: no limit */
    uint64_t memory_min;     /* promised of tables_memory_max */
    uint32_t default_ttl;    /* robin_hood engine: seconds; 0: none */
    uint32_t resp_keys;      /* enum sw_resp_keys of proto/key_form.h */
    uint32_t resp_keys_change;    /* 1: yes */
    uint32_t resp_key_text_bytes; /* longest key string that rows store; 0: rows store no strings */

    /* [persistence] */
    char data_dir[SW_CONFIG_DIR_MAX];     /* of snapshots and the log; empty: none */
    char save[SW_CONFIG_SAVE_MAX];        /* pairs of seconds and changes: save_points.h */
    uint32_t snapshots_keep;              /* 2 */
    uint32_t stop_writes_on_bgsave_error; /* 1: yes */
    uint32_t appendonly;                  /* 1: yes */
    uint32_t appendfsync;                 /* enum sw_config_sync */
    uint32_t read_durable;                /* 1: yes */
    uint32_t aof_load_truncated;          /* 1: yes */
    uint64_t auto_aof_rewrite_percentage;
    uint64_t auto_aof_rewrite_min_size;
    uint64_t log_segment_bytes;
    uint64_t log_backlog_bytes;

    /* [cluster] */
    char cluster_config[512]; /* the topology: a file, or etcd://..; empty: no topology */
    char cluster_state[SW_CONFIG_FILE_MAX]; /* empty: cluster.json in data_dir */
    char cluster_node_id[48];               /* 40 hex digits; empty: the id in the state file */
    char cluster_announce_ip[64];           /* empty: what the topology says */
    char cluster_announce_hostname[SW_CONFIG_FILE_MAX];
    uint32_t cluster_announce_port;           /* 0: what the topology says */
    uint32_t cluster_preferred_endpoint_type; /* enum sw_config_endpoint */
    uint32_t cluster_require_full_coverage;   /* 1: yes */
    uint32_t cluster_multi_slot;              /* enum sw_config_multi_slot */
    char debug_fault[64];                     /* empty: none */

    /* [replication] */
    char replicaof[SW_CONFIG_DIR_MAX]; /* address of the primary; empty: no primary */
    uint32_t tls_replication;          /* 1: replicas connect by TLS */
    char ha[512];                      /* the shard in etcd; empty: no shard */
    uint64_t ha_discarded_max;
    char ha_tls_ca[SW_CONFIG_FILE_MAX]; /* of etcd */
    char ha_tls_cert[SW_CONFIG_FILE_MAX];
    char ha_tls_key[SW_CONFIG_FILE_MAX];
    char primary_user[64];                          /* empty: default */
    char primary_password_file[SW_CONFIG_FILE_MAX]; /* empty: no login */
    uint64_t repl_backlog_bytes;                    /* 64 MiB */
    uint64_t repl_timeout;                          /* seconds, 60 */
    uint64_t repl_snapshot_timeout;                 /* seconds, 3600 */
    uint32_t replicas_max;                          /* 16 */

    /* [limits] */
    uint32_t connections_max;              /* 10000; see sw_config_connections */
    uint32_t connections_before_login_max; /* 1000 */
    uint32_t monitors_max;                 /* 8 */
    uint32_t login_timeout_ms;             /* 10000; 0: none */
    uint64_t arena_bytes;                  /* I/O memory of a loop, for frames in flight, 256 MiB */
    uint32_t resp_batches_max;             /* memory of a loop is for this many RESP batches, 8 */
    uint64_t resp_batch_bytes;             /* memory of a loop for RESP batches. 0: sw_config_fit
                                              derives a default */
    uint32_t round_ops_max; /* RESP operations in one batch of a loop. 0 here, in frame_ops_max or
                               in resp_arguments_max: sw_config_fit derives a default */
    uint32_t frame_ops_max; /* keys in a bulk frame */
    uint32_t frames_in_flight_max;     /* of a connection, 64 */
    uint64_t output_bytes_max;         /* unsent RESP replies of a connection before it is closed,
                                          64 MiB */
    uint64_t output_bytes_pause;       /* unsent replies at which its input is paused, 1 MiB */
    uint32_t resp_arguments_max;       /* of a command */
    uint64_t resp_request_bytes_max;   /* of a command, 4 MiB */
    uint64_t input_bytes_max;          /* of all connections, in incomplete requests, 256 MiB */
    uint32_t tables_max;               /* 64, the default table included */
    uint64_t tables_memory_max;        /* memory of all tables; 0: no limit */
    uint64_t tables_host_memory_max;   /* of rows and values of tables in GPU memory; 0: no limit */
    uint32_t metrics_tables_max;       /* 64: tables with series of their own */
    uint32_t databases;                /* 1: tables with the numbers 0 to databases - 1 */
    uint32_t watched_keys_max;         /* by WATCH, of all connections, 64 Ki */
    uint32_t rings_max;                /* connections with a ring, 64 */
    uint32_t ring_entries_max;         /* 1024 */
    uint32_t regions_max;              /* of a connection, 64 */
    uint64_t region_bytes_max;         /* of all connections, in host memory, 16 GiB */
    uint64_t device_region_bytes_max;  /* in memory of the GPU, 16 GiB */
    uint32_t direct_readers_max;       /* 0: no client reads the table itself */
    uint32_t device_region_users;      /* SW_DEVICE_REGIONS_OWN or .._ANY */
    uint32_t request_timeout_ms;       /* from a request's first byte to its last, 30000; 0: none */
    uint32_t tls_handshake_timeout_ms; /* from the connection to the end of the handshake, 10000 */
    uint32_t write_timeout_ms; /* in which the peer reads no byte of its replies, 60000; 0: none */
    uint32_t idle_timeout_ms;  /* without a request, 0: none */
    uint32_t http_connections_max;   /* 64 */
    uint32_t http_timeout_ms;        /* of a request and its reply as a whole, 10000 */
    uint64_t http_request_bytes_max; /* memory of an HTTP connection, 16 KiB */
    uint32_t otlp_spans_max;         /* spans that wait for their export, 4096 */

    /* Not options: numbers of connections that the limit of open files allows (fd_limit.h).
     * Constant once the server runs. 0: the options set the number. */
    uint32_t connections_fit;
    uint32_t http_connections_fit;
};

/* Returns the number of connections served at once: connections-max, or connections_fit if that is
 * lower. Threads: any. */
static inline uint32_t sw_config_connections(const struct sw_config *config)
{
    const uint32_t most = __atomic_load_n(&config->connections_max, __ATOMIC_RELAXED);
    const uint32_t fit = config->connections_fit;
    return fit != 0 && fit < most ? fit : most;
}

/* Returns the same number for HTTP connections. */
static inline uint32_t sw_config_http_connections(const struct sw_config *config)
{
    const uint32_t fit = config->http_connections_fit;
    return fit != 0 ? fit : config->http_connections_max;
}

/* Whose GPU memory the server maps. OWN: that of processes of its own user and of root. ANY: that
 * of all clients. */
enum sw_device_regions { SW_DEVICE_REGIONS_OWN, SW_DEVICE_REGIONS_ANY };

/* How clients see a value of the table. */
enum sw_value_format {
    SW_VALUE_INTEGER, /* unsigned integers of the keys' width */
    SW_VALUE_STRING,  /* a length of SW_VALUE_LENGTH_BYTES, little-endian, then the bytes, then
                         zeros */
    SW_VALUE_FIXED    /* bytes: always the full size of a value of the table */
};
#define SW_VALUE_LENGTH_BYTES 4U
#define SW_VALUE_BYTES_MAX 4096U /* of a value in the table (table.h), its length included */

enum sw_config_action {
    SW_CONFIG_RUN,   /* start the daemon */
    SW_CONFIG_CHECK, /* --check-config: also check files and folders, then print options */
    SW_CONFIG_EXIT,  /* --help, --version: done, exit 0 */
    SW_CONFIG_ERROR  /* an error was written to stderr; exit 2 */
};

void sw_config_init(struct sw_config *config);

/* Returns true if this server is a node of a cluster. */
static inline bool sw_config_in_cluster(const struct sw_config *config)
{
    return config->cluster_config[0] != '\0' || config->cluster_state[0] != '\0';
}

/* Returns true if the topology of the cluster is in etcd. */
static inline bool sw_config_shares_topology(const struct sw_config *config)
{
    return strncmp(config->cluster_config, "etcd://", 7) == 0 ||
           strncmp(config->cluster_config, "etcds://", 8) == 0;
}

/* Applies the defaults, then the file named by --config (if any), then the flags. Writes help to
 * stdout and errors to stderr. Options that contradict each other are an error. */
enum sw_config_action sw_config_load(struct sw_config *config, int argc, char **argv);

/* Fills `table` from the options. A seed of 0 stays 0; the caller draws one before it creates the
 * table. */
struct sw_table_config;
void sw_config_table(const struct sw_config *config, struct sw_table_config *table);

/* Return the format of values, and the bytes of a value in the table and in bulk frames. */
enum sw_value_format sw_config_value_format(const struct sw_config *config);
uint32_t sw_config_stored_bytes(const struct sw_config *config);
/* Returns the bytes at the end of a stored value that hold the key string and its length of 2
 * bytes; 0: none. */
uint32_t sw_config_text_bytes(const struct sw_config *config);
/* sw_config_has_rows returns true if values are rows; sw_config_is_set, if keys have no values;
 * sw_config_numbers_slots, if the table is a cache of ids. sw_config_dimension returns how many
 * numbers a row has: 1 for bytes and strings. */
bool sw_config_has_rows(const struct sw_config *config);
bool sw_config_numbers_slots(const struct sw_config *config);
bool sw_config_is_set(const struct sw_config *config);
uint32_t sw_config_dimension(const struct sw_config *config);
/* Returns the type of values of the formats STRING and FIXED: enum sw_value_type. */
uint32_t sw_config_value_type(const struct sw_config *config);

/* Returns `loops`. For 0: half of the processors that the process may use, 1 to SW_LOOPS_MAX. */
uint32_t sw_config_loops(const struct sw_config *config);

/* Returns the eviction policy as a name of redis' maxmemory-policy. */
const char *sw_config_redis_policy(const struct sw_config *config);

/* Returns true if the table may grow, and at max-capacity would be larger than the memory of this
 * machine; in host memory it can then not grow that far. *bytes receives the size of the table at
 * max-capacity (0 if it may not grow), *installed the memory of the machine (0 if unknown). */
bool sw_config_outgrows_memory(const struct sw_config *config, uint64_t *bytes,
                               uint64_t *installed);

/* Sets *name and `value` to the name and the value, as text, of the option with this index. For
 * CONFIG GET. Returns false if `index` is past the last option. *name is constant. */
bool sw_config_get(const struct sw_config *config, size_t index, const char **name, char *value,
                   size_t value_bytes);

#endif
