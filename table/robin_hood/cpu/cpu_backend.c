/* SPDX-License-Identifier: MIT
 *
 * cpu_backend.c - the CPU backend: memory, phases, clear and scans.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/host/memory.h"
#include "table/host/parts.h"
#include "table/robin_hood/check.h"
#include "table/robin_hood/cpu/arrays.h"
#include "table/robin_hood/cpu/combined.h"
#include "table/robin_hood/cpu/cpu.h"
#include "table/robin_hood/cpu/expiry.h"
#include "table/robin_hood/cpu/image.h"
#include "table/robin_hood/cpu/parallel.h"
#include "table/robin_hood/cpu/resize.h"
#include "table/robin_hood/cpu/restore.h"
#include "table/robin_hood/cpu/rounding.h"
#include "table/robin_hood/cpu/row_passes.h"
#include "table/robin_hood/ids_backend.h"
#include "table/robin_hood/robin_hood_backend.h"
#include "table/robin_hood/rows.h"
#include "table/robin_hood/set_backend.h"

/* Row numbers that a scan of a table with rows collects at a time. */
#define SCAN_ROWS 256U

/* Maps rows for the entries of the first capacity, and reserves addresses for all rows. Or maps the
 * memory of ids. */
static int map_rows(struct sw_cpu *cpu)
{
    if (cpu->config.value_bytes == 0) {
        return sw_config_has_ids(&cpu->config) ? sw_ids_open(&cpu->ids, cpu->config.rows_max)
                                               : SW_OK;
    }
    int status = sw_arena_open(&cpu->arena, cpu->config.value_bytes, cpu->config.key_text_bytes,
                               sw_geometry_rows_max(&cpu->config));
    return status == SW_OK ? sw_arena_map(&cpu->arena, cpu->geometry.occupied_max) : status;
}

static void cpu_close(void *table)
{
    struct sw_cpu *cpu = table;
    sw_expiry_close(cpu);
    sw_arena_close(&cpu->arena);
    sw_ids_close(&cpu->ids);
    sw_memory_unmap(cpu->slots, cpu->geometry.bytes_total);
    sw_cpu_combined_close(cpu);
    sw_device_destroy(cpu->own_device);
    pthread_mutex_destroy(&cpu->facts_mutex);
    sw_phase_lock_fini(&cpu->lock);
    free(cpu);
}

static int refuse_memory(uint64_t bytes, char *reason, size_t reason_size)
{
    uint64_t installed = sw_memory_installed();
    uint64_t available = sw_memory_available();
    snprintf(reason, reason_size,
             "the table needs %llu MiB of memory; this machine has %llu MiB, and %llu MiB are "
             "available here: lower the capacity",
             (unsigned long long)(bytes >> 20), (unsigned long long)(installed >> 20),
             (unsigned long long)((available < installed ? available : installed) >> 20));
    return SW_E_NOMEM;
}

static int cpu_submit(void *queue, struct sw_batch *batch);
static int times_open(const struct sw_table_config *config, void **times);

static int times_grow(void *context, uint64_t more)
{
    struct sw_cpu *times = context;
    if (sw_cpu_may_grow(times)) {
        sw_cpu_grow(times, times->state.occupied + more);
    }
    return SW_OK;
}

/* Expiry times are stored in a table of this backend. */
static const struct sw_expiry_table_calls expiry_calls = {
    .open = times_open, .close = cpu_close, .run = cpu_submit, .grow = times_grow};

