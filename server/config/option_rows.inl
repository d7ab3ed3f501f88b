/* SPDX-License-Identifier: MIT
 *
 * option_rows.inl - the options: one row each, in the order in which they are shown. options.h
 * makes an enum of the rows, options.c the table. A row is
 *
 *   SW_OPTION(field of struct sw_config, "name", "section of the file", engines that have it,
 *             type and bounds, "default", "METAVAR", "help: sentences without the default")
 *
 * The value of a row SW_LIVE_OPTION may change while the server runs, by SIGHUP or CONFIG SET.
 * Threads read its field by SW_LIVE (live.h), or server/reload.c applies it. Others are constant.
 *
 * Rows of a section stand together. After a change run `make docs`.
 */
#ifndef SW_LIVE_OPTION
#define SW_LIVE_OPTION SW_OPTION
#endif
/* [server] */
SW_OPTION(bind, "bind", "server", SW_ANY, SW_ADDRESS(), "127.0.0.1", "ADDRESS",
          "Listen on this address for RESP and bulk-frame clients (IPv4 or IPv6). Empty: no TCP "
          "port. While the user default has no password, every client that can reach the "
          "address has its rights: see protected-mode, requirepass-file and acl-file.")
SW_OPTION(port, "port", "server", SW_ANY, SW_NUMBER(0, 65535), "7379", "PORT",
          "Port for RESP and bulk frames; the first byte tells them apart. 0: the kernel picks a "
          "free one, shown in the start line.")
SW_OPTION(unix_socket, "unix-socket", "server", SW_ANY, SW_TEXT(), "", "PATH",
          "Unix socket for RESP and bulk frames, at most 107 bytes. Empty: none.")
SW_OPTION(unix_socket_mode, "unix-socket-mode", "server", SW_ANY, SW_OCTAL(0, 0777), "0660", "MODE",
          "Permissions of the Unix socket, octal.")
SW_LIVE_OPTION(unix_buffer_bytes, "unix-buffer-bytes", "server", SW_ANY, SW_SIZE(0, SW_G), "1M",
               "BYTES",
               "Set the send buffer of each Unix-socket connection. A larger buffer sends a bulk "
               "reply in fewer pieces. The kernel limits it to net.core.wmem_max. 0: the kernel's "
               "default.")
SW_LIVE_OPTION(
    tcp_buffer_bytes, "tcp-buffer-bytes", "server", SW_ANY, SW_SIZE(0, SW_G), "0", "BYTES",
    "Send and receive buffer of a TCP connection, at most net.core.wmem_max and rmem_max. 0: "
    "the kernel sizes them as it goes.")
SW_OPTION(tls_port, "tls-port", "server", SW_ANY, SW_NUMBER(0, 65535), "0", "PORT",
          "Accept RESP and bulk frames over TLS on this port of bind. Requires tls-cert and "
          "tls-key. 0: no TLS port.")
SW_OPTION(tls_only, "tls-only", "server", SW_ANY, SW_CHOICE(switches), "no", "yes|no",
          "Do not open port: accept TCP clients on tls-port only. Unix sockets are not "
          "affected; for HTTP see http-tls.")
SW_OPTION(tls_cert, "tls-cert", "server", SW_ANY, SW_TEXT(), "", "PATH",
          "Read the certificate chain of the server from this PEM file: its own certificate "
          "first, then the intermediate ones. SIGHUP reads tls-cert, tls-key and tls-ca again; "
          "new connections use them, open connections keep the old ones.")
SW_OPTION(tls_key, "tls-key", "server", SW_ANY, SW_TEXT(), "", "PATH",
          "Read the private key of tls-cert from this PEM file, which must not be encrypted. A "
          "P-256 key costs a tenth of the processor time of an RSA key per handshake. A "
          "relative path of tls-cert, tls-key or tls-ca is looked up in $CREDENTIALS_DIRECTORY "
          "first (LoadCredential= of systemd).")
SW_OPTION(tls_ca, "tls-ca", "server", SW_ANY, SW_TEXT(), "", "PATH",
          "Roots of the certificates of clients: a PEM file, or a folder made by openssl rehash.")
