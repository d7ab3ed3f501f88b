/* SPDX-License-Identifier: MIT
 *
 * options.c - command line to struct sw_load_options.
 */
#include "bench/load/options_check.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    OPTION_SEED = 256,
    OPTION_SECONDS,
    OPTION_PROTOCOL,
    OPTION_MGET,
    OPTION_KEY_BITS,
    OPTION_DISTRIBUTION,
    OPTION_THETA,
    OPTION_MIX,
    OPTION_YCSB,
    OPTION_HIT_RATIO,
    OPTION_RATE,
    OPTION_NO_VERIFY,
    OPTION_NO_FOUND,
    OPTION_WANT_PREVIOUS,
    OPTION_FIRST,
    OPTION_FRAME_MIN,
    OPTION_VALUE_BYTES,
    OPTION_FRAMES_PREFILLED,
    OPTION_SPLICE,
    OPTION_SOCKET_BUFFER,
    OPTION_IDLE_CONNECTIONS,
    OPTION_SERIES,
    OPTION_CSV,
    OPTION_JSON,
    OPTION_KEY_OF,
    OPTION_VALUE_OF
};

static const struct option long_options[] = {
    {"address", required_argument, NULL, 'a'},
    {"keys", required_argument, NULL, 'n'},
    {"frame", required_argument, NULL, 'f'},
    {"connections", required_argument, NULL, 'c'},
    {"threads", required_argument, NULL, 't'},
    {"depth", required_argument, NULL, 'd'},
    {"operation", required_argument, NULL, 'o'},
    {"protocol", required_argument, NULL, OPTION_PROTOCOL},
    {"mget", required_argument, NULL, OPTION_MGET},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"seconds", required_argument, NULL, OPTION_SECONDS},
    {"key-bits", required_argument, NULL, OPTION_KEY_BITS},
    {"distribution", required_argument, NULL, OPTION_DISTRIBUTION},
    {"theta", required_argument, NULL, OPTION_THETA},
    {"mix", required_argument, NULL, OPTION_MIX},
    {"ycsb", required_argument, NULL, OPTION_YCSB},
    {"hit-ratio", required_argument, NULL, OPTION_HIT_RATIO},
    {"rate", required_argument, NULL, OPTION_RATE},
    {"no-verify", no_argument, NULL, OPTION_NO_VERIFY},
    {"no-found", no_argument, NULL, OPTION_NO_FOUND},
    {"want-previous", no_argument, NULL, OPTION_WANT_PREVIOUS},
    {"first", required_argument, NULL, OPTION_FIRST},
    {"frame-min", required_argument, NULL, OPTION_FRAME_MIN},
    {"value-bytes", required_argument, NULL, OPTION_VALUE_BYTES},
    {"frames-prefilled", required_argument, NULL, OPTION_FRAMES_PREFILLED},
    {"splice", required_argument, NULL, OPTION_SPLICE},
    {"socket-buffer", required_argument, NULL, OPTION_SOCKET_BUFFER},
    {"idle-connections", required_argument, NULL, OPTION_IDLE_CONNECTIONS},
    {"series", required_argument, NULL, OPTION_SERIES},
    {"csv", required_argument, NULL, OPTION_CSV},
    {"json", no_argument, NULL, OPTION_JSON},
    {"key-of", required_argument, NULL, OPTION_KEY_OF},
    {"value-of", required_argument, NULL, OPTION_VALUE_OF},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

static const char *const protocol_names[] = {"bulk", "resp"};
static const char *const distribution_names[] = {"uniform", "zipf", "latest", "sequential"};
static const char *const splice_names[] = {"auto", "always", "never"};
/* Those that --operation takes, and then the others. */
#define OPERATIONS_GIVEN 6
static const char *const operation_names[] = {"set-get",    "set", "get",  "mget", "delete",
                                              "set-delete", "mix", "fill", "check"};

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
    static const char units[] = "kmg";
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value)) {
            return false;
        }
    }
    if (at == text) {
        return false;
    }
    if (*at != '\0') {
        const char *unit = strchr(units, *at | 0x20);
        if (!unit) {
            return false;
        }
        uint64_t base = at[1] == 'i' ? 1024 : 1000;
        at += at[1] == 'i' ? 2 : 1;
        for (const char *u = units; u <= unit; u++) {
            if (__builtin_mul_overflow(value, base, &value)) {
                return false;
            }
        }
    }
    if (*at != '\0' || value > max) {
        return false;
    }
    *out = value;
    return true;
}

