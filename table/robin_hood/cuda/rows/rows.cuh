/* SPDX-License-Identifier: MIT
 *
 * rows.cuh - rows on CUDA: the parameters of their kernels, and the functions that launch them.
 *
 * The value of an entry is the number of its row. The engine of integers processes only these
 * numbers. A batch of writes on rows runs in the engine as a batch on row numbers:
 *
 *   sw_cuda_launch_row_key_strings     if rows end with key strings: compares these, and decides
 * which groups are refused because two strings of one key differ. Skipped if the expiry step has
 * decided that already (expiry.cuh) sw_cuda_launch_row_prepare   assigns every operation a
 * preallocated row and the equivalent operation on integers sw_cuda_launch_row_look_up   for a
 * batch that deletes nothing: finds the present keys. They stay present and keep their rows the
 * engine carries out the other operations and returns the row that each key had. After a look-up it
 * runs only if the batch may insert sw_cuda_launch_row_early     in parallel with the engine, if
 * nothing can be refused: copies the rows of present keys sw_cuda_launch_row_data      copies
 * bytes, and frees rows that were not used or were removed
 *
 * So the row of an operation is the row of its key, or else, if the operation inserts, its
 * preallocated row. This is exact in array order because the engine's answers are. No row that is
 * freed is reused before the next batch. So all effects on one row belong to one key, and rows of
 * different numbers are independent.
 *
 * Threads: one call at a time for each table, in the order of its write batches, on one stream.
 * Reads (row_get, row_gather) are the exception: they run like the engine's reads.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROWS_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROWS_CUH

#include "table/device/combined_launch.cuh"
#include "table/device/cutter.cuh"
#include "table/robin_hood/cuda/device.cuh"
#include "table/robin_hood/rows.h"

#define SW_CUDA_ROW_COUNTS SW_CUDA_OVERFULL_COUNTS

struct sw_cuda_expiry_filter;

/* The free rows: the first free_count entries of the stack, and all rows from `high` on. */
struct sw_cuda_row_stack {
    uint64_t free_count;
    uint64_t high;
};

/* The state of the data phase of a batch; zeros before the batch. */
struct sw_cuda_row_control {
    uint32_t given;   /* rows freed */
    uint32_t fresh;   /* rows taken from the never-used end of the arena */
    uint32_t repeats; /* 1: there are operations on rows that the batch has more than once */
    uint32_t longs;   /* long segments, which a block carries out (row_repeats.cu) */
    uint32_t odd;     /* of repeats, bits 2 and 3: of addresses; bit 4: row_runs.cuh */
    uint32_t absent;  /* 1: a key was looked up and is absent */
    uint32_t early;   /* 1: nothing can be refused: rows of present keys are copied early */
};

/* An operation on a row that occurs more than once. */
struct sw_cuda_row_step {
    const uint8_t *operand;
    uint8_t *answer; /* NULL: no answer is wanted */
    uint32_t row;
    uint8_t op;
    bool writes;
    bool found; /* the key of the row was present */
    bool keeps; /* it replaces the row except its key string; only if rows have key strings */
};

/* From this many operations on one row, a whole block carries them out. */
#define SW_CUDA_ROW_LONG 256

/* Result of the comparison of key strings, computed before the engine runs (row_key_strings.cu).
 * One of a table; zero if key strings are not stored. Lengths as below; s is sw_cuda_row_claims(n).
 * A slot belongs to a key. */
struct sw_cuda_row_key_strings {
    uint32_t *disputed; /* [4 + 3 s] the first word is 1 if two strings of a key differ */
    uint32_t
        *undecided;   /* [n / 32 + 1] bits: operations whose groups one thread decides in order */
    uint32_t *states; /* [s] states of keys: row_key_strings.cu */
    uint32_t *slots;  /* [n] of the operations' keys */
    uint32_t *saved;  /* [n] states before the operations of a group */
    uint8_t *facts;   /* [n] enum sw_cuda_row_fact */
    uint8_t *refused; /* [n] by group: enum sw_admission; only if key strings differ */
};

