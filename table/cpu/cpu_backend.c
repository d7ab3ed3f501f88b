/* SPDX-License-Identifier: MIT
 *
 * cpu_backend.c - the CPU backend: memory, phases, clear and scan.
 *
 * A batch is carried out inside submit, so a queue has no state and poll nothing to wait for.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/backend.h"
#include "table/cpu/cpu.h"
#include "table/cpu/memory.h"
#include "table/cpu/parallel.h"

/* Empty slots are written in pieces of this size, on all threads. */
#define FILL_BYTES (4ULL << 20)
#define IO_ALIGNMENT 64

struct fill {
    uint8_t *bytes;
    uint64_t count;
    uint64_t next;
};

static void fill_job(void *context, uint32_t thread, uint32_t threads)
{
    struct fill *fill = context;
    (void)thread;
    (void)threads;
    for (;;) {
        uint64_t at = __atomic_fetch_add(&fill->next, FILL_BYTES, __ATOMIC_RELAXED);
        if (at >= fill->count) {
            return;
        }
        uint64_t left = fill->count - at;
        memset(fill->bytes + at, 0xFF, (size_t)(left < FILL_BYTES ? left : FILL_BYTES));
    }
}

/* Makes every slot EMPTY. In a write phase, or before anyone else knows the table. */
static void empty_slots(struct sw_cpu *cpu)
{
    struct fill fill = {cpu->slots, cpu->geometry.bytes_total, 0};
    if (sw_pool_try_take(cpu->pool)) {
        sw_pool_run(cpu->pool, fill_job, &fill);
        sw_pool_give_back(cpu->pool);
    } else {
        fill_job(&fill, 0, 1);
    }
    memset(&cpu->state, 0, sizeof(cpu->state));
}

static uint32_t cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) < 1) {
        return 1; /* more cores than cpu_set_t counts, or no /proc: one thread always works */
    }
    return (uint32_t)CPU_COUNT(&set);
}

/* Cuts the scratch's arrays from one area and returns its size; with a base of NULL only counts. */
static uint64_t cut_scratch(struct sw_cpu *cpu, uint32_t threads, uint8_t *base)
{
    struct sw_cpu_scratch *scratch = &cpu->scratch;
    uint64_t undo = cpu->slot_bits == 64 ? sizeof(struct sw_undo_s64) : sizeof(struct sw_undo_s128);
    uint64_t record = sw_parallel_record_bytes(cpu->slot_bits);
    record = undo > record ? undo : record;
    /* whole cache lines each */
    uint64_t ops = ((uint64_t)cpu->batch_ops_max + 63) / 64 * 64;
    uint64_t entries_at = ops * record;
    uint64_t index_at = entries_at + ops * (cpu->slot_bits / 8);
    uint64_t offsets_at = index_at + ops * SW_PARALLEL_INDEX_BYTES;
    uint64_t slices = (uint64_t)threads * SW_CPU_SLICES_PER_THREAD;

    if (base != NULL) {
        scratch->records = base;
        scratch->entries = base + entries_at;
        scratch->index = threads > 1 ? (uint32_t *)(void *)(base + index_at) : NULL;
        scratch->offsets = threads > 1 ? (uint32_t *)(void *)(base + offsets_at) : NULL;
    }
    return threads > 1 ? offsets_at + slices * SW_CPU_PARTITIONS * sizeof(uint32_t) : index_at;
}

static int map_memory(struct sw_cpu *cpu, uint32_t threads)
{
    /* a system that overcommits would give the addresses, and kill us when they are written */
    if (cpu->bytes_reserved > sw_memory_installed()) {
        return SW_E_NOMEM;
    }
    cpu->slots = sw_memory_map(cpu->geometry.bytes_total);
    cpu->scratch.memory = sw_memory_map(cpu->scratch.bytes);
    if (cpu->slots == NULL || cpu->scratch.memory == NULL) {
        return SW_E_NOMEM;
    }
    cut_scratch(cpu, threads, cpu->scratch.memory);
    return SW_OK;
}

