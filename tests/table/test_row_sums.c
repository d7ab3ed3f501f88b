/* SPDX-License-Identifier: MIT
 *
 * test_row_sums.c - sums of rows of 16-bit numbers, scales, and the check of the arithmetic: beside
 * sums made with 64 bits and rounded by looking for the nearest number.
 */
#include <fenv.h>
#include <math.h>

#include "table/robin_hood/cpu/rounding.h"
#include "table/robin_hood/rows.h"
#include "table/scale.h"
#include "tests/table/row_world.h"

TestSuite(row_sums, .timeout = 60);

/* --- numbers, the slow way -------------------------------------------------------------------- */

/* What the bits mean, by the definition of the format; the place after the largest finite number is
 * what it would be if the exponent went on. */
static double meaning(uint32_t bits, bool is_bf16)
{
    const uint32_t digits = is_bf16 ? 7 : 10, bias = is_bf16 ? 127 : 15;
    const uint32_t exponent = (bits & 0x7fff) >> digits, rest = bits & ((1U << digits) - 1);
    const double one = ldexp(1, (int)digits);
    const double size = exponent == 0 ? ldexp(rest, 1 - (int)bias - (int)digits)
                                      : ldexp(one + rest, (int)exponent - (int)bias - (int)digits);
    return (bits & 0x8000) != 0 ? -size : size;
}

/* The nearest number of 16 bits, of two the even one. */
static uint16_t nearest(double number, bool is_bf16)
{
    const uint32_t infinity = is_bf16 ? 0x7f80 : 0x7c00;
    const uint32_t sign = signbit(number) ? 0x8000 : 0;
    if (isnan(number)) {
        return is_bf16 ? 0x7fc0 : 0x7e00;
    }
    number = fabs(number);
    uint32_t low = 0, high = infinity;
    if (number >= meaning(infinity, is_bf16)) {
        return (uint16_t)(sign | infinity);
    }
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (meaning(middle, is_bf16) <= number) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const double below = number - meaning(low, is_bf16), above = meaning(high, is_bf16) - number;
    const bool up = above < below || (above == below && low % 2 == 1);
    return (uint16_t)(sign | (up ? high : low));
}

static double as_double(uint16_t bits, bool is_bf16)
{
    const uint32_t infinity = is_bf16 ? 0x7f80 : 0x7c00;
    if ((bits & 0x7fff) < infinity) {
        return meaning(bits, is_bf16);
    }
    return (bits & 0x7fff) > infinity ? (double)NAN
                                      : copysign(INFINITY, (bits & 0x8000) != 0 ? -1.0 : 1.0);
}

/* Bits of 32 and of 16, many of them near what is hard: ties, denormals, the largest, no numbers.
 */
static uint32_t draw_32(struct random *random)
{
    static const uint32_t hard[] = {0,          1,          0x7f800000, 0x7f800001, 0x7fffffff,
                                    0x7f7fffff, 0x477fe000, 0x477ff000, 0x47800000, 0x38800000,
                                    0x387fe000, 0x33800000, 0x33000000, 0x33000001, 0x3f801000,
                                    0x3f803000, 0x3f808000, 0x3f818000, 0x00800000, 0x00008000};
    const uint32_t bits = (uint32_t)random_next(random);
    switch (random_below(random, 4)) {
    case 0:
        return hard[random_below(random, sizeof(hard) / sizeof(hard[0]))] ^ (bits & 0x80000000U);
    case 1:
        return (hard[random_below(random, sizeof(hard) / sizeof(hard[0]))] + bits % 5 - 2) ^
               (bits & 0x80000000U);
    case 2:
        return (bits & 0x80ffffffU) | (0x2fU + (bits >> 24) % 0x1aU)
                                          << 24; /* as those of 16 bits */
    default:
        return bits;
    }
}

