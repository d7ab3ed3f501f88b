/* SPDX-License-Identifier: MIT
 *
 * rows.cuh - rows on CUDA: what their kernels are given, and the functions that launch them.
 *
 * The value of an entry is the number of its row, and the engine of integers knows no more than
 * that. A batch of writes on rows goes through it as a batch on row numbers:
 *
 *   sw_cuda_launch_row_texts     where rows end with the texts of their keys: compares these, and
 *                                finds out which groups are refused where two of one key differ;
 *                                but where that was decided with the times (expiry.cuh)
 *   sw_cuda_launch_row_prepare   gives every operation a tentative row, and the operation on
 *                                integers that stands for it
 *   sw_cuda_launch_row_look_up   of a batch that deletes nothing: finds the keys that are present.
 *                                They remain so, with their rows
 *   the engine                   carries the others out; it says for each which row its key had. It
 *                                is not asked if nothing may be inserted
 *   sw_cuda_launch_row_early     beside it, if nothing can be refused: moves the rows of keys that
 *                                are present
 *   sw_cuda_launch_row_data      moves bytes, and gives back rows that were not used or not kept
 *
 * So the row of an operation is the one its key had, or else, if the operation inserts, its
 * tentative row: exact in array order, because the engine's answers are. No row that is given back
 * is given out before the next batch, so the acts on one row are all of one key, and rows of
 * different numbers have nothing to do with each other.
 *
 * Threads: calls of one table one at a time, in the order of its write batches, on one stream; but
 * reads (row_get, row_gather) as the engine's reads.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROWS_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROWS_CUH

#include "table/device/cutter.cuh"
#include "table/device/together.cuh"
#include "table/robin_hood/cuda/device.cuh"
#include "table/robin_hood/rows.h"

#define SW_CUDA_ROW_COUNTS SW_CUDA_CROWD_COUNTS

struct sw_cuda_judge;

/* Which rows are free: the first free_count of the stack, and all from `high` on. */
struct sw_cuda_row_stack {
    uint64_t free_count;
    uint64_t high;
};

/* The state of the data phase of a batch; zeros before it. */
struct sw_cuda_row_control {
    uint32_t given;   /* rows given back */
    uint32_t fresh;   /* as many rows were never used before, and no longer are that */
    uint32_t repeats; /* 1: there are operations on rows that the batch has more than once */
    uint32_t longs;   /* of these the segments that a block carries out (row_repeats.cu) */
    uint32_t odd;     /* of repeats, bits 2 and 3: of addresses; bit 4: row_runs.cuh */
    uint32_t absent;  /* 1: a key was looked up and is absent */
    uint32_t early;   /* 1: nothing can be refused: rows of the others are moved at once */
};

/* An operation on a row that occurs more than once. */
struct sw_cuda_row_step {
    const uint8_t *operand;
    uint8_t *answer; /* NULL: none is wanted */
    uint32_t row;
    uint8_t op;
    bool writes;
    bool found; /* the row is that of a key which was there */
    bool keeps; /* it replaces the row, but for its text: only where there are any */
};

/* So many such operations on one row are long: a block carries them out. */
#define SW_CUDA_ROW_LONG 256

/* What is found out of the texts of a batch before the engine (row_texts.cu); one of a table, zero
 * where none are kept. Lengths as below; s is sw_cuda_row_claims(n). A slot is of a key. */
struct sw_cuda_row_texts {
    uint32_t *disputed; /* [4 + 3 s] the first word: 1: two texts of one key differ */
    uint32_t *walked;   /* [n / 32 + 1] bits: operations whose groups are walked */
    uint32_t *states;   /* [s] what becomes of keys: row_texts.cu */
    uint32_t *slots;    /* [n] of the operations' keys */
    uint32_t *saved;    /* [n] states before the operations of a group */
    uint8_t *facts;     /* [n] enum sw_cuda_row_fact */
    uint8_t *refused;   /* [n] by group: enum sw_admission; only where texts differ */
};

enum sw_cuda_row_fact {
    SW_ROW_HAS_TEXT = 1,
    SW_ROW_AS_STORED = 2, /* its text is that of the key's row */
    SW_ROW_AS_FIRST = 4,  /* .. that of the operation that speaks for its key */
    SW_ROW_VOID = 8       /* its group is refused: to the engine it is a GET */
};

