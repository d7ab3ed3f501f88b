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
#include "proto/ops/operations.h"

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

/* Returns the name of an operation that takes arrays of the host only, or NULL. The server executes
 * such an operation in several steps, or with times, and its requests go by the socket. */
static const char *only_for_host(enum sherwood_operation operation)
{
#define ROW(name, number, op, verb, guard, element, on, use, times, device, ...) \
    case SHERWOOD_##name:                                                        \
        return SW_IS_##device ? NULL : "SHERWOOD_" #name;
    switch (operation) {
        SW_DATA_OPERATION_MAP(ROW)
        SW_COMPOSED_OPERATION_MAP(ROW)
    }
#undef ROW
    return NULL; /* libsherwood reports an operation that takes no keys */
}

static bool takes_values(enum sherwood_operation operation)
{
#define ROW(name, number, op, verb, ...) \
    case SHERWOOD_##name:                \
        return SW_HAS_OPERAND(verb);
    switch (operation) {
        SW_DATA_OPERATION_MAP(ROW)
        SW_COMPOSED_OPERATION_MAP(ROW)
    }
#undef ROW
    return false;
}

static bool only_reads(enum sherwood_operation operation)
{
#define ROW(name, number, op, verb, ...) \
    case SHERWOOD_##name:                \
        return (int)SW_VERB_DOES_##verb == (int)SW_DOES_READS;
    switch (operation) {
        SW_DATA_OPERATION_MAP(ROW)
        SW_COMPOSED_OPERATION_MAP(ROW)
    }
#undef ROW
    return false;
}

/* Returns NULL, or why the call cannot have these flags. */
static const char *check_flags(const struct sherwood_cuda_call *call)
{
    if (call->flags == 0) {
        return NULL;
    }
    if (call->flags != SHERWOOD_FOUND_BYTES || !only_reads(call->operation)) {
        return "the only flag is SHERWOOD_FOUND_BYTES, and only GET and PEEK take it";
    }
    return call->found == NULL ? "found is NULL, but SHERWOOD_FOUND_BYTES is set" : NULL;
}

/* Checks all of a call but its arrays' memory. */
static int check_call(const struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call)
{
    const enum sherwood_operation operation = call->operation;
    const void *keys = call->keys, *values = call->values, *previous = call->previous;
    const void *found = call->found;
    const size_t count = call->count;
    const struct sherwood_server *server = sherwood_server(cuda->client);
    const uint32_t align = server->value_bytes % 16 == 0  ? 16
                           : server->value_bytes % 8 == 0 ? 8
                                                          : 4;
    const char *only_host = only_for_host(operation);
    if (only_host != NULL) {
        return sw_cuda_fail(SHERWOOD_E_INVALID,
                            "%s does not run on device memory: copy the arrays to the host, and "
                            "call libsherwood there",
                            only_host);
    }
    if (count > UINT64_MAX / 2048 || keys == NULL) {
        return sw_cuda_fail(SHERWOOD_E_INVALID, "keys is NULL, or count %zu is too large", count);
    }
    if ((uintptr_t)keys % server->key_bytes != 0 || (uintptr_t)values % align != 0 ||
        (uintptr_t)previous % align != 0 || (uintptr_t)found % sizeof(uint64_t) != 0) {
        return sw_cuda_fail(SHERWOOD_E_INVALID,
                            "keys must be aligned to %u bytes, values to %u, found to 8",
                            server->key_bytes, align);
    }
    const char *wrong = check_flags(call);
    if (wrong != NULL) {
        return sw_cuda_fail(SHERWOOD_E_INVALID, "%s", wrong);
    }
    if (takes_values(operation) && values == NULL) {
        return sw_cuda_fail(SHERWOOD_E_INVALID, "values is NULL, but the operation needs values");
    }
    return SHERWOOD_OK;
}

uint64_t sw_cuda_array_bytes(const struct sherwood_cuda *cuda,
                             const struct sherwood_cuda_call *call, uint32_t array, uint64_t count)
{
    const struct sherwood_server *server = sherwood_server(cuda->client);
    switch ((enum sw_cuda_array)array) {
    case SW_CUDA_KEYS:
        return count * server->key_bytes;
    case SW_CUDA_VALUES:
    case SW_CUDA_PREVIOUS:
        return count * server->value_bytes;
    case SW_CUDA_FOUND:
        break;
    }
    return call->flags != 0 ? (count + 7) / 8 * 8 : sherwood_found_words(count) * sizeof(uint64_t);
}

int sw_cuda_share_all(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call,
                      uint32_t *staged)
{
    int status = check_call(cuda, call);
    const struct {
        const void *pointer;
        const char *what;
    } arrays[SW_CUDA_ARRAYS] = {
        [SW_CUDA_KEYS] = {call->keys, "keys"},
        [SW_CUDA_VALUES] = {takes_values(call->operation) ? call->values : NULL, "values"},
        [SW_CUDA_PREVIOUS] = {call->previous, "earlier values"},
        [SW_CUDA_FOUND] = {call->found, call->flags != 0 ? "found bytes" : "found bits"},
    };
    for (uint32_t i = 0; i < SW_CUDA_ARRAYS && status == SHERWOOD_OK; i++) {
        bool copied = false;
        status =
            sw_cuda_share(cuda, arrays[i].pointer, sw_cuda_array_bytes(cuda, call, i, call->count),
                          arrays[i].what, staged == NULL ? NULL : &copied);
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
