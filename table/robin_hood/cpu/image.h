/* SPDX-License-Identifier: MIT
 *
 * image.h - images of a table in host memory.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_IMAGE_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_IMAGE_H

#include "table/robin_hood/cpu/cpu.h"

/* Carries out a batch of SW_BATCH_IMAGE. The arrays are copied in a read phase, on all threads if
 * the pool is free: writes wait meanwhile. */
void sw_cpu_take_image(struct sw_cpu *cpu, struct sw_batch *batch);

#endif
