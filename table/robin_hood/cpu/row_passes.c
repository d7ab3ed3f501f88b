/* SPDX-License-Identifier: MIT
 *
 * row_passes.c - passes over the rows of a table: scans, moves to lower rows, the check.
 */
#include "table/robin_hood/cpu/row_passes.h"

#include <string.h>

#include "table/robin_hood/cpu/row_image.h"
#include "table/robin_hood/row_audit.h"

/* Copies the row of the entry m to a row with a lower number. */
static uint64_t lower_row(struct sw_cpu *cpu, uint64_t m, uint64_t row)
{
    const struct sw_arena *arena = &cpu->arena;
    uint64_t lower = sw_row_image_allocate(cpu->row_image, &cpu->arena);
    sw_row_image_before_write(cpu->row_image, m, row);
    memcpy(sw_arena_row(arena, lower), sw_arena_row(arena, row), arena->value_bytes);
    return lower;
}

#define RH_FIELD SW_WIDTH_SUFFIX
#define SW_WIDTH_BODY "table/robin_hood/cpu/row_passes.inl"
#include "table/each_width.inl"

void sw_cpu_scan_rows(const struct sw_cpu *cpu, const void *words, void *rows, uint32_t count)
{
    SW_BY_WIDTH(cpu->config.slot_bits, sw_scan_rows, cpu, words, rows, count);
}

void sw_cpu_lower_rows(struct sw_cpu *cpu)
{
    const uint64_t limit = cpu->geometry.occupied_max;
    if (limit < cpu->arena.mapped) {
        SW_BY_WIDTH(cpu->config.slot_bits, sw_lower_rows, cpu, limit);
        sw_arena_trim(&cpu->arena, limit);
    }
}

/* --- the invariants --------------------------------------------------------------------------- */

int sw_cpu_check_rows(const struct sw_cpu *cpu, char *violation, size_t violation_size)
{
    const struct sw_arena *arena = &cpu->arena;
    const struct sw_rows_in_use rows = {.free = arena->free,
                                        .free_count = arena->free_count,
                                        .high = arena->high,
                                        .mapped = arena->mapped};
    return sw_check_rows(cpu->config.slot_bits, &cpu->geometry, &cpu->state, cpu->slots, &rows,
                         violation, violation_size);
}