SW_OPTION(tls_auth_clients, "tls-auth-clients", "server", SW_ANY, SW_CHOICE(tls_clients), "no",
          "no|optional|yes",
          "Ask TLS clients for a certificate. no: never. optional: a client may send none, but "
          "one that it sends must be signed by tls-ca. yes: refuse clients without a "
          "certificate signed by tls-ca.")
SW_OPTION(tls_user_from_cert, "tls-user-from-cert", "server", SW_ANY, SW_CHOICE(switches), "no",
          "yes|no",
          "Log a TLS client in, without a password, as the user named in its certificate (CN of "
          "the subject). If there is no such user, the connection starts like any other. "
          "Requires tls-auth-clients.")
SW_OPTION(tls_min_version, "tls-min-version", "server", SW_ANY, SW_CHOICE(tls_versions), "1.2",
          "1.2|1.3", "Oldest version of TLS that the server accepts.")
SW_LIVE_OPTION(protected_mode, "protected-mode", "server", SW_ANY, SW_CHOICE(switches), "yes",
               "yes|no",
               "While the user default has no password, accept only loopback addresses and Unix "
               "sockets, whatever bind is.")
SW_OPTION(unix_users, "unix-users", "server", SW_ANY, SW_TEXT(), "", "uid:N=USER,...",
          "Log in the peer of a Unix socket, without a password, as the user given for its user "
          "id. Other peers start as they do over TCP.")
SW_OPTION(requirepass_file, "requirepass-file", "server", SW_ANY, SW_TEXT(), "", "FILE",
          "Read the password of the user default from the first line of this file. The path has "
          "at most 127 bytes, and the file must not be readable by everybody. A relative path "
          "is looked up in $CREDENTIALS_DIRECTORY first (LoadCredential= of systemd). Empty: no "
          "password.")
SW_OPTION(acl_file, "acl-file", "server", SW_ANY, SW_TEXT(), "", "FILE",
          "File of users, one per line, as redis writes them; found as requirepass-file is. ACL "
          "LOAD reads it again, ACL SAVE writes it. Empty: no file.")
SW_OPTION(http_token_file, "http-token-file", "server", SW_ANY, SW_TEXT(), "", "FILE",
          "File whose first line /metrics and /status.json ask for as a bearer token; found as "
          "requirepass-file is. /healthz and /readyz stay open. Empty: none.")
SW_OPTION(stop_with_stdin, "stop-with-stdin", "server", SW_ANY, SW_CHOICE(switches), "no", "yes|no",
          "Stop, as SIGTERM does, when standard input ends. A program that starts the server as "
          "its child gives it a pipe: the server stops when the program closes the pipe or dies.")
SW_OPTION(http_bind, "http-bind", "server", SW_ANY, SW_ADDRESS(), "127.0.0.1", "ADDRESS",
          "Address of the status page, /metrics, /healthz and /readyz. Empty: no HTTP.")
SW_OPTION(
    http_port, "http-port", "server", SW_ANY, SW_NUMBER(0, 65535), "9379", "PORT",
    "Port of the status page, /metrics, /healthz and /readyz. 0: the kernel picks a free one, "
    "shown in the start line.")
SW_OPTION(http_tls, "http-tls", "server", SW_ANY, SW_CHOICE(switches), "no", "yes|no",
          "Serve only TLS on http-port, with tls-cert, tls-key, tls-min-version, tls-ca and "
          "tls-auth-clients. If that is yes, requests for /healthz need a client certificate as "
          "well.")
SW_OPTION(loops, "loops", "server", SW_ANY, SW_NUMBER(0, 256), "0", "N",
          "I/O threads. 0: half the cores, at least one.")
SW_LIVE_OPTION(busy_poll_us, "busy-poll-us", "server", SW_ANY, SW_NUMBER(0, 1000000), "0", "US",
               "Let an I/O thread poll for this long after an event before it sleeps, in "
               "microseconds. Saves the wake-up time if processors are free; costs up to this much "
               "processor time per event. 0: sleep as soon as nothing is in flight.")
