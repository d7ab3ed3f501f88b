/* SPDX-License-Identifier: MIT
 *
 * image.h - images of a table in host memory: a guard protects its arrays while they are read.
 *
 * Threads: one thread at a time, the reader, uses an image. The table's pointer to the image is
 * used only in exclusive phases of the table's lock.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_IMAGE_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_IMAGE_H

#include "table/robin_hood/cpu/cpu.h"

/* Carries out a batch of SW_BATCH_IMAGE. Writes wait only while the guard is installed. SW_E_BUSY:
 * the table already has an image with a guard. */
void sw_cpu_take_image(struct sw_cpu *cpu, struct sw_batch *batch);
/* Implement image_read and image_drop of the backend. */
int sw_cpu_image_read(void *image, struct sw_image_columns *columns);
void sw_cpu_image_drop(void *image);

/* Frees arrays that the table no longer uses, or leaves them to the image that reads them. In an
 * exclusive phase. */
void sw_cpu_release_arrays(struct sw_cpu *cpu, void *slots, uint64_t bytes);
/* Frees all rows, or leaves them to the image that reads them and opens a new arena. SW_E_NOMEM:
 * memory is short and nothing has changed. In an exclusive phase. */
int sw_cpu_leave_rows(struct sw_cpu *cpu);
/* Removes the guards from arrays and rows; the image fails. In an exclusive phase. */
void sw_cpu_abandon_image(struct sw_cpu *cpu);

#endif
