/* SPDX-License-Identifier: MIT
 *
 * frame_memory.h - the sizes of the memory that a frame needs, and the padding of a reply.
 */
#ifndef SHERWOOD_SERVER_BULK_FRAME_MEMORY_H
#define SHERWOOD_SERVER_BULK_FRAME_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/frame.h"

struct sw_bulk_table;

/* Returns the layout of the longest body that the reply may have: what the client wants of values,
 * bitmaps, scores and evicted entries; for SCAN keys, values and perhaps scores, for STATS figures.
 */
struct sw_body_layout sw_bulk_reply_layout(const struct sw_request *request);

/* Clears the padding of the arrays whose length is known: the reply must not show earlier contents
 * of the memory. */
static inline void sw_bulk_clear_padding(uint8_t *body, struct sw_body_layout layout)
{
    const uint64_t ends[] = {layout.second, layout.not_admitted, layout.scores,
                             layout.evicted_keys};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (ends[i] >= SW_FRAME_ALIGN) {
            memset(body + ends[i] - SW_FRAME_ALIGN, 0, SW_FRAME_ALIGN);
        }
    }
}

/* Returns the bytes of this body, and those that the request needs beside the two bodies. */
uint64_t sw_bulk_reply_bytes(const struct sw_bulk_table *table, const struct sw_request *request);

#endif
