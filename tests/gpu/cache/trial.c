/* SPDX-License-Identifier: MIT
 *
 * trial.c - memory, values and contents of the cache's GPU tests.
 */
#include "tests/gpu/cache/trial.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAULTS_PRINTED 5

static void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes == 0 ? 1 : bytes);
    if (memory == NULL) {
        printf("no memory\n");
        exit(2);
    }
    return memory;
}

void trial_open(struct trial_cache *cache, const struct sw_table_config *config)
{
    char reason[256];
    if (sw_table_create(config, &cache->table, reason, sizeof(reason)) != SW_OK ||
        sw_queue_create(cache->table, &cache->queue) != SW_OK) {
        printf("sw_table_create: %s\n", reason);
        exit(2);
    }
    sw_table_info(cache->table, &cache->info);
    cache->io = (struct io_memory){.table = cache->table};
}

void trial_close(struct trial_cache *cache)
{
    io_free(&cache->io);
    sw_queue_destroy(cache->queue);
    sw_table_destroy(cache->table);
}

static uint32_t word_of(uint64_t key, uint32_t version, uint32_t place)
{
    uint64_t x = key * 0x9e3779b97f4a7c15ULL + version * 0xbf58476d1ce4e5b9ULL + place;
    x = (x ^ (x >> 30)) * 0x94d049bb133111ebULL;
    return (uint32_t)(x >> 32);
}

void trial_value(void *value, uint32_t value_bytes, uint64_t key, uint32_t version)
{
    uint32_t words = value_bytes / 4;
    for (uint32_t w = 0; w < words; w++) {
        uint32_t word = word_of(key, words == 1 ? 0 : version, w);
        word = words > 1 && w == 0 ? version : word;
        memcpy((uint8_t *)value + 4 * w, &word, 4);
    }
}

bool trial_value_checks(const void *value, uint32_t value_bytes, uint64_t key)
{
    uint32_t expected[SW_CACHE_VALUE_BYTES_MAX / 4];
    uint32_t version;
    memcpy(&version, value, 4);
    trial_value(expected, value_bytes, key, version);
    return memcmp(expected, value, value_bytes) == 0;
}

struct pair {
    uint64_t key;
    uint64_t place;
};

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

void trial_sort(uint64_t *numbers, uint64_t count)
{
    qsort(numbers, count, sizeof(*numbers), compare);
}

struct trial_contents *trial_contents(struct trial_cache *cache)
{
    uint64_t capacity = cache->info.capacity_slots;
    uint32_t bytes = cache->info.value_bytes;
    struct io_memory io = {.table = cache->table};
    uint64_t *keys = io_array(&io, capacity * sizeof(*keys));
    uint64_t *scores = io_array(&io, capacity * sizeof(*scores));
    uint8_t *values = io_array(&io, capacity * bytes);
    struct sw_batch scan = {.kind = SW_BATCH_SCAN,
                            .count = (uint32_t)capacity,
                            .scan.keys = keys,
                            .scan.values = values,
                            .scan.scores = scores};
    if (sw_batch_run(cache->queue, &scan) != SW_OK || scan.scan.cursor != 0) {
        printf("a scan failed\n");
        exit(2);
    }
    uint64_t count = scan.scan.got;
    struct trial_contents *contents = allocate(sizeof(*contents));
    contents->count = count;
    contents->keys = allocate(count * sizeof(*keys));
    contents->scores = allocate(count * sizeof(*scores));
    contents->values = allocate(count * bytes);
    struct pair *pairs = allocate(count * sizeof(*pairs));
    for (uint64_t i = 0; i < count; i++) {
        pairs[i] = (struct pair){keys[i], i};
    }
    qsort(pairs, count, sizeof(*pairs), compare);
    for (uint64_t i = 0; i < count; i++) {
        contents->keys[i] = pairs[i].key;
        contents->scores[i] = scores[pairs[i].place];
        memcpy(contents->values + i * bytes, values + pairs[i].place * bytes, bytes);
    }
    free(pairs);
    io_free(&io);
    return contents;
}

void trial_contents_free(struct trial_contents *contents)
{
    free(contents->keys);
    free(contents->scores);
    free(contents->values);
    free(contents);
}

void trial_fault(struct trial_faults *faults, const char *format, ...)
{
    va_list arguments;
    faults->count++;
    if (faults->count > FAULTS_PRINTED) {
        return;
    }
    printf("  %s: ", faults->name);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

void trial_expect(struct trial_faults *faults, int status, const char *what)
{
    if (status != SW_OK) {
        trial_fault(faults, "%s: %s", what, sw_status_text(status));
    }
}

void trial_audit(struct trial_faults *faults, struct trial_cache *cache)
{
    char violation[256] = "";
    int status = sw_table_check(cache->table, violation, sizeof(violation));
    if (status != SW_OK) {
        trial_fault(faults, "%s: %s", sw_status_text(status), violation);
    }
}
