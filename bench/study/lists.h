/* SPDX-License-Identifier: MIT
 *
 * lists.h - reads numbers and lists of numbers and names.
 *
 * Every function returns false if the text is not of its form; the result is then undefined.
 * Threads: any.
 */
#ifndef SHERWOOD_BENCH_STUDY_LISTS_H
#define SHERWOOD_BENCH_STUDY_LISTS_H

#include <stdbool.h>
#include <stdint.h>

/* A number, also 2^N, or with the suffix K, M or G (powers of 1024). */
bool sw_study_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* Numbers separated by commas. An item FROM..TO means FROM, 2 FROM, 4 FROM and so on up to TO.
 * "none" is the empty list. */
bool sw_study_parse_u64s(const char *text, uint64_t min, uint64_t max, uint64_t *list,
                         uint32_t list_max, uint32_t *count);

/* A real number from min to max. */
bool sw_study_parse_real(const char *text, double min, double max, double *out);
/* The same separated by commas, or "none". */
bool sw_study_parse_reals(const char *text, double min, double max, double *list, uint32_t list_max,
                          uint32_t *count);

/* Names separated by commas: sets wanted[i] where names[i] is among them, and clears the others.
 * `names` ends with NULL. */
bool sw_study_parse_names(const char *text, const char *const *names, bool *wanted);

/* Whether `name` is one of the names separated by commas. */
bool sw_study_list_has(const char *names, const char *name);

#endif
