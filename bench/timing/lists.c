/* SPDX-License-Identifier: MIT
 *
 * lists.c - reads numbers and lists of numbers.
 */
#include "bench/timing/lists.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 512

/* The power of two that a unit at the end of a number stands for; 0 if there is none. */
static unsigned shift_of(const char *end)
{
    static const char units[] = "KMG";
    const char *unit = *end != '\0' && end[1] == '\0' ? strchr(units, *end) : NULL;
    return unit == NULL ? 0 : 10 * (unsigned)(unit - units + 1);
}

bool sw_timing_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    char *end = NULL;
    bool power = strncmp(text, "2^", 2) == 0;
    text += power ? 2 : 0;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    unsigned shift = power ? 0 : shift_of(end);
    end += shift > 0;
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || (power && value > 63) ||
        value > UINT64_MAX >> shift) {
        return false;
    }
    *out = power ? 1ULL << value : value << shift;
    return *out >= min && *out <= max;
}

bool sw_timing_parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *out)
{
    uint64_t value = 0;
    bool good = sw_timing_parse_u64(text, min, max, &value);
    *out = (uint32_t)value;
    return good;
}

bool sw_timing_parse_double(const char *text, double min, double max, double *out)
{
    char *end = NULL;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out > min && *out <= max;
}

/* An item: a number, or the doublings of a range. */
static bool take_item(char *item, uint64_t min, uint64_t max, uint64_t *list, uint32_t list_max,
                      uint32_t *count)
{
    uint64_t from = 0;
    uint64_t to = 0;
    char *dots = strstr(item, "..");
    if (dots != NULL) {
        *dots = '\0';
    }
    if (!sw_timing_parse_u64(item, min, max, &from) ||
        !sw_timing_parse_u64(dots == NULL ? item : dots + 2, min, max, &to) || to < from ||
        (dots != NULL && from == 0)) {
        return false;
    }
    uint64_t value = from;
    do {
        if (*count == list_max) {
            return false;
        }
        list[(*count)++] = value;
        value *= 2;
    } while (value != 0 && value <= to);
    return true;
}

bool sw_timing_parse_u64s(const char *text, uint64_t min, uint64_t max, uint64_t *list,
                          uint32_t list_max, uint32_t *count)
{
    char copy[TEXT_MAX];
    char *rest = copy;
    int length = snprintf(copy, sizeof(copy), "%s", text);
    *count = 0;
    if (strcmp(text, "none") == 0) {
        return true;
    }
    if (length <= 0 || (size_t)length >= sizeof(copy)) {
        return false;
    }
    while (rest != NULL) {
        if (!take_item(strsep(&rest, ","), min, max, list, list_max, count)) {
            return false;
        }
    }
    return true;
}

bool sw_timing_parse_u32s(const char *text, uint32_t min, uint32_t max, uint32_t *list,
                          uint32_t list_max, uint32_t *count)
{
    uint64_t wide[TEXT_MAX];
    if (list_max > TEXT_MAX || !sw_timing_parse_u64s(text, min, max, wide, list_max, count)) {
        return false;
    }
    for (uint32_t i = 0; i < *count; i++) {
        list[i] = (uint32_t)wide[i];
    }
    return true;
}

bool sw_timing_parse_doubles(const char *text, double min, double max, double *list,
                             uint32_t list_max, uint32_t *count)
{
    char copy[TEXT_MAX];
    char *rest = copy;
    int length = snprintf(copy, sizeof(copy), "%s", text);
    *count = 0;
    if (strcmp(text, "none") == 0) {
        return true;
    }
    if (length <= 0 || (size_t)length >= sizeof(copy)) {
        return false;
    }
    while (rest != NULL) {
        const char *item = strsep(&rest, ",");
        if (*count == list_max || !sw_timing_parse_double(item, min, max, &list[*count])) {
            return false;
        }
        (*count)++;
    }
    return true;
}

bool sw_timing_parse_names(const char *text, const char *(*name_of)(int number), int count,
                           bool *wanted)
{
    char copy[TEXT_MAX];
    char *rest = copy;
    memset(wanted, 0, (size_t)count * sizeof(*wanted));
    if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy)) {
        return false;
    }
    while (rest != NULL) {
        const char *name = strsep(&rest, ",");
        int n = 0;
        while (n < count && strcmp(name, name_of(n)) != 0) {
            n++;
        }
        if (n == count) {
            return false;
        }
        wanted[n] = true;
    }
    return true;
}

bool sw_timing_list_has(const char *names, const char *name)
{
    size_t length = strlen(name);
    while (*names != '\0') {
        size_t item = strcspn(names, ",");
        if (item == length && strncmp(names, name, length) == 0) {
            return true;
        }
        names += item + (names[item] == ',');
    }
    return false;
}
