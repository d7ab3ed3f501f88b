/* SPDX-License-Identifier: MIT
 *
 * library.h - a table under test in the cuckoo study: Sherwood's cuckoo engine with 2 or
 * 3 functions or its ordered Robin Hood table, both behind table.h, or another library's table
 * (bench/peers).
 *
 * Members return when their work is done; members that return bool print failures on stderr.
 * Threads: one.
 */
#ifndef SHERWOOD_BENCH_CUCKOO_LIBRARY_H
#define SHERWOOD_BENCH_CUCKOO_LIBRARY_H

#include "bench/cuckoo/options.h"
#include "bench/cuckoo/place.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The table that an experiment asks for. */
struct sw_cbench_wanted {
    uint64_t size; /* cells of one array, or of all arrays (options->size_is_total); for Robin Hood:
                      slots */
    uint32_t table;    /* SW_CBENCH_ROBIN_HOOD, a number of functions, or a peer's number */
    uint32_t bound;    /* exchanges of one insert; for Robin Hood the displacement in buckets, 0: no
                          bound; peers have their own */
    uint64_t keys_max; /* the most keys of one call */
};

/* Result of an insert. */
struct sw_cbench_inserted {
    uint64_t left;  /* keys that the table handed back */
    uint64_t aside; /* keys without a cell that look-ups find in the stash */
};

struct sw_cbench_facts {
    uint64_t cells;     /* cells or slots of all arrays */
    uint32_t slot_bits; /* bits of a cell or slot */
    uint64_t bytes;     /* bytes that the table reserves, including scratch memory */
};

struct sw_cbench_library {
    const char *name;
    const char *version; /* version of a peer, for run_info.txt */
    bool is_peer; /* wrong answers do not fail the study, and the study counts the keys that found
                     no place */
    uint32_t functions; /* number of hash functions; 0: not a cuckoo table */
    /* Returns whether the wanted table can hold the keys of one call; if not, `reason` says why.
     * NULL: always. */
    bool (*takes)(const struct sw_cbench_options *options, const struct sw_cbench_wanted *wanted,
                  char *reason, size_t reason_size);
    /* Opens a table. Returns NULL with a sentence in `reason` on failure. */
    void *(*open)(const struct sw_cbench_options *options, const struct sw_cbench_place *place,
                  const struct sw_cbench_wanted *wanted, char *reason, size_t reason_size);
    void (*close)(void *table);
    bool (*clear)(void *table);
    bool (*insert)(void *table, const uint32_t *keys, uint64_t count,
                   struct sw_cbench_inserted *inserted);
    /* Looks up keys. Bits of `found` are as in sw_batch.found; it has at least 8 bytes for each 64
     * keys. */
    bool (*find)(void *table, const uint32_t *keys, uint32_t *found, uint64_t count);
    /* One call: an insert, then a look-up in the resulting table. */
    bool (*insert_and_find)(void *table, const uint32_t *keys, uint64_t count,
                            struct sw_cbench_inserted *inserted, const uint32_t *queries,
                            uint32_t *found, uint64_t query_count);
    /* Called after each look-up, outside of the timed part: converts answers of another form to
     * bits. NULL: they are bits. */
    bool (*settle)(void *table, uint32_t *found, uint64_t count);
    void (*facts)(void *table, struct sw_cbench_facts *facts);
};

extern const struct sw_cbench_library sw_cbench_cuckoo2;
extern const struct sw_cbench_library sw_cbench_cuckoo3;
extern const struct sw_cbench_library sw_cbench_robin_hood;
/* bench/peers/bght_cuckoo.cu: linked only if BGHT was given to peers.mk, so only libraries.c may
 * name them. */
extern const struct sw_cbench_library sw_cbench_bght_cht;
extern const struct sw_cbench_library sw_cbench_bght_b16;

/* Returns the table of a number, or NULL if this build lacks it: Robin Hood, cuckoo with 2 and 3
 * functions, then peers. */
const struct sw_cbench_library *sw_cbench_library_of(uint32_t table);

#ifdef __cplusplus
}
#endif

#endif
