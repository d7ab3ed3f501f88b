/* SPDX-License-Identifier: MIT
 *
 * acts.h - the acts: the steps that operations consist of.
 */
#ifndef SHERWOOD_TABLE_CACHE_ACTS_H
#define SHERWOOD_TABLE_CACHE_ACTS_H

/* The acts on a key. An operation is a set of these. */
enum sw_cache_act {
    SW_CACHE_ACT_READ = 1,   /* present: copy the value to `out`, before any other act */
    SW_CACHE_ACT_WRITE = 2,  /* present: write the value */
    SW_CACHE_ACT_ADD = 4,    /* present: add to the value */
    SW_CACHE_ACT_USE = 8,    /* present: count a use */
    SW_CACHE_ACT_ERASE = 16, /* present: remove it */
    SW_CACHE_ACT_INSERT = 32 /* absent: make an entry */
};

#endif
