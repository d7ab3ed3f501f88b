/* SPDX-License-Identifier: MIT
 *
 * fuzz_cluster.c - libFuzzer target for handles of a cluster: they load topologies, whose bytes the
 * fuzzer changes, and go to every shard, which errs or lies (memory_server.h).
 *
 * Held: each call ends; what the handle knows of shards and slots is within its bounds.
 */
#include <stdlib.h>
#include <string.h>

#include "client/cluster.h"
#include "client/open.h"
#include "client/sherwood-cluster.h"
#include "tests/fuzz/memory_server.h"

#define CALLS_MAX 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Requests at every shard, and at one after another. */
static void run_cluster(uint8_t which)
{
    struct sherwood_shard shard = SHERWOOD_SHARD_INIT;
    struct sherwood_stats stats;
    switch (which % 4) {
    case 0:
        (void)sherwood_cluster_reload(world.client);
        break;
    case 1:
        (void)sherwood_ping(world.client);
        break;
    case 2:
        (void)sherwood_stats(world.client, &stats, sizeof(stats));
        break;
    default:
        run_scan();
        break;
    }
    for (uint32_t s = 0; sherwood_cluster_shard(world.client, s, &shard); s++) {
        require(shard.slots <= SW_SLOTS && memchr(shard.id, '\0', sizeof(shard.id)) != NULL);
    }
    for (uint32_t slot = 0; slot < SW_SLOTS; slot += 1024) {
        uint32_t owner = sherwood_cluster_owner(world.client, slot);
        require(owner == UINT32_MAX || sherwood_cluster_shard(world.client, owner, &shard));
    }
}

/* Opens a handle of a cluster of memory servers. Returns false if there is no topology. */
static bool open_cluster(const struct sherwood_options *options)
{
    struct sherwood_options taken;
    const char *address = "fuzz:1";
    char text[SW_CLIENT_ERROR_BYTES];
    require(sw_client_make(address, options, &taken, &world.client, text, sizeof(text)) ==
            SHERWOOD_OK);
    struct sw_client_cluster *cluster = calloc(1, sizeof(*cluster));
    require(cluster != NULL);
    world.client->cluster = cluster;
    require(sw_client_endpoints_init(&cluster->endpoints, &address, 1, &taken, text,
                                     sizeof(text)) == SHERWOOD_OK);
    cluster->endpoints.connector = wire_connector;
    cluster->random = 1;
    bool done = sw_client_cluster_load(world.client, NULL) == SHERWOOD_OK;
    cluster->is_open = true;
    return done;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sherwood_options options = SHERWOOD_OPTIONS_INIT;
    world = (struct world){.info = any_server(size > 0 ? data[0] : 0)};
    world.info.is_cluster = true;
    world.input = (struct fuzz_input){data + 1, size > 0 ? size - 1 : 0};
    options.request_timeout_ms = 1000;
    bool is_open = open_cluster(&options);
    for (int calls = 0; is_open && calls < CALLS_MAX && world.input.size > 0; calls++) {
        run_cluster(fuzz_byte(&world.input));
    }
    sherwood_close(world.client);
    return 0;
}
