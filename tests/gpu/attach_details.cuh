/* SPDX-License-Identifier: MIT
 *
 * attach_details.cuh - for test_attach_gpu.cu: calls whose arrays the server copies, because a log
 * follows or because others than the table use them: pairs, bits, expiry times. And reads of two
 * tables that go together.
 */
#ifndef SHERWOOD_TESTS_GPU_ATTACH_DETAILS_CUH
#define SHERWOOD_TESTS_GPU_ATTACH_DETAILS_CUH

#include <sys/socket.h>
#include <sys/un.h>

#include "tests/gpu/attach.cuh"

namespace
{

/* Arrays of u64 in device memory, and what the host puts there or finds there. */
struct detail_arrays {
    uint64_t *keys, *values, *previous, *found, *times;
    std::vector<uint64_t> host;
};

void put(uint64_t *to, const std::vector<uint64_t> &from)
{
    good(cudaMemcpy(to, from.data(), from.size() * 8, cudaMemcpyDefault), "putting");
    /* a copy from pageable memory may return before its last part has arrived */
    good(cudaDeviceSynchronize(), "the copy");
}

/* Runs an operation, in order or not, and compares the earlier values and the found bits. */
template <typename VALUE, typename BIT>
void detail(struct sherwood_cuda *cuda, struct detail_arrays *a, enum sherwood_operation operation,
            const struct sherwood_times *times, size_t count, bool in_order, VALUE value, BIT bit)
{
    struct sherwood_cuda_call call = {};
    call.size = sizeof(call);
    call.operation = operation;
    call.keys = a->keys;
    call.values = a->values;
    call.count = count;
    call.previous = a->previous;
    call.found = a->found;
    call.when = in_order ? SHERWOOD_CUDA_IN_ORDER : SHERWOOD_CUDA_NOW;
    call.times = times;
    same("a call", sherwood_cuda_call(cuda, &call), SHERWOOD_OK);
    good(cudaDeviceSynchronize(), "the stream");
    same("a check", sherwood_cuda_check(cuda, true), SHERWOOD_OK);
    a->host.resize(count);
    good(cudaMemcpy(a->host.data(), a->previous, count * 8, cudaMemcpyDefault), "earlier values");
    for (size_t i = 0; i < count; i++) {
        same("an earlier value", (long long)a->host[i], (long long)value(i));
    }
    a->host.resize((count + 63) / 64);
    good(cudaMemcpy(a->host.data(), a->found, a->host.size() * 8, cudaMemcpyDefault), "bits");
    for (size_t i = 0; i < count; i++) {
        same("a bit", (long long)(a->host[i / 64] >> i % 64 & 1), bit(i));
    }
}

void details_of(struct sherwood_cuda *cuda, size_t count, bool in_order, enum memory memory)
{
    const uint64_t base = UINT64_C(1) << 42;
    struct detail_arrays a;
    char *allocation;
    allocate(&allocation, (size_t)64 << 20, memory);
    uint64_t **parts[] = {&a.keys, &a.values, &a.previous, &a.found, &a.times};
    for (int i = 0; i < 5; i++) {
        *parts[i] = (uint64_t *)(allocation + ((size_t)i * 12 << 20));
    }
    std::vector<uint64_t> numbers(count), pairs(2 * count);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = i;
        pairs[2 * i] = 2 * i + i % 2; /* every other one is the value */
        pairs[2 * i + 1] = i;
    }
    const auto all = [](size_t) { return 1; };
    put(a.keys, numbers);
    same("DELETE", sherwood_cuda_run(cuda, SHERWOOD_DELETE, a.keys, NULL, count, NULL, NULL), 0);
    put(a.values, numbers);
    detail(
        cuda, &a, SHERWOOD_SUM, NULL, count, in_order, [](size_t) { return 0; },
        [](size_t) { return 0; });
    detail(
        cuda, &a, SHERWOOD_SUM, NULL, count, in_order, [](size_t i) { return i; }, all);
    put(a.values, pairs);
    detail(
        cuda, &a, SHERWOOD_CAS, NULL, count, in_order, [](size_t i) { return 2 * i; },
        [](size_t i) { return i % 2 == 0; });
    put(a.values, std::vector<uint64_t>(count, 1));
    const auto value = [](size_t i) { return i % 2 == 0 ? i : 2 * i; };
    detail(cuda, &a, SHERWOOD_XOR, NULL, count, in_order, value, all);
    struct sherwood_times times = {};
    times.size = sizeof(times);
    for (size_t i = 0; i < count; i++) {
        numbers[i] += base;
    }
    put(a.times, numbers);
    times.when = SHERWOOD_AT;
    times.times_ms = a.times;
    detail(
        cuda, &a, SHERWOOD_EXPIRE, &times, count, in_order, [&](size_t i) { return value(i) ^ 1; },
        all);
    detail(
        cuda, &a, SHERWOOD_TTL, NULL, count, in_order, [&](size_t i) { return base + i; }, all);
    good(memory == OF_A_POOL ? cudaFreeAsync(allocation, 0) : cudaFree(allocation), "memory");
}

