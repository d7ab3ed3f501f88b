/* SPDX-License-Identifier: MIT
 *
 * host.cuh - the host's side of a CUDA table of Robin Hood: its memory and its queues.
 *
 * Threads: the owner's mutex `order` guards everything that submit changes in the table and in
 * other queues. The thread that replaces the table's arrays holds the mutex `growth`; it unlocks
 * `order` while it allocates new arrays. Lock `growth` before `order`. Everything else of a queue
 * belongs to the queue's thread.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_HOST_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_HOST_CUH

#include "table/device/channel.cuh"
#include "table/device/combined_launch.cuh"
#include "table/device/launcher.cuh"
#include "table/device/pool.cuh"
#include "table/device/reader.cuh"
#include "table/robin_hood/cuda/device.cuh"
#include "table/robin_hood/cuda/ids/ids.cuh"
#include "table/robin_hood/cuda/look_up/shared_get.cuh"
#include "table/robin_hood/cuda/rebuild/arrays.cuh"
#include "table/robin_hood/cuda/rows/arena.cuh"
#include "table/robin_hood/expiry_table.h"
#include "table/robin_hood/robin_hood_backend.h"
#include "table/robin_hood/write_choice.h"

/* Batches of at least SW_CUDA_NEW_KEYS_MIN upserts update the estimate of the share of new keys
 * (poll.cu). The share is counted in parts of SW_CUDA_NEW_KEYS_ALL. */
#define SW_CUDA_NEW_KEYS_MIN (1U << 14)
#define SW_CUDA_NEW_KEYS_ALL 1024

/* Most keys of a launch of several batches. A write waits for the reads that were launched before
 * it, and a read of another queue shares the bus with them. With frames of 64 and 256 Ki of u64
 * keys, launches of 2^19 and 2^20 keys were not faster on an H200. */
#define SW_CUDA_READ_KEYS_MAX (1U << 18)

struct sw_cuda_table : sw_cuda_channel_owner {
    struct sw_table_config config;
    uint32_t slot_bits;
    uint32_t format; /* of the slots (widths.h) */
    bool has_hints;
    pthread_mutex_t growth;
    struct sw_cuda_pool *pool;        /* memory of the arrays; the launcher's */
    struct sw_cuda_arrays arrays;     /* guarded by `order`, like most members down to
                                         `resize_failed` */
    struct sw_state *state;           /* device */
    struct sw_cuda_control *control;  /* device */
    uint64_t scratch_version;         /* of the area that the device view's scratch lies in */
    struct sw_cuda_combined combined; /* combined launches of writes */
    struct sw_cuda_arena arena;       /* arena of a table with rows; otherwise zero */
    struct sw_cuda_ids ids;           /* of a table of ids; otherwise zero */
    uint64_t scratch_bytes;           /* device memory except the arrays and the scratch */
    uint64_t scratch_need;         /* scratch that it had the device allocate; 0: it had enough */
    struct sw_cuda_expiry *expiry; /* atomic: expiry.cuh; NULL: no key ever had an expiry
                                      time */
    uint64_t times_bytes;          /* device memory of `expiry`, as last counted */
    const struct sw_expiry_table_calls
        *expiry_calls; /* functions that make a table of expiry times; its queue is
            a struct sw_cuda_queue that only the caller uses */
    uint64_t clock_ms; /* atomic: latest clock of the batches, in ms */
    /* sw_table_suspend_expiry; under `order`. */
    bool (*is_suspended)(const void *context, uint64_t key);
    const void *suspended_context;
#define DEVICE(bits, word, suffix) struct sw_cuda_device<bits> suffix;
    SW_FORMATS(DEVICE) /* only the member for `format` is filled in */
#undef DEVICE
    uint64_t hints_age; /* atomic: at least the entries inserted by the batches polled since the
                           hints were exact */
    struct sw_ahead_pace pace; /* of `added` */
    uint64_t grow_after_ns; /* earliest time of the next growth after one that failed; 0: at once */
    struct sw_hole_facts holes;
    uint64_t hole_passes; /* as in sw_backend_facts */
    bool forbids_holes;   /* other code than look-ups reads the slots: a table of expiry times */
    bool stream_failed;   /* the allocation of a second set of arrays failed; reset by a move to
                             other arrays */
    uint64_t grown;       /* as in sw_backend_facts */
    uint64_t resized;
    uint64_t resize_failed;

