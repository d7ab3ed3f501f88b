/* SPDX-License-Identifier: MIT
 *
 * cache.c - checks the arrays of a cache, and computes how many keys with such arrays fit into a
 * frame.
 */
#include "client/cache.h"

#include "client/error.h"
#include "client/handle.h"

int sw_client_cache_check(struct sherwood *client, struct sherwood_cache *cache)
{
    if (cache == NULL) {
        return SHERWOOD_OK;
    }
    if (cache->size < sizeof(*cache) || cache->size > SW_CLIENT_STRUCT_BYTES_MAX) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "cache: the field size is %zu, the struct has %zu bytes: begin with "
                              "SHERWOOD_CACHE_INIT",
                              cache->size, sizeof(*cache));
    }
    if (!sw_client_is_zero(cache, sizeof(*cache), cache->size)) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "cache: a field that this version of libsherwood does not have is "
                              "set: update libsherwood, or begin with SHERWOOD_CACHE_INIT");
    }
    if (cache->evicted_keys == NULL &&
        (cache->evicted_values != NULL || cache->evicted_scores != NULL)) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "cache: evicted_values and evicted_scores need evicted_keys, which "
                              "is NULL: set it too");
    }
    if (client->table->server.policy[0] == '\0') {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "cache: this server announces no eviction policy: start it with "
                              "--engine cache, or update it");
    }
    cache->evicted_count = 0;
    cache->not_admitted_count = 0;
    return SHERWOOD_OK;
}

uint32_t sw_client_cache_evicted(const struct sherwood_cache *cache)
{
    return (cache->evicted_keys != NULL ? SW_FRAME_EVICTED_KEYS : 0U) |
           (cache->evicted_values != NULL ? SW_FRAME_EVICTED_VALUES : 0U) |
           (cache->evicted_scores != NULL ? SW_FRAME_EVICTED_SCORES : 0U);
}

/* Returns the bytes of the bodies of a frame of `count` keys and of its longest reply. */
static uint64_t bodies(const struct sw_request *header, uint32_t count)
{
    struct sw_request request = *header;
    struct sw_reply reply = {.count = count,
                             .key_bytes = header->key_bytes,
                             .value_bytes = header->value_bytes,
                             .has_values = header->want_values,
                             .lacks_found = header->declines_found,
                             .has_not_admitted = header->want_not_admitted,
                             .has_scores = header->want_scores,
                             .has_evicted = header->want_evicted,
                             .evicted_count = count};
    request.count = count;
    return sw_request_layout(&request).bytes + sw_reply_layout(&reply, header->operation).bytes;
}

uint32_t sw_client_cache_keys(const struct sherwood *client, const struct sw_request *header)
{
    uint64_t most = client->table->server.frame_bytes_max;
    if (most == 0 || bodies(header, header->count) <= most) {
        return header->count;
    }
    /* A multiple of 64 keys needs no padding, so its bodies are a multiple of those of 64 keys. */
    uint64_t steps = most / bodies(header, SW_CLIENT_SPLIT_KEYS);
    return (uint32_t)(steps > 0 ? steps : 1) * SW_CLIENT_SPLIT_KEYS;
}
