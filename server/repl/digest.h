/* SPDX-License-Identifier: MIT
 *
 * digest.h - a checksum of all entries of a table.
 *
 * It does not depend on the capacity, the seed or the engine. Each of its two numbers is a sum
 * modulo 2^64 over all entries; an entry adds a hash of its key, value and expiry time. The two
 * hashes are independent. The order of entries does not matter, so tables with equal entries have
 * equal digests. It detects accidents, not attacks: a client that chooses values can make the
 * digests of two different tables equal.
 */
#ifndef SHERWOOD_SERVER_REPL_DIGEST_H
#define SHERWOOD_SERVER_REPL_DIGEST_H

#include <stddef.h>
#include <stdint.h>

struct sw_table;

struct sw_digest {
    uint64_t sequence; /* of the last write that the digest includes */
    uint64_t entries;
    uint64_t sum[2];
};

#define SW_DIGEST_TEXT_BYTES 33
/* Writes the sums as 32 hexadecimal digits. */
void sw_digest_text(const struct sw_digest *digest, char text[SW_DIGEST_TEXT_BYTES]);

/* Adds `count` entries. Integers of 4 and 8 bytes with equal values contribute the same, so tables
 * of different widths agree. `times`: expiry times in ms since 1970, 0: never; NULL: no entry
 * expires. */
void sw_digest_add(struct sw_digest *digest, const void *keys, uint32_t key_bytes,
                   const void *values, uint32_t value_bytes, const uint64_t *times, uint32_t count);

/* Computes the digest of the table at one instant, while writes continue. Takes an image (image.h),
 * and first waits until no other thread has one. Blocks. Returns 0; or -1 and an error in `reason`.
 */
int sw_digest_of(struct sw_table *table, struct sw_digest *digest, char *reason,
                 size_t reason_bytes);

#endif
