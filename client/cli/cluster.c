/* SPDX-License-Identifier: MIT
 *
 * cluster.c - cluster slots and check, and the dispatch of the other cluster tools.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/cli/cli.h"
#include "client/cli/move.h"
#include "client/cli/set_topology.h"
#include "client/sherwood-cluster.h"
#include "proto/cluster/topology.h"
#include "proto/plural.h"

static int usage(struct sw_cli *cli)
{
    fprintf(
        cli->messages,
        "usage: sherwood-cli cluster create --nodes host:port,.. | --local-gpus N  [--name NAME] "
        "--output FILE\n"
        "       sherwood-cli [options] cluster slots|check\n"
        "       sherwood-cli [options] cluster set [--if-absent] FILE\n"
        "       sherwood-cli [options] cluster move SLOTS FROM TO\n"
        "       sherwood-cli [options] cluster rebalance [--dry-run]\n");
    return 2;
}

/* --- slots and check -------------------------------------------------------------------------- */

static int slots(struct sw_cli *cli)
{
    struct sherwood_shard shard = SHERWOOD_SHARD_INIT;
    for (uint32_t i = 0; sherwood_cluster_shard(cli->client, i, &shard); i++) {
        fprintf(cli->out, "%s %s %u slot%s%s:", shard.name, shard.address, shard.slots,
                sw_plural_s(shard.slots), shard.is_connected ? "" : ", not reachable");
        for (uint32_t slot = 0; slot < SW_SLOTS;) {
            uint32_t end = slot;
            while (end < SW_SLOTS && sherwood_cluster_owner(cli->client, end) == i) {
                end++;
            }
            if (end > slot) {
                fprintf(cli->out, " %u-%u", slot, end - 1);
            }
            slot = end > slot ? end : slot + 1;
        }
        fputc('\n', cli->out);
    }
    return 0;
}

/* Returns whether both handles have the same topology. */
static bool agree(const struct sherwood *one, const struct sherwood *other)
{
    bool same = sherwood_cluster_epoch(one) == sherwood_cluster_epoch(other);
    for (uint32_t slot = 0; slot < SW_SLOTS && same; slot++) {
        same = sherwood_cluster_owner(one, slot) == sherwood_cluster_owner(other, slot);
    }
    return same;
}

/* Loads the topology of a primary. Returns whether it equals the topology of the handle; prints
 * both epochs if not. */
static bool check_node(struct sw_cli *cli, const struct sherwood_shard *shard)
{
    char text[SW_CLI_ERROR_BYTES];
    struct sherwood *other = NULL;
    const char *address = shard->address;
    struct sherwood_options connection = cli->options->connection;
    connection.user = cli->options->login.user;
    connection.password = sw_cli_login_password(&cli->options->login);
    if (sherwood_connect_cluster_text(&address, 1, &connection, &other, text, sizeof(text)) !=
        SHERWOOD_OK) {
        fprintf(cli->out, "%s: %s\n", shard->name, text);
        return false;
    }
    bool same = agree(cli->client, other);
    if (!same) {
        fprintf(cli->out,
                "%s: %s has the topology of epoch %" PRIu64 ", %s has that of %" PRIu64
                ": send one to all nodes (cluster set)\n",
                shard->name, shard->address, sherwood_cluster_epoch(other), cli->options->address,
                sherwood_cluster_epoch(cli->client));
    }
    sherwood_close(other);
    return same;
}

/* Prints how many keys the node has in slots of other nodes, and its migration. Returns true if it
 * has neither. */
static bool check_keys(struct sw_cli *cli, const struct sherwood_shard *shard)
{
    static const char *const count[] = {"CLUSTER", "COUNTFOREIGN"};
    static const char *const status[] = {"CLUSTER", "MOVE", "STATUS"};
    struct sw_cli_node node;
    char role[16] = "", phase[16] = "";
    char *foreign = NULL, *moves = NULL;
    if (sw_cli_node_open(cli, &node, shard->address)) {
        foreign = sw_cli_node_ask(&node, 2, count);
        moves = foreign == NULL ? NULL : sw_cli_node_ask(&node, 3, status);
        sw_cli_node_close(&node);
    }
    sw_cli_node_field(moves, "role", role, sizeof(role));
    sw_cli_node_field(moves, "phase", phase, sizeof(phase));
    bool rests = strcmp(role, "none") == 0;
    if (moves == NULL) {
        fprintf(cli->out, "%s: %s\n", shard->name, node.error);
    } else if (!rests) {
        fprintf(cli->out, "%s: slots are migrating, and this node is the %s (phase %s): wait\n",
                shard->name, role, phase);
    } else if (strcmp(foreign, "0") != 0) {
        fprintf(cli->out, "%s: the table has %s key%s in slots of other nodes\n", shard->name,
                foreign, sw_plural_s(strtoull(foreign, NULL, 10)));
    }
    bool good = moves != NULL && rests && strcmp(foreign, "0") == 0;
    free(foreign);
    free(moves);
    return good;
}

static int check(struct sw_cli *cli)
{
    struct sherwood_shard shard = SHERWOOD_SHARD_INIT;
    uint32_t bare = 0, first = 0, shards = 0;
    bool good = true;
    for (uint32_t slot = SW_SLOTS; slot-- > 0;) {
        if (sherwood_cluster_owner(cli->client, slot) == UINT32_MAX) {
            first = slot;
            bare++;
        }
    }
    if (bare > 0) {
        fprintf(cli->out, "%u slot%s no owner, the first is %u: assign %s (cluster set)\n", bare,
                sw_plural(bare, " has", "s have"), first, sw_plural(bare, "it", "them"));
    }
    for (; sherwood_cluster_shard(cli->client, shards, &shard); shards++) {
        good = check_node(cli, &shard) && check_keys(cli, &shard) && good;
    }
    if (good && bare == 0) {
        fprintf(cli->out,
                "ok: %u node%s the topology of epoch %" PRIu64 ", all slots have an owner\n",
                shards, sw_plural(shards, " has", "s have"), sherwood_cluster_epoch(cli->client));
    }
    return good && bare == 0 ? 0 : 1;
}

int sw_cli_cluster(struct sw_cli *cli, int count, char **words)
{
    if (count > 0 && strcasecmp(words[0], "create") == 0) {
        const int status = sw_cli_cluster_create(cli, count - 1, words + 1);
        return status < 0 ? usage(cli) : status;
    }
    if (count > 0 && strcasecmp(words[0], "set") == 0) {
        const int status = sw_cli_cluster_set(cli, count - 1, words + 1);
        return status < 0 ? usage(cli) : status;
    }
    if (count == 4 && strcasecmp(words[0], "move") == 0) {
        return sw_cli_cluster_move(cli, count - 1, words + 1);
    }
    bool dry = count == 2 && strcmp(words[1], "--dry-run") == 0;
    if ((count == 1 || dry) && strcasecmp(words[0], "rebalance") == 0) {
        return sw_cli_cluster_rebalance(cli, dry);
    }
    bool shows = count == 1 && strcasecmp(words[0], "slots") == 0;
    if (!shows && (count != 1 || strcasecmp(words[0], "check") != 0)) {
        return usage(cli);
    }
    if (!sw_cli_connect(cli)) {
        return 1;
    }
    return shows ? slots(cli) : check(cli);
}
