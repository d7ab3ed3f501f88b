/* SPDX-License-Identifier: MIT
 *
 * rounding.h - checks that this process rounds f32 numbers as the table promises.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROUNDING_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROUNDING_H

#include <stdbool.h>

/* Compares products and sums with known results. Returns false if a compiler flag, or a loaded
 * library, has changed the arithmetic of the calling thread. */
bool sw_rounding_is_exact(void);

#endif
