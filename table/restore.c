/* SPDX-License-Identifier: MIT
 *
 * restore.c - fills a table, for all engines.
 */
#include "table/restore.h"

#include <stdlib.h>

#include "table/instance.h"

struct sw_restore {
    struct sw_table *table;
    void *memory; /* the backend's */
};

int sw_restore_begin(struct sw_table *table, uint64_t entries, struct sw_restore **out)
{
    const struct sw_restoring *restoring = table->backend->restoring;
    *out = NULL;
    if (restoring == NULL) {
        return SW_E_UNSUPPORTED;
    }
    struct sw_restore *restore = calloc(1, sizeof(*restore));
    if (restore == NULL) {
        return SW_E_NOMEM;
    }
    restore->table = table;
    int status = restoring->begin(table->memory, entries, &restore->memory);
    if (status != SW_OK) {
        free(restore);
        return status;
    }
    *out = restore;
    return SW_OK;
}

int sw_restore_add(struct sw_restore *restore, const void *keys, const void *values, uint32_t count)
{
    return restore->table->backend->restoring->add(restore->memory, keys, values, count);
}

int sw_restore_end(struct sw_restore *restore, bool keep)
{
    struct sw_batch batch = {.op = SW_SET};
    int status = restore->table->backend->restoring->end(restore->memory, keep, &batch);
    sw_table_account(restore->table, &batch);
    free(restore);
    return status;
}
