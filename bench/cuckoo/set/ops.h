/* SPDX-License-Identifier: MIT
 *
 * ops.h - what a backend does for set.c: it owns two sets of arrays, of which one is current, the
 * list of keys left over, and whether the key of all ones is there, which no cell can hold.
 *
 * Threads: one at a time. Members that return int give SW_OK or an error of table.h.
 */
#ifndef SHERWOOD_BENCH_CUCKOO_SET_OPS_H
#define SHERWOOD_BENCH_CUCKOO_SET_OPS_H

#include "bench/cuckoo/set/cell.h"
#include "bench/cuckoo/set/set.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sw_cset_ops {
    /* A valid configuration. The current arrays and the list are empty. */
    int (*open)(const struct sw_cset_config *config, void **out, char *reason, size_t reason_size);
    void (*close)(void *arrays);
    int (*clear)(void *arrays);
    /* Into the current arrays; *left receives how many keys are in the list, which was empty.
     * is_empty: the set is. */
    int (*insert)(void *arrays, const struct sw_cuckoo_shape *shape, const uint32_t *keys,
                  uint64_t count, bool is_empty, uint64_t *left);
    /* insert, and find behind it, which is of no use if any is left; NULL: there is nothing to be
     * gained. */
    int (*insert_and_find)(void *arrays, const struct sw_cuckoo_shape *shape, const uint32_t *keys,
                           uint64_t count, bool is_empty, uint64_t *left, const uint32_t *queries,
                           uint32_t *found, uint64_t query_count);
    /* Copies everything in the current arrays (of shape `from`) and in the list (`left` keys)
     * to the other ones (of shape `to`), which are emptied first. *complete: all of it found a
     * place. */
    int (*move)(void *arrays, const struct sw_cuckoo_shape *from, const struct sw_cuckoo_shape *to,
                uint64_t left, bool *complete);
    /* Makes the other arrays the current ones. */
    void (*swap)(void *arrays);
    int (*find)(void *arrays, const struct sw_cuckoo_shape *shape, const uint32_t *keys,
                uint32_t *found, uint64_t count);
    int (*copy_left)(void *arrays, uint32_t *keys, uint64_t left);
    int (*copy_cells)(void *arrays, uint32_t *cells);
    uint64_t (*bytes)(const void *arrays);
    const char *(*failure)(const void *arrays);
};

extern const struct sw_cset_ops sw_cset_host_ops;
/* NULL where nvcc was not found (device_absent.c). */
const struct sw_cset_ops *sw_cset_cuda_ops(void);

#ifdef __cplusplus
}
#endif

#endif
