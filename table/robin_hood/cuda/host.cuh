/* SPDX-License-Identifier: MIT
 *
 * host.cuh - the host's side of a CUDA table of Robin Hood: its memory and its queues.
 *
 * Threads: `order` of the owner guards what submit changes in the table and in other queues. Who
 * replaces the table's arrays by larger or smaller ones holds `growth`, and gives `order` up while
 * new arrays are allocated. `growth` is taken before `order`. Everything else of a queue belongs to
 * the queue's thread.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_HOST_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_HOST_CUH

#include "table/device/channel.cuh"
#include "table/device/pool.cuh"
#include "table/device/together.cuh"
#include "table/robin_hood/cuda/device.cuh"
#include "table/robin_hood/cuda/rebuild/arrays.cuh"
#include "table/robin_hood/cuda/rows/arena.cuh"
#include "table/robin_hood/robin_hood_backend.h"
#include "table/robin_hood/times_of.h"

/* Batches of fewer operations are never streamed. */
#define SW_CUDA_LARGE_MIN 65536
/* Batches of so many upserts tell what share of their keys was new (poll.cu). */
#define SW_CUDA_NEW_KEYS_MIN (1U << 14)
#define SW_CUDA_NEW_KEYS_ALL 1024

struct sw_cuda_table : sw_cuda_channel_owner {
    struct sw_table_config config;
    uint32_t slot_bits;
    bool has_hints;
    pthread_mutex_t growth;
    struct sw_cuda_pool pool;           /* what the arrays lie in */
    struct sw_cuda_arrays arrays;       /* under `order`, as everything down to `resize_failed` */
    struct sw_state *state;             /* device */
    struct sw_cuda_control *control;    /* device */
    void *scratch;                      /* device: the arrays of sw_cuda_scratch */
    struct sw_cuda_together together;   /* of the queue of the writes */
    struct sw_cuda_arena arena;         /* of a table with rows; else zero */
    uint64_t scratch_bytes;             /* of device memory: all but the arrays */
    struct sw_cuda_expiry *expiry;      /* atomic: expiry.cuh; NULL: no key was ever given a time */
    const struct sw_times_of *times_of; /* what makes a table of times: its queue is a struct
                                           sw_cuda_queue, the caller's alone */
    uint64_t clock_ms;                  /* atomic: the latest of its batches */
    bool (*holds)(const void *context, uint64_t key); /* sw_table_hold; under `order` */
    const void *holds_context;
#define DEVICE(bits, word, suffix) struct sw_cuda_device<bits> suffix;
    SW_WIDTHS(DEVICE) /* the one of slot_bits is filled in */
#undef DEVICE
    uint64_t hints_age; /* atomic: entries inserted by batches polled since the hints were exact,
                           or more */
    uint64_t grow_after_ns; /* a growth failed: none is tried before this time */
    bool stream_failed;     /* no memory for a second set of arrays: it is not tried again */
    uint64_t grown;         /* as in sw_backend_facts */
    uint64_t resized;
    uint64_t resize_failed;

    struct sw_way_counters ways[SW_WAY_COUNT]; /* atomic: of the batches polled so far */
    uint64_t stash;    /* atomic: entries of the stash, after the batches polled so far */
    uint64_t entries;  /* atomic: no more than so many will be held after what was submitted */
    uint32_t new_keys; /* atomic: the share of the upserts that inserted, in recent batches of
                          SW_CUDA_NEW_KEYS_MIN and more, in parts of SW_CUDA_NEW_KEYS_ALL; an
                          estimate for the next one */
};

/* A scan in progress. One at a time on a queue: its windows have one place to go. */
struct sw_cuda_scan {
    bool running;
    uint64_t window;    /* buckets read of each array, at most */
    uint64_t main_room; /* for so many there is room: fewer, if the arrays had fewer then */
    uint64_t stash_room;
    char *staging; /* pinned: sw_state, window of the main array, window of the stash */
    size_t staging_bytes;
    struct sw_scan_window main;
    struct sw_scan_window stash;
    struct sw_scan_shape shape; /* of the arrays as they were when the windows were copied */
    /* Of a table with rows, or times, the windows tell the keys, and a read of these the values. */
    bool reads_rows; /* it is in flight */
    bool judges;     /* some entry expired when the windows were copied: values are read, too */
    struct sw_batch rows; /* this read */
    uint64_t *found;      /* its answer; pinned [batch_ops_max / 64 rounded up] */
};

