/* SPDX-License-Identifier: MIT
 *
 * image.h - images of a table in host memory: its arrays, guarded while they are read.
 *
 * Threads: the image belongs to one at a time, the reader; what the table knows of it is touched
 * with the table's lock held alone.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_IMAGE_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_IMAGE_H

#include "table/robin_hood/cpu/cpu.h"

/* Carries out a batch of SW_BATCH_IMAGE. Writes wait as long as it takes to say that the arrays are
 * guarded from now on. SW_E_BUSY: there is such an image already. */
void sw_cpu_take_image(struct sw_cpu *cpu, struct sw_batch *batch);
/* image_read and image_drop of the backend. */
int sw_cpu_image_read(void *image, struct sw_image_columns *columns);
void sw_cpu_image_drop(void *image);

/* Frees the table's arrays, of which it has others now; or leaves them to the image that reads
 * them. Alone. */
void sw_cpu_part_with(struct sw_cpu *cpu, void *slots, uint64_t bytes);
/* Nothing guards the arrays any more: the image fails. Alone. */
void sw_cpu_abandon_image(struct sw_cpu *cpu);

#endif
