/* SPDX-License-Identifier: MIT
 *
 * prefix.c - counts the present keys before the first absent one, from one bit a key.
 */
#include <string.h>

#include "client/handle.h"

#define AT_ONCE 65536U

/* Returns the number of set bits before the first clear one, at most `count`. */
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
    /* in a cache a GET counts as a use, and a PEEK does not */
    const enum sherwood_operation look =
        strcmp(client->own.server.engine, "cache") == 0 ? SHERWOOD_PEEK : SHERWOOD_GET;
    for (size_t at = 0; at < count && *present == at;) {
        const uint32_t n = count - at < AT_ONCE ? (uint32_t)(count - at) : AT_ONCE;
        int rc =
            sherwood_run(client, look, (const uint8_t *)keys + at * client->own.server.key_bytes,
                         NULL, n, NULL, found);
        if (rc != SHERWOOD_OK) {
            return rc;
        }
        *present += leading(found, n);
        at += n;
    }
    return SHERWOOD_OK;
}
