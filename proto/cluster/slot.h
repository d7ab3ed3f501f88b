/* SPDX-License-Identifier: MIT
 *
 * slot.h - the hash slot of a key, as Redis Cluster has it: CRC16 (polynomial 0x1021, start 0) of
 * its text, modulo 16384.
 *
 * A number is hashed as its decimal text without making that text. The CRC is linear, and NULs in
 * front do not change it, so the text of v is the XOR of 20 digits padded with '0' and of a
 * constant that depends on its length alone: one look-up for each four digits, and one for the
 * length.
 *
 * All functions may be called from any thread.
 */
#ifndef SHERWOOD_PROTO_CLUSTER_SLOT_H
#define SHERWOOD_PROTO_CLUSTER_SLOT_H

#include <stddef.h>
#include <stdint.h>

#define SW_SLOTS 16384U
#define SW_SLOT_GROUPS 5U    /* of four digits each: the 20 digits of a uint64_t */
#define SW_SLOT_GROUP 10000U /* values of a group */
#define SW_SLOT_LENGTHS 21U  /* of a text: 1 to 20 */

struct sw_slot_tables {
    uint16_t group[SW_SLOT_GROUPS]
                  [SW_SLOT_GROUP];        /* of the four digits, group 0 being the last ones */
    uint16_t length[SW_SLOT_LENGTHS];     /* removes the zeros in front of that many digits */
    uint16_t length_u32[SW_SLOT_LENGTHS]; /* the same, with the two groups that are 0 of a u32 */
    uint64_t power[SW_SLOT_LENGTHS - 1];  /* of ten */
};

/* The tables, which the first call makes. They live as long as the process: callers keep the
 * pointer. */
const struct sw_slot_tables *sw_slot_tables(void);

/* Decimal digits of `value`; 0 has one. */
static inline unsigned sw_slot_digits(const struct sw_slot_tables *tables, uint64_t value)
{
    unsigned bits = 64U - (unsigned)__builtin_clzll(value | 1U);
    unsigned digits = bits * 1233U >> 12; /* log10(2) = 1233 / 4096: right, or one too few */
    return digits + (value >= tables->power[digits]) + (value == 0);
}

/* CLUSTER KEYSLOT of the decimal text of `key`. */
static inline unsigned sw_slot_of_u32(const struct sw_slot_tables *tables, uint32_t key)
{
    uint32_t high = key / SW_SLOT_GROUP;
    unsigned crc = tables->length_u32[sw_slot_digits(tables, key)];
    crc ^= tables->group[0][key % SW_SLOT_GROUP];
    crc ^= tables->group[1][high % SW_SLOT_GROUP];
    crc ^= tables->group[2][high / SW_SLOT_GROUP];
    return crc % SW_SLOTS;
}

static inline unsigned sw_slot_of_u64(const struct sw_slot_tables *tables, uint64_t key)
{
    const uint32_t half = SW_SLOT_GROUP * SW_SLOT_GROUP;
    uint64_t above = key / half; /* up to 12 digits */
    uint32_t low = (uint32_t)(key % half);
    uint32_t top = (uint32_t)(above / half);
    uint32_t middle = (uint32_t)(above % half);
    unsigned crc = tables->length[sw_slot_digits(tables, key)];
    crc ^= tables->group[0][low % SW_SLOT_GROUP];
    crc ^= tables->group[1][low / SW_SLOT_GROUP];
    crc ^= tables->group[2][middle % SW_SLOT_GROUP];
    crc ^= tables->group[3][middle / SW_SLOT_GROUP];
    crc ^= tables->group[4][top];
    return crc % SW_SLOTS;
}

/* The slot of any bytes. If they have a '{' and a '}' behind it, with something between them, then
 * of what is between the first '{' and the first '}' behind it. A raw key of 4 or 8 bytes is hashed
 * so. */
unsigned sw_slot_of_text(const void *text, size_t size);

#endif
