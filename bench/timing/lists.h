/* SPDX-License-Identifier: MIT
 *
 * lists.h - numbers and lists of numbers of a command line.
 *
 * Every function returns false, and leaves the result unusable, if the text is not what it should
 * be. Threads: any.
 */
#ifndef SHERWOOD_BENCH_TIMING_LISTS_H
#define SHERWOOD_BENCH_TIMING_LISTS_H

#include <stdbool.h>
#include <stdint.h>

/* A number, also with K, M or G for powers of 1024, or 2^N. */
bool sw_timing_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out);
bool sw_timing_parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *out);

/* A number above min, at most max. */
bool sw_timing_parse_double(const char *text, double min, double max, double *out);

/* Numbers with commas between. An item FROM..TO stands for FROM, twice that, and so on up to TO.
 * "none" is the empty list. */
bool sw_timing_parse_u64s(const char *text, uint64_t min, uint64_t max, uint64_t *list,
                          uint32_t list_max, uint32_t *count);
bool sw_timing_parse_u32s(const char *text, uint32_t min, uint32_t max, uint32_t *list,
                          uint32_t list_max, uint32_t *count);
bool sw_timing_parse_doubles(const char *text, double min, double max, double *list,
                             uint32_t list_max, uint32_t *count);

/* Which of `count` names the text has, with commas between; false if it has another. */
bool sw_timing_parse_names(const char *text, const char *(*name_of)(int number), int count,
                           bool *wanted);

/* Whether one of the names with commas between is `name`. */
bool sw_timing_list_has(const char *names, const char *name);

#endif
