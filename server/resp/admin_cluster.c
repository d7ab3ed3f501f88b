/* SPDX-License-Identifier: MIT
 *
 * admin_cluster.c - the subcommands of CLUSTER that show the topology, with the replies of redis 7;
 * and READONLY, READWRITE and ASKING.
 */
#include "server/resp/admin_cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/resp/admin_call.h"

/* Longest text of CLUSTER NODES: 1,000 nodes, and 16,384 ranges. */
#define NODES_BYTES_MAX ((size_t)2 << 20)
/* Least bytes of a node in CLUSTER SLOTS: its id of 40 bytes, and its address. */
#define SLOTS_NODE_BYTES_MIN 64

static const struct sw_cluster_view *view_of(const struct sw_call *call)
{
    return call->admin->cluster->view;
}

/* No slot is on its way: there is nothing to remember. */
void sw_call_cluster_mode(struct sw_call *call)
{
    if (view_of(call) == NULL) {
        sw_text_error(call->reply, SW_NO_CLUSTER);
    } else {
        sw_call_ok(call);
    }
}

void sw_call_readonly(struct sw_call *call)
{
    call->session->reads_replicas = view_of(call) != NULL;
    sw_call_cluster_mode(call);
}

void sw_call_readwrite(struct sw_call *call)
{
    call->session->reads_replicas = false;
    sw_call_cluster_mode(call);
}

/* --- SLOTS ---------------------------------------------------------------------------------------
 */

/* Appends host, port, id and the other addresses of a node. */
static void put_slots_node(const struct sw_call *call, const struct sw_topology_node *node,
                           struct sw_text *text)
{
    const struct sw_cluster_view *view = view_of(call);
    const char *endpoint = sw_cluster_endpoint(view, node);
    bool has_other = node->hostname[0] != '\0';
    bool by_name = endpoint == node->hostname;
    sw_text_array(text, 4);
    sw_text_bulk_string(text, endpoint);
    sw_text_integer(text, node->port);
    sw_text_bulk_string(text, node->id);
    sw_text_map(text, has_other, call->session->resp3);
    if (has_other) {
        sw_text_bulk_string(text, by_name ? "ip" : "hostname");
        sw_text_bulk_string(text, by_name ? node->ip : node->hostname);
    }
}

/* The nodes of a shard, the primary first. */
static void put_slots_nodes(const struct sw_call *call, unsigned number, struct sw_text *text)
{
    const struct sw_topology *topology = view_of(call)->topology;
    const struct sw_topology_shard *shard = &topology->shards[number];
    put_slots_node(call, &topology->nodes[shard->primary], text);
    for (unsigned i = 0; i < topology->node_count; i++) {
        if (topology->nodes[i].shard == number && i != shard->primary) {
            put_slots_node(call, &topology->nodes[i], text);
        }
    }
}

/* Appends the rows in the order of their slots. `nodes` has the text about each shard, formatted
 * once because a shard may have thousands of ranges. The text of shard i begins at begins[i]. */
static void put_slots_rows(struct sw_call *call, const struct sw_text *nodes, const size_t *begins)
{
    const struct sw_topology *topology = view_of(call)->topology;
    for (unsigned slot = 0; slot < SW_SLOTS;) {
        const uint16_t owner = topology->owner[slot];
        const unsigned first = slot;
        while (slot < SW_SLOTS && topology->owner[slot] == owner) {
            slot++;
        }
        if (owner != SW_TOPOLOGY_NOBODY) {
            sw_text_array(call->reply, 2 + (uint64_t)topology->shards[owner].node_count);
            sw_text_integer(call->reply, first);
            sw_text_integer(call->reply, slot - 1);
            sw_text_append(call->reply, nodes->data + begins[owner],
                           begins[owner + 1] - begins[owner]);
        }
    }
}

static void cluster_slots(struct sw_call *call)
{
    const struct sw_topology *topology = view_of(call)->topology;
    size_t begins[SW_TOPOLOGY_NODES_MAX + 1] = {0};
    uint64_t rows = 0, entries = 0;
    struct sw_text nodes;
    for (unsigned i = 0; topology != NULL && i < topology->shard_count; i++) {
        rows += topology->shards[i].range_count;
        entries += (uint64_t)topology->shards[i].range_count * topology->shards[i].node_count;
    }
    /* the reply would not fit: fail before building it */
    if (entries > call->reply->limit / SLOTS_NODE_BYTES_MIN) {
        call->reply->failed = true;
        return;
    }
    sw_text_array(call->reply, rows);
    sw_text_init(&nodes, call->reply->limit);
    for (unsigned i = 0; topology != NULL && i < topology->shard_count; i++) {
        put_slots_nodes(call, i, &nodes);
        begins[i + 1] = nodes.size;
    }
    if (nodes.failed) {
        call->reply->failed = true;
    } else if (topology != NULL) {
        put_slots_rows(call, &nodes, begins);
    }
    sw_text_fini(&nodes);
}