/* Returns the index of `text` in `names`, or -1. */
static int find_name(const char *text, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(text, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

struct message {
    char *text;
    size_t bytes;
};

static int read_number(const char *name, uint64_t min, uint64_t max, uint64_t *out,
                       const struct message *message)
{
    if (!sw_load_number_parse(optarg, max, out) || *out < min) {
        snprintf(message->text, message->bytes, "--%s %s: a number from %llu to %llu is needed",
                 name, optarg, (unsigned long long)min, (unsigned long long)max);
        return -1;
    }
    return 0;
}

static int read_u32(const char *name, uint32_t max, uint32_t *out, const struct message *message)
{
    uint64_t value;
    if (read_number(name, 1, max, &value, message)) {
        return -1;
    }
    *out = (uint32_t)value;
    return 0;
}

static int read_name(const char *name, const char *const *names, int count, int *out,
                     const struct message *message)
{
    *out = find_name(optarg, names, count);
    if (*out >= 0) {
        return 0;
    }
    snprintf(message->text, message->bytes, "--%s %s is not known (sherwood-load --help)", name,
             optarg);
    return -1;
}

static int read_real(const char *name, double min, double max, double *out,
                     const struct message *message)
{
    char *end;
    *out = strtod(optarg, &end);
    if (end == optarg || *end != '\0' || !(*out >= min && *out <= max)) {
        snprintf(message->text, message->bytes, "--%s %s: a number from %g to %g is needed", name,
                 optarg, min, max);
        return -1;
    }
    return 0;
}

/* Options of which keys are drawn, and what is done with them. */
static int read_draws(int option, struct sw_load_options *out, struct sw_load_given *given,
                      const struct message *message)
{
    enum sw_load_distribution_kind kind = SW_LOAD_UNIFORM;
    int name = 0, status = 0;
    switch (option) {
    case OPTION_DISTRIBUTION:
        given->distribution = true;
        status = read_name("distribution", distribution_names, 4, &name, message);
        out->distribution = (enum sw_load_distribution_kind)name;
        return status;
    case OPTION_THETA:
        given->theta = true;
        return read_real("theta", 0.01, SW_LOAD_THETA_MAX, &out->theta, message);
    case OPTION_HIT_RATIO:
        given->hit_ratio = true;
        return read_real("hit-ratio", 0, 1, &out->hit_ratio, message);
    default:
        break;
    }
    bool is_preset = option == OPTION_YCSB;
    if (given->mix) {
        snprintf(message->text, message->bytes, "--mix and --ycsb: only one of them, and once");
        return -1;
    }
    given->mix = true;
    out->operation = SW_LOAD_MIX;
    if (is_preset ? !sw_load_mix_preset(optarg, &out->mix, &kind)
                  : !sw_load_mix_parse(optarg, &out->mix)) {
        snprintf(message->text, message->bytes,
                 is_preset ? "--ycsb %s: there are a, b, c, d and f"
                           : "--mix %s: NAME=WEIGHT,... of get, set, sum, delete and insert",
                 optarg);
        return -1;
    }
    out->distribution = given->distribution ? out->distribution : kind;
    return 0;
}

static int read_output(int option, struct sw_load_options *out, const struct message *message)
{
    int name = 0, status = 0;
    switch (option) {
    case OPTION_NO_VERIFY:
        out->no_verify = true;
        return 0;
    case OPTION_NO_FOUND:
        out->no_found = true;
        return 0;
    case OPTION_WANT_PREVIOUS:
        out->want_previous = true;
        return 0;
    case OPTION_VALUE_BYTES:
        return read_u32("value-bytes", SW_LOAD_VALUE_BYTES_MAX, &out->value_bytes, message);
    case OPTION_FRAMES_PREFILLED:
        out->no_verify = true;
        if (strcmp(optarg, "all") == 0) {
            out->frames_prefilled = SW_LOAD_PREFILLED_ALL;
            return 0;
        }
        return read_u32("frames-prefilled", SW_LOAD_PREFILLED_MAX, &out->frames_prefilled, message);
    case OPTION_SPLICE:
        status = read_name("splice", splice_names, 3, &name, message);
        out->splice = (enum sw_load_splice)name;
        return status;
    case OPTION_SOCKET_BUFFER:
        return read_u32("socket-buffer", SW_LOAD_SOCKET_BUFFER_MAX, &out->socket_buffer, message);
    case OPTION_IDLE_CONNECTIONS:
        return read_u32("idle-connections", SW_LOAD_IDLE_MAX, &out->idle_connections, message);
    case OPTION_SERIES:
        out->series = optarg;
        return 0;
    case OPTION_CSV:
        out->csv = optarg;
        return 0;
    case OPTION_JSON:
        out->json = true;
        return 0;
    case 'q':
        out->quiet = true;
        return 0;
    case OPTION_KEY_OF:
        out->action = SW_LOAD_ACTION_KEY_OF;
        return read_number("key-of", 0, UINT64_MAX, &out->action_argument, message);
    case OPTION_VALUE_OF:
        out->action = SW_LOAD_ACTION_VALUE_OF;
        return read_number("value-of", 0, UINT64_MAX, &out->action_argument, message);
    case 'h':
        out->action = SW_LOAD_ACTION_HELP;
        return 0;
    case 'V':
        out->action = SW_LOAD_ACTION_VERSION;
        return 0;
    default:
        snprintf(message->text, message->bytes,
                 "unknown option, or one without its argument "
                 "(sherwood-load --help)");
        return -1;
    }
}

static int read_option(int option, struct sw_load_options *out, struct sw_load_given *given,
                       const struct message *message)
{
    int name = 0, status = 0;
    switch (option) {
    case 'a':
        out->address = optarg;
        return 0;
    case 'n':
        return read_number("keys", 1, SW_LOAD_KEYS_MAX, &out->keys, message);
    case OPTION_FIRST:
        return read_number("first", 0, SW_LOAD_KEYS_MAX, &out->first, message);
    case OPTION_FRAME_MIN:
        return read_u32("frame-min", SW_LOAD_FRAME_MAX, &out->frame_min, message);
    case 'f':
        return read_u32("frame", SW_LOAD_FRAME_MAX, &out->frame, message);
    case 'c':
        return read_u32("connections", SW_LOAD_CONNECTIONS_MAX, &out->connections, message);
    case 't':
        return read_u32("threads", SW_LOAD_THREADS_MAX, &out->threads, message);
    case 'd':
        return read_u32("depth", SW_LOAD_RESP_DEPTH_MAX, &out->depth, message);
    case 'o':
        given->operation = true;
        status = read_name("operation", operation_names, OPERATIONS_GIVEN, &name, message);
        out->operation = (enum sw_load_operation)name;
        return status;
    case OPTION_PROTOCOL:
        status = read_name("protocol", protocol_names, 2, &name, message);
        out->protocol = (enum sw_load_protocol)name;
        return status;
    case OPTION_MGET:
        return read_u32("mget", SW_LOAD_MGET_MAX, &out->mget, message);
    case OPTION_SEED:
        return read_number("seed", 0, UINT64_MAX, &out->seed, message);
    case OPTION_SECONDS:
        return read_real("seconds", SW_LOAD_SECONDS_MIN, SW_LOAD_SECONDS_MAX, &out->seconds,
                         message);
    case OPTION_KEY_BITS:
        given->key_bits = true;
        return read_u32("key-bits", 64, &out->key_bits, message);
    case OPTION_RATE:
        return read_number("rate", 1, SW_LOAD_RATE_MAX, &out->rate, message);
    case OPTION_DISTRIBUTION:
    case OPTION_THETA:
    case OPTION_MIX:
    case OPTION_YCSB:
    case OPTION_HIT_RATIO:
        return read_draws(option, out, given, message);
    default:
        return read_output(option, out, message);
    }
}

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
    if (out->threads == 0) {
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

int sw_load_options_parse(int argc, char **argv, struct sw_load_options *out, char *text,
                          size_t text_bytes)
{
    const struct message message = {text, text_bytes};
    *out = (struct sw_load_options){
        .address = "127.0.0.1:7379",
        .keys = SW_LOAD_KEYS_DEFAULT,
        .seed = SW_LOAD_SEED_DEFAULT,
        .frame = SW_LOAD_FRAME_DEFAULT,
        .mget = SW_LOAD_MGET_DEFAULT,
        .theta = SW_LOAD_THETA_DEFAULT,
        .hit_ratio = 1,
    };
    struct sw_load_given given = {.mix = false};
    optind = 0; /* a full reset of getopt, so that a process may parse more than once */
    opterr = 0;
    int option;
    while ((option = getopt_long(argc, argv, "a:n:f:c:t:d:o:qhV", long_options, NULL)) != -1) {
        if (read_option(option, out, &given, &message)) {
            return -1;
        }
    }
    if (optind < argc) {
        snprintf(text, text_bytes, "%s: there are no arguments besides options (--help)",
                 argv[optind]);
        return -1;
    }
    out->key_bits = given.key_bits ? out->key_bits : 64;
    fill_defaults(out);
    const char *wrong = sw_load_options_contradiction(out, &given);
    if (wrong) {
        snprintf(text, text_bytes, "%s", wrong);
        return -1;
    }
    return 0;
}
