/* SPDX-License-Identifier: MIT
 *
 * begin_frame.h - the begin of a frame.
 */
#ifndef SHERWOOD_SERVER_BULK_BEGIN_FRAME_H
#define SHERWOOD_SERVER_BULK_BEGIN_FRAME_H

#include <stddef.h>
#include <stdint.h>

struct sw_conn;

/* Begins to receive the frame whose head is at `bytes`. A frame whose body is complete is started.
 * A request that cannot be carried out gets an error as its reply, and its body is discarded.
 * Returns the bytes consumed: the head and the received part of the body. Returns 0 if the head is
 * incomplete or the connection stalls. */
size_t sw_bulk_begin_frame(struct sw_conn *conn, const uint8_t *bytes, size_t size);

#endif
