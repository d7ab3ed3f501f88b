/* SPDX-License-Identifier: MIT
 *
 * slot_filter.h - which keys a batch may read, by their hash slots.
 *
 * A server that holds a part of all keys must not answer for the others: that it holds none of them
 * is no answer. It says which slots it has, and whoever looks keys up tells the first one that lies
 * in none of them. The hash slot of a key is that of Redis Cluster: CRC16 (polynomial 0x1021, start
 * 0) of the key's decimal text, or of its bytes, modulo 16384.
 */
#ifndef SHERWOOD_TABLE_SLOT_FILTER_H
#define SHERWOOD_TABLE_SLOT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#define SW_FILTER_SLOTS 16384U

struct sw_slot_filter {
    uint64_t slots[SW_FILTER_SLOTS / 64]; /* bit s % 64 of word s / 64: slot s may be read */
    bool raw; /* of the key's bytes, little-endian; and if they have a '{' and a '}' behind it, with
                 something between them, of what is between the first ones */
};

#endif
