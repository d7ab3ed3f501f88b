/* SPDX-License-Identifier: MIT
 *
 * sherwood-words.h - calls on arrays of keys with other arguments than sherwood_run. sherwood.h
 * includes it, and defines keys, values, bitmaps and statuses.
 */
#ifndef SHERWOOD_WORDS_H
#define SHERWOOD_WORDS_H

#include "sherwood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Stores in *present the number of keys before the first absent one. Reads 65,536 keys at a
 * time. */
SHERWOOD_MUST_CHECK int sherwood_prefix(struct sherwood *client, const void *keys, size_t count,
                                        size_t *present);
/* Adds scale times each of `rows` to the row of its key. The operands are numbers of the server's
 * value_type; for rows of F16 and BF16 operand_type may be F32 (0: the server's type). Each product
 * and each sum is rounded. present_only: absent keys stay absent. A scale of 0 means 1. Operands
 * other than F32 need the scale 1 or -1. */
SHERWOOD_MUST_CHECK int sherwood_add(struct sherwood *client, const void *keys, const void *rows,
                                     size_t count, float scale, enum sherwood_type operand_type,
                                     bool present_only);
/* A frame of SHERWOOD_CAS takes effect as a whole, and in array order, also on repeated keys. The
 * cache engine lacks CAS, SETRANGE, OR, XOR, AND and ANDNOT. sherwood_run and sherwood_submit also
 * take pairs for CAS, and `found` has the keys that CAS changed. */

/* Replaces the value of each key that has the first value of its pair by the second value. `pairs`
 * has 2 * count values: for each key the expected value, then the new one. `changed`, which may be
 * NULL, is a bitmap as `found`, of the keys that were changed. The first of equal pairs on one key
 * changes it. */
SHERWOOD_MUST_CHECK int sherwood_cas(struct sherwood *client, const void *keys, const void *pairs,
                                     size_t count, uint64_t *changed);
/* Read and write parts of rows: `bytes` bytes from byte `offset` on, the same for each key. In
 * strings the offset counts from the first byte after the length. `parts` has `bytes` bytes for
 * each key, without gaps. Absent rows, and bytes beyond the end of a string, are read as zeros. A
 * write to an absent row stores a row of zeros with that part. A string that is shorter grows to
 * the end of the part. */
SHERWOOD_MUST_CHECK int sherwood_get_range(struct sherwood *client, const void *keys, size_t count,
                                           uint32_t offset, uint32_t bytes, void *parts,
                                           uint64_t *found);
SHERWOOD_MUST_CHECK int sherwood_set_range(struct sherwood *client, const void *keys,
                                           const void *parts, size_t count, uint32_t offset,
                                           uint32_t bytes, uint64_t *found);
/* Returns how many keys kept their value in the last sherwood_run of INCREMENT or DECREMENT,
 * because the new value would have been too large or negative. This is not an error: the other keys
 * were changed. `previous` shows which keys they are, and also those of operations on rows, such as
 * INCRBY and APPEND, which are not counted. */
uint64_t sherwood_overflows(const struct sherwood *client);
/* Returns the largest count of keys that a request like this one may have: frame_ops_max, or fewer
 * if the server's frame_bytes_max has no room for that many. It ignores the count, and checks
 * arrays only for NULL. */
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
