/* SPDX-License-Identifier: MIT
 *
 * fake_cuda.c - a library that stands for CUDA's driver, libcuda.so.1, in tests of libsherwood-cuda
 * (client/cuda/driver.h lists its functions). It has the devices of the emulator (make
 * emulated-daemon): EMU_GPUS of them, or one. Allocations are memfds. The emulator opens their
 * handles, so a daemon on it reads and writes them. The exception is fake_memory(): the processor
 * cannot touch it, as it cannot touch a GPU's, and no other process can open its handle.
 * fake_streams.c has the streams.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The driver's functions are found by name in the library; no header of ours declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define INVALID 1
#define NO_CONTEXT 201
#define BYTES (1U << 20)
#define BUFFER_ID 7
#define DEVICE 9
#define MULTIPROCESSORS 16 /* attributes of a device */
#define MPS_ENABLED 133
#define RANGE_BEGIN 11
#define DEVICES_MAX 4
#define ALLOCATIONS_MAX 4096

struct allocation {
    char *memory; /* NULL: the entry is free */
    size_t bytes;
    int device, descriptor; /* -1: no other process can open it; -2: it has no handle */
    uint64_t buffer;
};

static struct allocation allocations[ALLOCATIONS_MAX];
static uint64_t buffers;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of both */
static int contexts[DEVICES_MAX];
static _Thread_local int *current;

bool fake_may_allocate(void); /* fake_streams.c */

static const struct allocation none;

/* Returns a copy of the allocation with this address, or `none`. Removes it if `removes`. */
static struct allocation allocation_of(uintptr_t address, bool removes)
{
    struct allocation found = none;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < ALLOCATIONS_MAX && found.memory == NULL; i++) {
        if (allocations[i].memory != NULL &&
            address - (uintptr_t)allocations[i].memory < allocations[i].bytes) {
            found = allocations[i];
            if (removes) {
                allocations[i].memory = NULL;
            }
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void *add(void *memory, size_t bytes, int device, int descriptor)
{
    void *added = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < ALLOCATIONS_MAX && memory != MAP_FAILED && added == NULL; i++) {
        if (allocations[i].memory == NULL) {
            allocations[i] = (struct allocation){memory, bytes, device, descriptor, ++buffers};
            added = memory;
        }
    }
    pthread_mutex_unlock(&lock);
    return added;
}

/* For tests: memory of a device that the processor can touch. */
void *fake_allocate(int device, size_t bytes)
{
    const int descriptor = memfd_create("device memory", MFD_CLOEXEC);
    if (descriptor < 0 || ftruncate(descriptor, (off_t)bytes) != 0) {
        return NULL;
    }
    return add(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), bytes, device,
               descriptor);
}

/* For tests: memory of a device without a handle, as of a pool. The driver reports it in parts of
 * `part` bytes, as it does an expandable segment. */
void *fake_segment(int device, size_t bytes, size_t part)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t at = 0; memory != MAP_FAILED && at < bytes; at += part) {
        if (add(memory + at, bytes - at < part ? bytes - at : part, device, -2) == NULL) {
            return NULL;
        }
    }
    return memory != MAP_FAILED ? memory : NULL;
}

/* For tests: memory of device 0 that neither the processor nor a server can touch. */
void *fake_memory(void)
{
    return add(mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), BYTES, 0, -1);
}

int cuInit(unsigned flags)
{
    return flags == 0 ? 0 : INVALID;
}
int cuDeviceGetCount(int *count)
{
    const char *text = getenv("EMU_GPUS");
    *count = text == NULL ? 1 : atoi(text);
    return 0;
}
int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return 0;
}
int cuDeviceGetUuid_v2(uint8_t uuid[16], int device)
{
    memset(uuid, 0, 16);
    memcpy(uuid, "emulated", 8);
    uuid[8] = (uint8_t)device;
    return 0;
}
/* Processes share the devices if EMU_MPS is set. */
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == MULTIPROCESSORS ? 2 : getenv("EMU_MPS") != NULL;
    return (attribute == MULTIPROCESSORS || attribute == MPS_ENABLED) && device < DEVICES_MAX
               ? 0
               : INVALID;
}
int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = device != peer && device < 2 && peer < 2;
    return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = &contexts[device];
    return device < DEVICES_MAX ? 0 : INVALID;
}
int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    return 0;
}
int cuCtxPushCurrent_v2(void *context)
{
    current = context;
    return 0;
}
int cuCtxPopCurrent_v2(void **context)
{
    *context = current;
    current = NULL;
    return 0;
}
int cuCtxGetDevice(int *device)
{
    if (current == NULL) {
        return NO_CONTEXT;
    }
    *device = (int)(current - contexts);
    return 0;
}
int cuPointerGetAttributes(unsigned count, const int *attributes, void **values, uintptr_t pointer)
{
    const struct allocation allocation = allocation_of(pointer, false);
    for (unsigned i = 0; i < count; i++) {
        const uint64_t value = attributes[i] == BUFFER_ID     ? allocation.buffer
                               : attributes[i] == RANGE_BEGIN ? (uintptr_t)allocation.memory
                                                              : allocation.bytes;
        if (attributes[i] == DEVICE) {
            memcpy(values[i], &allocation.device, sizeof(allocation.device));
        } else {
            memcpy(values[i], &value, sizeof(value));
        }
    }
    return 0;
}

