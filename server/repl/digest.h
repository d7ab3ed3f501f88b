/* SPDX-License-Identifier: MIT
 *
 * digest.h - one checksum over what a table holds, whatever its capacity, seed and engine.
 *
 * The sum modulo 2^64 of a mix of each key, its value and, if it expires, its time, by two
 * independent mixes. So the order of entries does not matter, and tables with equal entries have
 * equal digests. It detects accidents, not attacks: a client that chooses values can make the
 * digests of two different tables equal.
 */
#ifndef SHERWOOD_SERVER_REPL_DIGEST_H
#define SHERWOOD_SERVER_REPL_DIGEST_H

#include <stddef.h>
#include <stdint.h>

struct sw_table;

struct sw_digest {
    uint64_t sequence; /* of the last write that is in it */
    uint64_t entries;
    uint64_t sum[2];
};

#define SW_DIGEST_TEXT_BYTES 33
/* Writes the sums as 32 hexadecimal digits. */
void sw_digest_text(const struct sw_digest *digest, char text[SW_DIGEST_TEXT_BYTES]);

/* Adds entries. Integers count by their value, so that tables of other widths agree. `times` are
 * when they expire, 0: never; NULL: none does. */
void sw_digest_add(struct sw_digest *digest, const void *keys, uint32_t key_bytes,
                   const void *values, uint32_t value_bytes, const uint64_t *times, uint32_t count);

/* Computes the digest of what the table holds at one instant, while writes go on. Takes an image
 * (image.h), and waits for the one that somebody else may have. Blocks. Returns 0; or -1 with a
 * sentence in `reason`. */
int sw_digest_of(struct sw_table *table, struct sw_digest *digest, char *reason,
                 size_t reason_bytes);

#endif
