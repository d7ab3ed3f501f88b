/* SPDX-License-Identifier: MIT
 *
 * test_rows_gpu.cu - the kernels of rows alone, beside a model that carries out one operation after
 * the other: table/robin_hood/cuda/rows/rows.cuh.
 *
 *   test_rows_gpu [--seed N] [--worlds N] [--small]
 *
 * A world is an arena and some keys, drawn: the bytes of a row, what its numbers are, the parts of
 * batches, how they are aligned, which groups are refused. For each batch the model says what the
 * engine answers for the row numbers that the kernels gave out. Then all answers, the contents of
 * all rows and the stack of free rows must be what the model has. A line per world, and a last line
 * "N passed, N failed".
 */
#include <time.h>

#include "tests/gpu/row_worlds.cuh"

namespace
{

/* --- comparing -------------------------------------------------------------------------------- */

template <int BITS> void fail_world(struct world<BITS> *w, const char *fault)
{
    w->fault = w->fault == NULL ? fault : w->fault;
}

/* Rows that were given out must have been free, each once. */
template <int BITS> void check_prepared(struct world<BITS> *w, uint8_t *seen)
{
    memset(seen, 0, w->rows_max);
    for (uint32_t k = 0; k < w->shape.keys; k++) {
        if (w->row_of[k] != UINT64_MAX) {
            seen[w->row_of[k]] = 1;
        }
    }
    for (uint32_t i = 0; i < w->batch.count; i++) {
        if (w->batch.inserts &&
            (w->batch.preallocated[i] >= w->rows_max || seen[w->batch.preallocated[i]]++ != 0)) {
            fail_world<BITS>(w, "a preallocated row is in use");
            w->batch.preallocated[i] = 0;
        }
        const uint32_t op = w->ops[i];
        const bool inserts = op == SW_SET || op == SW_SET_ABSENT || op == w->shape.number;
        const uint32_t want = op == SW_DELETE ? SW_DELETE : inserts ? SW_SET_ABSENT : SW_GET;
        if (w->batch.ops != NULL ? w->batch.engine_ops[i] != want
                                 : sw_cuda_row_engine_op(op) != want) {
            fail_world<BITS>(w, "not the engine's operation");
        }
    }
}

template <int BITS> void check_batch(struct world<BITS> *w, uint8_t *seen)
{
    const uint32_t bytes = w->shape.value_bytes;
    const uint64_t all = (uint64_t)w->batch.count * bytes + 32 * w->shape.parts_max;
    static uint8_t row[BYTES_MAX];
    if (memcmp(w->answers, w->expected, all) != 0) {
        fail_world<BITS>(w, "an answer");
    }
    memset(seen, 0, w->rows_max);
    const struct sw_cuda_row_stack *stack = w->rows.stack;
    uint64_t entries = 0;
    for (uint64_t f = 0; f < stack->free_count && f < w->rows_max; f++) {
        if (w->rows.free[f] >= stack->high || seen[w->rows.free[f]]++ != 0) {
            fail_world<BITS>(w, "a row is free twice, or was never used");
            return;
        }
    }
    for (uint32_t k = 0; k < w->shape.keys; k++) {
        if (w->row_of[k] == UINT64_MAX) {
            continue;
        }
        entries++;
        if (w->row_of[k] >= stack->high || seen[w->row_of[k]]++ != 0) {
            fail_world<BITS>(w, "a row is in use and free");
            return;
        }
        good(cudaMemcpy(row, sw_cuda_row_at(&w->rows, w->row_of[k]), bytes, cudaMemcpyDefault),
             "reading a row");
        if (memcmp(row, w->contents + (uint64_t)k * bytes, bytes) != 0) {
            fail_world<BITS>(w, "the contents of a row");
        }
    }
    if (entries + stack->free_count != stack->high) {
        fail_world<BITS>(w, "a row is lost");
    }
}

/* The rows of all keys that are present, packed. */
template <int BITS> void check_gathered(struct world<BITS> *w)
{
    typedef typename sw_width<BITS>::word word;
    const uint32_t bytes = w->shape.value_bytes;
    word *entries = host_array<word>(2 * (uint64_t)w->shape.keys);
    uint8_t *packed = host_array<uint8_t>((uint64_t)w->shape.keys * bytes + 16);
    uint64_t count = 0;
    const uint32_t odd = is_of_pairs(w->shape.number) ? 8 : 4;
    for (uint32_t k = 0; k < w->shape.keys; k++) {
        if (w->row_of[k] != UINT64_MAX) {
            entries[2 * count++] = (word)w->row_of[k];
        }
    }
    good(sw_cuda_launch_row_gather<BITS>(&w->rows, entries, 2 * sizeof(word), count, packed + odd,
                                         0),
         "gathering");
    good(cudaDeviceSynchronize(), "gathering");
    count = 0;
    for (uint32_t k = 0; k < w->shape.keys; k++) {
        if (w->row_of[k] != UINT64_MAX &&
            memcmp(packed + odd + count++ * bytes, w->contents + (uint64_t)k * bytes, bytes) != 0) {
            fail_world<BITS>(w, "a row that was gathered");
        }
    }
    good(cudaFreeHost(entries), "freeing");
    good(cudaFreeHost(packed), "freeing");
}

/* --- a world ---------------------------------------------------------------------------------- */

template <int BITS> void open_world(struct world<BITS> *w, uint32_t multiprocessors)
{
    typedef typename sw_width<BITS>::word word;
    const uint32_t n = w->shape.count_max;
    const uint64_t data = (uint64_t)n * w->shape.value_bytes + 64 * w->shape.parts_max;
    w->rows_max = w->shape.keys + n;
    w->rows.value_bytes = w->shape.value_bytes;
    w->rows.stride = sw_row_stride(w->shape.value_bytes);
    w->rows.operations_max = n;
    const uint64_t arena = w->rows_max * w->rows.stride;
    w->on_device = below(&w->random, 2) == 0;
    if (w->on_device) {
        good(cudaMalloc((void **)&w->rows.rows, arena), "the arena");
        good(cudaMemset(w->rows.rows, 0x5B, arena), "the arena");
    } else {
        w->rows.rows = host_array<uint8_t>(arena);
    }
    w->rows.split = below(&w->random, 2) == 0 ? w->rows_max : below(&w->random, w->rows_max);
    w->further = host_array<uint8_t>(arena); /* has room for all rows */
    w->rows.further = w->further;
    w->rows.free = host_array<uint32_t>(w->rows_max);
    w->rows.stack = host_array<struct sw_cuda_row_stack>(1);
    const size_t bytes = sw_cuda_rows_cut(&w->rows, NULL);
    good(cudaMalloc(&w->scratch, bytes), "the scratch");
    good(cudaMemset(w->scratch, 0, bytes), "the scratch");
    sw_cuda_rows_cut(&w->rows, w->scratch);
    good(sw_cuda_rows_load<BITS>(&w->rows, multiprocessors), "loading");
    w->ops = host_array<uint8_t>(n);
    w->key_of = host_array<uint32_t>(n);
    w->batch.engine_ops = host_array<uint8_t>(n);
    w->batch.preallocated = host_array<word>(n);
    w->batch.previous = w->previous = host_array<word>(n);
    w->batch.found = w->found = host_array<uint64_t>(n / 64 + 1);
    w->batch.group_ends = w->group_ends = host_array<uint32_t>(n);
    w->batch.group_refused = w->group_refused = host_array<uint8_t>(n);
    w->batch.status = w->status = host_array<int32_t>(1);
    w->batch.parts = w->parts = host_array<struct sw_cuda_parts>(1);
    w->operands = host_array<uint8_t>(2 * data); /* they may be wide */
    w->answers = host_array<uint8_t>(data);
    w->expected = host_array<uint8_t>(data);
    w->row_of = host_array<uint64_t>(w->shape.keys);
    w->contents = host_array<uint8_t>((uint64_t)w->shape.keys * w->shape.value_bytes);
    memset(w->row_of, 0xFF, w->shape.keys * sizeof(*w->row_of));
}

template <int BITS> void close_world(struct world<BITS> *w)
{
    void *const arrays[] = {w->rows.free,
                            w->rows.stack,
                            w->ops,
                            w->key_of,
                            w->batch.engine_ops,
                            w->batch.preallocated,
                            w->previous,
                            w->found,
                            w->group_ends,
                            w->group_refused,
                            w->status,
                            w->parts,
                            w->operands,
                            w->answers,
                            w->expected,
                            w->row_of,
                            w->contents};
    for (void *array : arrays) {
        good(cudaFreeHost(array), "freeing");
    }
    good(cudaFreeHost(w->further), "freeing");
    good(w->on_device ? cudaFree(w->rows.rows) : cudaFreeHost(w->rows.rows), "freeing");
    good(cudaFree(w->scratch), "freeing");
}

/* Returns what was wrong, or NULL. */
template <int BITS>
const char *run_world(const struct shape &shape, struct random random, uint32_t multiprocessors)
{
    static struct world<BITS> only;
    struct world<BITS> *w = &only;
    memset((void *)w, 0, sizeof(*w));
    w->shape = shape;
    w->random = random;
    open_world<BITS>(w, multiprocessors);
    uint8_t *seen = (uint8_t *)malloc(w->rows_max);
    for (uint32_t b = 0; b < shape.batches && w->fault == NULL; b++) {
        draw_batch<BITS>(w);
        good(sw_cuda_launch_row_prepare<BITS>(&w->rows, &w->batch, 0), "preparing");
        good(cudaDeviceSynchronize(), "preparing");
        check_prepared<BITS>(w, seen);
        model_batch<BITS>(w);
        good(sw_cuda_launch_row_data<BITS>(&w->rows, &w->batch, 0), "moving rows");
        good(cudaDeviceSynchronize(), "moving rows");
        check_batch<BITS>(w, seen);
    }
    check_gathered<BITS>(w);
    free(seen);
    close_world<BITS>(w);
    return w->fault;
}

struct shape draw_shape(struct random *random, bool small)
{
    struct shape shape = {};
    shape.slot_bits = below(random, 2) == 0 ? 64 : 128;
    shape.value_bytes = sizes[below(random, sizeof(sizes) / sizeof(sizes[0]))];
    static const uint32_t numbers[] = {SW_ADD_F32, SW_ADD_F32,  SW_ADD_U32, SW_OR,     SW_XOR,
                                       SW_ADD_F16, SW_ADD_BF16, SW_ADD_U64, SW_ADD_F64};
    shape.plain = below(random, 3) == 0;
    shape.number = shape.plain && below(random, 2) == 0
                       ? (uint32_t)SW_ADD_F32
                       : numbers[below(random, shape.value_bytes % 8 == 0 ? 9 : 7)];
    const uint32_t scale = small ? 1 : shape.value_bytes > 256 ? 4 : 40;
    shape.hot = shape.plain || below(random, 2) == 0;
    shape.chains = shape.plain || below(random, 2) == 0;
    shape.keys = 1 + below(random, below(random, 2) == 0 ? 20 : 3000 * scale);
    shape.count_max = 1 + below(random, below(random, 3) == 0 ? 3 : 2500 * scale);
    shape.parts_max = 1 + below(random, 6);
    shape.batches = small && shape.count_max > 3 ? 2 : shape.count_max > 3 ? 8 : 300;
    if (small && (uint64_t)shape.count_max * shape.value_bytes > 300000) {
        shape.count_max = 300000 / shape.value_bytes;
    }
    return shape;
}

} // namespace

