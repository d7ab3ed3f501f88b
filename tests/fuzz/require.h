/* SPDX-License-Identifier: MIT
 *
 * require.h - what a fuzz target holds. Kept in release builds, unlike assert.
 */
#ifndef SHERWOOD_TESTS_FUZZ_REQUIRE_H
#define SHERWOOD_TESTS_FUZZ_REQUIRE_H

#include <stdbool.h>
#include <stdlib.h>

static inline void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

#endif
