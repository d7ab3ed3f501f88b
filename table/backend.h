/* SPDX-License-Identifier: MIT
 *
 * backend.h - what a backend gives to table.c. Not for users of the table.
 *
 * table.c validates arguments and batches, chooses the engine's backend and keeps the statistics; a
 * backend owns memory and runs batches. engine.c lists the backends of each engine.
 */
#ifndef SHERWOOD_TABLE_BACKEND_H
#define SHERWOOD_TABLE_BACKEND_H

#include "table/batch.h"
#include "table/configuration.h"
#include "table/memory.h"
#include "table/ways.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As in sw_table_info and sw_table_stats; of the last resize submitted. */
struct sw_backend_facts {
    const char *bus_id; /* of the device; NULL: the slots lie in host memory */
    uint32_t bucket_slots;
    uint32_t max_probe;
    uint64_t buckets;
    uint64_t capacity_slots;
    uint64_t max_capacity_slots; /* always the same */
    uint64_t occupied_max;
    uint64_t bytes_reserved; /* slots and scratch, in the memory the slots lie in */
    uint64_t raw_bytes;      /* of what raw_copy copies */
    uint64_t image_bytes;    /* of memory that taking an image needs */
    uint64_t rows_mapped;    /* 0: values lie in the slots */
    uint64_t rows_max;
    uint64_t row_bytes_gpu, row_bytes_host; /* of memory that rows have */
    uint64_t grown;
    uint64_t resized;
    uint64_t resize_failed;
    uint64_t epoch;
    uint64_t expires;
    uint64_t expires_next;
    uint64_t expires_mean; /* when entries expire on average; 0: not known */
    uint64_t clock_steps;
    struct sw_way_counters ways[SW_WAY_COUNT]; /* of the batches polled */
    uint32_t together_ops_max;  /* operations that submit_together takes, at least 1; 0: there is no
                                   submit_together. Always the same */
    uint32_t collected_ops_max; /* that it takes of one batch, at least as many; likewise */
    bool collects_all;  /* submit takes no writes: each goes to submit_together, and has no more
                           groups than operations; likewise */
    bool filters_slots; /* GET may have a filter. Always the same */
};

/* Batches of operations that are carried out by one launch, as if one after the other. None has
 * only reads, or a place for left-overs. Their counts sum to at most together_ops_max, or to what
 * together_ops says, or one batch has at most collected_ops_max, and none has more groups than
 * operations. */
#define SW_READS_MAX 64      /* batches of reads in flight on a queue, of which one may be a scan */
#define SW_TOGETHERS 2       /* launches in flight */
#define SW_TOGETHER_MAX 1024 /* batches of a launch */
struct sw_together {
    uint32_t number; /* 0 .. SW_TOGETHERS - 1: no other one in flight has it */
    uint32_t count;  /* at least 1 */
    bool alone;      /* combine.c: the one part was submitted by itself */
    struct sw_batch *parts[SW_TOGETHER_MAX];
    struct sw_batch whole; /* the backend's, from submit_together to the end of poll_together */
};

/* A batch of SW_BATCH_IMAGE takes an image (sw_image_take). It has a place in the order of the
 * writes, but no number of its own. The backend leaves the image in image.memory, which is dropped
 * even if the batch then fails, and with image.borrows one of the arrays themselves, without a
 * copy. Of a backend that orders writes itself image.sequence receives the number of the last write
 * that is in it. image.held_ns: how long writes waited. SW_E_NOMEM: there is no memory for it. */

/* Where entries of an image go. */
struct sw_image_columns {
    uint32_t room;
    uint32_t count; /* of those that are there */
    void *keys;
    void *values;
    uint64_t *scores; /* of a cache; or times, of a table in which entries expire; or NULL */
};

/* Filling a table, as restore.h says. `begin` holds the table alone until `end`, which leaves the
 * counters in a batch, and of a table that stays empty none. */
struct sw_restoring {
    int (*begin)(void *table, uint64_t entries, void **out);
    int (*add)(void *restore, const void *keys, const void *values, uint32_t count);
    int (*end)(void *restore, bool keep, struct sw_batch *batch);
};

/* Memory of others, as table.h says. */
struct sw_importing {
    int (*import)(void *table, const struct sw_memory_source *source, struct sw_memory *out,
                  char *reason, size_t reason_size);
    void (*release)(void *table, struct sw_memory *memory);
    int (*load)(void *table, const struct sw_memory *memory, uint64_t offset, uint64_t bytes,
                void *to); /* NULL: the host reads all of its memory itself */
    bool (*device)(const void *table, uint8_t uuid[16]); /* NULL: there is none */
};

/* What a backend in C may leave out without a word, one in C++ (CUDA) is warned of, and that is an
 * error. */
#ifdef __cplusplus
#define SW_NONE_BY_DEFAULT = nullptr
#else
#define SW_NONE_BY_DEFAULT
#endif

/* Growth is the backend's: before a batch that might not fit it takes the capacity of
 * sw_geometry_grown and moves everything there; where that fails, the batch is carried out
 * in the table as it is. It keeps a copy of the configuration. */
