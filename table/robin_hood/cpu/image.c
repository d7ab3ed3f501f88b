/* SPDX-License-Identifier: MIT
 *
 * image.c - images of a table in host memory. Only pieces that are written meanwhile are copied. In
 * a table with rows the slots hold the row numbers; row_image.h keeps the rows.
 */
#include "table/robin_hood/cpu/image.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "table/host/cow_guard.h"
#include "table/host/image.h"
#include "table/host/memory.h"
#include "table/host/parts.h"
#include "table/mix.h"
#include "table/robin_hood/cpu/arrays.h"
#include "table/robin_hood/cpu/expiry.h"
#include "table/robin_hood/cpu/image_times.h"
#include "table/robin_hood/cpu/row_image.h"

/* Entries that are found before their rows are copied, so that the latencies overlap. */
#define AHEAD 64U

struct sw_cpu_image {
    struct sw_cpu *cpu;
    struct sw_image_slots kind;
    struct sw_cow_guard *guard; /* NULL: the arrays are borrowed, and no thread writes them */
    bool side;                  /* the entry without a slot exists and was not read yet */
    uint64_t side_value;
    const void *part; /* the slots being read, and the index of the next slot */
    uint64_t part_slots, at;
    struct sw_row_image *rows;         /* NULL: values are integers, or the arena is borrowed */
    const struct sw_arena *borrowed;   /* NULL: the arena is not borrowed */
    uint64_t left;                     /* entries not read yet; counted only with rows */
    struct sw_cpu_image *times;        /* of the expiry times; NULL: none, or all were read */
    uint64_t times_count, times_slots; /* of the second table */
    struct sw_cpu *known;              /* table of the expiry times, once they were read; or NULL */
    bool failed;                       /* reading the expiry times failed */
    void *arrays; /* the guarded arrays, after the table got new ones; or NULL */
    uint64_t arrays_bytes;
};

/* --- guarding --------------------------------------------------------------------------------- */

static void guard_table(struct sw_cpu *cpu, struct sw_cpu_image *image)
{
    struct sw_cow_guard *guard = image != NULL ? image->guard : NULL;
    cpu->image = image;
    sw_cpu_arrays_guard(cpu, guard);
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
        sw_cow_guard_abandon(cpu->image->guard);
        guard_table(cpu, NULL);
    }
    if (cpu->row_image != NULL) {
        sw_row_image_abandon(cpu->row_image);
        cpu->row_image = NULL;
    }
}

int sw_cpu_leave_rows(struct sw_cpu *cpu)
{
    struct sw_arena fresh;
    if (cpu->row_image == NULL) {
        sw_arena_clear(&cpu->arena);
        return SW_OK;
    }
    int status = sw_arena_open(&fresh, cpu->arena.value_bytes, cpu->arena.key_string_bytes,
                               cpu->arena.reserved);
    if (status != SW_OK) {
        return status;
    }
    status = sw_arena_map(&fresh, cpu->arena.mapped);
    if (status != SW_OK) {
        sw_arena_close(&fresh);
        return status;
    }
    sw_row_image_leave(cpu->row_image, &cpu->arena);
    cpu->row_image = NULL;
    cpu->arena = fresh;
    return SW_OK;
}

/* --- taking ----------------------------------------------------------------------------------- */

/* Creates the guards of the current arrays and rows. Other threads may resize the table
 * meanwhile. */
static bool create_guards(struct sw_cpu *cpu, struct sw_cpu_image *image)
{
    sw_phase_lock_enter_read(&cpu->lock);
    const void *slots = cpu->slots;
    const uint64_t bytes = cpu->geometry.bytes_total;
    const uint64_t rows = cpu->arena.mapped;
    sw_phase_lock_leave_read(&cpu->lock);
    image->guard = sw_cow_guard_create(slots, bytes);
    if (cpu->config.value_bytes > 0) {
        image->rows = sw_row_image_create(cpu->config.value_bytes, rows);
    }
    return image->guard != NULL && (cpu->config.value_bytes == 0 || image->rows != NULL);
}

/* Returns the second table; NULL if no entry ever had an expiry time. */
static struct sw_cpu *times_of(struct sw_cpu *cpu)
{
    sw_phase_lock_enter_read(&cpu->lock);
    struct sw_cpu *times = cpu->expiry != NULL ? cpu->expiry->times : NULL;
    sw_phase_lock_leave_read(&cpu->lock);
    return times;
}

