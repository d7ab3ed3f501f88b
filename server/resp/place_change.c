/* SPDX-License-Identifier: MIT
 *
 * place_change.c - moves a RESP connection from one table to another.
 */
#include "server/resp/place_change.h"

#include "server/config/table_options.h"
#include "server/net/conn.h"
#include "server/resp/transaction.h"
#include "server/resp/watching.h"
#include "server/tables/tables.h"

/* Leaves the table that the connection uses. Its watched keys count as changed. */
static void leave(struct sw_resp_conn *state, struct sw_resp *to)
{
    if (sw_watching_is_on(state)) {
        sw_watching_forget(state);
        state->watch.is_lost = true;
    }
    if (!sw_config_is_of_one_shape(state->resp->batches->config, to->batches->config)) {
        sw_transaction_spoil(state); /* its commands were read for the other shape */
    }
    state->resp->conns--;
    state->resp = to;
    to->conns++;
}

/* Notes that no table lies in the connection's place. EXEC would run its commands on another. */
static void lose(struct sw_resp_conn *state)
{
    state->lacks_place = true;
    sw_transaction_spoil(state);
}

/* Returns the RESP state of the table in the connection's place; NULL: there is no table. */
static struct sw_resp *find(const struct sw_resp_conn *state)
{
    const struct sw_tables_handle *handle = &state->conn->net->tables;
    if (handle->view == NULL) {
        return state->resp->first;
    }
    const struct sw_served *served = sw_tables_at(handle->view, state->place);
    return served == NULL ? NULL : served->loops[handle->loop].resp;
}

/* Moves the connection to the table in its place, or to the first one as a connection that lacks
 * its place. */
static void move(struct sw_resp_conn *state)
{
    struct sw_resp *to = find(state);
    if (to != state->resp && !(to == NULL && state->lacks_place)) {
        leave(state, to != NULL ? to : state->resp->first);
    }
    state->lacks_place = false;
    if (to == NULL) {
        lose(state);
    }
    state->view_number = state->conn->net->tables.number;
}

bool sw_place_change(struct sw_resp_conn *state)
{
    const struct sw_resp *to = find(state);
    if ((to != state->resp || state->lacks_place) && state->conn->in_flight > 0) {
        sw_conn_stall(state->conn, SW_STALL_BARRIER);
        return false;
    }
    move(state);
    return true;
}

bool sw_place_vacate(struct sw_net *net, const struct sw_resp *resp)
{
    bool all = true;
    SW_LIST_EACH(&net->conns, link)
    {
        struct sw_conn *conn = SW_CONTAINER(link, struct sw_conn, link);
        struct sw_resp_conn *state = sw_resp_of(conn);
        const bool uses = conn->protocol == &sw_resp_protocol && state->resp == resp &&
                          state->view_number != net->tables.number;
        if (uses && (conn->in_flight == 0 || state->uses_no_table)) {
            move(state);
        } else {
            all &= !uses;
        }
    }
    return all && (resp->conns == 0 || resp == resp->first);
}
