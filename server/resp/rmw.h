/* SPDX-License-Identifier: MIT
 *
 * rmw.h - read-modify-write commands: MSETNX, RENAME, RENAMENX, COPY, SET with IFEQ, DELEX,
 * DELIFEQ, and INCREX (rmw_counter.h). Also WATCH and the EXEC behind it, which
 * executes nothing if a watched key was changed in between (watching.h).
 *
 * Such a command closes the write gate (batch/gate.h) and waits until the earlier writes have taken
 * effect. COPY to another table closes the gates of both tables. Then it reads, decides, writes one
 * group, and opens the gate again. No other client, by either protocol, writes between its read and
 * its write. It begins after the earlier commands of its connection are done, and later commands
 * wait for its reply. A loop runs one such command at a time. Only one loop at a time holds the
 * gate. Everything belongs to the loop's thread.
 *
 * The table has no such operations, because it decides which keys a group inserts, removes or gives
 * a time to before it reads a row, and for each key alone:
 *
 *     MSETNX, RENAME, RENAMENX, COPY   the write depends on other keys than its own
 *     DELEX, DELIFEQ                   the value decides whether the key stays
 *     SET IFEQ, INCREX                 the value decides whether the key gets another time
 */
#ifndef SHERWOOD_SERVER_RESP_RMW_H
#define SHERWOOD_SERVER_RESP_RMW_H

#include <stdbool.h>

#include "proto/resp.h"
#include "server/resp/command.h"
#include "server/resp/replies.h"
#include "server/resp/rmw_counter.h"

struct sw_conn;
struct sw_resp;

enum sw_rmw_state {
    SW_RMW_WAITS, /* for the gates, and for the writes inside them */
    SW_RMW_RUNS   /* its batches are in flight */
};

struct sw_rmw {
    struct sw_replies replies; /* a batch of its own */
    struct sw_conn *conn;      /* whose command it is; NULL: there is none */
    const struct sw_command *command;
    bool replaces;             /* COPY .. REPLACE */
    bool has_second;           /* COPY to another table: the second key exists */
    bool unless_equal;         /* DELEX .. IFNE */
    struct sw_counter counter; /* of INCREX */
    uint64_t view_number;      /* the cluster's view that admitted the command; 0: no cluster */
    enum sw_rmw_state state;
    /* COPY to another table: that of the first key. The command is the rmw of the second key's. */
    struct sw_resp *source;
    struct sw_gates gates;
};

/* Makes the reply a text, and returns it for the caller to write. */
static inline struct sw_text *sw_rmw_reply(struct sw_rmw *rmw)
{
    rmw->replies.pending[0].kind = SW_REPLY_KIND_MADE;
    return &rmw->replies.text;
}

/* Does a SET with these arguments have the option IFEQ? */
bool sw_rmw_compares(const struct sw_resp_command *arguments);
/* Must this command of kind DATA, with these arguments, run as a read-modify-write command? */
static inline bool sw_rmw_takes(const struct sw_command *command,
                                const struct sw_resp_command *arguments)
{
    return arguments->count > 4 && command->id == SW_COMMAND_SET && sw_rmw_compares(arguments);
}

/* Checks the arguments behind the keys of COPY source destination [DB table] [REPLACE]. Returns an
 * error line, or NULL. */
const char *sw_rmw_copy_options(struct sw_conn *conn, const struct sw_resp_command *arguments);
/* Returns the RESP state of the table that checked arguments copy to. */
struct sw_resp *sw_rmw_copy_target(struct sw_conn *conn, const struct sw_resp_command *arguments);
/* Has COPY the option REPLACE? */
bool sw_rmw_copy_replaces(const struct sw_resp_command *arguments);

/* Starts the command, or refuses it. Returns false, with nothing done and the connection stalled,
 * if it has to wait. */
bool sw_rmw_run(struct sw_conn *conn, const struct sw_command *command,
                const struct sw_resp_command *arguments);

/* May EXEC of a connection that watches keys begin? If not, it has stalled. */
bool sw_rmw_is_free_for(struct sw_conn *conn);
/* Starts such an EXEC, whose operations are in the batch of rmw->replies. */
void sw_rmw_start(struct sw_conn *conn, const struct sw_command *command);

/* Continues the command that waits for the gate. Returns true if it did. */
bool sw_rmw_poll(struct sw_resp *resp);
/* Returns true if a command was admitted by an older view of the cluster than the loop's. Such a
 * command is rejected if it has not read yet. EXEC then replies as if a watched key had changed. */
bool sw_rmw_is_of_older_view(const struct sw_resp *resp);
/* Returns true if there is a command. Then the loop must not sleep, unless it is held. */
bool sw_rmw_is_busy(const struct sw_resp *resp);
/* Is a table of the command held? Then the command may wait for long, so the loop may sleep. A COPY
 * to another table holds no gate meanwhile. */
bool sw_rmw_is_held(const struct sw_resp *resp);

#endif
