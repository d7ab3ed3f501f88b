/* SPDX-License-Identifier: MIT
 *
 * move.c - cluster move: starts the move at the target, shows its progress, and sends all nodes the
 * new topology. The nodes move the slots: this program may end at any time, and be started
 * again.
 */
#include "client/cli/move.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cli/progress.h"
#include "proto/plural.h"

#define POLL_MS 50

static void sleep_briefly(void)
{
    const struct timespec time = {.tv_nsec = POLL_MS * 1000000L};
    nanosleep(&time, NULL);
}

static uint64_t number_of(const char *status, const char *name)
{
    char value[32];
    sw_cli_node_field(status, name, value, sizeof(value));
    return strtoull(value, NULL, 10);
}

char *sw_cli_move_status(struct sw_cli *cli, const struct sw_topology_node *entry)
{
    static const char *const words[] = {"CLUSTER", "MOVE", "STATUS"};
    struct sw_cli_node node;
    char *status = NULL;
    if (sw_cli_node_open_at(cli, &node, entry)) {
        status = sw_cli_node_ask(&node, 3, words);
        sw_cli_node_close(&node);
    }
    return status;
}

/* Returns whether the node owns all of these slots, by its own topology; -1: the node does not
 * reply. */
static int has_all(struct sw_cli *cli, const struct sw_topology_node *entry,
                   const struct sw_slot_set *slots)
{
    struct sw_cli_node node;
    struct sw_topology *topology = NULL;
    if (sw_cli_node_open_at(cli, &node, entry)) {
        topology = sw_cli_node_topology(&node);
        sw_cli_node_close(&node);
    }
    int place = topology == NULL ? -1 : sw_topology_find_node(topology, entry->id);
    int all = place < 0 ? -1 : 1;
    for (unsigned slot = 0; slot < SW_SLOTS && place >= 0; slot++) {
        all &=
            !sw_slot_set_has(slots, slot) || topology->owner[slot] == topology->nodes[place].shard;
    }
    sw_topology_free(topology);
    return all;
}

/* Estimates the keys in the slots, as if the source's keys were spread evenly over its slots. 0:
 * unknown. */
static uint64_t guess_keys(struct sw_cli *cli, const struct sw_topology *topology, unsigned from,
                           const struct sw_slot_set *slots)
{
    static const char *const words[] = {"DBSIZE"};
    struct sw_cli_node node;
    char *answer = NULL;
    unsigned owned = topology->shards[topology->nodes[from].shard].slot_count;
    if (sw_cli_node_open_at(cli, &node, &topology->nodes[from])) {
        answer = sw_cli_node_ask(&node, 1, words);
        sw_cli_node_close(&node);
    }
    uint64_t keys = answer == NULL || owned == 0
                        ? 0
                        : strtoull(answer, NULL, 10) * sw_slot_set_count(slots) / owned;
    free(answer);
    return keys;
}

/* Makes the target take the slots, unless it takes slots of this source already. Returns false with
 * the reason printed. */
static bool begin_move(struct sw_cli *cli, const struct sw_topology_node *from,
                       const struct sw_topology_node *to, const struct sw_slot_set *slots)
{
    char peer[SW_TOPOLOGY_ID + 1];
    char *status = sw_cli_move_status(cli, to), *text = sw_slot_set_print(slots), *answer = NULL;
    struct sw_cli_node node = {.error = "not enough memory"};
    sw_cli_node_field(status, "peer", peer, sizeof(peer));
    char role[16];
    sw_cli_node_field(status, "role", role, sizeof(role));
    bool runs = strcmp(role, "target") == 0 && (peer[0] == '\0' || strcmp(peer, from->id) == 0);
    free(status);
    if (runs) {
        fprintf(cli->messages,
                "a migration of slots to this target is running already: this is its progress\n");
    } else if (text != NULL && sw_cli_node_open_at(cli, &node, to)) {
        const char *const words[] = {"CLUSTER", "MOVE", "TAKE", from->id, text};
        answer = sw_cli_node_ask(&node, 5, words);
        sw_cli_node_close(&node);
    }
    free(text);
    if (!runs && answer == NULL) {
        fprintf(cli->messages, "%s:%u: %s\n", to->ip, to->port, node.error);
    }
    bool begun = runs || answer != NULL;
    free(answer);
    return begun;
}

/* Waits until the node reports no migration, and shows its progress. Returns how many keys the last
 * attempt transferred: the keys of the snapshot and of each later write. */
