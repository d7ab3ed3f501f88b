/* SPDX-License-Identifier: MIT
 *
 * backend.h - the interface between table.c and a backend. Not for users of the table.
 *
 * table.c validates arguments and batches, chooses the engine's backend and keeps the statistics; a
 * backend owns memory and runs batches. engine.c lists the backends of each engine.
 */
#ifndef SHERWOOD_TABLE_BACKEND_H
#define SHERWOOD_TABLE_BACKEND_H

#include "table/batch.h"
#include "table/configuration.h"
#include "table/exported_table.h"
#include "table/imported_memory.h"
#include "table/write_path.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fields as in sw_table_info and sw_table_stats. They describe the table after the last resize
 * submitted. */
struct sw_backend_facts {
    const char *bus_id; /* PCI address of the device; NULL: the slots lie in host memory */
    uint32_t bucket_slots;
    uint32_t max_probe;
    uint64_t buckets;
    uint64_t capacity_slots;
    uint64_t max_capacity_slots; /* constant */
    uint64_t occupied_max;
    uint64_t bytes_reserved; /* slots and scratch, in the memory the slots lie in */
    uint64_t bytes_unused;   /* mapped besides: replaced arrays, or memory for the next growth */
    uint64_t raw_bytes;      /* bytes that raw_copy copies */
    uint64_t image_bytes;    /* memory that taking an image needs */
    uint64_t rows_mapped;    /* 0: values lie in the slots */
    uint64_t rows_max;
    uint64_t row_bytes_gpu, row_bytes_host; /* memory allocated for rows */
    uint64_t grown;
    uint64_t resized;
    uint64_t resize_failed;
    uint64_t epoch;
    uint64_t expires;
    uint64_t expires_next;
    uint64_t expires_mean; /* mean expiry time of the entries that expire; 0: unknown */
    uint64_t clock_steps;
    uint64_t holes_max;   /* upper bound of the holes */
    uint64_t hole_passes; /* passes that closed holes */
    struct sw_write_path_counters
        write_paths[SW_WRITE_PATH_COUNT]; /* of the batches already polled */
    uint32_t combined_ops_max; /* most operations of a launch by submit_combined, at least 1; 0:
                                  the backend has no submit_combined. Constant */
    uint32_t gathered_ops_max; /* most operations of one batch in submit_combined, at least
                                  combined_ops_max; constant */
    bool gathers_all;   /* submit takes no writes: each write goes to submit_combined, and has no
                           more groups than operations; constant */
    bool filters_slots; /* GET may have a filter; constant */
    bool finds_first;   /* a batch of FIND_OR_INSERT alone first runs as a GET: if all keys are
                           present, it ends there. With submit_combined; constant */
};

/* Batches of operations that one launch carries out, as if one after the other. Each of them
 * writes, and has no arrays for left-overs. Either their counts sum to at most combined_ops_max, or
 * to what combined_ops returns, or there is one batch of at most gathered_ops_max operations. No
 * batch has more groups than operations. */
#define SW_READS_MAX 64        /* batches of reads in flight on a queue; at most one is a scan */
#define SW_COMBINED_LAUNCHES 2 /* launches in flight */
#define SW_COMBINED_BATCHES_MAX 1024 /* batches of a launch */
#define SW_COMBINED_BATCHES_FEW 16   /* those that a launch always has room for */
struct sw_combined_launch {
    uint32_t number; /* 0 .. SW_COMBINED_LAUNCHES - 1, unique among the launches in flight */
    uint32_t count;  /* at least 1 */
    bool alone;      /* write_combiner.c submitted the only part by backend->submit */
    uint32_t room;   /* of `parts`; at most SW_COMBINED_BATCHES_MAX */
    struct sw_batch **parts; /* `few`, or allocated when more batches waited */
    struct sw_batch *few[SW_COMBINED_BATCHES_FEW];
    struct sw_batch whole; /* used by the backend from submit_combined to completion */
};

/* A batch of SW_BATCH_IMAGE takes an image (sw_image_take). The order of the writes includes the
 * image, but the image has no number of its own. The backend returns the image in image.memory. The
 * caller drops it, even if the batch fails afterwards. With image.borrows the image is the arrays
 * themselves, without a copy. A backend that orders writes itself sets image.sequence to the number
 * of the last write in the image. image.held_ns: how long writes waited. SW_E_NOMEM: there is no
 * memory for the image. */

/* Arrays that image_read fills with entries of an image. */
struct sw_image_columns {
    uint32_t room;
    uint32_t count; /* entries in the arrays */
    void *keys;
    void *values;
    uint64_t *scores; /* a cache: scores; a table in which entries expire: times; or NULL */
};

/* Functions that fill a table (restore.h). `begin` locks the table until `end`. `end` returns the
 * counters in a batch; they are 0 if the table stays empty. */
