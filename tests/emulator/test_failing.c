/* SPDX-License-Identifier: MIT
 *
 * test_failing.c - every call of the CUDA runtime, and every allocation, fails once.
 *
 * A script that opens a table, writes, reads, lets keys expire, grows, empties and closes it runs
 * again and again, each time with another call that fails. After each failure sw_table_create must
 * report why, or batches must end with a suitable status. Successful batches must agree with a
 * model. After the loss of the device every batch must end with SW_E_DEVICE. No wait may be
 * endless, and all memory must be freed.
 *
 *   test_failing [--seed N] [--one-of N]    takes every N-th call, beginning with a drawn one
 *   test_failing --case C --call N          one run again; a debugger stops at emu_fails_here
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "table/image.h"
#include "table/table.h"
#include "tests/emulator/failing.h"

#define KEYS 3000U
#define POLLS_MAX 10000000U

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    return emu_allocation_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return emu_allocation_fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return emu_allocation_fails() ? NULL : __real_realloc(memory, bytes);
}

/* One run of the script. */
struct script {
    struct sw_table_config config;
    unsigned number;
    uint64_t call; /* the one that fails */
    struct sw_table *table;
    struct sw_queue *queues[2];
    uint64_t *keys, *values, *previous, *found, *times; /* of KEYS operations; I/O memory */
    uint64_t model[KEYS]; /* of key i: its value, 0 where it is absent */
    uint64_t at[KEYS];    /* of key i: when it expires; 0: never */
    bool is_known;        /* the model is that of the table: no batch ended otherwise than well */
};

/* By the number of the case: four of each, two of the last. */
static const char *const engines[] = {"robin_hood", "cuckoo", "cache", "key set",
                                      "streamed key set"};

static void fail_script(const struct script *script, const char *format, ...)
{
    va_list arguments;
    printf("not ok case %u, %s, %u-bit slots, %s: call %llu fails: ", script->number,
           engines[script->number / 4], script->config.slot_bits,
           script->config.backend == SW_BACKEND_CPU ? "CPU" : "CUDA",
           (unsigned long long)script->call);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    exit(1);
}

static void expect(const struct script *script, bool holds, const char *what)
{
    if (!holds) {
        fail_script(script, "%s", what);
    }
}

static void put_key(const struct script *script, uint32_t i, uint64_t key, uint64_t value)
{
    if (script->config.slot_bits == 64) {
        ((uint32_t *)script->keys)[i] = (uint32_t)key;
        ((uint32_t *)script->values)[i] = (uint32_t)value;
    } else {
        script->keys[i] = key;
        script->values[i] = value;
    }
}

static uint64_t previous_at(const struct script *script, uint32_t i)
{
    return script->config.slot_bits == 64 ? ((uint32_t *)script->previous)[i] : script->previous[i];
}

static int poll_to_end(const struct script *script, struct sw_queue *queue, struct sw_batch *batch)
{
    for (uint32_t polls = 0; polls < POLLS_MAX; polls++) {
        int status = sw_batch_poll(queue, batch);
        if (status != SW_PENDING) {
            return status;
        }
    }
    fail_script(script, "a batch never ends");
    return SW_PENDING;
}

/* Checks the status of a batch. After a failure the contents are unknown: the batch may have run in
 * part. */
static bool is_good(struct script *script, int status)
{
    const bool has_failed =
        emu_has_failed() && (status == SW_E_DEVICE || status == SW_E_NOMEM || status == SW_E_FULL);
    if (status != SW_OK && !has_failed) {
        fail_script(script, "a batch ends with status %d", status);
    }
    script->is_known = script->is_known && status == SW_OK;
    return status == SW_OK;
}

static struct sw_batch batch_of(const struct script *script, enum sw_op op, uint32_t first,
                                uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        put_key(script, first + i, first + i, first + i + 1);
    }
    const size_t word = script->config.slot_bits / 16;
    const bool is_set = script->config.is_set;
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = op,
                             .count = count,
                             .keys = (char *)script->keys + first * word,
                             .values = is_set ? NULL : (char *)script->values + first * word,
                             .previous = is_set ? NULL : (char *)script->previous + first * word,
                             .found = script->found + first / 64};
    return batch;
}

static void model_batch(struct script *script, enum sw_op op, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        script->model[i] = op == SW_SET ? i + 1 : op == SW_DELETE ? 0 : script->model[i];
    }
}