/* Begins the image of a table. Returns whether the guard covers the table's current arrays, which a
 * resize may have replaced. In an exclusive phase. */
static bool begin_image(struct sw_cpu *cpu, struct sw_cpu_image *image)
{
    image->kind =
        (struct sw_image_slots){cpu->config.slot_bits, cpu->config.is_set, true, cpu->config.seed};
    image->side = cpu->state.side_present != 0;
    image->side_value = cpu->state.side_value;
    image->left = cpu->state.occupied;
    if (image->guard == NULL) {
        image->borrowed = cpu->arena.rows != NULL ? &cpu->arena : NULL;
        image->part = cpu->slots;
        image->part_slots = cpu->geometry.bytes_total / sw_format_slot_bytes(sw_cpu_format(cpu));
        return true;
    }
    bool fits =
        image->guard->array == cpu->slots && image->guard->bytes == cpu->geometry.bytes_total;
    fits = fits && (image->rows == NULL || sw_row_image_begin(image->rows, &cpu->arena));
    if (fits) {
        guard_table(cpu, image);
        cpu->row_image = image->rows;
    }
    return fits;
}

static void free_image(struct sw_cpu_image *image)
{
    if (image->times != NULL) {
        free_image(image->times);
    }
    if (image->guard != NULL) {
        sw_cow_guard_destroy(image->guard);
    }
    if (image->rows != NULL) {
        sw_row_image_destroy(image->rows);
    }
    sw_image_times_close(image->known);
    sw_memory_unmap(image->arrays, image->arrays_bytes);
    free(image);
}

/* Begins the image of the expiry times. If there are none, frees their image. */
static bool begin_times(const struct sw_cpu *cpu, struct sw_cpu_image *image)
{
    if (!sw_expiry_some(cpu)) {
        if (image->times != NULL) {
            free_image(image->times);
            image->times = NULL;
        }
        return true;
    }
    struct sw_cpu *times = cpu->expiry->times;
    if (image->times == NULL) {
        return false;
    }
    (void)sw_phase_lock_enter_uncounted(&times->lock);
    image->times_count = times->state.occupied;
    image->times_slots = times->geometry.buckets * SW_BUCKET_SLOTS;
    const bool fits = begin_image(times, image->times);
    sw_phase_lock_leave_write(&times->lock);
    return fits;
}

static bool begin_all(struct sw_cpu *cpu, struct sw_cpu_image *image)
{
    if (!begin_image(cpu, image)) {
        return false;
    }
    const bool begun = begin_times(cpu, image);
    if (!begun && image->guard != NULL) {
        guard_table(cpu, NULL);
        cpu->row_image = NULL;
    }
    return begun;
}

/* Returns whether an image guards the arrays, the rows or the expiry times. Growth leaves the main
 * table's arrays to their image, which then guards only the times. Dropping an image changes
 * times->image under the lock of the times. In an exclusive phase. */
static bool is_guarded(struct sw_cpu *cpu)
{
    if (cpu->image != NULL || cpu->row_image != NULL) {
        return true;
    }
    struct sw_cpu *times = cpu->expiry != NULL ? cpu->expiry->times : NULL;
    if (times == NULL) {
        return false;
    }
    sw_phase_lock_enter_read(&times->lock);
    const bool guarded = times->image != NULL;
    sw_phase_lock_leave_read(&times->lock);
    return guarded;
}

/* Tries to begin the image. Returns false if the caller must try again because the guards did not
 * cover the current arrays. */
static bool try_image(struct sw_cpu *cpu, struct sw_batch *batch, struct sw_cpu_image *image)
{
    batch->image.sequence = sw_phase_lock_enter_uncounted(&cpu->lock);
    uint64_t began_ns = sw_now_ns();
    bool busy = image->guard != NULL && is_guarded(cpu);
    bool begun = !busy && begin_all(cpu, image);
    batch->image.held_ns = sw_now_ns() - began_ns;
    sw_phase_lock_leave_write(&cpu->lock);
    batch->status = busy ? SW_E_BUSY : SW_OK;
    batch->image.memory = begun ? image : NULL;
    batch->image.expires = begun && image->times != NULL;
    return begun || busy;
}

