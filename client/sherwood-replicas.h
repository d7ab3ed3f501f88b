/* SPDX-License-Identifier: MIT
 *
 * sherwood-replicas.h - servers with replicas: which one is the primary, whether replicas have what
 * was written, and whether servers have the same entries.
 *
 * A handle of several addresses, sherwood_connect("10.0.0.1:7379,10.0.0.2:7379", ..), follows a
 * fail-over. It connects to the primary: a replica names its primary, and while nobody is primary
 * the addresses are tried again for connect_timeout_ms. If only replicas answer, it connects to one
 * of them, for reads. When a replica refuses a write of a blocking call, nothing was done: the
 * handle connects to the primary and sends the write again, up to 4 times a call. A request of
 * sherwood_submit ends with SHERWOOD_E_SHARD instead; call sherwood_follow, then submit it again.
 * After a lost connection the handle has ended, as any other: connect to the same addresses again.
 * A handle of one address follows nobody: SHERWOOD_E_SHARD, and sherwood_error names the primary.
 * Regions belong to one server: a handle that has some does not follow.
 */
#ifndef SHERWOOD_REPLICAS_H
#define SHERWOOD_REPLICAS_H

#include "sherwood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The address of the primary that a replica named when it refused a request last; empty: none.
 * Valid until the next call. */
const char *sherwood_primary(const struct sherwood *client);
/* Waits for the requests in flight, and connects a handle of several addresses to the primary, at
 * first to sherwood_primary. Cursors of scans end. SHERWOOD_E_SHARD: no primary answers; the handle
 * keeps its connections. Afterwards sherwood_wait_replicas and sherwood_wait_durable return
 * SHERWOOD_E_CONNECTION once, if the handle has written before: nobody knows of these writes. */
int sherwood_follow(struct sherwood *client);

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
