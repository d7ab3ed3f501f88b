/* SPDX-License-Identifier: MIT
 *
 * expiry.cuh - expiry times of the entries of a table on a device. A second table of 128-bit slots
 * maps keys to times. It is created when the first key gets a time (expiry_times.h has the rules).
 *
 * A launch that concerns expiry times has one batch. The host waits for the device between the
 * steps (write_timed.cu), and holds the owner's mutex, so that no reads run in either table
 * meanwhile. If the table grows, the host releases the mutex, waits again and decides again:
 *
 *   begin                   removes the entries that the batch lists, expired entries of its keys,
 *                           and more expired entries if room is not certain
 *   settle_times            decides the effect of each operation, from presence and time alone: the
 *                           operations are sorted by key, and one thread carries out those of one
 *                           key. If groups may be refused, for lack of room or because key strings
 *                           differ, one thread decides all keys in order, and the groups as well.
 *                           Then the times are written
 *   the engine              carries out the remaining work: an operation that removes its key
 *                           because of its time is a DELETE, one without effect is a GET
 *   carry_out               runs the engine, and writes the replies that only the first steps know
 *
 * Threads: the owner's mutex `order` guards everything except the clock and `held`, which are
 * atomic.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_TIMES_EXPIRY_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_TIMES_EXPIRY_CUH

#include "table/robin_hood/cuda/host.cuh"
#include "table/robin_hood/expiry_times.h"

/* Keys that one batch removes, and operations of a batch on the second table. */
#define SW_CUDA_REMOVALS_MAX 8192U
#define SW_CUDA_TIMES_OPS_MAX 65536U

/* Counters of the kernels. All are zero before the kernels, except `next`. */
struct sw_cuda_expiry_control {
    unsigned long long next;             /* the earliest time given */
    unsigned long long inserts;          /* operations that insert */
    unsigned long long given;            /* operations that may give a time */
    unsigned long long expired;          /* entries that operations remove because they expire */
    uint64_t occupied;                   /* entries before the batch */
    uint32_t stash_full;                 /* 1: the batch may insert nothing */
    uint32_t disputed;                   /* 1: two key strings of one key differ */
    uint32_t found_expired, kept, ended; /* lengths of the lists */
    uint32_t refused;                    /* groups */
};

struct sw_cuda_expired_key {
    uint64_t key;
    uint32_t operation; /* the first operation on the key */
};

/* The parameters of kernels, passed by value. Arrays are device memory; [n] is
 * combined.operations_max. Data of a key is stored at the index of the first operation on the
 * key. */
struct sw_cuda_expiry_view {
    struct sw_table_s128 times;
    struct sw_cuda_expiry_control *control;
    uint64_t *wanted; /* [n] new time of each operation; unless all have wanted_by_all */
    uint64_t *before; /* [n] times before the operations */
    uint8_t *ops;     /* [n] operations for the engine */
    uint8_t *silent;  /* [n] 1: the operation is counted as one without an effect */
    uint8_t *was;     /* [n] 1: its key was present */
    uint32_t *first;  /* [n] the first operation on the key; expiry_groups.cu uses this and the next
                         four */
    uint64_t *time;   /* [n] of a key, at this point of the groups */
    uint64_t *time_before;
    uint8_t *present; /* [n] of a key, likewise */
    uint8_t *refused; /* [n] of the groups */
    /* Lists of keys: kept_* have a new time; ended_keys no longer have one. `found_expired` shares
     * the memory of kept_*. */
    uint64_t *kept_keys, *kept_times; /* [n] */
    uint64_t *ended_keys;             /* [n] */
    struct sw_cuda_expired_key *found_expired;
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
    bool gives_ids; /* a table of ids: a new key lives for a millisecond at least */
    uint32_t group_count;
    const uint32_t *group_ends;
    const struct sw_cuda_parts *parts; /* the operands: for key strings */
    uint32_t part_count;
    const uint32_t *disputed; /* 1 if key strings differ; NULL: key strings are not stored */
};

/* Room in the second table, for expiry_groups.cu. */
struct sw_cuda_times_room {
    bool none;    /* every group is refused */
    bool certain; /* there is room for all times that the batch may set */
    bool stash_full;
    uint64_t held, held_max;
};

