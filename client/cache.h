/* SPDX-License-Identifier: MIT
 *
 * cache.h - the arrays of requests and replies that only the cache engine has.
 */
#ifndef SHERWOOD_CLIENT_CACHE_H
#define SHERWOOD_CLIENT_CACHE_H

#include "client/sherwood.h"
#include "proto/frame.h"

/* Checks the arrays of a call or of a request, which may be NULL, and clears their counts. Returns
 * SHERWOOD_OK or SHERWOOD_E_INVALID. */
int sw_client_cache_check(struct sherwood *client, struct sherwood_cache *cache);
/* The arrays of evicted entries that the caller wants: bits of enum sw_frame_evicted. */
uint32_t sw_client_cache_evicted(const struct sherwood_cache *cache);
/* Returns the number of keys of a frame, at most header->count, so that its body and its longest
 * reply are not too long for the server. A number below header->count is a multiple of
 * SW_CLIENT_SPLIT_KEYS. */
uint32_t sw_client_cache_keys(const struct sherwood *client, const struct sw_request *header);

#endif
