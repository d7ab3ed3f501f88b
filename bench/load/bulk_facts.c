/* SPDX-License-Identifier: MIT
 *
 * bulk_facts.c - compares the options with the facts of the server (see bulk.h).
 */
#include "bench/load/bulk.h"

#include <stdio.h>

/* Sets the format of the values, and the length of values that are bytes. */
static int choose_values(const struct sw_load_options *options, const struct sherwood_server *facts,
                         struct sw_load_server *server, char *error)
{
    const uint32_t room =
        facts->value_format == SHERWOOD_VALUES_STRING ? facts->value_bytes - 4 : facts->value_bytes;
    const bool is_integer = facts->value_format == SHERWOOD_VALUES_INTEGER;
    server->format = is_integer                                      ? SW_LOAD_VALUES_INTEGER
                     : facts->value_format == SHERWOOD_VALUES_STRING ? SW_LOAD_VALUES_STRING
                                                                     : SW_LOAD_VALUES_FIXED;
    server->content_bytes = options->value_bytes ? options->value_bytes : room;
    if (is_integer && options->value_bytes) {
        snprintf(error, SW_LOAD_ERROR_BYTES,
                 "the server's values are integers (its engine is %s): leave out --value-bytes",
                 facts->engine);
        return SW_LOAD_E_USAGE;
    }
    if (facts->value_bytes > SW_LOAD_VALUE_BYTES_MAX || server->content_bytes > room ||
        (server->format == SW_LOAD_VALUES_FIXED && server->content_bytes != room)) {
        snprintf(error, SW_LOAD_ERROR_BYTES,
                 "the server's values have %s %u bytes: use --value-bytes %u",
                 server->format == SW_LOAD_VALUES_FIXED ? "exactly" : "at most", room, room);
        return SW_LOAD_E_USAGE;
    }
    return SW_LOAD_OK;
}

/* Checks that the server's limits allow what the options request. */
static int check_limits(const struct sw_load_options *options, const struct sherwood_server *facts,
                        uint32_t connections, char *error)
{
    if (options->frame > facts->frame_ops_max) {
        snprintf(error, SW_LOAD_ERROR_BYTES,
                 "the server takes at most %u keys a frame: use --frame %u", facts->frame_ops_max,
                 facts->frame_ops_max);
        return SW_LOAD_E_USAGE;
    }
    uint32_t depth_max = facts->requests_in_flight_max / connections;
    if (options->depth > depth_max) {
        snprintf(error, SW_LOAD_ERROR_BYTES,
                 "the server takes fewer frames in flight a connection: use --depth %u", depth_max);
        return SW_LOAD_E_USAGE;
    }
    if (options->ttl > 0 && !facts->takes_times) {
        snprintf(error, SW_LOAD_ERROR_BYTES,
                 "the server has no expiry times (its engine is %s): leave out --ttl",
                 facts->engine);
        return SW_LOAD_E_USAGE;
    }
    if (facts->key_bytes == 4 && options->first + options->keys > (1ULL << 32)) {
        snprintf(error, SW_LOAD_ERROR_BYTES,
                 "the server's keys have 32 bits: --first plus --keys must be at most 4294967296");
        return SW_LOAD_E_USAGE;
    }
    return SW_LOAD_OK;
}

int sw_load_bulk_facts(const struct sw_load_options *options, const struct sherwood_server *facts,
                       uint32_t connections, struct sw_load_server *server, char *error)
{
    const int status = check_limits(options, facts, connections, error);
    if (status) {
        return status;
    }
    snprintf(server->version, sizeof(server->version), "%s", facts->version);
    snprintf(server->backend, sizeof(server->backend), "%s", facts->backend);
    snprintf(server->engine, sizeof(server->engine), "%s", facts->engine);
    server->key_bytes = facts->key_bytes;
    server->value_bytes = facts->value_bytes;
    return choose_values(options, facts, server, error);
}
