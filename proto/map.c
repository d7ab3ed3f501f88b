/* SPDX-License-Identifier: MIT
 *
 * map.c - the topology of a cluster to bytes and back. Nothing that was received is used before it
 * is checked.
 */
#include "proto/map.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "proto/sherwood.pb-c.h"

/* --- to bytes --------------------------------------------------------------------------------- */

/* The messages and arrays of an encoded topology. */
struct parts {
    Sherwood__Topology root;
    Sherwood__Shard *shards, **shard_pointers;
    Sherwood__Node *nodes, **node_pointers;
    uint32_t *slots;
};

static ProtobufCBinaryData text(const char *string)
{
    return (ProtobufCBinaryData){strlen(string), (uint8_t *)(uintptr_t)string};
}

static bool allocate(struct parts *parts, const struct sw_topology *topology)
{
    size_t ranges = 0;
    for (unsigned i = 0; i < topology->shard_count; i++) {
        ranges += topology->shards[i].range_count;
    }
    parts->shards = calloc(topology->shard_count + 1, sizeof(*parts->shards));
    parts->shard_pointers = calloc(topology->shard_count + 1, sizeof(Sherwood__Shard *));
    parts->nodes = calloc(topology->node_count + 1, sizeof(*parts->nodes));
    parts->node_pointers = calloc(topology->node_count + 1, sizeof(Sherwood__Node *));
    parts->slots = calloc(2 * ranges + 1, sizeof(*parts->slots));
    return parts->shards != NULL && parts->shard_pointers != NULL && parts->nodes != NULL &&
           parts->node_pointers != NULL && parts->slots != NULL;
}

static void release(struct parts *parts)
{
    free(parts->shards);
    free(parts->shard_pointers);
    free(parts->nodes);
    free(parts->node_pointers);
    free(parts->slots);
}

static void fill_node(Sherwood__Node *out, const struct sw_topology_node *node)
{
    sherwood__node__init(out);
    out->id = text(node->id);
    out->is_primary = node->is_primary;
    out->ip = text(node->ip);
    out->hostname = text(node->hostname);
    out->port = node->port;
}

static void fill(struct parts *parts, const struct sw_topology *topology)
{
    uint32_t *slots = parts->slots;
    size_t nodes = 0;
    sherwood__topology__init(&parts->root);
    parts->root.epoch = topology->epoch;
    parts->root.is_raw = topology->is_raw;
    parts->root.cluster = text(topology->cluster);
    parts->root.n_shards = topology->shard_count;
    parts->root.shards = parts->shard_pointers;
    for (unsigned s = 0; s < topology->shard_count; s++) {
        const struct sw_topology_shard *shard = &topology->shards[s];
        Sherwood__Shard *out = &parts->shards[s];
        parts->shard_pointers[s] = out;
        sherwood__shard__init(out);
        out->id = text(shard->id);
        out->name = text(shard->name);
        out->slots = slots;
        for (unsigned r = 0; r < shard->range_count; r++) {
            *slots++ = shard->ranges[r].first;
            *slots++ = shard->ranges[r].last;
        }
        out->n_slots = (size_t)(slots - out->slots);
        out->nodes = parts->node_pointers + nodes;
        for (unsigned n = 0; n < topology->node_count; n++) {
            if (topology->nodes[n].shard == s) {
                fill_node(&parts->nodes[nodes], &topology->nodes[n]);
                parts->node_pointers[nodes] = &parts->nodes[nodes];
                nodes++;
                out->n_nodes++;
            }
        }
    }
}

size_t sw_map_encode(const struct sw_topology *topology, uint8_t **out)
{
    struct parts parts = {0};
    size_t bytes = 0;
    *out = NULL;
    if (allocate(&parts, topology)) {
        fill(&parts, topology);
        bytes = sherwood__topology__get_packed_size(&parts.root);
        *out = malloc(bytes);
    }
    if (*out != NULL) {
        sherwood__topology__pack(&parts.root, *out);
    }
    release(&parts);
    return *out != NULL ? bytes : 0;
}

/* --- and back --------------------------------------------------------------------------------- */

/* Copies a text of 1 (or 0) to room - 1 bytes. Returns false for another length, or for a byte
 * outside '!' to '~'. */
static bool copy(char *out, size_t room, ProtobufCBinaryData in, bool may_be_empty)
{
    if (in.len >= room || (in.len == 0 && !may_be_empty)) {
        return false;
    }
    for (size_t i = 0; i < in.len; i++) {
        if (in.data[i] <= ' ' || in.data[i] > '~') {
            return false;
        }
        out[i] = (char)in.data[i];
    }
    out[in.len] = '\0';
    return true;
}

