/* SPDX-License-Identifier: MIT
 *
 * cluster.c - cluster create, slots and check; and the dispatch of the other cluster tools.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/move.h"
#include "client/cli/set_topology.h"
#include "client/sherwood-cluster.h"
#include "proto/cluster/topology.h"
#include "proto/decimal.h"
#include "proto/random_id.h"

#define LOCAL_PORT 7379 /* of the first server of --local-gpus; the next ports are the others' */
#define HTTP_PORT 9379  /* default of sherwoodd --http-port */

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

/* --- create ----------------------------------------------------------------------------------- */

/* Writes the address of a host. Looks a name up, and also stores it in the topology. Returns false
 * with the reason printed. */
static bool set_host(struct sw_cli *cli, struct sw_topology_node *node, const char *host)
{
    if (sw_topology_is_ip(host, node->ip)) {
        return true;
    }
    snprintf(node->hostname, sizeof(node->hostname), "%s", host);
    return sw_cli_look_up(cli, host, node->ip);
}

/* Reads "host:port" or "[v6]:port". */
static bool set_node(struct sw_cli *cli, struct sw_topology_node *node, char *text)
{
    uint64_t port = 0;
    char *colon = strrchr(text, ':');
    if (colon == NULL || colon == text ||
        !sw_decimal_parse((const uint8_t *)colon + 1, strlen(colon + 1), UINT16_MAX, &port) ||
        port == 0) {
        fprintf(cli->messages, "\"%s\" is not an address: write host:port\n", text);
        return false;
    }
    *colon = '\0';
    if (text[0] == '[' && colon[-1] == ']') {
        colon[-1] = '\0';
        text++;
    }
    node->port = (uint16_t)port;
    return set_host(cli, node, text);
}

/* Gives each node a shard of its own, and spreads the slots evenly over the shards. */
static void share_slots(struct sw_topology *topology)
{
    const unsigned count = topology->node_count;
    topology->epoch = 1;
    topology->shard_count = count;
    for (unsigned i = 0; i < count; i++) {
        struct sw_topology_shard *shard = &topology->shards[i];
        unsigned first = i * SW_SLOTS / count, end = (i + 1) * SW_SLOTS / count;
        sw_random_id(shard->id);
        snprintf(shard->name, sizeof(shard->name), "s%u", i);
        shard->ranges[0] = (struct sw_topology_range){(uint16_t)first, (uint16_t)(end - 1)};
        shard->range_count = 1;
        shard->slot_count = end - first;
        shard->primary = (uint16_t)i;
        sw_random_id(topology->nodes[i].id);
        topology->nodes[i].shard = (uint16_t)i;
        topology->nodes[i].is_primary = true;
    }
}

static bool is_loopback(const char *ip)
{
    return strncmp(ip, "127.", 4) == 0 || strcmp(ip, "::1") == 0;
}

static bool is_same_host(const struct sw_topology_node *one, const struct sw_topology_node *other)
{
    return strcmp(one->ip, other->ip) == 0 || (is_loopback(one->ip) && is_loopback(other->ip));
}

/* Returns a free port for a node's status page: from HTTP_PORT on, the first port that no earlier
 * node of the same host has for its own page or for its clients. */
static unsigned http_port_of(const struct sw_topology *topology, unsigned which)
{
    const struct sw_topology_node *nodes = topology->nodes;
    unsigned earlier = 0, port = HTTP_PORT;
    for (unsigned i = 0; i < which; i++) {
        earlier += is_same_host(&nodes[i], &nodes[which]);
    }
    for (;; port++) {
        bool is_taken = false;
        for (unsigned i = 0; i < topology->node_count && !is_taken; i++) {
            is_taken = nodes[i].port == port && is_same_host(&nodes[i], &nodes[which]);
        }
        if (!is_taken && earlier-- == 0) {
            return port;
        }
    }
}

static void print_start(struct sw_cli *cli, const struct sw_topology *topology, unsigned which,
                        const char *path, bool on_gpus)
{
    const struct sw_topology_node *node = &topology->nodes[which];
    const struct sw_topology_shard *shard = &topology->shards[which];
    const char *slash = strrchr(path, '/');
    const int folder = slash == NULL ? 0 : (int)(slash + 1 - path); /* "" or "FOLDER/" */
    const unsigned http_port = http_port_of(topology, which);
    fprintf(cli->out, "%s: slots %u to %u: mkdir -p %.*s%s && sherwoodd --port %u ", shard->name,
            shard->ranges[0].first, shard->ranges[0].last, folder, path, shard->name, node->port);
    if (http_port != HTTP_PORT) {
        fprintf(cli->out, "--http-port %u ", http_port);
    }
    /* a node without a data directory stores no migration, so it cannot be a target */
    fprintf(cli->out, "--cluster-config %s --cluster-node-id %s --data-dir %.*s%s", path, node->id,
            folder, path, shard->name);
    fprintf(cli->out, on_gpus ? " --device %u\n" : "\n", which);
}

/* Checks the topology as daemons do, writes it, and prints how to start the daemons; with `on_gpus`
 * each on a GPU of its own. */