int main(int count, char **options)
{
    uint64_t seed = (uint64_t)time(NULL);
    uint32_t worlds = 40;
    bool small = false;
    for (int o = 1; o < count; o++) {
        if (strcmp(options[o], "--small") == 0) {
            small = true;
        } else if (o + 1 < count && strcmp(options[o], "--seed") == 0) {
            seed = strtoull(options[++o], NULL, 0);
        } else if (o + 1 < count && strcmp(options[o], "--worlds") == 0) {
            worlds = (uint32_t)strtoul(options[++o], NULL, 0);
        } else {
            printf("usage: test_rows_gpu [--seed N] [--worlds N] [--small]\n");
            return 2;
        }
    }
    printf("--seed %llu\n", (unsigned long long)seed);
    int multiprocessors = 0;
    good(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), "a device");
    uint32_t passed = 0;
    for (uint32_t i = 0; i < worlds; i++) {
        struct random random = {seed + i};
        random.state = random_next(&random);
        const struct shape shape = draw_shape(&random, small);
        const char *fault =
            SW_BY_BITS(shape.slot_bits, run_world, shape, random, (uint32_t)multiprocessors);
        printf("%s --seed %llu --worlds 1: %u-bit slots, rows of %u bytes, numbers %u, %u keys, "
               "%u batches of up to %u%s%s%s %s\n",
               fault == NULL ? "ok    " : "FAILED", (unsigned long long)(seed + i), shape.slot_bits,
               shape.value_bytes, shape.number, shape.keys, shape.batches, shape.count_max,
               shape.hot ? ", one hot" : "", shape.chains ? ", sums" : "",
               shape.plain ? " alone" : "", fault == NULL ? "" : fault);
        fflush(stdout);
        passed += fault == NULL;
    }
    printf("%u passed, %u failed\n", passed, worlds - passed);
    return passed == worlds ? 0 : 1;
}
