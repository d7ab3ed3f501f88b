/* SPDX-License-Identifier: MIT
 *
 * bounds.h - the limits of libsherwood.
 */
#ifndef SHERWOOD_CLIENT_BOUNDS_H
#define SHERWOOD_CLIENT_BOUNDS_H

/* The largest number of frames in flight on a connection, even if the server allows more. */
#define SW_CLIENT_FLIGHTS_MAX 256
/* Room for the prefix and the header of a request, which consists of a few small integers and
 * perhaps a trace context. */
#define SW_CLIENT_HEAD_BYTES_MAX 192
/* The size of a connection's buffer for reading ahead. A long body goes past this buffer. */
#define SW_CLIENT_BUFFER_BYTES 65536
/* The size of the memory that receives unwanted bytes: padding, values without an array, the found
 * bitmap of an older server. All receives overwrite the same memory, so that it stays in the
 * processor's cache. */
#define SW_CLIENT_SCRATCH_BYTES 65536
/* Bodies of at least this length are received straight into the caller's arrays. */
#define SW_CLIENT_LONG_BYTES 2048
/* If at least this much of a body is missing, the library sets the transport's low-water mark
 * (SO_RCVLOWAT). Then the thread wakes once for the whole rest, or after .._MAX bytes. */
#define SW_CLIENT_LOW_WATER_BYTES 131072
#define SW_CLIENT_LOW_WATER_BYTES_MAX (4U << 20)
/* While a low-water mark is set, the library also reads after this time, so that bytes below the
 * mark count as progress. */
#define SW_CLIENT_POLL_MS 200
/* Arrays of constant requests are sent as pages if they have at least this length. */
#define SW_CLIENT_PAGES_BYTES 65536
#define SW_CLIENT_VALUE_BYTES_MAX 4096
#define SW_CLIENT_ERROR_BYTES 512
/* A struct whose size field is larger than this was not initialised. */
#define SW_CLIENT_STRUCT_BYTES_MAX 4096
#define SW_CLIENT_ADDRESS_BYTES 128
/* The library splits a long call at multiples of this many keys, so that the found bitmap of each
 * frame begins at a word of the caller's bitmap. */
#define SW_CLIENT_SPLIT_KEYS 64
/* The largest amount of memory that a server needs for each key of a frame, beside the arrays. */
#define SW_CLIENT_KEY_ROOM 32
/* The default time for which a call polls a ring before it sleeps, on a machine with more than two
 * cores. */
#define SW_CLIENT_SPIN_US 50
/* Polls of a ring before the client also polls the socket. */
#define SW_CLIENT_RING_LOOKS 256
#define SW_CLIENT_CONNECT_TIMEOUT_MS 5000
#define SW_CLIENT_REQUEST_TIMEOUT_MS 30000
/* At most this much of the time between two calls of the library counts towards a timeout. */
#define SW_CLIENT_GAP_MS 10

#endif
