/* SPDX-License-Identifier: MIT
 *
 * key.c - the keys of texts.
 */
#include "client/sherwood.h"
#include "proto/key_form.h"

uint64_t sherwood_hash_key(const void *text, size_t size)
{
    return sw_key_of_hash(text, size);
}

uint64_t sherwood_text_key(const void *text, size_t size)
{
    return sw_key_of_auto(text, size);
}