    struct sw_write_path_counters
        write_paths[SW_WRITE_PATH_COUNT]; /* atomic: counters of the batches polled so far */
    uint64_t stash;    /* atomic: entries of the stash after the batches polled so far */
    uint64_t entries;  /* atomic: upper bound of the entries after all submitted batches */
    uint64_t added;    /* atomic: inserts less deletes of the batches polled so far; may wrap */
    uint32_t new_keys; /* atomic: share of the upserts that inserted, over recent batches of at
                          least SW_CUDA_NEW_KEYS_MIN upserts, in parts of SW_CUDA_NEW_KEYS_ALL; the
                          estimate for the next batch */
};

/* A scan in progress. A queue has one staging buffer, so it runs one scan at a time. */
struct sw_cuda_scan {
    bool running;
    uint64_t window;    /* most buckets to read of each array */
    uint64_t main_room; /* buckets of the main array that fit `staging`; fewer than `window` if the
                           array was smaller at the allocation */
    uint64_t stash_room;
    char *staging; /* pinned: sw_state, window of the main array, window of the stash */
    size_t staging_bytes;
    struct sw_scan_window main;
    struct sw_scan_window stash;
    struct sw_scan_shape shape; /* of the arrays as they were when the windows were copied */
    /* In a table with rows or expiry times, the windows provide the keys. A read of these keys
     * provides the values. */
    bool reads_rows;      /* that read is in flight */
    bool filters_expired; /* the table had expiring entries when the windows were copied: the scan
                             reads the values also */
    struct sw_batch rows; /* that read */
    uint64_t *found;      /* `found` of that read; pinned [batch_ops_max / 64 rounded up] */
};

struct sw_cuda_queue : sw_cuda_channel {
    struct sw_cuda_table *table;              /* the owner */
    struct sw_cuda_tally *tallies;            /* device [SW_CUDA_IN_FLIGHT_MAX] */
    struct sw_batch *held[SW_CUDA_READS_MAX]; /* reads submitted, not yet launched */
    uint32_t held_count;
    void *view; /* device: the table's struct sw_cuda_read_view; NULL: the queue has no reader */
    struct sw_cuda_read_view<128> viewed; /* what was last stored there, with the types of the
                                             table's width */
    int resize_status;                    /* of the last resize */
    uint64_t freed_ticket; /* when this batch is done, replaced arrays have been freed */
    struct sw_cuda_scan scan;
};

/* The device view of the table's width. */
template <int BITS>
static inline struct sw_cuda_device<BITS> *sw_cuda_device_of(struct sw_cuda_table *t);
#define DEVICE_OF(bits, word, suffix)                                                           \
    template <>                                                                                 \
    inline struct sw_cuda_device<bits> *sw_cuda_device_of<bits>(struct sw_cuda_table * table) { \
        return &table->suffix;                                                                  \
    }
SW_FORMATS(DEVICE_OF)
#undef DEVICE_OF

/* Returns whether other processes may map a table of this configuration. */
bool sw_cuda_may_export(const struct sw_table_config *config);
/* Implements exported_table.h (look_up/export.cu). */
extern const struct sw_exporting sw_cuda_exporting;

/* Frees the memory of a queue except its channel and tallies. */
void sw_cuda_queue_free(struct sw_cuda_queue *queue);

/* Implements queue_join of sw_backend (shared_reads.cu). */
int sw_cuda_queue_join(void *queue, uint32_t thread);
/* If other queues of the reader also have deferred reads: launches them together with those of the
 * queue, if that is possible. Otherwise does nothing. Locks `order` of all these tables. A failure
 * marks the tables as lost. */
void sw_cuda_share_reads(struct sw_cuda_queue *queue);
/* Reads of one queue (reads.cu); under `order`. Launches the deferred reads by themselves. Launches
 * one batch of reads, or completes the record of a scan; the stream already waits for earlier
 * writes. */
