/* SPDX-License-Identifier: MIT
 *
 * request.c - starting the batch of a frame, or replying at once if it needs none.
 */
#include "server/bulk/request.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "proto/string_value.h"
#include "server/batch/refusals.h"
#include "server/bulk/admit.h"
#include "server/bulk/bulk.h"
#include "server/bulk/cluster.h"
#include "server/bulk/expiry_times.h"
#include "server/bulk/pairs.h"
#include "server/bulk/reply.h"
#include "server/bulk/segments.h"
#include "server/bulk/set_keepttl.h"
#include "server/bulk/set_range.h"
#include "server/bulk/shared_memory.h"
#include "server/bulk/stats_reply.h"
#include "server/bulk/table_frames.h"
#include "server/bulk/values.h"
#include "server/bulk/waits.h"
#include "server/config/live.h"
#include "server/region/memory.h"
#include "table/found_bytes.h"
#include "table/scale.h"

/* Submits the frame's batch, behind the earlier batches of its connection. */
static void launch(struct sw_bulk_frame *frame)
{
    frame->flight.is_shared = frame->ring != NULL && !frame->is_copied; /* it uses regions */
    frame->flight.hides_results =
        frame->flight.is_shared && sw_request_logs_results(&frame->request);
    sw_batches_start(frame->table->batches, &frame->flight, (uint32_t)frame->conn->peer.id);
}

/* Checks the lengths of strings, and clears the bytes behind them. If a string is too long for a
 * value, refuses the whole frame: sends the reply and returns false. The values are the frame's own
 * copy: strings of a ring are copied (ring_frames.c), so the client cannot change them after this
 * check. */
static bool check_values(struct sw_bulk_frame *frame)
{
    void *values = frame->arrays[SW_RING_OPERANDS];
    const struct sw_table_shape *shape = &frame->table->batches->shape;
    uint32_t first, length;
    const uint32_t each = sw_operation_has_pairs(frame->request.operation) ? 2 : 1;
    const uint32_t count = frame->request.count * each;
    if (values == NULL || shape->value_format != SW_VALUE_STRING ||
        sw_operation_has_range(frame->request.operation)) {
        return true;
    }
    assert(frame->memory != NULL);
    if (sw_bulk_strings_fit(values, shape->value_bytes, count, &first, &length)) {
        sw_string_values_clear_tails(values, shape->value_bytes, shape->value_bytes, count);
        return true;
    }
    struct sw_reply reply = {.request_id = frame->request.request_id,
                             .status = SW_REPLY_BAD_REQUEST};
    snprintf(reply.message, sizeof(reply.message),
             "value %u has a length of %u bytes: at most %u; nothing was changed", first, length,
             shape->blob_bytes_max);
    sw_bulk_reply(frame, &reply, NULL, 0);
    return false;
}

/* Are all keys in the user's ranges? If not, refuses the whole frame: sends the reply and returns
 * false. */
static bool check_keys(struct sw_bulk_frame *frame, const void *keys)
{
    if (frame->conn->login.ranges == NULL ||
        sw_bulk_permits_keys(frame->conn, &frame->request, keys)) {
        return true;
    }
    struct sw_reply reply = {.request_id = frame->request.request_id,
                             .status = SW_REPLY_NO_PERMISSION,
                             .message = SW_KEY_OUTSIDE_RANGES};
    sw_bulk_reply(frame, &reply, NULL, 0);
    return false;
}

/* Are all expiry times of the request valid, if it has any? If not, refuses the whole frame
 * likewise. */
static bool check_times(struct sw_bulk_frame *frame)
{
    const struct sw_request *request = &frame->request;
    if (request->times == SW_FRAME_TIMES_UNSAID && !sw_operation_needs_expiry(request->operation)) {
        return true;
    }
    struct sw_reply reply = {.request_id = request->request_id, .status = SW_REPLY_BAD_REQUEST};
    if (sw_bulk_expiry_begin(frame, reply.message, sizeof(reply.message))) {
        return true;
    }
    sw_bulk_reply(frame, &reply, NULL, 0);
    return false;
}

