/* SPDX-License-Identifier: MIT
 *
 * allocations.c - registers allocations of the device with the server.
 *
 * Invariant: no two entries overlap. An entry describes the allocation that had its addresses at
 * its last use. An allocator may free memory and get the same addresses again, so every use reads
 * the buffer's number from the driver.
 */
#include <string.h>

#include "client/cuda/attached.h"
#include "proto/operation.h"

static bool overlaps(const struct sw_cuda_allocation *entry, uintptr_t base, size_t bytes)
{
    return entry->region != NULL && entry->base < base + bytes && base < entry->base + entry->bytes;
}

static int forget(struct sw_cuda_allocation *entry)
{
    int status = sherwood_region_destroy(entry->region);
    entry->region = NULL;
    return status;
}

/* Returns the entry of an allocation, or else a free or the least recently used entry. Unregisters
 * allocations that overlap it. */
static struct sw_cuda_allocation *entry_of(struct sherwood_cuda *cuda, uintptr_t base, size_t bytes,
                                           uint64_t buffer)
{
    struct sw_cuda_allocation *best = NULL;
    for (int i = 0; i < SW_CUDA_ALLOCATIONS_MAX; i++) {
        struct sw_cuda_allocation *entry = &cuda->allocations[i];
        if (entry->region != NULL && entry->base == base && entry->bytes == bytes &&
            entry->buffer == buffer) {
            return entry;
        }
        if (overlaps(entry, base, bytes)) {
            (void)forget(entry); /* the next call on the connection reports an error */
        }
        if (best == NULL ||
            (best->region != NULL && (entry->region == NULL || entry->used < best->used))) {
            best = entry;
        }
    }
    return best;
}

/* Registers an allocation, and replaces the entry by it. */
static int add(struct sherwood_cuda *cuda, struct sw_cuda_allocation *entry,
               struct sherwood_memory *memory, uint64_t buffer)
{
    memory->kind = SHERWOOD_MEMORY_CUDA_IPC;
    memcpy(memory->device_uuid, cuda->uuid, sizeof(memory->device_uuid));
    if (entry->region != NULL) {
        (void)forget(entry);
    }
    int status = sherwood_region_register(cuda->client, memory, &entry->region);
    if (status != SHERWOOD_OK) {
        entry->region = NULL;
        return sw_cuda_fail(status, "%s", sherwood_error(cuda->client));
    }
    entry->base = (uintptr_t)memory->address;
    entry->bytes = memory->bytes;
    entry->buffer = buffer;
    return SHERWOOD_OK;
}

/* The driver's facts about an address: the allocation, or the part of it that was mapped as one. */
struct range {
    uintptr_t base;
    size_t bytes;
    uint64_t buffer;
    uint64_t after; /* bytes from the address to the end */
};

/* Finds the range of an address, which is in memory of the handle's device. */
static int find_range(const struct sherwood_cuda *cuda, uintptr_t address, const char *what,
                      struct range *range)
{
    static const int attributes[] = {SW_DRIVER_RANGE_BEGIN, SW_DRIVER_RANGE_BYTES,
                                     SW_DRIVER_BUFFER_ID, SW_DRIVER_DEVICE};
    int device = 0;
    void *values[] = {&range->base, &range->bytes, &range->buffer, &device};
    *range = (struct range){0};
    int error = cuda->driver.pointer_attributes(4, attributes, values, address);
    if (error != 0 || range->bytes == 0 || address - range->base >= range->bytes) {
        return sw_cuda_fail(SHERWOOD_E_INVALID,
                            "the %s at %p are not in device memory: use memory of device %d", what,
                            (void *)address, cuda->ordinal);
    }
    if (device != cuda->ordinal) {
        return sw_cuda_fail(SHERWOOD_E_INVALID,
                            "the %s at %p are in memory of device %d, and this handle is of device "
                            "%d: attach a handle with device %d",
                            what, (void *)address, device, cuda->ordinal, device);
    }
    range->after = range->bytes - (address - range->base);
    return SHERWOOD_OK;
}

