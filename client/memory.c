/* SPDX-License-Identifier: MIT
 *
 * memory.c - the memory that a handle shares with its server: makes it, finds arrays in it,
 * unshares it and frees it.
 */
#include "client/memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/error.h"
#include "client/handle.h"
#include "proto/host/available_memory.h"

uint8_t *sw_client_memfd(struct sherwood *client, const char *name, uint64_t bytes, int *fd)
{
    void *memory = MAP_FAILED;
    const uint64_t available = sw_memory_available();
    assert(bytes > 0 && bytes % SW_REGION_PAGE == 0);
    if (bytes > available - available / 16) { /* the kernel would kill processes to find pages */
        *fd = -1;
        sw_client_fail(
            client, SHERWOOD_E_NOMEM,
            "cannot create %llu bytes of shared memory: the machine, its control group or "
            "ulimit -v leaves %llu bytes; create a smaller region",
            (unsigned long long)bytes, (unsigned long long)available);
        return NULL;
    }
    /* glibc has this function only since 2.27 */
    *fd = (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int error = *fd < 0 ? errno : 0;
    if (error == 0 && (ftruncate(*fd, (off_t)bytes) != 0 ||
                       fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)) {
        error = errno;
    }
    if (error == 0) {
        error = posix_fallocate(*fd, 0, (off_t)bytes);
    }
    if (error == 0) {
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, *fd, 0);
        error = memory == MAP_FAILED ? errno : 0;
    }
    if (error != 0) {
        sw_client_memfd_close(*fd);
        *fd = -1;
        sw_client_fail(client, SHERWOOD_E_NOMEM, "cannot create %llu bytes of shared memory: %s",
                       (unsigned long long)bytes, strerror(error));
        return NULL;
    }
    return memory;
}

void sw_client_memfd_close(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

/* --- looking up ------------------------------------------------------------------------------- */

bool sw_client_region_find(const struct sherwood *client, const void *array,
                           struct sw_ring_extent extent, uint64_t *place)
{
    uintptr_t at = (uintptr_t)array;
    for (const struct sherwood_region *r = client->regions; r != NULL; r = r->next) {
        uintptr_t offset = at - (uintptr_t)r->memory;
        if (at >= (uintptr_t)r->memory && offset < r->bytes) {
            *place = sw_ring_place(r->index, offset);
            return extent.bytes <= r->bytes - offset && offset % extent.align == 0;
        }
    }
    return false;
}

bool sw_client_region_is_device(const struct sherwood *client, const void *array)
{
    for (const struct sherwood_region *r = client->regions; r != NULL; r = r->next) {
        if (r->is_device && (uintptr_t)array - (uintptr_t)r->memory < r->bytes) {
            return true;
        }
    }
    return false;
}

bool sw_client_region_has(const struct sherwood_region *region, const struct sw_client_array *array)
{
    const uintptr_t at = (uintptr_t)array->at, from = (uintptr_t)region->memory;
    return at < from + region->bytes && from < at + array->bytes;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Writes one byte of each page of an array, without a change, so that the kernel gives this process
 * a page of its own. An exchange, unlike a load and a store, loses no write of another thread. */
static void own_pages(const struct sherwood_region *region, const struct sw_client_array *array)
{
    const uintptr_t from = (uintptr_t)array->at - (uintptr_t)region->memory;
    const uintptr_t end = from + array->bytes < region->bytes ? from + array->bytes : region->bytes;
    for (uintptr_t at = from / SW_REGION_PAGE * SW_REGION_PAGE; at < end; at += SW_REGION_PAGE) {
        uint8_t *byte = region->memory + at;
        uint8_t held = __atomic_load_n(byte, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(byte, &held, held, false, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED)) {
        }
    }
}

/* Maps the same pages again at the same address, privately: from now on this process gets a copy of
 * each page that it writes. */
static bool part(struct sherwood_region *region)
{
    region->is_apart =
        region->is_apart ||
        mmap(region->memory, region->bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, region->fd, 0) == region->memory;
    return region->is_apart;
}

bool sw_client_regions_part(struct sw_client_connection *connection)
{
    struct sw_client_array arrays[SW_CLIENT_ARRAYS_MAX];
    bool done = true;
    for (uint32_t f = 0; connection->ring.in_flight > 0 && f < SW_CLIENT_FLIGHTS_MAX; f++) {
        const struct sw_client_flight *flight = &connection->flights[f];
        bool is_there = flight->id != 0 && flight->by_ring;
        uint32_t count = is_there ? sw_client_flight_arrays(flight, arrays) : 0;
        for (uint32_t i = 0; i < count; i++) {
            struct sherwood_region *region = connection->client->regions;
            while (region != NULL && !sw_client_region_has(region, &arrays[i])) {
                region = region->next;
            }
            if (region == NULL || !region->is_own || !arrays[i].is_out) {
                continue;
            }
            done &= part(region);
            if (region->is_apart) {
                own_pages(region, &arrays[i]);
            }
        }
    }
    return done;
}

void sw_client_region_free(struct sherwood_region *region)
{
    assert(region->memory != NULL && region->bytes > 0);
    if (region->is_own) {
        munmap(region->memory, region->bytes);
        sw_client_memfd_close(region->fd);
    }
    free(region);
}

void sw_client_regions_close(struct sherwood *client)
{
    while (client->regions != NULL) {
        struct sherwood_region *region = client->regions;
        client->regions = region->next;
        sw_client_region_free(region);
    }
}
