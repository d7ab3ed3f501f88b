/* SPDX-License-Identifier: MIT
 *
 * rounding.h - whether this process rounds numbers of 32 bits as the table promises.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROUNDING_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_ROUNDING_H

#include <stdbool.h>

/* Tries products and sums whose results are known. False: a flag of the compiler, or a library that
 * was loaded, has changed the arithmetic of the calling thread. */
bool sw_rounding_is_exact(void);

#endif
