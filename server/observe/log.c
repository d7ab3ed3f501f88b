/* SPDX-License-Identifier: MIT
 *
 * log.c - lines on stderr.
 */
#include "server/observe/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define LOG_LINE_BYTES 1024

/* Written by sw_log_init before threads start, read only afterwards. */
static enum sw_log_level log_level = SW_LOG_INFO;
static bool log_priorities = false;

void sw_log_init(enum sw_log_level level)
{
    log_level = level;
    log_priorities = isatty(STDERR_FILENO) == 0;
}

void sw_log(enum sw_log_level level, const char *format, ...)
{
    char line[LOG_LINE_BYTES];
    size_t size = 0;
    int wrote = 0;
    va_list arguments;

    if (level > log_level) {
        return;
    }
    if (log_priorities) {
        size = (size_t)snprintf(line, sizeof line, "<%d>", (int)level);
    }
    va_start(arguments, format);
    wrote = vsnprintf(line + size, sizeof line - size, format, arguments);
    va_end(arguments);
    if (wrote < 0) {
        return;
    }
    /* A line that is too long is cut; the newline always fits. */
    size += (size_t)wrote;
    size = size < sizeof line - 1 ? size : sizeof line - 2;
    line[size++] = '\n';
    /* One write, so that lines of several threads do not mix. Where stderr is closed or full there
     * is nowhere to say so. */
    if (write(STDERR_FILENO, line, size) < 0) {
        return;
    }
}
