/* SPDX-License-Identifier: MIT
 *
 * standalone.h - a cuckoo set or map of its own, without queues and operations: bulk insert and
 * look-up of arrays of keys. It is what bench/cuckoo measures; the engine behind table.h is
 * cuckoo_backend.h.
 *
 * t = 2 or 3 arrays of equal size, an xxHash32 function each. An entry that meets the chain bound
 * makes the table rehash: everything moves to a second set of arrays with other seeds, which is
 * tried up to rehash_max times. Nothing is lost where that does not help: the arrays stay as they
 * were, and the entries that found no place are handed back (sw_cuckoo_take_left).
 *
 * Arrays of keys, values and bits lie in memory that the backend reaches: device or mapped memory
 * with CUDA, any with the CPU backend. They are borrowed for the length of a call.
 *
 * Threads: one at a time. Every call returns when its work is done. Functions that return int give
 * SW_OK or an error of table.h.
 */
#ifndef SHERWOOD_TABLE_CUCKOO_STANDALONE_H
#define SHERWOOD_TABLE_CUCKOO_STANDALONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CUDA: how a batch is inserted. The contents are the same; in which cell a key lies is not. */
enum sw_cuckoo_way {
    SW_CUCKOO_WAY_AUTO,       /* by the size of the batch */
    SW_CUCKOO_WAY_DIRECT,     /* one exchange in device memory after the other */
    SW_CUCKOO_WAY_PARTITIONED /* array 0 by pieces in shared memory, what that takes out directly;
                                 cells of 32 and 64 bits, arrays of at most
                                 SW_CUCKOO_PARTITIONED_BYTES_MAX each */
};
#define SW_CUCKOO_PARTITIONED_BYTES_MAX (256ULL << 20)

struct sw_cuckoo_config {
    enum sw_backend_kind backend;
    int device;          /* CUDA: device ordinal */
    uint32_t cell_bits;  /* 32: a set of u32; 64: u32 to u32; 128: u64 to u64 */
    uint32_t functions;  /* 2 or 3 */
    uint64_t cells_each; /* of one array, 1 .. 2^30 */
    uint32_t chain_max;  /* exchanges of one insert, at least 1 */
    uint32_t rehash_max; /* tries in a row before an insert is given up */
    uint32_t batch_max;  /* keys of one call of insert, at most 2^28 */
    /* CUDA; 0: the table's choice */
    enum sw_cuckoo_way way;
    uint32_t insert_keys; /* of one thread on their way at once: 1, 2, 4, 8 (cells of 32 bits) */
    uint32_t find_keys;
    bool find_together; /* read all arrays at once, not the next one where the last one missed
                           (cells of 32 bits) */
};

/* ceil(l * log2(n)), at least 1: the report's bound. */
uint32_t sw_cuckoo_chain_bound(double l, uint64_t n);

/* All zero but: 32-bit cells, 3 functions, 2^20 cells each, chains of 128, 16 rehashes, batches of
 * 2^20. */
void sw_cuckoo_config_init(struct sw_cuckoo_config *config);

struct sw_cuckoo;

/* An empty table. On failure *out is NULL and `reason` (if not NULL) says why. */
int sw_cuckoo_open(const struct sw_cuckoo_config *config, struct sw_cuckoo **out, char *reason,
                   size_t reason_size);
void sw_cuckoo_close(struct sw_cuckoo *table); /* NULL is allowed */

int sw_cuckoo_clear(struct sw_cuckoo *table);

/* Inserts distinct keys that are absent; any key is allowed. values: NULL for cells of 32 bits.
 * SW_E_FULL: so many entries as facts.left found no place even after rehash_max rehashes; they are
 * often older ones, and not among those that look-ups find. While they are not taken or cleared,
 * insert answers SW_E_FULL and does nothing. */
int sw_cuckoo_insert(struct sw_cuckoo *table, const void *keys, const void *values, uint64_t count);

/* Copies the entries left over to host memory and forgets them. values: may be NULL. */
int sw_cuckoo_take_left(struct sw_cuckoo *table, void *keys, void *values);

/* Bit i % 32 of found[i / 32]: keys[i] is present; unused bits of the last word are zero. values
 * (NULL: not wanted; cells of 32 bits have none) receives its value, 0 if it is absent. */
int sw_cuckoo_find(struct sw_cuckoo *table, const void *keys, void *values, uint32_t *found,
                   uint64_t count);

struct sw_cuckoo_facts {
    enum sw_backend_kind backend; /* never AUTO */
    uint64_t cells;               /* of all arrays */
    uint64_t occupied;            /* entries that look-ups find */
    uint64_t left;                /* entries that insert handed back */
    uint64_t rehashes;            /* tried since it was opened or cleared */
    uint64_t bytes_reserved;
    const char *failure; /* of the device: text of the last one; "" if there was none */
};
void sw_cuckoo_facts(const struct sw_cuckoo *table, struct sw_cuckoo_facts *facts);

/* Every cell in order, to host memory: facts.cells of cell_bits (cell.inl). For tests. */
int sw_cuckoo_copy_cells(struct sw_cuckoo *table, void *cells);

#ifdef __cplusplus
}
#endif

#endif
