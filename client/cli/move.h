/* SPDX-License-Identifier: MIT
 *
 * move.h - cluster move and cluster rebalance. One thread.
 */
#ifndef SHERWOOD_CLIENT_CLI_MOVE_H
#define SHERWOOD_CLIENT_CLI_MOVE_H

#include "client/cli/cli.h"
#include "client/cli/node.h"

/* cluster move SLOTS FROM TO. Returns the exit status. */
int sw_cli_cluster_move(struct sw_cli *cli, int count, char **words);
/* cluster rebalance [--dry-run]. */
int sw_cli_cluster_rebalance(struct sw_cli *cli, bool dry);

/* Moves slots between two nodes of the topology, and waits until that is over. */
int sw_cli_move(struct sw_cli *cli, const struct sw_topology *topology, unsigned from, unsigned to,
                const struct sw_slot_set *slots);
/* Sends all nodes the newest topology. After concurrent moves that is a topology with all of them.
 * Returns false with the reason printed. */
bool sw_cli_publish(struct sw_cli *cli);
/* Returns the topology of the node in the command line, or NULL with the reason printed. */
struct sw_topology *sw_cli_load_topology(struct sw_cli *cli);
/* Returns a node's reply to CLUSTER MOVE STATUS, which the caller frees, or NULL if the node does
 * not reply. */
char *sw_cli_move_status(struct sw_cli *cli, const struct sw_topology_node *entry);

#endif
