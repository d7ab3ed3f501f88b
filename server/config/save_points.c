/* SPDX-License-Identifier: MIT
 *
 * save_points.c - parses the option `save`, and computes whether a snapshot is due.
 */
#include "server/config/save_points.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "proto/decimal.h"

#define SECONDS_MAX 31536000U /* a year */

/* Parses the next number of the text, from 1 to `max`, and moves *text behind it. */
static bool take_number(const char **text, uint64_t max, uint64_t *number)
{
    *text += strspn(*text, " ");
    size_t size = strcspn(*text, " ");
    bool valid = sw_decimal_parse_size((const uint8_t *)*text, size, max, number) && *number > 0;
    *text += size;
    return valid;
}

int sw_save_points_parse(const char *text, struct sw_save_point points[SW_SAVE_POINTS_MAX],
                         char *error, size_t error_bytes)
{
    int count = 0;
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        if (count == SW_SAVE_POINTS_MAX) {
            snprintf(error, error_bytes, "save has more than %d pairs", SW_SAVE_POINTS_MAX);
            return -1;
        }
        struct sw_save_point *point = &points[count++];
        if (!take_number(&text, SECONDS_MAX, &point->seconds) ||
            !take_number(&text, UINT64_MAX, &point->changes)) {
            snprintf(error, error_bytes,
                     "save is pairs of seconds and changes, each at least 1, as in \"3600 1 300 "
                     "100\"");
            return -1;
        }
    }
    return count;
}

bool sw_save_point_is_due(const struct sw_save_point *points, int count, uint64_t elapsed_ms,
                          uint64_t changes)
{
    for (int i = 0; i < count; i++) {
        if (changes >= points[i].changes && elapsed_ms >= points[i].seconds * 1000) {
            return true;
        }
    }
    return false;
}
