/* SPDX-License-Identifier: MIT
 *
 * options.c - command line to struct sw_load_options.
 */
#include "bench/study/options.h"
#include "bench/load/options_check.h"
#include "client/sherwood-tables.h"
#include "proto/decimal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The state of the parser. */
struct line {
    struct sw_load_options options;
    bool has_mix;
    enum sw_load_distribution_kind preset; /* the distribution of --ycsb */
};

static const char *const protocol_names[] = {"bulk", "resp", NULL};
static const char *const distribution_names[] = {"uniform", "zipf", "latest", "sequential", NULL};
static const char *const splice_names[] = {"auto", "always", "never", NULL};
/* The operations that --operation takes come first, then the others. */
#define OPERATIONS_GIVEN 6
static const char *const operation_names[] = {"set-get",    "set", "get",  "mget", "delete",
                                              "set-delete", "mix", "fill", "check"};
static const char *const given_names[OPERATIONS_GIVEN + 1] = {
    "set-get", "set", "get", "mget", "delete", "set-delete", NULL};

const char *sw_load_protocol_name(enum sw_load_protocol protocol)
{
    return protocol_names[protocol];
}

const char *sw_load_distribution_name(enum sw_load_distribution_kind kind)
{
    return distribution_names[kind];
}

const char *sw_load_operation_name(enum sw_load_operation operation)
{
    return operation_names[operation];
}

bool sw_load_number_parse(const char *text, uint64_t max, uint64_t *out)
{
    return sw_decimal_parse_count((const uint8_t *)text, strlen(text), max, out);
}

/* --- options of a form of their own ------------------------------------------------------------
 */

static bool take_mix(void *context, const char *text, char *why, size_t why_size)
{
    struct line *line = context;
    const bool is_second = line->has_mix;
    line->has_mix = true;
    line->options.operation = SW_LOAD_MIX;
    if (!is_second && sw_load_mix_parse(text, &line->options.mix)) {
        return true;
    }
    snprintf(why, why_size,
             is_second
                 ? "use only one of --mix and --ycsb, once"
                 : "--mix %s: write NAME=WEIGHT,... with names of get, set, sum, delete and insert",
             text);
    return false;
}

static bool take_ycsb(void *context, const char *text, char *why, size_t why_size)
{
    struct line *line = context;
    const bool is_second = line->has_mix;
    line->has_mix = true;
    line->options.operation = SW_LOAD_MIX;
    if (!is_second && sw_load_mix_preset(text, &line->options.mix, &line->preset)) {
        return true;
    }
    snprintf(why, why_size,
             is_second ? "use only one of --mix and --ycsb, once"
                       : "--ycsb %s: use a, b, c, d or f",
             text);
    return false;
}

static bool take_prefilled(void *context, const char *text, char *why, size_t why_size)
{
    struct line *line = context;
    uint64_t frames = SW_LOAD_PREFILLED_ALL;
    line->options.no_verify = true;
    if (strcmp(text, "all") != 0 &&
        (!sw_load_number_parse(text, SW_LOAD_PREFILLED_MAX, &frames) || frames == 0)) {
        snprintf(why, why_size, "--frames-prefilled %s: use a number from 1 to %d, or all", text,
                 SW_LOAD_PREFILLED_MAX);
        return false;
    }
    line->options.frames_prefilled = (uint32_t)frames;
    return true;
}

/* Sets an action and its number. */
static bool take_action(struct line *line, enum sw_load_action action, const char *text)
{
    line->options.action = action;
    return sw_load_number_parse(text, UINT64_MAX, &line->options.action_argument);
}

static bool take_key_of(void *context, const char *text, char *why, size_t why_size)
{
    snprintf(why, why_size, "--key-of %s: use a number", text);
    return take_action(context, SW_LOAD_ACTION_KEY_OF, text);
}

static bool take_value_of(void *context, const char *text, char *why, size_t why_size)
{
    snprintf(why, why_size, "--value-of %s: use a number", text);
    return take_action(context, SW_LOAD_ACTION_VALUE_OF, text);
}

static bool take_version(void *context, const char *text, char *why, size_t why_size)
{
    struct line *line = context;
    (void)text;
    (void)why;
    (void)why_size;
    line->options.action = SW_LOAD_ACTION_VERSION;
    return true;
}

