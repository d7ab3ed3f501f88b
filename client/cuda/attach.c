/* SPDX-License-Identifier: MIT
 *
 * attach.c - chooses the device, opens and closes a handle, registers memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cuda/attached.h"

/* --- attach ----------------------------------------------------------------------------------- */

/* What an attempt to register allocates: the driver hands out memory in units of this size. */
#define TRIAL_BYTES ((size_t)2 << 20)

/* Returns the number of the device with this UUID, or -1 if this process does not see it. */
static int device_of(const struct sw_driver *driver, int count, const uint8_t wanted[16])
{
    for (int i = 0; i < count; i++) {
        uint8_t uuid[16];
        int device = 0;
        if (driver->device_get(&device, i) == 0 && driver->device_uuid(uuid, device) == 0 &&
            memcmp(uuid, wanted, sizeof(uuid)) == 0) {
            return device;
        }
    }
    return -1;
}

/* Retains the primary context of a device. Returns a status. */
static int use_device(struct sherwood_cuda *cuda, int device)
{
    const struct sw_driver *driver = &cuda->driver;
    int error = driver->device_uuid(cuda->uuid, device);
    if (error == 0) {
        error = driver->context_retain(&cuda->context, device);
    }
    if (error != 0) {
        cuda->context = NULL;
        return sw_cuda_fail(SHERWOOD_E_REQUEST, "cannot use device %d: %s", device,
                            sw_driver_text(driver, error));
    }
    cuda->ordinal = device;
    return SHERWOOD_OK;
}

/* Registers memory of the device for a moment, so that a server that cannot map memory of this
 * device refuses the attach and not the first call. Returns a status. */
static int try_device(struct sherwood_cuda *cuda)
{
    const struct sw_driver *driver = &cuda->driver;
    uintptr_t memory = 0;
    int mode;
    (void)sw_driver_enter(driver, cuda->context, &mode);
    int error = driver->memory_allocate(&memory, TRIAL_BYTES);
    int status = error == 0 ? SHERWOOD_OK
                            : sw_cuda_fail(SHERWOOD_E_NOMEM, "cannot allocate on device %d: %s",
                                           cuda->ordinal, sw_driver_text(driver, error));
    if (error == 0) {
        status = sw_cuda_share(cuda, (const void *)memory, TRIAL_BYTES, "bytes", NULL);
        if (status == SHERWOOD_OK) {
            status = sw_cuda_unshare(cuda, (const void *)memory);
        }
        (void)driver->memory_free(memory);
    }
    sw_driver_leave(driver, mode);
    return status;
}

/* Returns whether processes use a device by turns. An older driver does not tell: false. */
static bool has_turns(const struct sw_driver *driver, int device)
{
    int shares = 0;
    return driver->device_attribute(&shares, SW_DRIVER_MPS_ENABLED, device) == 0 && shares == 0;
}

/* Chooses the device: `wanted`, unless that is negative. Otherwise the server's, which has the UUID
 * of the handle, or the calling thread's if this process does not see the server's. Returns a
 * status. */
static int choose_device(struct sherwood_cuda *cuda, int wanted)
{
    const struct sw_driver *driver = &cuda->driver;
    int count = 0, device = wanted, reaches = 1;
    (void)driver->device_count(&count);
    const int servers = device_of(driver, count, cuda->uuid);
    if (device >= count) {
        return sw_cuda_fail(SHERWOOD_E_REQUEST,
                            "there is no device %d: this process sees %d; check "
                            "CUDA_VISIBLE_DEVICES",
                            device, count);
    }
    if (device < 0) {
        device = servers;
    }
    if (device < 0 && driver->context_device(&device) != 0) {
        device = 0; /* no context is current: CUDA's runtime also begins with device 0 */
    }
    if (servers >= 0 && servers != device &&
        (driver->device_reaches(&reaches, servers, device) != 0 || reaches == 0)) {
        return sw_cuda_fail(SHERWOOD_E_REQUEST,
                            "the server's device %d has no peer access to device %d (a part of MIG "
                            "has none): attach with device %d",
                            servers, device, servers);
    }
    int status = use_device(cuda, device);
    cuda->switches = device == servers && has_turns(driver, device);
    return status != SHERWOOD_OK || device == servers ? status : try_device(cuda);
}

