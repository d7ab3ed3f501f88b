/* SPDX-License-Identifier: MIT
 *
 * cluster.c - connects to a cluster, and adds up what was sent to each node (see cluster.h).
 */
#include "bench/load/cluster.h"
#include "bench/load/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Splits the text at its commas. Returns the number of addresses; 0: one is empty, or there are too
 * many. */
static size_t cut(char *text, const char *addresses[SW_LOAD_ADDRESSES_MAX])
{
    size_t count = 0;
    char *at = text;
    while (at) {
        char *comma = strchr(at, ',');
        if (comma) {
            *comma++ = '\0';
        }
        if (*at == '\0' || count == SW_LOAD_ADDRESSES_MAX) {
            return 0;
        }
        addresses[count++] = at;
        at = comma;
    }
    return count;
}

int sw_load_cluster_connect(const struct sw_load_options *options,
                            const struct sherwood_options *connection, struct sherwood **out,
                            char *error)
{
    const char *addresses[SW_LOAD_ADDRESSES_MAX];
    char *text = strdup(options->address);
    if (!text) {
        snprintf(error, SW_LOAD_ERROR_BYTES, "not enough memory for the addresses");
        return SW_LOAD_E_NOMEM;
    }
    int status = SW_LOAD_OK;
    size_t count = cut(text, addresses);
    if (count == 0) {
        snprintf(
            error, SW_LOAD_ERROR_BYTES,
            "--address %.200s: with --cluster write 1 to %d addresses with commas between them",
            options->address, SW_LOAD_ADDRESSES_MAX);
        status = SW_LOAD_E_USAGE;
    } else if (sherwood_connect_cluster_text(addresses, count, connection, out, error,
                                             SW_LOAD_ERROR_BYTES)) {
        status = SW_LOAD_E_PEER;
    }
    free(text);
    return status;
}

/* Returns the node at this address; adds it if it is new. NULL: no room. */
static struct sw_load_node *node_at(struct sw_load_nodes *nodes, const char *address)
{
    for (uint32_t i = 0; i < nodes->count; i++) {
        if (strcmp(nodes->each[i].address, address) == 0) {
            return &nodes->each[i];
        }
    }
    if (nodes->count == SW_LOAD_NODES_MAX) {
        nodes->left_out++;
        return NULL;
    }
    struct sw_load_node *node = &nodes->each[nodes->count++];
    *node = (struct sw_load_node){.keys = 0};
    snprintf(node->address, sizeof(node->address), "%s", address);
    return node;
}

void sw_load_nodes_add(struct sw_load_nodes *nodes, const struct sherwood *client)
{
    const uint64_t epoch = sherwood_cluster_epoch(client);
    const bool is_newer = epoch > nodes->epoch;
    struct sherwood_shard shard = SHERWOOD_SHARD_INIT;
    for (uint32_t i = 0; is_newer && i < nodes->count; i++) {
        nodes->each[i].slots = 0;
    }
    for (uint32_t i = 0; sherwood_cluster_shard(client, i, &shard); i++) {
        struct sw_load_node *node = node_at(nodes, shard.address);
        if (!node) {
            continue;
        }
        if (is_newer) {
            snprintf(node->name, sizeof(node->name), "%s", shard.name);
            node->slots = shard.slots;
        } else if (node->name[0] == '\0') { /* the node is not in the newest topology */
            snprintf(node->name, sizeof(node->name), "%s", shard.name);
        }
        node->keys += shard.keys;
        node->frames += shard.frames;
        node->refusals += shard.refusals;
    }
    nodes->epoch = is_newer ? epoch : nodes->epoch;
}
