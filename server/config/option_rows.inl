/* SPDX-License-Identifier: MIT
 *
 * option_rows.inl - the options: one row each, in the order in which they are shown. options.h
 * makes an enum of the rows, options.c the table. A row is
 *
 *   SW_OPTION(field of struct sw_config, "name", "section of the file", engines that have it,
 *             type and bounds, "default", "METAVAR", "help: sentences without the default")
 *
 * A row SW_LIVE_OPTION is one whose value may change while the server runs, by SIGHUP or CONFIG
 * SET: every thread reads its field by SW_LIVE (live.h), or server/reload.c says what follows. The
 * value of a row SW_OPTION is constant after start.
 *
 * The flag is --name, the key in the file is name. The rows of a section stand together. After a
 * change run `make docs`, which writes deploy/sherwood.conf and the man page's list.
 */
#ifndef SW_LIVE_OPTION
#define SW_LIVE_OPTION SW_OPTION
#endif
/* [server] */
SW_OPTION(
    bind, "bind", "server", SW_ANY, SW_ADDRESS(), "127.0.0.1", "ADDRESS",
    "Address that RESP clients and bulk clients connect to, IPv4 or IPv6. Empty: no TCP port. "
    "Whoever can reach it may do what the user default may: see protected-mode, requirepass-file "
    "and acl-file.")
SW_OPTION(port, "port", "server", SW_ANY, SW_NUMBER(0, 65535), "7379", "PORT",
          "Port for RESP and bulk frames; the first byte tells them apart. 0: the kernel picks a "
          "free one, shown in the start line.")
SW_OPTION(unix_socket, "unix-socket", "server", SW_ANY, SW_TEXT(), "", "PATH",
          "Unix socket for RESP and bulk frames, at most 107 bytes. Empty: none.")
SW_OPTION(unix_socket_mode, "unix-socket-mode", "server", SW_ANY, SW_OCTAL(0, 0777), "0660", "MODE",
          "Permissions of the Unix socket, octal.")
SW_LIVE_OPTION(
    unix_buffer_bytes, "unix-buffer-bytes", "server", SW_ANY, SW_SIZE(0, SW_G), "1M", "BYTES",
    "Send buffer of a connection to the Unix socket: larger ones let bulk replies leave in "
    "fewer pieces. The kernel takes no more than net.core.wmem_max. 0: the kernel's default.")
SW_LIVE_OPTION(
    tcp_buffer_bytes, "tcp-buffer-bytes", "server", SW_ANY, SW_SIZE(0, SW_G), "0", "BYTES",
    "Send and receive buffer of a TCP connection, at most net.core.wmem_max and rmem_max. 0: "
    "the kernel sizes them as it goes.")
SW_OPTION(
    tls_port, "tls-port", "server", SW_ANY, SW_NUMBER(0, 65535), "0", "PORT",
    "Port of bind for RESP and bulk frames by TLS, 1.2 or 1.3. Needs tls-cert and tls-key. 0: "
    "none.")
SW_OPTION(tls_only, "tls-only", "server", SW_ANY, SW_CHOICE(switches), "no", "yes|no",
          "Open no port without TLS: port is not used. A Unix socket stays as it is; of HTTP see "
          "http-tls.")
SW_OPTION(tls_cert, "tls-cert", "server", SW_ANY, SW_TEXT(), "", "PATH",
          "Certificate of the server, PEM, followed by those that lead to its root. This file, "
          "tls-key and tls-ca are read again at SIGHUP: new connections use them, those that are "
          "open stay.")
SW_OPTION(tls_key, "tls-key", "server", SW_ANY, SW_TEXT(), "", "PATH",
          "Private key of tls-cert, PEM, without a password. One on the curve P-256 costs a tenth "
          "of what RSA does, a handshake. A relative name of any of these files is looked for in "
          "$CREDENTIALS_DIRECTORY first (LoadCredential= of systemd).")
SW_OPTION(tls_ca, "tls-ca", "server", SW_ANY, SW_TEXT(), "", "PATH",
          "Roots of the certificates of clients: a PEM file, or a folder made by openssl rehash.")
SW_OPTION(tls_auth_clients, "tls-auth-clients", "server", SW_ANY, SW_CHOICE(tls_clients), "no",
          "no|optional|yes",
          "Whether clients by TLS need a certificate that tls-ca vouches for. optional: one that a "
          "client shows must be valid.")
SW_OPTION(tls_user_from_cert, "tls-user-from-cert", "server", SW_ANY, SW_CHOICE(switches), "no",
          "yes|no",
          "A client by TLS is the user whose name its certificate has (CN of the subject), without "
          "a password. If there is no such user, it begins as others do. Needs tls-auth-clients.")