SW_LIVE_OPTION(log_level, "log-level", "server", SW_ANY, SW_CHOICE(levels), "info", "LEVEL",
               "Least urgent messages to log: error, warning, notice, info or debug.")

SW_LIVE_OPTION(
    slowlog_log_slower_than, "slowlog-log-slower-than", "server", SW_ANY,
    SW_OR_OFF(0, UINT64_MAX / 2), "10000", "US",
    "Record commands and bulk frames in SLOWLOG that take at least this long from the "
    "complete request to its reply, in microseconds. Only the 16 oldest commands of a slow "
    "batch are recorded. 0: record all. -1: record none.")
SW_LIVE_OPTION(slowlog_max_len, "slowlog-max-len", "server", SW_ANY, SW_NUMBER(0, 10000), "128",
               "N", "Entries of SLOWLOG, of at most 6 KiB each; the oldest go first.")
SW_LIVE_OPTION(
    latency_monitor_threshold, "latency-monitor-threshold", "server", SW_ANY,
    SW_NUMBER(0, SW_DAY_MS), "0", "MS",
    "Record events that take at least this many milliseconds for LATENCY LATEST, HISTORY "
    "and DOCTOR. 0: record none.")
SW_LIVE_OPTION(latency_tracking, "latency-tracking", "server", SW_ANY, SW_CHOICE(switches), "yes",
               "yes|no", "Count how long RESP commands took, for LATENCY HISTOGRAM.")
SW_OPTION(otlp_endpoint, "otlp-endpoint", "server", SW_ANY, SW_TEXT(), "", "URL",
          "Export a span of each bulk frame with a sampled trace context to this OpenTelemetry "
          "receiver, by OTLP/HTTP in JSON: http://host:port or https://host:port, to which the "
          "server adds /v1/traces. Empty: export none.")
SW_OPTION(otlp_tls_ca, "otlp-tls-ca", "server", SW_ANY, SW_TEXT(), "", "FILE",
          "Accept only certificates of otlp-endpoint that are signed by a root in this PEM file. "
          "Empty: the system's roots. Requires an otlp-endpoint of https.")

/* [table] */
#include "server/config/table_option_rows.inl"
/* [persistence] */
SW_OPTION(data_dir, "data-dir", "persistence", SW_ANY, SW_TEXT(), "", "PATH",
          "Directory of snapshots and the log, at most 127 bytes. A start loads the newest "
          "snapshot; SAVE, BGSAVE, --save and a stop without a log write one (see appendonly). "
          "One server at a time uses a directory. Empty: the table lives in memory and nothing "
          "is saved.")
SW_LIVE_OPTION(
    save, "save", "persistence", SW_ANY, SW_TEXT(), "", "PAIRS",
    "Write a snapshot if at least CHANGES keys have changed and SECONDS have passed since "
    "the last one. PAIRS is up to eight pairs of SECONDS and CHANGES, as in \"3600 1 300 "
    "100\". A new expiry time and an expired entry are changes. Empty: no automatic "
    "snapshots. Requires data-dir.")
SW_LIVE_OPTION(
    snapshots_keep, "snapshots-keep", "persistence", SW_ANY, SW_NUMBER(1, 1000), "2", "N",
    "Snapshots that stay in data-dir; older ones are removed once a new one is safe. If the "
    "newest is damaged, the one before it is loaded.")
SW_LIVE_OPTION(stop_writes_on_bgsave_error, "stop-writes-on-bgsave-error", "persistence", SW_ANY,
               SW_CHOICE(switches), "yes", "yes|no",
               "Refuse writes while save is set and the last snapshot failed.")
SW_OPTION(appendonly, "appendonly", "persistence", SW_ANY, SW_CHOICE(switches), "no", "yes|no",
          "Write every change to a log in data-dir, and reply to a write when the log has it: "
          "see appendfsync. Not with the cache engine. An existing log is loaded even if this "
          "is no.")
SW_OPTION(appendfsync, "appendfsync", "persistence", SW_ANY, SW_CHOICE(syncs), "everysec", "WHEN",
          "Choose when the server replies to a write. always: it is on stable storage, and "
          "survives a loss of power. everysec: the kernel has it, so it survives the end of the "
          "server; writes that a loss of power takes were acknowledged within one second. no: "
          "the kernel has it.")
