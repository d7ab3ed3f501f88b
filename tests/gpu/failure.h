/* SPDX-License-Identifier: MIT
 *
 * failure.h - the first failure of a case, kept as text, and the clock for its line.
 */
#ifndef SHERWOOD_TESTS_GPU_FAILURE_H
#define SHERWOOD_TESTS_GPU_FAILURE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "tests/support/clock.h"

/* Writes the text of a failure unless `failure` has one. Returns false. */
__attribute__((format(printf, 3, 4))) static inline bool keep_failure(char *failure, size_t size,
                                                                      const char *format, ...)
{
    if (failure[0] == '\0') {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(failure, size, format, arguments);
        va_end(arguments);
    }
    return false;
}

#endif