static void set_views(struct sw_cpu *cpu, const struct sw_table_config *config)
{
    const struct sw_geometry *geometry = &cpu->geometry;
    uint64_t main_slots = geometry->buckets_total * SW_BUCKET_SLOTS;
    bool stash = geometry->stash_buckets > 0;
    if (cpu->slot_bits == 64) {
        struct sw_slot_s64 *slots = cpu->slots;
        cpu->table.s64 = (struct sw_table_s64){
            {slots, geometry->buckets, geometry->buckets_total, geometry->max_probe},
            {stash ? slots + main_slots : NULL, geometry->stash_buckets,
             geometry->stash_buckets_total, geometry->stash_buckets_total},
            &cpu->state,
            geometry->occupied_max,
            geometry->stash_max,
            config->seed};
    } else {
        struct sw_slot_s128 *slots = cpu->slots;
        cpu->table.s128 = (struct sw_table_s128){
            {slots, geometry->buckets, geometry->buckets_total, geometry->max_probe},
            {stash ? slots + main_slots : NULL, geometry->stash_buckets,
             geometry->stash_buckets_total, geometry->stash_buckets_total},
            &cpu->state,
            geometry->occupied_max,
            geometry->stash_max,
            config->seed};
    }
}

static void cpu_close(void *table)
{
    struct sw_cpu *cpu = table;
    sw_pool_destroy(cpu->pool);
    sw_memory_unmap(cpu->scratch.memory, cpu->scratch.bytes);
    sw_memory_unmap(cpu->slots, cpu->geometry.bytes_total);
    sw_phase_lock_fini(&cpu->lock);
    free(cpu);
}

static int refuse_memory(uint64_t bytes, char *reason, size_t reason_size)
{
    snprintf(reason, reason_size,
             "the table needs %llu MiB of memory, this machine has %llu MiB: lower the capacity",
             (unsigned long long)(bytes >> 20), (unsigned long long)(sw_memory_installed() >> 20));
    return SW_E_NOMEM;
}

static int cpu_open(const struct sw_table_config *config, const struct sw_geometry *geometry,
                    void **out, char *reason, size_t reason_size)
{
    uint32_t threads = config->threads > 0 ? config->threads : cores();
    if (threads > SW_CPU_THREADS_MAX) {
        threads = SW_CPU_THREADS_MAX;
    }
    *out = NULL;
    struct sw_cpu *cpu = calloc(1, sizeof(*cpu));
    if (cpu == NULL || sw_phase_lock_init(&cpu->lock) != SW_OK) {
        free(cpu);
        return refuse_memory(geometry->bytes_total, reason, reason_size);
    }
    cpu->geometry = *geometry;
    cpu->slot_bits = config->slot_bits;
    cpu->batch_ops_max = config->batch_ops_max;
    cpu->scratch.bytes = cut_scratch(cpu, threads, NULL);
    cpu->bytes_reserved = geometry->bytes_total + cpu->scratch.bytes;
    if (map_memory(cpu, threads) != SW_OK) {
        uint64_t bytes = cpu->bytes_reserved;
        cpu_close(cpu);
        return refuse_memory(bytes, reason, reason_size);
    }
    if (sw_pool_create(threads, &cpu->pool) != SW_OK) {
        cpu_close(cpu);
        snprintf(reason, reason_size, "the %u threads of the table could not be started",
                 (unsigned)threads);
        return SW_E_NOMEM;
    }
    set_views(cpu, config);
    empty_slots(cpu);
    snprintf(reason, reason_size, "%u thread%s", (unsigned)threads, threads > 1 ? "s" : "");
    *out = cpu;
    return SW_OK;
}

static uint64_t cpu_bytes_reserved(const void *table)
{
    return ((const struct sw_cpu *)table)->bytes_reserved;
}

static void *cpu_io_alloc(void *table, size_t bytes)
{
    (void)table;
    if (bytes > PTRDIFF_MAX - IO_ALIGNMENT) {
        return NULL;
    }
    bytes = bytes > 0 ? (bytes + IO_ALIGNMENT - 1) / IO_ALIGNMENT * IO_ALIGNMENT : IO_ALIGNMENT;
    return aligned_alloc(IO_ALIGNMENT, bytes);
}

