/* SPDX-License-Identifier: MIT
 *
 * image.h - images of a table in host memory: its arrays, guarded while they are read.
 *
 * Threads: one thread at a time, the reader, uses an image. The table's pointer to it is touched
 * with the table's lock held alone.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_IMAGE_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_IMAGE_H

#include "table/robin_hood/cpu/cpu.h"

/* Carries out a batch of SW_BATCH_IMAGE. Writes wait only while the guard is put on the arrays.
 * SW_E_BUSY: the table has such an image already. */
void sw_cpu_take_image(struct sw_cpu *cpu, struct sw_batch *batch);
/* image_read and image_drop of the backend. */
int sw_cpu_image_read(void *image, struct sw_image_columns *columns);
void sw_cpu_image_drop(void *image);

/* Frees arrays that the table does not use any more; or leaves them to the image that reads them.
 * Alone. */
void sw_cpu_release_arrays(struct sw_cpu *cpu, void *slots, uint64_t bytes);
/* Gives all rows back; or leaves them to the image that reads them. SW_E_NOMEM: there is no memory
 * for others, and nothing has changed. Alone. */
int sw_cpu_leave_rows(struct sw_cpu *cpu);
/* Takes the guards off arrays and rows: the image fails. Alone. */
void sw_cpu_abandon_image(struct sw_cpu *cpu);

#endif
