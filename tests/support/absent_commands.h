/* SPDX-License-Identifier: MIT
 *
 * absent_commands.h - commands of redis that a small catalog of a test lacks.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_ABSENT_COMMANDS_H
#define SHERWOOD_TESTS_SUPPORT_ABSENT_COMMANDS_H

#include <string.h>
#include <strings.h>

#include "server/users/catalog.h"

/* The first command of the catalog stands in for DUMP. */
static inline enum sw_absence absence(const char *name, size_t size, int *stands_in)
{
    static const char *const absent[] = {"dump", "debug", "xinfo", "xinfo|stream"};
    *stands_in = size == 4 && strncasecmp(name, "dump", size) == 0 ? 0 : -1;
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
        if (strlen(absent[i]) == size && strncasecmp(name, absent[i], size) == 0) {
            return SW_ABSENCE_COMMAND;
        }
    }
    return size > 6 && strncasecmp(name, "debug|", 6) == 0 ? SW_ABSENCE_ARGUMENT
                                                           : SW_ABSENCE_UNKNOWN;
}

#endif