SW_OPTION(tls_min_version, "tls-min-version", "server", SW_ANY, SW_CHOICE(tls_versions), "1.2",
          "1.2|1.3", "The oldest version of TLS that is spoken.")
SW_LIVE_OPTION(
    protected_mode, "protected-mode", "server", SW_ANY, SW_CHOICE(switches), "yes", "yes|no",
    "While the user default has no password, serve nobody but loopback addresses and Unix "
    "sockets, whatever bind says.")
SW_OPTION(unix_users, "unix-users", "server", SW_ANY, SW_TEXT(), "", "uid:N=USER,...",
          "Which user the peer of a Unix socket is without a password, by its user id. Others "
          "begin as they do by TCP.")
SW_OPTION(requirepass_file, "requirepass-file", "server", SW_ANY, SW_TEXT(), "", "FILE",
          "File whose first line is the password of the user default, at most 127 bytes of name. "
          "Not readable by everybody; a relative name is looked for in $CREDENTIALS_DIRECTORY "
          "first (LoadCredential= of systemd). Empty: none.")
SW_OPTION(acl_file, "acl-file", "server", SW_ANY, SW_TEXT(), "", "FILE",
          "File of users, a line each, as redis writes them; found as requirepass-file is. ACL "
          "LOAD reads it again, ACL SAVE writes it. Empty: none.")
SW_OPTION(http_token_file, "http-token-file", "server", SW_ANY, SW_TEXT(), "", "FILE",
          "File whose first line /metrics and /status.json ask for as a bearer token; found as "
          "requirepass-file is. /healthz and /readyz stay open. Empty: none.")
SW_OPTION(http_bind, "http-bind", "server", SW_ANY, SW_ADDRESS(), "127.0.0.1", "ADDRESS",
          "Address of the status page, /metrics, /healthz and /readyz. Empty: no HTTP.")
SW_OPTION(
    http_port, "http-port", "server", SW_ANY, SW_NUMBER(0, 65535), "9379", "PORT",
    "Port of the status page, /metrics, /healthz and /readyz. 0: the kernel picks a free one, "
    "shown in the start line.")
SW_OPTION(http_tls, "http-tls", "server", SW_ANY, SW_CHOICE(switches), "no", "yes|no",
          "http-port speaks TLS, and nothing else, with tls-cert, tls-key, tls-min-version, tls-ca "
          "and tls-auth-clients: whoever asks for /healthz then needs a certificate, too.")
SW_OPTION(loops, "loops", "server", SW_ANY, SW_NUMBER(0, 256), "0", "N",
          "I/O threads. 0: half the cores, at least one.")
SW_LIVE_OPTION(
    busy_poll_us, "busy-poll-us", "server", SW_ANY, SW_NUMBER(0, 1000000), "0", "US",
    "How long an I/O thread looks for events without sleeping after it had one. Saves the "
    "time it takes to wake, where cores are free; costs up to that much processor time an "
    "event. 0: it sleeps as soon as nothing is in flight.")
SW_LIVE_OPTION(log_level, "log-level", "server", SW_ANY, SW_CHOICE(levels), "info", "LEVEL",
               "Least urgent messages to log: error, warning, notice, info or debug.")

SW_LIVE_OPTION(slowlog_log_slower_than, "slowlog-log-slower-than", "server", SW_ANY,
               SW_OR_OFF(0, UINT64_MAX / 2), "10000", "US",
               "Commands and bulk frames that take so many microseconds or more, from the complete "
               "request to its reply, go to SLOWLOG; 0: all; -1: none. Of a slow batch the 16 "
               "oldest commands do.")
SW_LIVE_OPTION(slowlog_max_len, "slowlog-max-len", "server", SW_ANY, SW_NUMBER(0, 10000), "128",
               "N", "Entries of SLOWLOG, of at most 6 KiB each; the oldest go first.")
SW_LIVE_OPTION(
    latency_monitor_threshold, "latency-monitor-threshold", "server", SW_ANY,
    SW_NUMBER(0, SW_DAY_MS), "0", "MS",
    "Events that take so many milliseconds or more are noted for LATENCY LATEST, HISTORY "
    "and DOCTOR. 0: none.")
SW_LIVE_OPTION(latency_tracking, "latency-tracking", "server", SW_ANY, SW_CHOICE(switches), "yes",
               "yes|no", "Count how long RESP commands took, for LATENCY HISTOGRAM.")

/* [table] */
SW_OPTION(
    backend, "backend", "table", SW_ANY, SW_CHOICE(backends), "auto", "KIND",
    "Where the table lives: cuda (GPU memory), cpu (host memory), or auto: cuda if this build has "
    "it and a device answers, otherwise cpu. Asking for cuda where there is none is an error.")
