/* SPDX-License-Identifier: MIT
 *
 * test_image_gpu.c - images of tables on a GPU: each key once, with the value of one instant, while
 * another thread writes; and scores of a cache that are restored.
 *
 *   test_image_gpu [--keys N] [--cpu]
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/table.h"

#define IMAGES 6
#define BATCH 512U

static enum sw_backend_kind backend = SW_BACKEND_CUDA;
static uint32_t keys_max = 3000;
static unsigned passed, failed;

/* Stops the program: what is wrong once is wrong in all that follows. */
static void expect(bool holds, const char *what, uint64_t got, uint64_t wanted)
{
    if (!holds) {
        printf("not ok %s: %" PRIu64 ", not %" PRIu64 "\n", what, got, wanted);
        printf("%u passed, %u failed\n", passed, failed + 1);
        exit(1);
    }
}

static void expect_equal(const char *what, uint64_t got, uint64_t wanted)
{
    expect(got == wanted, what, got, wanted);
}

/* --- a table whose keys all have one value ---------------------------------------------------- */

struct subject {
    struct sw_table *table;
    struct sw_queue *queue;
    struct sw_table_info info;
    uint8_t *keys, *values; /* I/O memory */
    bool stop;              /* atomic */
};

/* The last key is the one that has no slot in cuckoo; 0 is among them. */
static uint64_t key_of(uint32_t number)
{
    return number + 1 == keys_max ? UINT64_MAX : number * 7919ULL;
}

static void open_subject(struct subject *subject, enum sw_engine engine, uint32_t slot_bits)
{
    struct sw_table_config config;
    char reason[512] = "";
    memset(subject, 0, sizeof(*subject));
    sw_table_config_init(&config);
    config.backend = backend;
    config.engine = engine;
    config.slot_bits = slot_bits;
    config.capacity_slots = engine == SW_ENGINE_CACHE ? 8 * keys_max : 2 * keys_max;
    config.batch_ops_max = keys_max;
    config.stash_slots = 64;
    config.threads = 1;
    config.value_bytes = engine != SW_ENGINE_CACHE ? 0 : slot_bits == 64 ? 16 : 100;
    int status = sw_table_create(&config, &subject->table, reason, sizeof(reason));
    if (status != SW_OK) {
        printf("not ok no table: %s\n", reason);
        exit(1);
    }
    sw_table_info(subject->table, &subject->info);
    expect_equal("a queue", (uint64_t)sw_queue_create(subject->table, &subject->queue), SW_OK);
    subject->keys = sw_io_alloc(subject->table, (size_t)keys_max * subject->info.key_bytes);
    subject->values = sw_io_alloc(subject->table, (size_t)keys_max * subject->info.value_bytes);
    for (uint32_t i = 0; i < keys_max; i++) {
        uint64_t key = key_of(i);
        memcpy(subject->keys + (size_t)i * subject->info.key_bytes, &key, subject->info.key_bytes);
    }
}

static void close_subject(struct subject *subject)
{
    sw_io_free(subject->table, subject->keys, (size_t)keys_max * subject->info.key_bytes);
    sw_io_free(subject->table, subject->values, (size_t)keys_max * subject->info.value_bytes);
    sw_queue_destroy(subject->queue);
    sw_table_destroy(subject->table);
}

/* Sets every key to `value`, by one batch. */
static uint64_t set_all(struct subject *subject, uint32_t value)
{
    const uint32_t bytes = subject->info.value_bytes;
    memset(subject->values, 0, (size_t)keys_max * bytes);
    for (uint32_t i = 0; i < keys_max; i++) {
        memcpy(subject->values + (size_t)i * bytes, &value, sizeof(value));
    }
    struct sw_batch batch = {
        .op = SW_SET, .count = keys_max, .keys = subject->keys, .values = subject->values};
    expect_equal("SET", (uint64_t)sw_batch_run(subject->queue, &batch), SW_OK);
    return batch.write_sequence;
}

/* Reads the image: every key once, all with one value, which is returned. */
static uint32_t read_image(const struct subject *subject, struct sw_image *image)
{
    const struct sw_table_info *info = &subject->info;
    static uint64_t keys[BATCH];
    static uint8_t values[BATCH * 1024];
    uint8_t *seen = calloc(keys_max, 1);
    uint32_t total = 0, value = 0, got = BATCH;
    while (got == BATCH) {
        expect_equal("an image", (uint64_t)sw_image_read(image, BATCH, keys, values, NULL, &got),
                     SW_OK);
        for (uint32_t i = 0; i < got; i++) {
            uint64_t key = 0;
            uint32_t its = 0;
            memcpy(&key, (uint8_t *)keys + (size_t)i * info->key_bytes, info->key_bytes);
            memcpy(&its, values + (size_t)i * info->value_bytes, sizeof(its));
            bool is_last = key == (info->key_bytes == 4 ? UINT32_MAX : UINT64_MAX);
            uint64_t number = is_last ? keys_max - 1 : key / 7919;
            expect(number < keys_max && !seen[number], "a key", key, number);
            seen[number] = 1;
            value = value == 0 ? its : value;
            expect_equal("one instant", its, value);
        }
        total += got;
    }
    expect_equal("keys", total, keys_max);
    free(seen);
    return value;
}

static void *write_on(void *context)
{
    struct subject *subject = context;
    for (uint32_t value = 2; !__atomic_load_n(&subject->stop, __ATOMIC_RELAXED); value++) {
        expect_equal("write_sequence", set_all(subject, value), value);
    }
    return NULL;
}