/* --- all options ------------------------------------------------------------------------------ */

#define FIELD(name) SW_STUDY_FIELD(struct line, options.name)

static const struct sw_study_option rows[] = {
    {.name = "Where", .kind = SW_STUDY_TITLE},
    {"address", SW_STUDY_BORROWED, FIELD(address), .letter = 'a', .usual = "127.0.0.1:7379",
     .value = "ADDR", .help = "host:port, [v6]:port, unix:/path or tls://host:port"},
    {"cluster", SW_STUDY_FLAG, FIELD(cluster),
     .help = "bulk: the address names nodes of a cluster, separated by commas;\n"
             "keys go to the nodes that own them; each connection has a thread"},
    {"cacert", SW_STUDY_BORROWED, FIELD(cacert), .value = "FILE",
     .help = "tls: root certificates, a file or a folder (the system's)"},
    {"cert", SW_STUDY_BORROWED, FIELD(cert), .value = "FILE", .help = "tls: our certificate"},
    {"key", SW_STUDY_BORROWED, FIELD(key), .value = "FILE", .help = "tls: its private key"},
    {"sni", SW_STUDY_BORROWED, FIELD(sni), .value = "NAME",
     .help = "tls: the name that the server's certificate must have (the host)"},
    {"insecure", SW_STUDY_FLAG, FIELD(insecure),
     .help = "tls: accept any certificate of the server"},
    {"user", SW_STUDY_BORROWED, FIELD(user), .value = "NAME",
     .help = "log in as this user (default, if there is a password)"},
    {"pass-file", SW_STUDY_BORROWED, FIELD(pass_file), .value = "FILE",
     .help = "read the password from the first line of FILE (that of\n"
             "SHERWOODCLI_AUTH in the environment, if any)"},
    {"protocol", SW_STUDY_WORD, FIELD(protocol), .words = protocol_names, .usual = "bulk",
     .value = "P",
     .help = "bulk: frames through libsherwood; resp: the Redis protocol, which\n"
             "redis-server speaks too"},
    {.name = "\nWhat", .kind = SW_STUDY_TITLE},
    {"operation", SW_STUDY_WORD, FIELD(operation), .letter = 'o', .words = given_names,
     .value = "O",
     .help = "set-get: write every key, then read and verify it;\n"
             "set, get: one of the two;\n"
             "mget: read by MGET (resp only);\n"
             "delete: delete every key (bulk only); each must be stored;\n"
             "set-delete: write every key, each must be absent, then delete\n"
             "every key (set-get)"},
    {"keys", SW_STUDY_U64, FIELD(keys), .letter = 'n', .min = 1, .max = SW_LOAD_KEYS_MAX,
     .usual = "10M", .help = "distinct keys of the run"},
    {"first", SW_STUDY_U64, FIELD(first), .max = SW_LOAD_KEYS_MAX, .usual = "0", .value = "I",
     .help = "number of the first key: runs with the same seed and other numbers\n"
             "have other keys"},
    {"seconds", SW_STUDY_REAL, FIELD(seconds), .least = SW_LOAD_SECONDS_MIN,
     .most = SW_LOAD_SECONDS_MAX, .value = "S",
     .help = "set, get and mget: draw keys from the N for S seconds instead of\n"
             "using each once; set-get: in the get phase; a mix: run for S seconds\n"
             "instead of N operations; set-delete: repeat until S seconds are over"},
    {"seed", SW_STUDY_U64, FIELD(seed), .usual = "1",
     .help = "number that determines the keys and their values"},
    {"ttl", SW_STUDY_REAL, FIELD(ttl), .least = SW_LOAD_TTL_MIN, .most = SW_LOAD_TTL_MAX,
     .value = "S",
     .help = "let each key of a set, or of an insert of a mix, expire after S\n"
             "seconds. Replies are checked by that: the key must be present before\n"
             "its time, may be absent around it, and must be absent after it"},
    {"key-bits", SW_STUDY_U32, FIELD(key_bits), .min = 1, .max = 64, .usual = "64", .value = "B",
     .help = "32 or 64, as the server's table; resp only: a bulk server announces it"},
    {.name = "\nWhich keys, and mixes", .kind = SW_STUDY_TITLE},
    {"distribution", SW_STUDY_WORD, FIELD(distribution), .words = distribution_names, .value = "D",
     .help = "how keys are drawn, with --seconds or a mix: uniform, zipf, latest\n"
             "(zipf from the key written last), sequential (uniform)"},
    {"theta", SW_STUDY_REAL, FIELD(theta), .least = 0.01, .most = SW_LOAD_THETA_MAX,
     .usual = "0.99", .value = "T", .help = "of zipf and latest: rank r has weight r^-T"},
    {"mix", SW_STUDY_OTHER, .take = take_mix,
     .help = "instead of --operation: NAME=WEIGHT,... of get, set, sum, delete,\n"
             "insert (a set of a new key). Writes the N keys first; a frame does\n"
             "one operation, by resp each command is drawn"},
    {"ycsb", SW_STUDY_OTHER, .take = take_ycsb, .value = "W",
     .help = "the mix and distribution of YCSB's workload a, b, c, d or f\n"
             "(f: its read-modify-write is a sum)"},
    {"hit-ratio", SW_STUDY_REAL, FIELD(hit_ratio), .most = 1, .usual = "1", .value = "R",
     .help = "the share of a mix's gets that read keys of the run"},
    {.name = "\nHow", .kind = SW_STUDY_TITLE},
    {"frame", SW_STUDY_U32, FIELD(frame), .letter = 'f', .min = 1, .max = SW_LOAD_FRAME_MAX,
     .usual = "65536", .help = "bulk: keys a frame"},
    {"tables", SW_STUDY_U32, FIELD(tables), .min = 1, .max = SHERWOOD_SEGMENTS_MAX,
     .help = "bulk: spread the keys over N tables, load0, load1, .., which the run\n"
             "creates if they do not exist; each frame is for one table. --keys must\n"
             "be a multiple of N times --frame"},
    {"segments", SW_STUDY_FLAG, FIELD(segments),
     .help = "with --tables and --no-found: each frame of gets reads --frame keys\n"
             "of all tables together"},
    {"frame-min", SW_STUDY_U32, FIELD(frame_min), .min = 1, .max = SW_LOAD_FRAME_MAX,
     .help = "bulk, with --seconds: draw the number of keys of each frame, from N\n"
             "to that of --frame"},
    {"value-bytes", SW_STUDY_U32, FIELD(value_bytes), .min = 1, .max = SW_LOAD_VALUE_BYTES_MAX,
     .help = "cache and rows: bytes a value (bulk: the server's maximum;\n"
             "resp: integers)"},
    {"mget", SW_STUDY_U32, FIELD(mget), .min = 1, .max = SW_LOAD_MGET_MAX, .usual = "100",
     .help = "mget: keys a command"},
    {"connections", SW_STUDY_U32, FIELD(connections), .letter = 'c', .min = 1,
     .max = SW_LOAD_CONNECTIONS_MAX, .help = "connections (bulk 4, resp 50)"},
    {"depth", SW_STUDY_U32, FIELD(depth), .letter = 'd', .min = 1, .max = SW_LOAD_RESP_DEPTH_MAX,
     .help = "bulk: frames in flight a connection; resp: commands sent before\n"
             "their replies are awaited (bulk 2, with --rate 4; resp 64)"},
    {"threads", SW_STUDY_U32, FIELD(threads), .letter = 't', .min = 1, .max = SW_LOAD_THREADS_MAX,
     .help = "threads, sharing the connections (one a connection, at most one a\n"
             "processor)"},
    {"rate", SW_STUDY_U64, FIELD(rate), .min = 1, .max = SW_LOAD_RATE_MAX,
     .help = "open loop: send N keys/s when they are due, also if replies are late;\n"
             "latency counts from then. For the phase that --seconds limits"},
    {"no-verify", SW_STUDY_FLAG, FIELD(no_verify),
     .help = "do not check replies: for rates that the checks of the client would\n"
             "limit. Bulk: the client receives all values into the same memory"},
    {"no-found", SW_STUDY_FLAG, FIELD(no_found),
     .help = "bulk: frames decline the found bitmap, so that the reply to a write\n"
             "has no body. Gets are verified by values and hits, the writes of a\n"
             "mix by the check at its end. Without this option every reply has\n"
             "the bitmap"},
    {"want-previous", SW_STUDY_FLAG, FIELD(want_previous),
     .help = "bulk: writes request the earlier value of each key; a mix checks it"},
    {"frames-prefilled", SW_STUDY_OTHER, .take = take_prefilled, .value = "N",
     .help = "bulk: each thread draws N frames before the phase of --seconds and\n"
             "sends those again and again; implies --no-verify. This measures the\n"
             "server and the sockets: the client does nothing for each key. A mix\n"
             "must have no inserts and no misses. `all`: for phases that use every\n"
             "key once, without --seconds (set-delete: also with it): draw all\n"
             "frames before the first phase"},
    {"splice", SW_STUDY_WORD, FIELD(splice), .words = splice_names, .usual = "auto", .value = "W",
     .help = "send prefilled frames as pages, which the kernel does not copy: auto\n"
             "(with unix sockets), always, never"},
    {"region", SW_STUDY_FLAG, FIELD(region),
     .help = "bulk, unix sockets: put the arrays into memory shared with the\n"
             "server, and send requests by a ring; each connection has a thread"},
    {"socket-buffer", SW_STUDY_U32, FIELD(socket_buffer), .min = 1,
     .max = SW_LOAD_SOCKET_BUFFER_MAX,
     .help = "bulk: bytes of SO_SNDBUF and SO_RCVBUF (the kernel's; unix 1Mi)"},
    {"idle-connections", SW_STUDY_U32, FIELD(idle_connections), .min = 1, .max = SW_LOAD_IDLE_MAX,
     .help = "open N more connections that stay silent during the run"},
    {.name = "\nOutput", .kind = SW_STUDY_TITLE},
    {"json", SW_STUDY_FLAG, FIELD(json), .help = "print one JSON object instead of text"},
    {"csv", SW_STUDY_BORROWED, FIELD(csv), .value = "FILE",
     .help = "append a row for each phase to FILE; a new file gets a row of names"},
    {"series", SW_STUDY_BORROWED, FIELD(series), .value = "FILE",
     .help = "write a CSV row for each second: keys, p50, p99 (replaces FILE)"},
    {"quiet", SW_STUDY_FLAG, FIELD(quiet), .letter = 'q',
     .help = "print no progress and no report; see the exit status"},
    {"key-of", SW_STUDY_OTHER, .take = take_key_of, .value = "I",
     .help = "print key number I of this --seed and exit"},
    {"value-of", SW_STUDY_OTHER, .take = take_value_of, .value = "KEY",
     .help = "print the value of KEY with this --seed and exit"},
    {"version", SW_STUDY_FLAG, .letter = 'V', .take = take_version,
     .help = "print the version and exit"},
};

