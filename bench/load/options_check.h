/* SPDX-License-Identifier: MIT
 *
 * options_check.h - what the command line of sherwood-load may not ask for at once. Pure.
 */
#ifndef SHERWOOD_LOAD_OPTIONS_CHECK_H
#define SHERWOOD_LOAD_OPTIONS_CHECK_H

#include "bench/load/options.h"

/* The options of the command line. Only these can contradict each other. */
struct sw_load_given {
    bool key_bits, operation, distribution, theta, mix, hit_ratio;
};

/* Returns what is wrong with options that are each right, in static storage, or NULL. */
const char *sw_load_options_contradiction(const struct sw_load_options *options,
                                          const struct sw_load_given *given);

#endif