enum sw_cuda_row_fact {
    SW_ROW_HAS_KEY_STRING = 1,
    SW_ROW_AS_STORED = 2, /* its key string equals that of the key's row */
    SW_ROW_AS_FIRST =
        4,          /* it equals that of the operation in `of_key_string` (row_key_strings.cu) */
    SW_ROW_VOID = 8 /* its group is refused: the engine runs a GET */
};

/* The memory of a data phase; one of a table. Lengths in brackets; n is operations_max. */
struct sw_cuda_row_scratch {
    uint32_t *rows;             /* [n] row of each operation, or SW_CUDA_NO_ROW */
    uint32_t *repeated;         /* [n / 32] bits: the row of the operation occurs more than once */
    unsigned long long *claims; /* [sw_cuda_row_claims(n)] row_claims.cuh */
    uint64_t *sorted[2];        /* [n] row and operation of repeated rows; also row_hot.cuh */
    uint32_t *counts;           /* of the sort */
    struct sw_cuda_row_step *steps; /* [n] these operations, sorted */
    uint32_t *segments;             /* [n + 1] row_repeats.cu */
    uint32_t *longs;                /* [n / SW_CUDA_ROW_LONG + 1] */
    struct sw_cuda_row_control *control;
};

struct sw_cuda_rows {
    uint8_t *rows;    /* the first row: in memory of the device, or of the host and mapped */
    uint8_t *further; /* base address for the rows from `split` on, which lie in host memory: row 0
                         would lie here; NULL: there are none */
    uint64_t split;
    uint32_t *free; /* device: the stack, with room for every row that may ever be mapped */
    struct sw_cuda_row_stack *stack; /* device; both 0: no row is in use */
    uint32_t value_bytes;
    uint32_t key_string_bytes; /* bytes of the key string, at the end of the value; part of
                                  value_bytes */
    uint32_t stride;           /* sw_row_stride(value_bytes) */
    uint32_t operations_max;   /* of one batch of writes, less than 2^24 */
    uint32_t repeats_blocks;   /* set by sw_cuda_rows_load */
    uint32_t epoch;            /* of the claims; 0 at first, then advanced by the launchers */
    struct sw_cuda_row_scratch scratch;
    struct sw_cuda_row_key_strings key_strings;
};

SW_HD static inline uint8_t *sw_cuda_row_at(const struct sw_cuda_rows *rows, uint64_t row)
{
    return (row < rows->split ? rows->rows : rows->further) + row * rows->stride;
}

/* Slots of the claims of a batch: a power of two, at least twice its operations. */
static inline uint32_t sw_cuda_row_claims(uint32_t operations)
{
    uint32_t slots = 64;
    while (slots < 2 * operations) {
        slots *= 2;
    }
    return slots;
}

/* No row has this number. */
#define SW_CUDA_NO_ROW UINT32_MAX

/* Cuts the scratch, for operations_max, from device memory at `base` and returns its bytes. With a
 * base of NULL it only counts. The memory must be zero before the first batch. */
size_t sw_cuda_rows_cut(struct sw_cuda_rows *rows, void *base);
/* Loads the kernels, and sets the fields that depend on the device. */
template <int BITS>
cudaError_t sw_cuda_rows_load(struct sw_cuda_rows *rows, uint32_t multiprocessors);