static uint64_t follow(struct sw_cli *cli, const struct sw_topology_node *entry,
                       struct sw_cli_progress *progress, uint64_t whole, char *trouble,
                       size_t bytes)
{
    char told[SW_CLI_ERROR_BYTES] = "";
    uint64_t keys = 0;
    for (bool moves = true; moves;) {
        char *status = sw_cli_move_status(cli, entry);
        if (status != NULL) {
            moves = number_of(status, "moving") != 0;
            keys = number_of(status, "keys");
            sw_cli_progress_update(progress, keys < whole || whole == 0 ? keys : whole, whole,
                                   keys);
            sw_cli_node_field(status, "trouble", trouble, bytes);
        } else {
            snprintf(trouble, bytes, "%s:%u does not reply", entry->ip, entry->port);
        }
        if (trouble[0] != '\0' && strcmp(trouble, told) != 0 && moves) {
            fprintf(cli->messages, "%s; waiting for the end of the migration\n", trouble);
            snprintf(told, sizeof(told), "%s", trouble);
        }
        free(status);
        if (moves) {
            sleep_briefly();
        }
    }
    return keys;
}

int sw_cli_move(struct sw_cli *cli, const struct sw_topology *topology, unsigned from, unsigned to,
                const struct sw_slot_set *slots)
{
    struct sw_cli_progress progress;
    char trouble[SW_CLI_ERROR_BYTES] = "", after[SW_CLI_ERROR_BYTES] = "";
    const char *target = topology->shards[topology->nodes[to].shard].name;
    uint64_t whole = guess_keys(cli, topology, from, slots);
    const bool is_over = has_all(cli, &topology->nodes[to], slots) == 1;
    if (is_over) { /* begin nothing, but wait for the end of an earlier migration */
        fprintf(cli->messages, "%s already owns the slots: no key moves\n", target);
    } else if (!begin_move(cli, &topology->nodes[from], &topology->nodes[to], slots)) {
        return 1;
    }
    sw_cli_progress_start(&progress, cli->messages, "moved", cli->options->quiet);
    uint64_t keys = follow(cli, &topology->nodes[to], &progress, whole, trouble, sizeof(trouble));
    int all = has_all(cli, &topology->nodes[to], slots);
    if (all == 1) {
        follow(cli, &topology->nodes[from], &progress, whole, after, sizeof(after));
    }
    sw_cli_progress_finish(&progress, all == 1 && !is_over ? keys : 0, all == 1);
    if (all != 1) {
        fprintf(cli->messages, "the slots were not moved: %s\n",
                trouble[0] != '\0'
                    ? trouble
                    : "the target no longer receives them; see its log, then try again");
        return 1;
    }
    if (!sw_cli_publish(cli)) {
        fprintf(
            cli->messages,
            "the slots were moved, but some nodes lack the new topology: run this command again\n");
        return 1;
    }
    const unsigned count = sw_slot_set_count(slots);
    fprintf(cli->out, "%u slot%s at %s\n", count, sw_plural(count, " is", "s are"), target);
    return 0;
}

/* Returns the index of the primary with this shard name, id, or host:port, or -1 after printing an
 * error. */
static int find(struct sw_cli *cli, const struct sw_topology *topology, const char *name)
{
    char address[SW_TOPOLOGY_HOSTNAME_MAX + 16];
    for (unsigned i = 0; i < topology->node_count; i++) {
        const struct sw_topology_node *node = &topology->nodes[i];
        snprintf(address, sizeof(address), strchr(node->ip, ':') != NULL ? "[%s]:%u" : "%s:%u",
                 node->ip, node->port);
        if (node->is_primary && (strcmp(name, node->id) == 0 || strcmp(name, address) == 0 ||
                                 strcmp(name, topology->shards[node->shard].name) == 0)) {
            return (int)i;
        }
    }
    fprintf(cli->messages,
            "no primary of the cluster is called %s: use a shard name, an id or host:port of "
            "cluster slots\n",
            name);
    return -1;
}

int sw_cli_cluster_move(struct sw_cli *cli, int count, char **words)
{
    struct sw_slot_set slots = {{0}};
    (void)count;
    if (!sw_slot_set_parse(&slots, words[0], strlen(words[0])) || words[0][0] == '\0') {
        fprintf(cli->messages,
                "\"%s\" is not a list of slots from 0 to 16383: write for example 0-99,200\n",
                words[0]);
        return 1;
    }
    if (!sw_cli_publish(cli)) { /* source and target need the same topology */
        return 1;
    }
    struct sw_topology *topology = sw_cli_load_topology(cli);
    int from = topology == NULL ? -1 : find(cli, topology, words[1]);
    int to = from < 0 ? -1 : find(cli, topology, words[2]);
    int status = to < 0 ? 1 : sw_cli_move(cli, topology, (unsigned)from, (unsigned)to, &slots);
    sw_topology_free(topology);
    return status;
}
