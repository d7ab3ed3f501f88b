/* SPDX-License-Identifier: MIT
 *
 * cuckoo_cpu.c - the cuckoo engine's CPU backend. Submit executes the whole batch. Batches of reads
 * run concurrently, a large one on all threads of the pool. A batch of writes runs alone, one
 * operation after the other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/cuckoo/cuckoo_backend.h"
#include "table/growth.h"
#include "table/host/image.h"
#include "table/host/long_phase.h"
#include "table/host/memory.h"
#include "table/host/parts.h"
#include "table/host/resources.h"

/* Most threads that share a batch of reads. */
#define PARTS_MAX 64
/* The submitting thread alone executes smaller batches of reads. */
#define PARALLEL_MIN (1U << 14)

/* Fields are read in the lock's read phases and written in its write phases. Geometry, device,
 * pool and sizes never change. */
struct cuckoo {
    struct sw_phase_lock lock;
    struct sw_device *device; /* the shared one, or `own_device` */
    struct sw_device *own_device;
    struct sw_growth *owner;           /* of its memory; NULL: none */
    struct sw_pool *pool;              /* the device's */
    struct sw_scratch_area *last_undo; /* memory that the last batch borrowed for `undo_bytes` of
                                          undo records; NULL: none */
    uint32_t slot_bits;
    uint64_t seed;
    struct sw_cuckoo_geometry geometry;
    struct sw_cuckoo_shape shape; /* of the current arrays */
    uint32_t seed_number;         /* number of the last seed set tried */
    void *cells[2];               /* the current arrays, and the arrays for the next rehash */
    uint32_t current;
    void *stash;
    uint64_t cells_bytes;
    uint64_t stash_bytes;
    uint64_t undo_bytes;
    struct sw_state state;
    uint64_t stashed; /* entries of the stash before the current batch of writes */
    struct sw_table_tuning tuning;
    struct sw_long_phase long_phase;
    struct sw_state failed; /* state after the last failed rehash; stash_occupied 0: none failed */
    bool is_released; /* atomic: the table is empty, and the system has the memory of its cells.
                         The next batch that reads them fills them. */
};

/* Returns whether to rehash after a batch: the stash has entries. After a failure, the stash must
 * also have more than doubled, or the table must have lost more than 1/64 of its entries. */
static bool must_rehash(const struct cuckoo *cuckoo)
{
    const struct sw_state *state = &cuckoo->state;
    const struct sw_state *failed = &cuckoo->failed;
    return state->stash_occupied != 0 &&
           (failed->stash_occupied == 0 || state->stash_occupied > 2 * failed->stash_occupied ||
            state->occupied < failed->occupied - failed->occupied / 64);
}

/* Tries other seeds until every entry has a cell. */
static void rehash(struct cuckoo *cuckoo,
                   bool (*move)(struct cuckoo *cuckoo, const struct sw_cuckoo_shape *next))
{
    for (uint32_t tried = 0; tried < SW_CUCKOO_REHASH_MAX; tried++) {
        struct sw_cuckoo_shape next = cuckoo->shape;
        sw_cuckoo_engine_seeds(&next, cuckoo->seed, ++cuckoo->seed_number);
        if (move(cuckoo, &next)) {
            cuckoo->shape = next;
            cuckoo->current = !cuckoo->current;
            cuckoo->state.stash_occupied = 0;
            memset(&cuckoo->failed, 0, sizeof(cuckoo->failed));
            return;
        }
    }
    cuckoo->failed = cuckoo->state;
}

#define SW_WIDTH_BODY "table/cuckoo/cpu.inl"
#include "table/each_width.inl"

/* --- open and close --------------------------------------------------------------------------- */

static void cpu_close(void *table)
{
    struct cuckoo *cuckoo = table;
    sw_memory_unmap(cuckoo->cells[0], cuckoo->cells_bytes);
    sw_memory_unmap(cuckoo->cells[1], cuckoo->cells_bytes);
    sw_memory_unmap(cuckoo->stash, cuckoo->stash_bytes);
    sw_device_destroy(cuckoo->own_device);
    sw_phase_lock_fini(&cuckoo->lock);
    free(cuckoo);
}

static bool is_released(const struct cuckoo *cuckoo)
{
    return __atomic_load_n(&cuckoo->is_released, __ATOMIC_RELAXED);
}

