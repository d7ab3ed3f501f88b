/* SPDX-License-Identifier: MIT
 *
 * iteration_share.c - counts the cost of commands.
 */
#include "server/resp/iteration_share.h"

#include "server/limits.h"
#include "server/net/conn.h"
#include "server/resp/resp.h"

/* Counts `bytes` bytes of text replies in this iteration, and notes if they have used up the budget
 * of `most` bytes. Text replies (reports, errors) cost far more than the commands that cause them.
 */
static void add_text(struct sw_resp_text_share *share, uint64_t iteration, size_t bytes,
                     uint64_t most)
{
    share->bytes = share->iteration == iteration ? share->bytes + bytes : bytes;
    share->iteration = iteration;
    share->spent_in = share->bytes >= most ? iteration : share->spent_in;
}

void sw_iteration_share_yield(struct sw_conn *conn)
{
    SW_COUNT(conn->net->counters, turn_pauses, !conn->retried);
    sw_conn_stall(conn, SW_STALL_YIELDED);
}

bool sw_iteration_share_text_is_spent(struct sw_resp_conn *state)
{
    const uint64_t iteration = state->conn->net->iteration.number;
    return state->text.spent_in == iteration ||
           (state->resp->text.spent_in == iteration && state->text.iteration == iteration);
}

static uint32_t cost_of(const struct sw_command *command, const struct sw_resp_command *arguments)
{
    if (command == NULL || command->kind == SW_KIND_DATA) {
        return 1 + arguments->count / SW_COST_KEYS;
    }
    const bool is_small =
        command->fast && (command->kind == SW_KIND_SESSION || command->kind == SW_KIND_TRANSACTION);
    return is_small ? SW_COST_SESSION : SW_COST_REPORT;
}

void sw_iteration_share_add(struct sw_resp_conn *state, const struct sw_command *command,
                            const struct sw_resp_command *arguments, size_t text_bytes)
{
    const uint64_t iteration = state->conn->net->iteration.number;
    uint32_t cost = cost_of(command, arguments);
    if (text_bytes > 0) {
        add_text(&state->text, iteration, text_bytes, SW_ITERATION_TEXT_BYTES);
        add_text(&state->resp->text, iteration, text_bytes, SW_ITERATION_TEXT_BYTES_ALL);
        cost += (uint32_t)(text_bytes / SW_COST_BYTES);
    }
    (void)sw_iteration_add(&state->conn->net->iteration, cost);
}
