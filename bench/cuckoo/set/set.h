/* SPDX-License-Identifier: MIT
 *
 * set.h - a cuckoo set of 32-bit keys, without queues and operations: bulk insert and look-up of
 * arrays of keys. The study measures it; the engine behind table.h is in table/cuckoo.
 *
 * t = 2 or 3 arrays of equal size, an xxHash32 function each. A key that meets the chain bound
 * makes the set rehash: everything moves to a second set of arrays with other seeds, which is
 * tried up to rehash_max times. Nothing is lost where that does not help: the arrays stay as they
 * were, and the keys that found no place are handed back (sw_cset_take_left).
 *
 * Arrays of keys and bits lie in memory that the backend reaches: device or mapped memory
 * with CUDA, any with the CPU backend. They are borrowed for the length of a call.
 *
 * Threads: one at a time. Every call returns when its work is done. Functions that return int give
 * SW_OK or an error of table.h.
 */
#ifndef SHERWOOD_BENCH_CUCKOO_SET_SET_H
#define SHERWOOD_BENCH_CUCKOO_SET_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CUDA: how a batch is inserted. The contents are the same; in which cell a key lies is not. */
enum sw_cset_way {
    SW_CSET_WAY_AUTO,       /* by the size of the batch */
    SW_CSET_WAY_DIRECT,     /* one exchange in device memory after the other */
    SW_CSET_WAY_PARTITIONED /* array 0 by pieces in shared memory, what that takes out directly;
                               arrays of at most SW_CSET_PARTITIONED_BYTES_MAX each */
};
#define SW_CSET_PARTITIONED_BYTES_MAX (256ULL << 20)

struct sw_cset_config {
    enum sw_backend_kind backend;
    int device;          /* CUDA: device ordinal */
    uint32_t functions;  /* 2 or 3 */
    uint64_t cells_each; /* of one array, 1 .. 2^30 */
    uint32_t chain_max;  /* exchanges of one insert, at least 1 */
    uint32_t rehash_max; /* tries in a row before an insert is given up */
    uint32_t batch_max;  /* keys of one call of insert, at most 2^28 */
    /* CUDA; 0: the set's choice */
    enum sw_cset_way way;
    uint32_t insert_keys; /* in flight a thread: 1, 2, 4, 8 */
    uint32_t find_keys;
    uint32_t block_size; /* threads of insert's and find's blocks: 64, 128, 256, 512, 1024; but for
                            256 with 4 keys in flight alone */
    bool find_together;  /* read all arrays at once, not the next one where the last one missed */
};

/* All zero but: 3 functions, 2^20 cells each, chains of 128, 16 rehashes, batches of
 * 2^20. */
void sw_cset_config_init(struct sw_cset_config *config);

struct sw_cset;

/* An empty set. On failure *out is NULL and `reason` (if not NULL) says why. */
int sw_cset_open(const struct sw_cset_config *config, struct sw_cset **out, char *reason,
                 size_t reason_size);
void sw_cset_close(struct sw_cset *set); /* NULL is allowed */

int sw_cset_clear(struct sw_cset *set);

/* Inserts distinct keys that are absent; any key is allowed.
 * SW_E_FULL: so many keys as facts.left found no place even after rehash_max rehashes; they are
 * often older ones, and not among those that look-ups find. While they are not taken or cleared,
 * insert answers SW_E_FULL and does nothing. */
int sw_cset_insert(struct sw_cset *set, const uint32_t *keys, uint64_t count);

/* An insert, then a find in what it left, in one call: where no rehash is needed the host waits
 * once. */
int sw_cset_insert_and_find(struct sw_cset *set, const uint32_t *keys, uint64_t count,
                            const uint32_t *queries, uint32_t *found, uint64_t query_count);

/* Copies the keys left over to host memory and forgets them. */
int sw_cset_take_left(struct sw_cset *set, uint32_t *keys);

/* Bit i % 32 of found[i / 32]: keys[i] is present; unused bits of the last word are zero. */
int sw_cset_find(struct sw_cset *set, const uint32_t *keys, uint32_t *found, uint64_t count);

struct sw_cset_facts {
    enum sw_backend_kind backend; /* never AUTO */
    uint64_t cells;               /* of all arrays */
    uint64_t occupied;            /* keys that look-ups find */
    uint64_t left;                /* keys that insert handed back */
    uint64_t rehashes;            /* tried since it was opened or cleared */
    uint64_t bytes_reserved;
    const char *failure; /* of the device: text of the last one; "" if there was none */
};
void sw_cset_facts(const struct sw_cset *set, struct sw_cset_facts *facts);

/* Every cell in order, to host memory: facts.cells of them (cell.h). For tests. */
int sw_cset_copy_cells(struct sw_cset *set, uint32_t *cells);

#ifdef __cplusplus
}
#endif

#endif