static int write_topology(struct sw_cli *cli, const struct sw_topology *topology, const char *path,
                          bool on_gpus)
{
    char error[SW_TOPOLOGY_ERROR_BYTES];
    char *text = sw_topology_print(topology);
    struct sw_topology *again = text == NULL ? NULL : sw_topology_parse(text, strlen(text), error);
    if (again == NULL) {
        fprintf(cli->messages, "%s\n", text == NULL ? "not enough memory" : error);
        free(text);
        return 1;
    }
    sw_topology_free(again);
    FILE *file = fopen(path, "wx");
    bool written = file != NULL && fprintf(file, "%s\n", text) > 0;
    written = written && fflush(file) == 0 && fsync(fileno(file)) == 0;
    int failure = errno;
    if (file != NULL && fclose(file) != 0 && written) {
        written = false;
        failure = errno;
    }
    free(text);
    if (!written) {
        fprintf(cli->messages, "%s: %s%s\n", path, strerror(failure),
                file == NULL && failure == EEXIST ? ": name a new file with --output" : "");
        if (file != NULL) { /* the file is new, and a part of a topology is of no use */
            unlink(path);
        }
        return 1;
    }
    for (unsigned i = 0; i < topology->node_count; i++) {
        print_start(cli, topology, i, path, on_gpus);
    }
    return 0;
}

struct wish {
    char *nodes;
    const char *output, *name;
    uint64_t gpus;
};

static bool read_wish(int count, char **words, struct wish *wish)
{
    for (int i = 0; i + 1 < count; i += 2) {
        if (strcmp(words[i], "--nodes") == 0) {
            wish->nodes = words[i + 1];
        } else if (strcmp(words[i], "--output") == 0) {
            wish->output = words[i + 1];
        } else if (strcmp(words[i], "--name") == 0) {
            wish->name = words[i + 1];
        } else if (strcmp(words[i], "--local-gpus") != 0 ||
                   !sw_decimal_parse((const uint8_t *)words[i + 1], strlen(words[i + 1]),
                                     SHERWOOD_STRIPES_MAX, &wish->gpus)) {
            return false;
        }
    }
    return count % 2 == 0 && wish->output != NULL && (wish->nodes == NULL) != (wish->gpus == 0);
}

/* Fills in the nodes. Returns false with the reason printed. */
static bool set_nodes(struct sw_cli *cli, struct sw_topology *topology, const struct wish *wish)
{
    char *rest = NULL;
    for (uint64_t i = 0; i < wish->gpus; i++) {
        struct sw_topology_node *node = &topology->nodes[topology->node_count++];
        strcpy(node->ip, "127.0.0.1");
        node->port = (uint16_t)(LOCAL_PORT + i);
    }
    for (char *text = wish->nodes == NULL ? NULL : strtok_r(wish->nodes, ",", &rest); text != NULL;
         text = strtok_r(NULL, ",", &rest)) {
        if (topology->node_count == SHERWOOD_STRIPES_MAX) {
            fprintf(cli->messages, "a cluster has at most %d shards\n", SHERWOOD_STRIPES_MAX);
            return false;
        }
        if (!set_node(cli, &topology->nodes[topology->node_count++], text)) {
            return false;
        }
    }
    return topology->node_count > 0;
}

static int create(struct sw_cli *cli, int count, char **words)
{
    struct wish wish = {.name = "sherwood"};
    if (!read_wish(count, words, &wish)) {
        return usage(cli);
    }
    if (strlen(wish.name) > SW_TOPOLOGY_NAME_MAX) {
        fprintf(cli->messages, "the name \"%s\" has more than %u bytes: use a shorter one\n",
                wish.name, SW_TOPOLOGY_NAME_MAX);
        return 1;
    }
    static struct sw_topology_shard shards[SHERWOOD_STRIPES_MAX];
    static struct sw_topology_node nodes[SHERWOOD_STRIPES_MAX];
    static struct sw_topology_range ranges[SHERWOOD_STRIPES_MAX];
    static struct sw_topology topology;
    topology.shards = shards;
    topology.nodes = nodes;
    snprintf(topology.cluster, sizeof(topology.cluster), "%s", wish.name);
    for (size_t i = 0; i < SHERWOOD_STRIPES_MAX; i++) {
        shards[i].ranges = &ranges[i];
    }
    if (!set_nodes(cli, &topology, &wish)) {
        return 1;
    }
    share_slots(&topology);
    return write_topology(cli, &topology, wish.output, wish.gpus > 0);
}

/* --- slots and check -------------------------------------------------------------------------- */

static int slots(struct sw_cli *cli)
{
    struct sherwood_shard shard = SHERWOOD_SHARD_INIT;
    for (uint32_t i = 0; sherwood_cluster_shard(cli->client, i, &shard); i++) {
        fprintf(cli->out, "%s %s %u slots%s:", shard.name, shard.address, shard.slots,
                shard.is_connected ? "" : ", not reachable");
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
        fprintf(cli->out, "%s: the table has %s keys in slots of other nodes\n", shard->name,
                foreign);
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
        fprintf(cli->out,
                "%u slots have no owner, the first of them is %u: assign them (cluster set)\n",
                bare, first);
    }
    for (; sherwood_cluster_shard(cli->client, shards, &shard); shards++) {
        good = check_node(cli, &shard) && check_keys(cli, &shard) && good;
    }
    if (good && bare == 0) {
        fprintf(cli->out,
                "ok: %u nodes have the topology of epoch %" PRIu64 ", all slots have an owner\n",
                shards, sherwood_cluster_epoch(cli->client));
    }
    return good && bare == 0 ? 0 : 1;
}

int sw_cli_cluster(struct sw_cli *cli, int count, char **words)
{
    if (count > 0 && strcasecmp(words[0], "create") == 0) {
        return create(cli, count - 1, words + 1);
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
