/* SPDX-License-Identifier: MIT
 *
 * attach.cuh - for test_attach_gpu.cu: a daemon, who attaches to it, arrays of the device and
 * kernels that fill and compare them.
 */
#ifndef SHERWOOD_TESTS_GPU_ATTACH_CUH
#define SHERWOOD_TESTS_GPU_ATTACH_CUH

#include <algorithm>
#include <cuda_runtime.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

#include "client/sherwood-cuda.h"

namespace
{

unsigned passed;
const char *self;
std::string folder, address;
pid_t daemon_process;

[[noreturn]] void stop_all(int status)
{
    if (daemon_process > 0) {
        kill(daemon_process, SIGTERM);
        waitpid(daemon_process, NULL, 0);
    }
    exit(status);
}

void expect(bool holds, const char *what, long long got, long long wanted)
{
    if (!holds) {
        printf("not ok %s: %lld, not %lld (%s)\n%u passed, 1 failed\n", what, got, wanted,
               sherwood_cuda_error(), passed);
        fflush(stdout);
        stop_all(1);
    }
}

void same(const char *what, long long got, long long wanted)
{
    expect(got == wanted, what, got, wanted);
}

void good(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        printf("not ok %s: %s\n%u passed, 1 failed\n", what, cudaGetErrorString(error), passed);
        stop_all(1);
    }
}

void ok(const char *what)
{
    passed++;
    printf("ok %s\n", what);
    fflush(stdout);
}

double now_us()
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

/* --- a daemon, and who attaches to it --------------------------------------------------------- */

void start_daemon(const char *program, std::vector<std::string> options)
{
    char name[] = "/tmp/sherwood-attach-XXXXXX";
    expect(mkdtemp(name) != NULL, "a folder", errno, 0);
    folder = name;
    const std::string socket = folder + "/socket";
    address = "unix:" + socket;
    std::vector<std::string> words = {program,         "--bind", "",          "--http-bind", "",
                                      "--unix-socket", socket,   "--backend", "cuda"};
    words.insert(words.end(), options.begin(), options.end());
    daemon_process = fork();
    if (daemon_process == 0) {
        std::vector<char *> arguments;
        for (std::string &word : words) {
            arguments.push_back(&word[0]);
        }
        arguments.push_back(NULL);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        execv(program, arguments.data());
        _exit(127);
    }
}

void end_daemon()
{
    int status = 0;
    kill(daemon_process, SIGTERM);
    waitpid(daemon_process, &status, 0);
    daemon_process = 0;
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the daemon's end", status, 0);
    unlink((folder + "/socket").c_str());
    rmdir(folder.c_str());
}

/* The server's device, unless another one is named. */
struct sherwood_cuda *attach(int device = -1)
{
    struct sherwood_cuda *cuda = NULL;
    char text[512] = "";
    int status = SHERWOOD_E_CONNECTION;
    const double begin = now_us();
    while (status != SHERWOOD_OK && now_us() - begin < 30e6) { /* it may be starting */
        status = sherwood_cuda_attach_on(address.c_str(), NULL, device, &cuda, text, sizeof(text));
        if (status == SHERWOOD_E_REQUEST) {
            break;
        }
        usleep(status == SHERWOOD_OK ? 0 : 20000);
    }
    expect(status == SHERWOOD_OK, text, status, SHERWOOD_OK);
    good(cudaSetDevice(sherwood_cuda_device(cuda)), "the device");
    return cuda;
}

uint64_t figure(const char *wanted)
{
    struct sherwood *client;
    struct sherwood_stats stats;
    uint64_t found = UINT64_MAX;
    same("a connection", sherwood_connect(address.c_str(), NULL, &client), SHERWOOD_OK);
    same("figures", sherwood_stats(client, &stats, sizeof(stats)), SHERWOOD_OK);
    const char *name;
    uint64_t value;
    for (uint32_t i = 0; sherwood_figure(client, i, &name, &value); i++) {
        found = strcmp(name, wanted) == 0 ? value : found;
    }
    sherwood_close(client);
    return found;
}

/* --- kernels of the client -------------------------------------------------------------------- */

template <typename WORD> __device__ WORD key_of(uint64_t i, uint64_t salt)
{
    const uint64_t mixed = (i + 1 + (salt << 32)) * 0x9E3779B97F4A7C15ULL;
    return sizeof(WORD) == 4 ? (WORD)(i + (salt << 24)) * (WORD)2654435761U : (WORD)mixed;
}

/* Takes a while first, so that who does not wait for it is too early. */
template <typename WORD>
__global__ void fill(WORD *keys, WORD *values, size_t count, uint64_t salt, WORD value,
                     long long pause_ns)
{
    long long begin, time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    } while (time - begin < pause_ns);
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        keys[i] = key_of<WORD>(i, salt);
        if (values != NULL) {
            values[i] = (WORD)(i * 3) + value;
        }
    }
}

/* Counts answers that are not as they were filled; a key is there if i % every is not 0. */
template <typename WORD>
__global__ void compare(const WORD *values, const uint64_t *found, size_t count, WORD value,
                        uint32_t every, unsigned long long *wrong)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        const bool there = every == 0 || i % every != 0;
        const bool is_found = (found[i / 64] >> (i % 64) & 1) != 0;
        const WORD wanted = there ? (WORD)(i * 3) + value : 0;
        if (is_found != there || values[i] != wanted) {
            atomicAdd(wrong, 1ULL);
        }
    }
}