struct sw_backend {
    const char *name;     /* "cpu" or "cuda" */
    uint64_t operations;  /* bit 1 << enum sw_op: submit takes it; GET always */
    uint32_t batch_kinds; /* bit 1 << enum sw_batch_kind; OPERATIONS always */
    bool leftovers_count; /* entries handed back (leftover_count) were held, and are held no more,
                             without being counted in `deleted` or `evicted` */

    /* Allocates an empty table of a valid configuration. *reason receives why this backend was
     * chosen on success (a device's name, a sentence), and what to do on failure. */
    int (*open)(const struct sw_table_config *config, void **out, char *reason, size_t reason_size);
    void (*close)(void *table);
    /* What changes when the table grows or shrinks. Any thread, at any time. */
    void (*facts)(void *table, struct sw_backend_facts *facts);

    void *(*io_alloc)(void *table, size_t bytes);
    void (*io_free)(void *table, void *memory, size_t bytes);

    int (*queue_open)(void *table, void **out);
    void (*queue_close)(void *queue);

    /* A valid batch; its outputs (status, counters, leftover_count, scan.got, _stash_change) are
     * zero on entry. poll returns SW_PENDING, or anything else once they are final. table.c keeps
     * the number of entries as the sum over batches of inserted - deleted - evicted, minus
     * leftover_count where leftovers_count says so. */
    int (*submit)(void *queue, struct sw_batch *batch);
    int (*poll)(void *queue, struct sw_batch *batch);

    /* Of a backend that carries batches out after submit has returned (combine.h): table.c then
     * submits all writes to one queue, at most SW_TOGETHERS of them in flight, and reads to the
     * others, of which each takes SW_READS_MAX. Where facts.together_ops_max is 0 these are NULL,
     * writes are submitted to any queue, and submit sets write_sequence. submit_together and
     * poll_together: as submit and poll. poll_together sets the outputs of the parts; their
     * counters sum to what the launch counted. flush: launches the reads of this stream that the
     * queue holds back; NULL if it never does. */
    int (*submit_together)(void *queue, struct sw_together *together);
    /* How many operations the next launch may have if all of them are `op` and none wants
     * `previous`: together_ops_max, or more where one launch costs much the same whatever it has.
     * Called before a launch, by whoever launches. NULL: always together_ops_max. */
    uint32_t (*together_ops)(void *table, enum sw_op op);
    int (*poll_together)(void *queue, struct sw_together *together);
    void (*flush)(void *queue, uint32_t stream);

    /* Blocking; no batch in flight. sw_table_check and sw_table_raw_copy; NULL: there is none. */
    int (*check)(void *table, char *violation, size_t violation_size);
    int (*raw_copy)(void *table, void *slots);

    /* image_read adds the next entries of an image, in any order, until the columns are full or
     * there are no more: SW_OK or SW_E_DEVICE. NULL: submit takes no SW_BATCH_IMAGE. */
    int (*image_read)(void *image, struct sw_image_columns *columns);
    void (*image_drop)(void *image);
    /* sw_memory_import, sw_memory_release, sw_memory_load, sw_memory_device. NULL: memory of this
     * process is used as it is, and there is no other. */
    const struct sw_importing *importing;
    /* No batch in flight: the next write has the number after this. NULL where writes are combined.
     */
    void (*set_sequence)(void *table, uint64_t sequence);
    /* The number of the write that began last. Any thread. NULL where writes are combined. */
    uint64_t (*last_sequence)(void *table) SW_NONE_BY_DEFAULT;
    /* The latest clock of its batches. Any thread. NULL: entries do not expire. */
    uint64_t (*clock)(const void *table) SW_NONE_BY_DEFAULT;
    /* As sw_table_hold. Any thread. NULL: entries do not expire. */
    void (*hold)(void *table, bool (*holds)(const void *context, uint64_t key),
                 const void *context) SW_NONE_BY_DEFAULT;
    /* NULL: entries are restored by batches. */
    const struct sw_restoring *restoring SW_NONE_BY_DEFAULT;
    /* Where writes are combined, of a table whose entries expire: whether some entry does. Then,
     * and where sw_batch._times, a batch of writes goes to submit_together by itself. A SWEEP
     * without `bury` is done when submit returns. */
    bool (*keeps_times)(const void *table) SW_NONE_BY_DEFAULT;
};

/* Whether a batch of operations has none but GET and PEEK. */
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

/* Whether a batch leaves the table as it is, but for the scores of entries that it used. */
static inline bool sw_batch_is_read(const struct sw_batch *batch)
{
    return batch->kind == SW_BATCH_OPERATIONS
               ? sw_batch_only_reads(batch)
               : batch->kind == SW_BATCH_SCAN || batch->kind == SW_BATCH_COUNT_SCORES;
}

/* EXPIRE and its kinds. */
#define SW_BACKEND_EXPIRES SW_OPS_EXPIRE

/* Every operation on integers but those; every kind of batch but those of the cache, and SWEEP. */
#define SW_BACKEND_ALL_OPERATIONS SW_OPS_INTEGERS
#define SW_BACKEND_ALL_KINDS \
    (1U << SW_BATCH_OPERATIONS | 1U << SW_BATCH_CLEAR | 1U << SW_BATCH_SCAN | 1U << SW_BATCH_RESIZE)

#ifdef __cplusplus
}
#endif

#endif
