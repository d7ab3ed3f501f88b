/* SPDX-License-Identifier: MIT
 *
 * create_topology.c - cluster create: writes a topology, and prints how to start its nodes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/cli/set_topology.h"
#include "client/sherwood-cluster.h"
#include "proto/decimal.h"
#include "proto/random_id.h"

#define LOCAL_PORT 7379  /* of the first server of --local-gpus; the next ports are the others' */
#define HTTP_PORT 9379   /* default of sherwoodd --http-port */
#define HTTP_OFFSET 2000 /* HTTP_PORT - LOCAL_PORT */

struct create_options {
    char *nodes;
    const char *output, *name;
    uint64_t gpus;
};

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

/* Returns whether no node before the last one has its address. Otherwise prints the address. */
static bool check_last_address(struct sw_cli *cli, const struct sw_topology *topology)
{
    const struct sw_topology_node *last = &topology->nodes[topology->node_count - 1];
    for (const struct sw_topology_node *node = topology->nodes; node < last; node++) {
        if (node->port == last->port && strcmp(node->ip, last->ip) == 0) {
            fprintf(cli->messages,
                    strchr(last->ip, ':') != NULL
                        ? "--nodes has the address [%s]:%u twice: name each node once\n"
                        : "--nodes has the address %s:%u twice: name each node once\n",
                    last->ip, last->port);
            return false;
        }
    }
    return true;
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

static bool is_taken(const struct sw_topology *topology, const unsigned *http_ports, unsigned which,
                     unsigned port)
{
    const struct sw_topology_node *nodes = topology->nodes;
    for (unsigned i = 0; i < topology->node_count; i++) {
        if (is_same_host(&nodes[i], &nodes[which]) &&
            (nodes[i].port == port || (i < which && http_ports[i] == port))) {
            return true;
        }
    }
    return false;
}

/* Sets the port of each node's status page: 2000 above the node's port (below it, if that is no
 * port), or the next one that no node of the host has. */
static void choose_http_ports(const struct sw_topology *topology, unsigned *http_ports)
{
    for (unsigned i = 0; i < topology->node_count; i++) {
        unsigned port = topology->nodes[i].port + HTTP_OFFSET;
        if (port + topology->node_count * 2 > UINT16_MAX) {
            port = topology->nodes[i].port - HTTP_OFFSET;
        }
        while (is_taken(topology, http_ports, i, port)) {
            port++;
        }
        http_ports[i] = port;
    }
}

/* Binds a socket to the port, and closes it. Returns 0, or the error number of the failure. */
static int try_port(const char *ip, unsigned port)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    struct addrinfo *found = NULL;
    const int on = 1;
    char text[16];
    snprintf(text, sizeof(text), "%u", port);
    if (getaddrinfo(ip, text, &hints, &found) != 0) {
        return EADDRNOTAVAIL;
    }
    const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool bound = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
                       bind(fd, found->ai_addr, found->ai_addrlen) == 0;
    const int failure = bound ? 0 : errno;
    if (fd >= 0) {
        close(fd);
    }
    freeaddrinfo(found);
    return failure;
}

/* Reports the ports of a node on this machine that another program has. */
static void report_used_ports(struct sw_cli *cli, const struct sw_topology *topology,
                              unsigned which, unsigned http_port)
{
    const struct sw_topology_node *node = &topology->nodes[which];
    if (try_port(node->ip, 0) != 0) {
        return; /* another machine's address */
    }
    if (try_port(node->ip, node->port) == EADDRINUSE) {
        fprintf(cli->messages,
                "%s: port %u is in use on this machine: stop the server that has it, or create the "
                "topology with other ports (--nodes)\n",
                topology->shards[which].name, node->port);
    }
    if (try_port("127.0.0.1", http_port) == EADDRINUSE) {
        fprintf(cli->messages,
                "%s: port %u is in use on this machine: start the node with another --http-port\n",
                topology->shards[which].name, http_port);
    }
}

/* Prints a word that a shell reads as these characters: the first `size` of `word`, then `tail`. */
static void put_word(FILE *out, const char *word, size_t size, const char *tail)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_./,:=@%+-";
    if (strspn(word, plain) >= size && tail[strspn(tail, plain)] == '\0') {
        fprintf(out, "%.*s%s", (int)size, word, tail);
        return;
    }
    fputc('\'', out);
    for (const char *at = word; at < word + size; at++) {
        fputs(*at == '\'' ? "'\\''" : (char[]){*at, '\0'}, out);
    }
    fprintf(out, "%s'", tail);
}

/* Prints the name of the server's program: the one beside sherwood-cli, or that of PATH. */
static void put_server(FILE *out, const char *program)
{
    const char *slash = strrchr(program, '/');
    const size_t folder = slash == NULL ? 0 : (size_t)(slash + 1 - program);
    char path[PATH_MAX];
    const int size = snprintf(path, sizeof(path), "%.*ssherwoodd", (int)folder, program);
    const bool is_beside = folder > 0 && (size_t)size < sizeof(path) && access(path, X_OK) == 0;
    put_word(out, program, is_beside ? folder : 0, "sherwoodd");
}

