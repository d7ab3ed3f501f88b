/* SPDX-License-Identifier: MIT
 *
 * mix.c - mixes of operations (see mix.h).
 */
#include "bench/load/mix.h"

#include "bench/load/random.h"
#include "proto/decimal.h"

#include <string.h>

#define PART_BYTES_MAX 32

static const char *const names[SW_LOAD_MIX_OPERATIONS] = {"get", "set", "sum", "delete", "insert"};

const char *sw_load_mix_name(enum sw_load_mix_operation operation)
{
    return names[operation];
}

/* Parses one "name=weight". */
static bool parse_part(const char *text, size_t size, bool *given, struct sw_load_mix *mix)
{
    char part[PART_BYTES_MAX];
    uint64_t weight;
    if (size >= sizeof(part)) {
        return false;
    }
    memcpy(part, text, size);
    part[size] = '\0';
    char *equals = strchr(part, '=');
    if (!equals || !sw_decimal_parse_count((const uint8_t *)equals + 1, strlen(equals + 1),
                                           SW_LOAD_MIX_WEIGHT_MAX, &weight)) {
        return false;
    }
    *equals = '\0';
    for (int i = 0; i < SW_LOAD_MIX_OPERATIONS; i++) {
        if (strcmp(part, names[i]) == 0 && !given[i]) {
            given[i] = true;
            mix->weights[i] = (uint32_t)weight;
            mix->total += (uint32_t)weight;
            return true;
        }
    }
    return false;
}

bool sw_load_mix_parse(const char *text, struct sw_load_mix *mix)
{
    bool given[SW_LOAD_MIX_OPERATIONS] = {false};
    *mix = (struct sw_load_mix){.total = 0};
    for (;;) {
        size_t size = strcspn(text, ",");
        if (!parse_part(text, size, given, mix)) {
            return false;
        }
        if (text[size] == '\0') {
            return mix->total != 0;
        }
        text += size + 1;
    }
}

bool sw_load_mix_preset(const char *name, struct sw_load_mix *mix,
                        enum sw_load_distribution_kind *distribution)
{
    static const struct {
        const char *name, *mix;
        enum sw_load_distribution_kind distribution;
    } presets[] = {
        {"a", "get=50,set=50", SW_LOAD_ZIPF}, {"b", "get=95,set=5", SW_LOAD_ZIPF},
        {"c", "get=100", SW_LOAD_ZIPF},       {"d", "get=95,insert=5", SW_LOAD_LATEST},
        {"f", "get=50,sum=50", SW_LOAD_ZIPF},
    };
    for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++) {
        if (strcmp(name, presets[i].name) == 0) {
            *distribution = presets[i].distribution;
            return sw_load_mix_parse(presets[i].mix, mix);
        }
    }
    return false;
}

enum sw_load_mix_operation sw_load_mix_draw(const struct sw_load_mix *mix, uint64_t draw)
{
    uint64_t left = sw_load_scale(draw, mix->total);
    int operation = 0;
    while (left >= mix->weights[operation]) {
        left -= mix->weights[operation++];
    }
    return (enum sw_load_mix_operation)operation;
}
