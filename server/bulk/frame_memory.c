/* SPDX-License-Identifier: MIT
 *
 * frame_memory.c - the sizes of the memory of a frame.
 */
#include "server/bulk/frame_memory.h"

#include "server/bulk/cluster.h"
#include "server/bulk/expiry_times.h"
#include "server/bulk/frame_table.h"
#include "server/bulk/pairs.h"
#include "server/bulk/set_keepttl.h"
#include "server/bulk/set_range.h"
#include "server/bulk/stats_reply.h"
#include "server/bulk/table_frames.h"

struct sw_body_layout sw_bulk_reply_layout(const struct sw_request *request)
{
    struct sw_reply reply = {
        .count = request->count,
        .key_bytes = request->key_bytes,
        .value_bytes = sw_request_answer_bytes(request),
        .has_values = request->want_values,
        .lacks_found = request->declines_found,
        .has_not_admitted = request->want_not_admitted,
        .has_scores = request->want_scores,
        .has_evicted = request->want_evicted,
        .evicted_count = request->count,
    };
    if (request->operation == SW_OPERATION_TOPOLOGY) {
        reply.count = sw_bulk_topology_count(request->count);
    }
    if (request->operation == SW_OPERATION_TABLES) {
        reply.count = sw_bulk_tables_count(request->count);
    }
    if (request->operation == SW_OPERATION_STATS) {
        reply.count = sw_bulk_stats_count(request->count);
    }
    return sw_reply_layout(&reply, request->operation);
}

/* Returns the bytes of the values before and of the found bits, if the log gets them. */
static uint64_t results_bytes(const struct sw_request *request)
{
    return sw_request_logs_results(request)
               ? sw_frame_align((uint64_t)request->count * request->value_bytes) +
                     sw_frame_align(sw_found_bytes(request->count))
               : 0;
}

/* Returns the bytes that the request needs beside the two bodies. GETRANGE needs room for the whole
 * values. Requests whose results the log gets need room for the values before and the found bits.
 * For other requests see expiry_times.h, pairs.h, set_keepttl.h and set_range.h. */
static uint64_t scratch_bytes(const struct sw_table_shape *shape, const struct sw_request *request)
{
    const uint64_t values = sw_frame_align((uint64_t)request->count * request->value_bytes);
    if (sw_operation_answers_parts(request->operation)) {
        return request->want_values ? values : 0;
    }
    if (sw_operation_writes_parts(request->operation)) {
        return sw_bulk_set_range_bytes(request);
    }
    if (sw_operation_has_pairs(request->operation)) {
        return sw_bulk_pairs_bytes(request);
    }
    if (sw_bulk_shows_expiry(request)) {
        return sw_bulk_expiry_bytes(request);
    }
    if (sw_bulk_is_set_keepttl(shape, request)) {
        return sw_bulk_keepttl_bytes(shape, request);
    }
    return results_bytes(request);
}

uint64_t sw_bulk_reply_bytes(const struct sw_bulk_table *table, const struct sw_request *request)
{
    return sw_bulk_reply_layout(request).bytes + scratch_bytes(&table->batches->shape, request);
}
