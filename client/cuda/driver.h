/* SPDX-License-Identifier: MIT
 *
 * driver.h - the functions of CUDA's driver that the client uses. It loads the driver at run time:
 * a build needs nothing of CUDA, and a program without a GPU gets an error.
 */
#ifndef SHERWOOD_CLIENT_CUDA_DRIVER_H
#define SHERWOOD_CLIENT_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A handle of CUDA IPC, passed by value. */
struct sw_driver_handle {
    uint8_t bytes[64];
};

/* Names of the driver's functions. The suffix selects the version with these arguments. */
#define SW_DRIVER_MAP(X)                                                                           \
    X(init, "cuInit", (unsigned flags))                                                            \
    X(device_count, "cuDeviceGetCount", (int *count))                                              \
    X(device_get, "cuDeviceGet", (int *device, int ordinal))                                       \
    X(device_uuid, "cuDeviceGetUuid_v2", (uint8_t uuid[16], int device))                           \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))           \
    X(device_reaches, "cuDeviceCanAccessPeer", (int *can, int device, int peer))                   \
    X(context_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                    \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (int device))                               \
    X(context_push, "cuCtxPushCurrent_v2", (void *context))                                        \
    X(context_pop, "cuCtxPopCurrent_v2", (void **context))                                         \
    X(context_device, "cuCtxGetDevice", (int *device))                                             \
    X(pointer_attributes, "cuPointerGetAttributes",                                                \
      (unsigned count, const int *attributes, void **values, uintptr_t pointer))                   \
    X(memory_handle, "cuIpcGetMemHandle", (uint8_t handle[64], uintptr_t base))                    \
    X(memory_allocate, "cuMemAlloc_v2", (uintptr_t * memory, size_t bytes))                        \
    X(memory_free, "cuMemFree_v2", (uintptr_t memory))                                             \
    X(host_allocate, "cuMemHostAlloc", (void **memory, size_t bytes, unsigned flags))              \
    X(host_free, "cuMemFreeHost", (void *memory))                                                  \
    X(host_address, "cuMemHostGetDevicePointer_v2",                                                \
      (uintptr_t * device, void *memory, unsigned flags))                                          \
    X(stream_write, "cuStreamWriteValue32_v2",                                                     \
      (void *stream, uintptr_t address, uint32_t value, unsigned flags))                           \
    X(stream_wait, "cuStreamWaitValue32_v2",                                                       \
      (void *stream, uintptr_t address, uint32_t value, unsigned flags))                           \
    X(stream_synchronize, "cuStreamSynchronize", (void *stream))                                   \
    X(stream_capture, "cuStreamGetCaptureInfo_v2",                                                 \
      (void *stream, int *status, uint64_t *id, void **graph, const void **nodes, size_t *count))  \
    X(capture_mode, "cuThreadExchangeStreamCaptureMode", (int *mode))                              \
    X(object_create, "cuUserObjectCreate",                                                         \
      (void **object, void *argument, void (*destroy)(void *), unsigned references,                \
       unsigned flags))                                                                            \
    X(object_release, "cuUserObjectRelease", (void *object, unsigned references))                  \
    X(graph_retain, "cuGraphRetainUserObject",                                                     \
      (void *graph, void *object, unsigned references, unsigned flags))                            \
    X(stream_create, "cuStreamCreate", (void **stream, unsigned flags))                            \
    X(stream_destroy, "cuStreamDestroy_v2", (void *stream))                                        \
    X(stream_wait_event, "cuStreamWaitEvent", (void *stream, void *event, unsigned))               \
    X(event_create, "cuEventCreate", (void **event, unsigned flags))                               \
    X(event_destroy, "cuEventDestroy_v2", (void *event))                                           \
    X(event_record, "cuEventRecord", (void *event, void *stream))                                  \
    X(event_synchronize, "cuEventSynchronize", (void *event))                                      \
    X(copy, "cuMemcpyAsync", (uintptr_t to, uintptr_t from, size_t bytes, void *stream))           \
    X(stream_capturing, "cuStreamIsCapturing", (void *stream, int *status))                        \
    X(memory_open, "cuIpcOpenMemHandle_v2",                                                        \
      (uintptr_t * memory, struct sw_driver_handle handle, unsigned flags))                        \
    X(memory_close, "cuIpcCloseMemHandle", (uintptr_t memory))                                     \
    X(module_load, "cuModuleLoadData", (void **module, const void *image))                         \
    X(module_unload, "cuModuleUnload", (void *module))                                             \
    X(module_function, "cuModuleGetFunction", (void **function, void *module, const char *name))   \
    X(resident_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                              \
      (int *blocks, void *function, int threads, size_t shared_bytes))                             \
    X(launch, "cuLaunchKernel",                                                                    \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **parameters, \
       void **extra))                                                                              \
    X(error_text, "cuGetErrorString", (int error, const char **text))

/* All return 0 or an error of CUDA. */
struct sw_driver {
    void *library;
#define SW_DRIVER_MEMBER(name, symbol, arguments) int(*name) arguments;
    SW_DRIVER_MAP(SW_DRIVER_MEMBER)
#undef SW_DRIVER_MEMBER
};

/* Attributes of pointers: a number that is unique for each allocation, the number of its device,
 * its start, and its bytes. The driver stores 0 for an attribute that a pointer lacks. */
#define SW_DRIVER_BUFFER_ID 7
#define SW_DRIVER_DEVICE 9
#define SW_DRIVER_RANGE_BEGIN 11
#define SW_DRIVER_RANGE_BYTES 12
#define SW_DRIVER_MULTIPROCESSORS 16 /* attributes of a device */
#define SW_DRIVER_MPS_ENABLED 133
#define SW_DRIVER_HOST_PORTABLE 1U
#define SW_DRIVER_HOST_MAPPED 2U
#define SW_DRIVER_CAPTURES 1 /* the status of a stream that is being captured */
#define SW_DRIVER_CAPTURE_RELAXED 2
#define SW_DRIVER_OBJECT_NO_DESTRUCTOR_SYNC 1U
#define SW_DRIVER_GRAPH_MOVE 1U /* the graph gets the caller's reference */
#define SW_DRIVER_STREAM_NON_BLOCKING 1U
#define SW_DRIVER_IPC_LAZY_PEERS 1U
#define SW_DRIVER_EVENT_NO_TIMING 2U
#define SW_DRIVER_WAIT_AT_LEAST 0U /* the comparison is modulo 2^32 */

/* Loads and initialises the driver. Returns NULL, or a sentence in static storage. */
const char *sw_driver_open(struct sw_driver *driver);
void sw_driver_close(struct sw_driver *driver);
/* Makes the context current in this thread. Until sw_driver_leave the thread may also allocate and
 * wait while another thread captures a stream: its capture forbids that to all threads. Returns
 * false if the context is gone; then do not leave. */
bool sw_driver_enter(const struct sw_driver *driver, void *context, int *mode);
void sw_driver_leave(const struct sw_driver *driver, int mode);
/* Returns the text of an error. */
const char *sw_driver_text(const struct sw_driver *driver, int error);

#endif
