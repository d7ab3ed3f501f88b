/* SPDX-License-Identifier: MIT
 *
 * test_map.c - topologies to bytes and back, and bytes that say what no topology does.
 */
#include "proto/map.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/sherwood.pb-c.h"
#include "tests/support/random.h"

#define SHARDS_MAX 40

/* A topology of random owners; each shard has a primary and up to two others. */
static void draw(struct sw_topology *topology, struct random *state)
{
    unsigned shards = 1 + (unsigned)(random_next(state) % SHARDS_MAX);
    *topology = (struct sw_topology){.epoch = 1 + random_next(state) % (UINT64_MAX / 2)};
    strcpy(topology->cluster, "some-cluster");
    topology->is_raw = random_next(state) % 2;
    topology->shards = calloc(shards, sizeof(*topology->shards));
    topology->nodes = calloc(3 * (size_t)shards, sizeof(*topology->nodes));
    topology->shard_count = shards;
    for (unsigned s = 0; s < shards; s++) {
        struct sw_topology_shard *shard = &topology->shards[s];
        unsigned nodes = 1 + (unsigned)(random_next(state) % 3);
        snprintf(shard->id, sizeof(shard->id), "%040x", s);
        snprintf(shard->name, sizeof(shard->name), "shard-%u", s);
        shard->ranges = calloc(SW_SLOTS, sizeof(*shard->ranges));
        shard->primary = (uint16_t)(topology->node_count + random_next(state) % nodes);
        shard->node_count = nodes;
        for (unsigned n = 0; n < nodes; n++) {
            unsigned number = topology->node_count++;
            struct sw_topology_node *node = &topology->nodes[number];
            snprintf(node->id, sizeof(node->id), "%040x", 1000 + number);
            snprintf(node->ip, sizeof(node->ip), n == 0 ? "10.0.%u.%u" : "fd00::%u:%u", s, n);
            snprintf(node->hostname, sizeof(node->hostname), n == 1 ? "host-%u.example" : "", s);
            node->port = (uint16_t)(1 + random_next(state) % UINT16_MAX);
            node->shard = (uint16_t)s;
            node->is_primary = number == shard->primary;
        }
    }
    for (unsigned slot = 0; slot < SW_SLOTS;) {
        unsigned end = slot + 1 + (unsigned)(random_next(state) % 900);
        unsigned owner = (unsigned)(random_next(state) % (shards + 1));
        end = end < SW_SLOTS ? end : SW_SLOTS;
        for (unsigned i = slot; i < end; i++) {
            topology->owner[i] = owner == shards ? SW_TOPOLOGY_NOBODY : (uint16_t)owner;
        }
        if (owner < shards) {
            struct sw_topology_shard *shard = &topology->shards[owner];
            shard->ranges[shard->range_count++] =
                (struct sw_topology_range){(uint16_t)slot, (uint16_t)(end - 1)};
            shard->slot_count += end - slot;
            topology->slot_count += end - slot;
        }
        slot = end;
    }
}

static void release(struct sw_topology *topology)
{
    for (unsigned s = 0; s < topology->shard_count; s++) {
        free(topology->shards[s].ranges);
    }
    free(topology->shards);
    free(topology->nodes);
}

Test(map, topologies_round_trip)
{
    struct random state = random_of(0);
    for (int round = 0; round < 200; round++) {
        struct sw_topology topology;
        uint8_t *bytes = NULL;
        const char *wrong = NULL;
        draw(&topology, &state);
        size_t size = sw_map_encode(&topology, &bytes);
        cr_assert_gt(size, 0);
        struct sw_topology *got = sw_map_decode(bytes, size, &wrong);
        cr_assert_not_null(got, "%s", wrong);
        cr_assert_eq(got->epoch, topology.epoch);
        cr_assert_eq(got->is_raw, topology.is_raw);
        cr_assert_eq(got->shard_count, topology.shard_count);
        cr_assert_eq(got->node_count, topology.node_count);
        cr_assert_eq(got->slot_count, topology.slot_count);
        cr_assert_eq(memcmp(got->owner, topology.owner, sizeof(got->owner)), 0);
        for (unsigned s = 0; s < got->shard_count; s++) {
            const struct sw_topology_node *a = &got->nodes[got->shards[s].primary];
            const struct sw_topology_node *b = &topology.nodes[topology.shards[s].primary];
            cr_assert_str_eq(got->shards[s].name, topology.shards[s].name);
            cr_assert_str_eq(a->id, b->id);
            cr_assert_str_eq(a->ip, b->ip);
            cr_assert_str_eq(a->hostname, b->hostname);
            cr_assert(a->port == b->port && a->is_primary && a->shard == s);
        }
        free(bytes);
        sw_map_free(got);
        release(&topology);
    }
}