static uint64_t bytes_of(const struct cuckoo *cuckoo)
{
    const uint64_t own = cuckoo->own_device != NULL ? cuckoo->undo_bytes : 0;
    const uint64_t cells = is_released(cuckoo) ? 0 : 2 * cuckoo->cells_bytes;
    return cells + cuckoo->stash_bytes + own;
}

static void set_released(struct cuckoo *cuckoo, bool released)
{
    __atomic_store_n(&cuckoo->is_released, released, __ATOMIC_RELAXED);
    sw_growth_has(cuckoo->owner, bytes_of(cuckoo));
}

/* In a write phase. A table that is released has no entries. */
static void empty(struct cuckoo *cuckoo)
{
    memset(cuckoo->cells[cuckoo->current], 0xFF, cuckoo->cells_bytes);
    set_released(cuckoo, false);
    memset(&cuckoo->state, 0, sizeof(cuckoo->state));
    memset(&cuckoo->failed, 0, sizeof(cuckoo->failed));
}

static bool map_memory(struct cuckoo *cuckoo, const struct sw_table_config *config)
{
    uint64_t cell = config->slot_bits / 8;
    uint64_t undo = config->slot_bits == 64 ? sizeof(struct sw_cuckoo_undo_s64)
                                            : sizeof(struct sw_cuckoo_undo_s128);
    cuckoo->cells_bytes = cuckoo->geometry.cells * cell;
    cuckoo->stash_bytes = cuckoo->geometry.stash_room * cell;
    cuckoo->undo_bytes = config->batch_ops_max * undo;
    cuckoo->cells[0] = sw_memory_map(cuckoo->cells_bytes);
    cuckoo->cells[1] = sw_memory_map(cuckoo->cells_bytes);
    cuckoo->stash = sw_memory_map(cuckoo->stash_bytes);
    return cuckoo->cells[0] != NULL && cuckoo->cells[1] != NULL && cuckoo->stash != NULL &&
           sw_scratch_reserve(&cuckoo->device->scratch, cuckoo->undo_bytes) == SW_OK;
}

static int cpu_open(const struct sw_table_config *config, void **out, char *reason,
                    size_t reason_size)
{
    *out = NULL;
    struct cuckoo *cuckoo = calloc(1, sizeof(*cuckoo));
    if (cuckoo == NULL || sw_phase_lock_init(&cuckoo->lock, config->sequencer) != SW_OK) {
        free(cuckoo);
        snprintf(reason, reason_size, "not enough memory");
        return SW_E_NOMEM;
    }
    sw_cuckoo_geometry_compute(config, &cuckoo->geometry);
    cuckoo->owner = config->growth;
    cuckoo->slot_bits = config->slot_bits;
    cuckoo->tuning = config->tuning;
    cuckoo->seed = config->seed;
    cuckoo->shape = cuckoo->geometry.shape;
    sw_cuckoo_engine_seeds(&cuckoo->shape, config->seed, 0);
    int status = sw_device_join(config, &cuckoo->device, &cuckoo->own_device, &cuckoo->pool, reason,
                                reason_size);
    if (status != SW_OK) {
        cpu_close(cuckoo);
        return status;
    }
    if (!map_memory(cuckoo, config)) {
        snprintf(reason, reason_size,
                 "the table needs %llu MiB of memory, twice its cells for a rehash: lower the "
                 "capacity",
                 (unsigned long long)((2 * cuckoo->cells_bytes + cuckoo->stash_bytes +
                                       cuckoo->undo_bytes) >>
                                      20));
        cpu_close(cuckoo);
        return SW_E_NOMEM;
    }
    empty(cuckoo);
    const uint32_t threads = sw_pool_threads(cuckoo->pool);
    snprintf(reason, reason_size, "%u thread%s", (unsigned)threads, threads > 1 ? "s" : "");
    *out = cuckoo;
    return SW_OK;
}

static void cpu_facts(void *table, struct sw_backend_facts *facts)
{
    const struct cuckoo *cuckoo = table;
    sw_cuckoo_backend_facts(&cuckoo->geometry, bytes_of(cuckoo), facts);
    facts->image_bytes = cuckoo->cells_bytes + cuckoo->stash_bytes;
}

