/* SPDX-License-Identifier: MIT
 *
 * sherwood-words.h - operations on arrays of keys that need more than sherwood_run, or ask for
 * less: sherwood.h includes it, and says what keys, values, bitmaps and statuses are.
 */
#ifndef SHERWOOD_WORDS_H
#define SHERWOOD_WORDS_H

#include "sherwood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many keys are present before the first that is absent. Each 65,536 are looked at together. */
int sherwood_prefix(struct sherwood *client, const void *keys, size_t count, size_t *present);
/* Adds scale times each of `rows` to the row of its key: numbers of the server's value_type, or,
 * for rows of F16 and BF16, of operand_type F32 (0: the server's). Products and sums are rounded
 * each. present_only: absent keys stay so. A scale of 0 is 1; others than 1 and -1 are for operands
 * of F32. */
int sherwood_add(struct sherwood *client, const void *keys, const void *rows, size_t count,
                 float scale, enum sherwood_type operand_type, bool present_only);
/* SHERWOOD_OR, XOR, AND, ANDNOT, CAS and SETRANGE look before they write. Each frame takes effect
 * as if nobody else wrote meanwhile, and in array order, also on repeated keys. It waits for the
 * earlier requests of its connection, those behind it wait for it, and all other writes of the
 * server wait until it is done. The cache engine has none of them. By sherwood_run and
 * sherwood_submit CAS takes pairs, too, and `found` are the keys that it changed. */

/* Where a key has the first value of its pair it gets the second: `pairs` has 2 * count values, for
 * each key the one that it must have, then the one that it gets. `changed`, which may be NULL, is a
 * bitmap as `found`: which keys were changed. The first of equal pairs on one key changes it. */
int sherwood_cas(struct sherwood *client, const void *keys, const void *pairs, size_t count,
                 uint64_t *changed);
/* Parts of rows: `bytes` bytes from byte `offset` on, the same of each key; of strings behind their
 * length. `parts` has so many bytes a key, without gaps. What is not there is read as zeros; an
 * absent row is written to as if it were zeros, and stored; a string gets as long as it must. */
int sherwood_get_range(struct sherwood *client, const void *keys, size_t count, uint32_t offset,
                       uint32_t bytes, void *parts, uint64_t *found);
int sherwood_set_range(struct sherwood *client, const void *keys, const void *parts, size_t count,
                       uint32_t offset, uint32_t bytes, uint64_t *found);
/* Returns how many keys kept their value in the last sherwood_run of INCREMENT or DECREMENT,
 * because the new value would have been too large or negative. This is not an error: the other keys
 * were changed. `previous` shows which keys they are. */
uint64_t sherwood_overflows(const struct sherwood *client);
/* Returns how many keys a request may have at most that is like this one: frame_ops_max, or fewer
 * where the server needs room for what is long in it. Its arrays, except for whether they are NULL,
 * and its count do not matter. */
uint32_t sherwood_frame_keys(const struct sherwood *client, const struct sherwood_request *request);

static inline bool sherwood_found(const uint64_t *found, size_t i)
{
    return found[i / 64] >> (i % 64) & 1;
}
/* Returns the number of 64-bit words of a found bitmap of `count` keys. */
static inline size_t sherwood_found_words(size_t count)
{
    return (count + 63) / 64;
}

#ifdef __cplusplus
}
#endif

#endif
