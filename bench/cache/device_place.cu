/* SPDX-License-Identifier: MIT
 *
 * device_place.cu - the cache study's arrays in device memory; keys and values are drawn and
 * answers judged there, a warp for each.
 */
#include "bench/cache/place.h"
#include "bench/cache/write_ceiling.h"

#include <algorithm>

#include "bench/study/ceilings.h"
#include "bench/study/device.cuh"
#include "bench/study/device.h"
#include "bench/study/report.h"

#define BLOCK 256
#define WARP 32
#define BLOCKS_MAX 4096

static __global__ void draw_kernel(const struct sw_cachebench_arrays arrays,
                                   const struct sw_cachebench_draw draw)
{
    uint32_t lane = threadIdx.x % WARP;
    uint64_t step = (uint64_t)gridDim.x * (BLOCK / WARP);
    for (uint64_t j = ((uint64_t)blockIdx.x * BLOCK + threadIdx.x) / WARP; j < draw.query.count;
         j += step) {
        uint64_t number = sw_cachebench_number(&draw.query, j);
        if (lane == 0) {
            arrays.keys[j] = sw_cachebench_key(number, draw.query.seed);
            arrays.accumulate[j] = !sw_cachebench_is_fresh(&draw.query, j);
            if (draw.scores != SW_CACHEBENCH_SCORES_NONE) {
                arrays.scores[j] = sw_cachebench_score(draw.scores, number, draw.query.seed);
            }
        }
        for (uint32_t w = lane; w < draw.dim; w += WARP) {
            arrays.values[j * draw.dim + w] = sw_cachebench_word(number, w, draw.generation);
        }
    }
}

/* Counts of a block, then of all. */
static __device__ void count(unsigned long long *counts, unsigned long long *total)
{
    __syncthreads();
    if (threadIdx.x < SW_CACHEBENCH_ANSWERS && counts[threadIdx.x] != 0) {
        atomicAdd(total + threadIdx.x, counts[threadIdx.x]);
    }
}

static __global__ void expand_kernel(uint8_t *results, const uint64_t *bits, uint64_t count)
{
    uint64_t j = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (j < count) {
        results[j] = bits[j / 64] >> (j % 64) & 1;
    }
}

static __device__ void count_begin(unsigned long long *counts)
{
    if (threadIdx.x < SW_CACHEBENCH_ANSWERS) {
        counts[threadIdx.x] = 0;
    }
    __syncthreads();
}

static __global__ void judge_kernel(const struct sw_cachebench_arrays arrays, const uint8_t *model,
                                    const struct sw_cachebench_judged judged,
                                    unsigned long long *total)
{
    __shared__ unsigned long long counts[SW_CACHEBENCH_ANSWERS];
    uint32_t lane = threadIdx.x % WARP;
    uint64_t step = (uint64_t)gridDim.x * (BLOCK / WARP);
    count_begin(counts);
    for (uint64_t j = ((uint64_t)blockIdx.x * BLOCK + threadIdx.x) / WARP; j < judged.query.count;
         j += step) {
        uint64_t number = sw_cachebench_number(&judged.query, j);
        uint32_t generation = number < SW_CACHEBENCH_ABSENT ? model[number] : 0;
        int answer = sw_cachebench_presence(&judged, number, generation, arrays.results[j]);
        if (answer == SW_CACHEBENCH_FOUND && judged.seen != SW_CACHEBENCH_SEEN_RESULTS) {
            const float *value = judged.seen == SW_CACHEBENCH_SEEN_PLACES
                                     ? (const float *)arrays.places[j]
                                     : arrays.values_out + j * judged.dim;
            bool differs = value == NULL;
            for (uint32_t w = lane; w < judged.dim && value != NULL; w += WARP) {
                differs |=
                    __float_as_uint(value[w]) !=
                    __float_as_uint(sw_cachebench_expected(&judged, j, number, w, generation));
            }
            answer = __any_sync(0xffffffffU, differs) ? SW_CACHEBENCH_WRONG : answer;
        }
        if (lane == 0) {
            atomicAdd(counts + answer, 1ULL);
        }
    }
    count(counts, total);
}

static __global__ void judge_evicted_kernel(const struct sw_cachebench_arrays arrays,
                                            const uint8_t *model, uint64_t numbers, uint32_t dim,
                                            uint64_t seed, unsigned long long *total)
{
    __shared__ unsigned long long counts[SW_CACHEBENCH_ANSWERS];
    uint32_t lane = threadIdx.x % WARP;
    uint64_t step = (uint64_t)gridDim.x * (BLOCK / WARP);
    count_begin(counts);
    for (uint64_t j = ((uint64_t)blockIdx.x * BLOCK + threadIdx.x) / WARP;
         j < *arrays.evicted_count; j += step) {
        uint64_t number = sw_cachebench_number_of(arrays.evicted_keys[j], seed);
        uint32_t generation = number < numbers ? model[number] : 0;
        bool differs = false;
        for (uint32_t w = lane; w < dim; w += WARP) {
            differs |= __float_as_uint(arrays.evicted_values[j * dim + w]) !=
                       __float_as_uint(sw_cachebench_word(number, w, generation));
        }
        differs = __any_sync(0xffffffffU, differs);
        if (lane == 0) {
            atomicAdd(counts + (generation == 0 ? SW_CACHEBENCH_PHANTOM
                                : differs       ? SW_CACHEBENCH_WRONG
                                                : SW_CACHEBENCH_FOUND),
                      1ULL);
        }
    }
    count(counts, total);
}

