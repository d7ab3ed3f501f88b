/* SPDX-License-Identifier: MIT
 *
 * exported_table.c - the export of a table to kernels of other processes.
 */
#include "table/exported_table.h"

#include <stdio.h>
#include <string.h>

#include "table/instance.h"

int sw_table_export(struct sw_table *table, bool adds, struct sw_table_export *out, char *reason,
                    size_t reason_size)
{
    const struct sw_exporting *exporting = table->backend->exporting;
    memset(out, 0, sizeof(*out));
    if (exporting == NULL) {
        snprintf(reason, reason_size,
                 "this table of the %s backend cannot be read directly: use the robin_hood engine "
                 "with integer values on a GPU",
                 table->backend->name);
        return SW_E_UNSUPPORTED;
    }
    return exporting->describe(table->memory, adds, out, reason, reason_size);
}

void sw_table_unexport(struct sw_table *table)
{
    if (table->backend->exporting != NULL) {
        table->backend->exporting->leave(table->memory);
    }
}

void sw_table_end_exports(struct sw_table *table)
{
    if (table->backend->exporting != NULL) {
        table->backend->exporting->end(table->memory);
    }
}

void sw_table_direct_counts(struct sw_table *table, uint64_t *hits, uint64_t *misses)
{
    *hits = 0;
    *misses = 0;
    if (table->backend->exporting != NULL) {
        table->backend->exporting->counts(table->memory, hits, misses);
    }
}
