/* SPDX-License-Identifier: MIT
 *
 * options_check.h - finds options of sherwood-load that contradict each other. Pure.
 */
#ifndef SHERWOOD_LOAD_OPTIONS_CHECK_H
#define SHERWOOD_LOAD_OPTIONS_CHECK_H

#include "bench/load/options.h"

/* The options that the command line sets. Only these can contradict each other. */
struct sw_load_given {
    bool key_bits, operation, distribution, theta, mix, hit_ratio;
};

/* Returns an error text, in static storage, for valid options that contradict each other; or NULL.
 */
const char *sw_load_options_contradiction(const struct sw_load_options *options,
                                          const struct sw_load_given *given);

#endif
