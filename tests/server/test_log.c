/* SPDX-License-Identifier: MIT
 *
 * test_log.c - what stands before a line, and the limit of lines that clients provoke.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/limits.h"
#include "server/observe/log.h"

static char captured[65536];

/* Standard error leads into a file from here on. */
static int begin_capture(void)
{
    int file = memfd_create("log", 0);
    cr_assert_geq(file, 0);
    cr_assert_geq(dup2(file, STDERR_FILENO), 0);
    return file;
}

static const char *end_capture(int file)
{
    ssize_t size = pread(file, captured, sizeof(captured) - 1, 0);
    cr_assert_geq(size, 0);
    captured[size] = '\0';
    close(file);
    return captured;
}

static void expect(const char *text, const char *pattern)
{
    regex_t regex;
    cr_assert_eq(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    cr_assert_eq(regexec(&regex, text, 0, NULL, 0), 0, "'%s' is not '%s'", text, pattern);
    regfree(&regex);
}

/* A file or a pipe that is not the journal's: Docker, nohup, a shell's redirection. */
Test(log, a_file_gets_time_and_level)
{
    int file = begin_capture();
    unsetenv("JOURNAL_STREAM");
    sw_log_init(SW_LOG_INFO);
    sw_log(SW_LOG_WARNING, "text %d", 7);
    sw_log(SW_LOG_DEBUG, "not shown");
    expect(end_capture(file),
           "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z warning: text 7\n$");
}

Test(log, the_journal_gets_priorities)
{
    struct stat status;
    char stream[64];
    int file = begin_capture();
    cr_assert_eq(fstat(file, &status), 0);
    snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)status.st_dev,
             (unsigned long long)status.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    sw_log_init(SW_LOG_INFO);
    sw_log(SW_LOG_ERROR, "text");
    cr_assert_str_eq(end_capture(file), "<3>text\n");
    /* inherited from a service whose output was redirected since: another file */
    file = begin_capture();
    setenv("JOURNAL_STREAM", "1:1", 1);
    sw_log_init(SW_LOG_INFO);
    sw_log(SW_LOG_ERROR, "text");
    expect(end_capture(file), "Z error: text\n$");
}

Test(log, long_lines_are_cut)
{
    static char text[4096];
    int file = begin_capture();
    memset(text, 'x', sizeof(text) - 1);
    sw_log_init(SW_LOG_INFO);
    sw_log(SW_LOG_INFO, "%s", text);
    const char *line = end_capture(file);
    cr_assert_eq(strlen(line), 1023);
    cr_assert_eq(line[1022], '\n');
}

Test(log, texts_of_others_begin_no_line)
{
    int file = begin_capture();
    sw_log_init(SW_LOG_INFO);
    sw_log(SW_LOG_INFO, "the primary says: %s", "-ERR\r\n<3>forged\x1b[2J\x7f");
    expect(end_capture(file), "the primary says: -ERR\\?\\?<3>forged\\?\\[2J\\?\n$");
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

Test(log, lines_that_clients_provoke_are_limited)
{
    int file = begin_capture();
    sw_log_init(SW_LOG_INFO);
    for (int i = 0; i < 3000; i++) {
        sw_log_limited(SW_LOG_WRONG_PORT, SW_LOG_WARNING, "line %d", i);
    }
    sw_log_limited(SW_LOG_ACCEPT, SW_LOG_WARNING, "another kind");
    sw_log_limited(SW_LOG_WRONG_PORT, SW_LOG_DEBUG, "below the level: not counted");
    const char *text = end_capture(file);
    cr_assert_eq(count_lines(text), SW_LOG_LINES_A_MINUTE + 1);
    cr_assert_not_null(strstr(text, "warning: line 9\n"));
    cr_assert_not_null(strstr(text, "warning: another kind\n"));
    cr_assert_eq(sw_log_left_out(), 3000 - SW_LOG_LINES_A_MINUTE);
}

Test(log, a_new_minute_allows_lines_again)
{
    struct sw_log_limit limit = {0};
    uint64_t left_out = 99, now_ms = 1;
    for (unsigned i = 0; i < SW_LOG_LINES_A_MINUTE; i++) {
        cr_assert(sw_log_allows(&limit, now_ms, &left_out));
        cr_assert_eq(left_out, 0);
        now_ms += 10;
    }
    for (unsigned i = 0; i < 5; i++) {
        cr_assert_not(sw_log_allows(&limit, now_ms, &left_out));
    }
    cr_assert_not(sw_log_allows(&limit, 60000, &left_out));
    cr_assert(sw_log_allows(&limit, 60001, &left_out));
    cr_assert_eq(left_out, 6);
    cr_assert(sw_log_allows(&limit, 60002, &left_out));
    cr_assert_eq(left_out, 0);
}
