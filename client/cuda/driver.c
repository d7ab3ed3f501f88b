/* SPDX-License-Identifier: MIT
 *
 * driver.c - loads CUDA's driver.
 */
#include "client/cuda/driver.h"

#include <dlfcn.h>
#include <string.h>

/* Converts a pointer to an object into a pointer to a function. ISO C has no such cast. */
static void take_symbol(void *library, const char *symbol, void *function)
{
    void *found = dlsym(library, symbol);
    memcpy(function, &found, sizeof(found));
}

const char *sw_driver_open(struct sw_driver *driver)
{
    int count = 0;
    memset(driver, 0, sizeof(*driver));
    driver->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver->library == NULL) {
        return "no CUDA driver: libcuda.so.1 was not found";
    }
#define TAKE(name, symbol, arguments)                                     \
    take_symbol(driver->library, symbol, (void *)&driver->name);          \
    if (driver->name == NULL) {                                           \
        sw_driver_close(driver);                                          \
        return "the CUDA driver is too old: update it; it lacks " symbol; \
    }
    SW_DRIVER_MAP(TAKE)
#undef TAKE
    if (driver->init(0) != 0 || driver->device_count(&count) != 0 || count == 0) {
        sw_driver_close(driver);
        return "the CUDA driver finds no device: check CUDA_VISIBLE_DEVICES and nvidia-smi";
    }
    return NULL;
}

void sw_driver_close(struct sw_driver *driver)
{
    if (driver->library != NULL) {
        dlclose(driver->library);
        driver->library = NULL;
    }
}

bool sw_driver_enter(const struct sw_driver *driver, void *context, int *mode)
{
    const bool entered = driver->context_push(context) == 0;
    *mode = SW_DRIVER_CAPTURE_RELAXED;
    if (entered) {
        (void)driver->capture_mode(mode);
    }
    return entered;
}

void sw_driver_leave(const struct sw_driver *driver, int mode)
{
    void *context;
    (void)driver->capture_mode(&mode);
    (void)driver->context_pop(&context);
}

const char *sw_driver_text(const struct sw_driver *driver, int error)
{
    const char *text = NULL;
    return driver->error_text(error, &text) == 0 && text != NULL ? text : "unknown error";
}
