/* SPDX-License-Identifier: MIT
 *
 * ring.h - the client's side of a ring (proto/region.h): a connection's requests on regions, and
 * their completions. Used by the thread that uses the handle.
 */
#ifndef SHERWOOD_CLIENT_RING_H
#define SHERWOOD_CLIENT_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "client/flight.h"
#include "proto/region.h"

struct sherwood;

struct sw_client_ring {
    uint8_t *memory; /* NULL: the connection has no ring */
    uint32_t entries;
    uint32_t submitted;
    uint32_t seen;      /* completions that the client has read */
    uint32_t in_flight; /* flights that go through the ring */
    uint32_t looks;     /* polls without a completion since the socket was last polled */
    uint64_t waited_ns; /* moving average of recent waits */
    uint32_t waits;
};

/* Returns the entries of a handle's ring on a server that allows entries_max. */
uint32_t sw_client_ring_entries(uint32_t entries_max);
/* Gives the connection a ring, whose memory of sw_ring_bytes is registered with the server. */
void sw_client_ring_open(struct sw_client_connection *connection, uint8_t *memory,
                         uint32_t entries);
/* Unmaps the memory, if there is any. */
void sw_client_ring_close(struct sw_client_ring *ring);

/* Decides whether a frame goes through the handle's ring: only if the handle has a ring, and all
 * arrays lie in regions with the right alignment. Stores the decision and the places in the frame.
 * Returns a status: a frame that must go by the socket, with an array in memory of a device, is an
 * error. */
int sw_client_ring_place(struct sherwood *client, struct sw_client_frame *frame);
/* Submits a flight, whose frame was placed. */
void sw_client_ring_submit(struct sw_client_connection *connection, struct sw_client_flight *flight,
                           const struct sw_submission *submission);
/* Takes the available completions. Returns their number. The connection may end. */
uint32_t sw_client_ring_receive(struct sw_client_connection *connection);
/* Polls for a completion without sleeping, for at most spin_us, if completions have lately come
 * fast. Returns true if one has come. */
bool sw_client_ring_spin(struct sw_client_connection *connection);
/* Sets or clears the client's sleep word. While it is set, the server sends a doorbell for
 * completions. Returns false if it has set the word and completions are in the ring already: do not
 * sleep then. */
bool sw_client_ring_sleep(struct sw_client_connection *connection, bool sleeps);

#endif
