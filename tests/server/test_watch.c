/* SPDX-License-Identifier: MIT
 *
 * test_watch.c - what the log says of a table that is resized, or cannot be.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/limits.h"
#include "server/observe/log.h"
#include "server/observe/watch.h"
#include "tests/support/must.h"

#define IMPOSSIBLE_SLOTS (1ULL << 44) /* addresses there are, memory there is not */

static struct {
    struct sw_table *table;
    struct sw_queue *queue;
    struct sw_watch watch;
    char log[1024]; /* what the last look wrote */
} fixture;

static void set_up(void)
{
    struct sw_table_config config = cpu_config(1024, 1024);
    config.max_capacity_slots = IMPOSSIBLE_SLOTS;
    sw_log_init(SW_LOG_INFO);
    memset(&fixture, 0, sizeof(fixture));
    fixture.table = must_create(&config);
    fixture.queue = must_queue(fixture.table);
    sw_watch_init(&fixture.watch, fixture.table);
}

static void tear_down(void)
{
    sw_queue_destroy(fixture.queue);
    sw_table_destroy(fixture.table);
}

TestSuite(watch, .init = set_up, .fini = tear_down);

static int resize(uint64_t capacity)
{
    struct sw_batch batch = {.kind = SW_BATCH_RESIZE, .capacity = capacity};
    return sw_batch_run(fixture.queue, &batch);
}

static const char *look(uint64_t now_ms)
{
    int saved = dup(STDERR_FILENO);
    int memory = memfd_create("captured", 0);
    cr_assert(saved >= 0 && memory >= 0 && dup2(memory, STDERR_FILENO) >= 0);
    sw_watch_check(&fixture.watch, now_ms);
    dup2(saved, STDERR_FILENO);
    close(saved);
    ssize_t size = pread(memory, fixture.log, sizeof(fixture.log) - 1, 0);
    close(memory);
    cr_assert_geq(size, 0);
    fixture.log[size] = '\0';
    return fixture.log;
}

static void expect(uint64_t now_ms, const char *wanted)
{
    const char *log = look(now_ms);
    cr_assert_not_null(strstr(log, wanted), "'%s' is not in '%s'", wanted, log);
    cr_assert_eq(strchr(log, '\n'), log + strlen(log) - 1, "one line: %s", log);
}

Test(watch, changes_are_told_once)
{
    cr_assert_str_empty(look(1000));
    cr_assert_eq(resize(4096), SW_OK);
    expect(1100,
           "the table has 4096 slots now, 1024 before (grew 0 times, resized 1 time): room for "
           "3481 keys");
    cr_assert_str_empty(look(1200));
    cr_assert_eq(resize(8192), SW_OK);
    cr_assert_eq(resize(512), SW_OK);
    expect(1300, "the table has 512 slots now, 4096 before (grew 0 times, resized 2");
}

Test(watch, failures_are_told_once_a_minute)
{
    cr_assert_eq(resize(IMPOSSIBLE_SLOTS), SW_E_NOMEM);
    expect(1000, "could not grow or be resized (1 time)");
    cr_assert_not_null(strstr(fixture.log, "it keeps 1024 slots"), "%s", fixture.log);
    cr_assert_not_null(strstr(fixture.log,
                              "not enough memory for the old and the new slots at once, "
                              "or too many keys would meet the probe cap"),
                       "%s", fixture.log);
    cr_assert_eq(resize(IMPOSSIBLE_SLOTS), SW_E_NOMEM);
    cr_assert_str_empty(look(1100));
    cr_assert_eq(resize(IMPOSSIBLE_SLOTS), SW_E_NOMEM);
    cr_assert_str_empty(look(1000 + SW_WATCH_WARNING_MS - 1));
    expect(1000 + SW_WATCH_WARNING_MS, "could not grow or be resized (2 times)");
    cr_assert_str_empty(look(1000 + 5 * SW_WATCH_WARNING_MS));
}

/* At the end nothing is held back. */
Test(watch, the_last_look_says_everything)
{
    cr_assert_eq(resize(IMPOSSIBLE_SLOTS), SW_E_NOMEM);
    expect(1000, "(1 time)");
    cr_assert_eq(resize(IMPOSSIBLE_SLOTS), SW_E_NOMEM);
    expect(UINT64_MAX, "(1 time)");
}
