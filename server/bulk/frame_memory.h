/* SPDX-License-Identifier: MIT
 *
 * frame_memory.h - the sizes of the memory that a frame needs. The functions are pure.
 */
#ifndef SHERWOOD_SERVER_BULK_FRAME_MEMORY_H
#define SHERWOOD_SERVER_BULK_FRAME_MEMORY_H

#include <stdint.h>

#include "proto/frame.h"

struct sw_bulk_table;

/* Returns the layout of the longest body that the reply may have: what the client wants of values,
 * bitmaps, scores and evicted entries; for SCAN keys, values and perhaps scores, for STATS figures.
 */
struct sw_body_layout sw_bulk_reply_layout(const struct sw_request *request);

/* Returns the bytes of this body, and those that the request needs beside the two bodies. */
uint64_t sw_bulk_reply_bytes(const struct sw_bulk_table *table, const struct sw_request *request);

#endif
