/* SPDX-License-Identifier: MIT
 *
 * resp_inline.h - commands that a person types: one line of words. Internal to proto/.
 */
#ifndef SHERWOOD_PROTO_RESP_INLINE_H
#define SHERWOOD_PROTO_RESP_INLINE_H

#include "proto/resp.h"

/* Does what sw_resp_parse does, for bytes that do not begin with '*'. `size` is at least 1. */
int64_t sw_resp_parse_inline(const uint8_t *bytes, size_t size, const struct sw_resp_limits *limits,
                             struct sw_resp_command *command);

#endif
