/* SPDX-License-Identifier: MIT
 *
 * lists.c - reads numbers and lists of numbers and names.
 */
#include "bench/study/lists.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/decimal.h"

#define TEXT_MAX 512

bool sw_study_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    const bool power = strncmp(text, "2^", 2) == 0;
    const bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = text + (power ? 2 : 0);
    char *end = NULL;
    bool good;
    errno = 0;
    if (is_hex) {
        *out = strtoull(text, &end, 16);
        good = end > text + 2 && *end == '\0' && errno == 0;
    } else if (power) {
        good = sw_decimal_parse((const uint8_t *)digits, strlen(digits), 63, out);
        *out = good ? 1ULL << *out : 0;
    } else {
        good = sw_decimal_parse_size((const uint8_t *)text, strlen(text), UINT64_MAX, out);
    }
    return good && *out >= min && *out <= max;
}

bool sw_study_parse_real(const char *text, double min, double max, double *out)
{
    char *end = NULL;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out >= min && *out <= max;
}

/* Copies the list to be cut into items; *rest is NULL if it is "none". */
static bool copy_list(const char *text, char copy[TEXT_MAX], char **rest)
{
    *rest = strcmp(text, "none") == 0 ? NULL : copy;
    return text[0] != '\0' && snprintf(copy, TEXT_MAX, "%s", text) < TEXT_MAX;
}

/* An item: a number, or FROM..TO. */
static bool take_item(char *item, uint64_t min, uint64_t max, uint64_t *list, uint32_t list_max,
                      uint32_t *count)
{
    uint64_t from = 0;
    uint64_t to = 0;
    char *dots = strstr(item, "..");
    if (dots != NULL) {
        *dots = '\0';
    }
    if (!sw_study_parse_u64(item, min, max, &from) ||
        !sw_study_parse_u64(dots == NULL ? item : dots + 2, min, max, &to) || to < from ||
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

bool sw_study_parse_u64s(const char *text, uint64_t min, uint64_t max, uint64_t *list,
                         uint32_t list_max, uint32_t *count)
{
    char copy[TEXT_MAX];
    char *rest = NULL;
    bool good = copy_list(text, copy, &rest);
    *count = 0;
    while (good && rest != NULL) {
        good = take_item(strsep(&rest, ","), min, max, list, list_max, count);
    }
    return good;
}

bool sw_study_parse_reals(const char *text, double min, double max, double *list, uint32_t list_max,
                          uint32_t *count)
{
    char copy[TEXT_MAX];
    char *rest = NULL;
    bool good = copy_list(text, copy, &rest);
    for (*count = 0; good && rest != NULL; ++*count) {
        good =
            *count < list_max && sw_study_parse_real(strsep(&rest, ","), min, max, &list[*count]);
    }
    return good;
}

bool sw_study_parse_names(const char *text, const char *const *names, bool *wanted)
{
    char copy[TEXT_MAX];
    char *rest = copy;
    bool good = snprintf(copy, sizeof(copy), "%s", text) < (int)sizeof(copy);
    for (int n = 0; names[n] != NULL; n++) {
        wanted[n] = false;
    }
    while (good && rest != NULL) {
        const char *name = strsep(&rest, ",");
        int n = 0;
        while (names[n] != NULL && strcmp(name, names[n]) != 0) {
            n++;
        }
        good = names[n] != NULL && !wanted[n];
        if (good) {
            wanted[n] = true;
        }
    }
    return good;
}

bool sw_study_list_has(const char *names, const char *name)
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