template <int BITS> cudaError_t sw_cuda_launch_held(struct sw_cuda_queue *queue);
template <int BITS>
cudaError_t sw_cuda_launch_read(struct sw_cuda_queue *queue, struct sw_batch *batch,
                                uint64_t ticket);

/* Forgets the deferred reads of a queue of a lost table: they will never be launched. */
static inline void sw_cuda_forget_held(struct sw_cuda_queue *queue)
{
    queue->held_count = 0;
    sw_cuda_reader_remove(queue);
}

/* Members of sw_backend. */
int sw_cuda_submit(void *queue, struct sw_batch *batch);
int sw_cuda_poll(void *queue, struct sw_batch *batch);
uint32_t sw_cuda_combined_ops(void *table, enum sw_op op);
int sw_cuda_submit_combined(void *queue, struct sw_combined_launch *combined);
int sw_cuda_poll_combined(void *queue, struct sw_combined_launch *combined);
void sw_cuda_flush(void *queue, uint32_t stream);

int sw_cuda_audit(void *table, char *violation, size_t violation_size);
int sw_cuda_raw_copy(void *table, void *slots);

/* submit and poll of a batch of SW_BATCH_IMAGE (image.cu). */
int sw_cuda_submit_image(struct sw_cuda_queue *queue, struct sw_batch *batch);
int sw_cuda_poll_image(struct sw_batch *batch);
/* image_read and image_drop of sw_backend. */
int sw_cuda_image_read(void *image, struct sw_image_columns *columns);
void sw_cuda_image_drop(void *image);

/* Resizes (resize.cu); under `order`. */

/* Returns whether the table may ever move to other arrays. */
bool sw_cuda_may_resize(const struct sw_table_config *config);
bool sw_cuda_can_resize(const struct sw_cuda_table *table);
/* Moves all entries to arrays of `capacity` slots, and waits for the move. The caller also holds
 * `growth`. Only after the move does the device know whether more entries met the probe cap than
 * the stash holds. If more did, restores the old arrays and returns SW_E_NOMEM, as if there were no
 * memory. */
int sw_cuda_resize(struct sw_cuda_queue *queue, uint64_t capacity, cudaError_t *error);
/* Returns whether the table should grow before a batch that may insert `more` entries. If not, and
 * the table will soon grow, lets the pool map memory for that. */
bool sw_cuda_must_grow(struct sw_cuda_table *table, uint64_t more);
/* Enqueues the growth if the table must still grow when this thread holds `growth`. If there is no
 * memory for a growth, counts the failure and returns no error. `ticket` is the batch that follows;
 * no part of it may be enqueued yet. Locks `growth`, and unlocks `order` meanwhile, so that other
 * queues submit while memory is allocated. Returns with `order` locked. */
cudaError_t sw_cuda_grow_for(struct sw_cuda_queue *queue, uint64_t more, uint64_t ticket);
/* Enqueues a pass that closes all holes, as a write of its own, unless the table has none
 * (close_holes.cu). Every step that needs the canonical layout calls it first. */
cudaError_t sw_cuda_close_holes(struct sw_cuda_queue *queue);
/* The same by itself, without a batch: locks `order`. Returns false on a lost table. */
bool sw_cuda_tidy(void *queue);
/* Enqueues a batch that rewrites the whole table: upserts of one kind that are sure to fit, or
 * deletes. Returns false, with nothing done, if the table cannot be rewritten that way or there is
 * no memory for it. */
template <int BITS>
bool sw_cuda_stream(struct sw_cuda_queue *queue, const struct sw_cuda_batch<BITS> *batch,
                    cudaError_t *error);

/* The scratch of write launches (launch/scratch.cu). */

/* Returns the operations for which a table needs scratch. */
uint32_t sw_cuda_scratch_ops(const struct sw_table_config *config,
                             const struct sw_geometry *geometry);
/* Has the device keep scratch for n operations. Takes the turn. */
template <int BITS> cudaError_t sw_cuda_reserve_scratch(struct sw_cuda_table *table, uint32_t n);
/* Updates the table's view of the scratch. Under the turn. */
template <int BITS> void sw_cuda_use_scratch(struct sw_cuda_table *table);
/* Begins a launch of this many operations, which uses the scratch: takes a turn, and updates the
 * view. UINT32_MAX: the launch runs alone. Under `order`. End it with sw_cuda_turn_end. */