/* A batch of writes on rows. All arrays are device memory, except those in `parts`. */
template <int BITS> struct sw_cuda_row_batch {
    typedef typename sw_width<BITS>::word word;
    uint32_t count; /* may be 0 */
    uint32_t op;
    const uint8_t *ops; /* [count] on rows; NULL: all are `op` */
    bool inserts;  /* some operation may insert; if false, no operation gets a preallocated row */
    bool collides; /* groups may be refused because key strings differ; these are compared first.
                      Then `ops` is not NULL, and no key is looked up */
    bool wide;     /* operands are wide ones: sw_batch.wide_operands */
    bool in_order; /* for some operations sw_row_is_in_order may be true: row_order.cuh */
    uint8_t *engine_ops;  /* [count] on integers: made by prepare. NULL if ops is: then all are
                             sw_cuda_row_engine_op(op) */
    word *preallocated;   /* [count] made by prepare: operands of the engine's operations; the data
                             phase reads them again */
    const word *previous; /* [count] the engine's answer */
    uint64_t *found; /* [count / 64] likewise. After a look-up: made by the look-up, and by the data
                        phase, which adds the engine's */
    bool looked_up;  /* rows of keys that were present are known before the engine begins */
    bool may_be_early;            /* after a look-up: only the stash can cause refusals, and
                                     sw_cuda_launch_row_early follows the look-up */
    bool answers;                 /* some part may want `previous` */
    const uint64_t *engine_found; /* [count / 64] after a look-up: the engine's answer; NULL: the
                                     engine did not run */
    uint32_t group_count;         /* at least 1 */
    const uint32_t *group_ends;   /* [group_count] */
    uint8_t *group_refused;       /* [group_count] */
    int32_t *status; /* the engine's: SW_E_FULL if it refused any group; NULL: it refused none */
    /* Operands and answers: `values` and `previous` of each part are packed rows of value_bytes, in
     * device memory or host memory. Wide operands have 2 * value_bytes each. Rows of 8-byte numbers
     * are aligned to 8 bytes, others at least to 4. */
    const struct sw_cuda_parts *parts;
    uint32_t part_count;
    uint32_t chunks; /* of all parts: SW_COMBINED_CHUNK operations of one part, or fewer */
};

/* The engine's operation for one on rows. */
static inline __host__ __device__ uint32_t sw_cuda_row_engine_op(uint32_t op)
{
    if (op == SW_DELETE) {
        return SW_DELETE;
    }
    return sw_row_effect(op, false) == SW_EFFECT_WRITE ? SW_SET_ABSENT : SW_GET;
}

/* Compares the key strings of operations on these keys. Call it only if key strings are stored. The
 * first word of texts.disputed becomes 1 if any differ. */
template <int BITS>
cudaError_t sw_cuda_launch_row_compare(const struct sw_cuda_device<BITS> *device,
                                       const struct sw_cuda_rows *rows,
                                       const typename sw_width<BITS>::word *keys,
                                       const struct sw_cuda_parts *parts, uint32_t part_count,
                                       uint32_t count, cudaStream_t stream);
/* For a batch that `collides`: row_key_strings runs before all other kernels, and row_refused runs
 * after the engine and reports the groups that row_key_strings refused. */
template <int BITS>
cudaError_t sw_cuda_launch_row_key_strings(const struct sw_cuda_device<BITS> *device,
                                           const struct sw_cuda_rows *rows,
                                           const typename sw_width<BITS>::word *keys,
                                           const struct sw_cuda_row_batch<BITS> *batch,
                                           cudaStream_t stream);
template <int BITS>
cudaError_t sw_cuda_launch_row_refused(const struct sw_cuda_rows *rows,
                                       const struct sw_cuda_row_batch<BITS> *batch,
                                       cudaStream_t stream);
/* Compares the key strings of a batch of reads, whose arrays are in any memory. Refuses groups
 * whose key strings differ, and sets `collided` in the record. `expiry_filter`: if some entry
 * expires; else NULL. */
template <int BITS>
cudaError_t sw_cuda_launch_row_key_string_reads(const struct sw_cuda_device<BITS> *device,
                                                const struct sw_cuda_rows *rows,
                                                const struct sw_batch *batch,
                                                struct sw_cuda_record *record,
                                                const struct sw_cuda_expiry_filter *expiry_filter,
                                                cudaStream_t stream);

