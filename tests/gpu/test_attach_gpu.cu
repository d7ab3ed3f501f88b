/* SPDX-License-Identifier: MIT
 *
 * test_attach_gpu.cu - libsherwood-cuda against a daemon on the same GPU, and on another GPU of the
 * host if there is one: answers, order on streams, what is refused, clients that die; with --rates
 * what it costs.
 *
 *   test_attach_gpu SHERWOODD [--rates]
 *   test_attach_gpu SHERWOODD --peer [--rates]   only from the other GPU
 *   test_attach_gpu SHERWOODD --direct [--rates] only direct reads
 *   test_attach_gpu SHERWOODD --direct --few     some that wait, for compute-sanitizer with
 *                                                --target-processes application-only
 *
 * A line per case, and a last line "N passed, N failed"; the exit status is 1 if any failed.
 */
#include "tests/gpu/attach_clients.cuh"
#include "tests/gpu/attach_details.cuh"
#include "tests/gpu/attach_direct.cuh"
#include "tests/gpu/attach_peers.cuh"

namespace
{

/* --- answers ---------------------------------------------------------------------------------- */

/* Several threads with a stream each; keys are made by a kernel before each call, and arrays are
 * used again by the kernel after it. */
template <typename WORD>
void in_order(struct sherwood_cuda *cuda, uint64_t salt, size_t count, int rounds,
              enum memory memory = ORDINARY)
{
    struct arrays<WORD> a;
    cudaStream_t stream;
    good(cudaSetDevice(sherwood_cuda_device(cuda)), "the device");
    open_arrays(&a, count, 0, memory);
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

/* Memory that the server cannot map: one piece, several pieces, and more streams than stages. */
template <typename WORD> void copied(struct sherwood_cuda *cuda)
{
    const uint64_t before = sherwood_cuda_staged_bytes(cuda);
    std::vector<std::thread> threads;
    same("a stage", sherwood_cuda_stage(cuda, 4U << 20), SHERWOOD_OK);
    for (enum memory memory : {OF_A_POOL, MANAGED}) {
        for (size_t count : {(size_t)1, (size_t)1000, (size_t)1500000}) {
            answers<WORD>(cuda, count, 70, memory);
        }
    }
    for (uint64_t t = 0; t < SHERWOOD_CUDA_STAGES_MAX + 2; t++) {
        threads.emplace_back([=] {
            in_order<WORD>(cuda, 80 + t, t == 0 ? 1500000 : 20000, 6,
                           t % 3 == 2 ? ORDINARY : OF_A_POOL);
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    same("calls in stream order", sherwood_cuda_check(cuda, true), SHERWOOD_OK);
    expect(sherwood_cuda_staged_bytes(cuda) > before, "bytes copied", 0, 1);
    ok("memory that the server cannot map is copied");
}

/* A graph of kernels and calls between them, replayed. */
template <typename WORD> void captured(struct sherwood_cuda *cuda)
{
    for (enum memory memory : {ORDINARY, OF_A_POOL}) {
        struct arrays<WORD> a;
        cudaStream_t stream;
        cudaGraph_t graph;
        cudaGraphExec_t executable;
        open_arrays(&a, 20000, 0, memory);
        good(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
        good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "a capture");
        fill<WORD><<<16, 256, 0, stream>>>(a.keys, a.values, a.count, 60, 9, 100000);
        same("SET", sherwood_cuda_set(cuda, a.keys, a.values, a.count, stream), 0);
        fill<WORD><<<16, 256, 0, stream>>>(a.keys, a.values, a.count, 99, 0, 0); /* other keys */
        fill<WORD><<<16, 256, 0, stream>>>(a.keys, NULL, a.count, 60, 0, 0);
        same("GET", sherwood_cuda_get(cuda, a.keys, a.count, a.answers, a.found, stream), 0);
        compare<WORD><<<16, 256, 0, stream>>>(a.answers, a.found, a.count, 9, 0, a.wrong);
        good(cudaMemsetAsync(a.answers, 0, a.count * sizeof(WORD), stream), "answers");
        same("DELETE", sherwood_cuda_delete(cuda, a.keys, a.count, a.found, stream), 0);
        good(cudaStreamEndCapture(stream, &graph), "a capture");
        good(cudaGraphInstantiate(&executable, graph, 0), "a graph");
        for (int i = 0; i < 50; i++) {
            good(cudaGraphLaunch(executable, stream), "a replay");
        }
        good(cudaStreamSynchronize(stream), "a stream");
        same("answers in replays", (long long)*a.wrong, 0);
        same("replays", sherwood_cuda_check(cuda, true), SHERWOOD_OK);
        good(cudaGraphExecDestroy(executable), "a graph");
        good(cudaGraphDestroy(graph), "a graph");
        good(cudaStreamDestroy(stream), "a stream");
        close_arrays(&a);
    }
    ok("calls in graphs");
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
    open_arrays(&a, 1000);
    refused("host memory",
            sherwood_cuda_run(cuda, SHERWOOD_GET, host, NULL, 64, a.answers, a.found));
    refused("keys that are not aligned", sherwood_cuda_run(cuda, SHERWOOD_GET, (char *)a.keys + 1,
                                                           NULL, 64, a.answers, a.found));
    refused("more keys than there are",
            sherwood_cuda_run(cuda, SHERWOOD_GET, a.keys, NULL, 1U << 28, a.answers, a.found));
    refused("no values", sherwood_cuda_run(cuda, SHERWOOD_SET, a.keys, NULL, 64, NULL, NULL));
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
        const int status = sherwood_region_register(client, &lie, &region);
        if (i % 4 == 2) { /* the daemon does not see such a device: the driver opens the handle */
            same("an unknown device", status, SHERWOOD_OK);
            same("its end", sherwood_region_destroy(region), SHERWOOD_OK);
            continue;
        }
        same("a lie", status, SHERWOOD_E_REQUEST);
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

/* On the server's device, or on another one. */
template <typename WORD> void all_cases(const char *program, const char *bits, int device)
{
    start_daemon(program, {"--key-bits", bits, "--capacity", "16M"});
    struct sherwood_cuda *cuda = attach(device);
    for (size_t count : {(size_t)1, (size_t)63, (size_t)256, (size_t)5000, (size_t)100000,
                         (size_t)(1U << 20), (size_t)3000000}) {
        answers<WORD>(cuda, count, 1);
    }
    ok("answers in device memory");
    allocations_that_change<WORD>(cuda);
    refusals<WORD>(cuda);
    streams<WORD>(cuda);
    copied<WORD>(cuda);
    captured<WORD>(cuda);
    if (device < 0) {
        lies();
    } else {
        memory_of_another_device<WORD>(cuda);
    }
    if (sizeof(WORD) == 4) {
        clients_that_die(cuda, device < 0 ? 1 : 4);
    } else {
        random_operations(cuda, 10000000);
    }
    sherwood_cuda_close(cuda);
    end_daemon();
    printf("     keys of %s bits, device %d\n", bits, device);
}

/* A daemon that sees GPU 0 alone, and clients that see both or GPU 1 alone. Whether such a daemon
 * can open the memory is the driver's decision: it must succeed or be an error text. */
void one_visible_gpu_each(const char *program)
{
    if (getenv("CUDA_VISIBLE_DEVICES") != NULL) {
        return; /* the numbers of GPUs are not those of the host */
    }
    setenv("CUDA_VISIBLE_DEVICES", "0", 1); /* of children: this process has its GPUs */
    start_daemon(program, {"--key-bits", "32", "--capacity", "1M"});
    struct sherwood_cuda *own = attach(0), *peer = NULL;
    char text[512] = "";
    int status = sherwood_cuda_attach_on(address.c_str(), NULL, 1, &peer, text, sizeof(text));
    printf("     a daemon that sees one GPU: %d %s\n", status, text);
    if (status == SHERWOOD_OK) {
        good(cudaSetDevice(1), "the device");
        answers<uint32_t>(peer, 100000, 1);
    }
    sherwood_cuda_close(peer);
    setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    if (status == SHERWOOD_OK) {
        struct child child = start_client("get", 100);
        wait_ready(&child);
        go(&child);
        printf("     a client that sees another one GPU: %lu batches\n", end_client(&child));
    }
    good(cudaSetDevice(0), "the device");
    answers<uint32_t>(own, 1000, 2);
    sherwood_cuda_close(own);
    end_daemon();
    unsetenv("CUDA_VISIBLE_DEVICES");
    ok("processes that see one GPU each");
}

void of_peer(const char *program, bool rates)
{
    int devices = 0;
    good(cudaGetDeviceCount(&devices), "devices");
    if (devices < 2) {
        printf("     one GPU: nothing attaches from another one\n");
        return;
    }
    if (rates) {
        start_daemon(program, {"--key-bits", "64", "--capacity", "64M"});
        peer_rates();
        end_daemon();
        return;
    }
    all_cases<uint32_t>(program, "32", 1);
    all_cases<uint64_t>(program, "64", 1);
    one_visible_gpu_each(program);
}

/* Direct reads answer as the server does, and beside writes. */
template <typename WORD> void direct_cases(const char *program, const char *bits)
{
    start_daemon(program, {"--key-bits", bits, "--capacity", "1M", "--max-capacity", "64M",
                           "--direct-readers-max", "4"});
    struct sherwood_cuda *cuda = attach_direct();
    uint64_t by_server;
    streams<WORD>(cuda);
    copied<WORD>(cuda);
    captured<WORD>(cuda);
    const uint64_t calls = sherwood_cuda_direct_calls(cuda, &by_server);
    printf("     %llu direct calls, the server answered %llu\n", (unsigned long long)calls,
           (unsigned long long)by_server);
    for (const size_t count : {(size_t)1024, (size_t)4096}) { /* of one block, and of several */
        beside_writes<WORD>(count, 500000, 10000);
        beside_writes<WORD>(count, sizeof(WORD) == 8 ? 2000 : 0, 0);
    }
    if (sizeof(WORD) == 8) {
        server_dies(cuda);
        sherwood_cuda_close(cuda);
    } else {
        sherwood_cuda_close(cuda);
        end_daemon();
    }
    printf("     direct reads, keys of %s bits\n", bits);
}

void direct_reads(const char *program, bool rates, bool few)
{
    if (few) {
        direct_calls_that_wait<uint32_t>(program, "32");
        direct_calls_that_wait<uint64_t>(program, "64");
        return;
    }
    if (!rates) {
        direct_cases<uint32_t>(program, "32");
        direct_cases<uint64_t>(program, "64");
        return;
    }
    start_daemon(program, {"--key-bits", "64", "--capacity", "64M", "--direct-readers-max", "4"});
    struct sherwood_cuda *cuda = attach();
    direct_rates("by the server", cuda);
    sherwood_cuda_close(cuda);
    cuda = attach_direct();
    direct_rates("direct", cuda);
    sherwood_cuda_close(cuda);
    end_daemon();
}

} // namespace

int main(int argc, char **argv)
{
    self = argv[0];
    if (argc == 6 && strcmp(argv[1], "--client") == 0) {
        return be_client(argv[2], argv[3], atoi(argv[4]), atoi(argv[5]));
    }
    const bool peer = argc > 2 && strcmp(argv[2], "--peer") == 0;
    const bool direct = argc > 2 && strcmp(argv[2], "--direct") == 0;
    const bool part = peer || direct;
    const bool wants_rates = argc == (part ? 4 : 3) && strcmp(argv[argc - 1], "--rates") == 0;
    const bool few = argc == 4 && direct && strcmp(argv[3], "--few") == 0;
    if (argc != 2 + part + wants_rates + few) {
        fprintf(stderr, "usage: test_attach_gpu SHERWOODD [--peer | --direct] [--rates]\n"
                        "       test_attach_gpu SHERWOODD --direct --few\n");
        return 2;
    }
    if (peer) {
        of_peer(argv[1], wants_rates);
    } else if (direct) {
        direct_reads(argv[1], wants_rates, few);
    } else if (wants_rates) {
        start_daemon(argv[1], {"--key-bits", "32", "--capacity", "128M"});
        struct sherwood_cuda *cuda = attach();
        rates(cuda);
        sherwood_cuda_close(cuda);
        fairness("get", 1500);
        fairness("set", 1500);
        end_daemon();
    } else {
        all_cases<uint32_t>(argv[1], "32", -1);
        all_cases<uint64_t>(argv[1], "64", -1);
        details(argv[1]);
        reads_of_tables(argv[1]);
        direct_reads(argv[1], false, false);
        of_peer(argv[1], false);
    }
    printf("%u passed, 0 failed\n", passed);
    return 0;
}
