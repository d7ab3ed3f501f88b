/* SPDX-License-Identifier: MIT
 *
 * image.c - images of a table in host memory: one copy of slots and stash, while writes wait.
 */
#include "table/robin_hood/cpu/image.h"

#include <string.h>

#include "table/host/image.h"
#include "table/host/parts.h"

/* Threads copy pieces of this size. */
#define COPY_BYTES (4ULL << 20)

struct copy {
    uint8_t *to;
    const uint8_t *from;
    uint64_t bytes;
    uint64_t next; /* atomic */
};

static void copy_job(void *context, uint32_t thread, uint32_t threads)
{
    struct copy *copy = context;
    (void)thread;
    (void)threads;
    for (;;) {
        uint64_t at = __atomic_fetch_add(&copy->next, COPY_BYTES, __ATOMIC_RELAXED);
        if (at >= copy->bytes) {
            return;
        }
        uint64_t left = copy->bytes - at;
        memcpy(copy->to + at, copy->from + at, (size_t)(left < COPY_BYTES ? left : COPY_BYTES));
    }
}

/* In a read phase. */
static void copy_slots(struct sw_cpu *cpu, void *to)
{
    struct copy copy = {to, cpu->slots, cpu->geometry.bytes_total, 0};
    if (copy.bytes > COPY_BYTES && sw_pool_try_take(cpu->pool)) {
        sw_pool_run(cpu->pool, copy_job, &copy);
        sw_pool_give_back(cpu->pool);
    } else {
        copy_job(&copy, 0, 1);
    }
}

/* In a read phase: whether the image is of the arrays as they are. Those of a table that has grown
 * since its memory was taken do not fit. */
static bool fill(struct sw_cpu *cpu, struct sw_host_image *image)
{
    const void *slots = cpu->slots;
    if (image->memory != NULL) {
        if (image->bytes != cpu->geometry.bytes_total) {
            return false;
        }
        copy_slots(cpu, image->memory);
        slots = image->memory;
    }
    image->kind = (struct sw_image_slots){cpu->config.slot_bits, true, cpu->config.seed};
    image->parts[0].slots = slots;
    image->parts[0].count = cpu->geometry.bytes_total / (cpu->config.slot_bits / 8);
    image->side = cpu->state.side_present != 0;
    image->side_value = cpu->state.side_value;
    return true;
}

static uint64_t bytes_now(struct sw_cpu *cpu)
{
    sw_phase_lock_enter_read(&cpu->lock);
    uint64_t bytes = cpu->geometry.bytes_total;
    sw_phase_lock_leave_read(&cpu->lock);
    return bytes;
}

void sw_cpu_take_image(struct sw_cpu *cpu, struct sw_batch *batch)
{
    bool filled = false;
    while (!filled) {
        struct sw_host_image *image = sw_host_image_create(batch->_borrows ? 0 : bytes_now(cpu));
        if (image == NULL) {
            batch->status = SW_E_NOMEM;
            return;
        }
        sw_phase_lock_enter_read(&cpu->lock);
        batch->_image_sequence = sw_phase_lock_writers(&cpu->lock);
        uint64_t began_ns = sw_now_ns();
        filled = fill(cpu, image);
        batch->_held_ns = sw_now_ns() - began_ns;
        sw_phase_lock_leave_read(&cpu->lock);
        batch->_image = filled ? image : NULL;
        if (!filled) {
            sw_host_image_drop(image);
        }
    }
}
