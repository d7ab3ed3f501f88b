/* SPDX-License-Identifier: MIT
 *
 * options_check.c - finds options that are valid but contradict each other (see options_check.h).
 */
#include "bench/load/options_check.h"

#include <string.h>

/* Returns an error text for draws, mixes and rates that contradict each other, or NULL. */
static const char *contradiction_of_draws(const struct sw_load_options *options,
                                          const struct sw_load_given *given)
{
    const bool zipf =
        options->distribution == SW_LOAD_ZIPF || options->distribution == SW_LOAD_LATEST;
    if (given->mix && given->operation) {
        return "--mix and --ycsb replace --operation: leave it out";
    }
    if (given->hit_ratio && !(given->mix && options->mix.weights[SW_LOAD_MIX_GET])) {
        return "--hit-ratio needs a --mix with gets";
    }
    if (given->theta && !zipf) {
        return "--theta needs --distribution zipf or latest";
    }
    if (given->distribution && !given->mix && !(options->seconds > 0)) {
        return "--distribution needs --seconds (without them every key is used once) or --mix";
    }
    return NULL;
}

/* The same for the options of frames and of prefilled frames. */
static const char *contradiction_of_frames(const struct sw_load_options *options)
{
    const bool is_mix = options->operation == SW_LOAD_MIX;
    const bool is_all = options->frames_prefilled == SW_LOAD_PREFILLED_ALL;
    const bool is_timed = options->seconds > 0 && options->operation != SW_LOAD_SET_DELETE;
    if (options->frames_prefilled && options->protocol != SW_LOAD_BULK) {
        return "--frames-prefilled needs bulk frames: leave out --protocol resp";
    }
    if (is_all && (is_mix || is_timed)) {
        return "--frames-prefilled all needs phases that use every key once: leave out --seconds "
               "and --mix";
    }
    if (options->frames_prefilled && !is_all && !is_timed) {
        return "--frames-prefilled N needs a phase with --seconds: otherwise use "
               "--frames-prefilled all";
    }
    if (options->frames_prefilled && is_mix &&
        (options->mix.weights[SW_LOAD_MIX_INSERT] || options->hit_ratio < 1)) {
        return "--frames-prefilled sends the same keys again: use a mix with no inserts and no "
               "misses";
    }
    if (options->operation == SW_LOAD_DELETE && options->seconds > 0) {
        return "--operation delete deletes every key once: leave out --seconds";
    }
    if (options->operation == SW_LOAD_SET_DELETE && options->rate) {
        return "--operation set-delete is in closed loop: leave out --rate";
    }
    if (options->frame_min && (!is_timed || options->rate)) {
        return "--frame-min needs a phase with --seconds and without --rate";
    }
    if (options->ttl > 0 &&
        (options->operation == SW_LOAD_DELETE || options->operation == SW_LOAD_SET_DELETE)) {
        return "--operation delete and set-delete need keys that do not expire: with --ttl use "
               "--mix set=1,delete=1";
    }
    if (options->frame_min > options->frame) {
        return "--frame-min must be at most --frame";
    }
    return NULL;
}

/* The same for the options of shared memory. */
static const char *contradiction_of_region(const struct sw_load_options *options)
{
    if (!options->region) {
        return NULL;
    }
    if (strncmp(options->address, "unix:", strlen("unix:")) != 0) {
        return "--region shares memory with a server on this machine: use --address unix:/path";
    }
    if (options->connections != options->threads) {
        return "--region gives each connection a thread: set --threads to --connections, or leave "
               "it out";
    }
    if (options->frames_prefilled == SW_LOAD_PREFILLED_ALL) {
        return "--region needs frames that belong to a connection: leave out --frames-prefilled "
               "all";
    }
    if (options->ttl > 0) {
        return "--region cannot carry expiry times: leave out --ttl";
    }
    return options->splice != SW_LOAD_SPLICE_AUTO ? "--region sends no pages: leave out --splice"
                                                  : NULL;
}

