/* SPDX-License-Identifier: MIT
 *
 * check.c - checks the invariants, for all formats.
 */
#include "table/robin_hood/check.h"

#include <stdarg.h>
#include <stdio.h>

#define ULL(x) ((unsigned long long)(x))

/* Buffer for the text of the violation. */
struct text {
    char *bytes;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static int report(struct text *text, const char *format, ...)
{
    if (text->bytes != NULL && text->size > 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text->bytes, text->size, format, arguments);
        va_end(arguments);
    }
    return SW_E_INVALID;
}

#define SW_WIDTH_BODY "table/robin_hood/check.inl"
#include "table/each_format.inl"

int sw_check_slots(uint32_t format, const struct sw_geometry *geometry,
                   const struct sw_state *state, const void *slots, char *violation,
                   size_t violation_size)
{
    struct text text = {violation, violation_size};
    if (violation != NULL && violation_size > 0) {
        violation[0] = '\0';
    }
    return SW_BY_FORMAT(format, sw_check, geometry, state, slots, &text);
}
