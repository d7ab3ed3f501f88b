/* SPDX-License-Identifier: MIT
 *
 * test_check.c - the checksum of files and records is XXH3-64: the sums are those of another
 * implementation (python-xxhash), so a change of the function cannot pass by changing both sides.
 */
#include "proto/check.h"

#include <criterion/criterion.h>
#include <inttypes.h>

#define BYTES_MAX 1024U
#define SEEDS 3

static const uint64_t seeds[SEEDS] = {0, 1, (1ULL << 63) + 5};

/* Sums of the first `bytes` bytes of the text below, with each seed. The function treats up to 16,
 * 128 and 240 bytes differently. */
static const struct {
    size_t bytes;
    uint64_t sums[SEEDS];
} rows[] = {
    {0, {0x2d06800538d394c2, 0x4dc5b0cc826f6703, 0xa3b4efac14c8f6d6}},
    {1, {0xe12ef9d2eb86ceeb, 0x0e08a51c8536156c, 0xb87e93c566480ce4}},
    {8, {0x96cc97a6768fd7a9, 0x33857bda8733699e, 0xa0d954d33b9e6657}},
    {16, {0x913bd4a8038027a7, 0x565af978e0b859bb, 0x6685fa9bfd486779}},
    {17, {0x2bf6f66973a6179d, 0x7cf9c82b695c7dda, 0x670eb62fbd884b00}},
    {64, {0x13886553e7dc3fa3, 0xdbf797fb06ccfa61, 0x6517c8735d19f233}},
    {128, {0xc4399c7829d0628f, 0xe705a35575ed324c, 0x2b20d4cac386237d}},
    {129, {0x8433489056750b32, 0x298216ce16626944, 0xd3ea0a5eb2479574}},
    {240, {0x3c0bb96864e543a1, 0x4ac4835a402c1cba, 0xb860adde5d262fca}},
    {241, {0xbff7215089202d8f, 0x4db569223fff2747, 0x0e3edb62dc776a0b}},
    {1024, {0xac8e32e4ea3ba062, 0x2e6ae4d1c28cede6, 0x45da158f512bca98}},
};

Test(check, sums_are_those_of_another_implementation)
{
    uint8_t text[BYTES_MAX];
    for (size_t i = 0; i < BYTES_MAX; i++) {
        text[i] = (uint8_t)(i * 7 + 1);
    }
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        const size_t bytes = rows[r].bytes;
        for (size_t s = 0; s < SEEDS; s++) {
            const struct iovec pieces[] = {
                {text, bytes / 3}, {text + bytes / 3, 0}, {text + bytes / 3, bytes - bytes / 3}};
            const uint64_t whole = sw_check64(text, bytes, seeds[s]);
            cr_expect_eq(whole, rows[r].sums[s], "%zu bytes, seed %" PRIu64 ": %016" PRIx64, bytes,
                         seeds[s], whole);
            cr_expect_eq(sw_check64_pieces(pieces, 3, seeds[s]), whole, "%zu bytes in pieces",
                         bytes);
        }
    }
}