/* The same for the options of several tables. */
static const char *contradiction_of_tables(const struct sw_load_options *options)
{
    if (options->tables == 0) {
        return options->segments ? "--segments needs --tables" : NULL;
    }
    if (options->protocol != SW_LOAD_BULK || options->cluster) {
        return "--tables needs bulk frames to one server: leave out --protocol resp and --cluster";
    }
    if (options->operation == SW_LOAD_MIX || options->frames_prefilled == SW_LOAD_PREFILLED_ALL ||
        options->frame_min) {
        return "--tables spreads full frames of sets, gets or deletes: leave out --mix, --ycsb, "
               "--frames-prefilled all and --frame-min";
    }
    if (options->keys % ((uint64_t)options->tables * options->frame) != 0) {
        return "--tables needs full frames: make --keys a multiple of --tables times --frame";
    }
    if (options->segments && (options->region || !options->no_found)) {
        return "--segments reads by the socket and checks values alone: use --no-found, and leave "
               "out --region";
    }
    return options->segments && options->frame % options->tables != 0
               ? "--segments needs a --frame that is a multiple of --tables"
               : NULL;
}

/* The same for the options of a cluster. */
static const char *contradiction_of_cluster(const struct sw_load_options *options)
{
    if (!options->cluster) {
        return NULL;
    }
    if (options->protocol != SW_LOAD_BULK) {
        return "--cluster needs bulk frames: leave out --protocol resp";
    }
    if (options->region) {
        return "--region shares memory with one server: leave out --cluster";
    }
    if (options->splice != SW_LOAD_SPLICE_AUTO) {
        return "--cluster copies what it sends to each node, so it sends no pages: leave out "
               "--splice";
    }
    if (options->idle_connections) {
        return "--idle-connections go to one server: leave out --cluster";
    }
    if (options->connections != options->threads) {
        return "--cluster gives each connection a thread: set --threads to --connections, at most "
               "256";
    }
    return NULL;
}

/* The same for options that only bulk frames support. */
static const char *contradiction_of_resp(const struct sw_load_options *options)
{
    if (options->operation == SW_LOAD_DELETE || options->operation == SW_LOAD_SET_DELETE) {
        return "--operation delete and set-delete need bulk frames: by RESP use --mix delete=1";
    }
    if (options->socket_buffer) {
        return "--socket-buffer needs bulk frames: leave out --protocol resp";
    }
    if (options->no_found) {
        return "--no-found needs bulk frames: leave out --protocol resp";
    }
    if (options->want_previous) {
        return "--want-previous needs bulk frames: leave out --protocol resp";
    }
    if (options->region) {
        return "--region needs bulk frames: leave out --protocol resp";
    }
    if (options->frame_min) {
        return "--frame-min needs bulk frames: leave out --protocol resp";
    }
    if (options->key_bits == 32 && options->first + options->keys > (1ULL << 32)) {
        return "--first plus --keys must be at most 2^32 keys with --key-bits 32";
    }
    return NULL;
}

const char *sw_load_options_contradiction(const struct sw_load_options *options,
                                          const struct sw_load_given *given)
{
    bool bulk = options->protocol == SW_LOAD_BULK;
    if (options->key_bits != 32 && options->key_bits != 64) {
        return "--key-bits must be 32 or 64";
    }
    if (options->action == SW_LOAD_ACTION_VALUE_OF && options->key_bits == 32 &&
        options->action_argument > UINT32_MAX) {
        return "--value-of: the key has more than 32 bits: use --key-bits 64";
    }
    if (options->action != SW_LOAD_ACTION_RUN) {
        return NULL;
    }
    if (bulk && given->key_bits) {
        return "--key-bits needs --protocol resp: a bulk server announces its own width";
    }
    if (bulk && options->operation == SW_LOAD_MGET) {
        return "--operation mget needs --protocol resp: a bulk get always has many keys";
    }
    if (bulk && options->depth > SW_LOAD_BULK_DEPTH_MAX) {
        return "--depth of bulk frames must be at most 1024";
    }
    if (options->splice != SW_LOAD_SPLICE_AUTO && !options->frames_prefilled) {
        return "--splice needs --frames-prefilled";
    }
    if (bulk && (options->connections + options->threads - 1) / options->threads >
                    SW_LOAD_BULK_THREAD_CONNECTIONS_MAX) {
        return "with bulk frames a thread has at most 256 connections: raise --threads";
    }
    if (options->idle_connections && strncmp(options->address, "tls://", 6) == 0) {
        return "--idle-connections do not use TLS: leave out tls://";
    }
    const char *wrong = contradiction_of_cluster(options);
    wrong = wrong || bulk ? wrong : contradiction_of_resp(options);
    wrong = wrong ? wrong : contradiction_of_draws(options, given);
    wrong = wrong ? wrong : contradiction_of_region(options);
    wrong = wrong ? wrong : contradiction_of_tables(options);
    return wrong ? wrong : contradiction_of_frames(options);
}