cudaError_t sw_cuda_begin_launch(struct sw_cuda_queue *queue, uint32_t operations);

/* A summary of the operations of a batch. */
struct sw_cuda_mix {
    bool deletes;     /* some operations may delete */
    uint32_t upserts; /* number of operations that may insert */
    bool reads;       /* all operations are reads */
    bool decided;     /* the refused groups are known; their operations were replaced by GETs */
    bool in_order;    /* for some operations sw_row_is_in_order may be true */
    bool removes;     /* all operations are deletes */
    bool puts;        /* some operation may write the value of a present key */
};
struct sw_cuda_mix sw_cuda_mix_of(const struct sw_batch *batch, bool rows);

/* Combined launches of several writes (carry_out.cu); under `order`. sw_cuda_carry_out enqueues the
 * operations that were gathered in `memory`: the combined batch is combined->whole, and the kernels
 * report to memory->record. sw_cuda_enqueue_combined enqueues all steps, from the gather to the
 * scatter of the answers. `record` is the channel's or another record that the device can
 * access. */
template <int BITS>
cudaError_t sw_cuda_carry_out(struct sw_cuda_queue *queue, struct sw_cuda_combined *memory,
                              struct sw_combined_launch *combined, struct sw_cuda_mix mix,
                              uint64_t ticket);
template <int BITS>
cudaError_t sw_cuda_enqueue_combined(struct sw_cuda_queue *queue, struct sw_cuda_combined *memory,
                                     struct sw_combined_launch *combined, struct sw_cuda_mix mix,
                                     uint64_t ticket, void *record);

/* Gathers the operations of a launch; in a table of ids, as operations of the engine. */
cudaError_t sw_cuda_gather(struct sw_cuda_queue *queue, struct sw_cuda_combined *memory,
                           struct sw_combined_launch *combined);

/* Writes (choose_write_path.cu); under `order`. Enqueues a batch with at least one operation that
 * is not a read. */
template <int BITS>
cudaError_t sw_cuda_write(struct sw_cuda_queue *queue, struct sw_batch *batch,
                          const struct sw_cuda_batch<BITS> *typed, uint32_t upserts, bool deletes);

/* Writes on rows (row_writes.cu); under `order`. Turns the combined batch of a launch, already
 * gathered, into a batch on row numbers, and describes the rows to be moved. If no operation may
 * delete, looks its keys up. */
template <int BITS>
cudaError_t sw_cuda_rows_begin(struct sw_cuda_queue *queue, const struct sw_cuda_combined *memory,
                               struct sw_combined_launch *combined, struct sw_cuda_mix mix,
                               struct sw_cuda_row_batch<BITS> *rows);
/* Enqueues the moves of rows, after the engine's kernels. */
template <int BITS>
cudaError_t sw_cuda_rows_end(struct sw_cuda_queue *queue,
                             const struct sw_cuda_row_batch<BITS> *rows);

static inline bool sw_cuda_has_rows(const struct sw_cuda_table *table)
{
    return sw_cuda_arena_is_open(&table->arena);
}

static inline bool sw_cuda_is_set(const struct sw_cuda_table *table)
{
    return (table->format & SW_FORMAT_SET) != 0;
}

static inline bool sw_cuda_has_ids(const struct sw_cuda_table *table)
{
    return sw_cuda_ids_are_open(&table->ids);
}

/* Adds `batches` and `operations` to the counters of the write path of `batch`, which has been
 * polled (poll.cu). */
void sw_cuda_count_write_path(struct sw_cuda_table *table, const struct sw_batch *batch,
                              uint64_t batches, uint64_t operations);

/* Submission (queue.cu). Enqueues the deferred reads, then `batch` unless it is NULL. */
bool sw_cuda_enqueue(struct sw_cuda_queue *queue, struct sw_batch *batch, uint64_t ticket);
static inline struct sw_cuda_record *sw_cuda_record_of(const struct sw_cuda_queue *queue,
                                                       uint64_t ticket)
{
    return (struct sw_cuda_record *)sw_cuda_channel_record(queue, ticket);
}