SW_OPTION(device, "device", "table", SW_ANY, SW_NUMBER(0, 255), "0", "N", "CUDA device ordinal.")
SW_OPTION(
    engine, "engine", "table", SW_ANY, SW_CHOICE(engines), "robin_hood", "NAME",
    "What holds the entries. robin_hood: the general one, which has every command. cuckoo: "
    "look-ups of at most three places; no SCAN, KEYS, RANDOMKEY or RESIZE, and it does not grow. "
    "cache: values are byte strings, and it is never full: if there is no room, the entry "
    "with the lowest score is evicted; no INCR, SUM or RESIZE.")
SW_OPTION(key_bits, "key-bits", "table", SW_ANY, SW_CHOICE(widths), "64", "BITS",
          "Width of keys in bits, 32 or 64. Values have the same width, unless value-bytes says "
          "otherwise. A slot takes twice that.")
SW_OPTION(
    capacity, "capacity", "table", SW_ANY, SW_OR_AUTO(1, SW_T), "auto", "SLOTS",
    "Slots of the table at start: 8 bytes each with 32-bit keys, 16 with 64-bit keys; of the "
    "cuckoo "
    "engine twice that, of the cache engine 18 bytes and a value. Rows take their bytes in "
    "addition. auto: 16M, or the next lower power of two, down to 64K, with which slots and values "
    "take at most 640 MiB and a quarter of the memory; at most max-capacity.")
SW_OPTION(
    max_capacity, "max-capacity", "table", SW_ANY, SW_OR_AUTO(0, SW_T), "auto", "SLOTS",
    "Slots that the table may grow to. A write that would pass max-load (of a cache: half of the "
    "slots) first moves the table to more slots, twice as many if that is allowed and enough. Old "
    "and new slots need memory at the same time. If growth fails, or at max-capacity, the write "
    "is refused (a cache evicts), and a later write tries again, at most once a second. 0: no more "
    "than capacity. auto: capacity, doubled while old and new slots and all rows take at most half "
    "of the memory: the RAM, or a lower limit of a control group; with CUDA, what the smallest GPU "
    "has. With the engines cuckoo and cache, or max-probe, auto is 0.")
SW_OPTION(max_load, "max-load", "table", SW_ROBIN_HOOD | SW_CUCKOO, SW_RATIO(0.01, 1.0), "0.85",
          "RATIO",
          "The part of the slots that may be filled. A write that would exceed it makes the table "
          "grow. If the table may not or cannot grow, the write is refused as out of memory. A "
          "refused write changes no key, but the table may have grown.")
SW_OPTION(max_probe, "max-probe", "table", SW_ROBIN_HOOD | SW_CUCKOO, SW_NUMBER(0, 65535), "0",
          "BUCKETS",
          "The farthest that an entry may be from its home bucket, in buckets. 0: derived from "
          "max-load and capacity.")
SW_OPTION(seed, "seed", "table", SW_ANY, SW_NUMBER(0, UINT64_MAX), "0", "N",
          "Seed of the mixing function. 0: random at every start, so that clients cannot choose "
          "keys that collide. Equal seeds give equal layouts.")
SW_OPTION(threads, "threads", "table", SW_ANY, SW_NUMBER(0, 1024), "0", "N",
          "Threads of the CPU backend for large batches. 0: one a core.")
SW_OPTION(stash, "stash", "table", SW_ROBIN_HOOD | SW_CUCKOO, SW_SIZE(64, SW_G), "64K", "SLOTS",
          "Slots for entries that would be farther from their home bucket than max-probe. These "
          "entries are looked up and counted like all others.")
SW_OPTION(hash_functions, "hash-functions", "table", SW_CUCKOO, SW_CHOICE(functions), "3", "N",
          "Cuckoo engine: places where a key may lie, 2 or 3. With 2 a look-up is faster, and "
          "max-load is at most 0.45; with 3 at most 0.88.")
SW_OPTION(
    value_bytes, "value-bytes", "table", SW_ROBIN_HOOD | SW_CACHE, SW_NUMBER(0, 4096), "0", "BYTES",
    "What a value may hold, a multiple of 4; strings 4 bytes less than the most, for their "
    "length is kept too. Robin_hood engine: from 4 to 4096, values are rows, which stay until "
    "they are deleted; 0: values are integers. Cache engine: from 4 to 1024; 0: 60, or 64 if "
    "fixed.")
SW_OPTION(
    value_type, "value-type", "table", SW_ROBIN_HOOD, SW_CHOICE(types), "bytes", "TYPE",
    "What a row of value-bytes is: bytes, always so many; a string of up to so many, which in "
    "bulk frames follows its length, 4 bytes, little-endian; or numbers (u32, u64, f32, f16, "
    "bf16), as many as fit. Clients are told.")