/* What a data phase needs; one of a table. Lengths in brackets; n is operations_max. */
struct sw_cuda_row_scratch {
    uint32_t *rows;                 /* [n] of each operation; SW_CUDA_NO_ROW */
    uint32_t *repeated;             /* [n / 32] bits: its row occurs in the batch more than once */
    unsigned long long *claims;     /* [sw_cuda_row_claims(n)] row_claims.cuh */
    uint64_t *sorted[2];            /* [n] row and operation of those that repeat; row_hot.cuh */
    uint32_t *counts;               /* of the sort */
    struct sw_cuda_row_step *steps; /* [n] these operations, sorted */
    uint32_t *segments;             /* [n + 1] row_repeats.cu */
    uint32_t *longs;                /* [n / SW_CUDA_ROW_LONG + 1] */
    struct sw_cuda_row_control *control;
};

struct sw_cuda_rows {
    uint8_t *rows;    /* the first row: in memory of the device, or of the host and mapped */
    uint8_t *further; /* where the first row were if all lay as those from `split` on do, which are
                         in memory of the host; NULL: there are none */
    uint64_t split;
    uint32_t *free; /* device: the stack, with room for every row that may ever be mapped */
    struct sw_cuda_row_stack *stack; /* device; both 0: no row is in use */
    uint32_t value_bytes;
    uint32_t text_bytes;     /* of these, the last ones: the text of the key */
    uint32_t stride;         /* sw_row_stride(value_bytes) */
    uint32_t operations_max; /* of one batch of writes, less than 2^24 */
    uint32_t repeats_blocks; /* set by sw_cuda_rows_load */
    uint32_t epoch;          /* of the claims: 0 at first, then the launchers' */
    struct sw_cuda_row_scratch scratch;
    struct sw_cuda_row_texts texts;
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

/* Cuts the scratch, for operations_max, from device memory at `base` and returns its bytes; with a
 * base of NULL only counts. The memory must be zero when the first batch comes. */
size_t sw_cuda_rows_cut(struct sw_cuda_rows *rows, void *base);
/* Loads the kernels, and sets what depends on the device. */
template <int BITS>
cudaError_t sw_cuda_rows_load(struct sw_cuda_rows *rows, uint32_t multiprocessors);

/* A batch of writes on rows. All arrays but those that `parts` names are device memory. */
template <int BITS> struct sw_cuda_row_batch {
    typedef typename sw_width<BITS>::word word;
    uint32_t count; /* may be 0 */
    uint32_t op;
    const uint8_t *ops;   /* [count] on rows; NULL: all are `op` */
    bool inserts;         /* whether any of them may. If none may, no row is given */
    bool collides;        /* groups may be refused for texts of keys, which are compared before all
                             else; then `ops` is not NULL, and nothing is looked up */
    bool wide;            /* operands are wide ones: sw_batch.wide_operands */
    bool strings;         /* some operations may be of SW_OPS_STRING: row_order.cuh */
    uint8_t *engine_ops;  /* [count] on integers: made by prepare. NULL if ops is: then all are
                             sw_cuda_row_engine_op(op) */
    word *tentative;      /* [count] made by prepare: operands of the engine's operations; the data
                             phase reads them again */
    const word *previous; /* [count] the engine's answer */
    uint64_t *found;      /* [count / 64] likewise; of a batch that is looked up: made by that, and
                             by the data phase, which adds the engine's */
    bool looked_up;       /* rows of keys that were present are known before the engine begins */
    bool may_be_early;    /* of such a batch: it can be refused only because of the stash, and
                             sw_cuda_launch_row_early follows the look-up */
    bool answers;         /* some part may want `previous` */
    const uint64_t *engine_found; /* [count / 64] of such a batch: the engine's answer; NULL: it was
                                     not asked */
    uint32_t group_count;         /* at least 1 */
    const uint32_t *group_ends;   /* [group_count] */
    uint8_t *group_refused;       /* [group_count] */
    int32_t *status; /* the engine's: SW_E_FULL if any group was refused; NULL: none was */
    /* Where operands and answers are: `values` and `previous` of each part are rows of value_bytes
     * (wide operands of twice as many), packed, in memory of the device or of the host. Of a row of
     * numbers of 8 bytes they are aligned to 8, else at least to 4. */
    const struct sw_cuda_parts *parts;
    uint32_t part_count;
    uint32_t chunks; /* of all parts: SW_TOGETHER_CHUNK operations of one part, or fewer */
};

/* The engine's operation for one on rows. */
static inline __host__ __device__ uint32_t sw_cuda_row_engine_op(uint32_t op)
{
    if (op == SW_DELETE) {
        return SW_DELETE;
    }
    return sw_row_effect(op, false) == SW_EFFECT_WRITE ? SW_SET_ABSENT : SW_GET;
}

/* Only where texts are kept: compares those of operations on these keys. The first word of
 * texts.disputed says whether any differ. */
template <int BITS>
cudaError_t sw_cuda_launch_row_compare(const struct sw_cuda_device<BITS> *device,
                                       const struct sw_cuda_rows *rows,
                                       const typename sw_width<BITS>::word *keys,
                                       const struct sw_cuda_parts *parts, uint32_t part_count,
                                       uint32_t count, cudaStream_t stream);
/* Of a batch that `collides`, before all others, and sw_cuda_launch_row_refused behind the engine,
 * which tells what it left out. */
template <int BITS>
cudaError_t
sw_cuda_launch_row_texts(const struct sw_cuda_device<BITS> *device, const struct sw_cuda_rows *rows,
                         const typename sw_width<BITS>::word *keys,
                         const struct sw_cuda_row_batch<BITS> *batch, cudaStream_t stream);
template <int BITS>
cudaError_t sw_cuda_launch_row_refused(const struct sw_cuda_rows *rows,
                                       const struct sw_cuda_row_batch<BITS> *batch,
                                       cudaStream_t stream);
/* Compares the texts of a batch of reads, whose arrays are of any memory: refuses its groups, and
 * says so in the record. `judge`: where some entry expires; else NULL. */
template <int BITS>
cudaError_t sw_cuda_launch_row_text_reads(const struct sw_cuda_device<BITS> *device,
                                          const struct sw_cuda_rows *rows,
                                          const struct sw_batch *batch,
                                          struct sw_cuda_record *record,
                                          const struct sw_cuda_judge *judge, cudaStream_t stream);

/* Rows that must have memory before this batch: if it inserts, those below high + count, where
 * `high` is that of the moment: after b batches of c operations each, at most the sum of their
 * counts, and at most entries + operations_max whatever came before. */
template <int BITS>
cudaError_t sw_cuda_launch_row_prepare(const struct sw_cuda_rows *rows,
                                       const struct sw_cuda_row_batch<BITS> *batch,
                                       cudaStream_t stream);

/* Looks up all keys: makes `found`, notes their rows and claims them. */
template <int BITS>
cudaError_t
sw_cuda_launch_row_look_up(const struct sw_cuda_device<BITS> *device, struct sw_cuda_rows *rows,
                           const typename sw_width<BITS>::word *keys, bool use_hints,
                           const struct sw_cuda_row_batch<BITS> *batch, cudaStream_t stream);

/* Moves the rows of keys that are present, while the engine inserts the others on another stream;
 * nothing, if something may be refused after all. sw_cuda_launch_row_data, which follows both, does
 * the rest. */
template <int BITS>
cudaError_t sw_cuda_launch_row_early(const struct sw_cuda_rows *rows,
                                     const struct sw_cuda_row_batch<BITS> *batch,
                                     cudaStream_t stream);

/* Behind the engine's kernels. Afterwards all answers are where the parts want them, rows have
 * their new contents, and the stack is that of after the batch. Answers of operations whose key was
 * absent are zeros; those of refused groups are left as they are. */
template <int BITS>
cudaError_t sw_cuda_launch_row_data(struct sw_cuda_rows *rows,
                                    const struct sw_cuda_row_batch<BITS> *batch,
                                    cudaStream_t stream);

/* As sw_cuda_launch_get; `previous` of each batch is rows of value_bytes, packed, aligned as above,
 * or NULL: then no row is read. */
template <int BITS, int N>
cudaError_t sw_cuda_launch_row_get(const struct sw_cuda_device<BITS> *device,
                                   const struct sw_cuda_rows *rows, bool use_hints,
                                   struct sw_cuda_reads<BITS, N> *reads, cudaStream_t stream);

/* Copies `count` rows to `to`, packed, aligned as above. The number of row i is the word at numbers
 * + i * step bytes: those of entries, where `numbers` is the first slot's value. `numbers` and `to`
 * are device memory, or the host's and mapped. */
template <int BITS>
cudaError_t sw_cuda_launch_row_gather(const struct sw_cuda_rows *rows, const void *numbers,
                                      uint32_t step, uint64_t count, uint8_t *to,
                                      cudaStream_t stream);

/* Parts of sw_cuda_launch_row_data, in this order. */
template <int BITS>
cudaError_t sw_cuda_launch_row_acts(struct sw_cuda_rows *rows,
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

/* Of sw_cuda_rows_load: each file loads its kernels. */
template <int BITS> cudaError_t sw_cuda_load_row_texts(void);
template <int BITS> cudaError_t sw_cuda_load_row_prepare(void);
template <int BITS> cudaError_t sw_cuda_load_row_look_up(void);
template <int BITS> cudaError_t sw_cuda_load_row_acts(void);
template <int BITS> cudaError_t sw_cuda_load_row_moves(void);
template <int BITS>
cudaError_t sw_cuda_load_row_repeats(uint32_t multiprocessors, uint32_t *blocks);
template <int BITS> cudaError_t sw_cuda_load_row_get(void);
template <int BITS> cudaError_t sw_cuda_load_row_gather(void);

#endif
