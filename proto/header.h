/* SPDX-License-Identifier: MIT
 *
 * header.h - what the files of the protobuf header share: header.c and header_lists.c. frame.h is
 * the interface.
 */
#ifndef SHERWOOD_PROTO_HEADER_H
#define SHERWOOD_PROTO_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include "proto/arena.h"
#include "proto/frame.h"
#include "proto/sherwood.pb-c.h"

/* A full Reply takes about 2 KiB. The rest is for fields of later versions. An unknown field takes
 * about 70 bytes while a header is decoded, so 200 of them fit. A header of 1008 bytes that
 * consists of nothing but unknown fields is refused. */
#define SW_HEADER_ARENA_BYTES 16384

/* Unpacks a request into `memory`, which `arena` hands out. NULL: it is not one. */
const Sherwood__Request *sw_header_unpack(const uint8_t *header, size_t size,
                                          struct sw_arena *arena,
                                          uint8_t memory[SW_HEADER_ARENA_BYTES]);
/* Returns the message of a request without the parts that struct sw_request lacks. */
Sherwood__Request sw_header_message(const struct sw_request *request);
/* Lends `text` to a message. protobuf-c only reads it. */
ProtobufCBinaryData sw_header_lend_text(const char *text, size_t bytes_max);
/* Writes the head of a frame. Returns its bytes, or SW_FRAME_E_SPACE. */
int sw_header_encode(const ProtobufCMessage *message, uint32_t version, uint64_t body_bytes,
                     uint8_t *out, size_t out_bytes);

#endif