static __global__ void note_kernel(uint8_t *model, const struct sw_cachebench_note note)
{
    uint64_t j = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (j < note.query.count) {
        bool is_fresh = sw_cachebench_is_fresh(&note.query, j);
        if (is_fresh ? note.fresh : note.window) {
            model[sw_cachebench_number(&note.query, j)] =
                (uint8_t)(is_fresh ? note.fresh_generation : note.window_generation);
        }
    }
}

/* Of a warp for each of `count`. */
static unsigned warps(uint64_t count)
{
    return (unsigned)std::clamp<uint64_t>((count + BLOCK / WARP - 1) / (BLOCK / WARP), 1,
                                          BLOCKS_MAX);
}

static bool device_choose(int device)
{
    return sw_study_device_choose((uint32_t)device);
}

static void device_describe(int device, FILE *out)
{
    sw_study_device_describe((uint32_t)device, out);
}

static void *device_alloc(size_t bytes)
{
    void *memory = NULL;
    return sw_study_ok(cudaMalloc(&memory, bytes), "device memory") ? memory : NULL;
}

static void device_free(void *memory)
{
    (void)cudaFree(memory);
}

static bool device_fill(void *memory, int byte, size_t bytes)
{
    return sw_study_ok(cudaMemset(memory, byte, bytes), "filling") && sw_study_done("filling");
}

static bool device_copy(void *to, const void *from, size_t bytes)
{
    return sw_study_ok(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "copying") &&
           sw_study_done("copying");
}

static bool device_expand(uint8_t *results, const uint64_t *bits, uint64_t count)
{
    expand_kernel<<<(unsigned)((count + BLOCK - 1) / BLOCK), BLOCK>>>(results, bits, count);
    return sw_study_done("expanding bits");
}

static bool device_draw(const struct sw_cachebench_arrays *arrays,
                        const struct sw_cachebench_draw *draw)
{
    draw_kernel<<<warps(draw->query.count), BLOCK>>>(*arrays, *draw);
    return sw_study_done("drawing keys");
}

/* Launches what adds to six counts on the device; they are added to the verdict. */
template <class Launch> static bool tally(struct sw_cachebench_verdict *verdict, Launch launch)
{
    unsigned long long counts[SW_CACHEBENCH_ANSWERS];
    unsigned long long *total = (unsigned long long *)device_alloc(sizeof(counts));
    if (total == NULL) {
        return false;
    }
    bool done = sw_study_ok(cudaMemset(total, 0, sizeof(counts)), "judging");
    if (done) {
        launch(total);
        done = sw_study_done("judging") &&
               sw_study_ok(cudaMemcpy(counts, total, sizeof(counts), cudaMemcpyDeviceToHost),
                           "judging");
    }
    device_free(total);
    for (int a = 0; a < SW_CACHEBENCH_ANSWERS && done; a++) {
        verdict->of[a] += counts[a];
    }
    return done;
}

static bool device_judge(const struct sw_cachebench_arrays *arrays, const uint8_t *model,
                         const struct sw_cachebench_judged *judged,
                         struct sw_cachebench_verdict *verdict)
{
    return tally(verdict, [=](unsigned long long *total) {
        judge_kernel<<<warps(judged->query.count), BLOCK>>>(*arrays, model, *judged, total);
    });
}

static bool device_judge_evicted(const struct sw_cachebench_arrays *arrays, const uint8_t *model,
                                 uint64_t numbers, uint32_t dim, uint64_t seed,
                                 struct sw_cachebench_verdict *verdict)
{
    return tally(verdict, [=](unsigned long long *total) {
        judge_evicted_kernel<<<warps(arrays->room), BLOCK>>>(*arrays, model, numbers, dim, seed,
                                                             total);
    });
}

static bool device_note(uint8_t *model, const struct sw_cachebench_note *note)
{
    note_kernel<<<(unsigned)((note->query.count + BLOCK - 1) / BLOCK), BLOCK>>>(model, *note);
    return sw_study_done("noting");
}

/* --- ceilings --------------------------------------------------------------------------------- */

static bool measure_ceiling(struct sw_study_memory *memory, enum sw_study_access access,
                            struct sw_cachebench_ceiling *ceiling)
{
    double seconds[SW_CACHEBENCH_CEILING_REPS + 1]; /* the first warms up */
    struct sw_study_timed timed = {};
    for (double &taken : seconds) {
        if (!sw_study_access_run(memory, sw_study_shape_usual(access), &timed)) {
            return false;
        }
        taken = timed.seconds;
    }
    ceiling->name = sw_study_access_name(access);
    ceiling->bytes = memory->bytes;
    ceiling->moved = timed.dram_bytes;
    ceiling->lines = timed.operations;
    ceiling->seconds = sw_study_median(seconds + 1, SW_CACHEBENCH_CEILING_REPS);
    return true;
}

static bool device_measure_ceilings(uint64_t bytes, uint64_t slots, uint64_t seed,
                                    struct sw_cachebench_ceiling *ceilings)
{
    struct sw_study_memory memory;
    if (!sw_study_memory_open(&memory, bytes, seed)) {
        return false;
    }
    bool done = measure_ceiling(&memory, SW_STUDY_COPY_UINT4, ceilings) &&
                measure_ceiling(&memory, SW_STUDY_GATHER_128, ceilings + 1);
    sw_study_memory_close(&memory);
    return done && sw_cachebench_write_ceiling(slots, ceilings + 2);
}

static const struct sw_cachebench_place place = {
    "cuda",
    device_choose,
    device_describe,
    device_alloc,
    device_free,
    device_fill,
    device_copy,
    device_expand,
    device_draw,
    device_judge,
    device_judge_evicted,
    device_note,
    device_measure_ceilings,
};

const struct sw_cachebench_place *sw_cachebench_device(void)
{
    return &place;
}