static void beside_writes(enum sw_engine engine, uint32_t slot_bits)
{
    struct subject subject;
    struct sw_queue *queue = NULL;
    struct sw_image *image = NULL;
    pthread_t writer;
    open_subject(&subject, engine, slot_bits);
    expect_equal("a queue", (uint64_t)sw_queue_create(subject.table, &queue), SW_OK);
    expect_equal("write_sequence", set_all(&subject, 1), 1);
    expect(sw_image_bytes(subject.table) > 0, "bytes of an image", 0, 1);
    pthread_create(&writer, NULL, write_on, &subject);
    for (int i = 0; i < IMAGES; i++) {
        expect_equal("taking one", (uint64_t)sw_image_take(queue, false, &image), SW_OK);
        expect_equal("the value of its sequence", read_image(&subject, image),
                     sw_image_sequence(image));
        sw_image_drop(image);
    }
    __atomic_store_n(&subject.stop, true, __ATOMIC_RELAXED);
    pthread_join(writer, NULL);
    uint64_t last = set_all(&subject, 77);
    expect_equal("taking one", (uint64_t)sw_image_take(queue, true, &image), SW_OK);
    expect_equal("borrowed", read_image(&subject, image), 77);
    expect_equal("its sequence", sw_image_sequence(image), last);
    sw_image_drop(image);
    sw_queue_destroy(queue);
    sw_queue_destroy(subject.queue);
    sw_table_set_sequence(subject.table, 1000000);
    expect_equal("a queue", (uint64_t)sw_queue_create(subject.table, &subject.queue), SW_OK);
    expect_equal("numbers go on", set_all(&subject, 5), 1000001);
    close_subject(&subject);
    printf("ok images of engine %d, slots of %u bits\n", (int)engine, slot_bits);
    passed++;
}

/* --- scores ----------------------------------------------------------------------------------- */

static void restored(enum sw_cache_policy policy)
{
    struct sw_table_config config;
    struct sw_table *table = NULL;
    struct sw_queue *queue = NULL;
    sw_table_config_init(&config);
    config.backend = backend;
    config.engine = SW_ENGINE_CACHE;
    config.capacity_slots = 4096;
    config.batch_ops_max = 64;
    config.value_bytes = 8;
    config.cache_policy = policy;
    expect_equal("a cache", (uint64_t)sw_table_create(&config, &table, NULL, 0), SW_OK);
    expect_equal("a queue", (uint64_t)sw_queue_create(table, &queue), SW_OK);
    uint64_t *io = sw_io_alloc(table, 4 * 64 * sizeof(*io));
    uint64_t *keys = io, *values = io + 64, *scores = io + 128, *after = io + 192;
    struct sw_batch epoch = {.kind = SW_BATCH_EPOCH, .epoch = 3};
    if (sw_cache_has_epochs(policy)) {
        expect_equal("EPOCH", (uint64_t)sw_batch_run(queue, &epoch), SW_OK);
    }
    for (uint64_t i = 0; i < 64; i++) {
        keys[i] = values[i] = i;
        scores[i] = (sw_cache_has_epochs(policy) ? 3ULL << 32 : 0) + 1000 + 17 * i;
    }
    struct sw_batch restore = {.op = SW_SET,
                               .count = 64,
                               .keys = keys,
                               .values = values,
                               .scores = scores,
                               .restores = true};
    expect_equal("restoring", (uint64_t)sw_batch_run(queue, &restore), SW_OK);
    struct sw_batch peek = {.op = SW_PEEK, .count = 64, .keys = keys, .scores_out = after};
    expect_equal("PEEK", (uint64_t)sw_batch_run(queue, &peek), SW_OK);
    for (uint64_t i = 0; i < 64; i++) {
        expect_equal("a score", after[i], scores[i]);
    }
    struct sw_batch use = {.op = SW_GET, .count = 1, .keys = keys, .scores_out = after};
    expect_equal("GET", (uint64_t)sw_batch_run(queue, &use), SW_OK);
    if (policy == SW_CACHE_LRU || policy == SW_CACHE_EPOCH_LRU) {
        expect(after[0] > scores[63], "a use is later", after[0], scores[63]);
    }
    sw_io_free(table, io, 4 * 64 * sizeof(*io));
    sw_queue_destroy(queue);
    sw_table_destroy(table);
    printf("ok scores of %s are restored\n", sw_cache_policy_name(policy));
    passed++;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--cpu") == 0) {
            backend = SW_BACKEND_CPU;
        } else if (strcmp(argv[i], "--keys") == 0 && i + 1 < argc) {
            keys_max = (uint32_t)strtoul(argv[++i], NULL, 10);
        } else {
            fprintf(stderr, "usage: test_image_gpu [--keys N] [--cpu]\n");
            return 2;
        }
    }
    for (int engine = SW_ENGINE_ROBIN_HOOD; engine <= SW_ENGINE_CACHE; engine++) {
        beside_writes((enum sw_engine)engine, 64);
        beside_writes((enum sw_engine)engine, 128);
    }
    for (int policy = SW_CACHE_LRU; policy <= SW_CACHE_CUSTOM; policy++) {
        restored((enum sw_cache_policy)policy);
    }
    printf("%u passed, %u failed\n", passed, failed);
    return passed == 0;
}