static int too_long(const char *what, uint64_t bytes, uint64_t after)
{
    return sw_cuda_fail(SHERWOOD_E_INVALID,
                        "the %s have %llu bytes, but the allocation ends after %llu", what,
                        (unsigned long long)bytes, (unsigned long long)after);
}

/* Checks that memory which cannot be registered has `bytes` bytes. It may be mapped in parts, as an
 * expandable segment is. */
static int check_parts(const struct sherwood_cuda *cuda, uintptr_t address, uint64_t bytes,
                       const char *what, struct range range)
{
    uint64_t checked = range.after;
    while (checked < bytes) {
        int status = find_range(cuda, address + checked, what, &range);
        if (status != SHERWOOD_OK) {
            return too_long(what, bytes, checked);
        }
        checked += range.after;
    }
    return SHERWOOD_OK;
}

int sw_cuda_share(struct sherwood_cuda *cuda, const void *pointer, uint64_t bytes, const char *what,
                  bool *staged)
{
    struct sherwood_memory memory = SHERWOOD_MEMORY_INIT;
    struct range range;
    if (pointer == NULL) {
        return SHERWOOD_OK;
    }
    int status = find_range(cuda, (uintptr_t)pointer, what, &range);
    if (status != SHERWOOD_OK) {
        return status;
    }
    struct sw_cuda_allocation *entry = entry_of(cuda, range.base, range.bytes, range.buffer);
    if (entry->region != NULL && entry->base == range.base && entry->buffer == range.buffer) {
        entry->used = ++cuda->clock;
        return bytes <= range.after ? SHERWOOD_OK : too_long(what, bytes, range.after);
    }
    memory.address = (void *)range.base;
    memory.bytes = range.bytes;
    const bool is_small = staged != NULL && range.bytes < SW_CUDA_SMALL_BYTES;
    int error = is_small ? 0 : cuda->driver.memory_handle(memory.handle, range.base);
    if (error != 0 && staged == NULL) {
        return sw_cuda_fail(SHERWOOD_E_INVALID,
                            "cannot share the memory at %p (%s): memory of a pool, managed memory "
                            "and expandable segments of torch are copied by each call, and cannot "
                            "be registered",
                            (void *)range.base, sw_driver_text(&cuda->driver, error));
    }
    if (error != 0 || is_small) {
        *staged = true;
        return check_parts(cuda, (uintptr_t)pointer, bytes, what, range);
    }
    if (bytes > range.after) {
        return too_long(what, bytes, range.after);
    }
    status = add(cuda, entry, &memory, range.buffer);
    entry->used = ++cuda->clock;
    return status;
}

/* Returns NULL, or why the call cannot have these flags. */
static const char *check_flags(const struct sherwood_cuda_call *call)
{
    if (call->flags == 0) {
        return NULL;
    }
    if (call->flags != SHERWOOD_FOUND_BYTES || sw_operation_writes((uint32_t)call->operation) ||
        !sw_operation_takes_device((uint32_t)call->operation)) {
        return "the only flag is SHERWOOD_FOUND_BYTES, and only GET and PEEK take it";
    }
    return call->found == NULL ? "found is NULL, but SHERWOOD_FOUND_BYTES is set" : NULL;
}

/* Returns NULL, or why the structs of the call cannot be read. */
static const char *check_structs(const struct sherwood_cuda_call *call)
{
    const struct sherwood_cache *cache = call->cache;
    const struct sherwood_times *times = call->times;
    return (cache != NULL &&
            (cache->size < sizeof(*cache) || cache->size > SW_CUDA_STRUCT_BYTES_MAX)) ||
                   (times != NULL &&
                    (times->size < sizeof(*times) || times->size > SW_CUDA_STRUCT_BYTES_MAX))
               ? "cache and times begin with SHERWOOD_CACHE_INIT and SHERWOOD_TIMES_INIT"
               : NULL;
}

