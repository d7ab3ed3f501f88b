/* SPDX-License-Identifier: MIT
 *
 * test_shared_gpu.cu - keys and values in device memory of others: what is imported and what is
 * refused, that batches there do what they do elsewhere, and that a table stays whole while another
 * process changes the keys of the batches it carries out.
 *
 *   test_shared_gpu [--seed N] [--small]
 *   test_shared_gpu --unsaid       without telling the table that keys change: then it breaks
 *   test_shared_gpu --rates        keys a second of batches in device memory, shared and not
 *
 * A line per case, and a last line "N passed, N failed"; the exit status is 1 if any failed. On a
 * device the memory is of another process, which is started first; in the emulator of this one.
 */
#include "table/table.h"
#include "tests/gpu/shared.cuh"

namespace
{

/* --- what is refused -------------------------------------------------------------------------- */

void expect_refused(const struct subject *subject, const struct sw_memory_source *source,
                    const char *what)
{
    struct sw_memory memory;
    char reason[256] = "";
    int status = sw_memory_import(subject->table, source, &memory, reason, sizeof(reason));
    expect_equal(what, (uint64_t)(int64_t)status, (uint64_t)(int64_t)SW_E_UNSUPPORTED);
    expect(reason[0] != '\0', what, 0, 1);
    printf("     %s: %s\n", what, reason);
}

void refusals(const struct owner *owner)
{
    struct subject subject;
    open_subject(&subject, SW_ENGINE_ROBIN_HOOD, 64, 1 << 12, 1 << 10);
    struct sw_memory_source source = source_of(&subject, owner, 0, ARENA_BYTES + (4 << 20));
    expect_refused(&subject, &source, "more bytes than there are");
    source = source_of(&subject, owner, ARENA_BYTES, 4 << 20);
    expect_refused(&subject, &source, "an offset at the end");
    source = source_of(&subject, owner, UINT64_MAX - 4095, 8192);
    expect_refused(&subject, &source, "an offset that wraps");
    source = source_of(&subject, owner, 4096, UINT64_MAX - 100);
    expect_refused(&subject, &source, "bytes that wrap");
#ifdef SHERWOOD_EMULATOR_CUDA_RUNTIME_H
    setenv("EMU_GPUS", "3", 1);
    source = source_of(&subject, owner, 0, 4096);
    source.device_uuid[8] = 2;
    expect_refused(&subject, &source, "a device without peer access");
    unsetenv("EMU_GPUS");
#endif
    for (int i = 0; i < 100; i++) {
        source = source_of(&subject, owner, 0, 4096);
        for (size_t b = 0; b < sizeof(source.handle); b++) {
            source.handle[b] = (uint8_t)next_random();
        }
        struct sw_memory memory;
        char reason[256] = "";
        int status = sw_memory_import(subject.table, &source, &memory, reason, sizeof(reason));
        expect_equal("a handle that is none", (uint64_t)(int64_t)status,
                     (uint64_t)(int64_t)SW_E_UNSUPPORTED);
    }
    close_subject(&subject);
    passed++;
    printf("ok refusals\n");
}

/* --- the same results ------------------------------------------------------------------------- */

struct engine_case {
    const char *name;
    enum sw_engine engine;
    uint32_t slot_bits;
};
const struct engine_case engines[] = {
    {"robin_hood, 64 bits", SW_ENGINE_ROBIN_HOOD, 64},
    {"robin_hood, 128 bits", SW_ENGINE_ROBIN_HOOD, 128},
    {"cuckoo, 64 bits", SW_ENGINE_CUCKOO, 64},
    {"cuckoo, 128 bits", SW_ENGINE_CUCKOO, 128},
    {"cache, 64 bits", SW_ENGINE_CACHE, 64},
    {"cache, 128 bits", SW_ENGINE_CACHE, 128},
};

/* Arrays in the memory, one after the other, each where a cache wants it. */
struct layout {
    uint64_t keys, values, previous, found, end;
};
struct layout lay_out(const struct sw_table_info *info, uint64_t count)
{
    struct layout at;
    at.keys = 256;
    at.values = at.keys + (count * info->key_bytes + 255) / 256 * 256;
    at.previous = at.values + (count * info->value_bytes + 255) / 256 * 256;
    at.found = at.previous + (count * info->value_bytes + 255) / 256 * 256;
    at.end = at.found + (count + 63) / 64 * 8;
    return at;
}

uint64_t key_of(const struct subject *subject, uint32_t i)
{
    const uint64_t mixed = (i + 1) * 0x9E3779B97F4A7C15ULL;
    return subject->info.key_bytes == 4 ? (uint32_t)(mixed >> 32) : mixed;
}

/* Copies the first bytes of the memory to `io`, or back, and waits. Returns the status. */
int copied(const struct subject *subject, const struct sw_memory *memory, uint64_t bytes, void *io,
           bool stores)
{
    const struct sw_memory_copy one = {memory, 0, bytes, io, stores};
    struct sw_memory_copies *copies;
    int status = sw_memory_copy(subject->table, &one, 1, &copies);
    while (copies != NULL && (status = sw_memory_copy_poll(subject->table, copies)) == SW_PENDING) {
    }
    return status;
}

void same_results(const struct owner *owner, const struct engine_case *of, uint32_t count)
{
    struct subject subject;
    open_subject(&subject, of->engine, of->slot_bits, 4ULL * count + 4096, count);
    const struct sw_table_info *info = &subject.info;
    const struct layout at = lay_out(info, count);
    struct sw_memory memory;
    char reason[256] = "";
    struct sw_memory_source source =
        source_of(&subject, owner, 4096, (at.end + 4095) / 4096 * 4096);
    int status = sw_memory_import(subject.table, &source, &memory, reason, sizeof(reason));
    expect(status == SW_OK, reason, (uint64_t)(int64_t)status, SW_OK);
    char *base = (char *)memory.address;
    uint8_t *host = (uint8_t *)calloc(1, at.end);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t key = key_of(&subject, i);
        memcpy(host + at.keys + (uint64_t)i * info->key_bytes, &key, info->key_bytes);
        memcpy(host + at.values + (uint64_t)i * info->value_bytes, &i, sizeof(i));
    }
    good(cudaMemcpy(base, host, at.end, cudaMemcpyHostToDevice), "filling the memory");
    /* of memory that is not pinned the copy may go on, and the table's streams do not wait for it
     */
    good(cudaDeviceSynchronize(), "filling the memory");
    struct sw_batch set;
    memset(&set, 0, sizeof(set));
    set.op = SW_SET;
    set.shared = true;
    set.count = count / 2; /* the first half */
    set.keys = base + at.keys;
    set.values = base + at.values;
    expect(sw_batch_loads_once(subject.table, &set), "a SET can be shared", 0, 1);
    expect_equal("SET", (uint64_t)sw_batch_run(subject.queue, &set), SW_OK);
    expect_equal("inserted", set.counters.inserted, count / 2);
    struct sw_batch get;
    memset(&get, 0, sizeof(get));
    get.op = SW_GET;
    get.shared = true;
    get.count = count;
    get.keys = base + at.keys;
    get.previous = base + at.previous;
    get.found = (uint64_t *)(base + at.found);
    expect_equal("GET", (uint64_t)sw_batch_run(subject.queue, &get), SW_OK);
    expect_equal("hits", get.counters.by_class[SW_CLASS_GET].hits, count / 2);
    void *io = sw_io_alloc(subject.table, at.end);
    expect_equal("loading", (uint64_t)copied(&subject, &memory, at.end, io, false), SW_OK);
    const uint8_t *answers = (const uint8_t *)io;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value;
        memcpy(&value, answers + at.previous + (uint64_t)i * info->value_bytes, sizeof(value));
        const bool found = ((const uint64_t *)(answers + at.found))[i / 64] >> i % 64 & 1;
        expect_equal("found", found, i < count / 2);
        expect_equal("value", value, i < count / 2 ? i : 0);
    }
    memset(io, 0xa5, at.end);
    expect_equal("storing", (uint64_t)copied(&subject, &memory, 64, io, true), SW_OK);
    good(cudaMemcpy(host, base, 128, cudaMemcpyDeviceToHost), "reading the memory");
    expect_equal("stored", memcmp(host, io, 64) == 0 && memcmp(host + 64, io, 64) != 0, 1);
    struct sw_batch remove = get;
    remove.op = SW_DELETE;
    remove.shared = sw_batch_loads_once(subject.table, &remove); /* cuckoo has room for fewer */
    expect_equal("DELETE", (uint64_t)sw_batch_run(subject.queue, &remove), SW_OK);
    expect_equal("deleted", remove.counters.deleted, count / 2);
    sw_io_free(subject.table, io, at.end);
    free(host);
    sw_memory_release(subject.table, &memory);
    close_subject(&subject);
    passed++;
    printf("ok %u keys of another's memory, %s\n", count, of->name);
}

