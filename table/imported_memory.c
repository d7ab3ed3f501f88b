/* SPDX-License-Identifier: MIT
 *
 * imported_memory.c - the import of memory. A backend in host memory uses imported memory where it
 * lies.
 */
#include "table/imported_memory.h"

#include <stdio.h>
#include <string.h>

#include "table/instance.h"

int sw_memory_import(struct sw_table *table, const struct sw_memory_source *source,
                     struct sw_memory *out, char *reason, size_t reason_size)
{
    const struct sw_importing *importing = table->backend->importing;
    *out = (struct sw_memory){.kind = source->kind};
    if (importing != NULL) {
        return importing->import(table->memory, source, out, reason, reason_size);
    }
    if (source->kind != SW_MEMORY_HOST) {
        snprintf(reason, reason_size,
                 "the %s backend has no device memory to share: use host memory",
                 table->backend->name);
        return SW_E_UNSUPPORTED;
    }
    out->address = source->host;
    out->bytes = source->bytes;
    return SW_OK;
}

void sw_memory_release(struct sw_table *table, struct sw_memory *memory)
{
    if (table->backend->importing != NULL) {
        table->backend->importing->release(table->memory, memory);
    }
    *memory = (struct sw_memory){0};
}

int sw_memory_copy(struct sw_table *table, const struct sw_memory_copy *list, uint32_t count,
                   struct sw_memory_copies **out)
{
    bool any = false;
    *out = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct sw_memory_copy *one = &list[i];
        void *at = (uint8_t *)one->memory->address + one->offset;
        if (one->memory->kind != SW_MEMORY_HOST) {
            any = true;
        } else {
            memcpy(one->stores ? at : one->io, one->stores ? one->io : at, one->bytes);
        }
    }
    return any ? table->backend->importing->copy(table->memory, list, count, out) : SW_OK;
}

int sw_memory_copy_poll(struct sw_table *table, struct sw_memory_copies *copies)
{
    return table->backend->importing->copy_poll(table->memory, copies);
}

bool sw_memory_device(const struct sw_table *table, uint8_t uuid[16])
{
    const struct sw_importing *importing = table->backend->importing;
    return importing != NULL && importing->device != NULL && importing->device(table->memory, uuid);
}
