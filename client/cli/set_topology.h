/* SPDX-License-Identifier: MIT
 *
 * set_topology.h - cluster create and cluster set, and the lookup of a node's host. Threads: one.
 */
#ifndef SHERWOOD_CLIENT_CLI_SET_TOPOLOGY_H
#define SHERWOOD_CLIENT_CLI_SET_TOPOLOGY_H

#include "client/cli/cli.h"
#include "proto/cluster/topology.h"

/* Writes the first address of a host name to `ip`. Returns false with the reason printed. */
bool sw_cli_look_up(struct sw_cli *cli, const char *host, char ip[SW_TOPOLOGY_IP_MAX + 1]);

/* cluster create: writes a topology to a new file, and prints the command that starts each node.
 * `words` are those behind "create". Returns the exit status; -1: the words are wrong. */
int sw_cli_cluster_create(struct sw_cli *cli, int count, char **words);

/* cluster set [--if-absent] FILE: sends the topology in a file to the node of the command line.
 * `words` are those behind "set". Returns the exit status; -1: the words are wrong. */
int sw_cli_cluster_set(struct sw_cli *cli, int count, char **words);

#endif