/* The rows that must have memory before this batch. If the batch inserts, these are the rows below
 * high + count, for the current `high`. After b batches `high` is at most the sum of their counts,
 * and at most entries + operations_max. */
template <int BITS>
cudaError_t sw_cuda_launch_row_prepare(const struct sw_cuda_rows *rows,
                                       const struct sw_cuda_row_batch<BITS> *batch,
                                       cudaStream_t stream);

/* Looks up all keys: computes `found`, stores their rows and claims them. */
template <int BITS>
cudaError_t
sw_cuda_launch_row_look_up(const struct sw_cuda_device<BITS> *device, struct sw_cuda_rows *rows,
                           const typename sw_width<BITS>::word *keys, bool use_hints,
                           const struct sw_cuda_row_batch<BITS> *batch, cudaStream_t stream);

/* Copies the rows of present keys while the engine inserts the others on another stream. Does
 * nothing if something may be refused after all. sw_cuda_launch_row_data runs after both and does
 * the rest. */
template <int BITS>
cudaError_t sw_cuda_launch_row_early(const struct sw_cuda_rows *rows,
                                     const struct sw_cuda_row_batch<BITS> *batch,
                                     cudaStream_t stream);

/* Runs after the engine's kernels. Then all answers are in the arrays of the parts, rows have their
 * new contents, and the stack is up to date. The answer of an operation on an absent key is zeros.
 * The answers of refused groups are unchanged. */
template <int BITS>
cudaError_t sw_cuda_launch_row_data(struct sw_cuda_rows *rows,
                                    const struct sw_cuda_row_batch<BITS> *batch,
                                    cudaStream_t stream);

/* Same as sw_cuda_launch_get, except that `previous` of each batch is packed rows of value_bytes,
 * aligned as above, or NULL: then no row is read. */
template <int BITS, int N>
cudaError_t sw_cuda_launch_row_get(const struct sw_cuda_device<BITS> *device,
                                   const struct sw_cuda_rows *rows, bool use_hints,
                                   struct sw_cuda_reads<BITS, N> *reads, cudaStream_t stream);

/* Copies `count` rows to `to`, packed, aligned as above. The number of row i is the word at numbers
 * + i * step bytes; so `numbers` may point to the value of the first slot. `numbers` and `to` are
 * device memory, or mapped host memory. */
template <int BITS>
cudaError_t sw_cuda_launch_row_gather(const struct sw_cuda_rows *rows, const void *numbers,
                                      uint32_t step, uint64_t count, uint8_t *to,
                                      cudaStream_t stream);

/* Parts of sw_cuda_launch_row_data, in this order. */
template <int BITS>
cudaError_t sw_cuda_launch_row_effects(struct sw_cuda_rows *rows,
                                       const struct sw_cuda_row_batch<BITS> *batch,
                                       cudaStream_t stream);
template <int BITS>
cudaError_t sw_cuda_launch_row_moves(const struct sw_cuda_rows *rows,
                                     const struct sw_cuda_row_batch<BITS> *batch,
                                     cudaStream_t stream);
template <int BITS>
cudaError_t sw_cuda_launch_row_repeats(const struct sw_cuda_rows *rows,
                                       const struct sw_cuda_row_batch<BITS> *batch,
                                       cudaStream_t stream);

/* Called by sw_cuda_rows_load: each file loads its kernels. */
template <int BITS> cudaError_t sw_cuda_load_row_key_strings(void);
template <int BITS> cudaError_t sw_cuda_load_row_prepare(void);
template <int BITS> cudaError_t sw_cuda_load_row_look_up(void);
template <int BITS> cudaError_t sw_cuda_load_row_effects(void);
template <int BITS> cudaError_t sw_cuda_load_row_moves(void);
template <int BITS>
cudaError_t sw_cuda_load_row_repeats(uint32_t multiprocessors, uint32_t *blocks);
template <int BITS> cudaError_t sw_cuda_load_row_get(void);
template <int BITS> cudaError_t sw_cuda_load_row_gather(void);

#endif