/* Waits until the server has loaded its files. Until then it refuses requests. */
void await_loaded()
{
    struct sherwood *client;
    uint64_t key = 1;
    uint64_t value;
    uint64_t found;
    same("a connection", sherwood_connect(address.c_str(), NULL, &client), SHERWOOD_OK);
    int status = SHERWOOD_E_REQUEST;
    for (int i = 0; i < 1000 && status == SHERWOOD_E_REQUEST; i++) {
        status = sherwood_get(client, &key, 1, &value, &found);
        usleep(status == SHERWOOD_E_REQUEST ? 10000 : 0);
    }
    same("a request after the start", status, SHERWOOD_OK);
    sherwood_close(client);
}

/* Without a log, and beside one. */
void details(const char *program)
{
    char name[] = "/tmp/sherwood-attach-log-XXXXXX";
    expect(mkdtemp(name) != NULL, "a folder", errno, 0);
    for (int log = 0; log < 2; log++) {
        std::vector<std::string> options = {"--key-bits", "64", "--capacity", "4M"};
        if (log == 1) {
            options.insert(options.end(), {"--data-dir", name, "--appendonly", "yes"});
        }
        start_daemon(program, options);
        struct sherwood_cuda *cuda = attach();
        await_loaded();
        for (size_t count : {(size_t)1, (size_t)1000, (size_t)600001}) {
            for (enum memory memory : {ORDINARY, OF_A_POOL, MANAGED}) {
                details_of(cuda, count, false, memory);
                details_of(cuda, count, true, memory);
            }
        }
        printf("     %llu records copied\n", (unsigned long long)figure("ring_copies"));
        sherwood_cuda_close(cuda);
        end_daemon();
        ok(log == 0 ? "pairs, bits and expiry times" : "the same beside a log");
    }
    const std::string removal = std::string("rm -r ") + name;
    same("the log's end", system(removal.c_str()), 0);
}

/* --- reads of two tables ---------------------------------------------------------------------- */

/* Sends a command, which ends with CR LF, and expects OK. */
void command(const std::string &line)
{
    struct sockaddr_un where = {};
    char reply[64] = "";
    where.sun_family = AF_UNIX;
    snprintf(where.sun_path, sizeof(where.sun_path), "%s/socket", folder.c_str());
    const int server = socket(AF_UNIX, SOCK_STREAM, 0);
    same(line.c_str(), connect(server, (struct sockaddr *)&where, sizeof(where)), 0);
    same(line.c_str(), write(server, line.data(), line.size()), (long long)line.size());
    const ssize_t bytes = read(server, reply, sizeof(reply) - 1);
    expect(strncmp(reply, "+OK", 3) == 0, line.c_str(), bytes, 5);
    close(server);
}

#define READS 5

/* Arrays and calls: the even ones of the default table, the odd ones of table `other`. Both tables
 * have the same keys with other values, and in `other` every third key is absent. */
struct table_reads {
    struct arrays<uint64_t> arrays[READS];
    struct sherwood_cuda_call calls[READS];
};

void open_reads(struct sherwood_cuda *cuda, uint32_t other, enum memory memory,
                struct table_reads *reads)
{
    static const size_t counts[READS] = {1000, 100000, 1, 4096, 100000};
    for (int i = 0; i < READS; i++) {
        struct arrays<uint64_t> *a = &reads->arrays[i];
        struct sherwood_cuda_call *call = &reads->calls[i];
        open_arrays(a, counts[i], 0, memory);
        fill<uint64_t><<<64, 256>>>(a->keys, a->values, a->count, 50, i % 2 == 0 ? 7 : 9, 0);
        choose<uint64_t><<<64, 256>>>(a->keys, a->chosen, a->count, 3);
        good(cudaDeviceSynchronize(), "filling");
        *call = {};
        call->size = sizeof(*call);
        call->table = i % 2 == 0 ? 0 : other;
        call->operation = SHERWOOD_SET;
        call->keys = a->keys;
        call->values = a->values;
        call->count = a->count;
        same("SET", sherwood_cuda_call(cuda, call), 0);
        if (i % 2 != 0) {
            call->operation = SHERWOOD_DELETE;
            call->keys = a->chosen;
            call->values = NULL;
            call->count = (a->count + 2) / 3;
            same("DELETE", sherwood_cuda_call(cuda, call), 0);
        }
        call->operation = SHERWOOD_GET;
        call->keys = a->keys;
        call->values = NULL;
        call->count = a->count;
        call->previous = a->answers;
    }
}

