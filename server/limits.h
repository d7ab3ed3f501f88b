/* SPDX-License-Identifier: MIT
 *
 * limits.h - constant limits of the daemon. Limits that an operator may set are in
 * config/config.h.
 */
#ifndef SHERWOOD_SERVER_LIMITS_H
#define SHERWOOD_SERVER_LIMITS_H

/* Size of the buffer that a loop reads sockets into: many pipelines of 64 commands fit. While many
 * connections share the iteration, a read requests less, but at least _MIN. */
#define SW_READ_BYTES (256 * 1024)
#define SW_READ_BYTES_MIN (16 * 1024)

/* The exporter of spans looks for spans every SW_TRACE_EVERY_MS, and when one loop has
 * SW_TRACE_BATCH_SPANS of them, the most of an export, or half of its room is used. An export lasts
 * at most SW_TRACE_CALL_MS. It is tried SW_TRACE_ATTEMPTS times: the first wait is
 * SW_TRACE_RETRY_MS, each further one twice as long, or what the endpoint asks for, up to _MAX. A
 * stop exports for at most SW_TRACE_STOP_MS. */
#define SW_TRACE_EVERY_MS 1000
#define SW_TRACE_BATCH_SPANS 512
#define SW_TRACE_CALL_MS 10000
#define SW_TRACE_ATTEMPTS 5
#define SW_TRACE_RETRY_MS 100
#define SW_TRACE_RETRY_MS_MAX 30000
#define SW_TRACE_STOP_MS 3000

/* After a frame with a body of at least SW_LARGE_BODY_BYTES, the next read of its connection
 * requests only SW_BULK_READ_BYTES, so that most of the next body is received directly into the
 * arena. Many smaller frames arrive in one read and are copied, which is cheaper than a system call
 * for each. */
#define SW_LARGE_BODY_BYTES (64 * 1024)
#define SW_BULK_READ_BYTES (16 * 1024)

/* The body of a frame of reads that arrives as a whole is copied past the caches if it has at least
 * SW_UNCACHED_BODY_BYTES and the table is on a device. The device reads it faster from memory than
 * from the cache of the loop's processor. Bodies of fewer lines gain too little. */
#define SW_UNCACHED_BODY_BYTES (4 * 1024)

/* A RESP command that arrives in pieces is parsed again from its beginning each time. The parser
 * reports how many bytes it needs at least, so an honest client causes a few dozen passes, however
 * small the pieces are. A command for which more than SW_RESP_PASSES_MAX times
 * resp-request-bytes-max bytes were parsed in vain is refused. */
#define SW_RESP_PASSES_MAX 64
/* Parsing over one argument counts as at most this many bytes (a cache line), because the parser
 * skips the bytes inside it. */
#define SW_RESP_ARGUMENT_COST 64

/* How many bytes a connection may receive, and send of bulk replies, in one event-loop iteration.
 * If the loop has submitted a RESP batch in the last SW_ITERATION_SHARED_MS, each bulk connection
 * may transfer SW_ITERATION_BYTES_SHARED. That is some 30 us of copying; then the loop serves other
 * connections. Otherwise each connection may transfer SW_ITERATION_BYTES_ALONE: a frame that is
 * received and answered in one iteration costs up to a fifth less, because it is still in the
 * cache. */
#define SW_ITERATION_BYTES_SHARED (64 * 1024)
#define SW_ITERATION_BYTES_ALONE (4 * 1024 * 1024)
#define SW_ITERATION_SHARED_MS 1000

/* The time in which a phase of an iteration begins requests (net/iteration.h), and the least share
 * of a connection. An iteration has six phases, and what they begin is carried out and answered
 * after them: together some milliseconds. */
#define SW_ITERATION_NS 1000000
#define SW_ITERATION_NS_MIN 20000

/* A connection that has yielded counts as heavy for this long: light ones are read first. */
#define SW_ITERATION_HEAVY_NS 1000000000ULL

/* Cost of requests in units of about 50 ns, which only decides when the clock is read: once for
 * SW_ITERATION_CLOCK_COST. A request of at least that cost is followed by a reading of the clock.
 */
#define SW_ITERATION_CLOCK_COST 128
#define SW_COST_READ 16    /* of a read of a socket */
#define SW_COST_BYTES 512  /* received or sent bytes that cost 1 */
#define SW_COST_RETRY 4    /* of a stalled connection that is tried again */
#define SW_COST_CLOSE 64   /* of a connection that ends */
#define SW_COST_OPEN 64    /* of a connection that begins */
#define SW_COST_SESSION 8  /* of a command that answers from its connection: PING */
#define SW_COST_REPORT 128 /* of one that reads or changes the server: INFO, CONFIG SET */
#define SW_COST_FRAME 16   /* of a bulk frame, and of each segment, beside its keys */
#define SW_COST_KEYS 4     /* keys of one request that cost 1 */
#define SW_COST_ENTRY 2    /* of an entry that SCAN, KEYS or a count reads */
#define SW_COST_TEXT 32    /* bytes of a key string that cost 1, for each byte of a pattern */

/* In one iteration the loop takes records from a ring until it reaches one of these limits. */
#define SW_RING_ITERATION_RECORDS 64
#define SW_RING_ITERATION_KEYS (256 * 1024)

/* Bytes of text replies (INFO, errors and others that do not come from the table) that one
 * connection, and all connections of a loop, may cause in one iteration. A KiB costs about 10 us,
 * so this is a few milliseconds. */
#define SW_ITERATION_TEXT_BYTES (64 * 1024)
#define SW_ITERATION_TEXT_BYTES_ALL (256 * 1024)

/* Unsent replies pause a bulk connection only if it has more than this many. Otherwise a connection
 * with frames larger than output-bytes-pause could never be read and written at the same time. The
 * connection resumes when half of this number is left. */