Test(row_sums, every_number_of_16_bits_is_one_of_32_and_back)
{
    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
        for (int is_bf16 = 0; is_bf16 < 2; is_bf16++) {
            const double number = as_double((uint16_t)bits, is_bf16 != 0);
            const uint32_t wide =
                is_bf16 != 0 ? sw_row_of_bf16((uint16_t)bits) : sw_row_of_f16((uint16_t)bits);
            const uint16_t back = is_bf16 != 0 ? sw_row_to_bf16(wide) : sw_row_to_f16(wide);
            if (isnan(number)) {
                cr_assert(isnan(float_of(wide)), "%04x", bits);
                cr_assert_eq(back, is_bf16 != 0 ? 0x7fc0 : 0x7e00);
            } else {
                cr_assert_eq(wide, bits_of((float)number), "%04x: %08x", bits, wide);
                cr_assert_eq(back, bits, "%04x came back as %04x", bits, back);
            }
        }
    }
}

Test(row_sums, rounded_to_the_nearest)
{
    struct random random = random_of(16);
    for (uint32_t i = 0; i < 1000000; i++) {
        const uint32_t bits = i < 200000 ? i * 21473U : draw_32(&random);
        const double number = (double)float_of(bits);
        cr_assert_eq(sw_row_to_f16(bits), nearest(number, false), "f16 of %08x", bits);
        cr_assert_eq(sw_row_to_bf16(bits), nearest(number, true), "bf16 of %08x", bits);
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

#define SUMS_MAX 64U /* operations of a batch */

/* Returns number `i` of the operands, as a float of 32 bits. */
static float operand_at(const void *values, uint64_t i, bool is_bf16, bool wide)
{
    return wide ? float_of(((const uint32_t *)values)[i])
                : (float)as_double(((const uint16_t *)values)[i], is_bf16);
}

/* Applies operation i. */
static void model_apply(struct row_world *world, const struct sw_batch *batch, uint32_t i,
                        bool is_bf16)
{
    const uint64_t key = row_world_key(world, i);
    const uint32_t numbers = world->value_bytes / 2, op = row_world_op(batch, i);
    uint16_t *row = (uint16_t *)(void *)world->rows[key];
    if (op == SW_DELETE) {
        world->present[key] = false;
        memset(row, 0, ROW_MAX);
    } else if (op == SW_SET) {
        world->present[key] = true;
        memcpy(row, row_world_operand(world, i), world->value_bytes);
    } else if (op == SW_ADD_F16 || op == SW_ADD_BF16 || (op != SW_GET && world->present[key])) {
        world->present[key] = true;
        for (uint32_t k = 0; k < numbers; k++) {
            /* a sum of 64 bits is exact, or wide enough that rounding twice rounds once to 32 */
            const uint64_t at = (uint64_t)i * numbers + k;
            volatile float sum =
                (float)(as_double(row[k], is_bf16) +
                        (double)operand_at(batch->values, at, is_bf16, batch->wide_operands));
            row[k] = nearest((double)sum, is_bf16);
        }
    }
}

static struct sw_batch draw_batch(struct row_world *world, bool is_bf16)
{
    const enum sw_op add = is_bf16 ? SW_ADD_BF16 : SW_ADD_F16;
    const enum sw_op present = is_bf16 ? SW_ADD_PRESENT_BF16 : SW_ADD_PRESENT_F16;
    const enum sw_op ops[] = {add, add, present, SW_SET, SW_GET, SW_DELETE};
    struct fixture *fixture = &world->fixture;
    struct random *random = &world->random;
    struct sw_batch batch = fixture_batch(fixture, SW_GET, 1);
    batch.ops = fixture->ops;
    batch.wide_operands = random_below(random, 2) == 0;
    batch.count += (uint32_t)random_below(random, batch.wide_operands ? SUMS_MAX / 2 : SUMS_MAX);
    for (uint32_t i = 0; i < batch.count; i++) {
        fixture->ops[i] = (uint8_t)ops[random_below(random, batch.wide_operands ? 3 : 6)];
        fixture_store(fixture, fixture->keys, i, random_below(random, KEYS));
    }
    for (uint32_t i = 0; i < batch.count * world->value_bytes / 2; i++) {
        const uint32_t bits = draw_32(random);
        if (batch.wide_operands) {
            ((uint32_t *)fixture->values)[i] = bits;
        } else {
            ((uint16_t *)fixture->values)[i] = nearest((double)float_of(bits), is_bf16);
        }
    }
    return batch;
}

/* Every answer and every row is bit for bit what one operation after the other makes. */
static void sums_in_order(uint32_t slot_bits, uint32_t value_bytes, bool is_bf16)
{
    static struct row_world world;
    row_world_open(&world, slot_bits, value_bytes, 0, 0);
    for (int step = 0; step < 5; step++) {
        const struct sw_batch batch = draw_batch(&world, is_bf16);
        struct sw_batch run = batch;
        must_run(world.fixture.queue, &run);
        for (uint32_t i = 0; i < batch.count; i++) {
            row_world_answer(&world, &batch, i);
            model_apply(&world, &batch, i, is_bf16);
        }
    }
    fixture_close(&world.fixture);
}

Test(row_sums, in_order)
{
    for (int i = 0; i < TESTED_ROW_SIZES; i++) {
        sums_in_order(64, tested_row_sizes[i], i % 2 == 0);
        sums_in_order(128, tested_row_sizes[i], i % 2 != 0);
    }
}

/* Wide operands are those of ADD to rows of 16-bit numbers, and of nothing else. */
Test(row_sums, wide_operands_of_others_are_refused)
{
    struct sw_table_config config = fixture_config_of(SW_ENGINE_ROBIN_HOOD, 128);
    struct fixture fixture;
    config.value_bytes = 60;
    fixture_open(&fixture, &config);
    for (int op = 0; op < SW_OP_END; op++) {
        struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                                 .op = (enum sw_op)op,
                                 .count = 1,
                                 .wide_operands = true,
                                 .keys = fixture.keys,
                                 .values = fixture.values};
        const bool is_16 = op >= SW_ADD_F16 && op <= SW_ADD_PRESENT_BF16;
        const bool none = op == SW_GET || op == SW_DELETE || op == SW_PEEK || op == SW_SET_SCORE ||
                          sw_op_expires((uint32_t)op);
        const int status = !none && !is_16                         ? SW_E_INVALID
                           : fixture_can(&fixture, (enum sw_op)op) ? SW_OK
                                                                   : SW_E_UNSUPPORTED;
        cr_assert_eq(sw_batch_run(fixture.queue, &batch), status, "operation %d", op);
    }
    fixture_close(&fixture);
}

/* --- scales ----------------------------------------------------------------------------------- */

Test(row_sums, scales_that_fit)
{
    static const uint32_t infinite[] = {0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, UINT32_MAX};
    static const uint32_t finite[] = {0, 1, 0x80000000, 0x7f7fffff, 0x3f000000, 0xff7fffff};
    for (int op = SW_ADD_F32; op <= SW_ADD_PRESENT_BF16; op++) {
        const bool is_float = op == SW_ADD_F32 || op == SW_ADD_PRESENT_F32;
        const bool is_16 = op >= SW_ADD_F16;
        cr_assert(sw_scale_fits((enum sw_op)op, false, 0x3f800000));
        cr_assert(sw_scale_fits((enum sw_op)op, false, 0xbf800000));
        for (size_t i = 0; i < sizeof(finite) / sizeof(finite[0]); i++) {
            cr_assert_eq(sw_scale_fits((enum sw_op)op, false, finite[i]), is_float);
            cr_assert_eq(is_16 && sw_scale_fits((enum sw_op)op, true, finite[i]), is_16);
        }
        for (size_t i = 0; i < sizeof(infinite) / sizeof(infinite[0]); i++) {
            cr_assert_not(sw_scale_fits((enum sw_op)op, is_16, infinite[i]));
        }
    }
}

Test(row_sums, scales_of_64_bits)
{
    cr_assert(sw_scale_fits(SW_ADD_F64, false, 0x3f800000));
    cr_assert(sw_scale_fits(SW_ADD_PRESENT_F64, false, 0xbf800000));
    cr_assert_not(sw_scale_fits(SW_ADD_F64, false, 0x3f000000));
    cr_assert_not(sw_scale_fits(SW_ADD_F64, false, 0x7f800000));
    uint64_t f64[] = {0, 1, 0x7ff0000000000000, 0xbff0000000000000};
    const uint64_t wanted[] = {1ULL << 63, 1ULL << 63 | 1, 0xfff0000000000000, 0x3ff0000000000000};
    sw_scale_operands(SW_ADD_F64, false, 0xbf800000, f64, sizeof(f64));
    cr_assert_arr_eq(f64, wanted, sizeof(f64));
}

Test(row_sums, scaled_operands)
{
    struct random random = random_of(3);
    for (int i = 0; i < 100000; i++) {
        const uint32_t scale = (draw_32(&random) & 0xbfffffff) | 2; /* finite, and not 1 */
        uint32_t number = draw_32(&random), other = number;
        volatile float product = float_of(scale) * float_of(number);
        sw_scale_operands(i % 2 == 0 ? SW_ADD_F32 : SW_ADD_PRESENT_BF16, i % 2 != 0, scale, &number,
                          sizeof(number));
        cr_assert_eq(number, isnan(product) ? 0x7fc00000 : bits_of(product), "%08x * %08x", scale,
                     other);
    }
    uint32_t u32[] = {0, 1, UINT32_MAX}, wanted32[] = {0, UINT32_MAX, 1};
    uint64_t u64[] = {0, 1, UINT64_MAX}, wanted64[] = {0, UINT64_MAX, 1};
    uint16_t f16[] = {0, 0x3c00, 0xfc00, 1}, wanted16[] = {0x8000, 0xbc00, 0x7c00, 0x8001};
    sw_scale_operands(SW_ADD_U32, false, 0xbf800000, u32, sizeof(u32));
    sw_scale_operands(SW_ADD_PRESENT_U64, false, 0xbf800000, u64, sizeof(u64));
    sw_scale_operands(SW_ADD_F16, false, 0xbf800000, f16, sizeof(f16));
    cr_assert_arr_eq(u32, wanted32, sizeof(u32));
    cr_assert_arr_eq(u64, wanted64, sizeof(u64));
    cr_assert_arr_eq(f16, wanted16, sizeof(f16));
    sw_scale_operands(SW_ADD_U32, false, 0x3f800000, u32, sizeof(u32));
    cr_assert_arr_eq(u32, wanted32, sizeof(u32));
}

/* --- the check of the arithmetic -------------------------------------------------------------- */

Test(row_sums, another_rounding_is_found)
{
    static const int wrong[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    cr_assert(sw_rounding_is_exact());
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_assert_eq(fesetround(wrong[i]), 0);
        const bool is_exact = sw_rounding_is_exact();
        fesetround(FE_TONEAREST);
        cr_assert_not(is_exact, "rounding %d", wrong[i]);
    }
#if defined(__SSE__)
    const unsigned before = __builtin_ia32_stmxcsr();
    for (unsigned flag = 0x0040; flag <= 0x8000; flag <<= 9) { /* denormals are 0, flush to zero */
        __builtin_ia32_ldmxcsr(before | flag);
        const bool is_exact = sw_rounding_is_exact();
        __builtin_ia32_ldmxcsr(before);
        cr_assert_not(is_exact, "flag %04x", flag);
    }
#endif
}

/* A table whose sums would be others is not made. */
Test(row_sums, such_a_table_is_refused)
{
    struct sw_table_config config = fixture_config_of(SW_ENGINE_ROBIN_HOOD, 128);
    struct sw_table *table = NULL;
    char reason[512] = "";
    config.backend = SW_BACKEND_CPU;
    config.value_bytes = 60;
    cr_assert_eq(fesetround(FE_UPWARD), 0);
    int status = sw_table_create(&config, &table, reason, sizeof(reason));
    fesetround(FE_TONEAREST);
    cr_assert_eq(status, SW_E_UNSUPPORTED);
    cr_assert_not_null(strstr(reason, "IEEE 754"), "%s", reason);
}
