/* SPDX-License-Identifier: MIT
 *
 * plan.c - computes the sizes of a run before it starts (see plan.h).
 */
#include "bench/load/plan.h"

#include "bench/load/resp_client.h"
#include "proto/plural.h"

#include <stdio.h>

uint32_t sw_load_unit_keys(const struct sw_load_options *options, enum sw_load_operation operation)
{
    if (options->protocol == SW_LOAD_BULK) {
        return options->frame;
    }
    return options->depth * (operation == SW_LOAD_MGET ? options->mget : 1);
}

int sw_load_plan_memory(const struct sw_load_options *options,
                        const struct sw_load_workload *workload, char *error)
{
    const bool is_all = options->frames_prefilled == SW_LOAD_PREFILLED_ALL;
    if (options->operation == SW_LOAD_MGET &&
        (uint64_t)options->depth * options->mget > SW_LOAD_FRAME_MAX) {
        snprintf(error, SW_LOAD_ERROR_BYTES,
                 "--depth times --mget must be at most %u keys: lower one of them",
                 SW_LOAD_FRAME_MAX);
        return SW_LOAD_E_USAGE;
    }
    const struct sw_load_workload usual = {.key_bytes = 8, .value_bytes = 8};
    const struct sw_load_workload *widths = workload ? workload : &usual;
    const uint64_t pair = widths->key_bytes + widths->value_bytes;
    uint64_t bytes =
        sw_load_resp_bytes(sw_load_unit_keys(options, options->operation), 8, options->value_bytes);
    if (options->protocol == SW_LOAD_BULK) {
        /* A frame: keys, values to send and to receive, and the bitmap. */
        bytes = (uint64_t)options->depth * options->frame * (pair + widths->value_bytes + 1);
        bytes *= options->cluster ? 2 : 1; /* libsherwood copies the arrays once more */
        bytes += is_all ? 0 : (uint64_t)options->frames_prefilled * options->frame * pair;
    }
    bytes *= options->connections;
    if (is_all) {
        uint64_t frames = (options->keys + options->frame - 1) / options->frame;
        bytes += sw_load_prefill_bytes(widths, frames < UINT32_MAX ? (uint32_t)frames : UINT32_MAX,
                                       options->frame);
    }
    if (bytes <= SW_LOAD_BUFFER_BYTES_MAX) {
        return SW_LOAD_OK;
    }
    snprintf(
        error, SW_LOAD_ERROR_BYTES,
        "%u connection%s with this much in flight need%s %llu MiB of buffers, above the limit of "
        "%llu MiB: lower --connections, --depth or --frame",
        options->connections, sw_plural_s(options->connections),
        sw_plural(options->connections, "s", ""), (unsigned long long)(bytes >> 20),
        (unsigned long long)(SW_LOAD_BUFFER_BYTES_MAX >> 20));
    return SW_LOAD_E_USAGE;
}

int sw_load_plan_partitions(const struct sw_load_options *options,
                            const struct sw_load_workload *workload,
                            struct sw_load_partition_setup *out, char *error)
{
    const bool bulk = options->protocol == SW_LOAD_BULK;
    const uint64_t partitions = (uint64_t)options->connections * (bulk ? options->depth : 1);
    /* INCRBY refuses to overflow (redis: 63 bits), so operands leave two bits free. */
    const bool is_narrow = !bulk && options->mix.weights[SW_LOAD_MIX_SUM];
    const uint32_t value_bits = workload->value_bytes * 8;
    *out = (struct sw_load_partition_setup){
        .workload = workload,
        .mix = &options->mix,
        .distribution = options->distribution,
        .theta = options->theta,
        .hit_ratio = options->hit_ratio,
        .set_mask = is_narrow ? (1ULL << (value_bits - 2)) - 1 : UINT64_MAX,
        .sum_mask = !is_narrow         ? UINT64_MAX
                    : value_bits == 32 ? 1
                                       : UINT16_MAX,
        .unit_keys = sw_load_unit_keys(options, SW_LOAD_MIX),
        .per_key = !bulk,
        .verify = !options->no_verify,
        .ttl_ns = sw_load_ttl_ms(options) * 1000000,
        .partitions = (uint32_t)partitions,
    };
    if (workload->format != SW_LOAD_VALUES_INTEGER) {
        snprintf(
            error, SW_LOAD_ERROR_BYTES,
            "the server's values are bytes: a mix needs integers, because it checks their sums");
        return SW_LOAD_E_USAGE;
    }
    if (options->keys < partitions) {
        snprintf(error, SW_LOAD_ERROR_BYTES,
                 "a mix needs a key for each of the %llu units in flight: raise --keys",
                 (unsigned long long)partitions);
        return SW_LOAD_E_USAGE;
    }
    if (workload->key_bytes == 4 && options->first + options->keys > SW_LOAD_MIX_KEYS_MAX_32) {
        snprintf(error, SW_LOAD_ERROR_BYTES,
                 "a mix on keys of 32 bits has at most 2^30 keys: lower --keys or --first");
        return SW_LOAD_E_USAGE;
    }
    uint64_t bytes = sw_load_partitions_bytes(out);
    if (bytes > SW_LOAD_BUFFER_BYTES_MAX) {
        snprintf(error, SW_LOAD_ERROR_BYTES,
                 "the model of this mix needs %llu MiB, above the limit of %llu MiB: lower --keys",
                 (unsigned long long)(bytes >> 20),
                 (unsigned long long)(SW_LOAD_BUFFER_BYTES_MAX >> 20));
        return SW_LOAD_E_USAGE;
    }
    return SW_LOAD_OK;
}