/* --- SHARDS --------------------------------------------------------------------------------------
 */

static void put_pair(struct sw_text *reply, const char *name, const char *value)
{
    sw_text_bulk_string(reply, name);
    sw_text_bulk_string(reply, value);
}

static void put_shard_node(struct sw_call *call, const struct sw_topology_node *node)
{
    struct sw_text *reply = call->reply;
    bool has_name = node->hostname[0] != '\0';
    sw_text_map(reply, has_name ? 8 : 7, call->session->resp3);
    put_pair(reply, "id", node->id);
    sw_text_bulk_string(reply, "port");
    sw_text_integer(reply, node->port);
    put_pair(reply, "ip", node->ip);
    put_pair(reply, "endpoint", sw_cluster_endpoint(view_of(call), node));
    if (has_name) {
        put_pair(reply, "hostname", node->hostname);
    }
    put_pair(reply, "role", node->is_primary ? "master" : "replica");
    sw_text_bulk_string(reply, "replication-offset");
    sw_text_integer(reply, 0);
    put_pair(reply, "health", "online");
}

static void cluster_shards(struct sw_call *call)
{
    const struct sw_topology *topology = view_of(call)->topology;
    sw_text_array(call->reply, topology == NULL ? 0 : topology->shard_count);
    for (unsigned i = 0; topology != NULL && i < topology->shard_count; i++) {
        const struct sw_topology_shard *shard = &topology->shards[i];
        sw_text_map(call->reply, 2, call->session->resp3);
        sw_text_bulk_string(call->reply, "slots");
        sw_text_array(call->reply, 2 * (uint64_t)shard->range_count);
        for (unsigned r = 0; r < shard->range_count; r++) {
            sw_text_integer(call->reply, shard->ranges[r].first);
            sw_text_integer(call->reply, shard->ranges[r].last);
        }
        sw_text_bulk_string(call->reply, "nodes");
        sw_text_array(call->reply, shard->node_count);
        put_shard_node(call, &topology->nodes[shard->primary]);
        for (unsigned n = 0; n < topology->node_count; n++) {
            if (topology->nodes[n].shard == i && n != shard->primary) {
                put_shard_node(call, &topology->nodes[n]);
            }
        }
    }
}

/* --- NODES and INFO ------------------------------------------------------------------------------
 */

static void put_node_line(const struct sw_cluster_view *view, unsigned number, struct sw_text *text)
{
    const struct sw_topology *topology = view->topology;
    const struct sw_topology_node *node = &topology->nodes[number];
    const struct sw_topology_shard *shard = &topology->shards[node->shard];
    const char *me = (int)number == view->node ? "myself," : "";
    sw_text_printf(text, "%s %s:%u@%u%s%s %s%s %s 0 0 %" PRIu64 " connected", node->id, node->ip,
                   node->port, node->port + 10000U, node->hostname[0] != '\0' ? "," : "",
                   node->hostname, me, node->is_primary ? "master" : "slave",
                   node->is_primary ? "-" : topology->nodes[shard->primary].id, topology->epoch);
    for (unsigned i = 0; node->is_primary && i < shard->range_count; i++) {
        const struct sw_topology_range *range = &shard->ranges[i];
        sw_text_printf(text, range->first == range->last ? " %u" : " %u-%u", range->first,
                       range->last);
    }
    sw_text_append(text, "\n", 1);
}

/* Appends the line of a node that is in no topology: it knows only itself, like a new node of
 * redis. */
static void put_alone(struct sw_call *call, struct sw_text *text)
{
    const struct sw_config *config = call->admin->config;
    sw_text_printf(text, "%s :%u@%u myself,master - 0 0 0 connected\n", view_of(call)->id,
                   config->port, config->port + 10000U);
}

static void cluster_nodes(struct sw_call *call)
{
    const struct sw_cluster_view *view = view_of(call);
    struct sw_text text;
    sw_text_init(&text, NODES_BYTES_MAX);
    for (unsigned i = 0; view->topology != NULL && i < view->topology->node_count; i++) {
        put_node_line(view, i, &text);
    }
    if (view->node < 0) {
        put_alone(call, &text);
    }
    sw_text_verbatim(call->reply, text.data, text.size, call->session->resp3);
    call->reply->failed |= text.failed;
    sw_text_fini(&text);
}

static unsigned count_serving(const struct sw_topology *topology)
{
    unsigned count = 0;
    for (unsigned i = 0; i < topology->shard_count; i++) {
        count += topology->shards[i].slot_count > 0;
    }
    return count;
}