SW_OPTION(read_durable, "read-durable", "persistence", SW_ANY, SW_CHOICE(switches), "no", "yes|no",
          "Delay each read until the writes that it may show are on stable storage. Requires "
          "appendfsync always. no: a read may show a write that a loss of power undoes.")
SW_OPTION(aof_load_truncated, "aof-load-truncated", "persistence", SW_ANY, SW_CHOICE(switches),
          "yes", "yes|no",
          "Start if the log ends in a record that a crash has cut and that the server cannot "
          "have acknowledged. no: refuse to start. Damage before the end is always refused.")
SW_LIVE_OPTION(
    auto_aof_rewrite_percentage, "auto-aof-rewrite-percentage", "persistence", SW_ANY,
    SW_NUMBER(0, 1000000), "100", "PERCENT",
    "Write a snapshot when the log since the last snapshot is at least this large, in "
    "percent of that snapshot's file, and at least auto-aof-rewrite-min-size. This limits "
    "the size of the log. 0: never.")
SW_LIVE_OPTION(
    auto_aof_rewrite_min_size, "auto-aof-rewrite-min-size", "persistence", SW_ANY, SW_SIZE(0, SW_T),
    "1G", "BYTES",
    "Ignore auto-aof-rewrite-percentage while the log since the last snapshot is smaller "
    "than this.")
SW_OPTION(
    log_segment_bytes, "log-segment-bytes", "persistence", SW_ANY, SW_SIZE(SW_M, 4 * SW_G), "256M",
    "BYTES",
    "Size of a file of the log; larger if the longest request needs it. The next one is made, "
    "filled with zeros, while this one is written.")
SW_OPTION(log_backlog_bytes, "log-backlog-bytes", "persistence", SW_ANY, SW_SIZE(SW_M, 16 * SW_G),
          "64M", "BYTES",
          "Delay writes while at least this many bytes of changes wait to be written to the "
          "log.")

/* [cluster] */
SW_OPTION(cluster_config, "cluster-config", "cluster", SW_ANY, SW_TEXT(), "", "FILE",
          "Be a node of the cluster whose topology is in this JSON file (name of at most 511 "
          "bytes): nodes, their addresses, and the slots of each shard; see CLUSTER in "
          "sherwoodd(8). SIGHUP reads it again; a topology with a higher epoch replaces the "
          "present one. etcd://host:port,../prefix: watch the topology in the key "
          "prefix/topology of etcd, whose revision is the epoch; etcds:// uses TLS with "
          "ha-tls-ca, ha-tls-cert and ha-tls-key. Empty: no file.")
SW_OPTION(cluster_state, "cluster-state", "cluster", SW_ANY, SW_TEXT(), "", "FILE",
          "Be a node of a cluster, and keep its id and the topology of the highest epoch in this "
          "file. Empty: with cluster-config cluster.json in data-dir, if there is one.")
SW_OPTION(cluster_node_id, "cluster-node-id", "cluster", SW_ANY, SW_TEXT(), "", "HEX",
          "Id of this node in the topology: 40 hex digits in lower case. Empty: the id in the "
          "state file, or a random id that the server stores there.")
SW_OPTION(cluster_announce_ip, "cluster-announce-ip", "cluster", SW_ANY, SW_TEXT(), "", "ADDRESS",
          "Address of this node as its clients see it. Clients get the address in the topology; "
          "the log warns if the two differ. Empty: whatever the topology has.")
SW_OPTION(cluster_announce_hostname, "cluster-announce-hostname", "cluster", SW_ANY, SW_TEXT(), "",
          "NAME", "The name of this node as its clients know it; as cluster-announce-ip.")
SW_OPTION(cluster_announce_port, "cluster-announce-port", "cluster", SW_ANY, SW_NUMBER(0, 65535),
          "0", "PORT",
          "The port of this node as its clients see it; as cluster-announce-ip. 0: any.")
