/* SPDX-License-Identifier: MIT
 *
 * backend.h - what a backend gives to table.c. Not for users of the table.
 *
 * table.c validates arguments and batches, plans the geometry, chooses the backend and keeps the
 * statistics; a backend owns memory and runs batches.
 */
#ifndef SHERWOOD_TABLE_BACKEND_H
#define SHERWOOD_TABLE_BACKEND_H

#include "table/geometry.h"
#include "table/robin_hood.h"
#include "table/table.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sw_backend_facts {
    struct sw_geometry geometry; /* of the last resize submitted */
    uint64_t bytes_reserved;     /* slots and scratch, in the memory the slots lie in */
    uint64_t grown;              /* as in sw_table_stats */
    uint64_t resized;
    uint64_t resize_failed;
};

/* Growth is the backend's: before a batch that might not fit it takes the capacity of
 * sw_geometry_grown and moves everything there; where that fails, the batch is carried out
 * in the table as it is. It keeps a copy of the configuration. */
struct sw_backend {
    const char *name;

    /* Allocates an empty table. *reason receives why this backend was chosen on success (a device's
     * name, a sentence), and what to do on failure. */
    int (*open)(const struct sw_table_config *config, const struct sw_geometry *geometry,
                void **out, char *reason, size_t reason_size);
    void (*close)(void *table);
    /* What changes when the table grows or shrinks. Any thread, at any time. */
    void (*facts)(void *table, struct sw_backend_facts *facts);

    void *(*io_alloc)(void *table, size_t bytes);
    void (*io_free)(void *table, void *memory, size_t bytes);

    int (*queue_open)(void *table, void **out);
    void (*queue_close)(void *queue);

    /* A valid batch; its outputs (status, counters, leftover_count, scan_count, _stash_change) are
     * zero on entry. poll returns SW_PENDING, or anything else once they are final. table.c keeps
     * the number of entries as the sum over batches of inserted - deleted - leftover_count. */
    int (*submit)(void *queue, struct sw_batch *batch);
    int (*poll)(void *queue, struct sw_batch *batch);

    /* Blocking; no batch in flight. The state, and all slots (main array, then stash). */
    int (*read_back)(void *table, struct sw_state *state, void *slots);
};

extern const struct sw_backend sw_backend_cpu;
/* NULL if this build has no CUDA backend (cuda/absent.c). */
const struct sw_backend *sw_backend_cuda(void);

/* Scan, shared by the backends: takes the entries of raw windows of the main array and the stash
 * and writes the batch's answers and next cursor. Each window starts at the home bucket of the
 * cursor in its array. `table` (its views give the geometry; slots may be NULL) is struct
 * sw_table_s64 or _s128 by slot_bits. Backends read at least SW_SCAN_WINDOW buckets a call, or what
 * is left of the array; a window may have 0 buckets only if its array holds no entries (the stash
 * at stash_occupied 0). Returns false, with the batch untouched, if the windows end before the
 * cursor could move (a run of full buckets longer than a window): double them and call again. */
#define SW_SCAN_WINDOW 16384
struct sw_scan_window {
    const void *slots; /* host-readable; NULL if buckets is 0 */
    uint64_t first;    /* bucket number of slots[0] */
    uint64_t buckets;
};
bool sw_scan_collect(uint32_t slot_bits, const void *table, const struct sw_state *state,
                     const struct sw_scan_window *main, const struct sw_scan_window *stash,
                     struct sw_batch *batch);

#ifdef __cplusplus
}
#endif

#endif
