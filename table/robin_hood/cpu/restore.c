/* SPDX-License-Identifier: MIT
 *
 * restore.c - fills an empty table: begin, add, end, for all formats.
 */
#include "table/robin_hood/cpu/restore.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "table/host/memory.h"
#include "table/robin_hood/cpu/arrays.h"
#include "table/robin_hood/cpu/image.h"
#include "table/robin_hood/cpu/resize.h"

/* Bytes of the slots of a segment. Segments are larger if there would be more than SEGMENTS_MAX,
 * since each adding thread has a cache line for every segment. */
#define SEGMENT_BYTES (1ULL << 20)
#define SEGMENTS_MAX 4096U
#define LINE_BYTES 64U

#define RH_FIELD SW_WIDTH_SUFFIX
#define SW_WIDTH_BODY "table/robin_hood/cpu/restore.inl"
#include "table/each_format.inl"

/* --- begin ------------------------------------------------------------------------------------ */

static void cut_segments(struct sw_cpu_restore *restore)
{
    const struct sw_cpu *cpu = restore->cpu;
    const uint64_t buckets = cpu->geometry.buckets;
    const uint64_t bucket_bytes =
        (uint64_t)SW_BUCKET_SLOTS * sw_format_slot_bytes(sw_cpu_format(cpu));
    while ((bucket_bytes << restore->segment_shift) < SEGMENT_BYTES ||
           (buckets >> restore->segment_shift) >= SEGMENTS_MAX) {
        restore->segment_shift++;
    }
    assert(buckets > 0);
    restore->segments = (uint32_t)(((buckets - 1) >> restore->segment_shift) + 1);
}

/* Grows the table for `entries` entries and cuts segments. In an exclusive phase; the table must be
 * empty. */
static int prepare(struct sw_cpu_restore *restore, uint64_t entries)
{
    struct sw_cpu *cpu = restore->cpu;
    if (cpu->state.occupied > 0) {
        return SW_E_UNSUPPORTED;
    }
    sw_cpu_abandon_image(cpu);
    sw_arena_clear(&cpu->arena);
    if (entries > cpu->geometry.occupied_max && sw_geometry_may_hold(&cpu->config, entries) &&
        sw_cpu_may_grow(cpu)) {
        sw_cpu_grow(cpu, entries);
    }
    if (entries > cpu->geometry.occupied_max) {
        return SW_E_FULL;
    }
    cut_segments(restore);
    restore->counts = calloc(restore->segments, sizeof(*restore->counts));
    return restore->counts != NULL ? SW_OK : SW_E_NOMEM;
}

static void free_restore(struct sw_cpu_restore *restore)
{
    pthread_mutex_destroy(&restore->mutex);
    free(restore->counts);
    free(restore->overflow);
    free(restore);
}

int sw_cpu_restore_begin(void *table, uint64_t entries, void **out)
{
    struct sw_cpu *cpu = table;
    struct sw_cpu_restore *restore = calloc(1, sizeof(*restore));
    *out = NULL;
    if (restore == NULL) {
        return SW_E_NOMEM;
    }
    restore->cpu = cpu;
    pthread_mutex_init(&restore->mutex, NULL);
    (void)sw_phase_lock_enter_uncounted(&cpu->lock);
    int status = prepare(restore, entries);
    if (status != SW_OK) {
        sw_phase_lock_leave_write(&cpu->lock);
        free_restore(restore);
        return status;
    }
    *out = restore;
    return SW_OK;
}

/* --- add -------------------------------------------------------------------------------------- */

static int add_pairs(struct sw_cpu_restore *restore, const void *keys, const void *values,
                     uint32_t count)
{
    void *lines = aligned_alloc(LINE_BYTES, (size_t)restore->segments * LINE_BYTES);
    uint8_t *counts = calloc(restore->segments, 1);
    bool enough = lines != NULL && counts != NULL;
    if (enough) {
        SW_BY_FORMAT(sw_cpu_format(restore->cpu), sw_add, restore, keys, values, count, lines,
                     counts);
    }
    free(lines);
    free(counts);
    return enough && !__atomic_load_n(&restore->failed, __ATOMIC_RELAXED) ? SW_OK : SW_E_NOMEM;
}