/* Returns NULL, or why the operation cannot have these arrays. */
static const char *check_arrays(const struct sherwood_cuda *cuda,
                                const struct sherwood_cuda_call *call)
{
    const struct sherwood_server *server = sherwood_server(sw_cuda_client_of(cuda, call));
    if (sw_operation_has_operands((uint32_t)call->operation) && call->values == NULL &&
        server->value_type != SHERWOOD_NONE) {
        return "values is NULL, but the operation needs values";
    }
    if (sw_operation_has_range((uint32_t)call->operation) && call->range_bytes == 0) {
        return "range_bytes is 0: set the bytes of each part";
    }
    return call->operand_type != SHERWOOD_BYTES && call->scale == 0
               ? "operand_type needs a scale, which is 0"
               : NULL;
}

/* Returns the alignment that a call needs of an array. */
static uint32_t align_of(const struct sherwood_server *server,
                         const struct sherwood_cuda_call *call, uint32_t array)
{
    const bool is_value =
        array == SW_CUDA_VALUES || array == SW_CUDA_PREVIOUS || array == SW_CUDA_EVICTED_VALUES;
    if (array == SW_CUDA_KEYS || array == SW_CUDA_EVICTED_KEYS) {
        return server->key_bytes;
    }
    if (!is_value ||
        (array == SW_CUDA_PREVIOUS && sw_operation_answers_times((uint32_t)call->operation))) {
        return sizeof(uint64_t);
    }
    return sw_operation_has_range((uint32_t)call->operation) ? 1
           : server->value_bytes % 16 == 0                   ? 16
           : server->value_bytes % 8 == 0                    ? 8
                                                             : 4;
}

/* Checks all of a call but its arrays' memory. */
static int check_call(const struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call)
{
    const struct sherwood_server *server = sherwood_server(sw_cuda_client_of(cuda, call));
    if (call->count > UINT64_MAX / 8192 || call->keys == NULL) {
        return sw_cuda_fail(SHERWOOD_E_INVALID, "keys is NULL, or count %zu is too large",
                            call->count);
    }
    const char *wrong = check_flags(call);
    wrong = wrong != NULL ? wrong : check_structs(call);
    wrong = wrong != NULL ? wrong : check_arrays(cuda, call);
    if (wrong != NULL) {
        return sw_cuda_fail(SHERWOOD_E_INVALID, "%s", wrong);
    }
    for (uint32_t i = 0; i < SW_CUDA_ARRAYS; i++) {
        const uint32_t align = align_of(server, call, i);
        if (sw_cuda_array_at(call, i) % align != 0) {
            return sw_cuda_fail(SHERWOOD_E_INVALID, "the %s must be aligned to %u bytes",
                                sw_cuda_array_name(call, i), align);
        }
    }
    return SHERWOOD_OK;
}

int sw_cuda_share_all(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                      uint32_t *staged)
{
    int status = check_call(cuda, call);
    for (uint32_t i = 0; i < SW_CUDA_ARRAYS && status == SHERWOOD_OK; i++) {
        const void *at = (const void *)sw_cuda_array_at(call, i);
        const uint64_t bytes = sw_cuda_array_bytes(cuda, call, i, call->count);
        bool copied = false;
        if (bytes > 0) {
            status = sw_cuda_share(cuda, at, bytes, sw_cuda_array_name(call, i),
                                   staged == NULL ? NULL : &copied);
        }
        if (copied) {
            *staged |= 1U << i;
        }
    }
    return status;
}

int sw_cuda_share_and_run(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                          uint32_t *staged)
{
    int status = sw_cuda_share_all(cuda, call, staged);
    if (status == SHERWOOD_OK && (staged == NULL || *staged == 0)) {
        status = sw_cuda_run_call(cuda, call);
        if (status != SHERWOOD_OK) {
            (void)sw_cuda_fail(status, "%s", sherwood_error(cuda->client));
        }
    }
    return status;
}

int sw_cuda_unshare(struct sherwood_cuda *cuda, const void *pointer)
{
    for (int i = 0; i < SW_CUDA_ALLOCATIONS_MAX; i++) {
        struct sw_cuda_allocation *entry = &cuda->allocations[i];
        if (overlaps(entry, (uintptr_t)pointer, 1)) {
            int status = forget(entry);
            return status == SHERWOOD_OK ? status
                                         : sw_cuda_fail(status, "%s", sherwood_error(cuda->client));
        }
    }
    return SHERWOOD_OK;
}