SW_OPTION(cluster_preferred_endpoint_type, "cluster-preferred-endpoint-type", "cluster", SW_ANY,
          SW_CHOICE(endpoint_types), "ip", "ip|hostname",
          "Choose what clients get as the endpoint of a node: its address, or its hostname if "
          "it has one.")
SW_OPTION(cluster_require_full_coverage, "cluster-require-full-coverage", "cluster", SW_ANY,
          SW_CHOICE(switches), "no", "yes|no", "Refuse all keys while any slot has no owner.")
SW_OPTION(cluster_multi_slot, "cluster-multi-slot", "cluster", SW_ANY, SW_CHOICE(multi_slots), "no",
          "no|node",
          "no: the keys of a command or transaction must lie in one slot, as in redis. node: "
          "they may lie in any slots of this node.")
SW_OPTION(debug_fault, "debug-fault", "cluster", SW_ANY, SW_TEXT(), "", "POINT",
          "For tests of moving slots: kill the server when it reaches this point, such as "
          "move.source.frozen. Empty: never.")

/* [replication] */
SW_OPTION(replicaof, "replicaof", "replication", SW_ANY, SW_TEXT(), "", "PRIMARY",
          "Be a replica of this server: \"host port\", host:port or unix:/path, at most 127 "
          "bytes. A replica copies its primary, follows its writes, serves reads and refuses "
          "writes. REPLICAOF changes the role, REPLICAOF NO ONE ends it; with data-dir the next "
          "start keeps that role, unless this option has another value by then. Widths and "
          "value types must be those of the primary. Not with the cache engine. Empty: this "
          "server is a primary.")
SW_OPTION(tls_replication, "tls-replication", "replication", SW_ANY, SW_CHOICE(switches), "no",
          "yes|no",
          "Connect to the primary by TLS: the port is its tls-port, and its certificate must "
          "have the host of replicaof as a name and be signed by tls-ca (if that is empty, by a "
          "root of the system). If the primary asks for a certificate, the server sends "
          "tls-cert. Files are read at each connection.")
SW_OPTION(ha, "ha", "replication", SW_ANY, SW_TEXT(), "", "ETCD",
          "Be a member of a shard that elects its primary: "
          "etcd://host:port,host:port/prefix?shard=NAME names the members of etcd and the keys "
          "of the shard. Parameters: &announce=host:port, the address for other members and "
          "clients (default: bind and port); &ttl=SECONDS without a renewal until another "
          "member may take over (1 to 60; 3); &quorum=N, the lost machines that a write "
          "survives after WAIT N has counted it (1). etcds:// uses TLS. With tls-replication "
          "members connect by tls-port. Not with the cache engine, replicaof, or a topology in "
          "a file. Empty: no shard.")
SW_OPTION(ha_discarded_max, "ha-discarded-max", "replication", SW_ANY, SW_NUMBER(0, 1000), "4", "N",
          "Limit the directories discarded-.. in data-dir. Each has the files of this server "
          "with writes that its new primary lacks. At the limit a member of a shard removes "
          "further files, and its log reports it; another replica keeps its files and follows "
          "nobody. 0: keep none.")
SW_OPTION(ha_tls_ca, "ha-tls-ca", "replication", SW_ANY, SW_TEXT(), "", "FILE",
          "PEM file with the roots that sign the certificates of etcd's members (etcds://). The "
          "certificates must have the hosts of --ha and of cluster-config as names. Empty: the "
          "roots of the system.")
SW_OPTION(ha_tls_cert, "ha-tls-cert", "replication", SW_ANY, SW_TEXT(), "", "FILE",
          "Send the certificate in this PEM file to etcd. Empty: send none.")
SW_OPTION(ha_tls_key, "ha-tls-key", "replication", SW_ANY, SW_TEXT(), "", "FILE",
          "PEM file with the key of ha-tls-cert.")
SW_OPTION(primary_user, "primary-user", "replication", SW_ANY, SW_TEXT(), "", "USER",
          "User for the login at the primary, if primary-password-file is set. The user needs "
          "the right to run REPLICATE, and all keys (~*). Empty: default.")
