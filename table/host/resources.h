/* SPDX-License-Identifier: MIT
 *
 * resources.h - the parts of a struct sw_device (table/device.h), for the backends.
 *
 * Threads: any. `mutex` guards `pool` and `cuda` until they are set; both stay until the device is
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

struct sw_device {
    uint32_t threads; /* of the pool */
    pthread_mutex_t mutex;
    struct sw_pool *pool;          /* NULL: no table in host memory yet */
    struct sw_scratch_set scratch; /* of writes to tables in host memory */
};

/* For a table in host memory: sets *device to the shared device of the configuration, or to a new
 * one, which is then also *own; otherwise *own is NULL. Sets *pool to the workers of the device;
 * the first table of a device starts them. Returns SW_OK, or SW_E_NOMEM and a sentence in `reason`.
 * The caller destroys *own in either case. */
SW_MUST_CHECK int sw_device_join(const struct sw_table_config *config, struct sw_device **device,
                                 struct sw_device **own, struct sw_pool **pool, char *reason,
                                 size_t reason_size);

#ifdef __cplusplus
}
#endif

#endif
