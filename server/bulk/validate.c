/* SPDX-License-Identifier: MIT
 *
 * validate.c - the requests that are refused before they are carried out, and the sentences that
 * say why.
 */
#include "server/bulk/validate.h"
#include "proto/plural.h"
#include "server/batch/refusals.h"

#include <stdio.h>

#include "server/bulk/bulk.h"
#include "server/bulk/cluster.h"
#include "server/bulk/expiry_times.h"
#include "table/scale.h"

/* Do caches alone have this operation on keys? ASSIGN is made from one that they have. */
static bool is_of_caches(uint32_t operation)
{
    const uint64_t operations = SW_OPS_CACHE & ~SW_OPS_INTEGERS & ~SW_OPS_ROWS;
    return sw_operation_is_data(operation) && !sw_operation_gives_ids(operation) &&
           SW_OPS_HAS(operations, sw_operation_op(operation));
}

/* Returns why the engine lacks an operation, for the end of the error; "": the name explains it.
 * For operations on times the reason begins with the tables that lack them. */
static const char *why(const struct sw_table_shape *shape, uint32_t operation)
{
    const bool is_integer = shape->value_format == SW_VALUE_INTEGER;
    if (is_of_caches(operation) && !shape->has_scores && !shape->has_ids) {
        return SW_WHY_NO_SCORES;
    }
    if (sw_operation_needs_expiry(operation)) {
        return sw_table_no_times(shape);
    }
    if (shape->engine == SW_ENGINE_CUCKOO && !sw_operation_gives_ids(operation)) {
        return SW_WHY_ENGINE;
    }
    if (shape->is_set) {
        return sw_operation_gives_ids(operation) ? SW_WHY_NO_IDS : SW_WHY_NO_VALUES;
    }
    if (shape->has_ids || sw_operation_gives_ids(operation)) {
        return shape->has_ids ? SW_WHY_IDS : SW_WHY_NO_IDS;
    }
    if (sw_operation_has_pairs(operation) || sw_operation_of_bits(operation) ||
        sw_operation_has_range(operation)) {
        return SW_WHY_ONLY_ADD;
    }
    if (sw_operation_adds(operation) && !shape->has_scores) {
        return SW_WHY_NO_SUCH_ROWS;
    }
    if (sw_operation_is_data(operation) && SW_OPS_HAS(SW_OPS_STRING, sw_operation_op(operation))) {
        return SW_WHY_NO_STRINGS;
    }
    return sw_operation_of_integers(operation) && !is_integer ? SW_WHY_NO_INTEGERS : "";
}

/* Writes what is wrong with a frame (error < 0) or with the operation for this engine (0). Returns
 * the status of the refusal. */
static enum sw_reply_status refuse_frame(const struct sw_table_shape *shape,
                                         const struct sw_request *request, int error, char *message,
                                         size_t message_bytes)
{
    if (error == SW_FRAME_E_WIDTH) {
        snprintf(message, message_bytes,
                 "%s: the request has keys of %u and values of %u bytes, the table %u and %u",
                 sw_frame_error_text(error), request->key_bytes, request->value_bytes,
                 shape->key_bytes, shape->value_bytes - shape->key_text_bytes);
        return SW_REPLY_BAD_REQUEST;
    }
    if (error < 0) {
        snprintf(message, message_bytes, "%s", sw_frame_error_text(error));
        return error == SW_FRAME_E_OPERATION ? SW_REPLY_UNKNOWN_OPERATION : SW_REPLY_BAD_REQUEST;
    }
    if (sw_operation_of_bits(request->operation) && !shape->has_scores && !shape->has_ids &&
        !shape->is_set) {
        snprintf(message, message_bytes, SW_NO_BITS);
        return SW_REPLY_BAD_REQUEST;
    }
    const bool is_epoch = request->operation == SW_OPERATION_EPOCH;
    const bool epoch = is_epoch && shape->has_scores;
    snprintf(message, message_bytes, "the %s %s has no %s%s%s",
             epoch ? sw_cache_policy_name(shape->policy) : shape->engine_name,
             epoch ? "policy" : "engine", sw_operation_name(request->operation),
             sw_operation_needs_expiry(request->operation) ? "" : shape->of_rows,
             is_epoch && !epoch ? SW_WHY_NO_SCORES : why(shape, request->operation));
    return SW_REPLY_UNKNOWN_OPERATION;
}

/* Does the engine support the fields about scores and evictions? */
static bool scores_fit(const struct sw_table_shape *shape, const struct sw_request *request,
                       char *message, size_t message_bytes)
{
    const char *policy = sw_cache_policy_name(shape->policy);
    bool wants = request->want_scores || request->want_not_admitted || request->want_evicted != 0 ||
                 request->by_score || request->has_scores;
    if (wants && !shape->has_scores) {
        snprintf(
            message, message_bytes,
            "the %s engine has no scores and no evictions: start the server with --engine cache",
            shape->engine_name);
        return false;
    }
    if (request->has_scores && !sw_cache_takes_scores(shape->policy)) {
        snprintf(message, message_bytes, "the policy %s computes scores itself: send no scores",
                 policy);
        return false;
    }
    if (request->operation == SW_OPERATION_SET_SCORE && !request->has_scores &&
        shape->policy == SW_CACHE_CUSTOM) {
        snprintf(message, message_bytes,
                 "SET_SCORE needs scores with the policy %s: send one for each key", policy);
        return false;
    }
    return true;
}

