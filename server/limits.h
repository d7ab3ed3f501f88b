/* SPDX-License-Identifier: MIT
 *
 * limits.h - bounds of the daemon that nobody needs to set; what an operator may set is in
 * config.h.
 */
#ifndef SHERWOOD_SERVER_LIMITS_H
#define SHERWOOD_SERVER_LIMITS_H

/* What one read of a RESP socket may bring: 64 commands of pipeline depth 64 fit many times. */
#define SW_READ_BYTES (256 * 1024)

/* After a frame with a body of this size the next read of its connection only brings about a head,
 * so that the body is received straight into the arena. Smaller frames come many to a read, and are
 * copied: for them a copy is cheaper than a system call each. */
#define SW_LARGE_BODY_BYTES (64 * 1024)
#define SW_BULK_READ_BYTES (16 * 1024)

/* A RESP command that arrives in pieces is parsed again from its beginning. The parser says how
 * many bytes it needs at least, so an honest sender costs a few dozen passes however small the
 * pieces; one that makes us pass over this many times resp-request-bytes-max is refused. */
#define SW_RESP_PASSES_MAX 64
/* Bytes that passing over one argument counts as at most: a cache line. */
#define SW_RESP_ARGUMENT_COST 64

/* What a connection may receive, and send of bulk answers, in one turn of its loop. Where the loop
 * has RESP requests too, or had some in the last second, the bulk connections it reads share
 * SW_TURN_BYTES, within bounds: some 100 us of copying, after which others have their turn. Without
 * them it is SW_TURN_BYTES_ALONE: a frame that is received and answered in one go costs up to a
 * fifth less, for it is still in the cache. */
#define SW_TURN_BYTES (512 * 1024)
#define SW_TURN_BYTES_MIN (64 * 1024)
#define SW_TURN_BYTES_MAX (256 * 1024)
#define SW_TURN_BYTES_ALONE (4 * 1024 * 1024)
#define SW_TURN_SHARED_MS 1000

/* Replies that are texts (INFO, errors, ..) may take so many bytes in one turn of a loop: of one
 * connection, and of all. They cost some 10 us for each KiB, so this is a few milliseconds. */
#define SW_TURN_TEXT_BYTES (64 * 1024)
#define SW_TURN_TEXT_BYTES_ALL (256 * 1024)

/* A bulk connection is not paused for unsent answers before it has more than this many: else one
 * that sends frames larger than output-bytes-pause could never be read and written at once. Half as
 * many let it go on. */
#define SW_UNSENT_FRAMES_MIN 4

/* With batches in flight and nothing else to do, a loop looks this often whether one is done before
 * it asks for events again: a few microseconds without a system call. */
#define SW_POLLS_A_TURN 64

/* Write frames of at most this many operations share batches, of at most so many operations and
 * frames; a loop has at most so many of these in flight. Copying such a frame takes a few
 * microseconds, the launches of a batch of writes some hundred. */
#define SW_GATHER_FRAME_OPS_MAX 32768
#define SW_GATHER_OPS_MAX (256 * 1024)
#define SW_GATHER_FRAMES_MAX 256
#define SW_GATHERS 2

/* RESP rounds of several loops share a batch of at most so many operations; at most so many batches
 * of them are in flight: one runs, the next one is ready. */
#define SW_COMMIT_OPS_MAX (128 * 1024)
#define SW_COMMITS 2

/* Keys, operands and earlier values of a batch that is copied together: where values are large, it
 * has fewer operations than the above. */
#define SW_TOGETHER_BYTES_MAX (8 * 1024 * 1024)

/* Of a slot of the cache engine: key, score, digest and mark; its value comes to it. */
#define SW_CACHE_SLOT_BYTES 18

/* Keys, operands and earlier values of a round: where round-ops-max is not stated, and at all. */
#define SW_ROUND_BYTES_USUAL (32 * 1024 * 1024)
#define SW_ROUND_BYTES_MAX (512 * 1024 * 1024)

/* Frames that nobody needed are given back in a sweep: at most so many, a millisecond's work. */
#define SW_SPARE_FRAMES_FREED_MAX 8192

/* The buffer of a request that arrives in pieces grows at least by this, and is mapped for itself
 * from the second on. */
#define SW_INPUT_STEP_BYTES 4096
#define SW_INPUT_MAPPED_BYTES (64 * 1024)

/* Connections over connections-max that a loop tells so, at a time, and how long it waits for their
 * first byte, which says in which protocol. */
#define SW_REFUSED_MAX 64
#define SW_REFUSED_MS 1000

/* A turn that took longer than this moves the deadlines of all connections. */
#define SW_LONG_TURN_MS 200

/* Replies are formatted here before they are sent. */
#define SW_SCRATCH_BYTES (256 * 1024)

/* An inline command, and a count line. As redis. */
#define SW_RESP_INLINE_BYTES_MAX (64 * 1024)

/* Text of replies that do not come from the table (INFO, errors, ..), of one round. */
#define SW_ROUND_TEXT_BYTES_MAX (16 * 1024 * 1024)

/* How often timeouts are looked at. */
#define SW_SWEEP_MS 100

/* A table in host memory moves inside the submit of a batch, on one thread, and other loops wait
 * for it there: for so long that is progress to the watchdog. What it costs goes by the slots of
 * the old and the new table together, not by the keys: filled to 0.84, 60 million 128-bit slots or
 * over 100 million 64-bit ones a second on a core of a virtual machine; several times as many where
 * few are filled. The service unit's TimeoutStopSec is this and 20 s. */
#define SW_SUBMIT_MS_MAX 600000

/* At most one warning in this time that the table could not grow or be resized. */
#define SW_WATCH_WARNING_MS 60000

/* A connection that is being closed after an answer keeps reading, and drops what it reads, until
 * the peer closes or this has passed: closing with unread input would reset the connection and
 * could take the answer with it. */
#define SW_LINGER_MS 500

/* A shutdown closes what is still open after this; the promise is 2 s, after a move of the table
 * under way. */
#define SW_STOP_MS 1500

/* A frame that stopped arriving for this long gives up its memory when another waits for it. */
#define SW_FRAME_STALL_MS 1000

/* Lines of the log in a minute, of each kind that a client can provoke. */
#define SW_LOG_LINES_A_MINUTE 10

#define SW_LOOPS_MAX 256

/* Connections accepted before the loop goes on with its other work. */
#define SW_ACCEPT_BURST 64
#define SW_LISTEN_BACKLOG 1024

/* After accept failed for lack of file descriptors. */
#define SW_ACCEPT_PAUSE_MS 100

/* Entries of one SCAN answer, whatever COUNT says. */
#define SW_SCAN_COUNT_MAX 65536

#endif