static void run_batch(struct script *script, enum sw_op op, uint32_t first, uint32_t count)
{
    struct sw_batch batch = batch_of(script, op, first, count);
    int status = sw_batch_submit(script->queues[first / 64 % 2], &batch);
    if (status == SW_OK) {
        status = poll_to_end(script, script->queues[first / 64 % 2], &batch);
    }
    /* a cache that finds no memory to grow evicts */
    const bool may_evict = script->config.engine == SW_ENGINE_CACHE && emu_has_failed();
    if (!is_good(script, status) || !script->is_known || may_evict) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const bool found = batch.found[i / 64] >> (i % 64) & 1;
        const uint64_t held = script->model[first + i];
        expect(script, found == (held != 0), "the table finds the keys that the model holds");
        expect(script, !found || batch.previous == NULL || previous_at(script, first + i) == held,
               "values are the model's");
    }
    model_batch(script, op, first, count);
}

/* Four writes of both queues that are submitted before any is polled. */
static void run_several(struct script *script)
{
    struct sw_batch batches[4];
    int status[4];
    for (uint32_t b = 0; b < 4; b++) {
        batches[b] = batch_of(script, SW_SET, 1024 + 128 * b, 100);
        status[b] = sw_batch_submit(script->queues[b % 2], &batches[b]);
    }
    for (uint32_t b = 0; b < 4; b++) {
        if (status[b] == SW_OK) {
            status[b] = poll_to_end(script, script->queues[b % 2], &batches[b]);
        }
        if (is_good(script, status[b])) {
            model_batch(script, SW_SET, 1024 + 128 * b, 100);
        }
    }
}

static void run_kind(struct script *script, enum sw_batch_kind kind, uint64_t capacity)
{
    struct sw_table_info info;
    sw_table_info(script->table, &info);
    if ((info.batch_kinds >> kind & 1) == 0) {
        return;
    }
    struct sw_batch batch = {.kind = kind, .capacity = capacity};
    if (kind == SW_BATCH_SCAN) {
        batch.scan.keys = script->keys;
        batch.scan.values = script->config.is_set ? NULL : script->values;
        batch.count = 64;
    }
    int status = sw_batch_submit(script->queues[0], &batch);
    if (status == SW_OK) {
        status = poll_to_end(script, script->queues[0], &batch);
    }
    if (is_good(script, status) && kind == SW_BATCH_CLEAR) {
        memset(script->model, 0, sizeof(script->model));
    }
}

static uint64_t number_at(const struct script *script, const uint64_t *array, uint32_t i)
{
    return script->config.slot_bits == 64 ? ((const uint32_t *)array)[i] : array[i];
}

/* Reads an image. A failed copy or read must return an error, and leaves the table unchanged. After
 * a failure the model does not describe a cache, which may have had no memory to grow. */
static void run_image(struct script *script)
{
    const bool was_known = script->is_known;
    struct sw_image *image = NULL;
    uint32_t got = 0;
    int status = sw_image_take(script->queues[1], false, &image);
    if (status == SW_OK) {
        status = sw_image_read(image, KEYS, script->keys,
                               script->config.is_set ? NULL : script->values, NULL, &got);
    }
    sw_image_drop(image);
    bool good = is_good(script, status);
    script->is_known = was_known && status != SW_E_DEVICE;
    good = good && (script->config.engine != SW_ENGINE_CACHE || !emu_has_failed());
    for (uint32_t i = 0; i < got && good && script->is_known; i++) {
        const uint64_t key = number_at(script, script->keys, i);
        const uint64_t value =
            script->config.is_set ? key + 1 : number_at(script, script->values, i);
        expect(script, key < KEYS && value == script->model[key],
               "an image has what the model holds");
    }
}

/* --- times ------------------------------------------------------------------------------------ */

#define START 1000000000000ULL
#define FAR (START + 1000000)

/* The time of keys [first, first + count) may have come. */
static void model_clock(struct script *script, uint32_t first, uint32_t count, uint64_t clock_ms)
{
    for (uint32_t i = first; i < first + count; i++) {
        if (script->at[i] != 0 && script->at[i] <= clock_ms) {
            script->model[i] = 0;
            script->at[i] = 0;
        }
    }
}

/* A batch that found no memory for times changes nothing. Its answers must not show what the
 * table's arrays hold of other batches: a value is 0 or that of the key itself. */
static void check_refused(struct script *script, const struct sw_batch *batch, uint32_t first)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        const uint64_t previous = script->config.slot_bits == 64
                                      ? ((const uint32_t *)batch->previous)[i]
                                      : ((const uint64_t *)batch->previous)[i];
        expect(script, (batch->found[i / 64] >> (i % 64) & 1) == 0, "a refused batch finds no key");
        expect(script, previous == 0 || previous == first + i + 1,
               "a refused batch shows no other value");
        expect(script, batch->expires_out[i] == 0 || batch->expires_out[i] == script->at[first + i],
               "a refused batch shows no other time");
    }
}

