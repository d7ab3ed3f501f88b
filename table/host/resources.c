/* SPDX-License-Identifier: MIT
 *
 * resources.c - implements table/device.h.
 */
#include "table/host/resources.h"

#include <stdio.h>
#include <stdlib.h>

#include "table/host/parts.h"

/* Most threads of a device. */
#define THREADS_MAX 256

int sw_device_create(uint32_t threads, struct sw_device **out)
{
    struct sw_device *device = calloc(1, sizeof(*device));
    *out = device;
    if (device == NULL) {
        return SW_E_NOMEM;
    }
    threads = threads > 0 ? threads : sw_cpu_cores();
    device->threads = threads < THREADS_MAX ? threads : THREADS_MAX;
    /* the default attributes of Linux need no resources, so this cannot fail */
    pthread_mutex_init(&device->mutex, NULL);
    sw_scratch_init(&device->scratch);
    sw_scratch_init(&device->combined);
    return SW_OK;
}

void sw_device_destroy(struct sw_device *device)
{
    if (device != NULL) {
        while (device->parts != NULL) {
            struct sw_device_part *part = device->parts;
            device->parts = part->next;
            part->calls->close(part->part);
            free(part);
        }
        sw_pool_destroy(device->pool);
        sw_scratch_fini(&device->scratch);
        sw_scratch_fini(&device->combined);
        pthread_mutex_destroy(&device->mutex);
        free(device);
    }
}

uint64_t sw_device_bytes(struct sw_device *device)
{
    uint64_t bytes = sw_scratch_bytes(&device->scratch) + sw_scratch_bytes(&device->combined) +
                     __atomic_load_n(&device->own_bytes, __ATOMIC_RELAXED);
    pthread_mutex_lock(&device->mutex);
    for (const struct sw_device_part *part = device->parts; part != NULL; part = part->next) {
        bytes += part->calls->bytes(part->part);
    }
    pthread_mutex_unlock(&device->mutex);
    return bytes;
}

void *sw_device_part(struct sw_device *device, int ordinal,
                     const struct sw_device_part_calls *calls)
{
    pthread_mutex_lock(&device->mutex);
    struct sw_device_part *part = device->parts;
    while (part != NULL && part->ordinal != ordinal) {
        part = part->next;
    }
    if (part == NULL && (part = calloc(1, sizeof(*part))) != NULL) {
        *part = (struct sw_device_part){device->parts, ordinal, calls->open(ordinal), calls};
        if (part->part == NULL) {
            free(part);
            part = NULL;
        } else {
            device->parts = part;
        }
    }
    pthread_mutex_unlock(&device->mutex);
    return part != NULL ? part->part : NULL;
}

int sw_device_join(const struct sw_table_config *config, struct sw_device **device,
                   struct sw_device **own, struct sw_pool **pool, char *reason, size_t reason_size)
{
    int status = SW_OK;
    *own = NULL;
    *device = config->shared;
    if (config->shared == NULL) {
        status = sw_device_create(config->threads, own);
        *device = *own;
    }
    if (status != SW_OK) {
        snprintf(reason, reason_size, "not enough memory");
        return status;
    }
    pthread_mutex_lock(&(*device)->mutex);
    if ((*device)->pool == NULL) {
        status = sw_pool_create((*device)->threads, &(*device)->pool);
    }
    *pool = (*device)->pool;
    pthread_mutex_unlock(&(*device)->mutex);
    if (status != SW_OK) {
        snprintf(reason, reason_size, SW_POOL_REFUSED, (unsigned)(*device)->threads);
    }
    return status;
}