/* --- batches ---------------------------------------------------------------------------------- */

/* Enters a phase that reads cells, for this batch. Returns SW_OK or SW_E_BUSY. */
static int enter_read(struct cuckoo *cuckoo, const struct sw_batch *batch)
{
    int status = sw_batch_enter_read(&cuckoo->lock, batch);
    while (status == SW_OK && is_released(cuckoo)) {
        sw_phase_lock_leave_read(&cuckoo->lock);
        status = sw_batch_enter_write(&cuckoo->lock, batch);
        if (status == SW_OK) {
            if (is_released(cuckoo)) {
                empty(cuckoo);
            }
            sw_phase_lock_leave_write(&cuckoo->lock);
            status = sw_batch_enter_read(&cuckoo->lock, batch);
        }
    }
    return status;
}

/* The end of a batch of writes. `table` is a struct cuckoo. */
static void settle(void *table, struct sw_batch *batch)
{
    struct cuckoo *cuckoo = table;
    if (must_rehash(cuckoo)) {
        SW_BY_WIDTH(cuckoo->slot_bits, sw_cuckoo_rehash, cuckoo);
    }
    batch->_stash_change = (int64_t)(cuckoo->state.stash_occupied - cuckoo->stashed);
}

static int run_reads(struct cuckoo *cuckoo, struct sw_batch *batch)
{
    const int status = enter_read(cuckoo, batch);
    if (status == SW_OK) {
        SW_BY_WIDTH(cuckoo->slot_bits, sw_cuckoo_run_reads, cuckoo, batch);
        sw_phase_lock_leave_read(&cuckoo->lock);
    }
    return status;
}

static int run_writes(struct cuckoo *cuckoo, struct sw_batch *batch)
{
    const int status = sw_batch_enter_write(&cuckoo->lock, batch);
    if (status != SW_OK) {
        return status;
    }
    if (is_released(cuckoo)) {
        empty(cuckoo);
    }
    struct sw_scratch_set *scratch = &cuckoo->device->scratch;
    struct sw_scratch_area *undo =
        sw_scratch_borrow(scratch, cuckoo->last_undo, cuckoo->undo_bytes);
    cuckoo->last_undo = undo;
    cuckoo->stashed = cuckoo->state.stash_occupied;
    SW_BY_WIDTH(cuckoo->slot_bits, sw_cuckoo_run_writes, cuckoo, batch, undo->memory);
    sw_scratch_return(scratch, undo);
    if (must_rehash(cuckoo) && sw_pass_is_long(cuckoo->cells_bytes, &cuckoo->tuning)) {
        sw_long_phase_run(&cuckoo->long_phase, &cuckoo->lock, settle, cuckoo, batch);
    } else {
        settle(cuckoo, batch);
        sw_batch_leave_write(&cuckoo->lock, batch);
    }
    return SW_OK;
}

/* Fills in the image, in a read phase. */
static void fill_image(const struct cuckoo *cuckoo, struct sw_host_image *image)
{
    const uint64_t cell = cuckoo->slot_bits / 8;
    const void *cells = cuckoo->cells[cuckoo->current];
    const void *stash = cuckoo->stash;
    if (image->memory != NULL) {
        uint8_t *copy = image->memory;
        memcpy(copy, cells, cuckoo->cells_bytes);
        memcpy(copy + cuckoo->cells_bytes, stash, cuckoo->state.stash_occupied * cell);
        cells = copy;
        stash = copy + cuckoo->cells_bytes;
    }
    image->kind = (struct sw_image_slots){.slot_bits = cuckoo->slot_bits};
    image->parts[0].slots = cells;
    image->parts[0].count = cuckoo->geometry.cells;
    image->parts[1].slots = stash;
    image->parts[1].count = cuckoo->state.stash_occupied;
    image->side = cuckoo->state.side_present != 0;
    image->side_value = cuckoo->state.side_value;
}

