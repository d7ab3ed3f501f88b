/* SPDX-License-Identifier: MIT
 *
 * value_type.c - names and sizes of what rows are.
 */
#include "proto/value_type.h"

#include <stddef.h>

static const struct {
    const char *name;
    uint32_t bytes;
    enum sw_number_kind kind;
    uint32_t adds;
} types[SW_TYPE_COUNT] = {
#define TYPE(name, number, word, bytes, kind, adds) \
    [number] = {(word), (bytes), SW_NUMBER_##kind, SW_ELEMENT_##adds},
    SW_ELEMENT_MAP(TYPE)
#undef TYPE
};

const char *sw_value_type_name(uint32_t type)
{
    return type < SW_TYPE_COUNT ? types[type].name : "?";
}

uint32_t sw_value_type_bytes(uint32_t type)
{
    return type < SW_TYPE_COUNT ? types[type].bytes : 0;
}

enum sw_number_kind sw_value_type_kind(uint32_t type)
{
    return type < SW_TYPE_COUNT ? types[type].kind : SW_NUMBER_NONE;
}

uint32_t sw_value_type_adds(uint32_t type)
{
    return type < SW_TYPE_COUNT ? types[type].adds : (uint32_t)SW_TYPE_BYTES;
}

static bool are_bytes(uint32_t type)
{
    return type == SW_TYPE_BYTES || type == SW_TYPE_STRING;
}

bool sw_value_types_fit(uint32_t one, uint32_t other)
{
    const bool has_values = one != SW_TYPE_NONE && other != SW_TYPE_NONE;
    return one == other || (has_values && (are_bytes(one) || are_bytes(other)));
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
