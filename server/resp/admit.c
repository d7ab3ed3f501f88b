/* SPDX-License-Identifier: MIT
 *
 * admit.c - the obstacles of commands.
 */
#include "server/resp/admit.h"

#include <string.h>

#include "server/batch/refusals.h"
#include "server/resp/resp.h"
#include "server/resp/transaction.h"

#define READS ((unsigned)(SW_OBSTACLE_DOWN | SW_OBSTACLE_LACKS_DATA))
#define WRITES ((unsigned)(SW_OBSTACLE_DOWN | SW_OBSTACLE_REPLICA | SW_OBSTACLE_UNSAVED))

static bool is_about_keys(const struct sw_command *command)
{
    return command->kind == SW_KIND_DATA || command->kind == SW_KIND_RMW;
}

/* Does the command show what the table holds? */
static bool shows_data(const struct sw_command *command)
{
    return is_about_keys(command) || command->batch_kinds != 0 ||
           command->id == SW_COMMAND_DBSIZE || command->id == SW_COMMAND_DIGEST;
}

bool sw_command_is_about_table(const struct sw_command *command)
{
    return shows_data(command) || sw_command_is_numbered(command) ||
           command->id == SW_COMMAND_WATCH;
}

/* Is the command served while the server loads its data? PING is not: its reply shows whether the
 * server serves. */
static bool is_served_while_loading(const struct sw_command *command)
{
    return command->kind == SW_KIND_TRANSACTION || command->id == SW_COMMAND_INFO ||
           command->id == SW_COMMAND_SHUTDOWN || command->id == SW_COMMAND_CLUSTER ||
           (command->kind == SW_KIND_SESSION && command->id != SW_COMMAND_PING);
}

/* Is the command about the connection or the server? CLIENT PAUSE then holds it back only if it
 * writes. */
static bool is_for_operators(const struct sw_command *command)
{
    switch (command->id) {
    case SW_COMMAND_CLIENT:
    case SW_COMMAND_AUTH:
    case SW_COMMAND_HELLO:
    case SW_COMMAND_QUIT:
    case SW_COMMAND_RESET:
    case SW_COMMAND_CLUSTER:
        return true;
    default:
        return strcmp(command->group, "server") == 0 && command->effect != SW_COMMAND_EFFECT_READ;
    }
}

static unsigned heeded_by(const struct sw_command *command)
{
    unsigned heeded = shows_data(command) ? READS : 0;
    if (!is_served_while_loading(command)) {
        heeded |= SW_OBSTACLE_LOADING;
    }
    if (sw_command_is_numbered(command)) {
        heeded |= WRITES | SW_OBSTACLE_WRITES_PAUSED | SW_OBSTACLES_OF_LOG;
    }
    if (command->id == SW_COMMAND_WATCH) {
        heeded |= SW_OBSTACLE_REPLICA;
    }
    return is_for_operators(command) ? heeded : heeded | SW_OBSTACLE_ALL_PAUSED;
}

void sw_heeded_init(struct sw_heeded *heeded)
{
    for (int id = 0; id < SW_COMMAND_COUNT; id++) {
        heeded->by[id] = heeded_by(sw_command_at((enum sw_command_id)id));
    }
}

/* Returns the error line of the first obstacle that refuses a command. NULL: the command only waits
 * for these obstacles. */
static const char *line_of(unsigned met)
{
    static const struct {
        enum sw_obstacle obstacle;
        const char *line;
    } lines[] = {
        {SW_OBSTACLE_LOADING, SW_LOADING_LINE},
        {SW_OBSTACLE_DOWN,
         "CLUSTERDOWN The cluster is down: this member of the shard knows no primary: "
         "see HA STATUS"},
        {SW_OBSTACLE_LACKS_DATA, SW_LOADING_LINE},
        {SW_OBSTACLE_REPLICA, "READONLY You can't write against a read only replica."},
        {SW_OBSTACLE_UNSAVED,
         "MISCONF Sherwood is configured to save snapshots, but it's currently unable to "
         "persist to disk. Commands that may modify the data set are disabled, because "
         "this instance is configured to report errors during writes if snapshotting fails "
         "(stop-writes-on-bgsave-error option). Please check the Sherwood logs for details "
         "about the error."},
        {SW_OBSTACLE_LOG_BROKEN, SW_NOT_DURABLE_LINE},
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        if ((met & lines[i].obstacle) != 0) {
            return lines[i].line;
        }
    }
    return NULL;
}

/* Returns the obstacles of a command on keys in cluster mode. The others get their errors from
 * redirect.c: cluster clients do not expect LOADING, and a replica redirects them. */
static unsigned met_in_cluster(struct sw_batches *batches, unsigned heeded)
{
    heeded &= ~(unsigned)SW_OBSTACLE_LOADING;
    const unsigned met = sw_obstacles_met(batches, heeded | SW_OBSTACLE_REPLICA);
    return (met & SW_OBSTACLE_REPLICA) != 0 ? met & ~(READS | WRITES) : met;
}

/* Stalls the connection for the first obstacle that passes by itself. Returns false if there is
 * none. */
static bool waits(struct sw_resp_conn *state, unsigned met)
{
    struct sw_conn *conn = state->conn;
    if ((met & SW_OBSTACLES_OF_PAUSE) != 0) {
        SW_COUNT(conn->net->counters, client_pauses, !conn->retried);
        sw_conn_stall(conn, SW_STALL_PAUSED);
    } else if ((met & SW_OBSTACLE_LOG_FULL) != 0) {
        sw_conn_stall(conn, SW_STALL_LOG);
    }
    return conn->stall != SW_STALL_NONE;
}

const char *sw_role_refuses_change(struct sw_resp_conn *state)
{
    return line_of(sw_obstacles_met(state->resp->batches,
                                    (unsigned)SW_OBSTACLE_DOWN | (unsigned)SW_OBSTACLE_REPLICA));
}

bool sw_waits_for_pause(struct sw_resp_conn *state)
{
    return waits(state, sw_obstacles_met(state->resp->batches, SW_OBSTACLE_WRITES_PAUSED));
}

bool sw_admits(struct sw_resp_conn *state, const struct sw_command *command)
{
    struct sw_resp *resp = state->resp;
    unsigned heeded = resp->heeded->by[command->id];
    if (command->id == SW_COMMAND_EXEC && sw_transaction_writes(state)) {
        heeded |= SW_OBSTACLE_WRITES_PAUSED;
    }
    const unsigned met = state->conn->net->cluster.view != NULL && is_about_keys(command)
                             ? met_in_cluster(resp->batches, heeded)
                             : sw_obstacles_met(resp->batches, heeded);
    if (met == 0) {
        return true;
    }
    const char *line = line_of(met & ~SW_OBSTACLES_OF_LOG);
    if (line == NULL && waits(state, met)) {
        return false;
    }
    if (command->id == SW_COMMAND_WATCH && line == line_of(SW_OBSTACLE_REPLICA)) {
        line = "ERR WATCH is not available on a replica: send it to the primary";
    }
    sw_resp_error(state->conn, command, "%s", line != NULL ? line : line_of(met));
    return false;
}

const char *sw_refusal_of_exec(struct sw_batches *batches, bool reads, bool writes)
{
    const unsigned heeded = (reads ? READS : 0) | (writes ? WRITES | SW_OBSTACLE_LOG_BROKEN : 0);
    return line_of(sw_obstacles_met(batches, heeded));
}
