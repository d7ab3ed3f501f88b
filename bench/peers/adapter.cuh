/* SPDX-License-Identifier: MIT
 *
 * adapter.cuh - code of all adapters: runs a peer's work, refuses a table that does not fit, makes
 * pairs.
 */
#ifndef SHERWOOD_BENCH_PEERS_ADAPTER_CUH
#define SHERWOOD_BENCH_PEERS_ADAPTER_CUH

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <exception>
#include <stdint.h>
#include <stdio.h>

#include "bench/peers/list.h"
#include "bench/study/device.cuh"
#include "bench/study/span.h"

/* peers.mk defines it for each adapter: the commit of the headers, where git knows it. */
#ifndef SW_PEER_VERSION
#define SW_PEER_VERSION "version not known"
#endif

/* Device memory that a table leaves free: the libraries allocate scratch memory of their own. */
#define SW_PEER_SPARE_BYTES (256ULL << 20)

/* Runs `work`, which enqueues in `stream`, and waits for the device. On false one line on stderr
 * says what failed. */
template <class Work>
static bool sw_peer_run(const char *what, Work work, cudaStream_t stream = NULL)
{
    try {
        work();
        sw_study_span_mark(stream);
    } catch (const std::exception &e) {
        fprintf(stderr, "timing: %s: %s\n", what, e.what());
        return false;
    }
    return sw_study_done(what);
}

/* Returns whether the device has room for the table. Without room some libraries end the process.
 */
static inline bool sw_peer_fits(const struct sw_timing_wanted *wanted, char *reason,
                                size_t reason_size)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    cudaError_t error = cudaMemGetInfo(&free_bytes, &total_bytes);
    if (error != cudaSuccess) {
        snprintf(reason, reason_size, "asking for free memory: %s", cudaGetErrorString(error));
        return false;
    }
    uint64_t bytes = wanted->slots * (wanted->slot_bits / 8);
    if (bytes + SW_PEER_SPARE_BYTES > free_bytes) {
        snprintf(reason, reason_size, "%llu bytes and %llu to spare do not fit into %zu free",
                 (unsigned long long)bytes, SW_PEER_SPARE_BYTES, free_bytes);
        return false;
    }
    return true;
}

/* Makes a table by `make`, a function that returns one allocated by new. NULL with a sentence in
 * `reason` if there is no room, if it throws or if it leaves an error of the CUDA runtime. */
template <class Table, class Make>
static Table *sw_peer_make(const struct sw_timing_wanted *wanted, char *reason, size_t reason_size,
                           Make make)
{
    Table *table = NULL;
    if (!sw_peer_fits(wanted, reason, reason_size)) {
        return NULL;
    }
    try {
        table = make();
    } catch (const std::exception &e) {
        snprintf(reason, reason_size, "%s", e.what());
        (void)cudaGetLastError(); /* `reason` reports the error: clear it */
        return NULL;
    }
    cudaError_t error = cudaDeviceSynchronize();
    cudaError_t launch = cudaGetLastError();
    error = error != cudaSuccess ? error : launch;
    if (error != cudaSuccess) {
        snprintf(reason, reason_size, "making the table: %s", cudaGetErrorString(error));
        delete table;
        return NULL;
    }
    return table;
}

/* Pair number i of two arrays, for libraries that insert pairs. */
template <class Pair, class Word> struct sw_peer_pair {
    const Word *keys;
    const Word *values;

    __host__ __device__ Pair operator()(int64_t i) const
    {
        return Pair{keys[i], values[i]};
    }
};

template <class Pair, class Word> static auto sw_peer_pairs(const void *keys, const void *values)
{
    sw_peer_pair<Pair, Word> pair = {(const Word *)keys, (const Word *)values};
    return thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0), pair);
}

#endif
