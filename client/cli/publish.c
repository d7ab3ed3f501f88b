/* SPDX-License-Identifier: MIT
 *
 * publish.c - one topology for all nodes of a cluster.
 *
 * A primary is right about the slots that it serves. So if nodes have different topologies, the
 * right one gives each slot to the primary that serves it by its own topology.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/move.h"

struct sw_topology *sw_cli_load_topology(struct sw_cli *cli)
{
    struct sw_cli_node node;
    struct sw_topology *topology = NULL;
    if (sw_cli_node_open(cli, &node, cli->options->address)) {
        topology = sw_cli_node_topology(&node);
        sw_cli_node_close(&node);
    }
    if (topology == NULL) {
        fprintf(cli->messages, "%s: %s\n", cli->options->address, node.error);
    }
    return topology;
}

/* Returns whether both have the same nodes and shards, in the same order. */
static bool are_alike(const struct sw_topology *one, const struct sw_topology *other)
{
    bool alike = one->shard_count == other->shard_count && one->node_count == other->node_count;
    for (unsigned i = 0; alike && i < one->node_count; i++) {
        alike = strcmp(one->nodes[i].id, other->nodes[i].id) == 0;
    }
    for (unsigned i = 0; alike && i < one->shard_count; i++) {
        alike = strcmp(one->shards[i].id, other->shards[i].id) == 0;
    }
    return alike;
}

/* Loads the topology of each node. Returns false with the reason printed if a node sends none, or
 * sends one with other nodes or shards. */
static bool ask_all(struct sw_cli *cli, const struct sw_topology *topology,
                    struct sw_topology **held)
{
    for (unsigned i = 0; i < topology->node_count; i++) {
        struct sw_cli_node node;
        if (sw_cli_node_open_at(cli, &node, &topology->nodes[i])) {
            held[i] = sw_cli_node_topology(&node);
            sw_cli_node_close(&node);
        }
        if (held[i] == NULL) {
            fprintf(cli->messages, "%s:%u: %s\n", topology->nodes[i].ip, topology->nodes[i].port,
                    node.error);
            return false;
        }
        if (!are_alike(held[i], topology)) {
            fprintf(cli->messages,
                    "%s:%u has a topology with other nodes, or in another order (epoch %" PRIu64
                    "): send the same one to all nodes (cluster set)\n",
                    topology->nodes[i].ip, topology->nodes[i].port, held[i]->epoch);
            return false;
        }
    }
    return true;
}

/* Merges the topologies into the newest one: each slot gets the primary that serves it by its own
 * topology. If two primaries claim a slot, the one with the newer topology gets it. Raises the
 * epoch if the topologies differ. */
static bool merge(struct sw_topology **held, unsigned count, struct sw_topology *newest)
{
    uint64_t epochs[SW_SLOTS] = {0};
    bool differs = false, done = true;
    for (unsigned i = 0; i < count; i++) {
        const struct sw_topology_node *node = &newest->nodes[i];
        int place = sw_topology_find_node(held[i], node->id);
        struct sw_slot_set claims = {{0}};
        for (unsigned slot = 0; slot < SW_SLOTS && place >= 0; slot++) {
            const struct sw_topology_node *there = &held[i]->nodes[place];
            if (there->is_primary && held[i]->owner[slot] == there->shard &&
                held[i]->epoch > epochs[slot]) {
                epochs[slot] = held[i]->epoch;
                if (newest->owner[slot] != node->shard) {
                    sw_slot_set_add(&claims, slot);
                }
            }
        }
        if (sw_slot_set_count(&claims) > 0) {
            differs = true;
            done = sw_topology_assign(newest, &claims, node->shard) && done;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        for (unsigned s = 0; s < newest->shard_count; s++) {
            uint64_t lost = held[i]->shards[s].lost_after;
            newest->shards[s].lost_after =
                lost > newest->shards[s].lost_after ? lost : newest->shards[s].lost_after;
        }
        differs |= held[i]->epoch == newest->epoch && !sw_topology_equal(held[i], newest);
    }
    newest->epoch += differs;
    return done;
}

/* Returns whether the node has this topology now. A replica may have got it from its primary. */
static bool has(struct sw_cli_node *node, const struct sw_topology *topology)
{
    struct sw_topology *held = sw_cli_node_topology(node);
    bool same = held != NULL && held->epoch == topology->epoch && sw_topology_equal(held, topology);
    sw_topology_free(held);
    return same;
}

/* Sends the topology to a node. The node refuses it if its own epoch is no longer `epoch`: a
 * migration may have ended since, and this topology lacks it. */
static bool send_topology(struct sw_cli *cli, const struct sw_topology_node *where, uint64_t epoch,
                          const struct sw_topology *topology, const char *text)
{
    char had[24];
    snprintf(had, sizeof(had), "%" PRIu64, epoch);
    const char *const words[] = {"CLUSTER", "SETTOPOLOGY", "IFEPOCH", had, text};
    struct sw_cli_node node;
    char *answer = NULL, error[sizeof(node.error)];
    bool done = false;
    if (sw_cli_node_open_at(cli, &node, where)) {
        answer = sw_cli_node_ask(&node, 5, words);
        memcpy(error, node.error, sizeof(error));
        done = answer != NULL || has(&node, topology);
        sw_cli_node_close(&node);
    } else {
        memcpy(error, node.error, sizeof(error));
    }
    if (!done) {
        fprintf(cli->messages, "%s:%u: %s\n", where->ip, where->port, error);
    }
    free(answer);
    return done;
}

static bool give_all(struct sw_cli *cli, struct sw_topology **held,
                     const struct sw_topology *newest)
{
    char *text = sw_topology_print(newest);
    bool done = text != NULL;
    for (unsigned i = 0; i < newest->node_count && text != NULL; i++) {
        if (held[i]->epoch < newest->epoch) {
            done = send_topology(cli, &newest->nodes[i], held[i]->epoch, newest, text) && done;
        }
    }
    free(text);
    return done;
}

bool sw_cli_publish(struct sw_cli *cli)
{
    struct sw_topology *topology = sw_cli_load_topology(cli);
    struct sw_topology **held =
        topology == NULL ? NULL : calloc(topology->node_count, sizeof(struct sw_topology *));
    unsigned newest = 0;
    bool done = held != NULL && ask_all(cli, topology, held);
    for (unsigned i = 0; done && i < topology->node_count; i++) {
        newest = held[i]->epoch > held[newest]->epoch ? i : newest;
    }
    if (done) {
        char error[SW_TOPOLOGY_ERROR_BYTES];
        char *text = sw_topology_print(held[newest]);
        struct sw_topology *merged =
            text == NULL ? NULL : sw_topology_parse(text, strlen(text), error);
        done = merged != NULL && merge(held, topology->node_count, merged) &&
               give_all(cli, held, merged);
        sw_topology_free(merged);
        free(text);
    }
    for (unsigned i = 0; held != NULL && i < topology->node_count; i++) {
        sw_topology_free(held[i]);
    }
    free(held);
    sw_topology_free(topology);
    return done;
}