/* --- keys that change ------------------------------------------------------------------------- */

/* Number of keys. */
#define KEYS 6000U

__global__ void change_kernel(uint32_t *keys, uint32_t *values, uint32_t words, uint32_t count,
                              uint32_t rounds, uint32_t salt)
{
    for (uint32_t r = 0; r < rounds; r++) {
        for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
             i += gridDim.x * blockDim.x) {
            const uint32_t drawn = (i * 2654435761U + r * 40503U + salt) * 2246822519U;
            const uint64_t mixed =
                ((drawn >> 8) % KEYS + 1) * 0x9E3779B97F4A7C15ULL; /* as key_of */
            if (words == 1) {
                ((volatile uint32_t *)keys)[i] = (uint32_t)(mixed >> 32);
            } else {
                ((volatile uint64_t *)keys)[i] = mixed;
            }
            ((volatile uint32_t *)values)[(uint64_t)i * words] = drawn % 5;
        }
    }
}

struct changing {
    struct subject *subject;
    void *keys, *values;
    uint32_t count;
    int stop;        /* atomic */
    uint32_t sweeps; /* atomic */
};

void *change(void *argument)
{
    struct changing *changing = (struct changing *)argument;
    cudaStream_t stream;
    good(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    for (uint32_t salt = 1; !__atomic_load_n(&changing->stop, __ATOMIC_RELAXED); salt++) {
        change_kernel<<<4, 128, 0, stream>>>(
            (uint32_t *)changing->keys, (uint32_t *)changing->values,
            changing->subject->info.key_bytes / 4, changing->count, small ? 1 : 4, salt);
        good(cudaStreamSynchronize(stream), "changing keys");
        __atomic_fetch_add(&changing->sweeps, 1, __ATOMIC_RELAXED);
    }
    good(cudaStreamDestroy(stream), "a stream");
    return NULL;
}

/* The table is whole; every entry is found, and is one of the keys there are. */
void audit(struct subject *subject, void *still, const char *what)
{
    char violation[256] = "";
    struct sw_table_stats stats;
    int status = sw_table_check(subject->table, violation, sizeof(violation));
    if (status != SW_OK) {
        printf("not ok after %s: %s\n%u passed, 1 failed\n", what, violation, passed);
        fflush(stdout);
        _exit(1);
    }
    struct sw_batch get;
    memset(&get, 0, sizeof(get));
    get.op = SW_GET;
    get.count = KEYS;
    get.keys = still;
    expect_equal("GET", (uint64_t)sw_batch_run(subject->queue, &get), SW_OK);
    sw_table_stats(subject->table, &stats);
    expect_equal(what, stats.occupied, get.counters.by_class[SW_CLASS_GET].hits);
}

void run_changing(struct changing *changing, enum sw_op op, void *previous, uint64_t *found,
                  uint32_t count)
{
    struct sw_batch batch;
    memset(&batch, 0, sizeof(batch));
    batch.op = op;
    batch.shared = says_so;
    batch.count = count;
    batch.keys = changing->keys;
    batch.values = changing->values;
    batch.previous = previous;
    batch.found = found;
    expect(sw_batch_loads_once(changing->subject->table, &batch), "it can be shared", 0, 1);
    int status = sw_batch_run(changing->subject->queue, &batch);
    expect(status == SW_OK || status == SW_E_FULL, "a batch that changes",
           (uint64_t)(int64_t)status, SW_OK);
    uint64_t operations = batch.counters.refused;
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        operations += batch.counters.by_class[c].operations;
    }
    expect_equal("operations", operations, count);
}

