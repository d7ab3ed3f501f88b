/* SPDX-License-Identifier: MIT
 *
 * device.h - the resources that several tables of a process share: worker threads, and memory that
 * only a running batch uses. Their number and size do not grow with the number of tables.
 *
 * A table uses the device of its configuration (sw_table_config.shared). Without one it creates a
 * device of its own.
 *
 * Threads: any, except sw_device_destroy. Ownership: the caller owns a device that it created.
 */
#ifndef SHERWOOD_TABLE_DEVICE_H
#define SHERWOOD_TABLE_DEVICE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_device;

/* Creates a device whose tables in host memory carry out large batches with `threads` threads; 0:
 * one per core. The threads start with the first such table. Returns SW_OK or SW_E_NOMEM; then *out
 * is NULL. */
int sw_device_create(uint32_t threads, struct sw_device **out);

/* Frees a device. Call it after sw_table_destroy of all its tables. NULL is allowed. */
void sw_device_destroy(struct sw_device *device);

/* Returns the bytes of memory that the device reserves for the batches of its tables, in host
 * memory and on GPUs. sw_table_info.bytes_reserved of a table with a shared device does not include
 * them. */
uint64_t sw_device_bytes(struct sw_device *device);

#ifdef __cplusplus
}
#endif

#endif