SW_OPTION(primary_password_file, "primary-password-file", "replication", SW_ANY, SW_TEXT(), "",
          "FILE",
          "File whose first line is that user's password, found and checked as requirepass-file "
          "is, and read at each connection. Empty: no login.")
SW_OPTION(repl_backlog_bytes, "repl-backlog-bytes", "replication", SW_ANY, SW_SIZE(SW_M, SW_T),
          "64M", "BYTES",
          "Memory for the last writes, allocated with the first replica. A replica that is "
          "further behind starts again with a snapshot. The newest write stays, even if it is "
          "larger.")
SW_OPTION(repl_timeout, "repl-timeout", "replication", SW_ANY, SW_NUMBER(1, 86400), "60", "SECONDS",
          "Close a replication connection after this many seconds without a byte. Applies to "
          "the primary and to the replica.")
SW_OPTION(repl_snapshot_timeout, "repl-snapshot-timeout", "replication", SW_ANY,
          SW_NUMBER(1, 86400), "3600", "SECONDS",
          "A primary drops a replica that takes longer to receive a snapshot: meanwhile DIGEST, "
          "BGSAVE and other replicas wait for it.")
SW_OPTION(replicas_max, "replicas-max", "replication", SW_ANY, SW_NUMBER(0, 16), "16", "N",
          "Limit the replicas served at once. Each has a thread. 0: none.")

/* [limits] */
SW_LIVE_OPTION(connections_max, "connections-max", "limits", SW_ANY, SW_NUMBER(1, 1000000), "10000",
               "N",
               "Connections open at once. One more gets an error as its reply and is closed. The "
               "server serves fewer where the limit of open files (LimitNOFILE, ulimit -n) is too "
               "low, and logs how many.")
SW_LIVE_OPTION(
    connections_before_login_max, "connections-before-login-max", "limits", SW_ANY,
    SW_NUMBER(1, 1000000), "1000", "N",
    "Limit the open connections that must log in and have not. Each takes at most 16 KiB "
    "for its requests, and 80 KiB for replies that it does not read.")
SW_LIVE_OPTION(monitors_max, "monitors-max", "limits", SW_ANY, SW_NUMBER(0, 1000), "8", "N",
               "Limit the connections in MONITOR. The server closes one with more than "
               "output-bytes-max of unread lines.")
SW_LIVE_OPTION(login_timeout_ms, "login-timeout-ms", "limits", SW_ANY, SW_NUMBER(0, SW_DAY_MS),
               "10000", "MS",
               "Close a connection that has not logged in after this time. 0: never.")
SW_OPTION(arena_bytes, "arena-bytes", "limits", SW_ANY, SW_SIZE(SW_M, SW_T), "256M", "BYTES",
          "I/O memory of each loop, for requests and replies in flight. The server pauses a "
          "connection while this memory is used up.")
SW_OPTION(round_ops_max, "round-ops-max", "limits", SW_ANY, SW_SIZE(0, 16 * SW_M), "0", "N",
          "Limit the RESP operations in one batch of a loop. 0: 128K, or with large values the "
          "number that fits into 32 MiB.")
SW_OPTION(
    resp_batches_max, "resp-batches-max", "limits", SW_ANY, SW_NUMBER(3, 65536), "8", "N",
    "Limit the RESP batches that a loop fills or runs at a time, for all tables together. The "
    "server pauses connections of further tables. Batches that wait for a table that grows do not "
    "count; resp-batch-bytes limits them.")
SW_OPTION(
    resp_batch_bytes, "resp-batch-bytes", "limits", SW_ANY, SW_SIZE(0, SW_T), "0", "BYTES",
    "Limit the memory of each loop for RESP batches, which tables share. The server pauses "
    "connections of tables that get none. A batch takes 80 bytes and twice the size of a value "
    "for each of round-ops-max operations. The limit must hold two batches of the default table "
    "and one of any other. 0: twice resp-batches-max batches of the default table, 256M, or two of "
    "the widest table beside two of the default table, whichever is most.")
SW_OPTION(frame_ops_max, "frame-ops-max", "limits", SW_ANY, SW_SIZE(0, 16 * SW_M), "0", "N",
          "Limit the keys in one bulk frame, at least 64. 0: 1M, or the number that half of "
          "arena-bytes holds with their values and the reply.")
