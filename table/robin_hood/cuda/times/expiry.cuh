/* SPDX-License-Identifier: MIT
 *
 * expiry.cuh - when the entries of a table on a device expire: a second table, of 128-bit slots,
 * from key to time, made when the first key is given a time (../times.h has the rules).
 *
 * A launch that concerns times has one batch. The host waits for the device in between, and holds
 * the owner's mutex, so that nobody reads either table meanwhile:
 *
 *   sw_cuda_expiry_begin    removes the entries it names, those of its keys whose time has come,
 *                           and further ones where room is not certain
 *   sw_cuda_expiry_decide   finds out what each operation does, by presence and time alone: sorted
 *                           by key, a thread carries each key's operations out on these two. Where
 *                           groups may be refused, for want of room or for texts of keys, one
 *                           thread does it for all keys, in order, which decides the groups, too.
 *                           Then it writes the times
 *   the engine              carries out what is left: an operation that removes its key for its
 *                           time is a DELETE, one that does nothing is a GET
 *   sw_cuda_expiry_answer   tells the answers that only the first steps know
 *
 * Threads: `order` of the owner guards all of it but the clock and `held`, which are atomic.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_TIMES_EXPIRY_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_TIMES_EXPIRY_CUH

#include "table/robin_hood/cuda/host.cuh"
#include "table/robin_hood/times.h"

/* Keys that are removed together, and operations of a batch on the second table. */
#define SW_CUDA_DOOMED_MAX 8192U
#define SW_CUDA_TIMES_OPS_MAX 65536U

/* What kernels count; zero before them, but for `next`. */
struct sw_cuda_expiry_control {
    unsigned long long next;    /* the earliest time given */
    unsigned long long inserts; /* operations that insert */
    unsigned long long given;   /* operations that may give a time */
    unsigned long long expired; /* entries that operations remove for their time */
    uint64_t occupied;          /* entries before the batch */
    uint32_t stash_full;        /* 1: it may insert nothing */
    uint32_t disputed;          /* 1: two texts of one key differ */
    uint32_t dead, kept, ended; /* lengths of the lists */
    uint32_t refused;           /* groups */
};

struct sw_cuda_dead {
    uint64_t key;
    uint32_t operation; /* the first on it */
};

/* What kernels are given, by value. Arrays of the device; [n] is together.operations_max. What is
 * said of a key lies at the number of the first operation on it. */
struct sw_cuda_expiry_view {
    struct sw_table_s128 times;
    struct sw_cuda_expiry_control *control;
    uint64_t *wanted; /* [n] of the operations; or all have wanted_by_all */
    uint64_t *before; /* [n] times before the operations */
    uint8_t *ops;     /* [n] the engine's */
    uint8_t *silent;  /* [n] 1: the operation does not have the effect that its kind has */
    uint8_t *was;     /* [n] 1: its key was present */
    uint32_t *first;  /* [n] the first operation on the key; this and the rest for a walk */
    uint64_t *time;   /* [n] of a key, at this point of the walk */
    uint64_t *time_before;
    uint8_t *present; /* [n] of a key, likewise */
    uint8_t *refused; /* [n] of the groups */
    /* Lists of keys: those that have a time from now on, and those that no longer have one. The
     * dead lie where the former do. */
    uint64_t *kept_keys, *kept_times; /* [n] */
    uint64_t *ended_keys;             /* [n] */
    struct sw_cuda_dead *dead;
    uint64_t wanted_by_all;
    bool all_want;
    uint64_t past;
};

/* The operations of a batch that concerns times, in device memory. */
template <int BITS> struct sw_cuda_timed {
    typedef typename sw_width<BITS>::word word;
    uint32_t count;
    uint32_t op;
    const uint8_t *ops; /* NULL: all are `op` */
    const word *keys;
    const word *operands; /* NULL: rows, or no operation has one */
    bool rows;
    uint32_t group_count;
    const uint32_t *group_ends;
    const struct sw_cuda_parts *parts; /* where operands are: of texts of keys */
    uint32_t part_count;
    const uint32_t *disputed; /* what was found out of these; NULL: none are kept */
};