/* A batch at a clock, whose SETs, or EXPIREs, give the time `at`. */
static void run_timed(struct script *script, enum sw_op op, uint32_t first, uint32_t count,
                      uint64_t clock_ms, uint64_t at)
{
    struct sw_batch batch = batch_of(script, op, first, count);
    batch.clock_ms = clock_ms;
    batch.expire_at = at;
    batch.expires_out = script->times;
    batch.wants_expired_keys = true;
    memset(batch.previous, 0xa5, count * (script->config.slot_bits / 16));
    memset(script->times, 0xa5, count * sizeof(*script->times));
    int status = sw_batch_submit(script->queues[0], &batch);
    if (status == SW_OK) {
        status = poll_to_end(script, script->queues[0], &batch);
    }
    free(batch.expired_keys);
    if (status == SW_E_FULL) {
        check_refused(script, &batch, first);
    }
    if (!is_good(script, status) || !script->is_known) {
        return;
    }
    model_clock(script, first, count, clock_ms);
    for (uint32_t i = 0; i < count; i++) {
        const bool found = batch.found[i / 64] >> (i % 64) & 1;
        expect(script, found == (script->model[first + i] != 0), "what is found has not expired");
        expect(script, script->times[i] == script->at[first + i], "times are the model's");
        if (op == SW_SET || found) {
            script->at[first + i] = op == SW_GET ? script->at[first + i] : at;
        }
    }
    model_batch(script, op, first, count);
}

static void run_sweep(struct script *script, uint64_t clock_ms)
{
    struct sw_batch batch = {
        .kind = SW_BATCH_SWEEP, .count = KEYS, .clock_ms = clock_ms, .wants_expired_keys = true};
    int status = sw_batch_submit(script->queues[1], &batch);
    if (status == SW_OK) {
        status = poll_to_end(script, script->queues[1], &batch);
    }
    free(batch.expired_keys);
    if (is_good(script, status)) {
        model_clock(script, 0, KEYS,
                    clock_ms); /* those that were not removed are as good as gone */
    }
}

/* Keys that expire: by a write to them, by the sweep, and not at all. */
static void run_times(struct script *script)
{
    struct sw_table_info info;
    sw_table_info(script->table, &info);
    if ((info.operations >> SW_EXPIRE & 1) == 0) {
        return;
    }
    run_timed(script, SW_SET, 1600, 150, START, START + 10);
    run_timed(script, SW_SET, 1750, 150, START, FAR);
    run_image(script);
    run_timed(script, SW_GET, 1600, 300, START + 10, 0);
    run_timed(script, SW_SET, 1600, 70, START + 10, 0);
    run_timed(script, SW_EXPIRE, 1740, 60, START + 11, START + 12);
    run_sweep(script, START + 20);
    run_timed(script, SW_GET, 1600, 300, START + 20, 0);
    run_kind(script, SW_BATCH_RESIZE, 2048);
    run_timed(script, SW_EXPIRE, 1600, 300, START + 20, 0);
    run_kind(script, SW_BATCH_RESIZE, 2048);
    run_timed(script, SW_EXPIRE, 1800, 100, START + 20, FAR);
}

static void run_all(struct script *script)
{
    run_batch(script, SW_SET, 0, 700);
    run_batch(script, SW_GET, 0, 800);
    run_several(script);
    run_batch(script, SW_DELETE, 256, 300);
    run_kind(script, SW_BATCH_SCAN, 0);
    run_image(script);
    run_times(script);
    run_batch(script, SW_SET, 0, KEYS); /* grows, where it may */
    run_image(script);
    run_batch(script, SW_GET, 0, KEYS);
    run_kind(script, SW_BATCH_RESIZE, 1 << 14);
    run_batch(script, SW_GET, 0, KEYS);
    run_kind(script, SW_BATCH_CLEAR, 0);
    run_batch(script, SW_GET, 0, KEYS);
    if (emu_is_lost()) {
        struct sw_batch batch = batch_of(script, SW_SET, 0, 10);
        int status = sw_batch_submit(script->queues[1], &batch);
        status = status == SW_OK ? poll_to_end(script, script->queues[1], &batch) : status;
        expect(script, status == SW_E_DEVICE, "a lost table says so");
    }
}

static bool take_memory(struct script *script)
{
    const size_t bytes = KEYS * sizeof(uint64_t) + 64;
    script->keys = sw_io_alloc(script->table, bytes);
    script->values = sw_io_alloc(script->table, bytes);
    script->previous = sw_io_alloc(script->table, bytes);
    script->found = sw_io_alloc(script->table, bytes);
    script->times = sw_io_alloc(script->table, bytes);
    return script->keys != NULL && script->values != NULL && script->previous != NULL &&
           script->found != NULL && script->times != NULL;
}