/* Prepares the calls for one round: no answer is right before they are carried out. */
void prepare_reads(struct table_reads *reads, enum sherwood_cuda_when when, bool bytes,
                   cudaStream_t stream)
{
    for (int i = 0; i < READS; i++) {
        struct arrays<uint64_t> *a = &reads->arrays[i];
        struct sherwood_cuda_call *call = &reads->calls[i];
        call->when = when;
        call->stream = when == SHERWOOD_CUDA_NOW ? NULL : stream;
        call->flags = bytes ? SHERWOOD_FOUND_BYTES : 0;
        call->found = bytes ? (void *)a->chosen : a->found;
        good(cudaMemsetAsync(a->answers, 0x55, a->count * 8, stream), "answers");
        const size_t found_bytes = bytes ? (a->count + 7) / 8 * 8 : (a->count + 63) / 64 * 8;
        good(cudaMemsetAsync(call->found, 0x55, found_bytes, stream), "found");
    }
}

/* Enqueues comparisons behind the calls. */
void compare_reads(struct table_reads *reads, bool bytes, cudaStream_t stream)
{
    for (int i = 0; i < READS; i++) {
        const struct arrays<uint64_t> *a = &reads->arrays[i];
        const uint32_t every = i % 2 == 0 ? 0 : 3;
        if (bytes) {
            compare_bytes<<<64, 256, 0, stream>>>((const uint8_t *)a->chosen, a->count, every,
                                                  a->wrong);
        } else {
            compare<uint64_t><<<64, 256, 0, stream>>>(a->answers, a->found, a->count,
                                                      i % 2 == 0 ? 7 : 9, every, a->wrong);
        }
    }
}

/* The calls in a graph, which is replayed. */
void replay_reads(struct sherwood_cuda *cuda, struct table_reads *reads, cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "a capture");
    prepare_reads(reads, SHERWOOD_CUDA_IN_ORDER, false, stream);
    same("reads", sherwood_cuda_reads(cuda, reads->calls, READS), 0);
    compare_reads(reads, false, stream);
    good(cudaStreamEndCapture(stream, &graph), "a capture");
    good(cudaGraphInstantiate(&executable, graph, 0), "a graph");
    for (int i = 0; i < 20; i++) {
        good(cudaGraphLaunch(executable, stream), "a replay");
    }
    good(cudaStreamSynchronize(stream), "replays");
    good(cudaGraphExecDestroy(executable), "a graph");
    good(cudaGraphDestroy(graph), "a graph");
}

/* Each way a read may take: at once, behind a stream, in its order, in a graph; bits and bytes. */
void reads_of(struct sherwood_cuda *cuda, uint32_t other, enum memory memory)
{
    struct table_reads reads;
    cudaStream_t stream;
    good(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    open_reads(cuda, other, memory, &reads);
    for (int round = 0; round < 24; round++) {
        const enum sherwood_cuda_when when = (enum sherwood_cuda_when)(round % 3);
        const bool bytes = round % 2 == 0;
        prepare_reads(&reads, when, bytes, stream);
        if (when == SHERWOOD_CUDA_NOW) {
            good(cudaStreamSynchronize(stream), "clearing");
        }
        same("reads", sherwood_cuda_reads(cuda, reads.calls, READS), 0);
        compare_reads(&reads, bytes, stream);
    }
    good(cudaStreamSynchronize(stream), "reads");
    replay_reads(cuda, &reads, stream);
    same("reads", sherwood_cuda_check(cuda, true), SHERWOOD_OK);
    reads.calls[3].table = 99;
    same("a table that was not opened", sherwood_cuda_reads(cuda, reads.calls, READS),
         SHERWOOD_E_INVALID);
    expect(strncmp(sherwood_cuda_error(), "call 3: ", 8) == 0, "the number of the call", 0, 1);
    good(cudaStreamDestroy(stream), "a stream");
    for (struct arrays<uint64_t> &a : reads.arrays) {
        same("answers of reads together", (long long)*a.wrong, 0);
        close_arrays(&a);
    }
}

/* By the server alone, and with direct reads of the default table beside them. */
void reads_of_tables(const char *program)
{
    uint32_t other = 0;
    start_daemon(program, {"--key-bits", "64", "--capacity", "1M", "--direct-readers-max", "4"});
    struct sherwood_cuda *cuda = attach();
    command("TABLE CREATE other\r\n");
    same("a table", sherwood_cuda_table(cuda, "other", &other, NULL), SHERWOOD_OK);
    for (const bool direct : {false, true}) {
        same("direct reads", direct ? sherwood_cuda_direct(cuda) : SHERWOOD_OK, SHERWOOD_OK);
        reads_of(cuda, other, ORDINARY);
        reads_of(cuda, other, OF_A_POOL);
        ok(direct ? "the same with direct reads" : "reads of two tables go together");
    }
    sherwood_cuda_close(cuda);
    end_daemon();
}

} // namespace

#endif
