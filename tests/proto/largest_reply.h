/* SPDX-License-Identifier: MIT
 *
 * largest_reply.h - the reply whose header is the longest: every number and text has its greatest
 * length, and every flag is set. Flags are set by name, because a bool has only the bits 0 and 1.
 */
#ifndef SHERWOOD_TESTS_PROTO_LARGEST_REPLY_H
#define SHERWOOD_TESTS_PROTO_LARGEST_REPLY_H

#include <string.h>

#include "proto/frame.h"

static inline struct sw_reply largest_reply(void)
{
    struct sw_reply reply;
    memset(&reply, 0xFF, sizeof(reply));
    reply.has_values = true;
    reply.lacks_found = true;
    reply.has_scores = true;
    reply.has_not_admitted = reply.has_digest = true;
    reply.has_info = reply.info.is_cluster = reply.info.takes_times = true;
    reply.info.takes_tables = reply.has_sharing = reply.sharing.has_device = true;
    reply.sharing.found_bytes = true;
    reply.sharing.details = true;
    return reply;
}

#endif
