/* SPDX-License-Identifier: MIT
 *
 * library.h - the interface of a hash table library in the timing study: Sherwood's, or a peer's.
 *
 * Each library is one constant of type struct sw_timing_library, in bench/timing/sherwood.c or
 * bench/peers/<name>.cu. Keys and values are device arrays of integers of slot_bits / 2 bits. A
 * member launches its work and returns once all of it is done on the device, so that a host clock
 * measures all libraries alike. Members that return bool print failures on stderr. Threads: one.
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
    uint32_t batch_ops;  /* the most operations of one call */
    uint32_t block_size; /* threads of a block; 0: the library's own. Always 0 without
                            takes_block_size */
    int device;
    bool found; /* Sherwood: writes report for each key whether it was stored */
};

struct sw_timing_library {
    const char *name;      /* the `library` column */
    const char *version;   /* for run_info.txt */
    uint32_t slot_bits;    /* widths it has: 64, 128, or 64 | 128 */
    bool takes_block_size; /* whether block sizes are swept */
    bool keeps_repeats; /* insert stores a repeated key again, also within one call: the study never
                           replaces keys, and size counts every copy */

    /* Opens an empty table, or returns NULL with a sentence in `reason`. *slots receives the real
     * number of slots. */
    void *(*open)(const struct sw_timing_wanted *wanted, uint64_t *slots, char *reason,
                  size_t reason_size);
    void (*close)(void *table);

    /* Removes everything. */
    bool (*clear)(void *table);
    /* Inserts or replaces. Any of several equal keys in one call may win; last_wins is the
     * exception. Keys that find no place are dropped; the study counts them. */
    bool (*insert)(void *table, const void *keys, const void *values, uint64_t count);
    /* The same for keys that are all absent, if the library has a faster call for them. The study
     * uses it for inserts into an empty table and for fresh keys. NULL: insert. */
    bool (*insert_fresh)(void *table, const void *keys, const void *values, uint64_t count);
    /* values[i] receives the value of keys[i], or stays all ones / becomes all ones if it is
     * absent. The study fills `values` with all ones before, and never inserts that value. */
    bool (*get)(void *table, const void *keys, void *values, uint64_t count);
    /* Returns the channel whose stream has the gets (bench/study/span.h), or NULL. NULL: they are
     * in the default stream, like the study's own work. */
    void *(*channel)(void *table);
    /* Removes keys; NULL if the library cannot. */
    bool (*erase)(void *table, const void *keys, uint64_t count);
    /* Stores the number of entries. */
    bool (*size)(void *table, uint64_t *occupied);
    /* Inserts `fresh` (absent keys) and replaces the values of `stored` (present keys), in one
     * launch or in launches that overlap, as users of the library would do for "updates beside
     * inserts". NULL: the library cannot do this. */
    bool (*insert_and_update)(void *table, const void *fresh, const void *fresh_values,
                              uint64_t fresh_count, const void *stored, const void *stored_values,
                              uint64_t stored_count);
    /* Called after each get, outside of the timed part, with the same `values` and `count`:
     * converts another form of absent answers (a bit, a second array) to the form above. NULL: get
     * already uses this form. */
    bool (*settle)(void *table, void *values, uint64_t count);
    /* of equal keys in one call of insert the last one wins */
    bool last_wins;
};

#ifdef __cplusplus
}
#endif

#endif
