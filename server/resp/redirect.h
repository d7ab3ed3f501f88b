/* SPDX-License-Identifier: MIT
 *
 * redirect.h - refuses keys that this node of a cluster does not serve, with the errors of redis:
 * MOVED, CROSSSLOT, CLUSTERDOWN, ASK, TRYAGAIN. Everything is called on the connection's loop, with
 * a view (net->cluster.view) that is not NULL.
 */
#ifndef SHERWOOD_SERVER_RESP_REDIRECT_H
#define SHERWOOD_SERVER_RESP_REDIRECT_H

#include <stdbool.h>
#include <stdint.h>

#include "server/cluster/cluster.h"
#include "server/resp/command.h"

struct sw_resp_conn;

/* The slots of the keys of a command or of a transaction. */
struct sw_slots {
    int first;       /* of the first key; -1: there is none */
    bool is_several; /* another key is in another slot */
};

/* Checks the slots of a command with these arguments. Its `count` keys of `bytes` bytes are at
 * `keys`. If the command must be refused, writes the error to `line`, counts it and returns true.
 * Sets *slots to the slots of the keys. */
bool sw_redirect_refuses(struct sw_resp_conn *state, const struct sw_command *command,
                         const struct sw_resp_argument *arguments, const void *keys, uint32_t bytes,
                         uint32_t count, struct sw_slots *slots, char line[SW_CLUSTER_LINE_BYTES]);

/* Stalls a connection whose command would be refused with TRYAGAIN. Returns false, with nothing
 * done, if it has waited for SW_FROZEN_MS. */
bool sw_redirect_waits(struct sw_resp_conn *state);

/* The same check for EXEC. `slots` are the slots of all queued commands, which were checked against
 * the view of this number. */
bool sw_redirect_refuses_exec(struct sw_resp_conn *state, const struct sw_slots *slots,
                              uint64_t number, char line[SW_CLUSTER_LINE_BYTES]);

#endif
