/* SPDX-License-Identifier: MIT
 *
 * device.cu - chooses and describes the device, reports errors of the CUDA runtime.
 */
#include "bench/study/device.cuh"
#include "bench/study/place.h"

bool sw_study_ok(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) {
        return true;
    }
    fprintf(stderr, "%s: %s (%s)\n", what, cudaGetErrorString(error), cudaGetErrorName(error));
    return false;
}

bool sw_study_done(const char *what)
{
    return sw_study_ok(cudaGetLastError(), what) && sw_study_ok(cudaDeviceSynchronize(), what);
}

static int attribute(cudaDeviceAttr which, int device)
{
    int value = 0;
    (void)cudaDeviceGetAttribute(&value, which, device); /* 0 means unknown */
    return value;
}

static void device_describe(int device, FILE *out)
{
    cudaDeviceProp properties;
    int driver = 0;
    int runtime = 0;
    if (!sw_study_ok(cudaGetDeviceProperties(&properties, device), "the device's facts") ||
        !sw_study_ok(cudaDriverGetVersion(&driver), "the driver's version") ||
        !sw_study_ok(cudaRuntimeGetVersion(&runtime), "the runtime's version")) {
        return;
    }
    fprintf(out, "gpu: %s, compute capability %d.%d, %d multiprocessors\n", properties.name,
            properties.major, properties.minor, properties.multiProcessorCount);
    fprintf(out, "gpu memory: %.1f GiB, L2 %.1f MiB, clock %d MHz, memory clock %d MHz\n",
            (double)properties.totalGlobalMem / (1 << 30), properties.l2CacheSize / 1048576.0,
            attribute(cudaDevAttrClockRate, device) / 1000,
            attribute(cudaDevAttrMemoryClockRate, device) / 1000);
    fprintf(out, "cuda: driver for %d.%d, runtime %d.%d, nvcc %d.%d.%d\n", driver / 1000,
            driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10, __CUDACC_VER_MAJOR__,
            __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__);
}

/* --- arrays in device memory ------------------------------------------------------------------ */

static bool device_choose(int device)
{
    return sw_study_ok(cudaSetDevice(device), "choosing the device");
}

static void *device_alloc(size_t bytes)
{
    void *memory = NULL;
    return sw_study_ok(cudaMalloc(&memory, bytes), "device memory") ? memory : NULL;
}

static void device_free(void *memory)
{
    (void)cudaFree(memory); /* the function that failed has reported the error */
}

static bool device_fill(void *memory, int byte, size_t bytes)
{
    return sw_study_ok(cudaMemset(memory, byte, bytes), "filling") && sw_study_done("filling");
}

static bool device_copy(void *to, const void *from, size_t bytes)
{
    return sw_study_ok(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "copying") &&
           sw_study_done("copying");
}

const struct sw_study_place sw_study_device = {
    "cuda", device_choose, device_describe, device_alloc, device_free, device_fill, device_copy,
};
