/* SPDX-License-Identifier: MIT
 *
 * ops.h - what a backend does for standalone.c: it owns two sets of arrays, of which one is
 * current, the list of entries left over, and the side cell.
 *
 * Threads: one at a time. Members that return int give SW_OK or an error of table.h.
 */
#ifndef SHERWOOD_TABLE_CUCKOO_OPS_H
#define SHERWOOD_TABLE_CUCKOO_OPS_H

#include "table/cuckoo/cuckoo.h"
#include "table/cuckoo/standalone.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The key of all ones, which no cell can hold. */
struct sw_cuckoo_side {
    uint64_t present; /* 0 or 1 */
    uint64_t value;
};

struct sw_cuckoo_ops {
    /* A valid configuration. The current arrays, the list and the side cell are empty. */
    int (*open)(const struct sw_cuckoo_config *config, void **out, char *reason,
                size_t reason_size);
    void (*close)(void *arrays);
    int (*clear)(void *arrays);
    /* Into the current arrays; *left receives how many entries are in the list, which was empty.
     * is_empty: the table is. */
    int (*insert)(void *arrays, const struct sw_cuckoo_shape *shape, const void *keys,
                  const void *values, uint64_t count, bool is_empty, uint64_t *left);
    /* Copies everything in the current arrays (of shape `from`) and in the list (`left` entries)
     * to the other ones (of shape `to`), which are emptied first. *complete: all of it found a
     * place. */
    int (*move)(void *arrays, const struct sw_cuckoo_shape *from, const struct sw_cuckoo_shape *to,
                uint64_t left, bool *complete);
    /* Makes the other arrays the current ones. */
    void (*swap)(void *arrays);
    int (*find)(void *arrays, const struct sw_cuckoo_shape *shape, const void *keys, void *values,
                uint32_t *found, uint64_t count);
    int (*copy_left)(void *arrays, void *keys, void *values, uint64_t left);
    int (*copy_cells)(void *arrays, const struct sw_cuckoo_shape *shape, void *cells);
    uint64_t (*bytes)(const void *arrays);
    const char *(*failure)(const void *arrays);
};

extern const struct sw_cuckoo_ops sw_cuckoo_host_ops;
/* NULL if this build has no CUDA backend (cuda/absent.c). */
const struct sw_cuckoo_ops *sw_cuckoo_cuda_ops(void);

#ifdef __cplusplus
}
#endif

#endif