SW_OPTION(
    rows_max, "rows-max", "table", SW_ROBIN_HOOD, SW_SIZE(0, SW_T), "0", "ROWS",
    "Rows that the table may have, whatever its capacity. A write that would need one more is "
    "refused as out of memory. 0: as many as max-load allows at max-capacity.")
SW_OPTION(rows_in, "rows-in", "table", SW_ROBIN_HOOD, SW_CHOICE(places), "gpu", "WHERE",
          "CUDA backend: where the bytes of rows are: gpu; host: in pinned memory of the host, "
          "which the GPU reads and writes by PCIe, while the entries stay on the GPU; or gpu+host: "
          "the first ones that are used on the GPU, the others in that of the host: none moves. "
          "Memory that rows have had stays theirs when the table is made smaller. With the CPU "
          "backend rows are in host memory in any case.")
SW_OPTION(rows_gpu_bytes, "rows-gpu-bytes", "table", SW_ROBIN_HOOD, SW_SIZE(0, SW_T), "0", "BYTES",
          "Memory of the GPU that rows may have with rows-in gpu+host, for instance where others "
          "need it. 0: what is free at the start, but for twice the slots at max-capacity, what "
          "else the table needs, and a 32nd of all of it.")
SW_OPTION(
    default_ttl, "default-ttl", "table", SW_ROBIN_HOOD, SW_NUMBER(0, 1000000000), "0", "SECONDS",
    "So long after it is written a key expires, unless the command says when: a new key, whatever "
    "inserts it, and any key that SET, MSET, GETSET or SET XX, or a SET by a bulk frame, writes. "
    "INCR, ADD, SETRANGE, OR, CAS and their kind, and SET with KEEPTTL, leave the time of a key "
    "that is there; RENAME and COPY take it along; PERSIST ends it. Keys of the data "
    "directory, and those that come from a primary or with slots, have the times they had. 0: keys "
    "expire only if a command says so.")
SW_OPTION(value_format, "value-format", "table", SW_CACHE, SW_CHOICE(formats), "string", "FORMAT",
          "Cache engine: string: values of up to value-bytes; in bulk frames each is its length, 4 "
          "bytes, little-endian, then value-bytes. fixed: values of exactly value-bytes, in bulk "
          "frames as they are.")
SW_OPTION(
    policy, "policy", "table", SW_CACHE, SW_CHOICE(policies), "lru", "POLICY",
    "Cache engine: what an entry's score is. lru: the time of its last use; lfu: the number "
    "of its uses; epoch-lru and epoch-lfu: the same within an epoch, and clients go on to the "
    "next by the bulk operation EPOCH; custom: what clients say in bulk frames, 0 in RESP.")
SW_OPTION(cache_mode, "cache-mode", "table", SW_CACHE, SW_CHOICE(modes), "memory", "MODE",
          "Cache engine: memory: a key may lie in two buckets, so that no entry is evicted before "
          "the cache is nearly full; throughput: a key may lie in one bucket, which is faster.")
SW_OPTION(
    resp_keys, "resp-keys", "table", SW_ANY, SW_CHOICE(resp_keys_forms), "auto", "FORM",
    "Choose what a key is in RESP. auto: digits without a leading zero, up to 2^64 - 1, are that "
    "integer; any other text is its XXH3-64. decimal: digits alone. raw: the 8 or 4 bytes of the "
    "integer, the lowest first. hash: any text, digits included, is its XXH3-64; SCAN, KEYS and "
    "RANDOMKEY are refused, unless rows keep the texts (resp-key-text-bytes). auto and hash: two "
    "of n keys are one with a chance of at most n^2 / 2^65; they require key-bits 64 and no "
    "cluster, for which the default is decimal. Files note the form, and a start in another one is "
    "refused, except with auto after decimal.")
SW_OPTION(
    resp_keys_change, "resp-keys-change", "table", SW_ANY, SW_CHOICE(switches), "no", "yes|no",
    "Load files whose keys clients by RESP wrote in another form (resp-keys). They do not find "
    "these keys. Use it once if only bulk frames have written keys.")
SW_OPTION(
    resp_key_text_bytes, "resp-key-text-bytes", "table", SW_ROBIN_HOOD, SW_NUMBER(0, 1024), "0",
    "BYTES",
    "With resp-keys hash and rows: rows keep the text of their key, of up to so "
    "many bytes; longer keys are refused. A command whose key has the hash of another key that is "
    "there is answered with the error COLLISION, changes nothing, and shows nothing of the other. "
    "SCAN, KEYS and RANDOMKEY show texts. Every row takes so many bytes more, and 2, rounded up to "
    "8. Bulk frames are refused operations on keys. Files say what they were written with, and are "
    "refused at another size of texts. 0: texts are not kept.")