static const struct sw_study_command command = {
    .name = "sherwood-load",
    .usage = "[options]",
    .hint = "use -a HOST:PORT for the server; --help lists the options",
    .about = "Loads a Sherwood server and checks what comes back. Without options it connects to\n"
             "127.0.0.1:7379, inserts 10,000,000 keys in bulk frames of 65,536, reads all of them "
             "back,\n"
             "verifies every value, and prints throughput and latency of both phases.\n",
    .end =
        "Numbers may end in K, M, G, T (thousands) or Ki, Mi, Gi, Ti (1024s).\n"
        "\n"
        "Keys are a permutation of 0 .. N-1 spread over the width; a value is a function of key\n"
        "and seed, so a later `--operation get` with the same --keys and --seed verifies what an\n"
        "earlier run stored. Latency is that of a frame (bulk) or of a pipeline of --depth\n"
        "commands (resp), from its submission to its last byte; with more in flight it contains\n"
        "the waiting for those before it. Without --rate the load is closed-loop: each connection\n"
        "waits for answers before it sends more. A mix is checked against a model: every answer,\n"
        "and at the end every key. MB/s counts the bytes of keys and values at the table's width,\n"
        "for both protocols.\n"
        "\n"
        "Examples\n"
        "  sherwood-load                                  insert and verify 10M keys\n"
        "  sherwood-load -n 1M --json | jq .phases        the same, smaller, for a script\n"
        "  sherwood-load -a unix:/run/sherwood/sherwood.sock -c 12 -d 4 -o get --seconds 10\n"
        "                                                 steady reads of what the run above "
        "stored\n"
        "  sherwood-load --protocol resp -n 1M -c 50 -d 64\n"
        "                                                 SET and GET in pipelines of 64\n"
        "  sherwood-load --protocol resp -n 1M -o mget --mget 100 -d 1 -a 127.0.0.1:6379\n"
        "                                                 MGET of 100 keys against redis-server\n"
        "  sherwood-load --cluster -a 10.0.0.1:7379,10.0.0.2:7379\n"
        "                                                 the same at a cluster, with a line a "
        "node\n"
        "  sherwood-load -n 1M -f 4096 --ycsb b --seconds 10\n"
        "                                                 95 % get, 5 % set, zipf, all verified\n"
        "  sherwood-load --protocol resp -n 1M -o get -d 1 --rate 100k --seconds 10\n"
        "                                                 latency at 100,000 GET/s, open loop\n"
        "  redis-cli -p 7379 GET $(sherwood-load --key-of 5)\n"
        "                                                 look at one key by hand\n"
        "\n"
        "Exit status: 0 done and verified; 1 a key was missing or a value wrong; 2 the command\n"
        "line; 3 the connection or the server failed.\n",
    .options = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .number = sw_load_number_parse,
};

