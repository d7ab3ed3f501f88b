/* SPDX-License-Identifier: MIT
 *
 * segments.h - frames that read several tables: their bytes, and where their replies go. Threads:
 * the one that uses the handle.
 */
#ifndef SHERWOOD_CLIENT_SEGMENTS_H
#define SHERWOOD_CLIENT_SEGMENTS_H

#include "client/connection.h"
#include "client/sherwood-tables.h"

/* Returns the bytes of a segment's keys, without padding. */
uint64_t sw_client_segment_key_bytes(const struct sherwood_segment *segment);
/* Returns the bytes of a segment's values, without padding. */
uint64_t sw_client_segment_value_bytes(const struct sherwood_segment *segment);
/* Returns the bytes of the body of the frame, and of the body of a reply with these parts. */
uint64_t sw_client_segments_body(const struct sw_client_flight *flight);
uint64_t sw_client_segments_answer(const struct sw_client_flight *flight, bool has_values,
                                   bool has_found);
/* Writes the head of the frame to `out`, with the ids of the tables if `gives_ids`. Returns its
 * bytes, or an error of the encoder. */
int sw_client_segments_encode(const struct sw_client_flight *flight, bool gives_ids,
                              const struct sw_trace *trace, uint64_t body_bytes, uint8_t *out,
                              size_t out_bytes);

#endif
