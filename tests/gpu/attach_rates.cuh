/* SPDX-License-Identifier: MIT
 *
 * attach_rates.cuh - for test_attach_gpu.cu: how long calls take, beside the same by the socket.
 */
#ifndef SHERWOOD_TESTS_GPU_ATTACH_RATES_CUH
#define SHERWOOD_TESTS_GPU_ATTACH_RATES_CUH

#include "tests/gpu/attach.cuh"

namespace
{

/* --- rates ------------------------------------------------------------------------------------ */

struct spread {
    double p50, p99;
};
template <typename CALL> struct spread times(int rounds, CALL call)
{
    std::vector<double> took;
    const double limit = now_us() + 1.5e6;
    for (int i = 0; i < rounds && (i < 5 || now_us() < limit); i++) {
        const double begin = now_us();
        call(i);
        took.push_back(now_us() - begin);
    }
    std::sort(took.begin(), took.end());
    return {took[took.size() / 2], took[took.size() * 99 / 100]};
}

void show(const char *what, size_t count, struct spread took)
{
    printf("     %s, %zu keys: p50 %.1f p99 %.1f us, %.2f G keys/s\n", what, count, took.p50,
           took.p99, (double)count / took.p50 / 1e3);
    fflush(stdout);
}

/* GET of stored keys with arrays that the server maps, and with a copy of them in a pool. */
template <typename WORD>
void copied_rates(struct sherwood_cuda *cuda, const struct arrays<WORD> *a, cudaStream_t stream)
{
    struct arrays<WORD> pool;
    open_arrays(&pool, a->count, 0, OF_A_POOL);
    good(cudaMemcpy(pool.keys, a->keys, a->count * sizeof(WORD), cudaMemcpyDefault), "keys");
    good(cudaDeviceSynchronize(), "the copies"); /* on one device they may end later */
    for (size_t count : {(size_t)1024, (size_t)1 << 20, a->count}) {
        for (const struct arrays<WORD> *each : {a, (const struct arrays<WORD> *)&pool}) {
            const bool registered = each == a;
            show(registered ? "GET, waits" : "GET of copied arrays, waits", count,
                 times(1000, [&](int) {
                     same("GET",
                          sherwood_cuda_run(cuda, SHERWOOD_GET, each->keys, NULL, count,
                                            each->answers, each->found),
                          0);
                 }));
            show(registered ? "GET, in stream order" : "GET of copied arrays, in stream order",
                 count, times(1000, [&](int) {
                     same("GET",
                          sherwood_cuda_get(cuda, each->keys, count, each->answers, each->found,
                                            stream),
                          0);
                     good(cudaStreamSynchronize(stream), "a stream");
                 }));
        }
    }
    close_arrays(&pool);
}

/* The same between kernels as a graph. */
template <typename WORD>
void graph_rates(struct sherwood_cuda *cuda, const struct arrays<WORD> *a, cudaStream_t stream)
{
    for (size_t count : {(size_t)1024, (size_t)1 << 20}) {
        cudaGraph_t graph;
        cudaGraphExec_t executable;
        good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "a capture");
        good(cudaMemsetAsync(a->chosen, 1, 4096, stream), "a kernel");
        same("GET", sherwood_cuda_get(cuda, a->keys, count, a->answers, a->found, stream), 0);
        good(cudaMemsetAsync(a->chosen, 2, 4096, stream), "a kernel");
        good(cudaStreamEndCapture(stream, &graph), "a capture");
        good(cudaGraphInstantiate(&executable, graph, 0), "a graph");
        show("GET between kernels in a graph", count, times(2000, [&](int) {
                 good(cudaGraphLaunch(executable, stream), "a replay");
                 good(cudaStreamSynchronize(stream), "a stream");
             }));
        good(cudaGraphExecDestroy(executable), "a graph");
        good(cudaGraphDestroy(graph), "a graph");
    }
}

void rates(struct sherwood_cuda *cuda)
{
    typedef uint32_t WORD;
    struct arrays<WORD> a;
    const size_t most = 1U << 24;
    cudaStream_t stream;
    open_arrays(&a, most);
    good(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    fill<WORD><<<256, 256>>>(a.keys, a.values, most, 1, 1, 0);
    good(cudaDeviceSynchronize(), "filling");
    /* keys are multiples of an odd number: those of one call are any of the table's */
    struct spread insert = times(16, [&](int i) {
        const size_t from = (size_t)(i % 16) << 20;
        same("SET",
             sherwood_cuda_run(cuda, SHERWOOD_SET, a.keys + from, a.values + from, 1U << 20, NULL,
                               NULL),
             0);
    });
    show("SET of fresh keys, waits", 1U << 20, insert);
    for (size_t count : {(size_t)256, (size_t)65536, (size_t)1 << 20, most}) {
        show("GET, waits", count, times(4000, [&](int i) {
                 const size_t from =
                     most / count < 2 ? 0 : (size_t)i * count % (most - count) / 64 * 64;
                 same("GET",
                      sherwood_cuda_run(cuda, SHERWOOD_GET, a.keys + from, NULL, count, a.answers,
                                        a.found),
                      0);
             }));
    }
    for (size_t count : {(size_t)256, (size_t)65536, (size_t)1 << 20, most}) {
        show("GET, in stream order, alone", count, times(2000, [&](int) {
                 same("GET", sherwood_cuda_get(cuda, a.keys, count, a.answers, a.found, stream), 0);
                 good(cudaStreamSynchronize(stream), "a stream");
             }));
        show("GET, in stream order between kernels", count, times(2000, [&](int) {
                 good(cudaMemsetAsync(a.chosen, 1, 4096, stream), "a kernel");
                 same("GET", sherwood_cuda_get(cuda, a.keys, count, a.answers, a.found, stream), 0);
                 good(cudaMemsetAsync(a.chosen, 2, 4096, stream), "a kernel");
                 good(cudaStreamSynchronize(stream), "a stream");
             }));
    }
    show("SET of stored keys, waits", 1U << 20, times(200, [&](int i) {
             const size_t from = (size_t)(i % 16) << 20;
             same("SET",
                  sherwood_cuda_run(cuda, SHERWOOD_SET, a.keys + from, a.values + from, 1U << 20,
                                    NULL, NULL),
                  0);
         }));
    copied_rates<WORD>(cuda, &a, stream);
    graph_rates<WORD>(cuda, &a, stream);
    same("calls in stream order", sherwood_cuda_check(cuda, true), SHERWOOD_OK);
    /* the same by the socket, from host memory */
    struct sherwood *client;
    std::vector<WORD> keys(1U << 20), values(1U << 20);
    std::vector<uint64_t> found((1U << 20) / 64);
    good(cudaMemcpy(keys.data(), a.keys, keys.size() * sizeof(WORD), cudaMemcpyDefault), "keys");
    same("a connection", sherwood_connect(address.c_str(), NULL, &client), SHERWOOD_OK);
    for (size_t count : {(size_t)256, (size_t)65536, (size_t)1 << 20}) {
        show("GET by the socket, one connection, one at a time", count, times(2000, [&](int) {
                 same("GET", sherwood_get(client, keys.data(), count, values.data(), found.data()),
                      0);
             }));
    }
    sherwood_close(client);
    good(cudaStreamDestroy(stream), "a stream");
    close_arrays(&a);
}

} // namespace

#endif