static int attach(struct sherwood_cuda *cuda, const char *address,
                  const struct sherwood_options *options, int device)
{
    char text[SW_CUDA_TEXT_BYTES];
    int status = sherwood_connect_text(address, options, &cuda->client, text, sizeof(text));
    if (status != SHERWOOD_OK) {
        return sw_cuda_fail(status, "%s", text);
    }
    status = sherwood_region_device(cuda->client, cuda->uuid);
    if (status != SHERWOOD_OK) {
        return sw_cuda_fail(status, "%s", sherwood_error(cuda->client));
    }
    const char *why = sw_driver_open(&cuda->driver);
    return why == NULL ? choose_device(cuda, device) : sw_cuda_fail(SHERWOOD_E_REQUEST, "%s", why);
}

int sherwood_cuda_attach(const char *address, const struct sherwood_options *options,
                         struct sherwood_cuda **out, char *text, size_t text_bytes)
{
    return sherwood_cuda_attach_on(address, options, -1, out, text, text_bytes);
}

int sherwood_cuda_attach_on(const char *address, const struct sherwood_options *options, int device,
                            struct sherwood_cuda **out, char *text, size_t text_bytes)
{
    if (address == NULL || out == NULL) {
        return SHERWOOD_E_INVALID;
    }
    *out = NULL;
    struct sherwood_cuda *cuda = calloc(1, sizeof(*cuda));
    int status = SHERWOOD_E_NOMEM;
    if (cuda == NULL) {
        (void)sw_cuda_fail(status, "not enough memory");
    } else {
        sw_cuda_stages_open(cuda);
        pthread_mutex_init(&cuda->turn, NULL);
        pthread_mutex_init(&cuda->lock, NULL);
        pthread_cond_init(&cuda->changed, NULL);
        status = attach(cuda, address, options, device);
    }
    if (status != SHERWOOD_OK) {
        if (text != NULL && text_bytes > 0) {
            (void)snprintf(text, text_bytes, "%s", sherwood_cuda_error());
        }
        sherwood_cuda_close(cuda);
        return status;
    }
    *out = cuda;
    return SHERWOOD_OK;
}

void sherwood_cuda_close(struct sherwood_cuda *cuda)
{
    if (cuda == NULL) {
        return;
    }
    const bool ended = sw_cuda_ordered_close(cuda);
    sw_cuda_direct_close(cuda);
    sw_cuda_close_tables(cuda);
    sherwood_close(cuda->client);
    sw_cuda_stages_close(cuda);
    if (ended) {
        sw_cuda_free(cuda);
    } else {
        sw_cuda_ordered_closed(cuda);
    }
}

const struct sherwood_server *sherwood_cuda_server(const struct sherwood_cuda *cuda)
{
    return sherwood_server(cuda->client);
}

int sherwood_cuda_device(const struct sherwood_cuda *cuda)
{
    return cuda->ordinal;
}

bool sherwood_cuda_switches(const struct sherwood_cuda *cuda)
{
    return cuda->switches;
}

/* --- registering ------------------------------------------------------------------------------ */

int sherwood_cuda_register(struct sherwood_cuda *cuda, const void *pointer)
{
    if (cuda == NULL || pointer == NULL) {
        return SHERWOOD_E_INVALID;
    }
    const int mode = sw_cuda_enter(cuda);
    int status = sw_cuda_share(cuda, pointer, 1, "bytes", NULL);
    sw_cuda_leave(cuda, mode);
    return status;
}

int sherwood_cuda_unregister(struct sherwood_cuda *cuda, const void *pointer)
{
    if (cuda == NULL || pointer == NULL) {
        return SHERWOOD_E_INVALID;
    }
    const int mode = sw_cuda_enter(cuda);
    int status = sw_cuda_unshare(cuda, pointer);
    sw_cuda_leave(cuda, mode);
    return status;
}
