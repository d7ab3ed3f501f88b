/* SPDX-License-Identifier: MIT
 *
 * slot_filter.h - the hash slots whose keys a batch may read.
 *
 * A server that has only a part of all keys must not answer for the other keys: it cannot know
 * whether they exist. The server lists its slots in a filter, and the look-up reports the first key
 * outside them. The hash slot of a key is that of Redis Cluster: CRC16 (polynomial 0x1021, start 0)
 * of the key's decimal text, or of its bytes, modulo 16384.
 */
#ifndef SHERWOOD_TABLE_SLOT_FILTER_H
#define SHERWOOD_TABLE_SLOT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#define SW_FILTER_SLOTS 16384U

struct sw_slot_filter {
    uint64_t slots[SW_FILTER_SLOTS / 64]; /* bit s % 64 of word s / 64: slot s may be read */
    bool raw; /* hash the key's bytes, little-endian, instead of its decimal text. If they have a
                 '{' followed by a '}', with bytes in between, hash only the bytes between the first
                 '{' and the next '}' */
};

#endif
