/* SPDX-License-Identifier: MIT
 *
 * plan.h - which variants a search looks at, and in which order.
 */
#ifndef SHERWOOD_BENCH_TUNE_SEARCH_PLAN_H
#define SHERWOOD_BENCH_TUNE_SEARCH_PLAN_H

#include "bench/tune/search/options.h"
#include "bench/tune/sources.h"

struct sw_tune_kernel {
    struct sw_tune_space *space;
    uint64_t sources;
    char sources_text[SW_TUNE_HASH_TEXT];
};

/* Products: base of every workload first; then the other variants, workload after workload in turn,
 * in an order that is the same each time and has no system, so that a search that ends early has
 * seen something of all. */
struct sw_tune_plan {
    struct sw_tune_kernel kernels[SW_TUNE_KERNELS_MAX];
    uint32_t kernel_count;
    struct sw_tune_product *products;
    uint32_t count;
};

/* On false `reason` says what is wrong with the kernels or the filters, and nothing is allocated.
 */
bool sw_tune_plan_make(struct sw_tune_plan *plan, const struct sw_tune_search_options *options,
                       struct sw_tune_reason *reason);
void sw_tune_plan_free(struct sw_tune_plan *plan);

const struct sw_tune_kernel *sw_tune_plan_kernel(const struct sw_tune_plan *plan,
                                                 const struct sw_tune_product *product);

#endif
