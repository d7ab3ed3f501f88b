/* SPDX-License-Identifier: MIT
 *
 * limits.c - limits that depend on each other and on the size of values: replaces 0 by a derived
 * default, and checks the results.
 */
#include <stdio.h>

#include "proto/frame.h"
#include "proto/resp.h"
#include "server/config/options.h"
#include "server/limits.h"

/* Largest derived defaults. */
#define FRAME_OPS_STANDARD (1U << 20)
#define ROUND_OPS_STANDARD (128U << 10)
#define RESP_ARGUMENTS_STANDARD (128U << 10)
#define BATCH_BYTES_STANDARD (256ULL << 20)
/* Bytes of a RESP batch for an operation, without operand and previous value, and for its flight
 * and the padding of its arrays. */
#define BATCH_OPERATION_BYTES 80U
#define BATCH_BYTES 2048U
/* Every frame may hold this many keys, since clients split their arrays at multiples of it. */
#define FRAME_OPS_MIN 64U
/* The longest command that does not take a list has this many arguments. */
#define RESP_ARGUMENTS_MIN 8U
/* Bytes that a bulk string takes in addition to its contents: at most "$4096\r\n" and "\r\n". */
#define BULK_STRING_BYTES 9U

#define ULL(value) ((unsigned long long)(value))

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* --- sizes ------------------------------------------------------------------------------------ */

/* Computes the bytes of a bulk request with `count` keys and values, and of its reply. */
static void frame_bytes(const struct sw_config *config, uint64_t count, uint64_t *request,
                        uint64_t *reply)
{
    uint64_t keys = sw_frame_align(count * config->key_bits / 8);
    uint64_t values = sw_frame_align(count * sw_config_stored_bytes(config));
    *request = SW_FRAME_HEAD_BYTES_MAX + keys + values;
    *reply = SW_FRAME_HEAD_BYTES_MAX + values + sw_frame_align(sw_found_bytes((uint32_t)count));
}

/* Returns how many keys a frame can have if it and its reply take at most `bytes`. */
static uint64_t frame_ops_in(const struct sw_config *config, uint64_t bytes)
{
    uint64_t key = config->key_bits / 8, value = sw_config_stored_bytes(config);
    /* `heads` is at least the bytes of both heads and the padding. The divisor counts a byte per
     * key for the found bits. The reply has one bit per key. */
    uint64_t heads = 2ULL * (SW_FRAME_HEAD_BYTES_MAX + 2 * SW_FRAME_ALIGN);
    return (least(bytes, SW_FRAME_BYTES_MAX) - heads) / (key + 2 * value + 1);
}

/* An operation of a RESP batch has a key, an operand and an earlier value. */
static uint64_t operation_bytes(const struct sw_config *config)
{
    return config->key_bits / 8 + 2ULL * sw_config_stored_bytes(config);
}

/* Returns an upper bound of the bytes of a RESP batch and its pending replies (resp/resp_memory.h).
 */
static uint64_t batch_bytes(const struct sw_config *config)
{
    const uint64_t stored = sw_config_stored_bytes(config);
    return BATCH_BYTES + stored + config->round_ops_max * (BATCH_OPERATION_BYTES + 2 * stored);
}

/* Returns the size of the longest reply to a GET. */
static uint64_t reply_bytes(const struct sw_config *config)
{
    uint64_t stored = sw_config_stored_bytes(config);
    switch (sw_config_value_format(config)) {
    case SW_VALUE_STRING:
        return BULK_STRING_BYTES + stored - SW_VALUE_LENGTH_BYTES;
    case SW_VALUE_FIXED:
        return BULK_STRING_BYTES + stored;
    default:
        return SW_RESP_INTEGER_BYTES_MAX;
    }
}

/* Returns the number of arguments, name included, of the longest MGET whose reply takes at most
 * `bytes`. */
static uint64_t mget_arguments_in(const struct sw_config *config, uint64_t bytes)
{
    return 1 + (bytes - SW_RESP_INTEGER_BYTES_MAX) / reply_bytes(config);
}

static uint64_t mget_reply_bytes(const struct sw_config *config)
{
    return SW_RESP_INTEGER_BYTES_MAX + (config->resp_arguments_max - 1) * reply_bytes(config);
}

/* --- defaults --------------------------------------------------------------------------------- */

