/* SPDX-License-Identifier: MIT
 *
 * sherwood-replicas.h - what libsherwood asks of servers with replicas: whether these have what was
 * written, and whether servers have the same entries.
 */
#ifndef SHERWOOD_REPLICAS_H
#define SHERWOOD_REPLICAS_H

#include "sherwood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Waits until `replicas` replicas have all that this handle has written, for at most timeout_ms
 * milliseconds (negative: without limit), and tells in *reached how many have: perhaps fewer than
 * asked for when the time is over, perhaps more. First it waits for the replies to all requests
 * that were submitted. What it counted is there after a fail-over to one of these replicas. With
 * several connections, and at a cluster, every one that has written asks its server, and *reached
 * is the least of the answers. SHERWOOD_E_CONNECTION: one of these has ended since the last call,
 * so that nobody knows of its writes; the handle goes on with the others, and the next call is of
 * what is written by those.
 * SHERWOOD_E_SHARD: a server is no primary any more. It is the command WAIT, but for the timeout,
 * of which 0 is none there. */
int sherwood_wait_replicas(struct sherwood *client, uint32_t replicas, int timeout_ms,
                           uint32_t *reached);

/* A checksum of all entries: servers with equal entries have equal sums, whatever their capacities,
 * engines, backends and histories. A replica that has its primary's `sequence` has its sums. The
 * server reads its whole table meanwhile, and goes on to serve. It needs the right to DIGEST. */
struct sherwood_digest {
    uint64_t sequence; /* the last write that the entries have */
    uint64_t entries;
    uint64_t sums[2];
};
int sherwood_digest(struct sherwood *client, struct sherwood_digest *digest);

#ifdef __cplusplus
}
#endif

#endif