/* Upper bound of the load: batches in flight count as if each of their upserts inserted. */
static inline double sw_cuda_load(const struct sw_cuda_table *table)
{
    return (double)__atomic_load_n(&table->entries, __ATOMIC_RELAXED) /
           (double)(table->arrays.geometry.buckets * SW_BUCKET_SLOTS);
}

/* The most operations of a launch that does not stream the table. */
static inline uint32_t sw_cuda_combined_usual(const struct sw_cuda_table *table)
{
    const uint32_t most = table->combined.operations_max;
    return most < SW_COMBINED_OPERATIONS_MAX ? most : SW_COMBINED_OPERATIONS_MAX;
}

/* Returns the batch with the types of BITS, and with the record that it reports to. */
template <int BITS>
static inline struct sw_cuda_batch<BITS>
sw_cuda_typed_batch(struct sw_cuda_queue *queue, const struct sw_batch *batch, uint64_t ticket) {
    typedef typename sw_width<BITS>::word word;
    struct sw_cuda_batch<BITS> typed = {
    };
    typed.record = sw_cuda_record_of(queue, ticket);
    typed.ticket = ticket;
    typed.group_count = 1;
    if (batch->kind != SW_BATCH_OPERATIONS) {
        return typed;
    }
    typed.op = batch->op;
    typed.count = batch->count;
    typed.ops = batch->ops;
    typed.keys = (const word *)batch->keys;
    if (!sw_width<BITS>::is_set) { /* otherwise their elements have 0 bytes */
        typed.values = (const word *)batch->values;
        typed.expected = (const word *)batch->expected;
        typed.previous = (word *)batch->previous;
    }
    typed.found = (uint32_t *)batch->found;
    if (batch->group_count > 0) {
        typed.group_count = batch->group_count;
        typed.group_ends = batch->group_ends;
        typed.group_refused = batch->group_refused;
    }
    typed.leftover_keys = (word *)batch->leftover_keys;
    typed.leftover_values = (word *)batch->leftover_values;
    return typed;
}

/* Returns whether look-ups are faster with hints at the current bound of the load. Above
 * SW_CUDA_HINTS_LOAD, measured on an H200, a key is often outside its home bucket. */
#define SW_CUDA_HINTS_LOAD 0.86
static inline bool
sw_cuda_hints_pay(const struct sw_cuda_table *table)
{
    const double holes =
        (double)table->holes.most / (double)(table->arrays.geometry.buckets * SW_BUCKET_SLOTS);
    return table->config.tuning.hints == SW_CHOICE_ALWAYS ||
           sw_cuda_load(table) + holes > SW_CUDA_HINTS_LOAD;
}

/* Scans (scan.cu). Reserves staging memory for windows of `window` buckets. Frees the previous
 * buffer if it is too small. */
cudaError_t sw_cuda_scan_reserve(struct sw_cuda_queue *queue, uint64_t window);
/* Enqueues the copies of both windows and the state. The queue's first scan allocates the memory of
 * the windows. If there is none, enqueues nothing, and `staging` stays NULL. */
cudaError_t sw_cuda_scan_copy(struct sw_cuda_queue *queue, const struct sw_batch *batch);
/* Answers the scan from the copies. Returns false if it needs larger windows. */
bool sw_cuda_scan_answer(struct sw_cuda_queue *queue, struct sw_batch *batch);
/* For tables with rows or expiring entries. sw_cuda_scan_request_rows prepares the read of the
 * values of the keys found, and returns false if there is no memory. sw_cuda_scan_receive_rows
 * copies the result of that read, and drops the keys that are absent by now. */
static inline bool sw_cuda_scan_requests_rows(const struct sw_cuda_queue *queue)
{
    return sw_cuda_has_rows(queue->table) || queue->scan.filters_expired;
}
bool sw_cuda_scan_request_rows(struct sw_cuda_queue *queue, const struct sw_batch *batch);
void sw_cuda_scan_receive_rows(struct sw_cuda_queue *queue, struct sw_batch *batch);

#endif