/* [persistence] */
SW_OPTION(
    data_dir, "data-dir", "persistence", SW_ANY, SW_TEXT(), "", "PATH",
    "Directory of snapshots, at most 127 bytes: the newest is loaded at the start, and one is "
    "written by SAVE and BGSAVE, at --save, and when the server stops without a log (see "
    "appendonly). One server at a time uses a directory. Empty: the table lives in memory and "
    "nothing is saved.")
SW_LIVE_OPTION(
    save, "save", "persistence", SW_ANY, SW_TEXT(), "", "PAIRS",
    "Write a snapshot after so many seconds if so many keys were changed: pairs of both, up "
    "to eight, as in \"3600 1 300 100\". A new expiry time, and an entry that expires, are "
    "changes. Empty: none by itself. Needs data-dir.")
SW_LIVE_OPTION(
    snapshots_keep, "snapshots-keep", "persistence", SW_ANY, SW_NUMBER(1, 1000), "2", "N",
    "Snapshots that stay in data-dir; older ones are removed once a new one is safe. If the "
    "newest is damaged, the one before it is loaded.")
SW_LIVE_OPTION(stop_writes_on_bgsave_error, "stop-writes-on-bgsave-error", "persistence", SW_ANY,
               SW_CHOICE(switches), "yes", "yes|no",
               "Refuse writes while save is set and the last snapshot failed.")
SW_OPTION(appendonly, "appendonly", "persistence", SW_ANY, SW_CHOICE(switches), "no", "yes|no",
          "Write every change to a log in data-dir, behind the newest snapshot, and answer it when "
          "the log has it: see appendfsync. Not with the cache engine. A log that is there is "
          "loaded whatever is said here.")
SW_OPTION(
    appendfsync, "appendfsync", "persistence", SW_ANY, SW_CHOICE(syncs), "everysec", "WHEN",
    "When a write is answered. always: it is on stable storage, and survives a loss of power. "
    "everysec: the kernel has it, so it survives the end of the server; what a loss of power "
    "takes was answered within one second. no: the kernel has it.")
SW_OPTION(
    read_durable, "read-durable", "persistence", SW_ANY, SW_CHOICE(switches), "no", "yes|no",
    "Whether reads wait, too, until the writes that they may show are on stable storage. Needs "
    "appendfsync always. Without it a read may show a write that a loss of power takes back.")
SW_OPTION(aof_load_truncated, "aof-load-truncated", "persistence", SW_ANY, SW_CHOICE(switches),
          "yes", "yes|no",
          "Whether a start goes on if the log ends in a record that was cut by a crash, and that "
          "nobody was told was safe. Damage before that end is always refused.")
SW_LIVE_OPTION(
    auto_aof_rewrite_percentage, "auto-aof-rewrite-percentage", "persistence", SW_ANY,
    SW_NUMBER(0, 1000000), "100", "PERCENT",
    "Write a snapshot when the log behind the last one has so many percent of its bytes, so that "
    "the log does not grow without end. 0: never. See auto-aof-rewrite-min-size.")
SW_LIVE_OPTION(auto_aof_rewrite_min_size, "auto-aof-rewrite-min-size", "persistence", SW_ANY,
               SW_SIZE(0, SW_T), "1G", "BYTES",
               "The log behind the last snapshot must have so many bytes for that.")
SW_OPTION(
    log_segment_bytes, "log-segment-bytes", "persistence", SW_ANY, SW_SIZE(SW_M, 4 * SW_G), "256M",
    "BYTES",
    "Size of a file of the log; larger if the longest request needs it. The next one is made, "
    "filled with zeros, while this one is written.")
SW_OPTION(
    log_backlog_bytes, "log-backlog-bytes", "persistence", SW_ANY, SW_SIZE(SW_M, 16 * SW_G), "64M",
    "BYTES",
    "Bytes that were changed and are not written to the log yet, at which further writes have "
    "to wait.")

/* [cluster] */
SW_OPTION(
    cluster_config, "cluster-config", "cluster", SW_ANY, SW_TEXT(), "", "FILE",
    "Be a node of a cluster whose topology this JSON file has, at most 511 bytes of name: nodes, "
    "their addresses, and the slots of each shard, as sherwood.conf(5) does not show and "
    "sherwoodd(8) does. Read again at SIGHUP; an epoch that is higher than the one that "
    "holds is taken. etcd://host:port,../prefix: the topology is the key prefix/topology of etcd, "
    "which is watched, and its revision the epoch; etcds:// by TLS, with ha-tls-ca, -cert and "
    "-key. "
    "Empty: no file.")
