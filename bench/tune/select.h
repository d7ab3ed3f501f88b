/* SPDX-License-Identifier: MIT
 *
 * select.h - which kernels, variants and workloads a program is asked about.
 */
#ifndef SHERWOOD_BENCH_TUNE_SELECT_H
#define SHERWOOD_BENCH_TUNE_SELECT_H

#include <regex.h>

#include "bench/tune/space.h"

#define SW_TUNE_FILTERS_MAX 16

/* The first member of a program's options, so that the three functions that take an option's value
 * (bench/study/options.h) find it. */
struct sw_tune_selection {
    struct sw_tune_filter filters[SW_TUNE_FILTERS_MAX];
    uint32_t filter_count;
    regex_t kernels; /* names that match */
    regex_t variants;
    bool has_variants; /* an expression for variants was given */
};

/* Everything is selected. */
void sw_tune_selection_init(struct sw_tune_selection *selection);
void sw_tune_selection_free(struct sw_tune_selection *selection);

bool sw_tune_take_filter(void *options, const char *text, char *why, size_t why_size);
bool sw_tune_take_kernels(void *options, const char *text, char *why, size_t why_size);
bool sw_tune_take_variants(void *options, const char *text, char *why, size_t why_size);

bool sw_tune_selects_kernel(const struct sw_tune_selection *selection, const char *kernel);
bool sw_tune_selects_variant(const struct sw_tune_selection *selection, const char *variant);
/* Whether the space has the axes and values that the filters name. */
bool sw_tune_selection_fits(const struct sw_tune_selection *selection,
                            const struct sw_tune_space *space, struct sw_tune_reason *reason);

#endif
