/* SPDX-License-Identifier: MIT
 *
 * control_change.c - a change of the places of the server, by a command.
 *
 * A change runs on a thread of its own, because the memory of a table may take long and because the
 * change waits for all loops, and for work of libuv's threads on a table that it drops (DIGEST).
 * Meanwhile the command uses no table, so that its connection may drop the table that it has
 * selected.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/resp/control_table.h"
#include "server/resp/resp.h"

void sw_control_put_ok(const struct sw_control *control, struct sw_text *text)
{
    (void)control;
    sw_text_simple(text, "OK");
}

/* The thread of the change. The loop that sees is_changed may free the command. */
static void *change(void *argument)
{
    struct sw_control *control = argument;
    struct sw_tables *tables = sw_control_tables(control)->tables;
    if (sw_tables_change(tables, control->change, control->error, sizeof(control->error)) != 0 &&
        control->error[0] == '\0') {
        snprintf(control->error, sizeof(control->error), "ERR the table could not be changed");
    }
    __atomic_store_n(&control->is_changed, true, __ATOMIC_RELEASE);
    sw_tables_end_turn(tables); /* wakes the loops */
    return NULL;
}

/* Begins the change, unless another one has the turn. */
static void take_turn(struct sw_control *control)
{
    struct sw_tables *tables = sw_control_tables(control)->tables;
    if (control->has_turn || !sw_tables_take_turn(tables)) {
        return;
    }
    control->has_turn = true;
    control->has_thread = pthread_create(&control->thread, NULL, change, control) == 0;
    if (!control->has_thread) {
        snprintf(control->error, sizeof(control->error),
                 "ERR the table could not be changed: no thread; try again");
        control->is_changed = true;
        sw_tables_end_turn(tables);
    }
}

/* The thread uses the command until then, even if the connection has closed. */
static bool is_changed(struct sw_control *control)
{
    take_turn(control);
    if (!__atomic_load_n(&control->is_changed, __ATOMIC_ACQUIRE)) {
        return false;
    }
    if (control->has_thread) {
        pthread_join(control->thread, NULL);
    }
    sw_control_drop_change(control);
    return true;
}

bool sw_control_start_change(struct sw_control *control)
{
    control->put = sw_control_put_ok;
    sw_control_wait_until(control, is_changed);
    take_turn(control);
    return true;
}

bool sw_control_make_change(struct sw_control *control, enum sw_change_kind kind,
                            const struct sw_resp_argument *name,
                            const struct sw_resp_argument *other)
{
    struct sw_change *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        sw_control_refuse(control, "ERR out of memory");
        return false;
    }
    made->kind = kind;
    const struct sw_resp_argument *words[2] = {name, other};
    char *const out[2] = {made->name, made->other};
    for (int i = 0; i < 2 && words[i] != NULL; i++) {
        if (words[i]->size >= SW_PLACE_NAME_BYTES ||
            memchr(words[i]->text, '\0', words[i]->size) != NULL) {
            free(made);
            sw_control_refuse(control, kind == SW_CHANGE_CREATE || i == 1
                                           ? "ERR a table's name has at most 63 bytes, and no NUL"
                                           : "ERR no such table");
            return false;
        }
        memcpy(out[i], words[i]->text, words[i]->size);
    }
    control->change = made;
    return true;
}

void sw_control_drop_change(struct sw_control *control)
{
    free(control->change);
    control->change = NULL;
}
