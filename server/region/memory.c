/* SPDX-License-Identifier: MIT
 *
 * memory.c - mapping and releasing the memory of clients.
 */
#include "server/region/memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "table/exported_table.h"
#include "table/status.h"

/* --- memfds ----------------------------------------------------------------------------------- */

/* Returns NULL, or an error text. Accepts only memory that no process can shrink: a read behind its
 * end would raise SIGBUS. Rejects memory without all of its pages: a page that the server touches
 * first is charged to the server. */
static const char *check_memfd(int fd, uint64_t bytes)
{
    struct stat status;
    struct statfs system;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0) {
        return "the file descriptor is not a memfd";
    }
    if ((seals & (F_SEAL_SHRINK | F_SEAL_SEAL)) == F_SEAL_SEAL) { /* or a file of tmpfs */
        return "the memfd cannot be sealed against shrinking: create it with "
               "MFD_ALLOW_SEALING";
    }
    if ((seals & F_SEAL_SHRINK) == 0) {
        return "the memfd is not sealed against shrinking: set F_SEAL_SHRINK";
    }
    if (fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC) {
        return "the memfd has huge pages: use ordinary pages";
    }
    if (fstat(fd, &status) != 0 || (uint64_t)status.st_size != bytes) {
        return "the size of the memfd differs from the size in the request";
    }
    return (uint64_t)status.st_blocks * 512 < bytes
               ? "the memfd does not have all of its pages: allocate them by fallocate"
               : NULL;
}

uint8_t *sw_region_map(int fd, uint64_t bytes, char reason[SW_FRAME_TEXT_BYTES_MAX])
{
    const char *wrong = check_memfd(fd, bytes);
    if (wrong != NULL) {
        snprintf(reason, SW_FRAME_TEXT_BYTES_MAX, "%s", wrong);
        return NULL;
    }
    void *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapping == MAP_FAILED) {
        snprintf(reason, SW_FRAME_TEXT_BYTES_MAX, "the memfd cannot be mapped: %s",
                 strerror(errno));
        return NULL;
    }
    (void)madvise(mapping, bytes, MADV_DONTDUMP);
    return mapping;
}

/* --- on a worker ------------------------------------------------------------------------------ */

static bool is_of_table(const struct sw_region_request *requested)
{
    return requested->kind == SW_REGION_TABLE;
}

static void unmap(struct sw_region *region)
{
    if (region->mapping != NULL) {
        munmap(region->mapping, region->requested.bytes);
        region->mapping = NULL;
    }
}

static_assert(sizeof(struct sw_region_table) == sizeof(struct sw_table_export) &&
                  offsetof(struct sw_region_table, arrays_handle) ==
                      offsetof(struct sw_table_export, arrays_handle),
              "a client gets what the table describes");

/* Stores where the table lies in the client's page. Returns whether it did. */
static bool export_table(struct sw_region *region, bool adds)
{
    struct sw_table_export described;
    const bool done = sw_table_export(region->table, adds, &described, region->reason,
                                      sizeof(region->reason)) == SW_OK;
    if (done) {
        memcpy(region->mapping, &described, sizeof(described));
    }
    return done;
}

static bool import(struct sw_region *region)
{
    struct sw_memory_source source = {.kind = SW_MEMORY_CUDA_IPC,
                                      .bytes = region->requested.bytes,
                                      .offset = region->requested.offset};
    memcpy(source.device_uuid, region->requested.device_uuid, sizeof(source.device_uuid));
    memcpy(source.handle, region->requested.handle, sizeof(source.handle));
    if (region->mapping != NULL) {
        source.kind = SW_MEMORY_HOST;
        source.host = region->mapping;
    }
    return sw_memory_import(region->table, &source, &region->memory, region->reason,
                            sizeof(region->reason)) == SW_OK;
}

static void register_region(uv_work_t *work)
{
    struct sw_region *region = work->data;
    if (region->fd >= 0) {
        region->mapping = sw_region_map(region->fd, region->requested.bytes, region->reason);
    }
    region->failed = region->fd >= 0 && region->mapping == NULL;
    if (!region->failed) {
        region->failed =
            is_of_table(&region->requested) ? !export_table(region, true) : !import(region);
    }
    if (region->failed) {
        unmap(region);
    }
}

static void renew_region(uv_work_t *work)
{
    struct sw_region *region = work->data;
    region->failed = !export_table(region, false);
}

static void release_region(uv_work_t *work)
{
    struct sw_region *region = work->data;
    if (is_of_table(&region->requested)) {
        sw_table_unexport(region->table);
    } else {
        sw_memory_release(region->table, &region->memory);
    }
    unmap(region);
}

/* --- on the loop ------------------------------------------------------------------------------ */

