/* SPDX-License-Identifier: MIT
 *
 * digest.c - digest: compares the entries of servers, or of the nodes of each shard of a cluster.
 * It compares a replica with its primary only when both have executed the same writes.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cli/node.h"
#include "proto/plural.h"

/* The most attempts to read both digests at the same write, while clients write. */
#define TRIES 100
#define REST_MS 50

enum { SEQUENCE, ENTRIES, SUMS, ITEMS };

struct compared {
    struct sw_cli_node node;
    char *items[ITEMS];
};

static bool request_digest(struct compared *one)
{
    static const char *const words[] = {"DIGEST"};
    for (int i = 0; i < ITEMS; i++) {
        free(one->items[i]);
    }
    return sw_cli_node_ask_list(&one->node, 1, words, one->items, ITEMS);
}

static void release(struct compared *one)
{
    for (int i = 0; i < ITEMS; i++) {
        free(one->items[i]);
    }
    sw_cli_node_close(&one->node);
}

static bool are_equal(const struct compared *one, const struct compared *other)
{
    return strcmp(one->items[ENTRIES], other->items[ENTRIES]) == 0 &&
           strcmp(one->items[SUMS], other->items[SUMS]) == 0;
}

static void print(const struct sw_cli *cli, const char *name, const struct compared *one,
                  const char *what)
{
    fprintf(cli->out, "%s: write %s, %s key%s, %s%s\n", name, one->items[SEQUENCE],
            one->items[ENTRIES], sw_plural_s(strtoull(one->items[ENTRIES], NULL, 10)),
            one->items[SUMS], what);
}

/* Prints why a server has no digest. Returns false. */
static bool lacks(const struct sw_cli *cli, const char *name, const struct compared *one)
{
    fprintf(cli->messages, "%s: %s\n", name, one->node.error);
    return false;
}

/* --- servers ------------------------------------------------------------------------------------
 */

static bool open_and_ask(struct sw_cli *cli, const char *address, struct compared *one)
{
    *one = (struct compared){.items = {NULL}};
    return (sw_cli_node_open(cli, &one->node, address) && request_digest(one)) ||
           lacks(cli, address, one);
}

static bool compare_servers(struct sw_cli *cli, const struct compared *first, int count,
                            char **addresses)
{
    bool all = true;
    for (int i = 0; i < count; i++) {
        struct compared other;
        bool same = open_and_ask(cli, addresses[i], &other);
        if (same) {
            same = are_equal(first, &other);
            print(cli, addresses[i], &other, same ? "" : ": not the same");
        }
        release(&other);
        all = all && same;
    }
    return all;
}

/* --- shards -------------------------------------------------------------------------------------
 */

/* Reads both digests until they are of the same write, TRIES times at most. Returns whether they
 * are. */
static bool meet(struct compared *primary, struct compared *replica)
{
    const struct timespec rest = {.tv_nsec = REST_MS * 1000000L};
    for (int tries = 0; tries < TRIES && request_digest(primary) && request_digest(replica);
         tries++) {
        if (strcmp(primary->items[SEQUENCE], replica->items[SEQUENCE]) == 0) {
            return true;
        }
        nanosleep(&rest, NULL);
    }
    return false;
}

/* Compares a replica with its primary, whose digest was read before. */
static bool compare_replica(struct sw_cli *cli, const struct sw_topology *topology,
                            const struct sw_topology_node *entry, struct compared *primary)
{
    char name[SW_TOPOLOGY_NAME_MAX + SW_TOPOLOGY_IP_MAX + 32];
    struct compared replica = {.items = {NULL}};
    snprintf(name, sizeof(name), "%s, replica %s:%u", topology->shards[entry->shard].name,
             entry->ip, entry->port);
    bool open = sw_cli_node_open_at(cli, &replica.node, entry);
    bool meets = open && meet(primary, &replica);
    bool same = meets && are_equal(primary, &replica);
    if (meets) {
        print(cli, name, &replica, same ? "" : ": not the same");
    } else if (!open || replica.items[SEQUENCE] == NULL) {
        (void)lacks(cli, name, &replica);
    } else if (primary->items[SEQUENCE] == NULL) {
        (void)lacks(cli, "its primary", primary);
    } else {
        fprintf(cli->messages,
                "%s: not compared, because it is at write %s and its primary at %s: try again with "
                "fewer writes\n",
                name, replica.items[SEQUENCE], primary->items[SEQUENCE]);
    }
    release(&replica);
    return same;
}

static bool compare_shard(struct sw_cli *cli, const struct sw_topology *topology, unsigned shard)
{
    const struct sw_topology_node *entry = &topology->nodes[topology->shards[shard].primary];
    struct compared primary = {.items = {NULL}};
    bool all = (sw_cli_node_open_at(cli, &primary.node, entry) && request_digest(&primary)) ||
               lacks(cli, topology->shards[shard].name, &primary);
    if (all) {
        print(cli, topology->shards[shard].name, &primary, "");
    }
    for (unsigned i = 0; i < topology->node_count && primary.items[SEQUENCE] != NULL; i++) {
        const struct sw_topology_node *node = &topology->nodes[i];
        if (node->shard == shard && !node->is_primary) {
            all = compare_replica(cli, topology, node, &primary) && all;
        }
    }
    release(&primary);
    return all;
}

int sw_cli_digest(struct sw_cli *cli, int count, char **words)
{
    /* unless an option names a server, the first address is the server to compare with */
    const bool is_listed = count > 0 && !cli->options->names_server;
    const char *address = is_listed ? words[0] : cli->options->address;
    struct sw_cli_node node;
    struct compared first;
    struct sw_topology *topology = NULL;
    bool all = true;
    if (count == 0 && sw_cli_node_open(cli, &node, address)) {
        topology = sw_cli_node_topology(&node);
        sw_cli_node_close(&node);
    }
    for (unsigned i = 0; topology != NULL && i < topology->shard_count; i++) {
        all = compare_shard(cli, topology, i) && all;
    }
    if (topology == NULL) {
        all = open_and_ask(cli, address, &first);
        if (all) {
            print(cli, address, &first, "");
            all = compare_servers(cli, &first, count - is_listed, words + is_listed);
        }
        release(&first);
    }
    sw_topology_free(topology);
    return all ? 0 : 1;
}
