/* SPDX-License-Identifier: MIT
 *
 * redis_options.h - the options of redis 7 that have no namesake here, and what corresponds to
 * them.
 *
 * The table is constant, so any thread may read it.
 */
#ifndef SHERWOOD_SERVER_CONFIG_REDIS_OPTIONS_H
#define SHERWOOD_SERVER_CONFIG_REDIS_OPTIONS_H

#include "server/config/options.h"

struct sw_redis_option {
    const char *option; /* the option that corresponds; NULL: none does */
    const char *note;   /* what else to know, or what to do if no option corresponds; or NULL */
    uint64_t unit;      /* CONFIG SET multiplies the value by this; 0: CONFIG SET refuses it */
};

/* Finds a name in any case. Returns false if redis has no such option, or an option has the same
 * name here. */
bool sw_redis_option_find(const char *name, struct sw_redis_option *found);

/* Writes what to do about an option of redis, for an error text. As a flag it is written --name
 * value, in a file name = value. */
void sw_redis_option_advise(const struct sw_redis_option *redis, bool is_flag, char *text,
                            size_t text_bytes);

#endif