/* Copies rows to the arena, numbers them in order of arrival, and adds their numbers. */
static int add_rows(struct sw_cpu_restore *restore, const void *keys, const uint8_t *rows,
                    uint32_t count)
{
    const struct sw_arena *arena = &restore->cpu->arena;
    const uint32_t word_bytes = restore->cpu->config.slot_bits / 16;
    const uint64_t first = __atomic_fetch_add(&restore->rows, count, __ATOMIC_RELAXED);
    if (first + count > arena->mapped) { /* more rows than announced: finish() reports it */
        return SW_OK;
    }
    uint8_t *numbers = malloc((size_t)count * word_bytes);
    if (numbers == NULL) {
        return SW_E_NOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t row = first + i;
        memcpy(sw_arena_row(arena, row), rows + (size_t)i * arena->value_bytes, arena->value_bytes);
        memcpy(numbers + (size_t)i * word_bytes, &row, word_bytes);
    }
    int status = add_pairs(restore, keys, numbers, count);
    free(numbers);
    return status;
}

int sw_cpu_restore_add(void *context, const void *keys, const void *values, uint32_t count)
{
    struct sw_cpu_restore *restore = context;
    return restore->cpu->arena.rows != NULL ? add_rows(restore, keys, values, count)
                                            : add_pairs(restore, keys, values, count);
}

/* --- end -------------------------------------------------------------------------------------- */

static void lay_out_job(void *context, uint32_t thread, uint32_t threads)
{
    struct sw_cpu_restore *restore = context;
    const uint32_t format = sw_cpu_format(restore->cpu);
    const uint64_t buckets = 1ULL << restore->segment_shift;
    void *entries = malloc(buckets * SW_BUCKET_SLOTS * sw_format_slot_bytes(format));
    uint32_t *bins = malloc(buckets * SW_BUCKET_SLOTS * sizeof(*bins));
    (void)thread;
    (void)threads;
    if (entries == NULL || bins == NULL) {
        __atomic_store_n(&restore->failed, true, __ATOMIC_RELAXED);
    }
    while (!__atomic_load_n(&restore->failed, __ATOMIC_RELAXED)) {
        uint32_t segment = __atomic_fetch_add(&restore->next, 1, __ATOMIC_RELAXED);
        if (segment >= restore->segments) {
            break;
        }
        SW_BY_FORMAT(format, sw_lay_out, restore, segment, entries, bins);
    }
    free(entries);
    free(bins);
}

/* Lays out all segments, and inserts the overflow. */
static int finish(struct sw_cpu_restore *restore)
{
    struct sw_cpu *cpu = restore->cpu;
    uint64_t total = restore->side;
    if (sw_pool_try_lock(cpu->pool)) {
        sw_pool_run(cpu->pool, lay_out_job, restore);
        sw_pool_unlock(cpu->pool);
    } else {
        lay_out_job(restore, 0, 1);
    }
    if (restore->failed || restore->repeated) {
        return restore->failed ? SW_E_NOMEM : SW_E_INVALID;
    }
    for (uint32_t segment = 0; segment < restore->segments; segment++) {
        total += restore->counts[segment];
    }
    if (total > cpu->geometry.occupied_max || restore->rows > cpu->arena.mapped) {
        return SW_E_FULL;
    }
    assert(restore->overflow_count <= total);
    cpu->arena.high = restore->rows;
    cpu->state = (struct sw_state){.occupied = total - restore->overflow_count,
                                   .side_value = restore->side_value,
                                   .side_present = restore->side};
    const int status = SW_BY_FORMAT(sw_cpu_format(cpu), sw_insert_rest, restore);
    const struct sw_id_entries entries = sw_cpu_id_entries(cpu);
    return status == SW_OK && cpu->ids.limit > 0 ? sw_collect_ids(&entries, &cpu->ids) : status;
}

int sw_cpu_restore_end(void *context, bool keep, struct sw_batch *batch)
{
    struct sw_cpu_restore *restore = context;
    struct sw_cpu *cpu = restore->cpu;
    int status = keep ? finish(restore) : SW_OK;
    if (!keep || status != SW_OK) {
        sw_cpu_arrays_empty(cpu, &cpu->geometry, cpu->slots);
        cpu->state = (struct sw_state){0};
        sw_arena_clear(&cpu->arena);
        sw_ids_clear(&cpu->ids);
    }
    batch->counters.inserted = cpu->state.occupied;
    batch->_stash_change = (int64_t)cpu->state.stash_occupied;
    sw_phase_lock_leave_write(&cpu->lock);
    free_restore(restore);
    return status;
}