static int cpu_open(const struct sw_table_config *config, void **out, char *reason,
                    size_t reason_size)
{
    struct sw_geometry geometry;
    *out = NULL;
    int status = sw_geometry_compute(config, &geometry, reason, reason_size);
    if (status != SW_OK) {
        return status;
    }
    if (config->value_bytes != 0 && !sw_rounding_is_exact()) {
        snprintf(
            reason, reason_size,
            "this process does not round 32-bit floats as IEEE 754 requires, so sums of rows would "
            "be wrong: build without -ffast-math, and without libraries that change the rounding");
        return SW_E_UNSUPPORTED;
    }
    struct sw_cpu *cpu = calloc(1, sizeof(*cpu));
    if (cpu == NULL || sw_phase_lock_init(&cpu->lock, config->sequencer) != SW_OK) {
        free(cpu);
        return refuse_memory(geometry.bytes_total, reason, reason_size);
    }
    /* the default attributes of Linux need no resources, so this cannot fail */
    pthread_mutex_init(&cpu->facts_mutex, NULL);
    sw_cpu_combined_open(cpu);
    cpu->geometry = geometry;
    cpu->config = *config;
    cpu->expiry_calls = &expiry_calls;
    status =
        sw_device_join(config, &cpu->device, &cpu->own_device, &cpu->pool, reason, reason_size);
    if (status != SW_OK) {
        cpu_close(cpu);
        return status;
    }
    status = sw_cpu_reserve_scratch(cpu);
    cpu->slots = sw_cpu_arrays_map(&cpu->geometry, cpu->scratch.bytes);
    if (status != SW_OK || cpu->slots == NULL) {
        uint64_t bytes = geometry.bytes_total + cpu->scratch.bytes;
        cpu_close(cpu);
        return refuse_memory(bytes, reason, reason_size);
    }
    sw_cpu_arrays_empty(cpu, &geometry, cpu->slots);
    cpu->table = sw_cpu_arrays_table(cpu, &geometry, cpu->slots, &cpu->state);
    if (map_rows(cpu) != SW_OK) {
        const struct sw_engine_parts *parts =
            config->value_bytes != 0 ? &sw_robin_hood_rows_engine : &sw_robin_hood_ids_engine;
        uint64_t bytes = parts->bytes(config) + cpu->scratch.bytes;
        cpu_close(cpu);
        return refuse_memory(bytes, reason, reason_size);
    }
    sw_cpu_publish(cpu);
    sw_cpu_combined_allow(cpu);
    const uint32_t threads = sw_pool_threads(cpu->pool);
    snprintf(reason, reason_size, "%u thread%s", (unsigned)threads, threads > 1 ? "s" : "");
    *out = cpu;
    return SW_OK;
}

static int times_open(const struct sw_table_config *config, void **times)
{
    char reason[256];
    return cpu_open(config, times, reason, sizeof(reason));
}

/* If an image reads the arrays, leaves them to the image and maps new ones. If memory is short,
 * abandons the image. */
static void leave_arrays_to_image(struct sw_cpu *cpu)
{
    if (cpu->image == NULL) {
        return;
    }
    void *slots = sw_cpu_arrays_map(&cpu->geometry, cpu->geometry.bytes_total + cpu->scratch.bytes);
    if (slots == NULL) {
        sw_cpu_abandon_image(cpu);
        return;
    }
    sw_cpu_release_arrays(cpu, cpu->slots, cpu->geometry.bytes_total);
    cpu->slots = slots;
    cpu->table = sw_cpu_arrays_table(cpu, &cpu->geometry, slots, &cpu->state);
}

static void run_clear(void *table, struct sw_batch *batch)
{
    struct sw_cpu *cpu = table;
    batch->counters.deleted = cpu->state.occupied;
    batch->_stash_change = -(int64_t)cpu->state.stash_occupied;
    leave_arrays_to_image(cpu);
    sw_cpu_arrays_empty(cpu, &cpu->geometry, cpu->slots);
    memset(&cpu->state, 0, sizeof(cpu->state));
    if (cpu->arena.rows != NULL && sw_cpu_leave_rows(cpu) != SW_OK) {
        sw_cpu_abandon_image(cpu);
        sw_arena_clear(&cpu->arena);
    }
    sw_ids_clear(&cpu->ids);
    sw_expiry_clear(cpu);
}