/* Returns the array at `offset` of the reply's body if the client wants it, otherwise NULL. */
static void *wanted(const struct sw_bulk_frame *frame, bool is, uint64_t offset)
{
    return is ? frame->reply + offset : NULL;
}

/* Sets the arrays of a request that came as a frame, or was copied as one. They lie in its body and
 * in the body of the reply. */
static void place_arrays(struct sw_bulk_frame *frame)
{
    const struct sw_request *request = &frame->request;
    const struct sw_body_layout body = sw_request_layout(request);
    const struct sw_body_layout *reply = &frame->reply_layout;
    const uint32_t evicted = request->want_evicted;
    void **arrays = frame->arrays;
    if (!sw_operation_is_data(request->operation)) { /* of a SCAN or STATS, if any */
        arrays[SW_RING_KEYS] = frame->reply;
        arrays[SW_RING_VALUES] = frame->reply + reply->second;
        arrays[SW_RING_SCORES_OUT] = wanted(frame, request->want_scores, reply->scores);
        return;
    }
    arrays[SW_RING_KEYS] = frame->memory + body.first;
    if (sw_operation_has_operands(request->operation)) {
        arrays[SW_RING_OPERANDS] = frame->memory + body.second;
    }
    if (request->has_scores) {
        arrays[SW_RING_SCORES] = frame->memory + body.scores;
    }
    arrays[SW_RING_VALUES] = wanted(frame, request->want_values, reply->first);
    arrays[SW_RING_FOUND] = wanted(frame, !request->declines_found, reply->second);
    if (sw_request_logs_results(request)) {
        uint8_t *scratch = frame->reply + reply->bytes;
        arrays[SW_RING_VALUES] = request->want_values ? arrays[SW_RING_VALUES] : scratch;
        scratch += sw_frame_align((uint64_t)request->count * request->value_bytes);
        arrays[SW_RING_FOUND] = request->declines_found ? scratch : arrays[SW_RING_FOUND];
    }
    if (sw_operation_answers_parts(request->operation) && request->want_values) {
        arrays[SW_RING_VALUES] = frame->reply + reply->bytes; /* the parts go to the reply */
    }
    arrays[SW_RING_NOT_ADMITTED] = wanted(frame, request->want_not_admitted, reply->not_admitted);
    arrays[SW_RING_SCORES_OUT] = wanted(frame, request->want_scores, reply->scores);
    arrays[SW_RING_EVICTED_KEYS] = wanted(frame, evicted != 0, reply->evicted_keys);
    arrays[SW_RING_EVICTED_VALUES] =
        wanted(frame, evicted & SW_FRAME_EVICTED_VALUES, reply->evicted_values);
    arrays[SW_RING_EVICTED_SCORES] =
        wanted(frame, evicted & SW_FRAME_EVICTED_SCORES, reply->evicted_scores);
}

/* Do keys and operands lie in the client's device memory? */
static bool are_on_device(const struct sw_bulk_frame *frame)
{
    const struct sw_region *keys = frame->regions[SW_RING_KEYS];
    const struct sw_region *operands = frame->regions[SW_RING_OPERANDS];
    return frame->memory == NULL && keys != NULL && keys->mapping == NULL &&
           (operands == NULL || operands->mapping == NULL);
}

/* Returns `found` of the batch: kernels write bytes to device memory, if the request wants bytes.
 */
static uint64_t *found_of(const struct sw_bulk_frame *frame)
{
    const struct sw_region *region = frame->regions[SW_RING_FOUND];
    void *found = frame->arrays[SW_RING_FOUND];
    return frame->request.found_bytes && region != NULL && region->mapping == NULL
               ? sw_found_as_bytes(found)
               : found;
}

