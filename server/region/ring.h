/* SPDX-License-Identifier: MIT
 *
 * ring.h - the server's side of a ring (proto/region.h).
 *
 * The server takes a submission only if there is a slot for its one completion:
 * taken - seen <= entries, so completions never overtake the client. The server keeps its counters
 * in this struct, and never reads them back from the ring. Everything belongs to the loop's thread.
 * The client may write into the memory at any time.
 */
#ifndef SHERWOOD_SERVER_REGION_RING_H
#define SHERWOOD_SERVER_REGION_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/region.h"

struct sw_ring {
    uint8_t *memory; /* sw_ring_bytes(entries), mapped shared; owned */
    uint32_t entries;
    uint32_t taken;     /* submissions */
    uint32_t completed; /* completions that were written */
    bool moved;         /* a counter has changed since the last sw_ring_publish */
};

/* Looks for a submission. Returns 1; 0 if there is none, or no slot for its completion; -1 if the
 * client's counters are impossible: the caller then closes the connection. */
int sw_ring_check(const struct sw_ring *ring);
/* As sw_ring_check, and copies the submission without taking it. */
int sw_ring_peek(const struct sw_ring *ring, struct sw_submission *submission);
/* Takes the submission that sw_ring_peek has copied. */
void sw_ring_take(struct sw_ring *ring);
/* Writes the completion of a submission that was taken. */
void sw_ring_complete(struct sw_ring *ring, const struct sw_reply *reply);
/* Publishes the counters of taken and completed submissions to the client. Returns true if the
 * client sleeps: then the caller must send a doorbell. */
bool sw_ring_publish(struct sw_ring *ring);

/* Requests a doorbell from the client, or ends the request. Reads of the ring after this call see
 * submissions at least as new as the call. */
void sw_ring_set_asleep(const struct sw_ring *ring, bool asleep);
#endif
