/* SPDX-License-Identifier: MIT
 *
 * fake_nvml.c - a library that stands for the driver's libnvidia-ml.so.1 in tests. It has one GPU,
 * and says of it what the file FAKE_NVML does, which is read for each question:
 *
 *   BUS-ID INIT TOTAL USED BUSY MEMORY-BUSY
 *
 * The first nvmlInit_v2 starts a thread that stays, as that of the driver does.
 *
 * INIT is what nvmlInit_v2 returns. A number below 0 is the negative of the error that asking for
 * it gives.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define NOT_FOUND 6

struct says {
    char bus_id[64];
    int init;
    long long total, used, busy, memory_busy;
};

struct memory {
    unsigned long long total, free, used;
};
struct utilization {
    unsigned gpu, memory;
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int error);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory);
int nvmlDeviceGetUtilizationRates(void *device, struct utilization *utilization);

static int begun;
static char one_gpu;

/* The real library never aborts; this one aborts if it is used in a wrong way. */
static void expect(int holds)
{
    if (!holds) {
        fprintf(stderr, "fake_nvml: used in a wrong way\n");
        abort();
    }
}

static struct says read_file(void)
{
    struct says says = {.init = 999};
    FILE *file = fopen(getenv("FAKE_NVML"), "re");
    expect(file != NULL);
    expect(fscanf(file, "%63s %d %lld %lld %lld %lld", says.bus_id, &says.init, &says.total,
                  &says.used, &says.busy, &says.memory_busy) == 6);
    fclose(file);
    return says;
}

static void *stay(void *unused)
{
    for (;;) {
        pause();
    }
    return unused;
}

int nvmlInit_v2(void)
{
    static int has_thread;
    pthread_t thread;
    int error = read_file().init;
    if (!has_thread) {
        has_thread = 1;
        expect(pthread_create(&thread, NULL, stay, NULL) == 0);
    }
    begun += error == 0;
    return error;
}

int nvmlShutdown(void)
{
    expect(begun-- == 1);
    return 0;
}

const char *nvmlErrorString(int error)
{
    return error == NOT_FOUND ? "Not Found" : "Driver/library version mismatch";
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device)
{
    expect(begun == 1);
    *device = &one_gpu;
    return strcasecmp(bus_id, read_file().bus_id) == 0 ? 0 : NOT_FOUND;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    expect(begun == 1);
    *count = 1;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    expect(begun == 1 && index == 0);
    *device = &one_gpu;
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory)
{
    struct says says = read_file();
    expect(begun == 1 && device == &one_gpu);
    if (says.used < 0) {
        return (int)-says.used;
    }
    *memory = (struct memory){(unsigned long long)says.total,
                              (unsigned long long)(says.total - says.used),
                              (unsigned long long)says.used};
    return 0;
}

int nvmlDeviceGetUtilizationRates(void *device, struct utilization *utilization)
{
    struct says says = read_file();
    expect(begun == 1 && device == &one_gpu);
    if (says.busy < 0) {
        return (int)-says.busy;
    }
    *utilization = (struct utilization){(unsigned)says.busy, (unsigned)says.memory_busy};
    return 0;
}
