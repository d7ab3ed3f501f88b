/* SPDX-License-Identifier: MIT
 *
 * segments.c - the bytes of frames that read several tables, and of their replies.
 */
#include "client/segments.h"

#include "client/handle.h"

static const struct sherwood_server *server_of(const struct sherwood_segment *segment)
{
    return &segment->table->own.server;
}

uint64_t sw_client_segment_key_bytes(const struct sherwood_segment *segment)
{
    return (uint64_t)segment->count * server_of(segment)->key_bytes;
}

uint64_t sw_client_segment_value_bytes(const struct sherwood_segment *segment)
{
    return (uint64_t)segment->count * server_of(segment)->value_bytes;
}

uint64_t sw_client_segments_body(const struct sw_client_flight *flight)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < flight->segments_count; i++) {
        bytes += sw_frame_align(sw_client_segment_key_bytes(&flight->segments[i]));
    }
    return bytes;
}

uint64_t sw_client_segments_answer(const struct sw_client_flight *flight, bool has_values,
                                   bool has_found)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < flight->segments_count; i++) {
        const struct sherwood_segment *segment = &flight->segments[i];
        bytes += has_values ? sw_frame_align(sw_client_segment_value_bytes(segment)) : 0;
        bytes += has_found ? sw_frame_align(sw_found_bytes(segment->count)) : 0;
    }
    return bytes;
}

int sw_client_segments_encode(const struct sw_client_flight *flight, bool gives_ids,
                              const struct sw_trace *trace, uint64_t body_bytes, uint8_t *out,
                              size_t out_bytes)
{
    struct sw_frame_segments lists = {.count = flight->segments_count};
    for (uint32_t i = 0; i < flight->segments_count; i++) {
        const struct sherwood_segment *segment = &flight->segments[i];
        lists.tables[i] = segment->table->own.number;
        lists.counts[i] = segment->count;
        lists.value_bytes[i] = server_of(segment)->value_bytes;
        lists.table_ids[i] = gives_ids ? segment->table->own.id : 0;
    }
    return sw_frame_segments_encode(&flight->header, &lists, trace, body_bytes, out, out_bytes);
}