/* Can operands of this type be multiplied by the scale, and added up? */
static bool sums_fit(const struct sw_request *request, char *message, size_t message_bytes)
{
    const bool is_wide = sw_request_is_wide(request);
    const bool adds = sw_operation_adds(request->operation);
    if (!adds && (request->scale_bits != 0 || request->operand_type != 0)) {
        snprintf(message, message_bytes,
                 "only ADD has the fields scale and operand_type: leave them out");
    } else if (adds && request->operand_type != 0 && !is_wide) {
        snprintf(message, message_bytes,
                 "operand_type must be left out, or f32 with rows of f16 and bf16: otherwise %s "
                 "names the type of the operands",
                 sw_operation_name(request->operation));
    } else if (adds && request->scale_bits != 0 &&
               !sw_scale_fits(sw_operation_op(request->operation), is_wide, request->scale_bits)) {
        snprintf(message, message_bytes,
                 "scale must be finite, and 1 or -1 unless the operands are f32 (operand_type)");
    } else {
        return true;
    }
    return false;
}

/* Can parts of these values be read or written? */
static bool parts_fit(const struct sw_table_shape *shape, const struct sw_request *request,
                      char *message, size_t message_bytes)
{
    const bool is_row = shape->value_format != SW_VALUE_INTEGER;
    const char *name = sw_operation_name(request->operation);
    if (!sw_operation_has_range(request->operation) &&
        (request->range_offset != 0 || request->range_bytes != 0)) {
        snprintf(message, message_bytes,
                 "only GETRANGE and SETRANGE have the fields range_offset and range_bytes: leave "
                 "them out");
    } else if (sw_operation_has_range(request->operation) && !is_row) {
        snprintf(message, message_bytes, "%s needs rows: start the server with --value-bytes",
                 name);
    } else if (sw_operation_has_range(request->operation) &&
               (request->range_bytes == 0 || request->range_bytes > shape->blob_bytes_max ||
                request->range_offset > shape->blob_bytes_max - request->range_bytes)) {
        snprintf(message, message_bytes,
                 "cannot read or write %u byte%s from byte %u on: values have %u bytes, and "
                 "range_bytes must be at least 1",
                 request->range_bytes, sw_plural_s(request->range_bytes), request->range_offset,
                 shape->blob_bytes_max);
    } else {
        return true;
    }
    return false;
}

bool sw_bulk_has_other_widths(const struct sw_table_shape *shape, const struct sw_request *request)
{
    const uint64_t no_body = 0; /* widths are checked first */
    return sw_request_check(request, shape->key_bytes, shape->value_bytes - shape->key_text_bytes,
                            UINT32_MAX, no_body) == SW_FRAME_E_WIDTH;
}

bool sw_bulk_bodies_fit(const struct sw_table_shape *shape, uint64_t bytes, char *message,
                        size_t message_bytes)
{
    if (bytes <= shape->frame_bytes_max) {
        return true;
    }
    snprintf(message, message_bytes,
             "the bodies of the frame and its reply take up to %llu bytes, more than %llu: send "
             "fewer keys at a time",
             (unsigned long long)bytes, (unsigned long long)shape->frame_bytes_max);
    return false;
}

enum sw_reply_status sw_bulk_validate(const struct sw_bulk *bulk, const struct sw_bulk_table *table,
                                      const struct sw_request *request, uint64_t body_bytes,
                                      uint64_t reply_bytes, char *message, size_t message_bytes)
{
    const struct sw_table_shape *shape = &table->batches->shape;
    if (shape->key_text_bytes > 0 &&
        (sw_operation_is_data(request->operation) || request->operation == SW_OPERATION_SCAN)) {
        snprintf(message, message_bytes,
                 "the server stores keys as strings (--resp-key-text-bytes), which bulk frames "
                 "cannot carry: use RESP");
        return SW_REPLY_BAD_REQUEST;
    }
    int error =
        sw_request_check(request, shape->key_bytes, shape->value_bytes - shape->key_text_bytes,
                         bulk->net->config->frame_ops_max, body_bytes);
    if (error < 0 || !table->operations[request->operation]) {
        return refuse_frame(shape, request, error, message, message_bytes);
    }
    if (!scores_fit(shape, request, message, message_bytes)) {
        return SW_REPLY_BAD_REQUEST;
    }
    if (sw_operation_adds(request->operation) && shape->value_format == SW_VALUE_STRING) {
        snprintf(message, message_bytes,
                 "ADD needs values that are numbers, not strings: start the server with "
                 "--value-format fixed");
        return SW_REPLY_BAD_REQUEST;
    }
    if (!sums_fit(request, message, message_bytes) ||
        !sw_bulk_expiry_fit(shape, request, message, message_bytes) ||
        !parts_fit(shape, request, message, message_bytes)) {
        return SW_REPLY_BAD_REQUEST;
    }
    const char *refusal = sw_bulk_cluster_refusal(bulk, request->operation);
    if (refusal != NULL) {
        snprintf(message, message_bytes, "%s", refusal);
        return SW_REPLY_BAD_REQUEST;
    }
    return sw_bulk_bodies_fit(shape, body_bytes + reply_bytes, message, message_bytes)
               ? SW_REPLY_OK
               : SW_REPLY_BAD_REQUEST;
}
