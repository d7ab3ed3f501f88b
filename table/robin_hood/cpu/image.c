/* SPDX-License-Identifier: MIT
 *
 * image.c - images of a table in host memory: only what is written meanwhile is copied.
 */
#include "table/robin_hood/cpu/image.h"

#include <stdlib.h>

#include "table/host/guard.h"
#include "table/host/image.h"
#include "table/host/memory.h"
#include "table/host/parts.h"

struct sw_cpu_image {
    struct sw_cpu *cpu;
    struct sw_image_slots kind;
    struct sw_guard *guard; /* NULL: the arrays are borrowed, and no thread writes them */
    bool side;              /* there is an entry without a slot, and it is not read yet */
    uint64_t side_value;
    const void *part; /* the slots being read, and the next of them */
    uint64_t part_slots, at;
    void *arrays; /* the guarded arrays, once the table has new ones; or NULL */
    uint64_t arrays_bytes;
};

/* --- guarding --------------------------------------------------------------------------------- */

static void guard_table(struct sw_cpu *cpu, struct sw_cpu_image *image)
{
    struct sw_guard *guard = image != NULL ? image->guard : NULL;
    cpu->image = image;
    if (cpu->config.slot_bits == 64) {
        cpu->table.s64.main.guard = cpu->table.s64.stash.guard = guard;
    } else {
        cpu->table.s128.main.guard = cpu->table.s128.stash.guard = guard;
    }
}

void sw_cpu_release_arrays(struct sw_cpu *cpu, void *slots, uint64_t bytes)
{
    struct sw_cpu_image *image = cpu->image;
    if (image == NULL) {
        sw_memory_unmap(slots, bytes);
        return;
    }
    image->arrays = slots;
    image->arrays_bytes = bytes;
    guard_table(cpu, NULL);
}

void sw_cpu_abandon_image(struct sw_cpu *cpu)
{
    if (cpu->image != NULL) {
        sw_guard_abandon(cpu->image->guard);
        guard_table(cpu, NULL);
    }
}

/* --- taking ----------------------------------------------------------------------------------- */

/* A guard of the present arrays. Others may move the table meanwhile. */
static struct sw_guard *create_guard(struct sw_cpu *cpu)
{
    sw_phase_lock_enter_read(&cpu->lock);
    const void *slots = cpu->slots;
    uint64_t bytes = cpu->geometry.bytes_total;
    sw_phase_lock_leave_read(&cpu->lock);
    return sw_guard_create(slots, bytes);
}

/* Runs alone. Returns whether the guard is of the table's present arrays; a table that has moved
 * since has others. */
static bool begin(struct sw_cpu *cpu, struct sw_cpu_image *image)
{
    image->kind = (struct sw_image_slots){cpu->config.slot_bits, true, cpu->config.seed};
    image->side = cpu->state.side_present != 0;
    image->side_value = cpu->state.side_value;
    if (image->guard == NULL) {
        image->part = cpu->slots;
        image->part_slots = cpu->geometry.bytes_total / (cpu->config.slot_bits / 8);
        return true;
    }
    bool fits =
        image->guard->array == cpu->slots && image->guard->bytes == cpu->geometry.bytes_total;
    if (fits) {
        guard_table(cpu, image);
    }
    return fits;
}

/* Returns true once the guard was of the present arrays, or if trying again is of no use. */
static bool try_image(struct sw_cpu *cpu, struct sw_batch *batch, struct sw_cpu_image *image)
{
    batch->_image_sequence = sw_phase_lock_enter_alone(&cpu->lock);
    uint64_t began_ns = sw_now_ns();
    bool busy = image->guard != NULL && cpu->image != NULL;
    bool begun = !busy && begin(cpu, image);
    batch->_held_ns = sw_now_ns() - began_ns;
    sw_phase_lock_leave_write(&cpu->lock);
    batch->status = busy ? SW_E_BUSY : SW_OK;
    batch->_image = begun ? image : NULL;
    return begun || busy;
}

static void free_image(struct sw_cpu_image *image)
{
    if (image->guard != NULL) {
        sw_guard_destroy(image->guard);
    }
    sw_memory_unmap(image->arrays, image->arrays_bytes);
    free(image);
}

void sw_cpu_take_image(struct sw_cpu *cpu, struct sw_batch *batch)
{
    bool tried = false;
    while (!tried) {
        struct sw_cpu_image *image = calloc(1, sizeof(*image));
        if (image != NULL) {
            image->cpu = cpu;
            image->guard = batch->_borrows ? NULL : create_guard(cpu);
        }
        if (image == NULL || (image->guard == NULL && !batch->_borrows)) {
            free(image);
            batch->status = SW_E_NOMEM;
            return;
        }
        tried = try_image(cpu, batch, image);
        if (batch->_image == NULL) {
            free_image(image);
        }
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool next_part(struct sw_cpu_image *image)
{
    uint64_t bytes = 0;
    if (image->guard == NULL || !sw_guard_read(image->guard, &image->part, &bytes)) {
        return false;
    }
    image->part_slots = bytes / (image->kind.slot_bits / 8);
    image->at = 0;
    return true;
}

int sw_cpu_image_read(void *context, struct sw_image_columns *columns)
{
    struct sw_cpu_image *image = context;
    if (image->side && columns->count < columns->room) {
        sw_image_add_side(&image->kind, image->side_value, columns);
        image->side = false;
    }
    while (columns->count < columns->room && (image->at < image->part_slots || next_part(image))) {
        sw_image_gather(&image->kind, image->part, image->part_slots, &image->at, columns);
    }
    bool lost = image->guard != NULL && sw_guard_is_lost(image->guard);
    return lost ? SW_E_NOMEM : SW_OK;
}

void sw_cpu_image_drop(void *context)
{
    struct sw_cpu_image *image = context;
    struct sw_cpu *cpu = image->cpu;
    if (image->guard != NULL) {
        sw_guard_lose(image->guard); /* no writer waits for its chunks any more */
        (void)sw_phase_lock_enter_alone(&cpu->lock);
        if (cpu->image == image) {
            guard_table(cpu, NULL);
        }
        sw_phase_lock_leave_write(&cpu->lock);
    }
    free_image(image);
}
