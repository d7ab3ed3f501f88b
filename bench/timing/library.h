/* SPDX-License-Identifier: MIT
 *
 * library.h - what the timing study asks of a hash table library: ours, or a peer's.
 *
 * Each library is one constant of type struct sw_timing_library, in bench/timing/sherwood.c or
 * bench/peers/<name>.cu. Keys and values are device arrays of integers of slot_bits / 2 bits. A
 * member launches its work and returns once all of it is done on the device, so that the study can
 * hold a host clock against all of them alike. Members that return bool say on stderr what failed.
 * Threads: one.
 */
#ifndef SHERWOOD_BENCH_TIMING_LIBRARY_H
#define SHERWOOD_BENCH_TIMING_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the study wants of a table. */
struct sw_timing_wanted {
    uint32_t slot_bits;  /* 64 or 128 */
    uint64_t slots;      /* minimum; a library may round up, and returns the number in `slots` */
    uint32_t batch_ops;  /* the most operations one call will have */
    uint32_t block_size; /* threads of a block, 0: the library's own; libraries that choose their
                            own launch shape leave `takes_block_size` false and are given 0 */
    int device;
};

struct sw_timing_library {
    const char *name;      /* the `library` column */
    const char *version;   /* for run_info.txt */
    uint32_t slot_bits;    /* widths it has: 64, 128, or 64 | 128 */
    bool takes_block_size; /* whether block sizes are swept */
    bool keeps_repeats;    /* insert stores a repeated key again, also within one call: the study
                              must not use it to replace, and size counts every copy */

    /* An empty table, or NULL with a sentence in `reason`. *slots: how many it really has. */
    void *(*open)(const struct sw_timing_wanted *wanted, uint64_t *slots, char *reason,
                  size_t reason_size);
    void (*close)(void *table);

    /* Removes everything. */
    bool (*clear)(void *table);
    /* Inserts or replaces. Of equal keys in one call any may win, unless the library says more;
     * Sherwood's is the last. Keys that found no place are dropped; the study counts them. */
    bool (*insert)(void *table, const void *keys, const void *values, uint64_t count);
    /* The same for keys that are all absent, if the library has a faster call for them. The study
     * uses it for inserts into an empty table and for fresh keys. NULL: insert. */
    bool (*insert_fresh)(void *table, const void *keys, const void *values, uint64_t count);
    /* values[i] receives the value of keys[i], or stays all ones / becomes all ones if it is
     * absent. The study fills `values` with all ones before, and never inserts that value. */
    bool (*get)(void *table, const void *keys, void *values, uint64_t count);
    /* Removes keys; NULL if the library cannot. */
    bool (*erase)(void *table, const void *keys, uint64_t count);
    /* Entries stored. */
    bool (*size)(void *table, uint64_t *occupied);
    /* Inserts `fresh` (absent keys) and replaces the values of `stored` (present ones), both in one
     * launch or in launches that overlap, whatever the library's users would do for "updates beside
     * inserts". NULL if it has no way to do so: then there is nothing to lose. */
    bool (*insert_and_update)(void *table, const void *fresh, const void *fresh_values,
                              uint64_t fresh_count, const void *stored, const void *stored_values,
                              uint64_t stored_count);
    /* Called after each get, outside of what is timed, with the same `values` and `count`: brings
     * answers that say "absent" in another way (a bit, a second array) to the form above. NULL if
     * get leaves them so. */
    bool (*settle)(void *table, void *values, uint64_t count);
    /* Of equal keys in one call of insert the last wins. */
    bool last_wins;
};

#ifdef __cplusplus
}
#endif

#endif
