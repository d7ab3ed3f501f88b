/* SPDX-License-Identifier: MIT
 *
 * memory.cuh - imported memory of a CUDA table: implements sw_importing of each engine's backend.
 */
#ifndef SHERWOOD_TABLE_DEVICE_MEMORY_CUH
#define SHERWOOD_TABLE_DEVICE_MEMORY_CUH

#include "table/backend.h"
#include "table/device/channel.cuh"

int sw_cuda_memory_import(const struct sw_cuda_channel_owner *owner,
                          const struct sw_memory_source *source, struct sw_memory *out,
                          char *reason, size_t reason_size);
void sw_cuda_memory_release(const struct sw_cuda_channel_owner *owner, struct sw_memory *memory);
int sw_cuda_memory_copy(struct sw_cuda_channel_owner *owner, const struct sw_memory_copy *list,
                        uint32_t count, struct sw_memory_copies **out);
int sw_cuda_memory_copy_poll(struct sw_cuda_channel_owner *owner, struct sw_memory_copies *copies);
bool sw_cuda_memory_device(const struct sw_cuda_channel_owner *owner, uint8_t uuid[16]);

/* Members of sw_importing, for a Table that derives from sw_cuda_channel_owner. */
template <class Table>
int sw_cuda_import(void *table, const struct sw_memory_source *source, struct sw_memory *out,
                   char *reason, size_t reason_size)
{
    return sw_cuda_memory_import((Table *)table, source, out, reason, reason_size);
}
template <class Table> void sw_cuda_release(void *table, struct sw_memory *memory)
{
    sw_cuda_memory_release((Table *)table, memory);
}
template <class Table>
int sw_cuda_copy_memory(void *table, const struct sw_memory_copy *list, uint32_t count,
                        struct sw_memory_copies **out)
{
    return sw_cuda_memory_copy((Table *)table, list, count, out);
}
template <class Table> int sw_cuda_copy_poll(void *table, struct sw_memory_copies *copies)
{
    return sw_cuda_memory_copy_poll((Table *)table, copies);
}
template <class Table> bool sw_cuda_uuid(const void *table, uint8_t uuid[16])
{
    return sw_cuda_memory_device((const Table *)table, uuid);
}
template <class Table>
const struct sw_importing sw_cuda_importing = {sw_cuda_import<Table>, sw_cuda_release<Table>,
                                               sw_cuda_copy_memory<Table>, sw_cuda_copy_poll<Table>,
                                               sw_cuda_uuid<Table>};

#endif
