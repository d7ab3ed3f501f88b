/* SPDX-License-Identifier: MIT
 *
 * stand.cuh - a table filled to a load, and the variant that the runner times on it.
 *
 * The table is an ordinary one of the library; the variant's launcher takes the place of the
 * library's. Threads: one.
 */
#ifndef SHERWOOD_BENCH_TUNE_RUNNER_STAND_CUH
#define SHERWOOD_BENCH_TUNE_RUNNER_STAND_CUH

#include "bench/tune/kernels/serve.h"
#include "bench/tune/kernels/variant.cuh"
#include "bench/tune/runner/keys.cuh"
#include "table/robin_hood/cuda/host.cuh"
#include "table/robin_hood/robin_hood_backend.h"

/* Operations of the batches that fill the table; upserts are no larger. */
#define SW_TUNE_FILL_MAX (1U << 24)
/* Different keys for gets, so that no batch finds in the caches what the last one left. */
#define SW_TUNE_POOL_MAX (1ULL << 27)

template <int BITS> struct sw_tune_stand {
    typedef typename sw_width<BITS>::word word;
    const struct sw_tune_cuda_variant *variant;
    const struct sw_backend *backend;
    struct sw_cuda_table *table;
    struct sw_cuda_queue *queue;
    cudaEvent_t begun;
    cudaEvent_t ended;
    struct sw_cuda_record *record; /* mapped host memory */
    struct sw_cuda_tally *tally;   /* device */
    unsigned long long *wrong;     /* device */
    uint64_t slots;
    double load;
    uint64_t stored;

    uint32_t batch; /* operations */
    double hit;
    uint64_t pool; /* keys drawn; a multiple of batch */
    uint64_t room; /* elements of the arrays */
    word *keys;
    word *values;
    word *answers;
    uint32_t *found;
    struct sw_tune_draw draw; /* of the last pass */
    bool answered;            /* a pass was timed, and its answers were not checked yet */
    uint32_t launches;        /* in one sample, of gets */
    uint64_t passes;
};

/* Functions that return bool write to `why` on false; nothing can be timed after. */

/* Opens the device and an empty table of `slots`. */
template <int BITS>
bool sw_tune_stand_open(struct sw_tune_stand<BITS> *stand,
                        const struct sw_tune_cuda_variant *variant, uint64_t slots, int device,
                        char why[SW_SERVE_TEXT_MAX]);

/* Fills the table to a load, which is a part of its slots. */
template <int BITS>
bool sw_tune_fill(struct sw_tune_stand<BITS> *stand, double load, char why[SW_SERVE_TEXT_MAX]);

/* For sw_serve. */
template <int BITS>
bool sw_tune_setup(void *stand, const char *point, double *bytes, char why[SW_SERVE_TEXT_MAX]);
template <int BITS> bool sw_tune_check(void *stand, char why[SW_SERVE_TEXT_MAX]);
template <int BITS>
bool sw_tune_time(void *stand, uint32_t count, double *seconds, char why[SW_SERVE_TEXT_MAX]);

/* Steps (steps.cu). Each waits for the device. */

/* keys[0, count): those of a draw, values beside them. */
template <int BITS>
bool sw_tune_write_keys(struct sw_tune_stand<BITS> *stand, const struct sw_tune_draw &draw,
                        uint64_t count, char why[SW_SERVE_TEXT_MAX]);
/* A batch of the library's own, from keys + offset. */
template <int BITS>
bool sw_tune_run_batch(struct sw_tune_stand<BITS> *stand, enum sw_op op, uint64_t offset,
                       uint32_t count, char why[SW_SERVE_TEXT_MAX]);
template <int BITS>
bool sw_tune_wait_for(struct sw_tune_stand<BITS> *stand, struct sw_batch *batch,
                      char why[SW_SERVE_TEXT_MAX]);

/* The right answers for the keys of the last draw. */
enum sw_tune_verified {
    SW_TUNE_AS_DRAWN,  /* found and answers: stored keys have their values, fresh ones none */
    SW_TUNE_WAS_FOUND, /* found alone: stored keys were, fresh ones were not */
    SW_TUNE_ALL_STORED /* found and answers: every key has its value */
};
template <int BITS>
bool sw_tune_verify(struct sw_tune_stand<BITS> *stand, enum sw_tune_verified what,
                    char why[SW_SERVE_TEXT_MAX]);

static inline bool sw_tune_good(cudaError_t error, const char *what, char why[SW_SERVE_TEXT_MAX])
{
    if (error != cudaSuccess) {
        snprintf(why, SW_SERVE_TEXT_MAX, "%s: %s (%s)", what, cudaGetErrorString(error),
                 cudaGetErrorName(error));
    }
    return error == cudaSuccess;
}

#endif
