/* SPDX-License-Identifier: MIT
 *
 * gpu.c - queries NVML once a second. NVML's functions are declared here as in the driver's ABI, so
 * a build needs no header of NVIDIA.
 */
#include "server/observe/gpu.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include "server/observe/log.h"

#define ASK_EVERY_MS 1000
/* An answer older than this is not shown: the driver hangs, or the GPU is gone. */
#define ANSWER_AGE_MAX_MS 10000

struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml_utilization {
    unsigned gpu, memory;
};

/* X(result, name, arguments) of the library. Results are 0 or an error. */
#define NVML_MAP(X)                                                               \
    X(int, nvmlInit_v2, (void))                                                   \
    X(int, nvmlShutdown, (void))                                                  \
    X(const char *, nvmlErrorString, (int error))                                 \
    X(int, nvmlDeviceGetHandleByPciBusId_v2, (const char *bus_id, void **device)) \
    X(int, nvmlDeviceGetMemoryInfo, (void *device, struct nvml_memory *memory))   \
    X(int, nvmlDeviceGetUtilizationRates, (void *device, struct nvml_utilization *))

struct nvml {
#define NVML_POINTER(result, name, arguments) result(*name) arguments;
    NVML_MAP(NVML_POINTER)
#undef NVML_POINTER
};

struct sw_gpu {
    const char *library;
    const char *bus_id;
    pthread_mutex_t lock; /* protects the fields below */
    pthread_cond_t stopped;
    bool stop;
    uint64_t answered_ms; /* 0: never */
    struct sw_gpu_facts facts;
    pthread_t thread;
};

static const struct sw_gpu_facts unknown = {SW_GPU_UNKNOWN, SW_GPU_UNKNOWN, SW_GPU_UNKNOWN,
                                            SW_GPU_UNKNOWN};

static uint64_t now_ms(void)
{
    return uv_hrtime() / 1000000;
}

static void warn_unusable(const struct sw_gpu *gpu, const char *why)
{
    sw_log(SW_LOG_WARNING,
           "memory and utilisation of the GPU at %s are not shown, because NVML (%s) cannot be "
           "used: %s",
           gpu->bus_id, gpu->library, why);
}

/* Returns the library's handle; or logs an error and returns NULL. */
static void *load(const struct sw_gpu *gpu, struct nvml *nvml)
{
    void *library = dlopen(gpu->library, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        warn_unusable(gpu, dlerror());
        return NULL;
    }
    void *found; /* copied, since an object pointer must not alias a function pointer */
#define NVML_FIND(result, name, arguments)      \
    found = dlsym(library, #name);              \
    if (found == NULL) {                        \
        warn_unusable(gpu, "it has no " #name); \
        dlclose(library);                       \
        return NULL;                            \
    }                                           \
    memcpy(&nvml->name, &found, sizeof(found));
    NVML_MAP(NVML_FIND)
#undef NVML_FIND
    return library;
}

static void query_gpu(struct sw_gpu *gpu, const struct nvml *nvml, void *device)
{
    struct nvml_memory memory = {0};
    struct nvml_utilization busy = {0};
    struct sw_gpu_facts facts = unknown;
    if (nvml->nvmlDeviceGetMemoryInfo(device, &memory) == 0) {
        facts.memory_used_bytes = memory.used;
        facts.memory_total_bytes = memory.total;
    }
    if (nvml->nvmlDeviceGetUtilizationRates(device, &busy) == 0) {
        facts.busy_percent = busy.gpu;
        facts.memory_busy_percent = busy.memory;
    }
    pthread_mutex_lock(&gpu->lock);
    gpu->facts = facts;
    gpu->answered_ms = now_ms();
    pthread_mutex_unlock(&gpu->lock);
}

/* Waits until the next query is due. Returns false if the thread must end. */
static bool wait(struct sw_gpu *gpu)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ASK_EVERY_MS / 1000;
    pthread_mutex_lock(&gpu->lock);
    while (!gpu->stop && pthread_cond_timedwait(&gpu->stopped, &gpu->lock, &until) != ETIMEDOUT) {
    }
    bool goes_on = !gpu->stop;
    pthread_mutex_unlock(&gpu->lock);
    return goes_on;
}

static void *run_gpu_sampler(void *argument)
{
    struct sw_gpu *gpu = argument;
    struct nvml nvml;
    void *device = NULL;
    void *library = load(gpu, &nvml);
    if (library == NULL) {
        return NULL;
    }
    int error = nvml.nvmlInit_v2();
    bool begun = error == 0;
    if (begun) {
        error = nvml.nvmlDeviceGetHandleByPciBusId_v2(gpu->bus_id, &device);
    }
    if (error == 0) {
        do {
            query_gpu(gpu, &nvml, device);
        } while (wait(gpu));
    } else {
        warn_unusable(gpu, nvml.nvmlErrorString(error));
    }
    if (begun) {
        nvml.nvmlShutdown();
    }
    dlclose(library);
    return NULL;
}

static void init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void free_gpu(struct sw_gpu *gpu)
{
    pthread_mutex_destroy(&gpu->lock);
    pthread_cond_destroy(&gpu->stopped);
    free(gpu);
}

int sw_gpu_watch(const char *library, const char *bus_id, struct sw_gpu **out)
{
    *out = NULL;
    if (bus_id[0] == '\0') {
        return 0;
    }
    struct sw_gpu *gpu = calloc(1, sizeof(*gpu));
    if (gpu == NULL) {
        sw_log(SW_LOG_ERROR, "no memory to watch the GPU");
        return -1;
    }
    gpu->library = library;
    gpu->bus_id = bus_id;
    gpu->facts = unknown;
    pthread_mutex_init(&gpu->lock, NULL);
    init_condition(&gpu->stopped);
    if (pthread_create(&gpu->thread, NULL, run_gpu_sampler, gpu) != 0) {
        sw_log(SW_LOG_ERROR, "cannot start the thread that watches the GPU");
        free_gpu(gpu);
        return -1;
    }
    *out = gpu;
    return 0;
}

void sw_gpu_destroy(struct sw_gpu *gpu)
{
    if (gpu == NULL) {
        return;
    }
    pthread_mutex_lock(&gpu->lock);
    gpu->stop = true;
    pthread_cond_signal(&gpu->stopped);
    pthread_mutex_unlock(&gpu->lock);
    pthread_join(gpu->thread, NULL);
    free_gpu(gpu);
}

void sw_gpu_facts(struct sw_gpu *gpu, struct sw_gpu_facts *facts)
{
    *facts = unknown;
    if (gpu == NULL) {
        return;
    }
    pthread_mutex_lock(&gpu->lock);
    if (gpu->answered_ms != 0 && now_ms() - gpu->answered_ms <= ANSWER_AGE_MAX_MS) {
        *facts = gpu->facts;
    }
    pthread_mutex_unlock(&gpu->lock);
}