struct sw_batch sw_bulk_batch_of(const struct sw_bulk_frame *frame)
{
    const struct sw_request *request = &frame->request;
    void *const *arrays = frame->arrays;
    return (struct sw_batch){
        .kind = SW_BATCH_OPERATIONS,
        .op = sw_operation_op(request->operation),
        .shared = frame->ring != NULL && frame->memory == NULL,
        .on_device = are_on_device(frame),
        .count = request->count,
        .keys = arrays[SW_RING_KEYS],
        .values = arrays[SW_RING_OPERANDS],
        .wide_operands = sw_request_is_wide(request),
        .scores = arrays[SW_RING_SCORES],
        .previous = arrays[SW_RING_VALUES],
        .found = found_of(frame),
        .not_admitted = arrays[SW_RING_NOT_ADMITTED],
        .scores_out = arrays[SW_RING_SCORES_OUT],
        .leftover_keys = arrays[SW_RING_EVICTED_KEYS],
        .leftover_values = arrays[SW_RING_EVICTED_VALUES],
        .leftover_scores = arrays[SW_RING_EVICTED_SCORES],
    };
}

/* Multiplies the operands, which lie in the frame's memory. */
static void scale(const struct sw_bulk_frame *frame)
{
    const struct sw_request *request = &frame->request;
    if (request->scale_bits != 0) {
        sw_scale_operands(sw_operation_op(request->operation), sw_request_is_wide(request),
                          request->scale_bits, frame->arrays[SW_RING_OPERANDS],
                          (uint64_t)request->count * sw_request_operand_bytes(request));
    }
}

/* Does the node own all keys of the frame's batch? Outside a cluster it does. If not, refuses the
 * whole frame likewise. */
static bool check_slots(struct sw_bulk_frame *frame)
{
    return frame->bulk->net->cluster.view == NULL || sw_bulk_owns_keys(frame);
}

/* Starts an operation on keys. A function of its own in every build: test_walk.py counts the files
 * that a frame passes from here to the table. */
__attribute__((noinline)) static void start_data(struct sw_bulk_frame *frame)
{
    struct sw_batch *batch = &frame->flight.batch;
    *batch = sw_bulk_batch_of(frame);
    if (!sw_flight_reads(batch)) {
        batch->expire_at = sw_batches_default_time(frame->table->batches);
    }
    scale(frame);
    if (check_times(frame) && check_keys(frame, batch->keys) && check_slots(frame) &&
        check_values(frame)) {
        frame->keeps_ttl = sw_bulk_is_set_keepttl(&frame->table->batches->shape, &frame->request);
        if (frame->keeps_ttl) {
            sw_bulk_keepttl_begin(frame);
        } else if (sw_operation_writes_parts(frame->request.operation)) {
            sw_bulk_set_range_begin(frame);
        } else if (sw_operation_has_pairs(frame->request.operation)) {
            sw_bulk_pairs_begin(frame);
        }
        launch(frame);
    }
}

static void start_scan(struct sw_bulk_frame *frame)
{
    const struct sw_request *request = &frame->request;
    frame->flight.batch = (struct sw_batch){
        .kind = SW_BATCH_SCAN,
        .count = request->count,
        .scan.cursor = request->cursor,
        .scan.keys = frame->arrays[SW_RING_KEYS],
        .scan.values = frame->arrays[SW_RING_VALUES],
        .scan.scores = frame->arrays[SW_RING_SCORES_OUT],
        .scan.by_score = request->by_score,
        .scan.score_min = request->score_min,
        .scan.score_max = request->score_max,
    };
    launch(frame);
}

static void start_clear(struct sw_bulk_frame *frame)
{
    const struct sw_cluster_view *view = frame->bulk->net->cluster.view;
    if (view == NULL || !view->is_target) {
        frame->flight.batch = (struct sw_batch){.kind = SW_BATCH_CLEAR};
        launch(frame);
        return;
    }
    struct sw_reply reply = {.request_id = frame->request.request_id,
                             .status = SW_REPLY_BAD_REQUEST};
    snprintf(reply.message, sizeof(reply.message), SW_NO_CLEAR);
    sw_bulk_reply(frame, &reply, NULL, 0);
}

