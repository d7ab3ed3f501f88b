/* SPDX-License-Identifier: MIT
 *
 * node.h - a connection to a node of a cluster, by RESP. Threads: one.
 */
#ifndef SHERWOOD_CLIENT_CLI_NODE_H
#define SHERWOOD_CLIENT_CLI_NODE_H

#include "client/cli/cli.h"
#include "client/transport.h"
#include "proto/cluster/topology.h"

struct sw_cli_node {
    struct sw_client_transport *transport; /* NULL: none */
    int64_t deadline_ms;                   /* of the current command */
    char error[SW_CLI_ERROR_BYTES];        /* why the last call failed */
    bool refused;                          /* it was an error reply: the connection is good */
};

/* Connects to an address, or to the first of several that answers, and logs in, by TLS if the
 * options say so. Returns false with a sentence. */
bool sw_cli_node_open(struct sw_cli *cli, struct sw_cli_node *node, const char *address);
/* The same for a node of a topology. */
bool sw_cli_node_open_at(struct sw_cli *cli, struct sw_cli_node *node,
                         const struct sw_topology_node *entry);
void sw_cli_node_close(struct sw_cli_node *node);

/* Sends a command. Returns the answer, a line, number or string, which the caller frees; NULL with
 * a sentence. Both have only printable characters of ASCII, tabs and ends of lines. */
char *sw_cli_node_ask(struct sw_cli_node *node, int count, const char *const *words);

/* Sends a command whose reply is an array of exactly `items_count` lines, numbers or strings.
 * Returns false with a sentence. */
bool sw_cli_node_ask_list(struct sw_cli_node *node, int count, const char *const *words,
                          char **items, unsigned items_count);

/* Returns the topology of the node, or NULL with a sentence. */
struct sw_topology *sw_cli_node_topology(struct sw_cli_node *node);

/* Copies the value of a line "name:value" of a text; the empty text where it has none. */
void sw_cli_node_field(const char *text, const char *name, char *value, size_t bytes);

#endif