static void print_start(struct sw_cli *cli, const struct sw_topology *topology, unsigned which,
                        unsigned http_port, const struct create_options *create_options)
{
    const struct sw_topology_node *node = &topology->nodes[which];
    const struct sw_topology_shard *shard = &topology->shards[which];
    const char *path = create_options->output, *slash = strrchr(path, '/');
    const size_t folder = slash == NULL ? 0 : (size_t)(slash + 1 - path); /* "" or "FOLDER/" */
    fprintf(cli->out, "# %s: slots %u to %u\nmkdir -p ", shard->name, shard->ranges[0].first,
            shard->ranges[0].last);
    put_word(cli->out, path, folder, shard->name);
    fputs(" && ", cli->out);
    put_server(cli->out, cli->options->program);
    fprintf(cli->out, " --port %u ", node->port);
    if (http_port != HTTP_PORT) {
        fprintf(cli->out, "--http-port %u ", http_port);
    }
    fputs("--cluster-config ", cli->out);
    put_word(cli->out, path, strlen(path), "");
    /* a node without a data directory stores no migration, so it cannot be a target */
    fprintf(cli->out, " --cluster-node-id %s --data-dir ", node->id);
    put_word(cli->out, path, folder, shard->name);
    fprintf(cli->out, create_options->gpus > 0 ? " --device %u\n" : "\n", which);
}

/* Prints how to start each daemon; of --local-gpus each has a GPU of its own. */
static void print_starts(struct sw_cli *cli, const struct sw_topology *topology,
                         const struct create_options *create_options)
{
    unsigned http_ports[SHERWOOD_STRIPES_MAX] = {0};
    choose_http_ports(topology, http_ports);
    for (unsigned i = 0; i < topology->node_count; i++) {
        print_start(cli, topology, i, http_ports[i], create_options);
    }
    for (unsigned i = 0; i < topology->node_count; i++) {
        report_used_ports(cli, topology, i, http_ports[i]);
    }
}

/* Checks the topology as daemons do, and writes it. Returns the exit status. */
static int write_topology(struct sw_cli *cli, const struct sw_topology *topology, const char *path)
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
    return 0;
}

/* Returns false with the reason printed. */
static bool read_options(struct sw_cli *cli, int count, char **words,
                         struct create_options *create_options)
{
    for (int i = 0; i + 1 < count; i += 2) {
        if (strcmp(words[i], "--nodes") == 0) {
            create_options->nodes = words[i + 1];
        } else if (strcmp(words[i], "--output") == 0) {
            create_options->output = words[i + 1];
        } else if (strcmp(words[i], "--name") == 0) {
            create_options->name = words[i + 1];
        } else if (strcmp(words[i], "--local-gpus") != 0 ||
                   !sw_decimal_parse((const uint8_t *)words[i + 1], strlen(words[i + 1]),
                                     SHERWOOD_STRIPES_MAX, &create_options->gpus)) {
            fprintf(cli->messages, "cluster create: \"%s %s\" is not understood\n", words[i],
                    words[i + 1]);
            return false;
        }
    }
    const char *wrong = count % 2 != 0 ? "the last word is not an option with its value"
                        : create_options->output == NULL ? "--output FILE is missing"
                        : (create_options->nodes == NULL) == (create_options->gpus == 0)
                            ? "one of --nodes and --local-gpus is needed"
                            : NULL;
    if (wrong != NULL) {
        fprintf(cli->messages, "cluster create: %s\n", wrong);
    }
    return wrong == NULL;
}

/* Fills in the nodes. Returns false with the reason printed. */
static bool set_nodes(struct sw_cli *cli, struct sw_topology *topology,
                      const struct create_options *create_options)
{
    char *rest = NULL;
    for (uint64_t i = 0; i < create_options->gpus; i++) {
        struct sw_topology_node *node = &topology->nodes[topology->node_count++];
        strcpy(node->ip, "127.0.0.1");
        node->port = (uint16_t)(LOCAL_PORT + i);
    }
    for (char *text = create_options->nodes == NULL ? NULL
                                                    : strtok_r(create_options->nodes, ",", &rest);
         text != NULL; text = strtok_r(NULL, ",", &rest)) {
        if (topology->node_count == SHERWOOD_STRIPES_MAX) {
            fprintf(cli->messages, "a cluster has at most %d shards\n", SHERWOOD_STRIPES_MAX);
            return false;
        }
        if (!set_node(cli, &topology->nodes[topology->node_count++], text) ||
            !check_last_address(cli, topology)) {
            return false;
        }
    }
    return topology->node_count > 0;
}

int sw_cli_cluster_create(struct sw_cli *cli, int count, char **words)
{
    struct create_options create_options = {.name = "sherwood"};
    if (!read_options(cli, count, words, &create_options)) {
        return -1;
    }
    if (strlen(create_options.name) > SW_TOPOLOGY_NAME_MAX) {
        fprintf(cli->messages, "the name \"%s\" has more than %u bytes: use a shorter one\n",
                create_options.name, SW_TOPOLOGY_NAME_MAX);
        return 1;
    }
    static struct sw_topology_shard shards[SHERWOOD_STRIPES_MAX];
    static struct sw_topology_node nodes[SHERWOOD_STRIPES_MAX];
    static struct sw_topology_range ranges[SHERWOOD_STRIPES_MAX];
    static struct sw_topology topology;
    topology.shards = shards;
    topology.nodes = nodes;
    snprintf(topology.cluster, sizeof(topology.cluster), "%s", create_options.name);
    for (size_t i = 0; i < SHERWOOD_STRIPES_MAX; i++) {
        shards[i].ranges = &ranges[i];
    }
    if (!set_nodes(cli, &topology, &create_options)) {
        return 1;
    }
    share_slots(&topology);
    const int status = write_topology(cli, &topology, create_options.output);
    if (status == 0) {
        print_starts(cli, &topology, &create_options);
    }
    return status;
}
