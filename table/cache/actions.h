/* SPDX-License-Identifier: MIT
 *
 * actions.h - the actions: the steps that operations consist of.
 */
#ifndef SHERWOOD_TABLE_CACHE_ACTIONS_H
#define SHERWOOD_TABLE_CACHE_ACTIONS_H

/* The actions on a key. An operation is a set of these. */
enum sw_cache_action {
    SW_CACHE_DO_READ = 1,    /* present: copy the value to `out`, before any other action */
    SW_CACHE_DO_WRITE = 2,   /* present: write the value */
    SW_CACHE_DO_ADD = 4,     /* present: add to the value */
    SW_CACHE_DO_USE = 8,     /* present: count a use */
    SW_CACHE_DO_ERASE = 16,  /* present: remove it */
    SW_CACHE_DO_INSERT = 32, /* absent: make an entry */
    SW_CACHE_DO_KEEP =
        64 /* absent: the new entry keeps the value of its slot, which is an id (ids.h);
              READ copies it. An entry that is not admitted has the id of all ones */
};

#endif