void sw_config_fit(struct sw_config *config)
{
    if (config->frame_ops_max == 0) {
        config->derived |= SW_DERIVED_FRAME_OPS;
        /* half of the arena, so that there is room for a frame while the reply to another is sent
         */
        uint64_t fit = frame_ops_in(config, config->arena_bytes / 2);
        fit = fit < FRAME_OPS_MIN ? FRAME_OPS_MIN : fit / FRAME_OPS_MIN * FRAME_OPS_MIN;
        config->frame_ops_max = (uint32_t)least(fit, FRAME_OPS_STANDARD);
    }
    if (config->round_ops_max == 0) {
        config->derived |= SW_DERIVED_ROUND_OPS;
        config->round_ops_max =
            (uint32_t)least(SW_ROUND_BYTES_USUAL / operation_bytes(config), ROUND_OPS_STANDARD);
    }
    if (config->resp_batch_bytes == 0) {
        const uint64_t bytes = 2 * config->resp_batches_max * batch_bytes(config);
        config->derived |= SW_DERIVED_BATCH_BYTES;
        config->resp_batch_bytes = bytes < BATCH_BYTES_STANDARD ? BATCH_BYTES_STANDARD : bytes;
    }
    if (config->resp_arguments_max == 0) {
        config->derived |= SW_DERIVED_ARGUMENTS;
        uint64_t fit = mget_arguments_in(config, config->output_bytes_max);
        fit = least(least(fit, config->round_ops_max), RESP_ARGUMENTS_STANDARD);
        config->resp_arguments_max = fit < RESP_ARGUMENTS_MIN ? RESP_ARGUMENTS_MIN : (uint32_t)fit;
    }
    if (config->capacity == SW_CONFIG_AUTO || config->max_capacity == SW_CONFIG_AUTO) {
        struct sw_config_memory memory;
        sw_config_ask_memory(config, &memory);
        sw_config_fit_table(config, &memory);
    }
}

/* --- checks ----------------------------------------------------------------------------------- */

static int check_frames(const struct sw_config *config, char *error, size_t error_bytes)
{
    uint64_t request = 0, reply = 0;
    if (config->frame_ops_max < FRAME_OPS_MIN) {
        snprintf(error, error_bytes,
                 "frame-ops-max %u is too small: set at least %u, because clients split their "
                 "arrays at multiples of it",
                 config->frame_ops_max, FRAME_OPS_MIN);
        return -1;
    }
    frame_bytes(config, config->frame_ops_max, &request, &reply);
    if (request + reply > config->arena_bytes) {
        snprintf(error, error_bytes,
                 "arena-bytes %llu cannot hold one frame of frame-ops-max %u keys, %u bytes a "
                 "value, and its reply: raise it to %llu, or lower frame-ops-max to %llu",
                 ULL(config->arena_bytes), config->frame_ops_max, sw_config_stored_bytes(config),
                 ULL(request + reply), ULL(frame_ops_in(config, config->arena_bytes)));
        return -1;
    }
    if (request > SW_FRAME_BYTES_MAX || reply > SW_FRAME_BYTES_MAX) {
        snprintf(error, error_bytes,
                 "a frame of frame-ops-max %u keys, %u bytes a value, has more than %llu bytes: "
                 "lower frame-ops-max to %llu",
                 config->frame_ops_max, sw_config_stored_bytes(config), ULL(SW_FRAME_BYTES_MAX),
                 ULL(frame_ops_in(config, SW_FRAME_BYTES_MAX)));
        return -1;
    }
    return 0;
}

static int check_batches(const struct sw_config *config, char *error, size_t error_bytes)
{
    if (config->round_ops_max > SW_ROUND_BYTES_MAX / operation_bytes(config)) {
        snprintf(error, error_bytes,
                 "a batch of round-ops-max %u operations, %u bytes a value, takes %llu bytes, and "
                 "%llu is the most: lower round-ops-max to %llu",
                 config->round_ops_max, sw_config_stored_bytes(config),
                 ULL(config->round_ops_max * operation_bytes(config)), ULL(SW_ROUND_BYTES_MAX),
                 ULL(SW_ROUND_BYTES_MAX / operation_bytes(config)));
        return -1;
    }
    if (config->resp_arguments_max < RESP_ARGUMENTS_MIN) {
        snprintf(error, error_bytes,
                 "resp-arguments-max %u is too small: set at least %u, which some commands have",
                 config->resp_arguments_max, RESP_ARGUMENTS_MIN);
        return -1;
    }
    if (config->resp_arguments_max > config->round_ops_max) {
        snprintf(error, error_bytes,
                 "resp-arguments-max %u is more than round-ops-max %u: a command's keys go into "
                 "one batch; raise round-ops-max or lower resp-arguments-max",
                 config->resp_arguments_max, config->round_ops_max);
        return -1;
    }
    if (config->resp_request_bytes_max > config->arena_bytes / 4) {
        snprintf(error, error_bytes,
                 "resp-request-bytes-max %llu is more than a quarter of arena-bytes %llu: lower it "
                 "or raise arena-bytes",
                 ULL(config->resp_request_bytes_max), ULL(config->arena_bytes));
        return -1;
    }
    if (config->resp_request_bytes_max > config->input_bytes_max / 2) {
        snprintf(error, error_bytes,
                 "input-bytes-max %llu is less than two requests of resp-request-bytes-max %llu "
                 "take: raise it or lower resp-request-bytes-max",
                 ULL(config->input_bytes_max), ULL(config->resp_request_bytes_max));
        return -1;
    }
    return 0;
}