static void cpu_io_free(void *table, void *memory, size_t bytes)
{
    (void)table;
    (void)bytes;
    free(memory);
}

static int cpu_queue_open(void *table, void **out)
{
    *out = table;
    return SW_OK;
}

static void cpu_queue_close(void *queue)
{
    (void)queue;
}

static void run_clear(struct sw_cpu *cpu, struct sw_batch *batch)
{
    sw_phase_lock_enter_write(&cpu->lock);
    batch->counters.deleted = cpu->state.occupied;
    batch->_stash_change = -(int64_t)cpu->state.stash_occupied;
    empty_slots(cpu);
    sw_phase_lock_leave_write(&cpu->lock);
}

/* The memory itself serves as the windows. */
static void run_scan(struct sw_cpu *cpu, struct sw_batch *batch)
{
    const struct sw_geometry *geometry = &cpu->geometry;
    struct sw_scan_window main = {0};
    struct sw_scan_window stash = {0};
    const uint8_t *slots = cpu->slots;
    uint64_t bucket_bytes = (uint64_t)SW_BUCKET_SLOTS * cpu->slot_bits / 8;

    sw_phase_lock_enter_read(&cpu->lock);
    if (cpu->slot_bits == 64) {
        uint32_t m = batch->cursor < UINT32_MAX ? (uint32_t)batch->cursor : UINT32_MAX;
        main.first = sw_home_s64(&cpu->table.s64.main, m);
        stash.first = sw_home_s64(&cpu->table.s64.stash, m);
    } else {
        main.first = sw_home_s128(&cpu->table.s128.main, batch->cursor);
        stash.first = sw_home_s128(&cpu->table.s128.stash, batch->cursor);
    }
    main.slots = slots + main.first * bucket_bytes;
    if (cpu->state.stash_occupied > 0) {
        stash.slots = slots + (geometry->buckets_total + stash.first) * bucket_bytes;
        stash.buckets = geometry->stash_buckets_total - stash.first;
    }
    uint64_t rest = geometry->buckets_total - main.first;
    main.buckets = SW_SCAN_WINDOW < rest ? SW_SCAN_WINDOW : rest;
    while (!sw_scan_collect(cpu->slot_bits, &cpu->table, &cpu->state, &main, &stash, batch)) {
        main.buckets = main.buckets < rest / 2 ? main.buckets * 2 : rest;
    }
    sw_phase_lock_leave_read(&cpu->lock);
}

static int cpu_submit(void *queue, struct sw_batch *batch)
{
    struct sw_cpu *cpu = queue;
    switch (batch->kind) {
    case SW_BATCH_OPERATIONS:
        sw_cpu_run_operations(cpu, batch);
        break;
    case SW_BATCH_CLEAR:
        run_clear(cpu, batch);
        break;
    case SW_BATCH_SCAN:
        run_scan(cpu, batch);
        break;
    }
    return SW_OK;
}

static int cpu_poll(void *queue, struct sw_batch *batch)
{
    (void)queue;
    return batch->status;
}

static int cpu_read_back(void *table, struct sw_state *state, void *slots)
{
    struct sw_cpu *cpu = table;
    sw_phase_lock_enter_read(&cpu->lock);
    *state = cpu->state;
    memcpy(slots, cpu->slots, (size_t)cpu->geometry.bytes_total);
    sw_phase_lock_leave_read(&cpu->lock);
    return SW_OK;
}

const struct sw_backend sw_backend_cpu = {
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .bytes_reserved = cpu_bytes_reserved,
    .io_alloc = cpu_io_alloc,
    .io_free = cpu_io_free,
    .queue_open = cpu_queue_open,
    .queue_close = cpu_queue_close,
    .submit = cpu_submit,
    .poll = cpu_poll,
    .read_back = cpu_read_back,
};
