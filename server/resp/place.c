/* SPDX-License-Identifier: MIT
 *
 * place.c - the place that a RESP connection has selected.
 */
#include "server/resp/place.h"
#include "server/resp/resp_memory.h"

#include "server/batch/refusals.h"
#include "server/net/conn.h"
#include "server/tables/tables.h"

bool sw_place_exists(const struct sw_conn *conn, int64_t number)
{
    const struct sw_tables_view *view = conn->net->tables.view;
    return number == 0 || (view != NULL && number > 0 && number <= UINT32_MAX &&
                           sw_tables_at(view, (uint32_t)number) != NULL);
}

const char *sw_place_absence(const struct sw_resp_conn *state, const char *line)
{
    return sw_obstacles_met(state->resp->batches, SW_OBSTACLES_OF_TABLES) != 0 ? SW_LOADING_LINE
                                                                               : line;
}

int sw_place_open(const struct sw_conn *conn, uint32_t number)
{
    const struct sw_tables_handle *handle = &conn->net->tables;
    const struct sw_served *served =
        handle->view == NULL ? NULL : sw_tables_at(handle->view, number);
    return served == NULL ? 0
                          : sw_resp_reserve(served->loops[handle->loop].resp,
                                            sw_resp_of_const(conn)->resp->filling);
}

const char *sw_place_refusal(const struct sw_resp_conn *state)
{
    if (state->transaction != NULL || state->in_exec) {
        return "ERR SELECT of another table is not allowed in MULTI";
    }
    return sw_watcher_has_keys(&state->watch.watcher) || state->watch.is_lost
               ? "ERR SELECT of another table is not allowed while keys are watched: send UNWATCH"
               : NULL;
}

bool sw_place_is_left(const struct sw_resp_conn *state, const struct sw_resp_argument *word)
{
    const struct sw_tables_view *view = state->conn->net->tables.view;
    const struct sw_place *place =
        view == NULL ? NULL : sw_tables_find(view, word->text, word->size);
    return place != NULL && place->number != state->place;
}

void sw_place_select(struct sw_resp_conn *state, uint32_t number)
{
    struct sw_conn *conn = state->conn;
    if (number != state->place || state->lacks_place) {
        state->place = number;
        state->view_number = 0; /* not the number of a view */
        __atomic_store_n(&conn->shown.place, number, __ATOMIC_RELAXED);
        if (conn->state <= SW_CONN_DRAINING) {
            sw_conn_stall(conn, SW_STALL_BARRIER);
        }
    }
}

bool sw_place_cuts_scan(struct sw_resp_conn *state, uint64_t cursor)
{
    const struct sw_tables_handle *handle = &state->conn->net->tables;
    const struct sw_served *served =
        handle->view == NULL ? NULL : sw_tables_at(handle->view, state->place);
    const uint32_t table = served == NULL ? 0 : served->id;
    const bool cuts = cursor != 0 && state->scanned_table != 0 &&
                      state->scanned_place == state->place && state->scanned_table != table;
    state->scanned_place = state->place;
    state->scanned_table = table;
    return cuts;
}
