/* SPDX-License-Identifier: MIT
 *
 * glob.c - matches a pattern. If the bytes behind a * do not match, the * takes one byte more. Only
 * the last * is tried again, because the pattern before it has matched.
 */
#include "server/resp/glob.h"

/* Does the class behind the [ at *at contain the byte? Moves *at behind the ]. A class without a ]
 * ends with the pattern. */
static bool class_holds(const uint8_t *pattern, size_t size, size_t *at, uint8_t byte)
{
    size_t i = *at;
    bool negated = i < size && pattern[i] == '^';
    bool held = false;
    for (i += negated; i < size && pattern[i] != ']'; i++) {
        if (pattern[i] == '\\' && i + 1 < size) {
            i++;
            held |= pattern[i] == byte;
        } else if (i + 2 < size && pattern[i + 1] == '-') {
            uint8_t a = pattern[i], b = pattern[i + 2];
            held |= a <= b ? byte >= a && byte <= b : byte >= b && byte <= a;
            i += 2;
        } else {
            held |= pattern[i] == byte;
        }
    }
    *at = i < size ? i + 1 : size;
    return held != negated;
}

/* Does the item of the pattern at *at match this byte? Moves *at behind the item. */
static bool one_matches(const uint8_t *pattern, size_t size, size_t *at, uint8_t byte)
{
    uint8_t sign = pattern[(*at)++];
    if (sign == '?') {
        return true;
    }
    if (sign == '[') {
        return class_holds(pattern, size, at, byte);
    }
    if (sign == '\\' && *at < size) {
        sign = pattern[(*at)++];
    }
    return sign == byte;
}

bool sw_glob_matches(const uint8_t *pattern, size_t pattern_size, const uint8_t *text,
                     size_t text_size)
{
    size_t at = 0, i = 0;
    size_t behind_star = SIZE_MAX; /* the place in the pattern behind the last *; none so far */
    size_t star_ends = 0;          /* where in the text that * ends by now */
    while (i < text_size) {
        if (at < pattern_size && pattern[at] == '*') {
            behind_star = ++at;
            star_ends = i;
        } else if (at < pattern_size && one_matches(pattern, pattern_size, &at, text[i])) {
            i++;
        } else if (behind_star != SIZE_MAX) {
            at = behind_star;
            i = ++star_ends;
        } else {
            return false;
        }
    }
    while (at < pattern_size && pattern[at] == '*') {
        at++;
    }
    return at == pattern_size;
}

bool sw_glob_may_match_digits(const uint8_t *pattern, size_t pattern_size)
{
    size_t at = 0;
    while (at < pattern_size) {
        size_t next = at + 1;
        bool any = pattern[at] == '*';
        for (uint8_t digit = '0'; digit <= '9' && !any; digit++) {
            next = at;
            any = one_matches(pattern, pattern_size, &next, digit);
        }
        if (!any) {
            return false;
        }
        at = next;
    }
    return pattern_size > 0; /* the empty pattern matches the empty text alone */
}
