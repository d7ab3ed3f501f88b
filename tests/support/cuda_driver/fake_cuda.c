/* SPDX-License-Identifier: MIT
 *
 * fake_cuda.c - a library that stands for CUDA's driver, libcuda.so.1, in tests of libsherwood-cuda
 * (client/cuda/driver.h lists its functions). It has the device of the emulator (make
 * emulated-daemon) and one allocation, which the processor cannot touch, as it cannot touch a
 * GPU's. No other process can open its handle, so a server refuses to register it.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* The driver's functions are found by name in the library; no header of ours declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define INVALID 1
#define BYTES (1U << 20)
#define BUFFER_ID 7
#define RANGE_BEGIN 11

static void *memory;

/* The allocation: for the test, by its name. */
void *fake_memory(void)
{
    if (memory == NULL) {
        memory = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    return memory;
}

int cuInit(unsigned flags)
{
    return flags == 0 ? 0 : INVALID;
}
int cuDeviceGetCount(int *count)
{
    *count = 1;
    return 0;
}
int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return 0;
}
int cuDeviceGetUuid_v2(uint8_t uuid[16], int device)
{
    (void)device;
    memset(uuid, 0, 16);
    memcpy(uuid, "emulated", 8);
    return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device)
{
    (void)device;
    *context = &memory;
    return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    return 0;
}
int cuCtxPushCurrent_v2(void *context)
{
    return context == &memory ? 0 : INVALID;
}
int cuCtxPopCurrent_v2(void **context)
{
    *context = &memory;
    return 0;
}
int cuPointerGetAttributes(unsigned count, const int *attributes, void **values, uintptr_t pointer)
{
    const int is_ours = pointer - (uintptr_t)memory < BYTES;
    for (unsigned i = 0; i < count; i++) {
        const uint64_t value = !is_ours                       ? 0
                               : attributes[i] == BUFFER_ID   ? 1
                               : attributes[i] == RANGE_BEGIN ? (uintptr_t)memory
                                                              : BYTES;
        memcpy(values[i], &value, sizeof(value));
    }
    return 0;
}
int cuIpcGetMemHandle(uint8_t handle[64], uintptr_t base)
{
    memset(handle, 0, 64);
    return base == (uintptr_t)memory ? 0 : INVALID;
}

/* Streams: none can be used. */
int cuMemHostAlloc(void **host, size_t bytes, unsigned flags)
{
    (void)host;
    (void)bytes;
    (void)flags;
    return INVALID;
}
int cuMemFreeHost(void *host)
{
    (void)host;
    return INVALID;
}
int cuMemHostGetDevicePointer_v2(uintptr_t *device, void *host, unsigned flags)
{
    (void)device;
    (void)host;
    (void)flags;
    return INVALID;
}
int cuStreamWriteValue32_v2(void *stream, uintptr_t address, uint32_t value, unsigned flags)
{
    (void)stream;
    (void)address;
    (void)value;
    (void)flags;
    return INVALID;
}
int cuStreamWaitValue32_v2(void *stream, uintptr_t address, uint32_t value, unsigned flags)
{
    return cuStreamWriteValue32_v2(stream, address, value, flags);
}
int cuStreamIsCapturing(void *stream, int *status)
{
    (void)stream;
    *status = 0;
    return 0;
}
int cuGetErrorString(int error, const char **text)
{
    *text = error == 0 ? "no error" : "invalid value";
    return 0;
}
