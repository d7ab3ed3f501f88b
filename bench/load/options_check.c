/* SPDX-License-Identifier: MIT
 *
 * options_check.c - options that are each right and do not go together (see options_check.h).
 */
#include "bench/load/options_check.h"

#include <string.h>

/* Returns what is wrong with draws, mixes and rates that are each right, or NULL. */
static const char *contradiction_of_draws(const struct sw_load_options *options,
                                          const struct sw_load_given *given)
{
    const bool zipf =
        options->distribution == SW_LOAD_ZIPF || options->distribution == SW_LOAD_LATEST;
    if (given->mix && given->operation) {
        return "--mix and --ycsb are operations: --operation cannot be given too";
    }
    if (given->hit_ratio && !(given->mix && options->mix.weights[SW_LOAD_MIX_GET])) {
        return "--hit-ratio is of the gets of a --mix";
    }
    if (given->theta && !zipf) {
        return "--theta is for --distribution zipf or latest";
    }
    if (given->distribution && !given->mix && !(options->seconds > 0)) {
        return "--distribution needs --seconds (without them every key is used once) or --mix";
    }
    return NULL;
}

/* The same of frames and of what is drawn before. */
static const char *contradiction_of_frames(const struct sw_load_options *options)
{
    const bool is_mix = options->operation == SW_LOAD_MIX;
    const bool is_all = options->frames_prefilled == SW_LOAD_PREFILLED_ALL;
    const bool is_timed = options->seconds > 0 && options->operation != SW_LOAD_SET_DELETE;
    if (options->frames_prefilled && options->protocol != SW_LOAD_BULK) {
        return "--frames-prefilled is for bulk frames";
    }
    if (is_all && (is_mix || is_timed)) {
        return "--frames-prefilled all is for phases of every key once, without --seconds";
    }
    if (options->frames_prefilled && !is_all && !is_timed) {
        return "--frames-prefilled is for a phase with --seconds; otherwise all can be drawn "
               "before";
    }
    if (options->frames_prefilled && is_mix &&
        (options->mix.weights[SW_LOAD_MIX_INSERT] || options->hit_ratio < 1)) {
        return "--frames-prefilled sends the same keys again: no inserts and no misses in its mix";
    }
    if (options->operation == SW_LOAD_DELETE && options->seconds > 0) {
        return "--operation delete deletes every key once: --seconds cannot be given too";
    }
    if (options->operation == SW_LOAD_SET_DELETE && options->rate) {
        return "--operation set-delete is in closed loop: --rate cannot be given too";
    }
    if (options->frame_min && (!is_timed || options->rate)) {
        return "--frame-min is for a phase with --seconds and without --rate";
    }
    if (options->ttl > 0 &&
        (options->operation == SW_LOAD_DELETE || options->operation == SW_LOAD_SET_DELETE)) {
        return "--operation delete and set-delete need keys that stay: not with --ttl, use "
               "--mix set=1,delete=1";
    }
    if (options->frame_min > options->frame) {
        return "--frame-min is more than --frame";
    }
    return NULL;
}

/* The same of memory that is shared with the server. */
static const char *contradiction_of_region(const struct sw_load_options *options)
{
    if (!options->region) {
        return NULL;
    }
    if (strncmp(options->address, "unix:", strlen("unix:")) != 0) {
        return "--region shares memory with a server of this machine: --address unix:/path";
    }
    if (options->connections != options->threads) {
        return "--region: each connection has a thread of its own, so that --threads is "
               "--connections";
    }
    if (options->frames_prefilled == SW_LOAD_PREFILLED_ALL) {
        return "--region: the frames of --frames-prefilled all are of no connection";
    }
    if (options->ttl > 0) {
        return "--region: frames with times go by the socket: not with --ttl";
    }
    return options->splice != SW_LOAD_SPLICE_AUTO ? "--region sends no pages: no --splice" : NULL;
}

/* The same of a cluster. */
static const char *contradiction_of_cluster(const struct sw_load_options *options)
{
    if (!options->cluster) {
        return NULL;
    }
    if (options->protocol != SW_LOAD_BULK) {
        return "--cluster is for bulk frames";
    }
    if (options->region) {
        return "--region shares memory with one server: not with --cluster";
    }
    if (options->splice != SW_LOAD_SPLICE_AUTO) {
        return "--cluster: libsherwood copies what it sends to each node, so that there are no "
               "pages: no --splice";
    }
    if (options->idle_connections) {
        return "--idle-connections are of one server: not with --cluster";
    }
    if (options->connections != options->threads) {
        return "--cluster: each connection has a thread of its own, so that --threads is "
               "--connections, at most 256";
    }
    return NULL;
}

/* The same of what only bulk frames have. */
static const char *contradiction_of_resp(const struct sw_load_options *options)
{
    if (options->operation == SW_LOAD_DELETE || options->operation == SW_LOAD_SET_DELETE) {
        return "--operation delete and set-delete are for bulk frames; by RESP, --mix delete=1";
    }
    if (options->socket_buffer) {
        return "--socket-buffer is for bulk frames";
    }
    if (options->no_found) {
        return "--no-found is for bulk frames";
    }
    if (options->want_previous) {
        return "--want-previous is for bulk frames";
    }
    if (options->region) {
        return "--region is for bulk frames";
    }
    if (options->frame_min) {
        return "--frame-min is for bulk frames";
    }
    if (options->key_bits == 32 && options->first + options->keys > (1ULL << 32)) {
        return "there are only 2^32 keys of 32 bits";
    }
    return NULL;
}

const char *sw_load_options_contradiction(const struct sw_load_options *options,
                                          const struct sw_load_given *given)
{
    bool bulk = options->protocol == SW_LOAD_BULK;
    if (options->key_bits != 32 && options->key_bits != 64) {
        return "--key-bits is 32 or 64";
    }
    if (options->action == SW_LOAD_ACTION_VALUE_OF && options->key_bits == 32 &&
        options->action_argument > UINT32_MAX) {
        return "--value-of: the key has more than 32 bits";
    }
    if (options->action != SW_LOAD_ACTION_RUN) {
        return NULL;
    }
    if (bulk && given->key_bits) {
        return "--key-bits is for --protocol resp: a bulk server says its own width";
    }
    if (bulk && options->operation == SW_LOAD_MGET) {
        return "--operation mget needs --protocol resp (a bulk get is always of many keys)";
    }
    if (bulk && options->depth > SW_LOAD_BULK_DEPTH_MAX) {
        return "--depth of bulk frames is at most 1024";
    }
    if (options->splice != SW_LOAD_SPLICE_AUTO && !options->frames_prefilled) {
        return "--splice is of --frames-prefilled";
    }
    if (bulk && (options->connections + options->threads - 1) / options->threads >
                    SW_LOAD_BULK_THREAD_CONNECTIONS_MAX) {
        return "by bulk frames a thread has at most 256 connections: more --threads are needed";
    }
    if (options->idle_connections && strncmp(options->address, "tls://", 6) == 0) {
        return "--idle-connections are plain: not with tls://";
    }
    const char *wrong = contradiction_of_cluster(options);
    wrong = wrong || bulk ? wrong : contradiction_of_resp(options);
    wrong = wrong ? wrong : contradiction_of_draws(options, given);
    wrong = wrong ? wrong : contradiction_of_region(options);
    return wrong ? wrong : contradiction_of_frames(options);
}