/* Results of a launch, read when it is polled. */
struct sw_cuda_expiry_after {
    bool invalid; /* a key that the batch removes as expired has no time */
    int64_t stash_change;
};

struct sw_cuda_expiry {
    /* Memory that open allocates: from here to `pinned`. */
    struct sw_cuda_table *times; /* NULL: it is not open */
    struct sw_cuda_queue *times_queue;
    struct sw_cuda_combined inner;             /* removals from the first table */
    struct sw_combined_launch launch;          /* of these removals */
    struct sw_cuda_launch_buffer inner_buffer; /* of its own: a launch that removes entries has
                                                  borrowed another one */
    void *memory;                              /* device: the arrays of the view */
    uint64_t bytes; /* bytes of device memory, without the second table */
    struct sw_cuda_expiry_view view;
    struct sw_cuda_expired_key *found_expired; /* [found_expired_room] */
    uint32_t found_expired_room;
    struct sw_cuda_expiry_pinned *pinned;
    uint64_t held; /* atomic: entries of the second table */
    struct sw_expiry_pass pass;
    /* state of the current batch */
    bool some;   /* some entry had a time before it */
    bool failed; /* memory is short: the groups of the batch are refused */
    bool wants_expired_keys;
    uint8_t *expired_keys; /* keys of the table's width */
    uint32_t expired_keys_count, expired_keys_room;
    uint32_t removals; /* number of keys to be removed, in pinned->keys */
    uint64_t expired;
    struct sw_cuda_expiry_after now, after[SW_COMBINED_LAUNCHES];
    uint64_t piece_keys[SW_EXPIRY_PIECE], piece_times[SW_EXPIRY_PIECE];
};

/* Host memory that the device can access. */
struct sw_cuda_expiry_pinned {
    struct sw_cuda_expiry_control control;
    struct sw_state state;
    struct sw_cuda_record record;
    uint64_t found[SW_CUDA_REMOVALS_MAX / 64];
    uint64_t keys[SW_CUDA_REMOVALS_MAX];
    uint32_t narrow[SW_CUDA_REMOVALS_MAX]; /* the same keys, for a table of 64-bit slots */
};

/* Opens the memory for expiry times unless it is open. Returns false if memory is short. Threads:
 * under `order`, as are the functions below except keeps_times and the clock. */
bool sw_cuda_expiry_open(struct sw_cuda_table *table);
static inline bool sw_cuda_expiry_is_open(const struct sw_cuda_expiry *expiry)
{
    return expiry->times != NULL;
}
void sw_cuda_expiry_close(struct sw_cuda_table *table);
/* Returns the device memory for times. */
uint64_t sw_cuda_expiry_bytes(const struct sw_cuda_expiry *expiry);
/* After a resize: shrinks the second table to the slots that its entries need. Without entries it
 * frees all memory. */
cudaError_t sw_cuda_expiry_resize(struct sw_cuda_queue *queue);

/* Returns whether some entry expires: keeps_times of sw_backend. */
bool sw_cuda_keeps_times(const void *table);
/* The latest clock of the table's batches. */
uint64_t sw_cuda_clock(const void *table);

/* See sw_table_suspend_expiry. The table calls is_suspended() under `order`. */
void sw_cuda_suspend_expiry(void *table, bool (*is_suspended)(const void *context, uint64_t key),
                            const void *context);

/* sw_cuda_advance_clock returns the clock of a batch: its own clock, or the table's if that is
 * later. The result becomes the table's clock. sw_cuda_report_clock writes it to the batch if an
 * entry has ever expired. */
uint64_t sw_cuda_advance_clock(struct sw_cuda_table *table, uint64_t clock_ms);
void sw_cuda_report_clock(struct sw_cuda_table *table, struct sw_batch *batch);

/* Counts the device memory for times, after it has changed, and reports it to the table's owner.
 * Threads: under `order`. */
void sw_cuda_expiry_resized(struct sw_cuda_table *table);
/* Adds to the facts. Threads: under `order`. */
void sw_cuda_expiry_facts(struct sw_cuda_table *table, struct sw_backend_facts *facts);

/* Launches one batch that concerns expiry times. May release `order` while a table grows. */
cudaError_t sw_cuda_write_timed(struct sw_cuda_queue *queue, struct sw_combined_launch *combined,
                                struct sw_cuda_mix mix, uint64_t ticket);
