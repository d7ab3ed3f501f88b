/* SPDX-License-Identifier: MIT
 *
 * map.h - the topology of a cluster as clients get it: the message Topology of sherwood.proto, the
 * body of the replies to TOPOLOGY.
 *
 * It has what a client needs to send each key to its owner. Nothing here does I/O; all functions
 * may be called from any thread.
 */
#ifndef SHERWOOD_PROTO_MAP_H
#define SHERWOOD_PROTO_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "proto/cluster/topology.h"

/* No encoded topology is longer: SW_TOPOLOGY_NODES_MAX nodes with names of full length, and 16,384
 * ranges. */
#define SW_MAP_BYTES_MAX ((size_t)1 << 20)

/* Returns the number of bytes of the message, and the message itself in *out, which the caller
 * frees; or 0 if there is no memory. */
size_t sw_map_encode(const struct sw_topology *topology, uint8_t **out);

/* Returns the topology, or NULL with a phrase in *wrong: the bytes are no such message, there is no
 * shard, a slot is out of range or of two shards, a shard has not just one primary, or an address
 * is not valid. Free it by sw_map_free. */
struct sw_topology *sw_map_decode(const uint8_t *bytes, size_t size, const char **wrong);
/* NULL is allowed. */
void sw_map_free(struct sw_topology *topology);

#endif
