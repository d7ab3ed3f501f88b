/* SPDX-License-Identifier: MIT
 *
 * must.c - asserts that calls of table.h succeed.
 */
#include "tests/support/must.h"

#include <criterion/criterion.h>
#include <string.h>

#define REASON_BYTES 512

struct sw_table *must_create_at(struct must_place place, const struct sw_table_config *config)
{
    struct sw_table *table = NULL;
    char reason[REASON_BYTES] = "";
    const int status = sw_table_create(config, &table, reason, sizeof(reason));
    cr_assert_eq(status, SW_OK, "%s:%d: create: %s: %s", place.file, place.line,
                 sw_status_text(status), reason);
    return table;
}

struct sw_queue *must_queue_at(struct must_place place, struct sw_table *table)
{
    struct sw_queue *queue = NULL;
    const int status = sw_queue_create(table, &queue);
    cr_assert_eq(status, SW_OK, "%s:%d: queue: %s", place.file, place.line, sw_status_text(status));
    return queue;
}

void must_run_at(struct must_place place, struct sw_queue *queue, struct sw_batch *batch)
{
    const int status = sw_batch_run(queue, batch);
    cr_assert_eq(status, SW_OK, "%s:%d: batch: %s", place.file, place.line, sw_status_text(status));
}

void must_poll_at(struct must_place place, struct sw_queue *queue, struct sw_batch *batch)
{
    int status = SW_PENDING;
    while (status == SW_PENDING) {
        status = sw_batch_poll(queue, batch);
    }
    cr_assert_eq(status, SW_OK, "%s:%d: batch: %s", place.file, place.line, sw_status_text(status));
}

void must_check_at(struct must_place place, struct sw_table *table)
{
    char violation[REASON_BYTES] = "";
    const int status = sw_table_check(table, violation, sizeof(violation));
    cr_assert_eq(status, SW_OK, "%s:%d: check: %s: %s", place.file, place.line,
                 sw_status_text(status), violation);
}

void must_refuse_at(struct must_place place, const struct sw_table_config *config, int status,
                    const char *word)
{
    char reason[REASON_BYTES] = "untouched";
    struct sw_table *table = (struct sw_table *)(void *)reason;
    const int said = sw_table_create(config, &table, reason, sizeof(reason));
    cr_assert_eq(said, status, "%s:%d: create: %s, not: %s", place.file, place.line,
                 sw_status_text(said), sw_status_text(status));
    cr_assert_null(table, "%s:%d: create left a table", place.file, place.line);
    cr_assert_not_null(strstr(reason, word), "%s:%d: \"%s\" says nothing of \"%s\"", place.file,
                       place.line, reason, word);
}
