/* SPDX-License-Identifier: MIT
 *
 * attach_direct.cuh - for test_attach_gpu.cu: direct reads beside writes, and what they cost.
 */
#ifndef SHERWOOD_TESTS_GPU_ATTACH_DIRECT_CUH
#define SHERWOOD_TESTS_GPU_ATTACH_DIRECT_CUH

#include <atomic>

#include "tests/gpu/attach_rates.cuh"

namespace
{

struct sherwood_cuda *attach_direct()
{
    struct sherwood_cuda *cuda = attach();
    const int status = sherwood_cuda_direct(cuda);
    expect(status == SHERWOOD_OK, status == SHERWOOD_OK ? "" : sherwood_cuda_error(), status,
           SHERWOOD_OK);
    return cuda;
}

template <typename WORD> __global__ void set_all(WORD *values, size_t count, WORD value)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        values[i] = value;
    }
}

/* All keys have one value, or all are absent. Otherwise the read was torn. One block. */
template <typename WORD>
__global__ void find_torn(const WORD *answers, const uint64_t *found, size_t count,
                          unsigned long long *wrong)
{
    bool torn = false;
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) {
        torn |= answers[i] != answers[0] || ((found[i / 64] >> (i % 64) ^ found[0]) & 1) != 0;
    }
    if (__syncthreads_or(torn) && threadIdx.x == 0) {
        atomicAdd(wrong, 1ULL);
    }
}

/* Sets all keys of `a` to one value again and again, until `ends`. Between them it inserts other
 * keys, so that the table grows, deletes them, resizes, and clears the table. */
template <typename WORD> void write_on(const std::atomic<bool> *ends, unsigned pause_us)
{
    struct sherwood_cuda *cuda = attach();
    struct sherwood *client;
    struct arrays<WORD> a, b;
    open_arrays(&a, 4096);
    open_arrays(&b, 300000);
    same("a connection", sherwood_connect(address.c_str(), NULL, &client), SHERWOOD_OK);
    fill<WORD><<<16, 256>>>(a.keys, a.values, a.count, 90, 0, 0);
    for (uint64_t round = 1; !ends->load(); round++) {
        set_all<WORD><<<16, 256>>>(a.values, a.count, (WORD)round);
        good(cudaDeviceSynchronize(), "values");
        same("SET", sherwood_cuda_run(cuda, SHERWOOD_SET, a.keys, a.values, a.count, NULL, NULL),
             0);
        if (round % 16 == 0) {
            fill<WORD><<<64, 256>>>(b.keys, b.values, b.count, 91 + round % 128, 1, 0);
            good(cudaDeviceSynchronize(), "keys");
            same("SET",
                 sherwood_cuda_run(cuda, round % 32 == 0 ? SHERWOOD_DELETE : SHERWOOD_SET, b.keys,
                                   b.values, b.count, NULL, NULL),
                 0);
        }
        if (round % 200 == 0) {
            same("CLEAR", sherwood_clear(client), SHERWOOD_OK);
        }
        if (round % 333 == 0) {
            uint64_t slots;
            same("RESIZE", sherwood_resize(client, 1 << 20, &slots), SHERWOOD_OK);
        }
        usleep(pause_us);
    }
    sherwood_close(client);
    sherwood_cuda_close(cuda);
    close_arrays(&a);
    close_arrays(&b);
}

/* Replays of a graph of a GET of `count` keys, beside a writer, until `wanted` of them were direct.
 */
template <typename WORD> void beside_writes(size_t count, uint64_t wanted, unsigned pause_us)
{
    struct sherwood_cuda *cuda = attach_direct();
    struct arrays<WORD> a;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    std::atomic<bool> ends{false};
    open_arrays(&a, count);
    good(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    fill<WORD><<<16, 256>>>(a.keys, NULL, a.count, 90, 0, 0);
    good(cudaDeviceSynchronize(), "keys");
    good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "a capture");
    same("GET", sherwood_cuda_get(cuda, a.keys, a.count, a.answers, a.found, stream), 0);
    find_torn<WORD><<<1, 256, 0, stream>>>(a.answers, a.found, a.count, a.wrong);
    good(cudaStreamEndCapture(stream, &graph), "a capture");
    good(cudaGraphInstantiate(&executable, graph, 0), "a graph");
    std::thread writer([&] { write_on<WORD>(&ends, pause_us); });
    uint64_t replays = 0, by_server = 0;
    const double end = now_us() + 100e6;
    while (replays - by_server < wanted && now_us() < end) {
        for (int i = 0; i < 64; i++) {
            good(cudaGraphLaunch(executable, stream), "a replay");
        }
        good(cudaStreamSynchronize(stream), "replays");
        replays += 64;
        (void)sherwood_cuda_direct_calls(cuda, &by_server);
    }
    ends = true;
    writer.join();
    same("replays", sherwood_cuda_check(cuda, true), SHERWOOD_OK);
    printf("     %zu keys, pauses of %u us: %llu replays, %llu of them by the server, grown %llu "
           "times\n",
           count, pause_us, (unsigned long long)replays, (unsigned long long)by_server,
           (unsigned long long)figure("growths"));
    same("torn reads", (long long)*a.wrong, 0);
    expect(replays - by_server >= wanted, "direct reads", (long long)(replays - by_server),
           (long long)wanted);
    good(cudaGraphExecDestroy(executable), "a graph");
    good(cudaGraphDestroy(graph), "a graph");
    good(cudaStreamDestroy(stream), "a stream");
    sherwood_cuda_close(cuda);
    close_arrays(&a);
    ok("direct reads beside writes are whole");
}

