/* SPDX-License-Identifier: MIT
 *
 * options.h - the command line of sherwood-load.
 */
#ifndef SHERWOOD_LOAD_OPTIONS_H
#define SHERWOOD_LOAD_OPTIONS_H

#include "bench/load/limits.h"
#include "bench/load/mix.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sw_load_protocol { SW_LOAD_BULK, SW_LOAD_RESP };

/* When prefilled frames are sent as pages. AUTO: by Unix sockets only. */
enum sw_load_splice { SW_LOAD_SPLICE_AUTO, SW_LOAD_SPLICE_ALWAYS, SW_LOAD_SPLICE_NEVER };

/* Operations of a run. FILL and CHECK are phases of MIX, not operations of the command line. */
enum sw_load_operation {
    SW_LOAD_SET_GET,
    SW_LOAD_SET,
    SW_LOAD_GET,
    SW_LOAD_MGET,
    SW_LOAD_DELETE,
    SW_LOAD_SET_DELETE,
    SW_LOAD_MIX,
    SW_LOAD_FILL,
    SW_LOAD_CHECK
};

/* What to do instead of a run. */
enum sw_load_action {
    SW_LOAD_ACTION_RUN,
    SW_LOAD_ACTION_HELP,
    SW_LOAD_ACTION_VERSION,
    SW_LOAD_ACTION_KEY_OF,
    SW_LOAD_ACTION_VALUE_OF
};

struct sw_load_options {
    enum sw_load_action action;
    uint64_t action_argument; /* KEY_OF: an index. VALUE_OF: a key */
    const char *address;      /* borrowed from argv */
    /* for addresses with tls://; PEM files; borrowed; NULL: none */
    const char *cacert, *cert, *key, *sni;
    bool insecure;
    /* the login; borrowed; NULL: none. main.c reads the password from the file or the environment
     */
    const char *user, *pass_file, *password;
    enum sw_load_protocol protocol;
    enum sw_load_operation operation;
    uint64_t first; /* number of the first key */
    uint64_t keys;
    uint64_t seed;
    double ttl;         /* seconds until a key expires after a set; 0: never */
    uint32_t frame;     /* bulk: keys a frame */
    uint32_t frame_min; /* bulk, timed phase: frames have frame_min to `frame` keys */
    uint32_t mget;      /* RESP mget: keys a command */
    uint32_t connections;
    uint32_t threads; /* at most `connections` */
    uint32_t depth;
    double seconds;    /* 0: every key once, or in a mix one operation for each key. set-delete
                        * repeats until this time */
    uint64_t rate;     /* keys per second in the timed phase; 0: closed loop */
    uint32_t key_bits; /* 32 or 64, for RESP, --key-of and --value-of; the server sends it to bulk
                          clients */
    enum sw_load_distribution_kind distribution;
    double theta;           /* of zipf and latest */
    struct sw_load_mix mix; /* only if the operation is MIX */
    double hit_ratio;       /* share of the gets whose key exists */
    bool no_verify;
    bool no_found; /* bulk: requests decline the found bitmap, except in the check of a mix */
    uint32_t value_bytes; /* bulk: length of values that are bytes; 0: the server's maximum */
    bool want_previous;   /* bulk: writes request the earlier value of each key */
    /* bulk: frames that each thread draws before the timed phase; 0: none. SW_LOAD_PREFILLED_ALL:
     * all frames of the phases that use every key once */
    uint32_t frames_prefilled;
    bool cluster; /* bulk: the address names nodes of a cluster, separated by commas */
    bool region;  /* bulk: arrays lie in memory that is shared with the server */
    uint32_t
        tables;    /* bulk: number of tables that the keys are spread over; 0: the default table */
    bool segments; /* bulk: a frame of gets has keys of every table */
    enum sw_load_splice splice;
    uint32_t socket_buffer; /* bulk: bytes; 0: libsherwood's choice */
    uint32_t idle_connections;
    const char *series; /* a file, or NULL; borrowed from argv */
    const char *csv;    /* a file, or NULL; borrowed from argv */
    bool json;
    bool quiet;
};

/* Reads the command line. On success `out` is complete; for the action HELP it has printed the
 * help. Returns 0, or -1 with one sentence in `text`. Allocates nothing; keeps pointers into argv.
 */
int sw_load_options_parse(int argc, char **argv, struct sw_load_options *out, char *text,
                          size_t text_bytes);

/* Parses digits, with an optional K, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (powers of 1024).
 * Returns false for anything else and for values above `max`. */
bool sw_load_number_parse(const char *text, uint64_t max, uint64_t *out);

/* Returns the expiry time of sets in milliseconds. */
static inline uint64_t sw_load_ttl_ms(const struct sw_load_options *options)
{
    return (uint64_t)(options->ttl * 1000 + 0.5);
}

const char *sw_load_protocol_name(enum sw_load_protocol protocol);
const char *sw_load_distribution_name(enum sw_load_distribution_kind kind);
const char *sw_load_operation_name(enum sw_load_operation operation);

#endif