/* No byte that is changed or missing makes the decoder read what is not there; what it takes has
 * one primary a shard, and owners that exist. */
Test(map, damaged_bytes_are_refused_or_make_sense)
{
    struct random state = random_of(1);
    for (int round = 0; round < 1000; round++) {
        struct sw_topology topology;
        uint8_t *bytes = NULL;
        const char *wrong = NULL;
        draw(&topology, &state);
        size_t size = sw_map_encode(&topology, &bytes);
        size_t kept = round % 3 == 0 ? random_next(&state) % size : size;
        for (int i = 0; i < 3 && kept > 0; i++) {
            bytes[random_next(&state) % kept] ^= (uint8_t)(1U << random_next(&state) % 8);
        }
        uint8_t *exact = malloc(kept + 1);
        memcpy(exact, bytes, kept);
        struct sw_topology *got = sw_map_decode(exact, kept, &wrong);
        cr_assert((got == NULL) == (wrong != NULL));
        for (unsigned s = 0; got != NULL && s < got->shard_count; s++) {
            cr_assert_lt(got->shards[s].primary, got->node_count);
            cr_assert(got->nodes[got->shards[s].primary].is_primary);
        }
        for (unsigned slot = 0; got != NULL && slot < SW_SLOTS; slot++) {
            cr_assert(got->owner[slot] < got->shard_count ||
                      got->owner[slot] == SW_TOPOLOGY_NOBODY);
        }
        free(exact);
        free(bytes);
        sw_map_free(got);
        release(&topology);
    }
}

static const char *why(const Sherwood__Topology *message)
{
    uint8_t bytes[4096];
    const char *wrong = NULL;
    size_t size = sherwood__topology__pack(message, bytes);
    struct sw_topology *got = sw_map_decode(bytes, size, &wrong);
    sw_map_free(got);
    return wrong == NULL ? "" : wrong;
}

#define TEXT(string)                            \
    {                                           \
        sizeof(string) - 1, (uint8_t *)(string) \
    }

Test(map, what_is_wrong_is_said)
{
    uint32_t slots[] = {0, 100, 90, 200};
    Sherwood__Node node = SHERWOOD__NODE__INIT;
    Sherwood__Shard shard = SHERWOOD__SHARD__INIT;
    Sherwood__Topology topology = SHERWOOD__TOPOLOGY__INIT;
    Sherwood__Node *nodes[] = {&node, &node};
    Sherwood__Shard *shards[] = {&shard};
    node.id = (ProtobufCBinaryData)TEXT("n");
    node.ip = (ProtobufCBinaryData)TEXT("10.0.0.1");
    node.port = 7379;
    node.is_primary = true;
    shard.id = (ProtobufCBinaryData)TEXT("s");
    shard.name = (ProtobufCBinaryData)TEXT("s");
    shard.slots = slots;
    shard.n_slots = 2;
    shard.nodes = nodes;
    shard.n_nodes = 1;
    topology.cluster = (ProtobufCBinaryData)TEXT("c");
    topology.shards = shards;
    topology.n_shards = 1;
    cr_assert_str_eq(why(&topology), "it has no valid epoch or name");
    topology.epoch = 1;
    cr_assert_str_eq(why(&topology), "");
    shard.n_slots = 4;
    cr_assert_str_eq(why(&topology), "two ranges have the same slot");
    shard.n_slots = 3;
    cr_assert_str_eq(why(&topology), "a shard has slots that are not pairs, or too many");
    shard.n_slots = 2;
    slots[1] = SW_SLOTS;
    cr_assert_str_eq(why(&topology),
                     "a range of slots ends before it begins, or past the last slot");
    slots[1] = 100;
    shard.n_nodes = 2;
    cr_assert_str_eq(why(&topology), "a shard has no primary, or several");
    shard.n_nodes = 0;
    cr_assert_str_eq(why(&topology), "a shard has no primary, or several");
    shard.n_nodes = 1;
    node.port = 65536;
    cr_assert_str_eq(why(&topology), "the port of a node is not from 1 to 65535");
    node.port = 1;
    node.ip = (ProtobufCBinaryData)TEXT("a.example");
    cr_assert_str_eq(why(&topology), "the address of a node is not an IP address");
    cr_assert_null(sw_map_decode((const uint8_t *)"\xff\xff", 2, &(const char *){NULL}));
}