#define SW_UNSENT_FRAMES_MIN 4

/* A loop with batches in flight and nothing else to do polls them this many times before it calls
 * epoll again: a few microseconds without a system call. */
#define SW_POLLS_PER_ITERATION 64

/* A loop whose batches wait only for long work on tables in host memory polls them this often. */
#define SW_HELD_POLL_MS 1

/* Bytes that a slot of the cache engine takes beside its value: key, score, digest and mark. */
#define SW_CACHE_SLOT_BYTES 18

/* Bytes of keys, operands and earlier values of a RESP batch: _USUAL limits the default of
 * round-ops-max. _MAX limits the value that an operator may set. */
#define SW_ROUND_BYTES_USUAL (32 * 1024 * 1024)
#define SW_ROUND_BYTES_MAX (512 * 1024 * 1024)

/* Most spare frames that one sweep frees: about a millisecond's work. */
#define SW_SPARE_FRAMES_FREED_MAX 8192

/* The input buffer of a connection grows by at least SW_INPUT_STEP_BYTES, and has a memory mapping
 * of its own from SW_INPUT_MAPPED_BYTES on. */
#define SW_INPUT_STEP_BYTES 4096
#define SW_INPUT_MAPPED_BYTES (64 * 1024)

/* Connections over connections-max that a loop refuses at the same time, and how long it waits for
 * their first byte, which selects the protocol of the error. */
#define SW_REFUSED_MAX 64
#define SW_REFUSED_MS 1000

/* How long a connection is not read after a wrong password: _MS after the first one, twice as long
 * after each further one, and at most _MAX. */
#define SW_LOGIN_WAIT_MS 100ULL
#define SW_LOGIN_WAIT_MS_MAX 5000ULL

/* Limits of a command before the connection has logged in, as in redis: the number of its
 * arguments, and the bytes of the command and of each argument. */
#define SW_LOGIN_ARGUMENTS_MAX 10
#define SW_LOGIN_REQUEST_BYTES_MAX (16 * 1024)

/* Unsent bytes that pause the input of a connection before its login, unless output-bytes-pause is
 * less. */
#define SW_LOGIN_OUTPUT_BYTES_PAUSE (16 * 1024)

/* An iteration that took longer than this moves the deadlines of all connections. */
#define SW_LONG_ITERATION_MS 200

/* Size of the buffer in which a loop formats RESP replies before it sends them. */
#define SW_SCRATCH_BYTES (256 * 1024)

/* Longest inline command, and longest line with a count, in RESP. The same as in redis. */
#define SW_RESP_INLINE_BYTES_MAX (64 * 1024)

/* Bytes of the text replies of one RESP batch. */
#define SW_RESP_BATCH_TEXT_BYTES_MAX (16 * 1024 * 1024)

/* A loop frees memory for RESP batches that it has not used for this long. */
#define SW_RESP_IDLE_MS 3000

/* How often deadlines are checked. */
#define SW_SWEEP_MS 100
/* Every SW_SWEEP_MS at most _BATCHES batches search for expired keys. Each checks at most _ENTRIES
 * keys that have an expiry time, which takes about 100 us. */
#define SW_EXPIRY_SWEEP_ENTRIES 4096
#define SW_EXPIRY_SWEEP_BATCHES 32

/* A command with keys of a slot that is being handed over waits for at most this time. Then the
 * server rejects it with TRYAGAIN. */
#define SW_FROZEN_MS 1000
/* Longest time of a migration step that keeps slots unserved, such as waiting for replicas or for
 * the log. */
#define SW_MOVE_STEP_MS 3000

/* A table in host memory grows inside the submit of a batch if it is small, or if the system starts
 * no thread for it. Up to this time the watchdog counts a submit as progress. The time of a growth
 * depends on the slots of the old and the new table together, not on the keys. At a load of 0.84 a
 * core of a virtual machine moves 60 million 128-bit slots or over 100 million 64-bit slots a
 * second. At a small load it moves several times that number. TimeoutStopSec of the service unit is
 * this plus 20 s. */
#define SW_SUBMIT_MS_MAX 600000

/* The least time between two warnings that the table could not grow or be resized. */
#define SW_WATCH_WARNING_MS 60000

/* A connection that the server closes after a reply keeps reading, and discards what it reads,
 * until the peer closes or this time has passed. Closing a socket with unread input would reset the
 * connection, and the peer could lose the reply. */
#define SW_LINGER_MS 500

/* A shutdown closes the connections that are still open after this time. The documented limit is 2
 * s, after a growth of the table that is under way. */
#define SW_STOP_MS 1500
/* After this time of a shutdown, frames whose writes are not durable yet get OUTCOME_UNKNOWN. */
#define SW_STOP_LOG_MS 1300

/* If other frames wait for arena memory, a frame that has not received a byte for this long is
 * refused, and so is a peer that has not taken a byte of its replies for this long. */
#define SW_FRAME_STALL_MS 1000

/* Most lines of the log in a minute, of each kind that a client can provoke. */
#define SW_LOG_LINES_A_MINUTE 10

#define SW_LOOPS_MAX 256

/* Connections that the listener accepts from one socket before it looks at the next. */
#define SW_ACCEPT_BURST 64
#define SW_LISTEN_BACKLOG 1024

/* How long accepting pauses after accept() failed for lack of file descriptors. */
#define SW_ACCEPT_PAUSE_MS 100

/* Most entries of one SCAN reply in RESP, whatever COUNT says. */
#define SW_SCAN_COUNT_MAX 65536

/* The largest frame or reply: the kernel and libuv count the bytes of one buffer in 32 bits. */
#define SW_FRAME_BYTES_MAX (1ULL << 30)

#endif