static void take_image(struct cuckoo *cuckoo, struct sw_batch *batch)
{
    struct sw_host_image *image =
        sw_host_image_create(batch->image.borrows ? 0 : cuckoo->cells_bytes + cuckoo->stash_bytes);
    if (image == NULL) {
        batch->status = SW_E_NOMEM;
        return;
    }
    (void)enter_read(cuckoo, batch); /* an image waits */
    const bool is_long =
        image->memory != NULL && sw_pass_is_long(cuckoo->cells_bytes, &cuckoo->tuning);
    if (is_long) {
        sw_phase_lock_lengthen_read(&cuckoo->lock);
    }
    batch->image.sequence = sw_phase_lock_writers(&cuckoo->lock);
    uint64_t began_ns = sw_now_ns();
    fill_image(cuckoo, image);
    batch->image.held_ns = sw_now_ns() - began_ns;
    if (is_long) {
        sw_phase_lock_leave_long_read(&cuckoo->lock);
    } else {
        sw_phase_lock_leave_read(&cuckoo->lock);
    }
    batch->image.memory = image;
}

static void set_sequence(void *table, uint64_t sequence)
{
    sw_phase_lock_set_writers(&((struct cuckoo *)table)->lock, sequence);
}

static uint64_t last_sequence(void *table)
{
    return sw_phase_lock_writers(&((struct cuckoo *)table)->lock);
}

/* Removes all entries, in a write phase. `table` is a struct cuckoo. */
static void clear(void *table, struct sw_batch *batch)
{
    struct cuckoo *cuckoo = table;
    batch->counters.deleted = cuckoo->state.occupied;
    batch->_stash_change = -(int64_t)cuckoo->state.stash_occupied;
    if (is_released(cuckoo)) {
        return;
    }
    empty(cuckoo);
    if (batch->releases) {
        sw_memory_discard(cuckoo->cells[0], cuckoo->cells_bytes);
        sw_memory_discard(cuckoo->cells[1], cuckoo->cells_bytes);
        set_released(cuckoo, true);
    }
}

static int cpu_submit(void *queue, struct sw_batch *batch)
{
    struct cuckoo *cuckoo = queue;
    if (batch->kind == SW_BATCH_IMAGE) {
        take_image(cuckoo, batch);
        return SW_OK;
    }
    if (batch->kind == SW_BATCH_OPERATIONS) {
        return sw_batch_only_reads(batch) ? run_reads(cuckoo, batch) : run_writes(cuckoo, batch);
    }
    const int status = sw_batch_enter_write(&cuckoo->lock, batch);
    if (status == SW_OK && sw_pass_is_long(cuckoo->cells_bytes, &cuckoo->tuning)) {
        sw_long_phase_run(&cuckoo->long_phase, &cuckoo->lock, clear, cuckoo, batch);
    } else if (status == SW_OK) {
        clear(cuckoo, batch);
        sw_batch_leave_write(&cuckoo->lock, batch);
    }
    return status;
}

static bool holds(void *table, bool reads, bool returns)
{
    return sw_phase_lock_holds(&((struct cuckoo *)table)->lock, reads, returns);
}

static int cpu_check(void *table, char *violation, size_t violation_size)
{
    struct cuckoo *cuckoo = table;
    const struct sw_batch waits = {.no_wait = false};
    int status = enter_read(cuckoo, &waits);
    if (cuckoo->slot_bits == 64) {
        struct sw_cuckoo_table_s64 view = sw_cuckoo_table_of_s64(cuckoo);
        status = sw_cuckoo_check(64, &view, violation, violation_size);
    } else {
        struct sw_cuckoo_table_s128 view = sw_cuckoo_table_of_s128(cuckoo);
        status = sw_cuckoo_check(128, &view, violation, violation_size);
    }
    sw_phase_lock_leave_read(&cuckoo->lock);
    return status;
}

const struct sw_backend sw_cuckoo_backend_cpu = {
    .name = "cpu",
    .operations = SW_BACKEND_ALL_OPERATIONS,
    .batch_kinds = SW_CUCKOO_KINDS,
    .open = cpu_open,
    .close = cpu_close,
    .facts = cpu_facts,
    .io_alloc = sw_cpu_io_alloc,
    .io_free = sw_cpu_io_free,
    .queue_open = sw_cpu_queue_open,
    .queue_close = sw_cpu_queue_close,
    .submit = cpu_submit,
    .poll = sw_cpu_poll,
    .check = cpu_check,
    .image_read = sw_host_image_read,
    .image_drop = sw_host_image_drop,
    .set_sequence = set_sequence,
    .last_sequence = last_sequence,
    .holds = holds,
};