struct sw_restoring {
    int (*begin)(void *table, uint64_t entries, void **out);
    int (*add)(void *restore, const void *keys, const void *values, uint32_t count);
    int (*end)(void *restore, bool keep, struct sw_batch *batch);
};

/* Imported memory (imported_memory.h). */
struct sw_importing {
    int (*import)(void *table, const struct sw_memory_source *source, struct sw_memory *out,
                  char *reason, size_t reason_size);
    void (*release)(void *table, struct sw_memory *memory);
    /* Copies the device memory of the list, and leaves out memory of the host. NULL, both: the
     * backend imports only memory that the host can read. */
    int (*copy)(void *table, const struct sw_memory_copy *list, uint32_t count,
                struct sw_memory_copies **out);
    int (*copy_poll)(void *table, struct sw_memory_copies *copies);
    bool (*device)(const void *table, uint8_t uuid[16]); /* NULL: the table has no device */
};

/* Implements exported_table.h. */
struct sw_exporting {
    int (*describe)(void *table, bool adds, struct sw_table_export *out, char *reason,
                    size_t reason_size);
    void (*leave)(void *table);
    void (*end)(void *table);
    void (*counts)(void *table, uint64_t *hits, uint64_t *misses);
};

/* Members with this default may be left out of an initializer. C allows that silently. In C++
 * (CUDA) the compiler warns without the default, and warnings are errors. */
#ifdef __cplusplus
#define SW_NONE_BY_DEFAULT = nullptr
#else
#define SW_NONE_BY_DEFAULT
#endif

/* The backend grows the table: before a batch that might not fit, it moves everything to arrays of
 * the capacity of sw_geometry_grown. If that fails, it carries out the batch in the table as it is.
 * It keeps a copy of the configuration. */
struct sw_backend {
    const char *name;     /* "cpu" or "cuda" */
    uint64_t operations;  /* bit 1 << enum sw_op: submit takes it; GET always */
    uint32_t batch_kinds; /* bit 1 << enum sw_batch_kind; OPERATIONS always */
    bool leftovers_count; /* entries handed back (leftover_count) have left the table, and neither
                             `deleted` nor `evicted` counts them */

    /* Allocates an empty table of a valid configuration. On success *reason receives why this
     * backend was chosen (a device's name, a sentence), on failure what to do. */
    int (*open)(const struct sw_table_config *config, void **out, char *reason, size_t reason_size);
    void (*close)(void *table);
    /* Returns the current facts; some change when the table grows or shrinks. Any thread, at any
     * time. */
    void (*facts)(void *table, struct sw_backend_facts *facts);

    void *(*io_alloc)(void *table, size_t bytes);
    void (*io_free)(void *table, void *memory, size_t bytes);

    int (*queue_open)(void *table, void **out);
    void (*queue_close)(void *queue);

    /* submit takes a valid batch; its outputs (status, counters, leftover_count, scan.got,
     * _stash_change) are zero on entry. poll returns SW_PENDING until they are final, then another
     * status. table.c computes the number of entries as the sum over batches of inserted - deleted
     * - evicted, minus leftover_count if leftovers_count is true. */
    int (*submit)(void *queue, struct sw_batch *batch);
    int (*poll)(void *queue, struct sw_batch *batch);

    /* For a backend that carries out batches after submit has returned (write_combiner.h). table.c
     * submits all writes to one queue, with at most SW_COMBINED_LAUNCHES launches in flight, and
     * reads to the other queues. Each of those takes SW_READS_MAX reads. If facts.combined_ops_max
     * is 0, these members are NULL, writes are submitted to any queue, and submit sets
     * write_sequence. submit_combined and poll_combined work like submit and poll. If a launch in
     * flight must be completed first, both submits return SW_E_BUSY, and do nothing. poll_combined
     * sets the outputs of the parts; their counters sum to what the launch counted. flush launches
     * the reads of this stream that the queue holds back; NULL: the queue never holds reads back.
     */
    int (*submit_combined)(void *queue, struct sw_combined_launch *combined);
    /* Returns how many operations the next launch may have if all of them are `op` and none wants
     * `previous`: combined_ops_max, or more if one launch costs much the same for any number of
     * operations. The leader calls it before a launch. NULL: always combined_ops_max. */
    uint32_t (*combined_ops)(void *table, enum sw_op op);
    int (*poll_combined)(void *queue, struct sw_combined_launch *combined);
    void (*flush)(void *queue, uint32_t stream);

    /* Implement sw_table_check and sw_table_raw_copy. They block, and no batch may be in flight.
     * NULL: not supported. */
    int (*check)(void *table, char *violation, size_t violation_size);
    int (*raw_copy)(void *table, void *slots);