SW_OPTION(cluster_state, "cluster-state", "cluster", SW_ANY, SW_TEXT(), "", "FILE",
          "Be a node of a cluster, and keep its id and the topology of the highest epoch in this "
          "file. Empty: with cluster-config cluster.json in data-dir, if there is one.")
SW_OPTION(cluster_node_id, "cluster-node-id", "cluster", SW_ANY, SW_TEXT(), "", "HEX",
          "The id of this node in the topology: 40 hex digits in lower case. Empty: that of the "
          "state, or one that is drawn and kept there.")
SW_OPTION(cluster_announce_ip, "cluster-announce-ip", "cluster", SW_ANY, SW_TEXT(), "", "ADDRESS",
          "The address of this node as its clients see it. Clients are told what the topology has, "
          "and the log warns where that differs. Empty: whatever the topology has.")
SW_OPTION(cluster_announce_hostname, "cluster-announce-hostname", "cluster", SW_ANY, SW_TEXT(), "",
          "NAME", "The name of this node as its clients know it; as cluster-announce-ip.")
SW_OPTION(cluster_announce_port, "cluster-announce-port", "cluster", SW_ANY, SW_NUMBER(0, 65535),
          "0", "PORT",
          "The port of this node as its clients see it; as cluster-announce-ip. 0: any.")
SW_OPTION(cluster_preferred_endpoint_type, "cluster-preferred-endpoint-type", "cluster", SW_ANY,
          SW_CHOICE(endpoint_types), "ip", "ip|hostname",
          "Whether clients are told the addresses of nodes or, of nodes that have one, the names.")
SW_OPTION(cluster_require_full_coverage, "cluster-require-full-coverage", "cluster", SW_ANY,
          SW_CHOICE(switches), "no", "yes|no",
          "Whether all keys are refused while some slot is nobody's.")
SW_OPTION(
    cluster_multi_slot, "cluster-multi-slot", "cluster", SW_ANY, SW_CHOICE(multi_slots), "no",
    "no|node",
    "Whether the keys of a command or of a transaction must lie in one slot, as in redis (no), "
    "or in any slots of this node (node).")
SW_OPTION(debug_fault, "debug-fault", "cluster", SW_ANY, SW_TEXT(), "", "POINT",
          "For tests of moving slots: the server kills itself when it comes to this point, such as "
          "move.source.frozen. Empty: it does not.")

/* [replication] */
SW_OPTION(
    replicaof, "replicaof", "replication", SW_ANY, SW_TEXT(), "", "PRIMARY",
    "Be a replica of this server: \"host port\", host:port or unix:/path, at most 127 bytes. "
    "A replica takes over everything that its primary holds, follows "
    "its writes, serves reads and refuses writes. REPLICAOF changes it, REPLICAOF NO ONE "
    "ends it; with data-dir the next start has that role, unless this option has another value by "
    "then. Widths, and what rows are, must be those of the primary. Not with the cache engine. "
    "Empty: this server is a primary.")
SW_OPTION(tls_replication, "tls-replication", "replication", SW_ANY, SW_CHOICE(switches), "no",
          "yes|no",
          "Connect to the primary by TLS: the port is its tls-port, its certificate must have the "
          "host of replicaof as a name, and tls-ca must vouch for it (if that is empty, the roots "
          "of the system); tls-cert and tls-key, if set, are shown when it asks. Files are read at "
          "each connection.")
SW_OPTION(
    ha, "ha", "replication", SW_ANY, SW_TEXT(), "", "ETCD",
    "Be a member of a shard whose primary is elected: "
    "etcd://host:port,host:port/prefix?shard=NAME names the members of etcd, and the keys of "
    "the shard. Behind it may stand &announce=host:port, the address by which other members and "
    "clients reach this one (bind and port, if there is none), &ttl=SECONDS, after which a "
    "primary that etcd has not heard of is none (1 to 60; 3), and &quorum=N, for how many losses "
    "of a machine a write is safe that WAIT N has counted (1). etcds:// asks etcd by TLS. With "
    "tls-replication members reach each other by tls-port. Not with the cache engine, replicaof, "
    "or "
    "a cluster whose topology is in a file. Empty: it is of no shard.")
SW_OPTION(ha_discarded_max, "ha-discarded-max", "replication", SW_ANY, SW_NUMBER(0, 1000), "4", "N",
          "Limit the directories discarded-.. in data-dir: each has the files of this server with "
          "writes that its new primary lacks. At the limit a member of a shard removes the next "
          "files, and its log says so; another replica keeps its files and follows nobody. 0: keep "
          "none.")
