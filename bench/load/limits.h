/* SPDX-License-Identifier: MIT
 *
 * limits.h - the bounds and defaults of sherwood-load.
 */
#ifndef SHERWOOD_LOAD_LIMITS_H
#define SHERWOOD_LOAD_LIMITS_H

#include <stdint.h>

#define SW_LOAD_BULK_CONNECTIONS_DEFAULT 4
#define SW_LOAD_BULK_DEPTH_DEFAULT 2
#define SW_LOAD_BULK_RATE_DEPTH_DEFAULT 4
/* The defaults follow redis-benchmark: -c 50, and a pipeline of 64. */
#define SW_LOAD_RESP_CONNECTIONS_DEFAULT 50
#define SW_LOAD_RESP_DEPTH_DEFAULT 64

#define SW_LOAD_KEYS_MAX (1ULL << 40)
#define SW_LOAD_CONNECTIONS_MAX 4096
#define SW_LOAD_THREADS_MAX 256
/* Bulk: the connections of a thread are one handle of libsherwood. */
#define SW_LOAD_BULK_THREAD_CONNECTIONS_MAX 256
#define SW_LOAD_IDLE_MAX 65536
#define SW_LOAD_PREFILLED_MAX 4096
/* All frames, instead of a number (--frames-prefilled all). */
#define SW_LOAD_PREFILLED_ALL UINT32_MAX
#define SW_LOAD_SOCKET_BUFFER_MAX (64U << 20)
/* Keys of a frame (the protocol's limit; a server's own may be lower), and of a pipeline of MGET.
 */
#define SW_LOAD_FRAME_MAX (1U << 24)
#define SW_LOAD_BULK_DEPTH_MAX 1024
#define SW_LOAD_RESP_DEPTH_MAX 65536
/* The most bytes of a value of this version's server. */
#define SW_LOAD_VALUE_BYTES_MAX 4096
#define SW_LOAD_MGET_MAX 65536
#define SW_LOAD_SECONDS_MIN 0.01
#define SW_LOAD_SECONDS_MAX 86400
/* Limits of --ttl in seconds: a millisecond, and the server's maximum. */
#define SW_LOAD_TTL_MIN 0.001
#define SW_LOAD_TTL_MAX 1e9
/* Limit of the buffers of all connections together: the start refuses a run that needs more. */
#define SW_LOAD_BUFFER_BYTES_MAX (16ULL << 30)
/* A peer with unanswered requests has failed if it sends nothing for this time. */
#define SW_LOAD_SILENCE_MS 30000
#define SW_LOAD_CONNECT_MS 5000

/* With a rate, a unit counts as late if it is sent this long after its due time. */
#define SW_LOAD_LATE_NS 1000000
/* The first unit is due this long after the threads have started. */
#define SW_LOAD_LEAD_NS 10000000
/* A sleeping worker checks at this interval whether the run was stopped. */
#define SW_LOAD_SLEEP_NS 100000000
#define SW_LOAD_RATE_MAX 1000000000000ULL

#define SW_LOAD_THETA_MAX 10.0
/* The most keys of a mix on a table of 32-bit keys: the mix may insert this number again, and reads
 * that shall miss need other keys. */
#define SW_LOAD_MIX_KEYS_MAX_32 (1ULL << 30)

#define SW_LOAD_ERROR_BYTES 512

#endif
