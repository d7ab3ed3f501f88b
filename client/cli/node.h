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
    bool refused; /* the server sent an error reply: the connection is still usable */
};

/* Connects to an address, or to the first of several that replies, and logs in. Uses TLS if the
 * address or the options require it. Returns false with a sentence. */
bool sw_cli_node_open(struct sw_cli *cli, struct sw_cli_node *node, const char *address);
/* The same for a node of a topology. */
bool sw_cli_node_open_at(struct sw_cli *cli, struct sw_cli_node *node,
                         const struct sw_topology_node *entry);
void sw_cli_node_close(struct sw_cli_node *node);

/* Sends a command. Returns the reply, which is a line, number or string and which the caller frees;
 * or NULL with a sentence. Both have only printable characters of ASCII, tabs and ends of lines. */
char *sw_cli_node_ask(struct sw_cli_node *node, int count, const char *const *words);

/* Sends a command whose reply is an array of exactly `items_count` lines, numbers or strings.
 * Returns false with a sentence. */
bool sw_cli_node_ask_list(struct sw_cli_node *node, int count, const char *const *words,
                          char **items, unsigned items_count);

/* Returns the topology of the node, or NULL with a sentence. */
struct sw_topology *sw_cli_node_topology(struct sw_cli_node *node);

/* Copies the value of the line "name:value" of a text; copies an empty string if the text has no
 * such line. */
void sw_cli_node_field(const char *text, const char *name, char *value, size_t bytes);

#endif