SW_OPTION(
    ha_tls_ca, "ha-tls-ca", "replication", SW_ANY, SW_TEXT(), "", "FILE",
    "PEM file with the roots that vouch for the members of etcd (etcds://), whose "
    "certificates must have the hosts of --ha and of cluster-config as names. Empty: the roots "
    "of the system.")
SW_OPTION(ha_tls_cert, "ha-tls-cert", "replication", SW_ANY, SW_TEXT(), "", "FILE",
          "PEM file with the certificate that is shown to etcd. Empty: none is.")
SW_OPTION(ha_tls_key, "ha-tls-key", "replication", SW_ANY, SW_TEXT(), "", "FILE",
          "PEM file with the key of ha-tls-cert.")
SW_OPTION(
    primary_user, "primary-user", "replication", SW_ANY, SW_TEXT(), "", "USER",
    "Who logs in at the primary, if primary-password-file is set; the user needs the right to "
    "run REPLICATE, and all keys (~*). Empty: default.")
SW_OPTION(primary_password_file, "primary-password-file", "replication", SW_ANY, SW_TEXT(), "",
          "FILE",
          "File whose first line is that user's password, found and checked as requirepass-file "
          "is, and read at each connection. Empty: no login.")
SW_OPTION(repl_backlog_bytes, "repl-backlog-bytes", "replication", SW_ANY, SW_SIZE(SW_M, SW_T),
          "64M", "BYTES",
          "Memory for the last writes, from the first replica on: one that is behind by more, or "
          "was away for longer, begins anew with a snapshot. The newest write stays, even if it is "
          "larger.")
SW_OPTION(repl_timeout, "repl-timeout", "replication", SW_ANY, SW_NUMBER(1, 86400), "60", "SECONDS",
          "After so long without a byte a primary and a replica give each other up.")
SW_OPTION(repl_snapshot_timeout, "repl-snapshot-timeout", "replication", SW_ANY,
          SW_NUMBER(1, 86400), "3600", "SECONDS",
          "A primary drops a replica that takes longer to receive a snapshot: meanwhile DIGEST, "
          "BGSAVE and other replicas wait for it.")
SW_OPTION(replicas_max, "replicas-max", "replication", SW_ANY, SW_NUMBER(0, 16), "16", "N",
          "Replicas that are served at once; each has a thread. 0: none.")

/* [limits] */
SW_LIVE_OPTION(connections_max, "connections-max", "limits", SW_ANY, SW_NUMBER(1, 1000000), "10000",
               "N",
               "Connections open at once. One more gets an error as its reply and is closed. The "
               "server serves fewer where the limit of open files (LimitNOFILE, ulimit -n) is too "
               "low, and logs how many.")
SW_LIVE_OPTION(
    connections_before_login_max, "connections-before-login-max", "limits", SW_ANY,
    SW_NUMBER(1, 1000000), "1000", "N",
    "Connections open at once that have not logged in, where they must. Each takes at most "
    "16 KiB for its requests, and 80 KiB for replies that it does not read.")
SW_LIVE_OPTION(monitors_max, "monitors-max", "limits", SW_ANY, SW_NUMBER(0, 1000), "8", "N",
               "Connections at once that MONITOR shows commands to. Each has at most "
               "output-bytes-max of lines that it has not read, and then is closed.")
SW_LIVE_OPTION(login_timeout_ms, "login-timeout-ms", "limits", SW_ANY, SW_NUMBER(0, SW_DAY_MS),
               "10000", "MS", "Time to log in, after which the connection is closed. 0: none.")
SW_OPTION(arena_bytes, "arena-bytes", "limits", SW_ANY, SW_SIZE(SW_M, SW_T), "256M", "BYTES",
          "I/O memory of each loop, for requests and replies in flight. A connection is paused "
          "while there is none left for it.")
SW_OPTION(round_ops_max, "round-ops-max", "limits", SW_ANY, SW_SIZE(0, 16 * SW_M), "0", "N",
          "RESP operations in one batch of a loop. 0: 128K, or with large values as many as fit "
          "into 32 MiB.")
SW_OPTION(frame_ops_max, "frame-ops-max", "limits", SW_ANY, SW_SIZE(0, 16 * SW_M), "0", "N",
          "Keys in one bulk frame, 64 at least. 0: 1M, or as many as half of arena-bytes holds "
          "with their values and the reply.")
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
          "Arguments of a RESP command, its name included; at least 8. 0: 128K, or as many as "
          "round-ops-max and output-bytes-max allow.")
