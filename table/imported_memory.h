/* SPDX-License-Identifier: MIT
 *
 * imported_memory.h - imported memory as I/O memory of a table: a mapping shared with another
 * process, or device memory that another process has allocated.
 */
#ifndef SHERWOOD_TABLE_IMPORTED_MEMORY_H
#define SHERWOOD_TABLE_IMPORTED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/status.h"

struct sw_table;
struct sw_batch;

#ifdef __cplusplus
extern "C" {
#endif

/* Imported memory: batches may point into it as into I/O memory. If an import fails, `reason` says
 * why. */
enum sw_memory_kind {
    SW_MEMORY_HOST,    /* memory of this process, mapped shared, at `host` */
    SW_MEMORY_CUDA_IPC /* device memory of another process, given by its CUDA IPC handle */
};
struct sw_memory_source {
    enum sw_memory_kind kind;
    uint64_t bytes;
    void *host;      /* HOST: start of a page; `bytes` is a multiple of 4096. The mapping must exist
                        until the release */
    uint64_t offset; /* CUDA_IPC: offset of the memory in the allocation of the handle */
    uint8_t device_uuid[16]; /* CUDA_IPC: UUID of its device, which the table's must reach */
    uint8_t handle[64];      /* CUDA_IPC */
};
struct sw_memory {
    enum sw_memory_kind kind;
    void *address; /* address for batches; CUDA_IPC: the host cannot read it */
    uint64_t bytes;
    void *_backend;
};
/* Makes the memory usable by batches. May block for long. Threads: any, except the thread of a
 * queue in use. SW_OK; SW_E_UNSUPPORTED: the backend has no memory of the kind, or cannot import
 * this `source`; SW_E_NOMEM; SW_E_DEVICE. On any status except SW_OK `reason` receives one
 * sentence. */
SW_MUST_CHECK int sw_memory_import(struct sw_table *table, const struct sw_memory_source *source,
                                   struct sw_memory *out, char *reason, size_t reason_size);
/* Releases the memory. Call it before sw_table_destroy, when no batch in flight points into the
 * memory. May block for long. Threads: any.
 */
void sw_memory_release(struct sw_table *table, struct sw_memory *memory);
/* A copy between imported memory and I/O memory. */
struct sw_memory_copy {
    const struct sw_memory *memory;
    uint64_t offset, bytes; /* in this memory */
    void *io;
    bool stores; /* from `io` to the memory; otherwise to `io` */
};
/* Copies that are under way. */
struct sw_memory_copies;
/* Begins copies. The device copies its memory while the caller goes on: then *out is not NULL, and
 * the caller polls it until it gets another status than SW_PENDING, on the same thread. Copies of
 * host memory are complete when the call returns. SW_OK, SW_E_NOMEM or SW_E_DEVICE: on a failure no
 * copy is under way. */
SW_MUST_CHECK int sw_memory_copy(struct sw_table *table, const struct sw_memory_copy *list,
                                 uint32_t count, struct sw_memory_copies **out);
/* SW_PENDING; or else SW_OK or SW_E_DEVICE, and `copies` is freed. */
SW_MUST_CHECK int sw_memory_copy_poll(struct sw_table *table, struct sw_memory_copies *copies);
/* Stores the UUID of the table's device, whose CUDA_IPC memory it can import. Returns false if
 * there is no such device. */
SW_MUST_CHECK bool sw_memory_device(const struct sw_table *table, uint8_t uuid[16]);
/* Returns whether others may change keys and values of such a batch while it runs; the caller then
 * sets `shared`. On the CPU backend they always may. On CUDA they may for reads. They also may for
 * writes that the table gathers, because it first copies their keys and values to its own arrays.
 * Such a batch has no scores and no left-overs, and no more groups than operations. It has at
 * most 2^22 operations (cuckoo and cache: 2^19) and 32 MiB of keys and values. */
bool sw_batch_loads_once(const struct sw_table *table, const struct sw_batch *batch);

#ifdef __cplusplus
}
#endif

#endif
