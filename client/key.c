/* SPDX-License-Identifier: MIT
 *
 * key.c - the keys of texts.
 */
#include "client/sherwood.h"
#include "proto/check.h"

uint64_t sherwood_hash_key(const void *text, size_t size)
{
    return sw_check64(text, size, 0);
}
