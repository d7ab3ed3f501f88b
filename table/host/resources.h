/* SPDX-License-Identifier: MIT
 *
 * resources.h - the parts of a struct sw_device (table/device.h), for the backends.
 *
 * Threads: any. `mutex` guards `pool` and `parts`. A pool and a part stay until the device is
 * destroyed.
 */
#ifndef SHERWOOD_TABLE_HOST_RESOURCES_H
#define SHERWOOD_TABLE_HOST_RESOURCES_H

#include "table/configuration.h"
#include "table/device.h"
#include "table/host/pool.h"
#include "table/host/scratch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a backend adds to a device for one GPU. */
struct sw_device_part_calls {
    void *(*open)(int ordinal); /* NULL: there is no memory */
    void (*close)(void *part);
    uint64_t (*bytes)(void *part);
};

struct sw_device_part {
    struct sw_device_part *next;
    int ordinal;
    void *part;
    const struct sw_device_part_calls *calls;
};

struct sw_device {
    uint32_t threads; /* of the pool */
    pthread_mutex_t mutex;
    struct sw_pool *pool;           /* NULL: no table in host memory yet */
    struct sw_scratch_set scratch;  /* of writes to tables in host memory */
    struct sw_scratch_set combined; /* of write batches that threads carry out together */
    uint64_t own_bytes;             /* atomic: memory that tables have of their own for batches */
    struct sw_device_part *parts;   /* under `mutex` */
};

/* For a table in host memory: sets *device to the shared device of the configuration, or to a new
 * one, which is then also *own; otherwise *own is NULL. Sets *pool to the workers of the device;
 * the first table of a device starts them. Returns SW_OK, or SW_E_NOMEM and a sentence in `reason`.
 * The caller destroys *own in either case. */
SW_MUST_CHECK int sw_device_join(const struct sw_table_config *config, struct sw_device **device,
                                 struct sw_device **own, struct sw_pool **pool, char *reason,
                                 size_t reason_size);

/* Returns the part for a GPU, which the first call opens; NULL if there is no memory. All callers
 * pass the same `calls`. */
void *sw_device_part(struct sw_device *device, int ordinal,
                     const struct sw_device_part_calls *calls);

#ifdef __cplusplus
}
#endif

#endif