/* What there is room for in the second table, for a walk. */
struct sw_cuda_times_room {
    bool none;    /* every group is refused */
    bool certain; /* for all that the batch may give */
    bool stash_full;
    uint64_t held, held_max;
};

/* What a launch tells once it is polled. */
struct sw_cuda_expiry_after {
    bool invalid; /* a key that was to be buried has no time */
    int64_t stash_change;
};

struct sw_cuda_expiry {
    /* Open memory: from here to `pinned`. */
    struct sw_cuda_table *times; /* NULL: it is not open */
    struct sw_cuda_queue *times_queue;
    struct sw_cuda_together inner; /* removals from the first table */
    struct sw_together launch;     /* theirs */
    void *memory;                  /* device: the arrays of the view */
    uint64_t bytes;                /* of device memory, but for the second table's */
    struct sw_cuda_expiry_view view;
    struct sw_cuda_dead *dead; /* [dead_room] */
    uint32_t dead_room;
    struct sw_cuda_expiry_pinned *pinned;
    uint64_t held; /* atomic: entries of the second table */
    struct sw_expiry_pass pass;
    /* the batch that is being carried out */
    bool some;   /* some entry had a time before it */
    bool failed; /* no memory: its groups are refused */
    bool wants_buried;
    uint8_t *buried; /* keys of the table's width */
    uint32_t buried_count, buried_room;
    uint32_t doomed; /* keys that are to be removed: pinned->keys */
    uint64_t expired;
    struct sw_cuda_expiry_after now, after[SW_TOGETHERS];
    uint64_t piece_keys[SW_EXPIRY_PIECE], piece_times[SW_EXPIRY_PIECE];
};

/* Memory of the host that the device reaches. */
struct sw_cuda_expiry_pinned {
    struct sw_cuda_expiry_control control;
    struct sw_state state;
    struct sw_cuda_record record;
    uint64_t found[SW_CUDA_DOOMED_MAX / 64];
    uint64_t keys[SW_CUDA_DOOMED_MAX];
    uint32_t narrow[SW_CUDA_DOOMED_MAX]; /* the same of a table of 64-bit slots */
};

/* Under `order`, as what follows but keeps_times and the clock. Opens the memory for times, unless
 * it is open; false: there is none. */
bool sw_cuda_expiry_open(struct sw_cuda_table *table);
static inline bool sw_cuda_expiry_is_open(const struct sw_cuda_expiry *expiry)
{
    return expiry->times != NULL;
}
void sw_cuda_expiry_close(struct sw_cuda_table *table);
/* Behind a resize: the second table has as many slots as its entries need; without entries all
 * memory is given back. */
cudaError_t sw_cuda_expiry_resize(struct sw_cuda_queue *queue);

/* Whether some entry expires: keeps_times of sw_backend. */
bool sw_cuda_keeps_times(const void *table);
/* The latest clock of its batches. */
uint64_t sw_cuda_clock(const void *table);

/* As sw_table_hold says. Whoever asks for a key holds `order`. */
void sw_cuda_hold(void *table, bool (*holds)(const void *context, uint64_t key),
                  const void *context);

/* The clock of a batch: what it came with, or the table's if that is later, which it becomes. Told
 * to the batch if an entry has ever expired. */
uint64_t sw_cuda_take_clock(struct sw_cuda_table *table, uint64_t clock_ms);
void sw_cuda_tell_clock(struct sw_cuda_table *table, struct sw_batch *batch);

/* Under `order`: adds to the facts. */
void sw_cuda_expiry_facts(struct sw_cuda_table *table, struct sw_backend_facts *facts);

/* A launch of one batch that concerns times. `order` may be given up while a table grows. */
cudaError_t sw_cuda_write_timed(struct sw_cuda_queue *queue, struct sw_together *together,
                                struct sw_cuda_mix mix, uint64_t ticket);
/* The batch of such a launch, which has been polled. */
void sw_cuda_timed_polled(struct sw_cuda_table *table, struct sw_together *together);

