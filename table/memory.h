/* SPDX-License-Identifier: MIT
 *
 * memory.h - which memory a table may have, and memory of others as I/O memory of a table: a
 * mapping that is shared with another process, or memory of the device that another process has
 * allocated.
 */
#ifndef SHERWOOD_TABLE_MEMORY_H
#define SHERWOOD_TABLE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_table;
struct sw_batch;
struct sw_table_config;

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a table of this configuration may lie in the memory of a device: the build has the CUDA
 * backend of its engine, and the configuration does not choose the CPU. Asks no device. */
bool sw_table_config_may_use_device(const struct sw_table_config *config);

/* Bytes of host memory that this process may ever have: the RAM of this machine, or a lower limit
 * of a control group or of RLIMIT_AS. RLIMIT_AS counts every mapping, so `mapped` bytes that the
 * caller maps for other things are subtracted from it. UINT64_MAX if it cannot be told. */
uint64_t sw_table_host_memory(uint64_t mapped);

/* Memory of others that batches may point into, as into I/O memory. What a table cannot import it
 * says in `reason`. */
enum sw_memory_kind {
    SW_MEMORY_HOST,    /* memory of this process, mapped shared: `host` */
    SW_MEMORY_CUDA_IPC /* of another process, by the handle with which CUDA shares it */
};
struct sw_memory_source {
    enum sw_memory_kind kind;
    uint64_t bytes;
    void *host; /* HOST: at a page; `bytes` is a multiple of 4096. It stays until the release */
    uint64_t offset;         /* CUDA_IPC: of the memory in the allocation that the handle is of */
    uint8_t device_uuid[16]; /* CUDA_IPC: of the device it lies on, which is the table's */
    uint8_t handle[64];      /* CUDA_IPC */
};
struct sw_memory {
    enum sw_memory_kind kind;
    void *address; /* what batches point to; CUDA_IPC: nothing that the host may read */
    uint64_t bytes;
    void *_backend;
};
/* Makes the memory usable by batches. May block for long; any thread, other than of a queue in use.
 * SW_OK; SW_E_UNSUPPORTED: the backend has no memory of the kind, or `source` is not such as it can
 * take; SW_E_NOMEM; SW_E_DEVICE. But for SW_OK `reason` receives one sentence. */
int sw_memory_import(struct sw_table *table, const struct sw_memory_source *source,
                     struct sw_memory *out, char *reason, size_t reason_size);
/* No batch that points into it is in flight. May block for long; any thread. Before the table goes.
 */
void sw_memory_release(struct sw_table *table, struct sw_memory *memory);
/* Copies `bytes` from `offset` to I/O memory, and waits for them. SW_OK or SW_E_DEVICE. */
int sw_memory_load(struct sw_table *table, const struct sw_memory *memory, uint64_t offset,
                   uint64_t bytes, void *to);
/* The number of the device that CUDA_IPC memory may be of. Returns false if there is none. */
bool sw_memory_device(const struct sw_table *table, uint8_t uuid[16]);
/* Whether others may change keys and values of such a batch while it runs, which is `shared` then.
 * With a backend of the CPU they may. With CUDA they may of reads, and of writes without scores or
 * left-overs that have no more operations than there is room for (2^20, batch_ops_max, 32 MiB of
 * keys and values): they are copied to arrays of the table first. */
bool sw_batch_loads_once(const struct sw_table *table, const struct sw_batch *batch);

#ifdef __cplusplus
}
#endif

#endif
