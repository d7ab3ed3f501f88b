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

static int share(struct sherwood_cuda *cuda, struct sw_cuda_allocation *entry, uintptr_t base,
                 size_t bytes, uint64_t buffer)
{
    struct sherwood_memory memory = SHERWOOD_MEMORY_INIT;
    memory.kind = SHERWOOD_MEMORY_CUDA_IPC;
    memory.address = (void *)base;
    memory.bytes = bytes;
    memcpy(memory.device_uuid, cuda->uuid, sizeof(memory.device_uuid));
    int error = cuda->driver.memory_handle(memory.handle, base);
    if (error != 0) {
        return sw_cuda_fail(SHERWOOD_E_INVALID,
                            "cannot share the memory at %p (%s): use an ordinary allocation, not "
                            "one of a pool, managed memory, or an expandable segment of torch",
                            (void *)base, sw_driver_text(&cuda->driver, error));
    }
    if (entry->region != NULL) {
        (void)forget(entry);
    }
    int status = sherwood_region_register(cuda->client, &memory, &entry->region);
    if (status != SHERWOOD_OK) {
        entry->region = NULL;
        return sw_cuda_fail(status, "%s", sherwood_error(cuda->client));
    }
    entry->base = base;
    entry->bytes = bytes;
    entry->buffer = buffer;
    return SHERWOOD_OK;
}

int sw_cuda_share(struct sherwood_cuda *cuda, const void *pointer, uint64_t bytes, const char *what)
{
    static const int attributes[] = {SW_DRIVER_RANGE_BEGIN, SW_DRIVER_RANGE_BYTES,
                                     SW_DRIVER_BUFFER_ID, SW_DRIVER_DEVICE};
    uintptr_t base = 0;
    size_t all = 0;
    uint64_t buffer = 0;
    int device = 0;
    void *values[] = {&base, &all, &buffer, &device};
    if (pointer == NULL) {
        return SHERWOOD_OK;
    }
    int error = cuda->driver.pointer_attributes(4, attributes, values, (uintptr_t)pointer);
    if (error != 0 || all == 0 || (uintptr_t)pointer - base >= all) {
        return sw_cuda_fail(SHERWOOD_E_INVALID,
                            "the %s at %p are not in device memory: use memory of device %d", what,
                            pointer, cuda->ordinal);
    }
    if (device != cuda->ordinal) {
        return sw_cuda_fail(SHERWOOD_E_INVALID,
                            "the %s at %p are in memory of device %d, and this handle is of device "
                            "%d: attach a handle with device %d",
                            what, pointer, device, cuda->ordinal, device);
    }
    const uint64_t after = all - ((uintptr_t)pointer - base);
    if (bytes > after) {
        return sw_cuda_fail(SHERWOOD_E_INVALID,
                            "the %s have %llu bytes, but the allocation ends after %llu", what,
                            (unsigned long long)bytes, (unsigned long long)after);
    }
    struct sw_cuda_allocation *entry = entry_of(cuda, base, all, buffer);
    int status = entry->region != NULL && entry->base == base && entry->buffer == buffer
                     ? SHERWOOD_OK
                     : share(cuda, entry, base, all, buffer);
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

int sw_cuda_share_all(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call)
{
    const enum sherwood_operation operation = call->operation;
    const void *keys = call->keys, *values = call->values, *previous = call->previous;
    const void *found = call->found;
    const size_t count = call->count;
    const struct sherwood_server *server = sherwood_server(cuda->client);
    const uint64_t value_bytes = (uint64_t)count * server->value_bytes;
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
    const bool takes = takes_values(operation);
    if (takes && values == NULL) {
        return sw_cuda_fail(SHERWOOD_E_INVALID, "values is NULL, but the operation needs values");
    }
    int status = sw_cuda_share(cuda, keys, (uint64_t)count * server->key_bytes, "keys");
    if (status == SHERWOOD_OK && takes) {
        status = sw_cuda_share(cuda, values, value_bytes, "values");
    }
    if (status == SHERWOOD_OK) {
        status = sw_cuda_share(cuda, previous, value_bytes, "earlier values");
    }
    if (status == SHERWOOD_OK) {
        status = call->flags == 0
                     ? sw_cuda_share(cuda, found, sherwood_found_words(count) * sizeof(uint64_t),
                                     "found bits")
                     : sw_cuda_share(cuda, found, (count + 7) / 8 * 8, "found bytes");
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