SW_OPTION(resp_request_bytes_max, "resp-request-bytes-max", "limits", SW_ANY,
          SW_SIZE(64 * SW_K, SW_G), "4M", "BYTES",
          "Bytes of a RESP command as it arrives, and of all that one transaction queues.")
SW_LIVE_OPTION(
    input_bytes_max, "input-bytes-max", "limits", SW_ANY, SW_SIZE(128 * SW_K, SW_T), "256M",
    "BYTES",
    "Memory of all connections together for requests that have only partly arrived or wait; "
    "at least twice resp-request-bytes-max. Where it is used up, the connection that holds "
    "the most is closed. Commands that wait for EXEC take at most half of it. Bodies of "
    "large bulk frames lie in arena-bytes.")
SW_OPTION(
    watched_keys_max, "watched-keys-max", "limits", SW_ROBIN_HOOD | SW_CUCKOO,
    SW_SIZE(1, 16 * SW_M), "64K", "N",
    "Keys that WATCH watches for all connections together, one that several watch counted for "
    "each. A WATCH that would pass it is refused.")
SW_OPTION(rings_max, "rings-max", "limits", SW_ANY, SW_NUMBER(0, 10000), "64", "N",
          "Connections by Unix sockets that may have a ring, through which programs of this "
          "machine send requests on memory that they share with the server (sherwood_region). 0: "
          "none.")
SW_OPTION(ring_entries_max, "ring-entries-max", "limits", SW_ANY, SW_NUMBER(8, 4096), "1024", "N",
          "Requests for which a ring may have room, a power of two.")
SW_OPTION(regions_max, "regions-max", "limits", SW_ANY, SW_NUMBER(1, 1024), "64", "N",
          "Regions, pieces of shared memory, that a connection may register.")
SW_OPTION(region_bytes_max, "region-bytes-max", "limits", SW_ANY, SW_SIZE(0, SW_T), "16G", "BYTES",
          "Bytes of the regions of all connections together. They are the clients' memory, and "
          "with the CUDA backend cannot be swapped out; but pages that a client takes back while "
          "the server uses them are the server's.")
SW_OPTION(device_region_bytes_max, "device-region-bytes-max", "limits", SW_ANY, SW_SIZE(0, SW_T),
          "16G", "BYTES",
          "Bytes of the regions of all connections together that are memory of the GPU, which "
          "clients share by CUDA IPC (libsherwood-cuda). 0: none.")
SW_OPTION(device_region_users, "device-region-users", "limits", SW_ANY, SW_CHOICE(region_users),
          "own", "own|any",
          "Of whom memory of the GPU is taken: own: of processes of the server's user and of root; "
          "any: of every client of the Unix socket. Trust these as the server itself: a handle of "
          "CUDA can be made up, and one that says more than there is ends the table.")
SW_LIVE_OPTION(
    request_timeout_ms, "request-timeout-ms", "limits", SW_ANY, SW_NUMBER(0, SW_DAY_MS), "30000",
    "MS",
    "Time from a request's first byte to its last, after which the connection is closed. 0: none.")
SW_LIVE_OPTION(tls_handshake_timeout_ms, "tls-handshake-timeout-ms", "limits", SW_ANY,
               SW_NUMBER(1, SW_DAY_MS), "10000", "MS",
               "Time from connecting to the TLS port to the end of the handshake, after which the "
               "connection is closed.")
SW_LIVE_OPTION(
    write_timeout_ms, "write-timeout-ms", "limits", SW_ANY, SW_NUMBER(0, SW_DAY_MS), "60000", "MS",
    "Time in which the client takes no byte of its replies, after which the connection is "
    "closed. 0: none.")
SW_LIVE_OPTION(idle_timeout_ms, "idle-timeout-ms", "limits", SW_ANY, SW_NUMBER(0, SW_DAY_MS), "0",
               "MS", "Time without a request, after which the connection is closed. 0: none.")
SW_OPTION(http_connections_max, "http-connections-max", "limits", SW_ANY, SW_NUMBER(8, 10000), "64",
          "N",
          "HTTP connections open at once. A further one is accepted, and the one that has waited "
          "longest is closed for it.")
SW_OPTION(http_timeout_ms, "http-timeout-ms", "limits", SW_ANY, SW_NUMBER(100, SW_DAY_MS), "10000",
          "MS",
          "Time for an HTTP request and its reply as a whole, after which the connection is "
          "closed. A connection without a request is closed after this time, too.")
SW_OPTION(http_request_bytes_max, "http-request-bytes-max", "limits", SW_ANY,
          SW_SIZE(4 * SW_K, SW_M), "16K", "BYTES",
          "Memory of an HTTP connection: a request that is larger is refused.")
#undef SW_LIVE_OPTION
