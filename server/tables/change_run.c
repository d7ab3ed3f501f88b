/* SPDX-License-Identifier: MIT
 *
 * change_run.c - the thread of a change.
 */
#include "server/tables/change_run.h"

#include <stdio.h>
#include <stdlib.h>

struct sw_change_run *sw_change_run_create(struct sw_tables *tables)
{
    struct sw_change_run *run = calloc(1, sizeof(*run));
    if (run != NULL) {
        run->tables = tables;
    }
    return run;
}

/* A save may take long, and changes nothing. */
static bool needs_turn(const struct sw_change_run *run)
{
    return run->change.kind != SW_CHANGE_SAVE;
}

/* Wakes the loops, for commands that wait for the turn or for the end of this change. */
static void end_turn(struct sw_tables *tables, bool had_turn)
{
    if (had_turn) {
        sw_tables_end_turn(tables);
    } else {
        sw_tables_wake(tables);
    }
}

/* The loop that sees is_done may free the run. */
static void *carry_out(void *argument)
{
    struct sw_change_run *run = argument;
    struct sw_tables *tables = run->tables;
    const bool has_turn = needs_turn(run);
    if (sw_tables_change(tables, &run->change, run->error, sizeof(run->error)) != 0 &&
        run->error[0] == '\0') {
        snprintf(run->error, sizeof(run->error), "ERR the table could not be changed");
    }
    __atomic_store_n(&run->is_done, true, __ATOMIC_RELEASE);
    end_turn(tables, has_turn);
    return NULL;
}

/* Begins the change, unless it needs the turn and another one has it. */
static void begin(struct sw_change_run *run)
{
    if (run->has_begun || (needs_turn(run) && !sw_tables_take_turn(run->tables))) {
        return;
    }
    run->has_begun = true;
    run->has_thread = pthread_create(&run->thread, NULL, carry_out, run) == 0;
    if (!run->has_thread) {
        snprintf(run->error, sizeof(run->error),
                 "ERR the table could not be changed: no thread; try again");
        run->is_done = true;
        end_turn(run->tables, needs_turn(run));
    }
}

bool sw_change_run_poll(struct sw_change_run *run)
{
    begin(run);
    if (!__atomic_load_n(&run->is_done, __ATOMIC_ACQUIRE)) {
        return false;
    }
    if (run->has_thread) {
        pthread_join(run->thread, NULL);
        run->has_thread = false;
    }
    return true;
}

void sw_change_run_free(struct sw_change_run *run)
{
    free(run);
}
