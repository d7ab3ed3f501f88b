/* SPDX-License-Identifier: MIT
 *
 * expect.h - the checks of a test program that ends at its first failure.
 */
#ifndef SHERWOOD_EMULATOR_EXPECT_H
#define SHERWOOD_EMULATOR_EXPECT_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline void expect(bool holds, const char *what)
{
    if (!holds) {
        printf("not ok %s\n", what);
        fflush(stdout);
        _Exit(1);
    }
}

#endif
