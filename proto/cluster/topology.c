/* SPDX-License-Identifier: MIT
 *
 * topology.c - a topology in memory: compares and prints it, and parses names and addresses.
 */
#include "proto/cluster/topology.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

void sw_topology_free(struct sw_topology *topology)
{
    if (topology == NULL) {
        return;
    }
    for (unsigned i = 0; i < topology->shard_count; i++) {
        free(topology->shards[i].ranges);
    }
    free(topology->shards);
    free(topology->nodes);
    free(topology);
}

static bool same_shard(const struct sw_topology_shard *a, const struct sw_topology_shard *b)
{
    return strcmp(a->id, b->id) == 0 && strcmp(a->name, b->name) == 0;
}

static bool same_node(const struct sw_topology_node *a, const struct sw_topology_node *b)
{
    return strcmp(a->id, b->id) == 0 && strcmp(a->ip, b->ip) == 0 &&
           strcmp(a->hostname, b->hostname) == 0 && a->port == b->port && a->shard == b->shard &&
           a->is_primary == b->is_primary;
}

bool sw_topology_equal(const struct sw_topology *one, const struct sw_topology *other)
{
    if (strcmp(one->cluster, other->cluster) != 0 || one->epoch != other->epoch ||
        one->is_raw != other->is_raw || one->shard_count != other->shard_count ||
        one->node_count != other->node_count ||
        memcmp(one->owner, other->owner, sizeof(one->owner)) != 0) {
        return false;
    }
    for (unsigned i = 0; i < one->shard_count; i++) {
        if (!same_shard(&one->shards[i], &other->shards[i])) {
            return false;
        }
    }
    for (unsigned i = 0; i < one->node_count; i++) {
        if (!same_node(&one->nodes[i], &other->nodes[i])) {
            return false;
        }
    }
    return true;
}

int sw_topology_find_node(const struct sw_topology *topology, const char *id)
{
    for (unsigned i = 0; i < topology->node_count; i++) {
        if (strcmp(topology->nodes[i].id, id) == 0) {
            return (int)i;
        }
    }
    return -1;
}

bool sw_topology_is_id(const char *text)
{
    return strlen(text) == SW_TOPOLOGY_ID && strspn(text, "0123456789abcdef") == SW_TOPOLOGY_ID;
}

bool sw_topology_is_ip(const char *text, char canonical[SW_TOPOLOGY_IP_MAX + 1])
{
    unsigned char address[sizeof(struct in6_addr)];
    for (int i = 0; i < 2; i++) {
        int family = i == 0 ? AF_INET : AF_INET6;
        if (inet_pton(family, text, address) == 1) {
            return inet_ntop(family, address, canonical, SW_TOPOLOGY_IP_MAX + 1) != NULL;
        }
    }
    return false;
}

bool sw_topology_is_hostname(const char *text)
{
    char ip[SW_TOPOLOGY_IP_MAX + 1];
    size_t size = strlen(text);
    if (size == 0 || size > SW_TOPOLOGY_HOSTNAME_MAX || sw_topology_is_ip(text, ip)) {
        return false;
    }
    for (const char *label = text;;) {
        size_t length =
            strspn(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");
        if (length == 0 || length > 63 || label[0] == '-' || label[length - 1] == '-') {
            return false;
        }
        if (label[length] == '\0') {
            return true;
        }
        if (label[length] != '.') {
            return false;
        }
        label += length + 1;
    }
}

/* Makes the ranges of a shard anew from the owners of the slots. */
static bool find_ranges(struct sw_topology *topology, uint16_t number)
{
    struct sw_topology_shard *shard = &topology->shards[number];
    const uint16_t *owner = topology->owner;
    unsigned count = 0;
    for (unsigned slot = 0; slot < SW_SLOTS; slot++) {
        count += owner[slot] == number && (slot == 0 || owner[slot - 1] != number);
    }
    struct sw_topology_range *ranges = calloc((size_t)count + 1, sizeof(*ranges));
    if (ranges == NULL) {
        return false;
    }
    free(shard->ranges);
    shard->ranges = ranges;
    shard->range_count = shard->slot_count = 0;
    for (unsigned slot = 0; slot < SW_SLOTS; slot++) {
        if (owner[slot] != number) {
            continue;
        }
        if (slot == 0 || owner[slot - 1] != number) {
            ranges[shard->range_count++].first = (uint16_t)slot;
        }
        ranges[shard->range_count - 1].last = (uint16_t)slot;
        shard->slot_count++;
    }
    return true;
}

bool sw_topology_assign(struct sw_topology *topology, const struct sw_slot_set *slots,
                        uint16_t shard)
{
    bool done = true;
    for (unsigned slot = 0; slot < SW_SLOTS; slot++) {
        if (sw_slot_set_has(slots, slot)) {
            topology->slot_count += topology->owner[slot] == SW_TOPOLOGY_NOBODY;
            topology->owner[slot] = shard;
        }
    }
    for (unsigned i = 0; i < topology->shard_count; i++) {
        done = find_ranges(topology, (uint16_t)i) && done;
    }
    return done;
}

static json_t *print_shard(const struct sw_topology_shard *shard)
{
    json_t *slots = json_array();
    for (unsigned i = 0; i < shard->range_count; i++) {
        json_array_append_new(slots,
                              json_pack("[i,i]", shard->ranges[i].first, shard->ranges[i].last));
    }
    json_t *object =
        json_pack("{s:s, s:s, s:o}", "id", shard->id, "name", shard->name, "slots", slots);
    if (shard->lost_after > 0) {
        json_object_set_new(object, "lost_after", json_integer((json_int_t)shard->lost_after));
    }
    return object;
}

static json_t *print_node(const struct sw_topology *topology, const struct sw_topology_node *node)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s*, s:i}", "id", node->id, "shard",
                     topology->shards[node->shard].name, "role",
                     node->is_primary ? "primary" : "replica", "ip", node->ip, "hostname",
                     node->hostname[0] != '\0' ? node->hostname : NULL, "port", node->port);
}

static char *print(const struct sw_topology *topology, bool is_shared)
{
    json_t *shards = json_array();
    json_t *nodes = json_array();
    for (unsigned i = 0; i < topology->shard_count; i++) {
        json_array_append_new(shards, print_shard(&topology->shards[i]));
    }
    for (unsigned i = 0; i < topology->node_count; i++) {
        json_array_append_new(nodes, print_node(topology, &topology->nodes[i]));
    }
    json_t *root =
        json_pack("{s:i, s:s, s:I, s:s, s:o, s:o, s:[]}", "format", SW_TOPOLOGY_FORMAT, "cluster",
                  topology->cluster, "epoch", (json_int_t)topology->epoch, "keys",
                  topology->is_raw ? "raw" : "decimal", "shards", shards, "nodes", nodes, "moves");
    bool is_whole = root != NULL &&
                    json_array_size(json_object_get(root, "shards")) == topology->shard_count &&
                    json_array_size(json_object_get(root, "nodes")) == topology->node_count;
    if (is_whole && is_shared) {
        is_whole = json_object_del(root, "epoch") == 0 &&
                   (!topology->is_forced || json_object_set_new(root, "force", json_true()) == 0);
    }
    char *text = is_whole ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    return text;
}

char *sw_topology_print(const struct sw_topology *topology)
{
    return print(topology, false);
}

char *sw_topology_print_shared(const struct sw_topology *topology)
{
    return print(topology, true);
}
