/* SPDX-License-Identifier: MIT
 *
 * memory.h - regions: memory of a client's that the server has mapped, and the table imported.
 *
 * Mapping, and pinning for a device, may take long, so a worker of libuv does both, and undoes
 * them. A region is released when nothing uses it any more. But for the budget everything belongs
 * to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_REGION_MEMORY_H
#define SHERWOOD_SERVER_REGION_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "proto/region.h"
#include "table/memory.h"

/* What all connections together may register. Any thread. */
struct sw_region_budget {
    uint64_t bytes_max;        /* region-bytes-max */
    uint64_t device_bytes_max; /* device-region-bytes-max */
    uint64_t rings_max;
    uint64_t bytes, device_bytes, regions, rings; /* atomics: in use */
};

static inline void sw_region_budget_init(struct sw_region_budget *budget, uint64_t bytes_max,
                                         uint64_t device_bytes_max, uint64_t rings_max)
{
    *budget = (struct sw_region_budget){bytes_max, device_bytes_max, rings_max, 0, 0, 0, 0};
}

/* What is in use now. Any thread. */
static inline void sw_region_budget_show(const struct sw_region_budget *budget, uint64_t *bytes,
                                         uint64_t *device_bytes, uint64_t *regions, uint64_t *rings)
{
    *bytes = __atomic_load_n(&budget->bytes, __ATOMIC_RELAXED);
    *device_bytes = __atomic_load_n(&budget->device_bytes, __ATOMIC_RELAXED);
    *regions = __atomic_load_n(&budget->regions, __ATOMIC_RELAXED);
    *rings = __atomic_load_n(&budget->rings, __ATOMIC_RELAXED);
}
/* Takes a ring. Returns false if there are rings-max. */
bool sw_region_take_ring(struct sw_region_budget *budget);
void sw_region_put_ring(struct sw_region_budget *budget);

struct sw_region {
    uv_loop_t *uv; /* borrowed, as the others */
    struct sw_table *table;
    struct sw_region_budget *budget;
    struct sw_region_request requested;
    struct sw_memory memory;
    uint8_t *mapping; /* NULL: it is not host memory */
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
 * -1. `done` is called later: then the region is ready, or has failed, and is to be freed. NULL:
 * nothing was begun, `reason` says why, and the descriptor is closed. */
struct sw_region *sw_region_register(uv_loop_t *uv, struct sw_table *table,
                                     struct sw_region_budget *budget,
                                     const struct sw_region_request *requested, int fd,
                                     void (*done)(struct sw_region *region), void *user,
                                     char reason[SW_FRAME_TEXT_BYTES_MAX]);
/* A batch points into the region, or no more. */
static inline void sw_region_use(struct sw_region *region)
{
    region->users++;
}
void sw_region_unuse(struct sw_region *region);
/* From now on nobody can use the region. It is released when it has no users; then `done`, which
 * may be NULL, is called, and it is freed. */
void sw_region_release(struct sw_region *region, void (*done)(struct sw_region *region),
                       void *user);
/* Frees one that has failed. */
void sw_region_free(struct sw_region *region);

/* The address of `bytes` at `offset`; NULL: they do not lie in the region, or it is not to be used,
 * or the address is no multiple of `align`. */
void *sw_region_at(const struct sw_region *region, uint64_t offset, uint64_t bytes, uint32_t align);

/* Maps a memfd, which must have exactly `bytes` bytes and be sealed against shrinking. On failure
 * returns NULL and sets `reason`. The caller keeps the descriptor. */
uint8_t *sw_region_map(int fd, uint64_t bytes, char reason[SW_FRAME_TEXT_BYTES_MAX]);

#endif