/* --- the command line ------------------------------------------------------------------------- */

static void fill_defaults(struct sw_load_options *out)
{
    bool bulk = out->protocol == SW_LOAD_BULK;
    if (out->connections == 0) {
        out->connections =
            bulk ? SW_LOAD_BULK_CONNECTIONS_DEFAULT : SW_LOAD_RESP_CONNECTIONS_DEFAULT;
    }
    if (out->depth == 0) {
        out->depth = !bulk       ? SW_LOAD_RESP_DEPTH_DEFAULT
                     : out->rate ? SW_LOAD_BULK_RATE_DEPTH_DEFAULT
                                 : SW_LOAD_BULK_DEPTH_DEFAULT;
    }
    if (out->threads == 0 && (out->region || out->cluster)) {
        out->threads =
            out->connections < SW_LOAD_THREADS_MAX ? out->connections : SW_LOAD_THREADS_MAX;
    } else if (out->threads == 0) {
        const uint32_t share = SW_LOAD_BULK_THREAD_CONNECTIONS_MAX;
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        uint32_t most = processors < 1 ? 1 : (uint32_t)processors;
        uint32_t least = bulk ? (out->connections + share - 1) / share : 1;
        out->threads = most < SW_LOAD_THREADS_MAX ? most : SW_LOAD_THREADS_MAX;
        out->threads = out->threads < least ? least : out->threads;
    }
    if (out->threads > out->connections) {
        out->threads = out->connections;
    }
}

