/* SPDX-License-Identifier: MIT
 *
 * save_points.h - the option `save`: after how many seconds and changes a snapshot is written.
 *
 * Pure functions, for any thread.
 */
#ifndef SHERWOOD_SERVER_CONFIG_SAVE_POINTS_H
#define SHERWOOD_SERVER_CONFIG_SAVE_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_SAVE_POINTS_MAX 8

/* A snapshot is due if `seconds` have passed since the last snapshot and `changes` keys have
 * changed since then. */
struct sw_save_point {
    uint64_t seconds;
    uint64_t changes;
};

/* Parses "3600 1 300 100K". Returns the number of points, 0 for an empty text; or -1, with a
 * sentence in `error`. */
int sw_save_points_parse(const char *text, struct sw_save_point points[SW_SAVE_POINTS_MAX],
                         char *error, size_t error_bytes);

/* Returns true if one of the points is due. */
bool sw_save_point_is_due(const struct sw_save_point *points, int count, uint64_t elapsed_ms,
                          uint64_t changes);

#endif
