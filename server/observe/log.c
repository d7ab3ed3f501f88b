/* SPDX-License-Identifier: MIT
 *
 * log.c - lines on standard error, and the limit of those that clients provoke.
 */
#include "server/observe/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "proto/plural.h"
#include "server/limits.h"

#define LOG_LINE_BYTES 1024
#define MINUTE_MS 60000U

/* Prefix of a line. */
enum prefix { PREFIX_NONE, PREFIX_PRIORITY, PREFIX_TIME };

static enum sw_log_level log_level = SW_LOG_INFO; /* atomic */
/* Written by sw_log_init before threads start, read only afterwards. */
static enum prefix log_prefix = PREFIX_NONE;

/* Protected by limits_lock, which a thread holds only while it counts. */
static pthread_mutex_t limits_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sw_log_limit limits[SW_LOG_KINDS];
static uint64_t lines_left_out; /* written under the lock, read by any thread */

/* Returns true if standard error is the journal. The service manager passes the journal's file in
 * JOURNAL_STREAM. */
static bool is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device = 0, inode = 0;
    struct stat status;
    return stream != NULL && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

void sw_log_init(enum sw_log_level level)
{
    sw_log_set_level(level);
    log_prefix = is_journal()                 ? PREFIX_PRIORITY
                 : isatty(STDERR_FILENO) != 0 ? PREFIX_NONE
                                              : PREFIX_TIME;
}

void sw_log_set_level(enum sw_log_level level)
{
    __atomic_store_n(&log_level, level, __ATOMIC_RELAXED);
}

static const char *level_name(enum sw_log_level level)
{
    switch (level) {
    case SW_LOG_ERROR:
        return "error";
    case SW_LOG_WARNING:
        return "warning";
    case SW_LOG_NOTICE:
        return "notice";
    case SW_LOG_INFO:
        return "info";
    case SW_LOG_DEBUG:
        break;
    }
    return "debug";
}

static size_t put_prefix(char *line, size_t room, enum sw_log_level level)
{
    struct timespec now;
    struct tm utc;
    char date[32];
    switch (log_prefix) {
    case PREFIX_NONE:
        break;
    case PREFIX_PRIORITY:
        return (size_t)snprintf(line, room, "<%d>", (int)level);
    case PREFIX_TIME:
        clock_gettime(CLOCK_REALTIME, &now);
        gmtime_r(&now.tv_sec, &utc);
        strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc);
        return (size_t)snprintf(line, room, "%s.%03ldZ %s: ", date, now.tv_nsec / 1000000,
                                level_name(level));
    }
    return 0;
}

/* Replaces control characters, so that text from a client cannot begin a line or move a terminal's
 * cursor. */
static void clean(char *text, const char *end)
{
    for (; text < end; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) {
            *text = '?';
        }
    }
}

/* `left_out`: lines of this kind that were left out since the last one. */
__attribute__((format(printf, 3, 0))) static void
write_line(enum sw_log_level level, uint64_t left_out, const char *format, va_list arguments)
{
    char line[LOG_LINE_BYTES];
    size_t size = put_prefix(line, sizeof(line), level);
    int wrote = vsnprintf(line + size, sizeof(line) - size, format, arguments);
    if (wrote < 0) {
        return;
    }
    /* A line that is too long is cut; the newline always fits. */
    size_t prefix = size;
    size += (size_t)wrote;
    size = size < sizeof(line) - 1 ? size : sizeof(line) - 2;
    clean(line + prefix, line + size);
    if (left_out > 0) {
        wrote = snprintf(line + size, sizeof(line) - size, " (%llu more such line%s left out)",
                         (unsigned long long)left_out, sw_plural(left_out, " was", "s were"));
        size += wrote > 0 ? (size_t)wrote : 0;
        size = size < sizeof(line) - 1 ? size : sizeof(line) - 2;
    }
    line[size++] = '\n';
    /* One write, so that lines of several threads do not mix. If stderr is closed or full, the line
     * is lost. */
    if (write(STDERR_FILENO, line, size) < 0) {
        return;
    }
}

void sw_log(enum sw_log_level level, const char *format, ...)
{
    va_list arguments;
    if (level > __atomic_load_n(&log_level, __ATOMIC_RELAXED)) {
        return;
    }
    va_start(arguments, format);
    write_line(level, 0, format, arguments);
    va_end(arguments);
}

bool sw_log_allows(struct sw_log_limit *limit, uint64_t now_ms, uint64_t *left_out)
{
    if (limit->began_ms == 0 || now_ms - limit->began_ms >= MINUTE_MS) {
        limit->began_ms = now_ms;
        limit->lines = 0;
    }
    if (limit->lines == SW_LOG_LINES_A_MINUTE) {
        limit->left_out++;
        return false;
    }
    limit->lines++;
    *left_out = limit->left_out;
    limit->left_out = 0;
    return true;
}

void sw_log_limited(enum sw_log_kind kind, enum sw_log_level level, const char *format, ...)
{
    struct timespec now;
    uint64_t left_out = 0;
    va_list arguments;
    if (level > __atomic_load_n(&log_level, __ATOMIC_RELAXED)) {
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_mutex_lock(&limits_lock);
    bool allowed =
        sw_log_allows(&limits[kind],
                      (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 + 1, &left_out);
    if (!allowed) {
        __atomic_store_n(&lines_left_out, lines_left_out + 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&limits_lock);
    if (allowed) {
        va_start(arguments, format);
        write_line(level, left_out, format, arguments);
        va_end(arguments);
    }
}

uint64_t sw_log_left_out(void)
{
    return __atomic_load_n(&lines_left_out, __ATOMIC_RELAXED);
}
