/* SPDX-License-Identifier: MIT
 *
 * slot.c - the hash slot of a key: CRC16 of bytes, and the tables for numbers.
 */
#include "proto/cluster/slot.h"

#include <pthread.h>
#include <string.h>

static uint16_t crc_byte(uint16_t crc, uint8_t byte)
{
    crc = (uint16_t)(crc ^ byte << 8);
    for (int bit = 0; bit < 8; bit++) {
        crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
    }
    return crc;
}

static uint16_t crc_nuls(uint16_t crc, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        crc = crc_byte(crc, 0);
    }
    return crc;
}

static void make_group(uint16_t *group, unsigned nuls_behind)
{
    for (unsigned n = 0; n < SW_SLOT_GROUP; n++) {
        uint16_t crc = 0;
        for (unsigned power = SW_SLOT_GROUP / 10; power > 0; power /= 10) {
            crc = crc_byte(crc, (uint8_t)('0' + n / power % 10));
        }
        group[n] = crc_nuls(crc, nuls_behind);
    }
}

static struct sw_slot_tables the_tables;

static void make(void)
{
    struct sw_slot_tables *tables = &the_tables;
    for (unsigned g = 0; g < SW_SLOT_GROUPS; g++) {
        make_group(tables->group[g], 4 * g);
    }
    for (unsigned digits = 1; digits < SW_SLOT_LENGTHS; digits++) {
        uint16_t crc = 0;
        for (unsigned i = digits; i < SW_SLOT_LENGTHS - 1; i++) {
            crc = crc_byte(crc, '0');
        }
        tables->length[digits] = crc_nuls(crc, digits);
        tables->length_u32[digits] =
            tables->length[digits] ^ tables->group[3][0] ^ tables->group[4][0];
    }
    uint64_t power = 1;
    for (unsigned i = 0; i < SW_SLOT_LENGTHS - 1; i++, power *= 10) {
        tables->power[i] = power;
    }
}

const struct sw_slot_tables *sw_slot_tables(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make);
    return &the_tables;
}

unsigned sw_slot_of_text(const void *text, size_t size)
{
    const uint8_t *bytes = text;
    const uint8_t *open = size > 0 ? memchr(bytes, '{', size) : NULL;
    if (open != NULL) {
        const uint8_t *tag = open + 1;
        size_t behind = size - (size_t)(tag - bytes);
        const uint8_t *close = behind > 0 ? memchr(tag, '}', behind) : NULL;
        if (close != NULL && close != tag) {
            bytes = tag;
            size = (size_t)(close - tag);
        }
    }
    uint16_t crc = 0;
    for (size_t i = 0; i < size; i++) {
        crc = crc_byte(crc, bytes[i]);
    }
    return crc % SW_SLOTS;
}