static void start_range(struct sw_bulk_frame *frame, enum sw_batch_kind kind)
{
    frame->flight.batch = (struct sw_batch){
        .kind = kind,
        .range.min = frame->request.score_min,
        .range.max = frame->request.score_max,
    };
    launch(frame);
}

static void start_epoch(struct sw_bulk_frame *frame)
{
    struct sw_reply reply = {.request_id = frame->request.request_id};
    if (frame->request.epoch <= UINT32_MAX) {
        frame->flight.batch =
            (struct sw_batch){.kind = SW_BATCH_EPOCH, .epoch = frame->request.epoch};
        launch(frame);
        return;
    }
    reply.status = SW_REPLY_BAD_REQUEST;
    snprintf(reply.message, sizeof(reply.message), "epoch %llu is too large: it must be below 2^32",
             (unsigned long long)frame->request.epoch);
    sw_bulk_reply(frame, &reply, NULL, 0);
}

static void start_resize(struct sw_bulk_frame *frame)
{
    uint64_t wanted = frame->request.capacity_slots;
    uint64_t max = frame->table->batches->shape.max_capacity_slots;
    struct sw_reply reply = {.request_id = frame->request.request_id};
    if (wanted >= 1 && wanted <= max) {
        frame->flight.batch = (struct sw_batch){.kind = SW_BATCH_RESIZE, .capacity = wanted};
        launch(frame);
        return;
    }
    reply.status = SW_REPLY_BAD_REQUEST;
    snprintf(reply.message, sizeof(reply.message), SW_RESIZE_RANGE, (unsigned long long)wanted,
             (unsigned long long)max);
    sw_bulk_reply(frame, &reply, NULL, 0);
}

static void fill_info(const struct sw_bulk_frame *frame, struct sw_server_info *info)
{
    const struct sw_bulk *bulk = frame->bulk;
    const struct sw_batches *batches = frame->table->batches;
    struct sw_table_info table;
    sw_table_info(batches->table, &table);
    memset(info, 0, sizeof(*info));
    strncpy(info->version, SHERWOOD_VERSION, sizeof(info->version) - 1);
    strncpy(info->backend, table.backend_name, sizeof(info->backend) - 1);
    strncpy(info->backend_reason, table.backend_reason, sizeof(info->backend_reason) - 1);
    info->key_bytes = table.key_bytes;
    info->value_bytes = table.value_bytes - table.key_text_bytes;
    info->frame_ops_max = bulk->net->config->frame_ops_max;
    info->requests_in_flight_max = SW_LIVE(bulk->net->config->frames_in_flight_max);
    info->capacity_slots = table.capacity_slots;
    info->occupied_max = table.occupied_max;
    strncpy(info->engine, table.engine_name, sizeof(info->engine) - 1);
    info->value_format = (uint32_t)batches->shape.value_format;
    info->frame_bytes_max = batches->shape.frame_bytes_max;
    info->takes_times = batches->shape.expires;
    sw_bulk_cluster_info(bulk, info);
    info->resp_keys = batches->config->resp_keys;
    info->value_type = sw_config_value_type(batches->config);
    info->dimension = sw_config_dimension(batches->config);
    info->run = bulk->owner.run;
    if (batches->wal != NULL) {
        info->incarnation = sw_wal_incarnation(batches->wal);
    }
    if (batches->shape.has_scores) {
        strncpy(info->policy, sw_cache_policy_name(batches->shape.policy),
                sizeof(info->policy) - 1);
    }
    sw_bulk_table_info(frame, info);
}

#define SAME_FORMAT(name, number, word)             \
    static_assert((int)SW_VALUE_##name == (number), \
                  "the frame has the number of the table's format");
SW_FRAME_VALUES_MAP(SAME_FORMAT)