static void cluster_info(struct sw_call *call)
{
    const struct sw_cluster_view *view = view_of(call);
    const struct sw_topology *topology = view->topology;
    unsigned slots = topology == NULL ? 0 : topology->slot_count;
    uint64_t epoch = topology == NULL ? 0 : topology->epoch;
    char text[512];
    int size = snprintf(
        text, sizeof(text),
        "cluster_state:%s\r\ncluster_slots_assigned:%u\r\ncluster_slots_ok:%u\r\n"
        "cluster_slots_pfail:0\r\ncluster_slots_fail:0\r\ncluster_known_nodes:%u\r\n"
        "cluster_size:%u\r\ncluster_current_epoch:%" PRIu64 "\r\ncluster_my_epoch:%" PRIu64 "\r\n"
        "cluster_stats_messages_sent:0\r\ncluster_stats_messages_received:0\r\n"
        "total_cluster_links_buffer_limit_exceeded:0\r\n",
        sw_cluster_is_up(view) ? "ok" : "fail", slots, slots,
        topology == NULL ? 1 : topology->node_count, topology == NULL ? 0 : count_serving(topology),
        epoch, epoch);
    sw_text_verbatim(call->reply, text, (size_t)size, call->session->resp3);
}

/* --- small ones ----------------------------------------------------------------------------------
 */

static void cluster_myid(struct sw_call *call)
{
    sw_text_bulk_string(call->reply, view_of(call)->id);
}

static void cluster_myshardid(struct sw_call *call)
{
    const struct sw_cluster_view *view = view_of(call);
    const struct sw_topology_node *me = sw_cluster_me(view);
    if (me == NULL) {
        sw_text_error(call->reply, "ERR this node has no shard, because it is not in the topology: "
                                   "see CLUSTER SETTOPOLOGY");
    } else {
        sw_text_bulk_string(call->reply, view->topology->shards[me->shard].id);
    }
}

static void cluster_keyslot(struct sw_call *call)
{
    sw_text_unsigned(call->reply,
                     sw_slot_of_text(call->arguments[2].text, call->arguments[2].size));
}

static void cluster_topology(struct sw_call *call)
{
    const struct sw_topology *topology = view_of(call)->topology;
    char *text = topology == NULL ? NULL : sw_topology_print(topology);
    if (text == NULL) {
        sw_text_error(call->reply, topology == NULL
                                       ? "ERR this node has no topology yet: send CLUSTER "
                                         "SETTOPOLOGY, or start it with --cluster-config"
                                       : "ERR not enough memory for the topology: try again");
    } else {
        sw_text_bulk_string(call->reply, text);
    }
    free(text);
}

static void cluster_links(struct sw_call *call)
{
    sw_text_array(call->reply, 0); /* nodes do not talk to each other */
}

static void cluster_failures(struct sw_call *call)
{
    const struct sw_resp_argument *argument = &call->arguments[2];
    const struct sw_cluster_view *view = view_of(call);
    char id[SW_TOPOLOGY_ID + 1];
    snprintf(id, sizeof(id), "%.*s", (int)(argument->size < sizeof(id) ? argument->size : 0),
             (const char *)argument->text);
    bool is_known = strcmp(id, view->id) == 0 ||
                    (view->topology != NULL && sw_topology_find_node(view->topology, id) >= 0);
    if (is_known) {
        sw_text_integer(call->reply, 0);
    } else {
        sw_call_error(call, "ERR Unknown node %.*s", SW_CALL_SHOWN(argument));
    }
}

void sw_cluster_call(struct sw_call *call)
{
    static const struct sw_subcommand list[] = {
        {"COUNT-FAILURE-REPORTS", 3, cluster_failures, "<node-id>",
         "Return 0: nodes do not watch each other."},
        {"COUNTFOREIGN", 2, NULL, "",
         "Count the keys of this node's table in slots of other nodes."},
        {"COUNTKEYSINSLOT", 3, NULL, "<slot>",
         "Count this node's keys in a slot, by one pass over its table."},
        {"GETKEYSINSLOT", 4, NULL, "<slot> <count>", "Return at most <count> keys of the slot."},
        {"INFO", 2, cluster_info, "", "Return statistics of the cluster."},
        {"KEYSLOT", 3, cluster_keyslot, "<key>", "Return the slot of a key."},
        {"LINKS", 2, cluster_links, "",
         "Return an empty list: nodes do not connect to each other."},
        {"MOVE", -3, NULL, "TAKE <node-id> <slots> | CANCEL | STATUS",
         "Migrate slots with their keys from another node to this one; cancel that; show its "
         "progress."},
        {"MYID", 2, cluster_myid, "", "Return the id of this node."},
        {"MYSHARDID", 2, cluster_myshardid, "", "Return the id of this node's shard."},
        {"NODES", 2, cluster_nodes, "", "Return a line about each node."},
        {"SETTOPOLOGY", -3, NULL, "[IFEPOCH <epoch>] <json>",
         "Adopt a topology of a higher epoch. IFEPOCH: only if the current epoch is this one."},
        {"SHARDS", 2, cluster_shards, "", "Return the slots and the nodes of each shard."},
        {"SLOTS", 2, cluster_slots, "", "Return the nodes of each range of slots."},
        {"TOPOLOGY", 2, cluster_topology, "", "Return the topology in the format of SETTOPOLOGY."},
        {NULL, 0, NULL, NULL, NULL}};
    sw_call_subcommand(call, list);
}
