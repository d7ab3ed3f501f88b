/* SPDX-License-Identifier: MIT
 *
 * waits.h - frames that wait: WAIT_DURABLE for the log, WAIT for replicas, DIGEST for a thread that
 * reads the table. They are in bulk->waits meanwhile. Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_BULK_WAITS_H
#define SHERWOOD_SERVER_BULK_WAITS_H

#include <stdbool.h>

struct sw_bulk;
struct sw_bulk_frame;

/* Begins a frame of one of these operations, and takes it. */
void sw_bulk_start_wait(struct sw_bulk_frame *frame);

/* Replies to the frames whose wait is over. Returns true if there were any. */
bool sw_bulk_poll_waits(struct sw_bulk *bulk);

#endif
