/* SPDX-License-Identifier: MIT
 *
 * set_topology.c - cluster set: gives a node the topology in a file.
 *
 * In the file an "ip" may be a host name, for nodes that get their addresses when they start. The
 * node gets a topology with literal addresses.
 */
#include "client/cli/set_topology.h"

#include <inttypes.h>
#include <jansson.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/node.h"

bool sw_cli_look_up(struct sw_cli *cli, const char *host, char ip[SW_TOPOLOGY_IP_MAX + 1])
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int failed = getaddrinfo(host, NULL, &hints, &found);
    if (failed == 0) {
        failed = getnameinfo(found->ai_addr, found->ai_addrlen, ip, SW_TOPOLOGY_IP_MAX + 1, NULL, 0,
                             NI_NUMERICHOST);
        freeaddrinfo(found);
    }
    if (failed != 0) {
        fprintf(cli->messages, "cannot resolve the host name '%s': %s\n", host,
                gai_strerror(failed));
    }
    return failed == 0;
}

/* Replaces each host name in an "ip" by its address. Leaves other errors of the text to
 * sw_topology_parse. Returns false with the reason printed. */
static bool look_up_all(struct sw_cli *cli, json_t *root)
{
    size_t i;
    json_t *node;
    json_array_foreach(json_object_get(root, "nodes"), i, node)
    {
        char ip[SW_TOPOLOGY_IP_MAX + 1];
        const char *host = json_string_value(json_object_get(node, "ip"));
        if (host == NULL || !sw_topology_is_hostname(host)) {
            continue;
        }
        if (!sw_cli_look_up(cli, host, ip)) {
            return false;
        }
        (void)json_object_set_new(node, "ip", json_string(ip));
    }
    return true;
}

/* Returns the text of a topology that nodes accept, which the caller frees, or NULL with the reason
 * printed. */
static char *read_topology(struct sw_cli *cli, const char *path)
{
    json_error_t where;
    char error[SW_TOPOLOGY_ERROR_BYTES];
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
    if (root == NULL) {
        fprintf(cli->messages, "cannot read the topology '%s': %s", path, where.text);
        fprintf(cli->messages, where.line > 0 ? " (line %d)\n" : "\n", where.line);
        return NULL;
    }
    char *text = NULL;
    if (look_up_all(cli, root)) {
        text = json_dumps(root, JSON_COMPACT);
    }
    json_decref(root);
    struct sw_topology *topology =
        text == NULL ? NULL : sw_topology_parse(text, strlen(text), error);
    if (text != NULL && topology == NULL) {
        fprintf(cli->messages, "%s: %s\n", path, error);
        free(text);
        text = NULL;
    }
    sw_topology_free(topology);
    return text;
}

/* Returns the epoch of the node's topology; 0: the node has no topology; -1: an error. */
static int64_t epoch_of(struct sw_cli_node *node)
{
    static const char *const words[] = {"CLUSTER", "INFO"};
    char epoch[24];
    char *text = sw_cli_node_ask(node, 2, words);
    if (text == NULL) {
        return -1;
    }
    sw_cli_node_field(text, "cluster_current_epoch", epoch, sizeof(epoch));
    free(text);
    return strtoll(epoch, NULL, 10);
}

/* Sends the topology. With `if_absent`, a node that has a topology keeps it. Returns false with a
 * sentence in node->error. */
static bool send_topology(struct sw_cli *cli, struct sw_cli_node *node, const char *text,
                          bool if_absent)
{
    const char *const words[] = {"CLUSTER", "SETTOPOLOGY", "IFEPOCH", "0", text};
    const char *const always[] = {"CLUSTER", "SETTOPOLOGY", text};
    const int64_t epoch = if_absent ? epoch_of(node) : 0;
    if (epoch > 0) {
        fprintf(cli->out, "the node keeps its topology of epoch %" PRId64 "\n", epoch);
    }
    if (epoch != 0) {
        return epoch > 0;
    }
    char *answer = sw_cli_node_ask(node, if_absent ? 5 : 3, if_absent ? words : always);
    if (answer != NULL) {
        fprintf(cli->out, "%s\n", answer);
    }
    free(answer);
    return answer != NULL;
}

int sw_cli_cluster_set(struct sw_cli *cli, int count, char **words)
{
    const bool if_absent = count == 2 && strcmp(words[0], "--if-absent") == 0;
    if ((count != 1 && !if_absent) || words[count - 1][0] == '-') {
        return -1;
    }
    char *text = read_topology(cli, words[count - 1]);
    if (text == NULL) {
        return 1;
    }
    struct sw_cli_node node;
    bool done = sw_cli_node_open(cli, &node, cli->options->address);
    if (done) {
        done = send_topology(cli, &node, text, if_absent);
        sw_cli_node_close(&node);
    }
    if (!done) {
        fprintf(cli->messages, "%s: %s\n", cli->options->address, node.error);
    }
    free(text);
    return done ? 0 : 1;
}