int cuMemAlloc_v2(uintptr_t *memory, size_t bytes)
{
    *memory = current == NULL || !fake_may_allocate()
                  ? 0
                  : (uintptr_t)fake_allocate((int)(current - contexts), bytes);
    return *memory != 0 ? 0 : INVALID;
}
int cuMemFree_v2(uintptr_t memory)
{
    if (!fake_may_allocate()) {
        return INVALID;
    }
    const struct allocation allocation = allocation_of(memory, true);
    if (allocation.memory == NULL) {
        return INVALID;
    }
    munmap(allocation.memory, allocation.bytes);
    close(allocation.descriptor);
    return 0;
}
/* The emulator's cudaIpcOpenMemHandle reads such a handle. */
int cuIpcGetMemHandle(uint8_t handle[64], uintptr_t base)
{
    const struct allocation allocation = allocation_of(base, false);
    if (allocation.memory == NULL || allocation.descriptor == -2) {
        return INVALID;
    }
    const struct {
        char magic[8];
        int32_t process, descriptor;
        uint64_t bytes;
    } named = {"foreign", getpid(), allocation.descriptor, allocation.bytes};
    memset(handle, 0, 64);
    memcpy(handle, &named, sizeof(named));
    return 0;
}

/* Opens the memory of an emulated daemon. */
struct handle {
    char magic[8];
    int32_t process, descriptor;
    uint64_t bytes;
    char unused[40];
};
int cuIpcOpenMemHandle_v2(uintptr_t *memory, struct handle handle, unsigned flags)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", handle.process, handle.descriptor);
    const int descriptor = memcmp(handle.magic, "foreign", 8) == 0 ? open(path, O_RDWR) : -1;
    void *mapped = descriptor < 0 ? MAP_FAILED
                                  : mmap(NULL, handle.bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                                         descriptor, 0);
    if (descriptor >= 0) {
        close(descriptor);
    }
    /* For tests that must fail: the page of direct reads, which begins with an epoch and a
     * generation, does not show later writes. */
    if (mapped != MAP_FAILED && getenv("FAKE_FROZEN_PAGE") != NULL &&
        ((const uint64_t *)mapped)[1] < UINT32_MAX) {
        void *copy =
            mmap(NULL, handle.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(copy, mapped, 4096);
        mapped = copy;
    }
    *memory = (uintptr_t)add(mapped, handle.bytes, 0, -1);
    return *memory != 0 && flags == 1 ? 0 : INVALID;
}
int cuIpcCloseMemHandle(uintptr_t memory)
{
    const struct allocation allocation = allocation_of(memory, true);
    return allocation.memory != NULL && munmap(allocation.memory, allocation.bytes) == 0 ? 0
                                                                                         : INVALID;
}

int cuModuleLoadData(void **module, const void *image)
{
    *module = (void *)(uintptr_t)image;
    return 0;
}
int cuModuleUnload(void *module)
{
    return module != NULL ? 0 : INVALID;
}
/* A function is its name. */
int cuModuleGetFunction(void **function, void *module, const char *name)
{
    *function = (void *)(uintptr_t)name;
    return module != NULL ? 0 : INVALID;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads,
                                                size_t bytes)
{
    *blocks = 1;
    return function != NULL && threads == 256 && bytes == 0 ? 0 : INVALID;
}

int cuMemHostAlloc(void **host, size_t bytes, unsigned flags)
{
    (void)flags;
    *host = fake_may_allocate() ? malloc(bytes) : NULL;
    return *host != NULL ? 0 : INVALID;
}
int cuMemFreeHost(void *host)
{
    const bool may = fake_may_allocate();
    if (may) {
        free(host);
    }
    return may ? 0 : INVALID;
}
int cuMemHostGetDevicePointer_v2(uintptr_t *device, void *host, unsigned flags)
{
    (void)flags;
    *device = (uintptr_t)host;
    return 0;
}
int cuGetErrorString(int error, const char **text)
{
    *text = error == 0 ? "no error" : "invalid value";
    return 0;
}