static const char *take_node(struct sw_topology *topology, unsigned shard, const Sherwood__Node *in)
{
    unsigned char address[16];
    struct sw_topology_node *node = &topology->nodes[topology->node_count];
    if (!copy(node->id, sizeof(node->id), in->id, false) ||
        !copy(node->ip, sizeof(node->ip), in->ip, false) ||
        !copy(node->hostname, sizeof(node->hostname), in->hostname, true)) {
        return "a node has an id, an address or a host name that is empty, unprintable or longer "
               "than allowed";
    }
    if (inet_pton(AF_INET, node->ip, address) != 1 && inet_pton(AF_INET6, node->ip, address) != 1) {
        return "the address of a node is not an IP address";
    }
    if (in->port == 0 || in->port > UINT16_MAX) {
        return "the port of a node is not from 1 to 65535";
    }
    node->port = (uint16_t)in->port;
    node->shard = (uint16_t)shard;
    node->is_primary = in->is_primary;
    if (node->is_primary) {
        topology->shards[shard].primary = (uint16_t)topology->node_count;
    }
    topology->node_count++;
    topology->shards[shard].node_count++;
    return NULL;
}

static const char *take_range(struct sw_topology *topology, unsigned shard, uint32_t first,
                              uint32_t last)
{
    struct sw_topology_shard *into = &topology->shards[shard];
    if (first > last || last >= SW_SLOTS) {
        return "a range of slots ends before it begins, or past the last slot";
    }
    for (uint32_t slot = first; slot <= last; slot++) {
        if (topology->owner[slot] != SW_TOPOLOGY_NOBODY) {
            return "two ranges have the same slot";
        }
        topology->owner[slot] = (uint16_t)shard;
    }
    into->ranges[into->range_count++] = (struct sw_topology_range){(uint16_t)first, (uint16_t)last};
    into->slot_count += last - first + 1;
    topology->slot_count += last - first + 1;
    return NULL;
}

static const char *take_shard(struct sw_topology *topology, unsigned number,
                              const Sherwood__Shard *in)
{
    struct sw_topology_shard *shard = &topology->shards[number];
    const char *wrong = NULL;
    unsigned primaries = 0;
    topology->shard_count++;
    if (!copy(shard->id, sizeof(shard->id), in->id, false) ||
        !copy(shard->name, sizeof(shard->name), in->name, false)) {
        return "a shard has an id or a name that is empty, unprintable or longer than allowed";
    }
    if (in->n_slots % 2 != 0 || in->n_slots > (size_t)2 * SW_SLOTS) {
        return "a shard has slots that are not pairs, or too many";
    }
    shard->ranges = calloc(in->n_slots / 2 + 1, sizeof(*shard->ranges));
    if (shard->ranges == NULL) {
        return "not enough memory";
    }
    for (size_t i = 0; i < in->n_slots && wrong == NULL; i += 2) {
        wrong = take_range(topology, number, in->slots[i], in->slots[i + 1]);
    }
    for (size_t i = 0; i < in->n_nodes && wrong == NULL; i++) {
        wrong = take_node(topology, number, in->nodes[i]);
        primaries += in->nodes[i]->is_primary;
    }
    return wrong == NULL && primaries != 1 ? "a shard has no primary, or several" : wrong;
}

static const char *read_topology(struct sw_topology *topology, const Sherwood__Topology *in)
{
    size_t nodes = 0;
    const char *wrong = NULL;
    for (size_t i = 0; i < in->n_shards; i++) {
        nodes += in->shards[i]->n_nodes;
    }
    if (in->n_shards > SW_TOPOLOGY_NODES_MAX || nodes > SW_TOPOLOGY_NODES_MAX) {
        return "it has too many shards or nodes";
    }
    if (in->n_shards == 0) {
        return "it has no shards";
    }
    if (in->epoch == 0 || in->epoch > INT64_MAX ||
        !copy(topology->cluster, sizeof(topology->cluster), in->cluster, false)) {
        return "it has no valid epoch or name";
    }
    topology->epoch = in->epoch;
    topology->is_raw = in->is_raw;
    topology->shards = calloc(in->n_shards + 1, sizeof(*topology->shards));
    topology->nodes = calloc(nodes + 1, sizeof(*topology->nodes));
    if (topology->shards == NULL || topology->nodes == NULL) {
        return "not enough memory";
    }
    for (size_t i = 0; i < in->n_shards && wrong == NULL; i++) {
        wrong = take_shard(topology, (unsigned)i, in->shards[i]);
    }
    return wrong;
}

struct sw_topology *sw_map_decode(const uint8_t *bytes, size_t size, const char **wrong)
{
    Sherwood__Topology *in = sherwood__topology__unpack(NULL, size, bytes);
    struct sw_topology *topology = in == NULL ? NULL : calloc(1, sizeof(*topology));
    *wrong = in == NULL ? "it is not a valid message" : "not enough memory";
    if (topology != NULL) {
        for (unsigned i = 0; i < SW_SLOTS; i++) {
            topology->owner[i] = SW_TOPOLOGY_NOBODY;
        }
        *wrong = read_topology(topology, in);
    }
    if (in != NULL) {
        sherwood__topology__free_unpacked(in, NULL);
    }
    if (topology != NULL && *wrong != NULL) {
        sw_map_free(topology);
        return NULL;
    }
    return topology;
}

void sw_map_free(struct sw_topology *topology)
{
    for (unsigned i = 0; topology != NULL && i < topology->shard_count; i++) {
        free(topology->shards[i].ranges);
    }
    if (topology != NULL) {
        free(topology->shards);
        free(topology->nodes);
    }
    free(topology);
}
