/* SPDX-License-Identifier: MIT
 *
 * header_lists.c - the parts of a request's header that few requests have, and that struct
 * sw_request lacks: words, segments, and the region that is registered.
 */
#include <assert.h>
#include <stdalign.h>
#include <string.h>

#include "proto/frame.h"
#include "proto/header.h"
#include "proto/region.h"

/* --- words ------------------------------------------------------------------------------------ */

static_assert(SW_FRAME_WORDS_MAX * (sizeof(ProtobufCBinaryData) + SW_ARENA_ALIGN) <
                  SW_HEADER_ARENA_BYTES / 2,
              "a header of words takes half of the arena");

int sw_frame_words_decode(const uint8_t *header, size_t size, struct sw_frame_words *words)
{
    alignas(SW_ARENA_ALIGN) uint8_t memory[SW_HEADER_ARENA_BYTES];
    struct sw_arena arena;
    const Sherwood__Request *in = sw_header_unpack(header, size, &arena, memory);
    size_t at = 0;
    words->count = 0;
    if (in == NULL || in->n_words == 0 || in->n_words > SW_FRAME_WORDS_MAX) {
        return SW_FRAME_E_HEADER;
    }
    for (size_t i = 0; i < in->n_words; i++) {
        const ProtobufCBinaryData *word = &in->words[i];
        if (word->len > 0) {
            memcpy(words->text + at, word->data, word->len); /* all lie in the header */
        }
        words->bytes[words->count++] = (uint32_t)word->len;
        at += word->len;
    }
    return 0;
}

int sw_frame_words_encode(const struct sw_request *request, const char *const *words,
                          uint32_t count, uint8_t *out, size_t out_bytes)
{
    Sherwood__Request message = sw_header_message(request);
    ProtobufCBinaryData texts[SW_FRAME_WORDS_MAX];
    assert(count <= SW_FRAME_WORDS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        texts[i] = sw_header_lend_text(words[i], SW_FRAME_HEADER_BYTES_MAX);
    }
    message.words = texts;
    message.n_words = count;
    return sw_header_encode(&message.base, sw_request_version(request), 0, out, out_bytes);
}

/* --- segments --------------------------------------------------------------------------------- */

static void copy_numbers(uint32_t *out, const uint32_t *in, size_t count)
{
    if (count > 0) {
        memcpy(out, in, count * sizeof(*in));
    }
}

int sw_frame_segments_decode(const uint8_t *header, size_t size, struct sw_frame_segments *segments)
{
    alignas(SW_ARENA_ALIGN) uint8_t memory[SW_HEADER_ARENA_BYTES];
    struct sw_arena arena;
    const Sherwood__Request *request = sw_header_unpack(header, size, &arena, memory);
    const Sherwood__Segments *in = request == NULL ? NULL : request->segments;
    const size_t count = in == NULL ? 0 : in->n_tables;
    *segments = (struct sw_frame_segments){0};
    if (request != NULL && request->password.len > 0) { /* only a HELLO should have one */
        explicit_bzero(memory, sizeof(memory));
        return SW_FRAME_E_HEADER;
    }
    if (count == 0 || count > SW_FRAME_SEGMENTS_MAX || in->n_counts != count ||
        in->n_value_bytes != count || (in->n_table_ids != count && in->n_table_ids != 0)) {
        return SW_FRAME_E_HEADER;
    }
    segments->count = (uint32_t)count;
    copy_numbers(segments->tables, in->tables, count);
    copy_numbers(segments->counts, in->counts, count);
    copy_numbers(segments->value_bytes, in->value_bytes, count);
    copy_numbers(segments->table_ids, in->table_ids, in->n_table_ids);
    return 0;
}

int sw_frame_segments_encode(const struct sw_request *request,
                             const struct sw_frame_segments *segments, const struct sw_trace *trace,
                             uint64_t body_bytes, uint8_t *out, size_t out_bytes)
{
    Sherwood__Request message = sw_header_message(request);
    Sherwood__Segments lists;
    assert(request->has_segments && segments->count <= SW_FRAME_SEGMENTS_MAX);
    sherwood__segments__init(&lists);
    lists.n_tables = lists.n_counts = lists.n_value_bytes = lists.n_table_ids = segments->count;
    lists.tables = (uint32_t *)(uintptr_t)segments->tables; /* protobuf-c only reads them */
    lists.counts = (uint32_t *)(uintptr_t)segments->counts;
    lists.value_bytes = (uint32_t *)(uintptr_t)segments->value_bytes;
    lists.table_ids = (uint32_t *)(uintptr_t)segments->table_ids;
    message.segments = &lists;
    if (trace != NULL) {
        message.traceparent = (ProtobufCBinaryData){sizeof(*trace), (uint8_t *)(uintptr_t)trace};
    }
    return sw_header_encode(&message.base, sw_request_version(request), body_bytes, out, out_bytes);
}

/* --- regions ---------------------------------------------------------------------------------- */

/* Copies bytes that are all there or not at all. Returns false if there is another number. */
static bool copy_bytes(uint8_t *out, size_t bytes, ProtobufCBinaryData in)
{
    if (in.len == bytes) {
        memcpy(out, in.data, bytes);
    }
    return in.len == bytes || in.len == 0;
}

int sw_region_request_decode(const uint8_t *header, size_t size, struct sw_region_request *region)
{
    alignas(SW_ARENA_ALIGN) uint8_t memory[SW_HEADER_ARENA_BYTES];
    struct sw_arena arena;

    *region = (struct sw_region_request){0};
    const Sherwood__Request *request = sw_header_unpack(header, size, &arena, memory);
    if (request == NULL || request->region == NULL) {
        return SW_FRAME_E_HEADER;
    }
    const Sherwood__Region *in = request->region;
    region->kind = (uint32_t)in->kind;
    region->index = in->index;
    region->bytes = in->bytes;
    region->offset = in->offset;
    region->entries = in->entries;
    return copy_bytes(region->device_uuid, sizeof(region->device_uuid), in->device_uuid) &&
                   copy_bytes(region->handle, sizeof(region->handle), in->handle)
               ? 0
               : SW_FRAME_E_HEADER;
}

int sw_region_request_encode(const struct sw_request *request,
                             const struct sw_region_request *region, uint8_t *out, size_t out_bytes)
{
    Sherwood__Request message = sw_header_message(request);
    Sherwood__Region said;
    sherwood__region__init(&said);
    said.kind = (Sherwood__RegionKind)region->kind;
    said.index = region->index;
    said.bytes = region->bytes;
    said.offset = region->offset;
    said.entries = region->entries;
    if (region->kind == SW_REGION_CUDA_IPC) { /* protobuf-c only reads it */
        said.device_uuid = (ProtobufCBinaryData){sizeof(region->device_uuid),
                                                 (uint8_t *)(uintptr_t)region->device_uuid};
        said.handle =
            (ProtobufCBinaryData){sizeof(region->handle), (uint8_t *)(uintptr_t)region->handle};
    }
    message.region = &said;
    return sw_header_encode(&message.base, sw_request_version(request), 0, out, out_bytes);
}
