/* SPDX-License-Identifier: MIT
 *
 * test_slot.c - slots of numbers by tables against CRC16 of their text, and slots that redis tells.
 */
#include "proto/cluster/slot.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/decimal.h"
#include "tests/support/random.h"

/* By a table of bytes, made here: nothing of what is tested. */
static uint16_t byte_table[256];

static void setup(void)
{
    for (unsigned i = 0; i < 256; i++) {
        unsigned crc = i << 8;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0);
        }
        byte_table[i] = (uint16_t)crc;
    }
}

TestSuite(slot, .init = setup);

static unsigned crc_of(const char *text, size_t size)
{
    uint16_t crc = 0;
    for (size_t i = 0; i < size; i++) {
        crc = (uint16_t)(crc << 8 ^ byte_table[crc >> 8 ^ (uint8_t)text[i]]);
    }
    return crc;
}

static void expect_same(const struct sw_slot_tables *tables, uint64_t key)
{
    char text[SW_DECIMAL_DIGITS_MAX];
    unsigned slot = crc_of(text, sw_decimal_format(key, text)) % SW_SLOTS;
    if (sw_slot_of_u64(tables, key) != slot ||
        (key <= UINT32_MAX && sw_slot_of_u32(tables, (uint32_t)key) != slot)) {
        cr_assert_fail("%" PRIu64 " has the slot %u", key, slot);
    }
}

Test(slot, of_a_number_is_that_of_its_text)
{
    const struct sw_slot_tables *tables = sw_slot_tables();
    for (uint64_t key = 0; key < 1000000; key++) {
        expect_same(tables, key);
    }
    uint64_t power = 1;
    for (int digits = 0; digits < 20; digits++, power *= 10) {
        expect_same(tables, power - 1);
        expect_same(tables, power);
        expect_same(tables, power + 1);
    }
    for (int bits = 0; bits < 64; bits++) {
        expect_same(tables, UINT64_C(1) << bits);
        expect_same(tables, UINT64_MAX >> bits);
    }
    struct random random = random_of(0);
    for (int i = 0; i < 9000000; i++) {
        uint64_t drawn = random_next(&random);
        expect_same(tables, drawn >> drawn % 64); /* texts of every length */
    }
}

Test(slot, has_the_values_that_are_known)
{
    setup();
    cr_assert(crc_of("123456789", 9) == 0x31C3);
    cr_assert(sw_slot_of_text("123456789", 9) == 0x31C3 % SW_SLOTS);
    cr_assert(sw_slot_of_u64(sw_slot_tables(), 42) == 8000);
    cr_assert(sw_slot_of_u32(sw_slot_tables(), 42) == 8000);
    cr_assert(sw_slot_of_text("foo", 3) == 12182);
    cr_assert(sw_slot_of_text("", 0) == 0);
}

static void expect_slot_of(const char *text, const char *hashed)
{
    cr_expect(sw_slot_of_text(text, strlen(text)) == crc_of(hashed, strlen(hashed)) % SW_SLOTS,
              "of %s is hashed: %s", text, hashed);
}

Test(slot, of_text_with_braces_is_that_of_what_is_between_them)
{
    expect_slot_of("{user1000}.following", "user1000");
    expect_slot_of("foo{}{bar}", "foo{}{bar}");
    expect_slot_of("foo{{bar}}zap", "{bar");
    expect_slot_of("foo{bar}{zap}", "bar");
    expect_slot_of("foo{bar", "foo{bar");
    expect_slot_of("foo}bar{", "foo}bar{");
    expect_slot_of("}{a}", "a");
    expect_slot_of("{", "{");
    expect_slot_of("{}", "{}");
    expect_slot_of("{1}2", "1");
}

Test(slot, of_bytes_takes_every_byte)
{
    const char bytes[8] = {0, 1, (char)0xff, 0, '{', 0, '}', 9};
    cr_assert(sw_slot_of_text(bytes, 4) == crc_of(bytes, 4) % SW_SLOTS);
    cr_assert(sw_slot_of_text(bytes, 8) == crc_of(bytes + 5, 1) % SW_SLOTS);
}
