/* SPDX-License-Identifier: MIT
 *
 * attach_peers.cuh - for test_attach_gpu.cu: clients on another GPU than the daemon's. Random
 * operations against an oracle, what is refused, and rates beside those of the daemon's GPU.
 */
#ifndef SHERWOOD_TESTS_GPU_ATTACH_PEERS_CUH
#define SHERWOOD_TESTS_GPU_ATTACH_PEERS_CUH

#include "tests/gpu/attach_rates.cuh"

namespace
{

/* --- an oracle -------------------------------------------------------------------------------- */

#define ORACLE_KEYS (1U << 17) /* fewer than the keys of a large batch, so keys repeat in it */
#define ORACLE_BATCH (1U << 18)

struct oracle {
    std::vector<uint64_t> values;
    std::vector<bool> present;
};

uint64_t next_random()
{
    static uint64_t state = 88172645463325252ULL;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* Does one operation in the oracle. Returns whether the key was present. */
bool apply(struct oracle *oracle, enum sherwood_operation operation, size_t key, uint64_t operand)
{
    const bool was = oracle->present[key];
    uint64_t *value = &oracle->values[key];
    switch (operation) {
    case SHERWOOD_GET:
        return was;
    case SHERWOOD_SET:
        *value = operand;
        break;
    case SHERWOOD_SET_ABSENT:
        *value = was ? *value : operand;
        break;
    case SHERWOOD_SUM:
        *value = (was ? *value : 0) + operand;
        break;
    case SHERWOOD_MAX:
        *value = was ? std::max(*value, operand) : operand;
        break;
    default:
        oracle->present[key] = false;
        return was;
    }
    oracle->present[key] = true;
    return was;
}

struct host_batch {
    std::vector<size_t> indexes;
    std::vector<uint64_t> keys, operands, previous, found;
};

void draw(struct host_batch *batch, size_t count)
{
    batch->indexes.resize(count);
    batch->keys.resize(count);
    batch->operands.resize(count);
    batch->previous.resize(count);
    batch->found.resize((count + 63) / 64);
    for (size_t i = 0; i < count; i++) {
        batch->indexes[i] = next_random() % ORACLE_KEYS;
        batch->keys[i] = (batch->indexes[i] + 1) * 0x9E3779B97F4A7C15ULL;
        batch->operands[i] = next_random();
    }
}

/* Returns the number of answers that differ from the oracle's. */
size_t check(struct oracle *oracle, enum sherwood_operation operation,
             const struct host_batch *batch)
{
    size_t wrong = 0;
    for (size_t i = 0; i < batch->keys.size(); i++) {
        const uint64_t before = oracle->values[batch->indexes[i]];
        const bool was = apply(oracle, operation, batch->indexes[i], batch->operands[i]);
        const bool found = (batch->found[i / 64] >> (i % 64) & 1) != 0;
        wrong += found != was || (was && batch->previous[i] != before);
    }
    return wrong;
}

void random_operations(struct sherwood_cuda *cuda, size_t wanted)
{
    static const enum sherwood_operation operations[] = {
        SHERWOOD_SET,        SHERWOOD_GET, SHERWOOD_DELETE, SHERWOOD_SUM,
        SHERWOOD_SET_ABSENT, SHERWOOD_MAX, SHERWOOD_GET};
    struct oracle oracle = {std::vector<uint64_t>(ORACLE_KEYS), std::vector<bool>(ORACLE_KEYS)};
    struct host_batch batch;
    struct arrays<uint64_t> a;
    size_t done = 0, wrong = 0;
    open_arrays(&a, ORACLE_BATCH);
    for (size_t i = 0; i < ORACLE_KEYS; i++) {
        oracle.values[i] = 0;
    }
    for (size_t i = 0; done < wanted; i++) {
        const enum sherwood_operation operation = operations[next_random() % 7];
        const size_t count = 1 + next_random() % (i % 4 == 0 ? 1000 : ORACLE_BATCH);
        draw(&batch, count);
        good(cudaMemcpy(a.keys, batch.keys.data(), count * 8, cudaMemcpyDefault), "keys");
        good(cudaMemcpy(a.values, batch.operands.data(), count * 8, cudaMemcpyDefault), "operands");
        /* a copy from pageable memory may return before its last part has arrived */
        good(cudaDeviceSynchronize(), "keys and operands");
        same("random operations",
             sherwood_cuda_run(cuda, operation, a.keys, a.values, count, a.answers, a.found), 0);
        good(cudaMemcpy(batch.previous.data(), a.answers, count * 8, cudaMemcpyDefault), "answers");
        good(cudaMemcpy(batch.found.data(), a.found, batch.found.size() * 8, cudaMemcpyDefault),
             "found bits");
        wrong += check(&oracle, operation, &batch);
        done += count;
    }
    same("answers that differ from the oracle's", (long long)wrong, 0);
    close_arrays(&a);
    printf("     %zu random operations of device %d\n", done, sherwood_cuda_device(cuda));
    ok("random operations against an oracle");
}

/* --- what is refused -------------------------------------------------------------------------- */

template <typename WORD> void memory_of_another_device(struct sherwood_cuda *cuda)
{
    struct arrays<WORD> here, there;
    open_arrays(&here, 1000);
    good(cudaSetDevice(0), "the server's device");
    open_arrays(&there, 1000);
    good(cudaSetDevice(sherwood_cuda_device(cuda)), "the device");
    same("keys of another device",
         sherwood_cuda_run(cuda, SHERWOOD_GET, there.keys, NULL, 64, here.answers, here.found),
         SHERWOOD_E_INVALID);
    printf("     %s\n", sherwood_cuda_error());
    same("answers on another device",
         sherwood_cuda_run(cuda, SHERWOOD_GET, here.keys, NULL, 64, there.answers, NULL),
         SHERWOOD_E_INVALID);
    struct sherwood_cuda *none;
    char text[512];
    same("a device that does not exist",
         sherwood_cuda_attach_on(address.c_str(), NULL, 99, &none, text, sizeof(text)),
         SHERWOOD_E_REQUEST);
    printf("     %s\n", text);
    close_arrays(&there);
    close_arrays(&here);
    ok("memory of another device is refused");
}

/* --- rates ------------------------------------------------------------------------------------ */

struct client {
    struct sherwood_cuda *cuda;
    struct arrays<uint64_t> a;
    cudaStream_t stream;
    double get, set, fresh, ordered; /* us */
};

void open_client(struct client *client, int device, size_t most)
{
    client->cuda = attach(device);
    open_arrays(&client->a, most);
    good(cudaStreamCreateWithFlags(&client->stream, cudaStreamNonBlocking), "a stream");
    fill<uint64_t><<<256, 256>>>(client->a.keys, client->a.values, most, 1, 1, 0);
    good(cudaDeviceSynchronize(), "filling");
}

void run(struct client *client, enum sherwood_operation operation, size_t from, size_t count)
{
    const struct arrays<uint64_t> *a = &client->a;
    const bool reads = operation == SHERWOOD_GET;
    same("a call",
         sherwood_cuda_run(client->cuda, operation, a->keys + from, reads ? NULL : a->values + from,
                           count, reads ? a->answers : NULL, reads ? a->found : NULL),
         0);
}

double measure(struct client *client, const char *what, enum sherwood_operation operation,
               size_t count, int rounds)
{
    const size_t most = client->a.count;
    const struct spread took = times(rounds, [&](int i) {
        run(client, operation, most == count ? 0 : (size_t)i * count % most, count);
    });
    printf("     device %d", sherwood_cuda_device(client->cuda));
    show(what, count, took);
    return took.p50;
}

void measure_client(struct client *client)
{
    const size_t most = client->a.count;
    good(cudaSetDevice(sherwood_cuda_device(client->cuda)), "the device");
    client->get = measure(client, "GET, waits", SHERWOOD_GET, most, 60);
    client->set = measure(client, "SET of stored keys, waits", SHERWOOD_SET, most, 60);
    const struct spread bytes = times(60, [&](int) {
        same("GET with found bytes", get_bytes(client->cuda, &client->a, false, NULL), 0);
    });
    printf("     device %d", sherwood_cuda_device(client->cuda));
    show("GET with found bytes, waits", most, bytes);
    measure(client, "GET, waits", SHERWOOD_GET, 1 << 20, 300);
    measure(client, "SET of stored keys, waits", SHERWOOD_SET, 1 << 20, 300);
    measure(client, "GET, waits", SHERWOOD_GET, 1024, 1000);
    const struct spread took = times(400, [&](int) {
        fill<uint64_t><<<8, 256, 0, client->stream>>>(client->a.keys, NULL, 1024, 1, 0, 0);
        same("GET",
             sherwood_cuda_get(client->cuda, client->a.keys, 1024, client->a.answers,
                               client->a.found, client->stream),
             0);
        compare<uint64_t><<<8, 256, 0, client->stream>>>(client->a.answers, client->a.found, 1024,
                                                         1, 0, client->a.wrong);
        good(cudaStreamSynchronize(client->stream), "a stream");
    });
    printf("     device %d", sherwood_cuda_device(client->cuda));
    show("kernel, GET, kernel in stream order", 1024, took);
    same("calls in stream order", sherwood_cuda_check(client->cuda, true), SHERWOOD_OK);
    same("answers in stream order", (long long)*client->a.wrong, 0);
    client->ordered = took.p50;
}

/* Keys a second, in 10^9, of GETs of these clients at the same time. */
double together(std::vector<struct client *> clients)
{
    std::vector<std::thread> threads;
    std::vector<size_t> batches(clients.size());
    const double end = now_us() + 1e6;
    for (size_t c = 0; c < clients.size(); c++) {
        threads.emplace_back([&, c] {
            for (; now_us() < end; batches[c]++) {
                run(clients[c], SHERWOOD_GET, 0, 1 << 22);
            }
        });
    }
    size_t all = 0;
    for (size_t c = 0; c < clients.size(); c++) {
        threads[c].join();
        all += batches[c];
    }
    return (double)all * (1 << 22) / 1e9;
}

/* Measures calls on an allocation that is not a multiple of 2 MiB. */
void odd_allocation(struct client *client)
{
    struct arrays<uint64_t> whole = client->a;
    good(cudaSetDevice(sherwood_cuda_device(client->cuda)), "the device");
    open_arrays(&client->a, whole.count, 12288);
    good(cudaMemcpy(client->a.keys, whole.keys, whole.count * 8, cudaMemcpyDefault), "keys");
    good(cudaMemcpy(client->a.values, whole.values, whole.count * 8, cudaMemcpyDefault), "values");
    good(cudaDeviceSynchronize(), "the copies"); /* on one device they may end later */
    measure(client, "GET, 12 KiB more than a multiple of 2 MiB", SHERWOOD_GET, whole.count, 40);
    measure(client, "SET, 12 KiB more than a multiple of 2 MiB", SHERWOOD_SET, whole.count, 40);
    close_arrays(&client->a);
    client->a = whole;
}

/* Both GPUs in one run. The ratio of two rates is that of their times, inverted. */
void peer_rates()
{
    struct client own, peer;
    open_client(&own, 0, 1U << 24);
    good(cudaSetDevice(0), "the device");
    run(&own, SHERWOOD_SET, 0, 1U << 24);
    open_client(&peer, 1, 1U << 24);
    for (int round = 0; round < 2; round++) {
        measure_client(&own);
        measure_client(&peer);
        printf("     other GPU to same GPU: gets %.2f, updates %.2f; in stream order %.1f us and "
               "%.1f us\n",
               own.get / peer.get, own.set / peer.set, peer.ordered, own.ordered);
    }
    const double one = together({&own}), other = together({&peer}), both = together({&own, &peer});
    printf("     GETs of 2^22 keys: device 0 %.2f, device 1 %.2f, both %.2f G keys/s\n", one, other,
           both);
    odd_allocation(&own);
    odd_allocation(&peer);
    for (struct client *client : {&own, &peer}) {
        good(cudaSetDevice(sherwood_cuda_device(client->cuda)), "the device");
        good(cudaStreamDestroy(client->stream), "a stream");
        close_arrays(&client->a);
        sherwood_cuda_close(client->cuda);
    }
    ok("rates of two GPUs");
}

} // namespace

#endif