static int check_output(const struct sw_config *config, char *error, size_t error_bytes)
{
    if (mget_reply_bytes(config) > config->output_bytes_max) {
        snprintf(error, error_bytes,
                 "output-bytes-max %llu is smaller than the longest reply to an MGET of "
                 "resp-arguments-max %u: raise it to %llu, or lower resp-arguments-max to %llu",
                 ULL(config->output_bytes_max), config->resp_arguments_max,
                 ULL(mget_reply_bytes(config)),
                 ULL(mget_arguments_in(config, config->output_bytes_max)));
        return -1;
    }
    if (config->output_bytes_pause > config->output_bytes_max) {
        snprintf(error, error_bytes,
                 "output-bytes-pause %llu is more than output-bytes-max %llu: lower "
                 "output-bytes-pause or raise output-bytes-max",
                 ULL(config->output_bytes_pause), ULL(config->output_bytes_max));
        return -1;
    }
    return 0;
}

static int check_memory(const struct sw_config *config, char *error, size_t error_bytes)
{
    if (config->memory_max != 0 && config->memory_min > config->memory_max) {
        snprintf(error, error_bytes,
                 "memory-min %llu is more than memory-max %llu: raise memory-max, or lower "
                 "memory-min",
                 (unsigned long long)config->memory_min, (unsigned long long)config->memory_max);
        return -1;
    }
    if (config->memory_min != 0 && config->memory_min > config->tables_memory_max) {
        snprintf(error, error_bytes,
                 "memory-min %llu is more than tables-memory-max %llu: raise tables-memory-max, or "
                 "lower memory-min",
                 (unsigned long long)config->memory_min,
                 (unsigned long long)config->tables_memory_max);
        return -1;
    }
    return 0;
}

int sw_config_check_limits(const struct sw_config *config, char *error, size_t error_bytes)
{
    return check_frames(config, error, error_bytes) != 0 ||
                   check_batches(config, error, error_bytes) != 0 ||
                   check_output(config, error, error_bytes) != 0 ||
                   check_memory(config, error, error_bytes) != 0
               ? -1
               : 0;
}

int sw_config_check_batch_bytes(const struct sw_config *config, const struct sw_config *first,
                                char *error, size_t error_bytes)
{
    const uint64_t needs = 2 * batch_bytes(first) + batch_bytes(config);
    if (needs > first->resp_batch_bytes && (first->derived & SW_DERIVED_BATCH_BYTES) == 0) {
        snprintf(error, error_bytes,
                 "resp-batch-bytes %llu cannot hold two RESP batches of the default table, and one "
                 "of round-ops-max %u operations, %u bytes a value: raise it to %llu, or lower "
                 "round-ops-max",
                 ULL(first->resp_batch_bytes), config->round_ops_max,
                 sw_config_stored_bytes(config), ULL(needs));
        return -1;
    }
    return 0;
}

/* Direct reads see neither the log nor the role of the server. */
int sw_config_check_direct_reads(const struct sw_config *config, char *error, size_t error_bytes)
{
    const bool integers =
        !sw_config_has_rows(config) && sw_config_stored_bytes(config) == config->key_bits / 8;
    const char *other = config->ha[0] != '\0'          ? "ha"
                        : config->replicaof[0] != '\0' ? "replicaof"
                        : sw_config_in_cluster(config) ? "cluster-config"
                        : config->read_durable != 0    ? "read-durable"
                        : config->ids > 0              ? "ids"
                        : !integers                    ? "value-type"
                                                       : NULL;
    if (config->direct_readers_max > 0 && other != NULL) {
        snprintf(error, error_bytes,
                 "direct-readers-max is %u and %s is set: clients that read the table themselves "
                 "need integer values on one server; leave direct-readers-max out",
                 config->direct_readers_max, other);
        return -1;
    }
    return 0;
}
