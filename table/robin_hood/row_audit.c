/* SPDX-License-Identifier: MIT
 *
 * row_audit.c - checks that every used row is either free or belongs to one entry, for both widths.
 */
#include "table/robin_hood/row_audit.h"

#include <stdio.h>
#include <stdlib.h>

/* The state of a check: the rows found so far. */
struct row_audit {
    const struct sw_rows_in_use *rows;
    uint8_t *seen; /* [high] */
    uint64_t entries;
    char *violation;
    size_t violation_size;
};

static bool see_row(struct row_audit *audit, uint64_t row, const char *where)
{
    const struct sw_rows_in_use *rows = audit->rows;
    if (row >= rows->high || row >= rows->mapped) {
        snprintf(audit->violation, audit->violation_size,
                 "I13: %s row %llu, of %llu that were used and %llu that are mapped", where,
                 (unsigned long long)row, (unsigned long long)rows->high,
                 (unsigned long long)rows->mapped);
        return false;
    }
    if (audit->seen[row] != 0) {
        snprintf(audit->violation, audit->violation_size,
                 "I11: %s row %llu, which is in use or free already", where,
                 (unsigned long long)row);
        return false;
    }
    audit->seen[row] = 1;
    return true;
}

static bool see_entry(struct row_audit *audit, uint64_t row)
{
    audit->entries++;
    return see_row(audit, row, "an entry has");
}

#define SW_WIDTH_BODY "table/robin_hood/row_audit.inl"
#include "table/each_width.inl"

static bool all_rows_once(struct row_audit *audit, uint32_t slot_bits,
                          const struct sw_geometry *geometry, const struct sw_state *state,
                          const void *slots)
{
    const struct sw_rows_in_use *rows = audit->rows;
    for (uint64_t i = 0; i < rows->free_count; i++) {
        if (!see_row(audit, rows->free[i], "the stack of free rows has")) {
            return false;
        }
    }
    if (!SW_BY_WIDTH(slot_bits, sw_see_rows, audit, slots, geometry->slots_total) ||
        (state->side_present != 0 && !see_entry(audit, state->side_value))) {
        return false;
    }
    if (audit->entries + rows->free_count != rows->high || audit->entries != state->occupied) {
        snprintf(audit->violation, audit->violation_size,
                 "I12: %llu entries with rows, %llu counted; %llu rows are free, %llu were used",
                 (unsigned long long)audit->entries, (unsigned long long)state->occupied,
                 (unsigned long long)rows->free_count, (unsigned long long)rows->high);
        return false;
    }
    return true;
}

int sw_check_rows(uint32_t slot_bits, const struct sw_geometry *geometry,
                  const struct sw_state *state, const void *slots,
                  const struct sw_rows_in_use *rows, char *violation, size_t violation_size)
{
    struct row_audit audit = {.rows = rows,
                              .violation = violation,
                              .violation_size = violation_size,
                              .seen = calloc(rows->high + 1, 1)};
    if (audit.seen == NULL) {
        return SW_E_NOMEM;
    }
    bool good = all_rows_once(&audit, slot_bits, geometry, state, slots);
    free(audit.seen);
    return good ? SW_OK : SW_E_INVALID;
}