    /* image_read adds the next entries of an image, in any order, until the columns are full or the
     * image ends. Returns SW_OK or SW_E_DEVICE. NULL: submit takes no SW_BATCH_IMAGE. */
    int (*image_read)(void *image, struct sw_image_columns *columns);
    void (*image_drop)(void *image);
    /* Implements sw_memory_import, sw_memory_release, sw_memory_copy and sw_memory_device. NULL:
     * the table uses memory of this process where it lies, and can import no other memory. */
    const struct sw_importing *importing;
    /* Sets the number of the last write: the next write gets the number after it. No batch may be
     * in flight. NULL where writes are combined. */
    void (*set_sequence)(void *table, uint64_t sequence);
    /* Returns the number of the write that began last. Any thread. NULL where writes are combined.
     */
    uint64_t (*last_sequence)(void *table) SW_NONE_BY_DEFAULT;
    /* Returns the latest clock of the table's batches. Any thread. NULL: entries do not expire. */
    uint64_t (*clock)(const void *table) SW_NONE_BY_DEFAULT;
    /* Implements sw_table_suspend_expiry. Any thread. NULL: entries do not expire. */
    void (*suspend_expiry)(void *table, bool (*is_suspended)(const void *context, uint64_t key),
                           const void *context) SW_NONE_BY_DEFAULT;
    /* NULL: entries are restored by batches. */
    const struct sw_restoring *restoring SW_NONE_BY_DEFAULT;
    /* Returns whether some entry has an expiry time, in a table where writes are combined and
     * entries may expire. If so, or if sw_batch._times is set, a batch of writes goes to
     * submit_combined without other batches. A SWEEP without `remove_keys` is done when submit
     * returns. */
    bool (*keeps_times)(const void *table) SW_NONE_BY_DEFAULT;
    /* Returns whether a launch of writes had better wait, because other tables launch too. Then the
     * leader lets batches gather, and asks again at the next poll. `flying`: launches in flight.
     * Any thread. NULL: never. */
    bool (*must_wait)(const void *table, uint32_t flying) SW_NONE_BY_DEFAULT;
    /* Implements sw_table_tidy, where writes are combined. The leader calls it with the queue of
     * the launches while no launch is in flight. May return before the work is done. Returns false
     * on a lost device. NULL: there is nothing to do. */
    bool (*tidy)(void *queue) SW_NONE_BY_DEFAULT;
    /* Implements sw_queue_create_for: the queue belongs to this thread, whose queues of other
     * tables have the same number. Called once, before the first batch. NULL: the number does not
     * matter.
     */
    int (*queue_join)(void *queue, uint32_t thread) SW_NONE_BY_DEFAULT;
    /* NULL: no other process can read the table. */
    const struct sw_exporting *exporting SW_NONE_BY_DEFAULT;
    /* Implements sw_table_holds; `returns`: sw_table_keeps_out. NULL: both return false. */
    bool (*holds)(void *table, bool reads, bool returns) SW_NONE_BY_DEFAULT;
};

/* Returns whether all operations of a batch are GET or PEEK. */
static inline bool sw_batch_only_reads(const struct sw_batch *batch)
{
    if (batch->ops == NULL || batch->count == 0) {
        return SW_OPS_HAS(SW_OPS_READ, (uint32_t)batch->op) || batch->count == 0;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        if (!SW_OPS_HAS(SW_OPS_READ, batch->ops[i])) {
            return false;
        }
    }
    return true;
}

/* Returns whether a batch only reads the table. A read may still change the scores of the entries
 * it used. */
static inline bool sw_batch_is_read(const struct sw_batch *batch)
{
    return batch->kind == SW_BATCH_OPERATIONS
               ? sw_batch_only_reads(batch)
               : batch->kind == SW_BATCH_SCAN || batch->kind == SW_BATCH_COUNT_SCORES;
}

/* EXPIRE and its conditional forms. */
#define SW_BACKEND_EXPIRES SW_OPS_EXPIRE

/* The operations of tables of ids, if the backend has them. SET gives ids to keys: only a log, a
 * replica or a load uses it. */
#define SW_BACKEND_ID_OPERATIONS \
    (~SW_OPS_OPERAND | SW_BACKEND_EXPIRES | SW_OPS_ONE(SW_SET) | SW_OPS_ONE(SW_FIND_OR_INSERT))

/* All operations on integers, except EXPIRE and its conditional forms. All kinds of batch, except
 * SWEEP and those of the cache. */
#define SW_BACKEND_ALL_OPERATIONS (SW_OPS_INTEGERS | SW_OPS_PAIR)
#define SW_BACKEND_ALL_KINDS \
    (1U << SW_BATCH_OPERATIONS | 1U << SW_BATCH_CLEAR | 1U << SW_BATCH_SCAN | 1U << SW_BATCH_RESIZE)

#ifdef __cplusplus
}
#endif

#endif
