/* SPDX-License-Identifier: MIT
 *
 * table.h - a table under test in the cuckoo study: the cuckoo engine with 2 or 3 functions, or
 * the ordered Robin Hood table, both behind table.h.
 *
 * Functions return when their work is done; those that return bool print failures on stderr.
 * Threads: one.
 */
#ifndef SHERWOOD_BENCH_CUCKOO_TABLE_H
#define SHERWOOD_BENCH_CUCKOO_TABLE_H

#include "bench/cuckoo/options.h"
#include "bench/cuckoo/place.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The table that an experiment asks for. */
struct sw_cbench_wanted {
    uint64_t size; /* cells of one array, or of all arrays (options->size_is_total); for Robin Hood:
                      slots */
    uint32_t table;    /* SW_CBENCH_ROBIN_HOOD or a number of functions */
    uint32_t bound;    /* exchanges of one insert; for Robin Hood the displacement in buckets, 0: no
                          bound */
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

/* Returns NULL for a number that is no table's. */
const char *sw_cbench_table_name(uint32_t table);
/* Returns the number of hash functions; 0: not a cuckoo table. */
uint32_t sw_cbench_table_functions(uint32_t table);

/* Returns whether the wanted table can hold the keys of one call; if not, `reason` says why. */
bool sw_cbench_table_takes(const struct sw_cbench_options *options,
                           const struct sw_cbench_wanted *wanted, char *reason, size_t reason_size);
/* Opens a table. Returns NULL with a sentence in `reason` on failure. */
void *sw_cbench_table_open(const struct sw_cbench_options *options,
                           const struct sw_cbench_place *place,
                           const struct sw_cbench_wanted *wanted, char *reason, size_t reason_size);
/* The table may be NULL. */
void sw_cbench_table_close(void *table);
bool sw_cbench_table_clear(void *table);
bool sw_cbench_table_insert(void *table, const uint32_t *keys, uint64_t count,
                            struct sw_cbench_inserted *inserted);
/* Looks up keys. Bits of `found` are as in sw_batch.found; it has at least 8 bytes for each 64
 * keys. */
bool sw_cbench_table_find(void *table, const uint32_t *keys, uint32_t *found, uint64_t count);
/* One call: an insert, then a look-up in the resulting table. */
bool sw_cbench_table_insert_and_find(void *table, const uint32_t *keys, uint64_t count,
                                     struct sw_cbench_inserted *inserted, const uint32_t *queries,
                                     uint32_t *found, uint64_t query_count);
void sw_cbench_table_facts(void *table, struct sw_cbench_facts *facts);

#ifdef __cplusplus
}
#endif

#endif
