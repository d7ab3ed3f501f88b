/* SPDX-License-Identifier: MIT
 *
 * library.h - a table under test in the cuckoo study: a cuckoo set with 2 or 3 functions, or
 * Sherwood's ordered Robin Hood table behind table.h.
 *
 * Members return when their work is done; those that return bool say on stderr what failed.
 * Threads: one.
 */
#ifndef SHERWOOD_BENCH_CUCKOO_LIBRARY_H
#define SHERWOOD_BENCH_CUCKOO_LIBRARY_H

#include "bench/cuckoo/options.h"
#include "bench/cuckoo/place.h"

/* The table that an experiment asks for. */
struct sw_cbench_wanted {
    uint64_t size;      /* cells of one array, or of all (options->size_is_total); of Robin Hood:
                           slots */
    uint32_t functions; /* 2 or 3; 0: Robin Hood */
    uint32_t bound;     /* exchanges of one insert; of Robin Hood the displacement in buckets, 0: no
                           bound */
    uint64_t keys_max;  /* of one call */
    const struct sw_cbench_variant *variant;
};

/* Result of an insert. */
struct sw_cbench_inserted {
    uint64_t rehashes;
    uint64_t left; /* keys that found no place and were handed back */
};

struct sw_cbench_facts {
    uint64_t cells;     /* cells or slots, of all arrays */
    uint32_t slot_bits; /* of a cell or slot */
    uint64_t bytes;     /* reserved, scratch included */
};

struct sw_cbench_library {
    /* NULL with a sentence in `reason`. */
    void *(*open)(const struct sw_cbench_options *options, const struct sw_cbench_place *place,
                  const struct sw_cbench_wanted *wanted, char *reason, size_t reason_size);
    void (*close)(void *table);
    bool (*clear)(void *table);
    bool (*insert)(void *table, const uint32_t *keys, uint64_t count,
                   struct sw_cbench_inserted *inserted);
    /* Bits of `found` as in sw_batch.found; at least 8 bytes for each 64 keys. */
    bool (*find)(void *table, const uint32_t *keys, uint32_t *found, uint64_t count);
    void (*facts)(void *table, struct sw_cbench_facts *facts);
};

extern const struct sw_cbench_library sw_cbench_cuckoo;
extern const struct sw_cbench_library sw_cbench_robin_hood;

#endif