struct sw_cuda_queue : sw_cuda_channel {
    struct sw_cuda_table *table;              /* the owner */
    struct sw_cuda_tally *tallies;            /* device [SW_CUDA_IN_FLIGHT_MAX] */
    struct sw_batch *held[SW_CUDA_READS_MAX]; /* small reads submitted, not yet launched */
    uint32_t held_count;
    int resize_status;    /* of the last resize */
    uint64_t trim_ticket; /* once this batch is done, memory of old arrays can be given back */
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
SW_WIDTHS(DEVICE_OF)
#undef DEVICE_OF

/* Memory of a queue besides its channel and tallies; its table and channel are open. */
cudaError_t sw_cuda_queue_allocate(struct sw_cuda_queue *queue);
void sw_cuda_queue_free(struct sw_cuda_queue *queue);

/* Members of sw_backend. */
int sw_cuda_submit(void *queue, struct sw_batch *batch);
int sw_cuda_poll(void *queue, struct sw_batch *batch);
uint32_t sw_cuda_together_ops(void *table, enum sw_op op);
int sw_cuda_submit_together(void *queue, struct sw_together *together);
int sw_cuda_poll_together(void *queue, struct sw_together *together);
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

/* Whether a table may move to other arrays at all. */
bool sw_cuda_may_resize(const struct sw_table_config *config);
bool sw_cuda_can_resize(const struct sw_cuda_table *table);
/* Under `growth`, too. Moves everything to arrays of `capacity` slots, and waits for it: a device
 * can tell only afterwards whether more entries met the probe cap than the stash holds; then the
 * old arrays are taken back, and it is SW_E_NOMEM as if there had been no memory. */
int sw_cuda_resize(struct sw_cuda_queue *queue, uint64_t capacity, cudaError_t *error);
/* Whether the table should grow before a batch that may insert `more` entries. */
bool sw_cuda_must_grow(const struct sw_cuda_table *table, uint64_t more);
/* Enqueues the growth, if the table must still grow once this thread holds `growth`; a growth for
 * which there is no memory is counted, and is no error. `ticket` is the batch that follows. Takes
 * `growth`, so nothing of the batch may have been enqueued, and gives `order` up meanwhile: other
 * queues submit while memory is allocated. Returns with `order` held. */
cudaError_t sw_cuda_grow_for(struct sw_cuda_queue *queue, uint64_t more, uint64_t ticket);
/* Enqueues a batch of upserts of one kind that is sure to fit, or of deletes, which rewrites the
 * whole table. False if there is no memory for what that takes: nothing was done. */
template <int BITS>
bool sw_cuda_stream(struct sw_cuda_queue *queue, const struct sw_cuda_batch<BITS> *batch,
                    cudaError_t *error);

/* The operations of a batch, summed up. */
struct sw_cuda_mix {
    bool deletes;     /* some may */
    uint32_t upserts; /* how many may insert */
    bool reads;       /* all do */
    bool decided;     /* it is known which groups are refused: they have been made GETs */
    bool strings;     /* some may be of SW_OPS_STRING */
};
struct sw_cuda_mix sw_cuda_mix_of(const struct sw_batch *batch, bool rows);

/* Several writes together (carry_out.cu); under `order`. What is done with operations that
 * were collected in `memory`: the whole is together->whole, and the report goes to memory->record.
 * Then all of it, from collecting to dealing; `record` is the channel's, or another one that the
 * device reaches. */
template <int BITS>
cudaError_t sw_cuda_carry_out(struct sw_cuda_queue *queue, struct sw_cuda_together *memory,
                              struct sw_together *together, struct sw_cuda_mix mix,
                              uint64_t ticket);
template <int BITS>
cudaError_t sw_cuda_enqueue_together(struct sw_cuda_queue *queue, struct sw_cuda_together *memory,
                                     struct sw_together *together, struct sw_cuda_mix mix,
                                     uint64_t ticket, void *record);

/* Writes (choose_write_path.cu); under `order`. Enqueues a batch of operations that are not all
 * reads. */
template <int BITS>
cudaError_t sw_cuda_write(struct sw_cuda_queue *queue, struct sw_batch *batch,
                          const struct sw_cuda_batch<BITS> *typed, uint32_t upserts, bool deletes);

/* Writes on rows (row_writes.cu); under `order`. Makes of the whole of a launch, which was
 * collected, a batch on the numbers of rows, and says what is to be moved. If none of its
 * operations may delete, its keys are looked up. */
template <int BITS>
cudaError_t sw_cuda_rows_begin(struct sw_cuda_queue *queue, const struct sw_cuda_together *memory,
                               struct sw_together *together, struct sw_cuda_mix mix,
                               struct sw_cuda_row_batch<BITS> *rows);
/* Enqueues the moves, behind the engine's kernels. */
template <int BITS>
cudaError_t sw_cuda_rows_end(struct sw_cuda_queue *queue,
                             const struct sw_cuda_row_batch<BITS> *rows);

static inline bool sw_cuda_has_rows(const struct sw_cuda_table *table)
{
    return sw_cuda_arena_is_open(&table->arena);
}

/* Counts batches, with so many operations together, that went the way of this one, which has been
 * polled (poll.cu). */
void sw_cuda_count_way(struct sw_cuda_table *table, const struct sw_batch *batch, uint64_t batches,
                       uint64_t operations);

/* Submitting (queue.cu). Enqueues the reads held back, then the batch unless it is NULL. */
bool sw_cuda_enqueue(struct sw_cuda_queue *queue, struct sw_batch *batch, uint64_t ticket);
static inline struct sw_cuda_record *sw_cuda_record_of(const struct sw_cuda_queue *queue,
                                                       uint64_t ticket)
{
    return (struct sw_cuda_record *)sw_cuda_channel_record(queue, ticket);
}

/* The load there may be: batches in flight count as if they inserted all they can. */
static inline double sw_cuda_load(const struct sw_cuda_table *table)
{
    return (double)__atomic_load_n(&table->entries, __ATOMIC_RELAXED) /
           (double)(table->arrays.geometry.buckets * SW_BUCKET_SLOTS);
}

/* The most operations of a launch that does not stream the table. */
static inline uint32_t sw_cuda_together_usual(const struct sw_cuda_table *table)
{
    const uint32_t most = table->together.operations_max;
    return most < SW_TOGETHER_OPERATIONS_MAX ? most : SW_TOGETHER_OPERATIONS_MAX;
}

/* The batch with types, and where it reports. */
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
    typed.values = (const word *)batch->values;
    typed.previous = (word *)batch->previous;
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

/* Whether look-ups are faster with hints, at the load there may be: where a key is often not in its
 * home bucket; measured on an H200. */
#define SW_CUDA_HINTS_LOAD 0.86
static inline bool
sw_cuda_hints_pay(const struct sw_cuda_table *table)
{
    return table->config.tuning.hints == SW_CHOICE_ALWAYS ||
           sw_cuda_load(table) > SW_CUDA_HINTS_LOAD;
}

/* Scans (scan.cu). Room for windows of `window` buckets; what was there before is freed. */
cudaError_t sw_cuda_scan_reserve(struct sw_cuda_queue *queue, uint64_t window);
/* Enqueues the copies of both windows and the state. */
cudaError_t sw_cuda_scan_copy(struct sw_cuda_queue *queue, const struct sw_batch *batch);
/* Answers from the copies. False if larger windows are needed. */
bool sw_cuda_scan_answer(struct sw_cuda_queue *queue, struct sw_batch *batch);
/* Of a table with rows, and where some entry expires: prepares the read of the values of the keys
 * that were answered, or is false for lack of memory; and takes what it found: the entries of keys
 * that are absent by now are left out. */
static inline bool sw_cuda_scan_asks(const struct sw_cuda_queue *queue)
{
    return sw_cuda_has_rows(queue->table) || queue->scan.judges;
}
bool sw_cuda_scan_ask_rows(struct sw_cuda_queue *queue, const struct sw_batch *batch);
void sw_cuda_scan_take_rows(struct sw_cuda_queue *queue, struct sw_batch *batch);

#endif