/* Steps of it that others take too; under `order`, once nobody reads. Names the batch that is
 * carried out. */
void sw_cuda_expiry_activate(struct sw_cuda_expiry *expiry, const struct sw_batch *batch);
void sw_cuda_expiry_deactivate(struct sw_cuda_table *table, struct sw_batch *batch);
/* Removes what the batch names. */
cudaError_t sw_cuda_bury_named(struct sw_cuda_queue *queue, const struct sw_batch *batch);
/* Notes a key that is to be removed, and removes those that were noted. False if there is no memory
 * for it. */
bool sw_cuda_doom(struct sw_cuda_queue *queue, uint64_t key, cudaError_t *error);
cudaError_t sw_cuda_remove_doomed(struct sw_cuda_queue *queue);
/* The next entries of the sweep, at most `count`; those whose time has come, and that are not held,
 * are doomed, at most `most`. *looked: how many there were. */
cudaError_t sw_cuda_sweep_piece(struct sw_cuda_queue *queue, uint64_t clock_ms, uint32_t count,
                                uint32_t most, uint32_t *looked);
/* Removes entries whose time has come until there were `most`, or no more are left. */
cudaError_t sw_cuda_bury_some(struct sw_cuda_queue *queue, uint64_t clock_ms, uint32_t most);
/* Waits until all that was enqueued is done, reads included. */
cudaError_t sw_cuda_settle(struct sw_cuda_queue *queue);

/* A batch on the second table, from its submission to its end. */
cudaError_t sw_cuda_times_run(struct sw_cuda_expiry *expiry, struct sw_batch *batch);
/* Operations on it, of lists of the device or of pinned memory; waits for it. */
cudaError_t sw_cuda_times_write(struct sw_cuda_expiry *expiry, enum sw_op op, const uint64_t *keys,
                                const uint64_t *values, uint64_t *found, uint32_t count);

/* submit of SW_BATCH_SWEEP, which is done then; SW_OK or SW_E_DEVICE. */
int sw_cuda_sweep(struct sw_cuda_queue *queue, struct sw_batch *batch);
/* Of a clear: the second table is emptied, too. */
cudaError_t sw_cuda_expiry_clear(struct sw_cuda_queue *queue);

/* Launchers (expiry_decide.cu, expiry_walk.cu): enqueue, return the first error. `sort`: by key,
 * for all that follow. */
template <int BITS>
cudaError_t sw_cuda_launch_times_sort(const struct sw_cuda_device<BITS> *device,
                                      const struct sw_cuda_timed<BITS> *batch, cudaStream_t stream);
/* Lists the keys whose time has come. */
template <int BITS>
cudaError_t sw_cuda_launch_times_dead(const struct sw_cuda_device<BITS> *device,
                                      const struct sw_cuda_expiry_view *view,
                                      const struct sw_cuda_timed<BITS> *batch, cudaStream_t stream);
/* What the operations do, if none of them is refused. */
template <int BITS>
cudaError_t sw_cuda_launch_times_decide(const struct sw_cuda_device<BITS> *device,
                                        const struct sw_cuda_expiry_view *view,
                                        const struct sw_cuda_timed<BITS> *batch,
                                        cudaStream_t stream);
/* The same where groups may be refused: which, and why. `rows` has what was found out of texts. */
template <int BITS>
cudaError_t sw_cuda_launch_times_walk(const struct sw_cuda_device<BITS> *device,
                                      const struct sw_cuda_expiry_view *view,
                                      const struct sw_cuda_rows *rows,
                                      const struct sw_cuda_timed<BITS> *batch,
                                      const struct sw_cuda_times_room *room, cudaStream_t stream);
/* Behind the engine, if groups were refused. */
cudaError_t sw_cuda_launch_times_refuse(const struct sw_cuda_expiry_view *view, uint32_t count,
                                        uint32_t group_count, uint64_t *found,
                                        uint8_t *group_refused, int32_t *status,
                                        cudaStream_t stream);

#endif