SW_LIVE_OPTION(
    frames_in_flight_max, "frames-in-flight-max", "limits", SW_ANY, SW_NUMBER(1, 65536), "64", "N",
    "Bulk frames of a connection that have no reply yet. A connection with more of them is paused.")
SW_LIVE_OPTION(
    output_bytes_max, "output-bytes-max", "limits", SW_ANY, SW_SIZE(64 * SW_K, SW_T), "64M",
    "BYTES",
    "A RESP connection with more bytes of unsent replies than this is closed. It must not be "
    "less than the longest reply to an MGET of resp-arguments-max. Replies to bulk frames "
    "are part of arena-bytes.")
SW_LIVE_OPTION(
    output_bytes_pause, "output-bytes-pause", "limits", SW_ANY, SW_SIZE(4 * SW_K, SW_T), "1M",
    "BYTES",
    "The input of a connection with more bytes of unsent replies than this is paused; that "
    "of a bulk connection only if these are also more than 4 frames.")
SW_OPTION(resp_arguments_max, "resp-arguments-max", "limits", SW_ANY, SW_SIZE(0, 16 * SW_M), "0",
          "N",
          "Limit the arguments of a RESP command, its name included; at least 8. 0: 128K, or "
          "the number that round-ops-max and output-bytes-max allow.")
SW_OPTION(resp_request_bytes_max, "resp-request-bytes-max", "limits", SW_ANY,
          SW_SIZE(64 * SW_K, SW_G), "4M", "BYTES",
          "Bytes of a RESP command as it arrives, and of all that one transaction queues.")
SW_LIVE_OPTION(
    input_bytes_max, "input-bytes-max", "limits", SW_ANY, SW_SIZE(128 * SW_K, SW_T), "256M",
    "BYTES",
    "Limit the memory of all connections for requests that have only partly arrived or "
    "wait; at least twice resp-request-bytes-max. At the limit the server closes the "
    "connection that holds the most. Commands that wait for EXEC take at most half of it. "
    "Bodies of large bulk frames are in arena-bytes.")
SW_OPTION(tables_max, "tables-max", "limits", SW_ANY, SW_NUMBER(1, 4096), "64", "N",
          "Limit the tables, the default one included. TABLE CREATE beyond the limit is refused.")
SW_OPTION(metrics_tables_max, "metrics-tables-max", "limits", SW_ANY, SW_NUMBER(0, 4096), "64", "N",
          "Limit the tables that have series of their own in /metrics, by their memory.")
SW_OPTION(tables_memory_max, "tables-memory-max", "limits", SW_ANY, SW_SIZE(0, SW_T), "0", "BYTES",
          "Limit the memory of all tables together: host memory, or GPU memory if they lie there, "
          "as for memory-max. 0: no limit. A table that grows or is "
          "created gets what the others neither have nor were promised by memory-min.")
SW_OPTION(tables_host_memory_max, "tables-host-memory-max", "limits", SW_ANY, SW_SIZE(0, SW_T), "0",
          "BYTES",
          "Limit the host memory of rows and values of all tables in GPU memory. 0: no limit. See "
          "rows-in.")
SW_OPTION(databases, "databases", "limits", SW_ANY, SW_NUMBER(1, 4096), "1", "N",
          "Create tables of 64K slots, which grow, for SELECT 1 to N - 1 at the start. Tables of "
          "data-dir stay. Not with ha, replicaof or a cluster.")
SW_OPTION(watched_keys_max, "watched-keys-max", "limits", SW_ROBIN_HOOD | SW_CUCKOO,
          SW_SIZE(1, 16 * SW_M), "64K", "N",
          "Limit the keys watched by WATCH over all connections. A key counts once per "
          "connection that watches it. A WATCH beyond the limit is refused.")
SW_OPTION(rings_max, "rings-max", "limits", SW_ANY, SW_NUMBER(0, 10000), "64", "N",
          "Limit the Unix-socket connections that have a ring: programs on this machine send "
          "requests through memory that they share with the server (sherwood_region). 0: none.")