/* Adds `bytes` to *used. Returns false and adds nothing if the sum would exceed `most`. */
static bool charge(uint64_t *used, uint64_t bytes, uint64_t most)
{
    uint64_t before = __atomic_load_n(used, __ATOMIC_RELAXED);
    do {
        if (bytes > most || before > most - bytes) {
            return false;
        }
    } while (!__atomic_compare_exchange_n(used, &before, before + bytes, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return true;
}

static bool is_of_device(const struct sw_region_request *requested)
{
    return requested->kind == SW_REGION_CUDA_IPC;
}

/* Adds the bytes of a region to those in use. Returns false and sets `reason` if they exceed the
 * limit. */
static bool charge_region(struct sw_region_budget *budget,
                          const struct sw_region_request *requested,
                          char reason[SW_FRAME_TEXT_BYTES_MAX])
{
    const bool device = is_of_device(requested);
    uint64_t *used = device ? &budget->device_bytes : &budget->bytes;
    uint64_t most = device ? budget->device_bytes_max : budget->bytes_max;
    if (charge(used, requested->bytes, most)) {
        return true;
    }
    snprintf(reason, SW_FRAME_TEXT_BYTES_MAX,
             "%llu bytes more of regions than %llu would pass %sregion-bytes-max, %llu",
             (unsigned long long)requested->bytes,
             (unsigned long long)__atomic_load_n(used, __ATOMIC_RELAXED), device ? "device-" : "",
             (unsigned long long)most);
    return false;
}

static void discharge_region(struct sw_region_budget *budget,
                             const struct sw_region_request *requested)
{
    uint64_t *used = is_of_device(requested) ? &budget->device_bytes : &budget->bytes;
    __atomic_fetch_sub(used, requested->bytes, __ATOMIC_RELAXED);
}

bool sw_region_take_ring(struct sw_region_budget *budget)
{
    return charge(&budget->rings, 1, budget->rings_max);
}

void sw_region_put_ring(struct sw_region_budget *budget)
{
    __atomic_fetch_sub(&budget->rings, 1, __ATOMIC_RELAXED);
}

bool sw_region_take_reader(struct sw_region_budget *budget, uint64_t most)
{
    return charge(&budget->readers, 1, most);
}

void sw_region_put_reader(struct sw_region_budget *budget)
{
    __atomic_fetch_sub(&budget->readers, 1, __ATOMIC_RELAXED);
}

void sw_region_free(struct sw_region *region)
{
    assert(region->mapping == NULL && region->users == 0);
    if (region->fd >= 0) {
        close(region->fd);
    }
    discharge_region(region->budget, &region->requested);
    if (is_of_table(&region->requested)) {
        sw_region_put_reader(region->budget);
    }
    __atomic_fetch_sub(&region->budget->regions, 1, __ATOMIC_RELAXED);
    free(region);
}

static void on_registered(uv_work_t *work, int status)
{
    struct sw_region *region = work->data;
    assert(status == 0); /* nobody cancels it */
    (void)status;
    if (region->fd >= 0) {
        close(region->fd);
        region->fd = -1;
    }
    region->ready = !region->failed;
    region->done(region);
}

static void on_released(uv_work_t *work, int status)
{
    struct sw_region *region = work->data;
    assert(status == 0);
    (void)status;
    if (region->done != NULL) {
        region->done(region);
    }
    sw_region_free(region);
}

struct sw_region *sw_region_register(uv_loop_t *uv, struct sw_table *table,
                                     struct sw_region_budget *budget,
                                     const struct sw_region_request *requested, int fd,
                                     void (*done)(struct sw_region *region), void *user,
                                     char reason[SW_FRAME_TEXT_BYTES_MAX])
{
    struct sw_region *region = NULL;
    if (!charge_region(budget, requested, reason)) {
        if (fd >= 0) {
            close(fd);
        }
        return NULL;
    }
    region = calloc(1, sizeof(*region));
    if (region == NULL) {
        snprintf(reason, SW_FRAME_TEXT_BYTES_MAX, "not enough memory for a region");
        discharge_region(budget, requested);
        if (fd >= 0) {
            close(fd);
        }
        return NULL;
    }
    __atomic_fetch_add(&budget->regions, 1, __ATOMIC_RELAXED);
    region->uv = uv;
    region->table = table;
    region->budget = budget;
    region->requested = *requested;
    region->fd = fd;
    region->done = done;
    region->user = user;
    region->work.data = region;
    uv_queue_work(uv, &region->work, register_region, on_registered);
    return region;
}

static void begin_release(struct sw_region *region)
{
    uv_queue_work(region->uv, &region->work, release_region, on_released);
}

static void on_renewed(uv_work_t *work, int status)
{
    struct sw_region *region = work->data;
    assert(status == 0);
    (void)status;
    region->done(region);
    sw_region_unuse(region);
}

void sw_region_unuse(struct sw_region *region)
{
    assert(region->users > 0);
    region->users--;
    if (region->users == 0 && region->leaving) {
        begin_release(region);
    }
}

void sw_region_release(struct sw_region *region, void (*done)(struct sw_region *region), void *user)
{
    assert(region->ready && !region->leaving);
    region->leaving = true;
    region->done = done;
    region->user = user;
    if (region->users == 0) {
        begin_release(region);
    }
}

void sw_region_renew(struct sw_region *region, void (*done)(struct sw_region *region), void *user)
{
    assert(region->ready && !region->leaving && is_of_table(&region->requested));
    region->users++;
    region->done = done;
    region->user = user;
    uv_queue_work(region->uv, &region->work, renew_region, on_renewed);
}

bool sw_region_has_small_pages(const struct sw_region *region)
{
    const uint64_t end = region->requested.offset + region->requested.bytes;
    return is_of_device(&region->requested) && end > SW_REGION_DEVICE_PAGE &&
           end % SW_REGION_DEVICE_PAGE != 0;
}

void *sw_region_at(const struct sw_region *region, uint64_t offset, uint64_t bytes, uint32_t align)
{
    if (region == NULL || !region->ready || region->leaving || offset > region->memory.bytes ||
        bytes > region->memory.bytes - offset || offset % align != 0) {
        return NULL;
    }
    return (uint8_t *)region->memory.address + offset;
}