void keys_change(const struct engine_case *of, uint64_t capacity, uint32_t count)
{
    struct subject subject;
    open_subject(&subject, of->engine, of->slot_bits, capacity, count > KEYS ? count : KEYS);
    const uint32_t bytes = subject.info.key_bytes;
    struct changing changing = {&subject, NULL, NULL, count, 0, 0};
    void *previous, *found;
    good(cudaMalloc(&changing.keys, (size_t)count * bytes), "keys");
    good(cudaMalloc(&changing.values, (size_t)count * bytes), "values");
    good(cudaMalloc(&previous, (size_t)count * bytes), "values before");
    good(cudaMalloc(&found, (size_t)(count + 63) / 64 * 8), "found");
    uint8_t *still = (uint8_t *)sw_io_alloc(subject.table, (size_t)KEYS * bytes);
    for (uint32_t i = 0; i < KEYS; i++) {
        const uint64_t key = key_of(&subject, i);
        memcpy(still + (size_t)i * bytes, &key, bytes);
    }
    pthread_t thread;
    pthread_create(&thread, NULL, change, &changing);
    while (__atomic_load_n(&changing.sweeps, __ATOMIC_RELAXED) == 0) {
        usleep(100);
    }
    const enum sw_op operations[] = {SW_SET,         SW_SET_ABSENT, SW_INCREMENT, SW_DELETE,
                                     SW_SET_PRESENT, SW_DECREMENT,  SW_MIN,       SW_DELETE,
                                     SW_SET,         SW_DELETE};
    for (int round = 0; round < (small ? 1 : capacity > 1U << 20 ? 1 : 4); round++) {
        for (enum sw_op op : operations) {
            const uint64_t draw = next_random();
            char what[64];
            snprintf(what, sizeof(what), "operation %d of %u keys that change", (int)op, count);
            run_changing(&changing, op, draw % 2 != 0 ? previous : NULL,
                         draw % 4 < 2 ? (uint64_t *)found : NULL, count);
            audit(&subject, still, what);
        }
    }
    __atomic_store_n(&changing.stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    sw_io_free(subject.table, still, (size_t)KEYS * bytes);
    good(cudaFree(changing.keys), "keys");
    good(cudaFree(changing.values), "values");
    good(cudaFree(previous), "values before");
    good(cudaFree(found), "found");
    close_subject(&subject);
    passed++;
    printf("ok %u keys that change, %s, %llu slots, %u sweeps\n", count, of->name,
           (unsigned long long)capacity, changing.sweeps);
}

/* --- rates ------------------------------------------------------------------------------------ */

double now()
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

double rate_of(struct subject *subject, struct sw_batch *batch, uint32_t *keys, uint32_t batches)
{
    double seconds = 0;
    for (uint32_t b = 0; b < batches; b++) {
        batch->keys = keys + (size_t)b * batch->count;
        double start = now();
        expect_equal("a batch", (uint64_t)sw_batch_run(subject->queue, batch), SW_OK);
        seconds += now() - start;
    }
    return (double)batch->count * batches / seconds / 1e9;
}

/* Filled to a half: fresh keys, then the same again, then reads, then deletes. */
void rates()
{
    const uint32_t slots = 1U << 27;
    for (uint32_t count = 1U << 12; count <= 1U << 20; count <<= 4) {
        for (int shared = 0; shared < 2; shared++) {
            struct subject subject;
            open_subject(&subject, SW_ENGINE_ROBIN_HOOD, 64, slots, 1U << 20);
            const uint32_t batches = 16;
            uint32_t *host = (uint32_t *)malloc((size_t)slots / 2 * 4);
            uint32_t *keys, *values, *found;
            const uint32_t all = slots / 2;
            for (uint32_t i = 0; i < all; i++) {
                host[i] = i * 2654435761U;
            }
            good(cudaMalloc(&keys, (size_t)all * 4), "keys");
            good(cudaMalloc(&values, (size_t)count * 4), "values");
            good(cudaMalloc(&found, (size_t)count / 8), "found");
            good(cudaMemcpy(keys, host, (size_t)all * 4, cudaMemcpyHostToDevice), "keys");
            struct sw_batch batch;
            memset(&batch, 0, sizeof(batch));
            batch.op = SW_SET;
            batch.count = 1U << 20;
            batch.values = values;
            uint32_t *own;
            good(cudaMalloc(&own, (size_t)4 << 20), "values");
            batch.values = own;
            const uint32_t kept = all - 32 * (1U << 20);
            rate_of(&subject, &batch, keys, kept >> 20);
            batch.shared = batch.on_device = shared != 0;
            batch.count = count;
            double insert = rate_of(&subject, &batch, keys + kept, batches);
            double again = rate_of(&subject, &batch, keys + kept, batches);
            batch.found = (uint64_t *)found;
            double answered = rate_of(&subject, &batch, keys + kept + batches * count, batches);
            batch.previous = values;
            batch.op = SW_GET;
            double get = rate_of(&subject, &batch, keys + kept, batches);
            batch.op = SW_DELETE;
            batch.previous = NULL;
            double remove = rate_of(&subject, &batch, keys + kept, batches);
            printf(
                "%u keys a batch, %s: G/s inserts %.2f, with found %.2f, updates %.2f, gets %.2f, "
                "deletes %.2f\n",
                count, shared ? "shared" : "not shared", insert, answered, again, get, remove);
            fflush(stdout);
            good(cudaFree(keys), "keys");
            good(cudaFree(values), "values");
            good(cudaFree(found), "found");
            good(cudaFree(own), "values");
            free(host);
            close_subject(&subject);
        }
    }
}

} // namespace

