/* SPDX-License-Identifier: MIT
 *
 * memory.h - regions: memory of a client that the server maps and the table imports. A region of
 * the kind TABLE is one client that reads the table's own memory.
 *
 * Mapping, and pinning for a device, may take long, so a worker of libuv does both, and undoes
 * them. A region is released when no batch uses it. Threads: the loop's. The budget is the
 * exception: any thread may use it.
 */
#ifndef SHERWOOD_SERVER_REGION_MEMORY_H
#define SHERWOOD_SERVER_REGION_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "proto/region.h"
#include "table/imported_memory.h"

/* Limits for all connections together, and what is in use. Threads: any. */
struct sw_region_budget {
    uint64_t bytes_max;        /* region-bytes-max */
    uint64_t device_bytes_max; /* device-region-bytes-max */
    uint64_t rings_max;
    uint64_t bytes, device_bytes, regions, rings, readers; /* atomics: in use */
    bool warned; /* atomic: the log has a line about small pages (sw_region_has_small_pages) */
};

static inline void sw_region_budget_init(struct sw_region_budget *budget, uint64_t bytes_max,
                                         uint64_t device_bytes_max, uint64_t rings_max)
{
    *budget = (struct sw_region_budget){
        .bytes_max = bytes_max, .device_bytes_max = device_bytes_max, .rings_max = rings_max};
}

/* Reads what is in use. Threads: any. */
static inline void sw_region_budget_show(const struct sw_region_budget *budget, uint64_t *bytes,
                                         uint64_t *device_bytes, uint64_t *regions, uint64_t *rings,
                                         uint64_t *readers)
{
    *bytes = __atomic_load_n(&budget->bytes, __ATOMIC_RELAXED);
    *device_bytes = __atomic_load_n(&budget->device_bytes, __ATOMIC_RELAXED);
    *regions = __atomic_load_n(&budget->regions, __ATOMIC_RELAXED);
    *rings = __atomic_load_n(&budget->rings, __ATOMIC_RELAXED);
    *readers = __atomic_load_n(&budget->readers, __ATOMIC_RELAXED);
}
/* Count a ring as in use, or end that. sw_region_take_ring returns false if rings-max rings are in
 * use. */
bool sw_region_take_ring(struct sw_region_budget *budget);
void sw_region_put_ring(struct sw_region_budget *budget);
/* Do the same for a client that reads the table directly. There may be `most` such clients. When
 * the region of its TABLE is freed, the client is no longer counted. */
bool sw_region_take_reader(struct sw_region_budget *budget, uint64_t most);
void sw_region_put_reader(struct sw_region_budget *budget);

struct sw_region {
    uv_loop_t *uv; /* borrowed, like the next two */
    struct sw_table *table;
    struct sw_region_budget *budget;
    struct sw_region_request requested;
    struct sw_memory memory;
    uint8_t *mapping; /* of the descriptor; NULL: a region of GPU memory */
    uint64_t users;   /* batches that point into it */
    bool ready;       /* may be used */
    bool leaving;     /* may not be used any more */

    /* Registration and release. */
    uv_work_t work;
    int fd;                                 /* -1: none */
    bool failed;                            /* with a sentence in `reason` */
    char reason[SW_FRAME_TEXT_BYTES_MAX];   /* error of a failed registration */
    void (*done)(struct sw_region *region); /* called on the loop after either */
    void *user;                             /* the caller's */
};

/* Begins to register the region that `requested` describes. Takes ownership of `fd`, which may be
 * -1. Calls `done` later, on the loop. The region is then ready; or it has failed, and the caller
 * frees it by sw_region_free. Returns NULL if it could not begin: it has then set `reason` and
 * closed the descriptor. */
struct sw_region *sw_region_register(uv_loop_t *uv, struct sw_table *table,
                                     struct sw_region_budget *budget,
                                     const struct sw_region_request *requested, int fd,
                                     void (*done)(struct sw_region *region), void *user,
                                     char reason[SW_FRAME_TEXT_BYTES_MAX]);
/* Describes the table again in the page of a region of the kind TABLE. Calls `done` later, on the
 * loop; region->failed: with a sentence in region->reason. No other call on the region until then.
 */
void sw_region_renew(struct sw_region *region, void (*done)(struct sw_region *region), void *user);
/* Returns whether the driver may give the GPU small pages for a region of GPU memory, because the
 * size of the allocation is above SW_REGION_DEVICE_PAGE and not a multiple of it. Random reads of
 * such memory by another process were 250 times slower on an H200 (driver 580). */
#define SW_REGION_DEVICE_PAGE (UINT64_C(2) << 20)
bool sw_region_has_small_pages(const struct sw_region *region);

/* Count a batch that points into the region, and end that. */
static inline void sw_region_use(struct sw_region *region)
{
    region->users++;
}
void sw_region_unuse(struct sw_region *region);
/* Ends the use of the region: sw_region_at returns NULL from now on. Once the region has no users,
 * a worker releases it. Then the loop calls `done`, which may be NULL, and frees the region. */
void sw_region_release(struct sw_region *region, void (*done)(struct sw_region *region),
                       void *user);
/* Frees a region whose registration has failed. */
void sw_region_free(struct sw_region *region);

/* Returns the address of `bytes` bytes at `offset`. Returns NULL if they do not lie in the region,
 * if the region is not ready or is being released, or if `offset` is not a multiple of `align`. */
void *sw_region_at(const struct sw_region *region, uint64_t offset, uint64_t bytes, uint32_t align);

/* Maps a memfd, which must have exactly `bytes` bytes and be sealed against shrinking. On failure
 * returns NULL and sets `reason`. The caller keeps the descriptor. */
uint8_t *sw_region_map(int fd, uint64_t bytes, char reason[SW_FRAME_TEXT_BYTES_MAX]);

#endif