/* Creates an image and its guards. Returns NULL if memory is short. */
static struct sw_cpu_image *create(struct sw_cpu *cpu, bool borrows)
{
    struct sw_cpu_image *image = calloc(1, sizeof(*image));
    if (image == NULL) {
        return NULL;
    }
    image->cpu = cpu;
    struct sw_cpu *times = times_of(cpu);
    bool enough = borrows || create_guards(cpu, image);
    if (enough && times != NULL) {
        image->times = create(times, borrows);
        enough = image->times != NULL;
    }
    if (!enough) {
        free_image(image);
        return NULL;
    }
    return image;
}

void sw_cpu_take_image(struct sw_cpu *cpu, struct sw_batch *batch)
{
    bool tried = false;
    while (!tried) {
        struct sw_cpu_image *image = create(cpu, batch->image.borrows);
        if (image == NULL) {
            batch->status = SW_E_NOMEM;
            return;
        }
        tried = try_image(cpu, batch, image);
        if (batch->image.memory == NULL) {
            free_image(image);
        }
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool next_part(struct sw_cpu_image *image)
{
    uint64_t bytes = 0;
    if (image->guard == NULL || !sw_cow_guard_read(image->guard, &image->part, &bytes)) {
        return false;
    }
    image->part_slots =
        bytes / sw_format_slot_bytes(sw_format(image->kind.slot_bits, image->kind.is_set));
    image->at = 0;
    return true;
}

static bool is_lost(const struct sw_cpu_image *image)
{
    return (image->guard != NULL && sw_cow_guard_is_lost(image->guard)) ||
           (image->rows != NULL && sw_cow_copies_are_lost(image->rows->copies));
}

/* Adds entries until the columns are full. The entry without a slot comes first. */
static void read_slots(struct sw_cpu_image *image, struct sw_image_columns *columns)
{
    if (image->side && columns->count < columns->room) {
        sw_image_add_side(&image->kind, image->side_value, columns);
        image->side = false;
    }
    while (columns->count < columns->room && (image->at < image->part_slots || next_part(image))) {
        sw_image_gather(&image->kind, image->part, image->part_slots, &image->at, columns);
    }
}

/* --- reading rows ----------------------------------------------------------------------------- */

static uint8_t *key_place(const struct sw_cpu_image *image, const struct sw_image_columns *columns)
{
    return (uint8_t *)columns->keys + (size_t)columns->count * (image->kind.slot_bits / 16);
}

static uint8_t *row_place(const struct sw_cpu_image *image, const struct sw_image_columns *columns)
{
    return (uint8_t *)columns->values + (size_t)columns->count * image->cpu->config.value_bytes;
}

/* Adds an entry that a writer has copied. Returns false if there is none. */
static bool add_copied(struct sw_cpu_image *image, bool any, struct sw_image_columns *columns)
{
    uint64_t m = 0;
    const uint8_t *row = image->rows != NULL ? sw_row_image_next(image->rows, any, &m) : NULL;
    if (row == NULL) {
        return false;
    }
    const uint64_t key = image->kind.slot_bits == 64 ? sw_unmix_32((uint32_t)m, image->kind.seed)
                                                     : sw_unmix_64(m, image->kind.seed);
    memcpy(key_place(image, columns), &key, image->kind.slot_bits / 16);
    memcpy(row_place(image, columns), row, image->cpu->config.value_bytes);
    columns->count++;
    image->left--;
    return true;
}

/* Adds the next entries found in the slots, except those whose rows a writer copies. Returns
 * whether the slots had any entry. */
static bool add_found(struct sw_cpu_image *image, struct sw_image_columns *columns)
{
    uint64_t keys[AHEAD], words[AHEAD] = {0}, numbers[AHEAD];
    const uint32_t key_bytes = image->kind.slot_bits / 16;
    const uint32_t rest = columns->room - columns->count;
    struct sw_image_columns found = {
        .room = rest < AHEAD ? rest : AHEAD, .keys = keys, .values = words};
    const uint8_t *rows = image->rows != NULL ? image->rows->rows : image->borrowed->rows;
    const uint32_t stride = image->rows != NULL ? image->rows->stride : image->borrowed->stride;
    const uint32_t value_bytes = image->cpu->config.value_bytes;
    read_slots(image, &found);
    for (uint32_t i = 0; i < found.count; i++) {
        numbers[i] = key_bytes == 4 ? ((const uint32_t *)words)[i] : words[i];
        sw_row_prefetch(rows + numbers[i] * stride, value_bytes);
    }
    for (uint32_t i = 0; i < found.count; i++) {
        uint8_t *to = row_place(image, columns);
        if (image->rows == NULL) {
            memcpy(to, rows + numbers[i] * stride, value_bytes);
        } else if (!sw_row_image_take(image->rows, numbers[i], to)) {
            continue;
        }
        memcpy(key_place(image, columns), (const uint8_t *)keys + (size_t)i * key_bytes, key_bytes);
        columns->count++;
        image->left--;
    }
    return found.count > 0;
}

/* Adds the copies of writers first, so that writers wait for memory as little as possible. At the
 * end only the copies in progress remain. */
static void read_rows(struct sw_cpu_image *image, struct sw_image_columns *columns)
{
    while (columns->count < columns->room && image->left > 0 && !is_lost(image)) {
        if (!add_copied(image, false, columns) && !add_found(image, columns) &&
            !add_copied(image, true, columns)) {
            sched_yield(); /* a writer fills the rest */
        }
    }
}

/* --- the backend's ---------------------------------------------------------------------------- */

/* Reads all expiry times of the image into the table image->known, since the two tables have
 * different orders. */
static int read_all_times(struct sw_cpu_image *image)
{
    uint64_t *memory = malloc(2 * SW_IMAGE_TIMES_PIECE * sizeof(*memory));
    struct sw_image_columns columns = {
        .room = SW_IMAGE_TIMES_PIECE, .keys = memory, .values = memory + SW_IMAGE_TIMES_PIECE};
    int status = memory == NULL
                     ? SW_E_NOMEM
                     : sw_image_times_open(image->cpu->expiry_calls, image->times_count,
                                           image->times_slots, image->kind.seed, &image->known);
    bool more = status == SW_OK;
    while (more) {
        columns.count = 0;
        read_slots(image->times, &columns);
        status = is_lost(image->times) ? SW_E_NOMEM : SW_OK;
        if (status == SW_OK && columns.count > 0) {
            status = sw_image_times_add(image->known, columns.keys, columns.values, columns.count);
        }
        more = status == SW_OK && columns.count == columns.room;
    }
    free(memory);
    return status;
}

/* Fills in the expiry times of the entries [from, count). */
static int read_times(struct sw_cpu_image *image, struct sw_image_columns *columns, uint32_t from)
{
    const uint32_t key_bytes = image->kind.slot_bits / 16;
    if (image->times != NULL) {
        int status = read_all_times(image);
        sw_cpu_image_drop(image->times);
        image->times = NULL;
        image->failed = status != SW_OK;
    }
    if (image->failed) {
        return SW_E_NOMEM;
    }
    if (image->known != NULL) {
        sw_image_times_fill(image->known, (const uint8_t *)columns->keys + (size_t)from * key_bytes,
                            key_bytes, columns->count - from, columns->scores + from);
    }
    return SW_OK;
}

int sw_cpu_image_read(void *context, struct sw_image_columns *columns)
{
    struct sw_cpu_image *image = context;
    const uint32_t from = columns->count;
    if (image->rows != NULL || image->borrowed != NULL) {
        read_rows(image, columns);
    } else {
        read_slots(image, columns);
    }
    if (is_lost(image)) {
        return SW_E_NOMEM;
    }
    return columns->scores != NULL ? read_times(image, columns, from) : SW_OK;
}

void sw_cpu_image_drop(void *context)
{
    struct sw_cpu_image *image = context;
    struct sw_cpu *cpu = image->cpu;
    if (image->times != NULL) {
        sw_cpu_image_drop(image->times);
        image->times = NULL;
    }
    if (image->guard != NULL) {
        sw_cow_guard_lose(image->guard); /* no writer waits for the chunks of this image any more */
        if (image->rows != NULL) {
            sw_cow_copies_lose(image->rows->copies);
        }
        (void)sw_phase_lock_enter_uncounted(&cpu->lock);
        if (cpu->image == image) {
            guard_table(cpu, NULL);
        }
        if (cpu->row_image == image->rows) {
            cpu->row_image = NULL;
        }
        sw_phase_lock_leave_write(&cpu->lock);
    }
    free_image(image);
}