/* Finishes the batch of such a launch after it was polled. */
void sw_cuda_timed_polled(struct sw_cuda_table *table, struct sw_combined_launch *combined);

/* Steps of such a launch that others also use; under `order`, when no reads run.
 * sw_cuda_expiry_activate sets the current batch. */
void sw_cuda_expiry_activate(struct sw_cuda_expiry *expiry, const struct sw_batch *batch);
void sw_cuda_expiry_deactivate(struct sw_cuda_table *table, struct sw_batch *batch);
/* Removes the expired keys that the batch lists. */
cudaError_t sw_cuda_remove_named(struct sw_cuda_queue *queue, const struct sw_batch *batch);
/* sw_cuda_list_removal adds a key to the keys to be removed; sw_cuda_remove_listed removes these
 * keys. sw_cuda_list_removal returns false if memory is short. */
bool sw_cuda_list_removal(struct sw_cuda_queue *queue, uint64_t key, cudaError_t *error);
cudaError_t sw_cuda_remove_listed(struct sw_cuda_queue *queue);
/* Sweeps the next entries, at most `count`. Dooms at most `most` expired entries; suspended keys
 * are skipped. *looked: number of entries visited. */
cudaError_t sw_cuda_sweep_piece(struct sw_cuda_queue *queue, uint64_t clock_ms, uint32_t count,
                                uint32_t most, uint32_t *looked);
/* Removes expired entries until it removed `most` or all of them. */
cudaError_t sw_cuda_remove_some_expired(struct sw_cuda_queue *queue, uint64_t clock_ms,
                                        uint32_t most);
/* Waits until all enqueued work is done, reads included. */
cudaError_t sw_cuda_settle(struct sw_cuda_queue *queue);

/* Runs a batch on the second table to its end. */
cudaError_t sw_cuda_times_run(struct sw_cuda_expiry *expiry, struct sw_batch *batch);
/* Runs operations on the second table and waits for them. The lists are device memory or pinned
 * memory. */
cudaError_t sw_cuda_times_write(struct sw_cuda_expiry *expiry, enum sw_op op, const uint64_t *keys,
                                const uint64_t *values, uint64_t *found, uint32_t count);

/* submit of SW_BATCH_SWEEP, which is complete on return; SW_OK or SW_E_DEVICE. */
int sw_cuda_sweep(struct sw_cuda_queue *queue, struct sw_batch *batch);
/* Part of a clear: empties the second table. */
cudaError_t sw_cuda_expiry_clear(struct sw_cuda_queue *queue);

/* Launchers (expiry_decide.cu, expiry_groups.cu): enqueue kernels and return the first error.
 * `sort` sorts the operations by key, for all launchers below. */
template <int BITS>
cudaError_t sw_cuda_launch_times_sort(const struct sw_cuda_device<BITS> *device,
                                      const struct sw_cuda_timed<BITS> *batch, cudaStream_t stream);
/* Lists the expired keys of the batch. */
template <int BITS>
cudaError_t sw_cuda_launch_times_expired(const struct sw_cuda_device<BITS> *device,
                                         const struct sw_cuda_expiry_view *view,
                                         const struct sw_cuda_timed<BITS> *batch,
                                         cudaStream_t stream);
/* Decides the effects of the operations if no group is refused. */
template <int BITS>
cudaError_t sw_cuda_launch_times_decide(const struct sw_cuda_device<BITS> *device,
                                        const struct sw_cuda_expiry_view *view,
                                        const struct sw_cuda_timed<BITS> *batch,
                                        cudaStream_t stream);
/* Decides the effects if groups may be refused, and which groups are refused for which reason.
 * `rows` has the results of the comparison of key strings. */
template <int BITS>
cudaError_t sw_cuda_launch_times_groups(const struct sw_cuda_device<BITS> *device,
                                        const struct sw_cuda_expiry_view *view,
                                        const struct sw_cuda_rows *rows,
                                        const struct sw_cuda_timed<BITS> *batch,
                                        const struct sw_cuda_times_room *room, cudaStream_t stream);
/* Runs after the engine, if groups were refused. */
cudaError_t sw_cuda_launch_times_refuse(const struct sw_cuda_expiry_view *view, uint32_t count,
                                        uint32_t group_count, uint64_t *found,
                                        uint8_t *group_refused, int32_t *status,
                                        cudaStream_t stream);

#endif
