/* SPDX-License-Identifier: MIT
 *
 * resp.h - the RESP side of a loop, and of each of its connections.
 *
 * Bytes become commands, and commands on keys become operations of the round that gathers; replies
 * wait in the order of the commands until the round is done. A loop has two rounds: one gathers
 * while the other is in flight. Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_RESP_RESP_H
#define SHERWOOD_SERVER_RESP_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/resp.h"
#include "server/batch/batches.h"
#include "server/net/conn.h"
#include "server/observe/snapshot.h"
#include "server/observe/text.h"
#include "server/resp/data.h"
#include "server/resp/replies.h"
#include "server/resp/session.h"

/* What the RESP side needs of the server around it. */
struct sw_resp_owner {
    void *server;
    void (*snapshot)(void *server, struct sw_snapshot *snapshot);
    void (*stop)(void *server); /* begin the shutdown */
    struct sw_clients *clients; /* of all loops */
};

/* Replies that are texts, in a turn of the loop. Turns are numbered from 1. */
struct sw_resp_text_share {
    uint64_t turn;     /* the turn that `bytes` is of */
    uint64_t bytes;    /* of such replies in it */
    uint64_t spent_in; /* the last turn in which the share was used up */
};

struct sw_resp {
    struct sw_net *net;
    struct sw_batches *batches;
    struct sw_resp_owner owner;

    struct sw_replies replies[2];
    struct sw_replies *gathering;
    struct sw_replies *running; /* NULL: none in flight */

    struct sw_command_set lacking; /* commands the engine does not have */
    sw_data_run *run_data;
    struct sw_admin admin;
    uint64_t random_state;
    struct sw_resp_text_share text; /* of all connections */

    /* For all connections, one at a time. */
    char *scratch; /* SW_SCRATCH_BYTES: replies are formatted here */
    struct sw_resp_argument *arguments;
    uint8_t *unquoted;
    struct sw_resp_limits limits;
};

/* Replies that the socket did not take: one buffer is being written, the other one gathers. */
struct sw_resp_output {
    struct sw_text unsent[2];
    unsigned gathering;
};

/* What RESP keeps of a connection, in conn->protocol_state. */
struct sw_resp_conn {
    struct sw_resp *resp;
    struct sw_session session;
    struct sw_resp_output output;
    bool exclusive; /* a control command is under way: nothing else is accepted */
    struct sw_transaction *transaction; /* between MULTI and EXEC; else NULL */
    size_t reparsed; /* bytes parsed in vain on behalf of the request that is arriving */
    struct sw_resp_text_share text;
};

static inline struct sw_resp_conn *sw_resp_of(struct sw_conn *conn)
{
    return (struct sw_resp_conn *)(void *)conn->protocol_state;
}

extern const struct sw_protocol sw_resp_protocol;

/* `commit` joins rounds that write with those of other loops; NULL: each goes by itself. `seed` is
 * of the random numbers. Returns 0, or -1 (memory); fini is allowed after both. */
int sw_resp_init(struct sw_resp *resp, struct sw_net *net, struct sw_batches *batches,
                 struct sw_commit_batch *commit, const struct sw_resp_owner *owner, uint64_t seed);
void sw_resp_fini(struct sw_resp *resp);

/* Submits what has gathered, if nothing of it is in flight. Returns true if anything was. */
bool sw_resp_submit(struct sw_resp *resp);

/* Writes the replies of a round that another loop submitted, if it is done. Returns true if so. */
static inline bool sw_resp_poll_shared(struct sw_resp *resp)
{
    return resp->running != NULL && sw_round_poll_shared(&resp->running->round);
}

/* Does a reply wait for a batch, or a command for its submission? */
static inline bool sw_resp_is_busy(const struct sw_resp *resp)
{
    return resp->running != NULL || resp->gathering->pendings > 0;
}

/* Asserts what holds between two events. */
void sw_resp_check(const struct sw_resp *resp);

#endif
