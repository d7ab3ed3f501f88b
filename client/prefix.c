/* SPDX-License-Identifier: MIT
 *
 * prefix.c - how many leading keys are present: one bit a key comes back.
 */
#include <string.h>

#include "client/handle.h"

#define AT_ONCE 65536U

/* The set bits before the first that is not set, of `count`. */
static uint32_t leading(const uint64_t *found, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && ~found[i / 64] == 0) {
        i += 64;
    }
    while (i < count && sherwood_found(found, i)) {
        i++;
    }
    return i < count ? i : count;
}

int sherwood_prefix(struct sherwood *client, const void *keys, size_t count, size_t *present)
{
    uint64_t found[AT_ONCE / 64];
    *present = 0;
    if (client == NULL) {
        return SHERWOOD_E_INVALID;
    }
    /* looking is a use in a cache, which has PEEK for that */
    const enum sherwood_operation look =
        strcmp(client->server.engine, "cache") == 0 ? SHERWOOD_PEEK : SHERWOOD_GET;
    for (size_t at = 0; at < count && *present == at;) {
        const uint32_t n = count - at < AT_ONCE ? (uint32_t)(count - at) : AT_ONCE;
        int rc = sherwood_run(client, look, (const uint8_t *)keys + at * client->server.key_bytes,
                              NULL, n, NULL, found);
        if (rc != SHERWOOD_OK) {
            return rc;
        }
        *present += leading(found, n);
        at += n;
    }
    return SHERWOOD_OK;
}
