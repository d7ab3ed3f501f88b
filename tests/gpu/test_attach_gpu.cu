/* SPDX-License-Identifier: MIT
 *
 * test_attach_gpu.cu - libsherwood-cuda against a daemon on the same GPU: answers, order on
 * streams, what is refused, clients that die; with --rates what it costs.
 *
 *   test_attach_gpu SHERWOODD [--rates]
 *
 * A line per case, and a last line "N passed, N failed"; the exit status is 1 if any failed.
 */
#include "tests/gpu/attach_rates.cuh"

namespace
{

/* --- answers ---------------------------------------------------------------------------------- */

template <typename WORD> void answers(struct sherwood_cuda *cuda, size_t count, uint64_t salt)
{
    struct arrays<WORD> a;
    open_arrays(&a, count);
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
    close_arrays(&a);
}

/* Several threads with a stream each; keys are made by a kernel before each call, and arrays are
 * used again by the kernel after it. */
template <typename WORD>
void in_order(struct sherwood_cuda *cuda, uint64_t salt, size_t count, int rounds)
{
    struct arrays<WORD> a;
    cudaStream_t stream;
    good(cudaSetDevice(sherwood_cuda_device(cuda)), "the device");
    open_arrays(&a, count);
    good(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    for (int r = 0; r < rounds; r++) {
        const WORD value = (WORD)(r * 1000 + 1);
        fill<WORD><<<16, 256, 0, stream>>>(a.keys, a.values, count, salt, value,
                                           r % 4 == 0 ? 1000000 : 0);
        same("SET", sherwood_cuda_set(cuda, a.keys, a.values, count, stream), 0);
        fill<WORD><<<16, 256, 0, stream>>>(a.keys, a.values, count, 99, 0, 0); /* of other keys */
        fill<WORD><<<16, 256, 0, stream>>>(a.keys, NULL, count, salt, 0, 0);
        good(cudaMemsetAsync(a.found, 0x55, (count + 63) / 64 * 8, stream), "found");
        same("GET", sherwood_cuda_get(cuda, a.keys, count, a.answers, a.found, stream), 0);
        compare<WORD><<<16, 256, 0, stream>>>(a.answers, a.found, count, value, 0, a.wrong);
        good(cudaMemsetAsync(a.answers, 0, count * sizeof(WORD), stream), "answers");
    }
    good(cudaStreamSynchronize(stream), "a stream");
    same("answers in the order of a stream", (long long)*a.wrong, 0);
    good(cudaStreamDestroy(stream), "a stream");
    close_arrays(&a);
}

template <typename WORD> void streams(struct sherwood_cuda *cuda)
{
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back(
            [=] { in_order<WORD>(cuda, 10 + (uint64_t)t, t == 0 ? 256 : 20000, 40); });
    }
    threads.emplace_back([=] {
        good(cudaSetDevice(sherwood_cuda_device(cuda)), "the device");
        for (int i = 0; i < 20; i++) { /* calls that wait, beside them */
            answers<WORD>(cuda, 3000, 20);
        }
    });
    for (std::thread &thread : threads) {
        thread.join();
    }
    same("calls in stream order", sherwood_cuda_check(cuda, true), SHERWOOD_OK);
    ok("calls of four streams are in their order, beside calls that wait");
}

/* Memory that is freed, and comes again at the same address. */
template <typename WORD> void allocations_that_change(struct sherwood_cuda *cuda)
{
    void *before = NULL;
    int again = 0;
    for (int i = 0; i < 60; i++) {
        void *memory;
        good(cudaMalloc(&memory, (size_t)(3 + i % 3) << 20), "memory");
        again += memory == before;
        before = memory;
        WORD *keys = (WORD *)memory, *values = keys + 70000, *back = values + 70000;
        uint64_t *found = (uint64_t *)(back + 70000);
        fill<WORD><<<64, 256>>>(keys, values, 70000, 30, (WORD)i, 0);
        good(cudaDeviceSynchronize(), "filling");
        same("SET", sherwood_cuda_run(cuda, SHERWOOD_SET, keys, values, 70000, NULL, NULL), 0);
        same("GET", sherwood_cuda_run(cuda, SHERWOOD_GET, keys, NULL, 70000, back, found), 0);
        std::vector<WORD> host(70000);
        good(cudaMemcpy(host.data(), back, 70000 * sizeof(WORD), cudaMemcpyDefault), "answers");
        for (size_t k = 0; k < host.size(); k++) {
            same("a value", (long long)host[k], (long long)((WORD)(k * 3) + (WORD)i));
        }
        if (i % 2 == 0) {
            same("unregister", sherwood_cuda_unregister(cuda, memory), SHERWOOD_OK);
        }
        good(cudaFree(memory), "memory");
    }
    printf("     the same address %d times\n", again);
    ok("memory that is freed and allocated again");
}

void refused(const char *what, int status)
{
    same(what, status, SHERWOOD_E_INVALID);
    printf("     %s: %s\n", what, sherwood_cuda_error());
}

template <typename WORD> void refusals(struct sherwood_cuda *cuda)
{
    struct arrays<WORD> a;
    WORD host[64] = {0};
    void *other;
    cudaStream_t stream;
    open_arrays(&a, 1000);
    refused("host memory",
            sherwood_cuda_run(cuda, SHERWOOD_GET, host, NULL, 64, a.answers, a.found));
    refused("keys that are not aligned", sherwood_cuda_run(cuda, SHERWOOD_GET, (char *)a.keys + 1,
                                                           NULL, 64, a.answers, a.found));
    refused("more keys than there are",
            sherwood_cuda_run(cuda, SHERWOOD_GET, a.keys, NULL, 1U << 28, a.answers, a.found));
    refused("no values", sherwood_cuda_run(cuda, SHERWOOD_SET, a.keys, NULL, 64, NULL, NULL));
    good(cudaMallocManaged(&other, 4 << 20), "managed memory");
    refused("managed memory",
            sherwood_cuda_run(cuda, SHERWOOD_GET, other, NULL, 64, a.answers, a.found));
    good(cudaFree(other), "managed memory");
    good(cudaMallocAsync(&other, 4 << 20, 0), "memory of a pool");
    good(cudaDeviceSynchronize(), "memory of a pool");
    refused("memory of a pool",
            sherwood_cuda_run(cuda, SHERWOOD_GET, other, NULL, 64, a.answers, a.found));
    good(cudaFreeAsync(other, 0), "memory of a pool");
    good(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "a capture");
    refused("a stream that is captured",
            sherwood_cuda_get(cuda, a.keys, 64, a.answers, a.found, stream));
    cudaGraph_t graph;
    good(cudaStreamEndCapture(stream, &graph), "a capture");
    good(cudaGraphDestroy(graph), "a capture");
    good(cudaStreamDestroy(stream), "a stream");
    close_arrays(&a);
    ok("what is refused");
}

/* A client that sends invalid handles, or a size above the real one, gets an error text. */
void lies()
{
    struct sherwood *client;
    uint8_t uuid[16];
    void *memory;
    cudaIpcMemHandle_t handle;
    same("a connection", sherwood_connect(address.c_str(), NULL, &client), SHERWOOD_OK);
    same("a device", sherwood_region_device(client, uuid), SHERWOOD_OK);
    good(cudaMalloc(&memory, 4 << 20), "memory");
    good(cudaIpcGetMemHandle(&handle, memory), "a handle");
    srand(7);
    for (int i = 0; i < 200; i++) {
        struct sherwood_region *region;
        struct sherwood_memory lie = {};
        lie.size = sizeof(lie);
        lie.kind = SHERWOOD_MEMORY_CUDA_IPC;
        lie.address = memory;
        lie.bytes = 4 << 20;
        memcpy(lie.device_uuid, uuid, sizeof(uuid));
        memcpy(lie.handle, &handle, sizeof(handle));
        switch (i % 4) {
        case 0:
            lie.offset = 4096;
            break;
        case 1:
            lie.bytes = (size_t)1 << 33;
            break;
        case 2:
            lie.device_uuid[i % 16] ^= 1;
            break;
        default:
            for (size_t b = 0; b < sizeof(lie.handle); b++) {
                lie.handle[b] = (uint8_t)rand();
            }
        }
        same("a lie", sherwood_region_register(client, &lie, &region), SHERWOOD_E_REQUEST);
        if (i < 4) {
            printf("     %s\n", sherwood_error(client));
        }
    }
    same("a ping", sherwood_ping(client), SHERWOOD_OK);
    sherwood_close(client);
    good(cudaFree(memory), "memory");
    ok("errors for memory that does not exist");
}

/* --- other processes -------------------------------------------------------------------------- */

/* Looks keys up for `milliseconds`, or until it is killed. Prints the number of batches. */
int be_client(const char *where, const char *way, int milliseconds)
{
    address = where;
    struct sherwood_cuda *cuda = attach();
    struct arrays<uint32_t> a;
    const size_t count = 1U << 20;
    cudaStream_t stream;
    open_arrays(&a, count);
    good(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    fill<uint32_t><<<64, 256>>>(a.keys, a.values, count, 40, 1, 0);
    good(cudaDeviceSynchronize(), "filling");
    unsigned long batches = 0;
    same("GET", sherwood_cuda_run(cuda, SHERWOOD_GET, a.keys, NULL, count, a.answers, a.found), 0);
    printf("ready\n");
    fflush(stdout);
    char go;
    if (read(0, &go, 1) != 1) {
        return 1;
    }
    const double end = now_us() + milliseconds * 1e3;
    while (milliseconds < 0 || now_us() < end) {
        if (strcmp(way, "ordered") == 0) {
            same("SET", sherwood_cuda_set(cuda, a.keys, a.values, count, stream), 0);
            same("GET", sherwood_cuda_get(cuda, a.keys, count, a.answers, a.found, stream), 0);
        } else {
            enum sherwood_operation operation =
                strcmp(way, "set") == 0 ? SHERWOOD_SET : SHERWOOD_GET;
            same("a call",
                 sherwood_cuda_run(cuda, operation, a.keys, a.values, count, NULL, a.found), 0);
        }
        batches++;
    }
    (void)!sherwood_cuda_check(cuda, true);
    printf("%lu\n", batches);
    fflush(stdout);
    sherwood_cuda_close(cuda);
    return 0;
}

struct child {
    pid_t process;
    int to;
    FILE *from;
};

struct child start_client(const char *way, int milliseconds)
{
    struct child child;
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) {
        stop_all(1);
    }
    char time[16];
    snprintf(time, sizeof(time), "%d", milliseconds);
    child.process = fork();
    if (child.process == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[1]);
        close(from[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/proc/self/exe", self, "--client", address.c_str(), way, time, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    child.to = to[1];
    child.from = fdopen(from[0], "r");
    return child;
}

void wait_ready(struct child *child)
{
    char line[256] = "";
    expect(fgets(line, sizeof(line), child->from) != NULL && strcmp(line, "ready\n") == 0, line, 0,
           1);
}

void go(struct child *child)
{
    same("a start", write(child->to, "g", 1), 1);
}

unsigned long end_client(struct child *child)
{
    char line[256] = "0";
    (void)!fgets(line, sizeof(line), child->from);
    close(child->to);
    fclose(child->from);
    waitpid(child->process, NULL, 0);
    return strtoul(line, NULL, 10);
}

void clients_that_die(struct sherwood_cuda *cuda)
{
    static const char *const ways[] = {"get", "set", "ordered", "set", "ordered", "get"};
    for (const char *way : ways) {
        struct child child = start_client(way, -1);
        wait_ready(&child);
        go(&child);
        usleep(30000 + rand() % 60000);
        kill(child.process, SIGKILL);
        end_client(&child);
        answers<uint32_t>(cuda, 5000, 50);
    }
    const double begin = now_us();
    while (figure("rings") > 2 && now_us() - begin < 10e6) {
        usleep(10000);
    }
    expect(figure("rings") <= 2, "rings of the dead", (long long)figure("rings"), 2);
    ok("clients that are killed");
}

void fairness(const char *way, int milliseconds)
{
    struct child children[4];
    unsigned long batches[4], all = 0;
    for (struct child &child : children) {
        child = start_client(way, milliseconds);
    }
    for (struct child &child : children) {
        wait_ready(&child);
    }
    for (struct child &child : children) {
        go(&child);
    }
    for (int c = 0; c < 4; c++) {
        batches[c] = end_client(&children[c]);
        all += batches[c];
    }
    printf("     four clients, %s of 2^20: %lu %lu %lu %lu, together %.1f G keys/s\n", way,
           batches[0], batches[1], batches[2], batches[3],
           (double)all * (1U << 20) / milliseconds / 1e6);
    for (unsigned long b : batches) {
        expect(b * 4 > all * 8 / 10 && b * 4 < all * 12 / 10, "a fair share", (long long)(b * 4),
               (long long)all);
    }
    ok("four clients share fairly");
}

template <typename WORD> void all_cases(const char *program, const char *bits)
{
    start_daemon(program, {"--key-bits", bits, "--capacity", "16M"});
    struct sherwood_cuda *cuda = attach();
    good(cudaSetDevice(sherwood_cuda_device(cuda)), "the device");
    for (size_t count : {(size_t)1, (size_t)63, (size_t)256, (size_t)5000, (size_t)100000,
                         (size_t)(1U << 20), (size_t)3000000}) {
        answers<WORD>(cuda, count, 1);
    }
    ok("answers in device memory");
    allocations_that_change<WORD>(cuda);
    refusals<WORD>(cuda);
    lies();
    streams<WORD>(cuda);
    if (sizeof(WORD) == 4) {
        clients_that_die(cuda);
    }
    sherwood_cuda_close(cuda);
    end_daemon();
    printf("     keys of %s bits\n", bits);
}

} // namespace

int main(int argc, char **argv)
{
    self = argv[0];
    if (argc == 5 && strcmp(argv[1], "--client") == 0) {
        return be_client(argv[2], argv[3], atoi(argv[4]));
    }
    if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[2], "--rates") != 0)) {
        fprintf(stderr, "usage: test_attach_gpu SHERWOODD [--rates]\n");
        return 2;
    }
    if (argc == 3) {
        start_daemon(argv[1], {"--key-bits", "32", "--capacity", "128M"});
        struct sherwood_cuda *cuda = attach();
        good(cudaSetDevice(sherwood_cuda_device(cuda)), "the device");
        rates(cuda);
        sherwood_cuda_close(cuda);
        fairness("get", 1500);
        fairness("set", 1500);
        end_daemon();
    } else {
        all_cases<uint32_t>(argv[1], "32");
        all_cases<uint64_t>(argv[1], "64");
    }
    printf("%u passed, 0 failed\n", passed);
    return 0;
}