/* Carries out a CLEAR or a RESIZE. */
static int run_pass(struct sw_cpu *cpu, struct sw_batch *batch)
{
    const bool resizes = batch->kind == SW_BATCH_RESIZE;
    void (*run)(void *, struct sw_batch *) = resizes ? sw_cpu_run_resize : run_clear;
    const int status = sw_batch_enter_write(&cpu->lock, batch);
    if (status != SW_OK) {
        return status;
    }
    if (resizes || sw_cpu_pass_is_long(cpu) ||
        sw_pass_is_long(sw_arena_bytes(&cpu->arena, cpu->arena.mapped), &cpu->config.tuning)) {
        sw_long_phase_run(&cpu->long_phase, &cpu->lock, run, cpu, batch);
    } else {
        run(cpu, batch);
        sw_batch_leave_write(&cpu->lock, batch);
    }
    return SW_OK;
}

/* Scans row numbers and then copies the rows, piece by piece. In a read phase. */
static void scan_rows(const struct sw_cpu *cpu, struct sw_batch *batch)
{
    uint64_t numbers[SCAN_ROWS];
    const size_t key_bytes = cpu->config.slot_bits / 16;
    struct sw_batch piece = *batch;
    uint32_t got = 0;
    bool more = true;
    piece.scan.values = numbers;
    while (more) {
        piece.count = batch->count - got < SCAN_ROWS ? batch->count - got : SCAN_ROWS;
        piece.scan.keys = (uint8_t *)batch->scan.keys + got * key_bytes;
        sw_cpu_scan_slots(cpu, &piece);
        sw_cpu_scan_rows(cpu, numbers,
                         (uint8_t *)batch->scan.values + (size_t)got * cpu->arena.value_bytes,
                         piece.scan.got);
        got += piece.scan.got;
        more = piece.scan.cursor != 0 && got < batch->count && piece.scan.got == piece.count;
    }
    batch->scan.cursor = piece.scan.cursor;
    batch->scan.got = got;
}

static int run_scan(struct sw_cpu *cpu, struct sw_batch *batch)
{
    const int status = sw_batch_enter_read(&cpu->lock, batch);
    if (status != SW_OK) {
        return status;
    }
    if (cpu->arena.rows != NULL) {
        scan_rows(cpu, batch);
    } else {
        sw_cpu_scan_slots(cpu, batch);
    }
    sw_expiry_report_clock(cpu, batch);
    if (sw_expiry_some(cpu)) {
        sw_expiry_filter(cpu, batch);
    }
    sw_phase_lock_leave_read(&cpu->lock);
    return SW_OK;
}

static int cpu_submit(void *queue, struct sw_batch *batch)
{
    struct sw_cpu *cpu = queue;
    switch (batch->kind) {
    case SW_BATCH_OPERATIONS:
        return sw_cpu_run_operations(cpu, batch);
    case SW_BATCH_CLEAR:
    case SW_BATCH_RESIZE:
        return run_pass(cpu, batch);
    case SW_BATCH_SCAN:
        return run_scan(cpu, batch);
    case SW_BATCH_SWEEP:
        return sw_expiry_run_sweep(cpu, batch);
    case SW_BATCH_IMAGE:
        sw_cpu_take_image(cpu, batch);
        return SW_OK;
    default: /* table.c rejects the kinds that only a cache supports */
        return SW_OK;
    }
}

static int ids_submit(void *queue, struct sw_batch *batch)
{
    return batch->kind == SW_BATCH_OPERATIONS ? sw_cpu_run_id_operations(queue, batch)
                                              : cpu_submit(queue, batch);
}

