/* SPDX-License-Identifier: MIT
 *
 * value_type.c - names and sizes of what rows are.
 */
#include "proto/value_type.h"

#include <stddef.h>

static const struct {
    const char *name;
    uint32_t bytes;
} types[SW_TYPE_COUNT] = {
    [SW_TYPE_BYTES] = {"bytes", 0}, [SW_TYPE_STRING] = {"string", 0}, [SW_TYPE_U32] = {"u32", 4},
    [SW_TYPE_U64] = {"u64", 8},     [SW_TYPE_F32] = {"f32", 4},       [SW_TYPE_F16] = {"f16", 2},
    [SW_TYPE_BF16] = {"bf16", 2}};

const char *sw_value_type_name(uint32_t type)
{
    return type < SW_TYPE_COUNT ? types[type].name : "?";
}

uint32_t sw_value_type_bytes(uint32_t type)
{
    return type < SW_TYPE_COUNT ? types[type].bytes : 0;
}

static bool are_bytes(uint32_t type)
{
    return type == SW_TYPE_BYTES || type == SW_TYPE_STRING;
}

bool sw_value_types_fit(uint32_t one, uint32_t other)
{
    return one == other || are_bytes(one) || are_bytes(other);
}

static const char *const format_words[] = {
#define WORD(name, number, word) [number] = (word),
    SW_FRAME_VALUES_MAP(WORD)};

bool sw_frame_values_is_known(uint32_t format)
{
    return format < sizeof(format_words) / sizeof(format_words[0]) && format_words[format] != NULL;
}

const char *sw_frame_values_name(uint32_t format)
{
    return sw_frame_values_is_known(format) ? format_words[format] : "?";
}