int main(int argc, char **argv)
{
    bool only_rates = false;
    seed = (uint64_t)time(NULL) * 2654435761U + 1;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--small") == 0) {
            small = true;
        } else if (strcmp(argv[i], "--unsaid") == 0) {
            says_so = false;
        } else if (strcmp(argv[i], "--rates") == 0) {
            only_rates = true;
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            seed = strtoull(argv[++i], NULL, 0) | 1;
        } else {
            fprintf(stderr, "usage: test_shared_gpu [--seed N] [--small] [--unsaid] [--rates]\n");
            return 2;
        }
    }
    if (only_rates) {
        rates();
        return 0;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("seed %llu\n", (unsigned long long)seed);
    struct owner owner;
    memset(&owner, 0, sizeof(owner));
    start_owner(&owner);
    refusals(&owner);
    for (const struct engine_case &of : engines) {
        same_results(&owner, &of, 1000);
        same_results(&owner, &of, small ? 5000 : 40000);
        if (!small && of.engine != SW_ENGINE_CACHE) {
            same_results(&owner, &of, 1U << 20);
        }
    }
    for (const struct engine_case &of : engines) {
        if (of.engine == SW_ENGINE_ROBIN_HOOD) { /* whose layout can be checked */
            keys_change(&of, 3 * KEYS, 300);
            keys_change(&of, 3 * KEYS, small ? 3000 : 50000);
            keys_change(&of, KEYS / 2, small ? 3000 : 50000); /* groups are refused */
            if (!small) {
                keys_change(&of, 3 * KEYS, 1U << 20);
                keys_change(&of, 1U << 22, 1U << 20);
            }
        }
    }
    end_owner(&owner);
    printf("%u passed, %u failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