static void give_memory(struct script *script)
{
    const size_t bytes = KEYS * sizeof(uint64_t) + 64;
    uint64_t *all[] = {script->keys, script->values, script->previous, script->found,
                       script->times};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i] != NULL) {
            sw_io_free(script->table, all[i], bytes);
        }
    }
}

/* Runs the script; returns how many calls it made. */
static uint64_t run_script(struct script *script)
{
    char reason[512] = "";
    emu_fail_call(script->call);
    int status = sw_table_create(&script->config, &script->table, reason, sizeof(reason));
    if (status != SW_OK) {
        expect(script, emu_has_failed() && script->table == NULL && reason[0] != '\0',
               "a table that cannot be made says why");
    } else {
        bool good = take_memory(script);
        for (int q = 0; q < 2 && good; q++) {
            good = sw_queue_create(script->table, &script->queues[q]) == SW_OK;
        }
        expect(script, good || emu_has_failed(), "there is memory for queues and batches");
        if (good) {
            script->is_known = true;
            run_all(script);
        }
        for (int q = 0; q < 2; q++) {
            if (script->queues[q] != NULL) {
                sw_queue_destroy(script->queues[q]);
            }
        }
        give_memory(script);
        sw_table_destroy(script->table);
    }
    uint64_t calls = emu_calls();
    if (emu_allocated() != 0) {
        fail_script(script, "%zu bytes are not given back", emu_allocated());
    }
    return calls;
}

#define CASES 18
static struct script script_of(unsigned number, uint64_t call)
{
    const bool is_set = number >= 12;
    const enum sw_engine engine = is_set ? SW_ENGINE_ROBIN_HOOD : (enum sw_engine)(number / 4);
    struct script script = {.number = number, .call = call};
    sw_table_config_init(&script.config);
    script.config.engine = engine;
    const bool is_streamed = number >= 16; /* on CUDA alone */
    script.config.backend = number % 2 == 0 || is_streamed ? SW_BACKEND_CUDA : SW_BACKEND_CPU;
    script.config.slot_bits = number / (is_streamed ? 1 : 2) % 2 ? 128 : 64;
    script.config.is_set = is_set;
    script.config.tuning.bulk = is_streamed ? SW_CHOICE_ALWAYS : SW_CHOICE_AUTO;
    if (engine == SW_ENGINE_CACHE && script.config.slot_bits == 128) {
        script.config.rows_in = SW_ROWS_IN_HOST; /* without a meaning on the CPU */
    }
    script.config.capacity_slots = engine == SW_ENGINE_CUCKOO ? 8192 : 2048;
    script.config.max_capacity_slots = engine == SW_ENGINE_CUCKOO ? 0 : 16384;
    script.config.batch_ops_max = 4096;
    script.config.stash_slots = 256;
    script.config.threads = 2;
    return script;
}

/* Engine, width and backend. With a call only the run in which that one fails. Returns the runs. */
static uint64_t run_case(unsigned number, uint64_t seed, uint64_t one_of, uint64_t call)
{
    struct script script = script_of(number, 0);
    const uint64_t calls = call == 0 ? run_script(&script) : call;
    uint64_t runs = 0;
    for (uint64_t c = call == 0 ? 1 + seed % one_of : call; c <= calls; c += one_of, runs++) {
        script = script_of(number, c);
        run_script(&script);
    }
    printf("ok case %u, %s, %u-bit slots, %s: %llu calls\n", number, engines[number / 4],
           script.config.slot_bits, script.config.backend == SW_BACKEND_CPU ? "CPU" : "CUDA",
           (unsigned long long)calls);
    return runs;
}

int main(int count, char **words)
{
    uint64_t seed = (uint64_t)time(NULL);
    uint64_t one_of = 1;
    uint64_t only = CASES;
    uint64_t call = 0;
    uint64_t runs = 0;
    for (int i = 1; i + 1 < count; i += 2) {
        uint64_t *option = strcmp(words[i], "--seed") == 0     ? &seed
                           : strcmp(words[i], "--one-of") == 0 ? &one_of
                           : strcmp(words[i], "--case") == 0   ? &only
                           : strcmp(words[i], "--call") == 0   ? &call
                                                               : NULL;
        if (option == NULL) {
            fprintf(stderr, "test_failing [--seed N] [--one-of N] [--case C] [--call N]\n");
            return 2;
        }
        *option = strtoull(words[i + 1], NULL, 10);
    }
    printf("seed %llu, one of %llu calls\n", (unsigned long long)seed, (unsigned long long)one_of);
    for (unsigned c = 0; c < CASES; c++) {
        if (only == CASES || only == c) {
            runs += run_case(c, seed, one_of, call);
        }
    }
    printf("%llu passed, 0 failed\n", (unsigned long long)runs);
    return 0;
}
