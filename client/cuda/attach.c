/* SPDX-License-Identifier: MIT
 *
 * attach.c - finds the server's device; the calls that wait on the host.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cuda/attached.h"

/* --- attach ----------------------------------------------------------------------------------- */

/* Finds the device with the UUID of the server's device. Returns a status. */
static int find_device(struct sherwood_cuda *cuda)
{
    const struct sw_driver *driver = &cuda->driver;
    int count = 0;
    (void)driver->device_count(&count);
    for (int i = 0; i < count; i++) {
        uint8_t uuid[16];
        int device = 0;
        if (driver->device_get(&device, i) != 0 || driver->device_uuid(uuid, device) != 0 ||
            memcmp(uuid, cuda->uuid, sizeof(uuid)) != 0) {
            continue;
        }
        int error = driver->context_retain(&cuda->context, device);
        if (error != 0) {
            cuda->context = NULL;
            return sw_cuda_fail(SHERWOOD_E_REQUEST, "cannot use device %d: %s", i,
                                sw_driver_text(driver, error));
        }
        cuda->ordinal = device;
        return SHERWOOD_OK;
    }
    return sw_cuda_fail(SHERWOOD_E_REQUEST,
                        "this process does not see the server's device (it sees %d): check "
                        "CUDA_VISIBLE_DEVICES",
                        count);
}

static int attach(struct sherwood_cuda *cuda, const char *address,
                  const struct sherwood_options *options)
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
    return why == NULL ? find_device(cuda) : sw_cuda_fail(SHERWOOD_E_REQUEST, "%s", why);
}

int sherwood_cuda_attach(const char *address, const struct sherwood_options *options,
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
        pthread_mutex_init(&cuda->turn, NULL);
        pthread_mutex_init(&cuda->lock, NULL);
        pthread_cond_init(&cuda->changed, NULL);
        status = attach(cuda, address, options);
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
    sw_cuda_ordered_close(cuda);
    sherwood_close(cuda->client);
    if (cuda->context != NULL) {
        (void)cuda->driver.context_release(cuda->ordinal);
    }
    sw_driver_close(&cuda->driver);
    pthread_cond_destroy(&cuda->changed);
    pthread_mutex_destroy(&cuda->lock);
    pthread_mutex_destroy(&cuda->turn);
    free(cuda);
}

const struct sherwood_server *sherwood_cuda_server(const struct sherwood_cuda *cuda)
{
    return sherwood_server(cuda->client);
}

int sherwood_cuda_device(const struct sherwood_cuda *cuda)
{
    return cuda->ordinal;
}

/* --- calls that wait -------------------------------------------------------------------------- */

/* Locks `turn` and makes the context current. */
static void enter_context(struct sherwood_cuda *cuda)
{
    sw_cuda_take_turn(cuda);
    (void)cuda->driver.context_push(cuda->context);
}

static void leave_context(struct sherwood_cuda *cuda)
{
    void *context;
    (void)cuda->driver.context_pop(&context);
    sw_cuda_give_turn(cuda);
}

int sherwood_cuda_run(struct sherwood_cuda *cuda, enum sherwood_operation operation,
                      const void *keys, const void *values, size_t count, void *previous,
                      uint64_t *found)
{
    if (cuda == NULL) {
        return SHERWOOD_E_INVALID;
    }
    if (count == 0) {
        return SHERWOOD_OK;
    }
    enter_context(cuda);
    int status = sw_cuda_share_all(cuda, operation, keys, values, count, previous, found);
    if (status == SHERWOOD_OK) {
        status = sherwood_run(cuda->client, operation, keys, values, count, previous, found);
        if (status != SHERWOOD_OK) {
            (void)sw_cuda_fail(status, "%s", sherwood_error(cuda->client));
        }
    }
    leave_context(cuda);
    return status;
}

int sherwood_cuda_register(struct sherwood_cuda *cuda, const void *pointer)
{
    if (cuda == NULL || pointer == NULL) {
        return SHERWOOD_E_INVALID;
    }
    enter_context(cuda);
    int status = sw_cuda_share(cuda, pointer, 1, "bytes");
    leave_context(cuda);
    return status;
}

int sherwood_cuda_unregister(struct sherwood_cuda *cuda, const void *pointer)
{
    if (cuda == NULL || pointer == NULL) {
        return SHERWOOD_E_INVALID;
    }
    enter_context(cuda);
    int status = sw_cuda_unshare(cuda, pointer);
    leave_context(cuda);
    return status;
}