/* Counts found bytes that are not as the keys are there: `compare` of bits. */
static __global__ void compare_bytes(const uint8_t *found, size_t count, uint32_t every,
                                     unsigned long long *wrong)
{
    const size_t padded = (count + 7) / 8 * 8;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < padded;
         i += (size_t)gridDim.x * blockDim.x) {
        const bool there = i < count && (every == 0 || i % every != 0);
        if (found[i] != there) {
            atomicAdd(wrong, 1ULL);
        }
    }
}

/* Every so manieth key, side by side. */
template <typename WORD>
__global__ void choose(const WORD *keys, WORD *chosen, size_t count, uint32_t every)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i * every < count;
         i += (size_t)gridDim.x * blockDim.x) {
        chosen[i] = keys[i * every];
    }
}

template <typename WORD> struct arrays {
    size_t count;
    char *allocation;
    WORD *keys, *values, *answers, *chosen;
    uint64_t *found;
    unsigned long long *wrong;
};

/* Memory that the server maps, and memory that it cannot map, so that calls copy it. */
enum memory { ORDINARY, OF_A_POOL, MANAGED };

void allocate(void *allocation, size_t bytes, enum memory memory)
{
    void **made = (void **)allocation;
    good(memory == ORDINARY    ? cudaMalloc(made, bytes)
         : memory == OF_A_POOL ? cudaMallocAsync(made, bytes, 0)
                               : cudaMallocManaged(made, bytes),
         "memory");
    good(cudaDeviceSynchronize(), "memory");
}

/* Parts of one allocation, as a caching allocator gives them; its size is a multiple of 2 MiB, and
 * `more` bytes. */
template <typename WORD>
void open_arrays(struct arrays<WORD> *a, size_t count, size_t more = 0,
                 enum memory memory = ORDINARY)
{
    const size_t bytes = (count * sizeof(WORD) + 511) / 512 * 512, page = (size_t)2 << 20;
    a->count = count;
    allocate(&a->allocation, (5 * bytes + 4096 + page - 1) / page * page + more, memory);
    a->keys = (WORD *)(a->allocation + 512);
    a->values = (WORD *)((char *)a->keys + bytes);
    a->answers = (WORD *)((char *)a->values + bytes);
    a->chosen = (WORD *)((char *)a->answers + bytes);
    a->found = (uint64_t *)((char *)a->chosen + bytes);
    good(cudaMallocManaged(&a->wrong, sizeof(*a->wrong)), "a counter");
    *a->wrong = 0;
}

/* GET with found bytes, to `chosen`. */
template <typename WORD>
int get_bytes(struct sherwood_cuda *cuda, struct arrays<WORD> *a, bool in_order,
              cudaStream_t stream)
{
    struct sherwood_cuda_call call = {};
    call.size = sizeof(call);
    call.operation = SHERWOOD_GET;
    call.flags = SHERWOOD_FOUND_BYTES;
    call.keys = a->keys;
    call.count = a->count;
    call.previous = a->answers;
    call.found = a->chosen;
    call.when = in_order ? SHERWOOD_CUDA_IN_ORDER : SHERWOOD_CUDA_NOW;
    call.stream = stream;
    return sherwood_cuda_call(cuda, &call);
}

template <typename WORD> void close_arrays(struct arrays<WORD> *a)
{
    good(cudaFree(a->allocation), "memory");
    good(cudaFree(a->wrong), "a counter");
}

template <typename WORD>
void answers(struct sherwood_cuda *cuda, size_t count, uint64_t salt, enum memory memory = ORDINARY)
{
    struct arrays<WORD> a;
    open_arrays(&a, count, 0, memory);
    fill<WORD><<<64, 256>>>(a.keys, a.values, count, salt, 5, 0);
    good(cudaDeviceSynchronize(), "filling");
    same("SET", sherwood_cuda_run(cuda, SHERWOOD_SET, a.keys, a.values, count, NULL, NULL), 0);
    same("GET", sherwood_cuda_run(cuda, SHERWOOD_GET, a.keys, NULL, count, a.answers, a.found), 0);
    compare<WORD><<<64, 256>>>(a.answers, a.found, count, 5, 0, a.wrong);
    good(cudaDeviceSynchronize(), "comparing");
    same("values of GET", (long long)*a.wrong, 0);
    choose<WORD><<<64, 256>>>(a.keys, a.chosen, count, 3);
    good(cudaDeviceSynchronize(), "choosing");
    same("DELETE",
         sherwood_cuda_run(cuda, SHERWOOD_DELETE, a.chosen, NULL, (count + 2) / 3, NULL, NULL), 0);
    same("GET", sherwood_cuda_run(cuda, SHERWOOD_GET, a.keys, NULL, count, a.answers, a.found), 0);
    compare<WORD><<<64, 256>>>(a.answers, a.found, count, 5, 3, a.wrong);
    good(cudaDeviceSynchronize(), "comparing");
    same("values after DELETE", (long long)*a.wrong, 0);
    /* `chosen` has room for a byte of each key */
    same("GET with found bytes", get_bytes(cuda, &a, false, NULL), 0);
    compare_bytes<<<64, 256>>>((uint8_t *)a.chosen, count, 3, a.wrong);
    good(cudaDeviceSynchronize(), "comparing");
    same("found bytes", (long long)*a.wrong, 0);
    close_arrays(&a);
}

} // namespace

#endif
