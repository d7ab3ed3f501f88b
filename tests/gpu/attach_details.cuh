/* SPDX-License-Identifier: MIT
 *
 * attach_details.cuh - for test_attach_gpu.cu: calls whose arrays the server copies, because a log
 * follows or because others than the table use them: pairs, bits, expiry times.
 */
#ifndef SHERWOOD_TESTS_GPU_ATTACH_DETAILS_CUH
#define SHERWOOD_TESTS_GPU_ATTACH_DETAILS_CUH

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

} // namespace

#endif