/* Direct reads of calls that wait, beside a writer, for a checker: a launch takes milliseconds
 * under it, and a call in stream order might wait for a thread that the checker stops. */
template <typename WORD> void direct_calls_that_wait(const char *program, const char *bits)
{
    start_daemon(program, {"--key-bits", bits, "--capacity", "64K", "--direct-readers-max", "4"});
    struct sherwood_cuda *cuda = attach_direct();
    struct arrays<WORD> a;
    std::atomic<bool> ends{false};
    uint64_t by_server;
    for (const size_t count : {(size_t)1, (size_t)1024, (size_t)1025, (size_t)20000}) {
        answers<WORD>(cuda, count, 1);
    }
    open_arrays(&a, 4096);
    fill<WORD><<<16, 256>>>(a.keys, NULL, a.count, 90, 0, 0);
    good(cudaDeviceSynchronize(), "keys");
    std::thread writer([&] { write_on<WORD>(&ends, 20000); });
    for (int i = 0; i < 40; i++) {
        const size_t count = i % 2 == 0 ? 1024 : a.count; /* of one block, and of several */
        same("GET", sherwood_cuda_run(cuda, SHERWOOD_GET, a.keys, NULL, count, a.answers, a.found),
             0);
        find_torn<WORD><<<1, 256>>>(a.answers, a.found, count, a.wrong);
        good(cudaDeviceSynchronize(), "a comparison");
    }
    ends = true;
    writer.join();
    const uint64_t calls = sherwood_cuda_direct_calls(cuda, &by_server);
    printf("     %llu direct calls, the server answered %llu\n", (unsigned long long)calls,
           (unsigned long long)by_server);
    same("torn reads", (long long)*a.wrong, 0);
    expect(calls > by_server, "direct reads", (long long)(calls - by_server), 1);
    close_arrays(&a);
    sherwood_cuda_close(cuda);
    end_daemon();
    ok("direct reads of calls that wait");
}

/* The end of the server: calls fail, and nothing hangs. */
void server_dies(struct sherwood_cuda *cuda)
{
    struct arrays<uint64_t> a;
    uint64_t by_server;
    open_arrays(&a, 1000);
    fill<uint64_t><<<16, 256>>>(a.keys, NULL, a.count, 90, 0, 0);
    /* The server registers the arrays. Without it a call on new arrays fails when it is made. */
    same("GET", sherwood_cuda_get(cuda, a.keys, a.count, a.answers, a.found, NULL), 0);
    good(cudaDeviceSynchronize(), "a stream");
    kill(daemon_process, SIGKILL);
    waitpid(daemon_process, NULL, 0);
    daemon_process = 0;
    usleep(400000);
    same("GET", sherwood_cuda_get(cuda, a.keys, a.count, a.answers, a.found, NULL), 0);
    good(cudaDeviceSynchronize(), "a stream");
    expect(sherwood_cuda_check(cuda, true) != SHERWOOD_OK, "a call after the server's end", 0, 1);
    (void)sherwood_cuda_direct_calls(cuda, &by_server);
    expect(by_server > 0, "the kernels found no table", 0, 1);
    close_arrays(&a);
    unlink((folder + "/socket").c_str());
    rmdir(folder.c_str());
    ok("direct reads end with the server");
}

/* A graph of a kernel, a GET and a kernel; and larger calls. */
void direct_rates(const char *what, struct sherwood_cuda *cuda)
{
    struct arrays<uint64_t> a;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    open_arrays(&a, 1U << 24);
    good(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    fill<uint64_t><<<1024, 256>>>(a.keys, a.values, a.count, 60, 9, 0);
    good(cudaDeviceSynchronize(), "keys");
    same("SET", sherwood_cuda_run(cuda, SHERWOOD_SET, a.keys, a.values, a.count, NULL, NULL), 0);
    good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "a capture");
    fill<uint64_t><<<8, 256, 0, stream>>>(a.keys, NULL, 1024, 60, 0, 0);
    same("GET", sherwood_cuda_get(cuda, a.keys, 1024, a.answers, a.found, stream), 0);
    compare<uint64_t><<<8, 256, 0, stream>>>(a.answers, a.found, 1024, 9, 0, a.wrong);
    good(cudaStreamEndCapture(stream, &graph), "a capture");
    good(cudaGraphInstantiate(&executable, graph, 0), "a graph");
    const std::string name = what;
    show((name + ": graph of kernel, GET, kernel").c_str(), 1024, times(2000, [&](int) {
             good(cudaGraphLaunch(executable, stream), "a replay");
             good(cudaStreamSynchronize(stream), "a replay");
         }));
    show((name + ": 40 such graphs").c_str(), 40 * 1024, times(200, [&](int) {
             for (int i = 0; i < 40; i++) {
                 good(cudaGraphLaunch(executable, stream), "a replay");
             }
             good(cudaStreamSynchronize(stream), "replays");
         }));
    for (size_t count : {(size_t)1024, (size_t)1 << 20, a.count}) {
        show((name + ": GET in stream order").c_str(), count, times(1000, [&](int) {
                 same("GET", sherwood_cuda_get(cuda, a.keys, count, a.answers, a.found, stream), 0);
                 good(cudaStreamSynchronize(stream), "a call");
             }));
    }
    same("wrong answers", (long long)*a.wrong, 0);
    same("calls", sherwood_cuda_check(cuda, true), SHERWOOD_OK);
    good(cudaGraphExecDestroy(executable), "a graph");
    good(cudaGraphDestroy(graph), "a graph");
    good(cudaStreamDestroy(stream), "a stream");
    close_arrays(&a);
}

} // namespace

#endif
