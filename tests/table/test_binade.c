/* SPDX-License-Identifier: MIT
 *
 * test_binade.c - sums of f32 that are made by pieces (table/robin_hood/binade.h) have the bits of
 * those that are made one after the other, whatever the operands are.
 */
#include <criterion/criterion.h>

#include "table/robin_hood/binade.h"
#include "tests/support/random.h"

TestSuite(binade, .timeout = 60);

#define PIECES 8U
#define PIECE 16U
#define CHAINS 200U
#define CHAIN 4096U

/* Kinds of operands. */
enum kind {
    WHOLE,       /* small integers */
    GRADIENTS,   /* of both signs, alike in size */
    GROWING,     /* of one sign */
    HALVES,      /* of few digits, of the size of some units of the sum: many lie half way */
    ALTERNATING, /* to and fro over a power of two */
    ANYTHING,
    KINDS
};

/* How many operands were added by pieces, and how many lay half way. */
struct count {
    uint64_t joined, half_way;
};

static uint32_t draw(struct random *random, enum kind kind, uint32_t sum, uint32_t i)
{
    const uint32_t any = (uint32_t)random_next(random);
    const uint32_t exponent = sum >> 23 & 0xff;
    switch (kind) {
    case WHOLE:
        return any % 8 == 0 ? 0 : 0x40000000U + (any % 4 << 21); /* 2 .. 3.5 */
    case GRADIENTS:
        return 0x3a000000U + (any & 0x81ffffffU);
    case GROWING:
        return 0x3f000000U + (any & 0x01ffffffU);
    case HALVES: {
        const uint32_t size = exponent > 60 ? exponent - any % 26 : 127;
        return (any & 0x80000000U) | size << 23 | (any >> 8 & 7) << 20;
    }
    case ALTERNATING:
        return (i % 2 << 31) | (exponent > 30 ? exponent - any % 24 : 1) << 23 | (any & 0x7fffff);
    default:
        return any;
    }
}

/* Adds up to PIECES pieces to *sum, as far as each of them holds, or all of them if they hold as a
 * whole. Returns how many it added. */
static uint32_t add_pieces(const uint32_t *operands, uint32_t pieces, bool as_a_whole,
                           uint32_t *sum, struct count *counts)
{
    const struct sw_binade binade = sw_binade_of(*sum);
    const uint32_t units = sw_binade_units(*sum);
    struct sw_binade_change joined = sw_binade_none();
    uint32_t added = 0;
    for (; added < pieces; added++) {
        struct sw_binade_change piece = sw_binade_none();
        for (uint32_t k = 0; k < PIECE; k++) {
            sw_binade_add(&binade, operands[added * PIECE + k], &piece);
        }
        if (!as_a_whole && !sw_binade_holds(&piece, sw_binade_after(&joined, units))) {
            break;
        }
        joined = sw_binade_join(&joined, &piece);
    }
    if (as_a_whole && !sw_binade_holds(&joined, units)) {
        return 0;
    }
    counts->half_way += joined.odd != 0;
    *sum = sw_binade_sum(&binade, sw_binade_after(&joined, units));
    return added;
}

/* Adds the operands to the sum, several pieces at a time if possible. */
static uint32_t add_by_pieces(const uint32_t *operands, uint32_t count, bool as_a_whole,
                              uint32_t sum, struct count *counts)
{
    for (uint32_t at = 0; at < count;) {
        const uint32_t left = (count - at) / PIECE;
        const uint32_t pieces = left < PIECES ? left : PIECES;
        const uint32_t added =
            sw_binade_has(sum) ? add_pieces(operands + at, pieces, as_a_whole, &sum, counts) : 0;
        at += added * PIECE;
        counts->joined += added * PIECE;
        for (uint32_t k = 0; k < PIECE && at < count && added < PIECES; k++, at++) {
            sum = sw_row_sum_f32(sum, operands[at]);
        }
    }
    return sum;
}

static void add_both_ways(enum kind kind, struct count *counts)
{
    static uint32_t operands[CHAIN];
    struct random random = random_of(kind + 1);
    for (uint32_t c = 0; c < CHAINS; c++) {
        const uint32_t begin = c % 2 == 0 ? 0x3f000000U + (uint32_t)random_next(&random) % 0x4000000
                                          : (uint32_t)random_next(&random);
        uint32_t sum = begin;
        for (uint32_t i = 0; i < CHAIN; i++) {
            operands[i] = draw(&random, kind, sum, i);
            sum = sw_row_sum_f32(sum, operands[i]);
        }
        const uint32_t pieces = add_by_pieces(operands, CHAIN, c / 2 % 2 == 0, begin, counts);
        cr_assert_eq(pieces, sum, "kind %d, chain %u: %08x, not %08x", (int)kind, c, pieces, sum);
    }
}

Test(binade, pieces_have_the_bits_of_one_after_the_other)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct count counts = {0, 0};
        add_both_ways((enum kind)kind, &counts);
        if (kind == WHOLE || kind == GROWING) {
            cr_assert_gt(counts.joined, CHAINS * CHAIN / 3, "kind %d", kind);
        }
        if (kind == HALVES) {
            cr_assert_gt(counts.half_way, 1000);
        }
    }
}

/* All combinations of few units and few operands: sums near both ends of a binade, and operands of
 * both signs that lie half way or nearly half way. */
Test(binade, all_of_few)
{
    static const uint32_t sizes[] = {0x33000000, 0x33800000, 0x33800001, 0x337fffff, 0x34000000,
                                     0x34400000, 0x34a00000, 0x3e7fffff, 0x3effffff, 0x00000001};
    const uint32_t count = 2 * sizeof(sizes) / sizeof(sizes[0]);
    uint32_t held = 0;
    for (uint32_t begin = 0; begin < 16; begin++) {
        const uint32_t sum = begin < 8 ? 0x3f800000U + begin : 0x40000000U - (begin - 7);
        for (uint32_t code = 0; code < count * count * count; code++) {
            const struct sw_binade binade = sw_binade_of(sum);
            struct sw_binade_change first = sw_binade_none(), then = sw_binade_none();
            uint32_t wanted = sum, left = code;
            for (uint32_t k = 0; k < 3; k++, left /= count) {
                const uint32_t operand = sizes[left % count / 2] | left % 2 << 31;
                wanted = sw_row_sum_f32(wanted, operand);
                sw_binade_add(&binade, operand, k == 0 ? &first : &then);
            }
            const uint32_t units = sw_binade_units(sum);
            const struct sw_binade_change both = sw_binade_join(&first, &then);
            const bool each_holds = sw_binade_holds(&first, units) &&
                                    sw_binade_holds(&then, sw_binade_after(&first, units));
            if (!each_holds && !sw_binade_holds(&both, units)) {
                continue;
            }
            const uint32_t made = sw_binade_sum(&binade, sw_binade_after(&both, units));
            cr_assert_eq(made, wanted, "%08x, code %u: %08x, not %08x", sum, code, made, wanted);
            held++;
        }
    }
    cr_assert_gt(held, 16 * count * count * count / 4);
}
