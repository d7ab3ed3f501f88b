/* SPDX-License-Identifier: MIT
 *
 * sherwood-replicas.h - servers with replicas: finds the primary, waits until replicas have the
 * writes, and compares the entries of servers.
 *
 * A handle of several addresses, sherwood_connect("10.0.0.1:7379,10.0.0.2:7379", ..), follows a
 * fail-over. It connects to the primary: a replica names its primary, and while no server is
 * primary the handle tries the addresses again for connect_timeout_ms. So it does while a server
 * loads its data. If only such servers and replicas reply, it connects to one of them, for reads.
 * When a replica refuses a write of a blocking call, nothing was changed: the handle connects to
 * the primary and sends the write again, up to 4 times a call. A request of sherwood_submit ends
 * with SHERWOOD_E_SHARD instead; call sherwood_follow, then submit it again. A handle that lost its
 * last connection has ended, as any other handle: connect to the same addresses again. A handle of
 * one address does not follow: its write ends with SHERWOOD_E_SHARD, and sherwood_error names the
 * primary. Regions belong to one server: a handle with regions does not follow.
 */
#ifndef SHERWOOD_REPLICAS_H
#define SHERWOOD_REPLICAS_H

#include "sherwood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the address of the primary that a replica named in its last refusal; empty: none. Valid
 * until the next call. */
const char *sherwood_primary(const struct sherwood *client);
/* Waits for the requests in flight, and connects a handle of several addresses to the primary. It
 * tries the address of sherwood_primary first. Cursors of scans end. SHERWOOD_E_SHARD: no primary
 * replies; the handle keeps its connections. If the handle has written before,
 * sherwood_wait_replicas and sherwood_wait_durable then return SHERWOOD_E_CONNECTION once: whether
 * the new primary has these writes is not known. */
SHERWOOD_MUST_CHECK int sherwood_follow(struct sherwood *client);

/* Waits until `replicas` replicas have all writes of this handle, for at most timeout_ms
 * milliseconds (negative: without limit). Stores the number of replicas that have them in *reached:
 * it may be more than `replicas`, and is less if the time ends first. Before that it waits for the
 * replies to all submitted requests. A fail-over to one of these replicas keeps all of the writes.
 * A handle of several connections, or of a cluster, sends the request on each connection that has
 * written; *reached is the smallest reply. SHERWOOD_E_CONNECTION: a connection that has written has
 * ended since the last call, so whether replicas have its writes is not known. The next call waits
 * for the writes of the other connections. SHERWOOD_E_SHARD: a server is no longer the primary. The
 * command WAIT does the same, except that its timeout 0 means without limit. */
SHERWOOD_MUST_CHECK int sherwood_wait_replicas(struct sherwood *client, uint32_t replicas,
                                               int timeout_ms, uint32_t *reached);

/* A checksum of all entries: servers with equal entries have equal sums, whatever their capacities,
 * engines, backends and histories. A replica with the `sequence` of its primary has the same sums.
 * The server reads its whole table for this, and serves requests meanwhile. The user needs the
 * right to DIGEST. */
struct sherwood_digest {
    uint64_t sequence; /* of the last write that the entries include */
    uint64_t entries;
    uint64_t sums[2];
};
SHERWOOD_MUST_CHECK int sherwood_digest(struct sherwood *client, struct sherwood_digest *digest);

#ifdef __cplusplus
}
#endif

#endif