static int cpu_check(void *table, char *violation, size_t violation_size)
{
    struct sw_cpu *cpu = table;
    sw_phase_lock_enter_read(&cpu->lock);
    int status = sw_check_slots(sw_cpu_format(cpu), &cpu->geometry, &cpu->state, cpu->slots,
                                violation, violation_size);
    if (status == SW_OK && cpu->arena.rows != NULL) {
        status = sw_cpu_check_rows(cpu, violation, violation_size);
    }
    if (status == SW_OK && cpu->ids.limit > 0) {
        const struct sw_id_entries entries = sw_cpu_id_entries(cpu);
        status = sw_check_ids(&entries, &cpu->ids, violation, violation_size);
    }
    if (status == SW_OK && cpu->expiry != NULL) {
        status = sw_expiry_check(cpu, violation, violation_size);
    }
    sw_phase_lock_leave_read(&cpu->lock);
    return status;
}

static int cpu_raw_copy(void *table, void *slots)
{
    struct sw_cpu *cpu = table;
    sw_phase_lock_enter_read(&cpu->lock);
    memcpy(slots, cpu->slots, (size_t)cpu->geometry.bytes_total);
    sw_phase_lock_leave_read(&cpu->lock);
    return SW_OK;
}

static void cpu_set_sequence(void *table, uint64_t sequence)
{
    sw_phase_lock_set_writers(&((struct sw_cpu *)table)->lock, sequence);
}

static uint64_t cpu_last_sequence(void *table)
{
    return sw_phase_lock_writers(&((struct sw_cpu *)table)->lock);
}

static bool cpu_holds(void *table, bool reads, bool returns)
{
    return sw_phase_lock_holds(&((struct sw_cpu *)table)->lock, reads, returns);
}

static uint64_t cpu_clock(const void *table)
{
    return __atomic_load_n(&((const struct sw_cpu *)table)->clock_ms, __ATOMIC_RELAXED);
}

static const struct sw_restoring restoring = {sw_cpu_restore_begin, sw_cpu_restore_add,
                                              sw_cpu_restore_end};

/* Members that all tables share. */
#define MEMBERS                                                                                 \
    .name = "cpu", .open = cpu_open, .close = cpu_close, .facts = sw_cpu_facts,                 \
    .io_alloc = sw_cpu_io_alloc, .io_free = sw_cpu_io_free, .queue_open = sw_cpu_queue_open,    \
    .queue_close = sw_cpu_queue_close, .poll = sw_cpu_poll, .check = cpu_check,                 \
    .raw_copy = cpu_raw_copy, .image_read = sw_cpu_image_read, .image_drop = sw_cpu_image_drop, \
    .set_sequence = cpu_set_sequence, .last_sequence = cpu_last_sequence, .clock = cpu_clock,   \
    .restoring = &restoring, .holds = cpu_holds
/* Members of tables whose entries may expire. */
#define EXPIRING \
    .batch_kinds = SW_BACKEND_ALL_KINDS | 1U << SW_BATCH_SWEEP, .suspend_expiry = sw_expiry_suspend

const struct sw_backend sw_robin_hood_backend_cpu = {
    MEMBERS,
    EXPIRING,
    .submit = cpu_submit,
    /* The terms of two sets may be alike: NOLINTNEXTLINE(misc-redundant-expression) */
    .operations = SW_BACKEND_ALL_OPERATIONS | SW_BACKEND_EXPIRES,
    .leftovers_count = true,
};

const struct sw_backend sw_robin_hood_rows_backend_cpu = {
    MEMBERS,
    EXPIRING,
    .submit = cpu_submit,
    /* NOLINTNEXTLINE(misc-redundant-expression) */
    .operations = SW_ROW_OPERATIONS | SW_BACKEND_EXPIRES,
};

const struct sw_backend sw_robin_hood_ids_backend_cpu = {
    MEMBERS,
    EXPIRING,
    .submit = ids_submit,
    .operations = SW_ID_OPERATIONS | SW_BACKEND_EXPIRES,
};

const struct sw_backend sw_robin_hood_set_backend_cpu = {
    MEMBERS,
    .batch_kinds = SW_BACKEND_ALL_KINDS,
    .submit = cpu_submit,
    .operations = SW_SET_OPERATIONS,
};
