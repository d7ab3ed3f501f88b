/* SPDX-License-Identifier: MIT
 *
 * gpu_memory.c - reads the memory of the GPUs from NVML once, before a table exists.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "server/observe/gpu.h"

struct nvml_memory {
    unsigned long long total, free, used;
};

/* X(name, arguments) of the library, as the driver's ABI has them. Results are 0 or an error. */
#define NVML_MAP(X)                                             \
    X(nvmlInit_v2, (void))                                      \
    X(nvmlShutdown, (void))                                     \
    X(nvmlDeviceGetCount_v2, (unsigned *count))                 \
    X(nvmlDeviceGetHandleByIndex_v2, (unsigned, void **device)) \
    X(nvmlDeviceGetMemoryInfo, (void *device, struct nvml_memory *memory))

struct nvml {
#define NVML_POINTER(name, arguments) int(*name) arguments;
    NVML_MAP(NVML_POINTER)
#undef NVML_POINTER
};

static uint64_t ask_all(const struct nvml *nvml)
{
    uint64_t least = SW_GPU_UNKNOWN;
    unsigned count = 0;
    if (nvml->nvmlDeviceGetCount_v2(&count) != 0) {
        return SW_GPU_UNKNOWN;
    }
    for (unsigned i = 0; i < count; i++) {
        void *device = NULL;
        struct nvml_memory memory = {0};
        if (nvml->nvmlDeviceGetHandleByIndex_v2(i, &device) == 0 &&
            nvml->nvmlDeviceGetMemoryInfo(device, &memory) == 0 && memory.total < least) {
            least = memory.total;
        }
    }
    return least;
}

static uint64_t ask_library(const char *library)
{
    struct nvml nvml = {0};
    uint64_t least = SW_GPU_UNKNOWN;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        return SW_GPU_UNKNOWN;
    }
    bool complete = true;
    void *found; /* copied, since an object pointer must not alias a function pointer */
#define NVML_FIND(name, arguments)             \
    found = dlsym(handle, #name);              \
    memcpy(&nvml.name, &found, sizeof(found)); \
    complete &= found != NULL;
    NVML_MAP(NVML_FIND)
#undef NVML_FIND
    if (complete && nvml.nvmlInit_v2() == 0) {
        least = ask_all(&nvml);
        nvml.nvmlShutdown();
    }
    dlclose(handle);
    return least;
}

/* NVML starts a thread that stays. main blocks signals only later, so this function blocks them for
 * the new thread: SIGTERM delivered to it would kill the process. */
uint64_t sw_gpu_memory_least(const char *library)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const uint64_t least = ask_library(library);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return least;
}
