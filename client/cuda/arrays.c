/* SPDX-License-Identifier: MIT
 *
 * arrays.c - the arrays of a call, their sizes, and parts of a call.
 */
#include "client/cuda/attached.h"
#include "proto/frame.h"

struct sherwood *sw_cuda_client_of(const struct sherwood_cuda *cuda,
                                   const struct sherwood_cuda_call *call)
{
    return call->table == 0 ? cuda->client : cuda->tables[SW_CUDA_TABLE_OF(call->table)].client;
}

uintptr_t sw_cuda_array_at(const struct sherwood_cuda_call *call, uint32_t array)
{
    const struct sherwood_cache none = {0};
    const struct sherwood_cache *cache = call->cache != NULL ? call->cache : &none;
    const void *arrays[SW_CUDA_ARRAYS] = {
        [SW_CUDA_KEYS] = call->keys,
        [SW_CUDA_VALUES] =
            sw_operation_has_operands((uint32_t)call->operation) ? call->values : NULL,
        [SW_CUDA_SCORES] = cache->scores,
        [SW_CUDA_TIMES] = call->times != NULL ? call->times->times_ms : NULL,
        [SW_CUDA_PREVIOUS] = call->previous,
        [SW_CUDA_FOUND] = call->found,
        [SW_CUDA_NOT_ADMITTED] = cache->not_admitted,
        [SW_CUDA_SCORES_OUT] = cache->scores_out,
        [SW_CUDA_EVICTED_KEYS] = cache->evicted_keys,
        [SW_CUDA_EVICTED_VALUES] = cache->evicted_values,
        [SW_CUDA_EVICTED_SCORES] = cache->evicted_scores,
    };
    return (uintptr_t)arrays[array];
}

const char *sw_cuda_array_name(const struct sherwood_cuda_call *call, uint32_t array)
{
    static const char *const names[SW_CUDA_ARRAYS] = {
        [SW_CUDA_KEYS] = "keys",
        [SW_CUDA_VALUES] = "values",
        [SW_CUDA_SCORES] = "scores",
        [SW_CUDA_TIMES] = "expiry times",
        [SW_CUDA_PREVIOUS] = "earlier values",
        [SW_CUDA_FOUND] = "found bits",
        [SW_CUDA_NOT_ADMITTED] = "bits of what was not admitted",
        [SW_CUDA_SCORES_OUT] = "scores of the reply",
        [SW_CUDA_EVICTED_KEYS] = "evicted keys",
        [SW_CUDA_EVICTED_VALUES] = "evicted values",
        [SW_CUDA_EVICTED_SCORES] = "scores of what was evicted",
    };
    return array == SW_CUDA_FOUND && call->flags != 0 ? "found bytes" : names[array];
}

uint64_t sw_cuda_array_bytes(const struct sherwood_cuda *cuda,
                             const struct sherwood_cuda_call *call, uint32_t array, uint64_t count)
{
    const struct sherwood_server *server = sherwood_server(sw_cuda_client_of(cuda, call));
    const struct sw_request request = {
        .operation = (uint32_t)call->operation,
        .value_bytes = server->value_bytes,
        .range_bytes = call->range_bytes,
        .operand_type = call->operand_type == server->value_type ? 0 : (uint32_t)call->operand_type,
    };
    switch ((enum sw_cuda_array)array) {
    case SW_CUDA_KEYS:
    case SW_CUDA_EVICTED_KEYS:
        return count * server->key_bytes;
    case SW_CUDA_VALUES:
        return count * sw_request_operand_bytes(&request);
    case SW_CUDA_PREVIOUS:
        return count * sw_request_answer_bytes(&request);
    case SW_CUDA_EVICTED_VALUES:
        return count * server->value_bytes;
    case SW_CUDA_FOUND:
        return call->flags != 0 ? (count + 7) / 8 * 8
                                : sherwood_found_words(count) * sizeof(uint64_t);
    case SW_CUDA_NOT_ADMITTED:
        return sherwood_found_words(count) * sizeof(uint64_t);
    default: /* scores, times */
        return count * sizeof(uint64_t);
    }
}

void sw_cuda_part_of(const struct sherwood_cuda_call *call, const uintptr_t arrays[SW_CUDA_ARRAYS],
                     uint64_t count, struct sw_cuda_part *part)
{
    part->call = *call;
    part->call.count = count;
    part->call.keys = (const void *)arrays[SW_CUDA_KEYS];
    part->call.values = (const void *)arrays[SW_CUDA_VALUES];
    part->call.previous = (void *)arrays[SW_CUDA_PREVIOUS];
    part->call.found = (void *)arrays[SW_CUDA_FOUND];
    if (call->cache != NULL) {
        part->cache = (struct sherwood_cache){
            .size = sizeof(part->cache),
            .scores = (const uint64_t *)arrays[SW_CUDA_SCORES],
            .scores_out = (uint64_t *)arrays[SW_CUDA_SCORES_OUT],
            .not_admitted = (uint64_t *)arrays[SW_CUDA_NOT_ADMITTED],
            .evicted_keys = (void *)arrays[SW_CUDA_EVICTED_KEYS],
            .evicted_values = (void *)arrays[SW_CUDA_EVICTED_VALUES],
            .evicted_scores = (uint64_t *)arrays[SW_CUDA_EVICTED_SCORES],
        };
        part->call.cache = &part->cache;
    }
    if (call->times != NULL) {
        part->times = *call->times;
        part->times.times_ms = (const uint64_t *)arrays[SW_CUDA_TIMES];
        part->call.times = &part->times;
    }
}

void sw_cuda_part_at(const struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                     uint64_t at, uint64_t count, struct sw_cuda_part *part)
{
    uintptr_t arrays[SW_CUDA_ARRAYS];
    for (uint32_t i = 0; i < SW_CUDA_ARRAYS; i++) {
        const uint64_t behind =
            i >= SW_CUDA_EVICTED_KEYS && call->_counts != NULL ? call->_counts->evicted_count : at;
        arrays[i] = sw_cuda_array_at(call, i);
        arrays[i] += arrays[i] == 0 ? 0 : sw_cuda_array_bytes(cuda, call, i, behind);
    }
    sw_cuda_part_of(call, arrays, count, part);
}

void sw_cuda_clear_counts(const struct sherwood_cuda_call *call)
{
    if (call->_counts != NULL) {
        call->_counts->evicted_count = call->_counts->not_admitted_count = 0;
    }
}

void sw_cuda_add_counts(const struct sw_cuda_part *part)
{
    if (part->call.cache != NULL && part->call._counts != NULL) {
        part->call._counts->evicted_count += part->cache.evicted_count;
        part->call._counts->not_admitted_count += part->cache.not_admitted_count;
    }
}

void sw_cuda_request_of(const struct sw_cuda_part *part, struct sherwood_request *request)
{
    const struct sherwood_cuda_call *call = &part->call;
    *request = (struct sherwood_request)SHERWOOD_REQUEST_INIT;
    request->operation = call->operation;
    request->flags = call->flags;
    request->keys = call->keys;
    request->values = call->values;
    request->count = (uint32_t)call->count;
    request->previous = call->previous;
    request->found = call->found;
    request->cache = call->cache;
    request->times = call->times;
    request->scale = call->scale;
    request->operand_type = call->operand_type;
    request->range_offset = call->range_offset;
    request->range_bytes = call->range_bytes;
}