SW_OPTION(ring_entries_max, "ring-entries-max", "limits", SW_ANY, SW_NUMBER(8, 4096), "1024", "N",
          "Limit the entries of a ring; a power of two.")
SW_OPTION(regions_max, "regions-max", "limits", SW_ANY, SW_NUMBER(1, 1024), "64", "N",
          "Regions, pieces of shared memory, that a connection may register.")
SW_OPTION(region_bytes_max, "region-bytes-max", "limits", SW_ANY, SW_SIZE(0, SW_T), "16G", "BYTES",
          "Limit the bytes of the regions of all connections. The memory belongs to the "
          "clients, and with the CUDA backend it cannot be swapped out. Pages that a client "
          "frees while the server uses them become the server's.")
SW_OPTION(device_region_bytes_max, "device-region-bytes-max", "limits", SW_ANY, SW_SIZE(0, SW_T),
          "16G", "BYTES",
          "Limit the bytes of the regions of all connections in GPU memory, which clients share "
          "by CUDA IPC (libsherwood-cuda). 0: none.")
SW_OPTION(device_region_users, "device-region-users", "limits", SW_ANY, SW_CHOICE(region_users),
          "own", "own|any",
          "Choose whose GPU memory the server maps (CUDA IPC). own: that of processes of the "
          "server's user and of root. any: that of every client of the Unix socket. Trust these "
          "clients like the server itself: a forged handle that claims more memory than exists "
          "crashes it.")
SW_OPTION(
    direct_readers_max, "direct-readers-max", "limits", SW_ROBIN_HOOD, SW_NUMBER(0, 1024), "0", "N",
    "Limit the clients that read the default table by kernels of their own (libsherwood-cuda, "
    "direct reads). 0: none. Clients run as the server's user or as root, and the table has "
    "integer values. Each write then launches two more kernels while there are such clients, "
    "and growth waits for the GPU. Not with ha, replicaof, a cluster or read-durable.")
SW_LIVE_OPTION(request_timeout_ms, "request-timeout-ms", "limits", SW_ANY, SW_NUMBER(0, SW_DAY_MS),
               "30000", "MS",
               "Close a connection if a request takes longer than this from its first byte to its "
               "last. 0: never.")
SW_LIVE_OPTION(tls_handshake_timeout_ms, "tls-handshake-timeout-ms", "limits", SW_ANY,
               SW_NUMBER(1, SW_DAY_MS), "10000", "MS",
               "Close a connection to the TLS port if its handshake takes longer than this.")
SW_LIVE_OPTION(write_timeout_ms, "write-timeout-ms", "limits", SW_ANY, SW_NUMBER(0, SW_DAY_MS),
               "60000", "MS",
               "Close a connection if its client reads no byte of its replies for this time. 0: "
               "never.")
SW_LIVE_OPTION(idle_timeout_ms, "idle-timeout-ms", "limits", SW_ANY, SW_NUMBER(0, SW_DAY_MS), "0",
               "MS", "Close a connection that sends no request for this time. 0: never.")
SW_OPTION(http_connections_max, "http-connections-max", "limits", SW_ANY, SW_NUMBER(8, 10000), "64",
          "N",
          "Limit the open HTTP connections. At the limit, a new connection is accepted and the "
          "one that has waited longest is closed.")
SW_OPTION(http_timeout_ms, "http-timeout-ms", "limits", SW_ANY, SW_NUMBER(100, SW_DAY_MS), "10000",
          "MS",
          "Close an HTTP connection if a request and its reply take longer than this, or if no "
          "request arrives within it.")
SW_OPTION(http_request_bytes_max, "http-request-bytes-max", "limits", SW_ANY,
          SW_SIZE(4 * SW_K, SW_M), "16K", "BYTES",
          "Memory of an HTTP connection. A larger request is refused.")
SW_OPTION(otlp_spans_max, "otlp-spans-max", "limits", SW_ANY, SW_NUMBER(64, 1048576), "4096", "N",
          "Limit the spans that wait for otlp-endpoint, 512 bytes each, in all loops "
          "together. The server drops further spans and counts them.")
#undef SW_LIVE_OPTION