static bool was_given(const bool *given, const char *name)
{
    size_t row = 0;
    while (strcmp(rows[row].name, name) != 0) {
        row++;
    }
    return given[row];
}

int sw_load_options_parse(int argc, char **argv, struct sw_load_options *out, char *text,
                          size_t text_bytes)
{
    struct line line = {.has_mix = false};
    bool given[SW_STUDY_OPTIONS_MAX] = {false};
    enum sw_study_parsed parsed =
        sw_study_parse(&command, &line, argc, argv, given, NULL, text, text_bytes);
    const struct sw_load_given which = {
        .key_bits = was_given(given, "key-bits"),
        .operation = was_given(given, "operation"),
        .distribution = was_given(given, "distribution"),
        .theta = was_given(given, "theta"),
        .mix = line.has_mix,
        .hit_ratio = was_given(given, "hit-ratio"),
    };
    *out = line.options;
    if (parsed != SW_STUDY_RUN) {
        out->action = SW_LOAD_ACTION_HELP;
        return parsed == SW_STUDY_DONE ? 0 : -1;
    }
    if (which.mix) {
        out->operation = which.operation ? out->operation : SW_LOAD_MIX;
        out->distribution = which.distribution ? out->distribution : line.preset;
    }
    fill_defaults(out);
    const char *wrong = sw_load_options_contradiction(out, &which);
    if (wrong) {
        snprintf(text, text_bytes, "%s", wrong);
        return -1;
    }
    return 0;
}