static void start_stats(struct sw_bulk_frame *frame)
{
    const struct sw_bulk_owner *owner = &frame->bulk->owner;
    struct sw_reply reply = {.request_id = frame->request.request_id,
                             .count = sw_bulk_stats_count(frame->request.count)};
    struct sw_server_stats snapshot;
    if (frame->ring != NULL && reply.count > frame->request.count) {
        reply.count = frame->request.count; /* 0 asks for all, which has no place in a region */
    }
    owner->snapshot(owner->server, &snapshot);
    sw_table_info(frame->table->batches->table, &snapshot.info);
    sw_table_stats(frame->table->batches->table, &snapshot.stats);
    reply.count = sw_bulk_stats_write(&snapshot, frame->arrays[SW_RING_KEYS], reply.count);
    frame->reply_layout = sw_reply_layout(&reply, SW_OPERATION_STATS);
    uv_buf_t body = uv_buf_init((char *)frame->reply, (unsigned)frame->reply_layout.bytes);
    sw_bulk_reply(frame, &reply, &body, 1);
}

/* Starts an operation without keys. */
static void start_control(struct sw_bulk_frame *frame)
{
    struct sw_reply reply = {.request_id = frame->request.request_id};
    switch (frame->request.operation) {
    case SW_OPERATION_SCAN:
        start_scan(frame);
        return;
    case SW_OPERATION_CLEAR:
        start_clear(frame);
        return;
    case SW_OPERATION_RESIZE:
        start_resize(frame);
        return;
    case SW_OPERATION_COUNT_SCORES:
        start_range(frame, SW_BATCH_COUNT_SCORES);
        return;
    case SW_OPERATION_ERASE_SCORES:
        start_range(frame, SW_BATCH_ERASE_SCORES);
        return;
    case SW_OPERATION_EPOCH:
        start_epoch(frame);
        return;
    case SW_OPERATION_HELLO:
        reply.has_info = true;
        fill_info(frame, &reply.info);
        break;
    case SW_OPERATION_STATS:
        start_stats(frame);
        return;
    case SW_OPERATION_TOPOLOGY:
        sw_bulk_start_topology(frame);
        return;
    case SW_OPERATION_WAIT_DURABLE:
    case SW_OPERATION_WAIT:
    case SW_OPERATION_DIGEST:
        sw_bulk_start_wait(frame);
        return;
    case SW_OPERATION_TABLE:
        sw_bulk_start_change(frame);
        return;
    case SW_OPERATION_TABLES:
        sw_bulk_start_tables(frame);
        return;
    case SW_OPERATION_ATTACH:
        sw_bulk_attach(frame);
        return;
    case SW_OPERATION_REGION:
        sw_bulk_register(frame);
        return;
    case SW_OPERATION_RELEASE:
        sw_bulk_release(frame);
        return;
    default: /* PING */
        break;
    }
    sw_bulk_reply(frame, &reply, NULL, 0);
}

static void start(struct sw_bulk_frame *frame)
{
    struct sw_conn *conn = frame->conn;
    const bool is_data = sw_operation_is_data(frame->request.operation);
    struct sw_reply reply = {.request_id = frame->request.request_id};
    assert(frame->received == frame->body_bytes);
    frame->flight.done = sw_bulk_reply_to_batch;
    conn->last_request = sw_clients_frame((uint32_t)frame->request.operation);
    sw_conn_accept(conn, is_data);
    if (frame->segments != NULL) {
        sw_bulk_start_segments(frame);
        return;
    }
    if (!sw_bulk_enter_table(frame)) {
        return;
    }
    if (frame->ring == NULL || frame->is_copied) {
        place_arrays(frame);
    }
    reply.status =
        sw_bulk_role_refuses(frame->bulk, &frame->request, reply.message, sizeof(reply.message));
    if (reply.status != SW_REPLY_OK) { /* the role changed while the body arrived */
        sw_bulk_reply(frame, &reply, NULL, 0);
    } else if (is_data) {
        start_data(frame);
    } else {
        start_control(frame);
    }
}

void sw_bulk_start(struct sw_bulk_frame *frame)
{
    struct sw_iteration *iteration = &frame->bulk->net->iteration;
    const struct sw_request *request = &frame->request;
    const uint32_t cost =
        sw_operation_is_data(request->operation) ? request->count / SW_COST_KEYS : SW_COST_REPORT;
    start(frame);
    (void)sw_iteration_add(iteration, cost);
}
