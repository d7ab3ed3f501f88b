/* SPDX-License-Identifier: MIT
 *
 * test_mix.c - mixes as text, presets, and the share of each operation.
 */
#include "bench/load/mix.h"
#include "bench/load/random.h"

#include <criterion/criterion.h>
#include <string.h>

static void check_weights(const struct sw_load_mix *mix, const uint32_t *weights)
{
    uint32_t total = 0;
    for (int i = 0; i < SW_LOAD_MIX_OPERATIONS; i++) {
        cr_assert_eq(mix->weights[i], weights[i], "%s",
                     sw_load_mix_name((enum sw_load_mix_operation)i));
        total += weights[i];
    }
    cr_assert_eq(mix->total, total);
}

Test(mix, text_and_presets)
{
    static const struct {
        const char *text;
        uint32_t weights[SW_LOAD_MIX_OPERATIONS];
    } texts[] = {
        {"get=1", {1}},
        {"get=50,set=50", {50, 50}},
        {"insert=5,delete=4,sum=3,set=2,get=1", {1, 2, 3, 4, 5}},
        {"delete=1M,get=0", {0, 0, 0, 1000000}},
    };
    static const struct {
        const char *name;
        uint32_t weights[SW_LOAD_MIX_OPERATIONS];
        enum sw_load_distribution_kind kind;
    } presets[] = {
        {"a", {50, 50}, SW_LOAD_ZIPF},    {"b", {95, 5}, SW_LOAD_ZIPF},
        {"c", {100}, SW_LOAD_ZIPF},       {"d", {95, 0, 0, 0, 5}, SW_LOAD_LATEST},
        {"f", {50, 0, 50}, SW_LOAD_ZIPF},
    };
    struct sw_load_mix mix;
    enum sw_load_distribution_kind kind;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        cr_assert(sw_load_mix_parse(texts[i].text, &mix), "%s", texts[i].text);
        check_weights(&mix, texts[i].weights);
    }
    for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++) {
        cr_assert(sw_load_mix_preset(presets[i].name, &mix, &kind));
        check_weights(&mix, presets[i].weights);
        cr_assert_eq(kind, presets[i].kind);
    }
    cr_assert_not(sw_load_mix_preset("e", &mix, &kind), "scans are not there");
    cr_assert_not(sw_load_mix_preset("A", &mix, &kind));
}

Test(mix, what_is_no_mix)
{
    static const char *const bad[] = {
        "",
        "get",
        "get=",
        "=1",
        "get=0",
        "get=1,",
        ",get=1",
        "get=1,get=2",
        "put=1",
        "get=1 set=1",
        "get=-1",
        "get=1.5",
        "get=1,,set=1",
        "get=1000001",
        "getgetgetgetgetgetgetgetgetgetgetget=1",
    };
    struct sw_load_mix mix;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_assert_not(sw_load_mix_parse(bad[i], &mix), "'%s' passed", bad[i]);
    }
}

/* Draws in equal steps over all 64 bits hit each operation as often as its weight says. */
Test(mix, shares_are_exact)
{
    struct sw_load_mix mix;
    cr_assert(sw_load_mix_parse("get=40,set=0,sum=25,delete=34,insert=1", &mix));
    uint64_t got[SW_LOAD_MIX_OPERATIONS] = {0};
    const uint64_t steps = 100 * 64;
    for (uint64_t i = 0; i < steps; i++) {
        got[sw_load_mix_draw(&mix, i * (UINT64_MAX / steps) + UINT64_MAX / steps / 2)]++;
    }
    for (int i = 0; i < SW_LOAD_MIX_OPERATIONS; i++) {
        cr_assert_eq(got[i], mix.weights[i] * 64ULL, "operation %d: %lu", i, got[i]);
    }
    cr_assert_eq(sw_load_mix_draw(&mix, 0), SW_LOAD_MIX_GET);
    cr_assert_eq(sw_load_mix_draw(&mix, UINT64_MAX), SW_LOAD_MIX_INSERT);
}
