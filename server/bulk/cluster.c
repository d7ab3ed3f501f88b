/* SPDX-License-Identifier: MIT
 *
 * cluster.c - frames in cluster mode: the check of their keys, and the topology for clients.
 */
#include "server/bulk/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/map.h"
#include "server/bulk/reply.h"

/* Bytes of a topology in one reply. */
#define TOPOLOGY_BYTES_MAX 8192

/* --- the check of keys ------------------------------------------------------------------------ */

static uint64_t key_at(const void *keys, uint32_t key_bytes, uint32_t at)
{
    return key_bytes == sizeof(uint32_t) ? ((const uint32_t *)keys)[at]
                                         : ((const uint64_t *)keys)[at];
}

/* Returns the place of the first key in a slot of another node, or `count`. */
static uint32_t first_foreign(const struct sw_cluster_view *view, const void *keys,
                              uint32_t key_bytes, uint32_t count)
{
    const uint32_t *narrow = keys;
    const uint64_t *wide = keys;
    uint32_t at = 0;
    if (view->choices.raw_bytes > 0) {
        while (at < count &&
               sw_cluster_owns(view, sw_cluster_slot(view, key_at(keys, key_bytes, at)))) {
            at++;
        }
    } else if (key_bytes == sizeof(*narrow)) {
        while (at < count && sw_cluster_owns(view, sw_slot_of_u32(view->tables, narrow[at]))) {
            at++;
        }
    } else {
        while (at < count && sw_cluster_owns(view, sw_slot_of_u64(view->tables, wide[at]))) {
            at++;
        }
    }
    return at;
}

/* The last epoch at which this node may have had slots that it lost, or served none; 0: none. */
static uint64_t lost_after(const struct sw_cluster_view *view)
{
    const struct sw_topology_node *me = sw_cluster_me(view);
    return me == NULL ? 0 : view->topology->shards[me->shard].lost_after;
}

static void refuse_wrong_shard(struct sw_bulk_frame *frame, struct sw_reply *reply)
{
    SW_COUNT(frame->bulk->net->counters, cluster_wrong_shard, 1);
    reply->request_id = frame->request.request_id;
    reply->status = SW_REPLY_WRONG_SHARD;
    reply->map_epoch = sw_bulk_map_epoch(frame->bulk);
    sw_bulk_reply(frame, reply, NULL, 0);
}

/* Refuses a frame with keys of a slot that is being handed over. Also refuses frames that the
 * client sent after such a frame, before it received the reply. */
static void refuse_frozen(struct sw_bulk_frame *frame, struct sw_reply *reply)
{
    SW_COUNT(frame->bulk->net->counters, cluster_frozen, 1);
    sw_bulk_of(frame->conn)->frozen++;
    reply->request_id = frame->request.request_id;
    reply->status = SW_REPLY_SLOT_FROZEN;
    reply->map_epoch = sw_bulk_map_epoch(frame->bulk);
    snprintf(reply->message, sizeof(reply->message),
             "a slot is being handed over to another node: try again; nothing was changed");
    sw_bulk_reply(frame, reply, NULL, 0);
}

/* Refuses a frame with a key in a slot of another node, as the view has it; key `at` is its first.
 */
static void refuse_foreign(struct sw_bulk_frame *frame, const struct sw_cluster_view *view,
                           const void *keys, uint32_t at)
{
    char line[SW_CLUSTER_LINE_BYTES];
    uint64_t key = key_at(keys, frame->request.key_bytes, at);
    struct sw_reply reply = {.first_bad_index = at, .slot = sw_cluster_slot(view, key)};
    if (view->owner[reply.slot] == SW_CLUSTER_FROZEN) {
        refuse_frozen(frame, &reply);
        return;
    }
    sw_cluster_refusal(view, reply.slot, line);
    snprintf(reply.message, sizeof(reply.message),
             "key %u of the frame, %" PRIu64
             ", belongs to another node (%.100s): load the topology again; nothing was changed",
             at, key, line);
    refuse_wrong_shard(frame, &reply);
}

/* May the table check the slots of the keys itself? Not while slots are frozen: later frames depend
 * on whether this one is refused. Not if reads wait for the log: the view may be freed before their
 * replies are sent. */
static bool is_filtered(const struct sw_bulk_frame *frame, const struct sw_cluster_view *view)
{
    const struct sw_batches *batches = frame->table->batches;
    return batches->shape.filters_slots && !batches->reads_wait && !view->has_frozen &&
           SW_OPS_HAS(SW_OPS_READ, frame->flight.batch.op);
}

bool sw_bulk_owns_keys(struct sw_bulk_frame *frame)
{
    const struct sw_cluster_view *view = sw_bulk_view(frame->bulk);
    const struct sw_request *request = &frame->request;
    struct sw_batch *batch = &frame->flight.batch;
    if (view == NULL) {
        return true;
    }
    struct sw_reply reply = {.first_bad_index = -1};
    if (request->map_epoch != 0 && request->frozen_seen != sw_bulk_of(frame->conn)->frozen) {
        refuse_frozen(frame, &reply);
        return false;
    }
    if (request->map_epoch != 0 && request->map_epoch <= lost_after(view)) {
        snprintf(reply.message, sizeof(reply.message),
                 "this node may have lost slots since epoch %" PRIu64
                 ": load the topology again; nothing was done",
                 request->map_epoch);
        refuse_wrong_shard(frame, &reply);
        return false;
    }
    if (is_filtered(frame, view)) {
        batch->filter = &view->owned;
        return true;
    }
    uint32_t at = first_foreign(view, batch->keys, request->key_bytes, request->count);
    if (at < request->count) {
        refuse_foreign(frame, view, batch->keys, at);
    }
    return at == request->count;
}

bool sw_bulk_owned_keys(struct sw_bulk_frame *frame)
{
    const struct sw_batch *batch = &frame->flight.batch;
    if (batch->filter == NULL || batch->first_outside == batch->count) {
        return true;
    }
    refuse_foreign(frame, SW_CONTAINER(batch->filter, const struct sw_cluster_view, owned),
                   batch->keys, batch->first_outside);
    return false;
}

uint32_t sw_bulk_keep_owned(struct sw_bulk_frame *frame, const struct sw_batch *batch)
{
    const struct sw_cluster_view *view = sw_bulk_view(frame->bulk);
    const struct sw_table_shape *shape = &frame->table->batches->shape;
    const uint32_t kb = shape->key_bytes, vb = shape->value_bytes;
    uint8_t *keys = batch->scan.keys, *values = batch->scan.values;
    uint32_t kept = 0;
    if (view == NULL || !view->may_have_foreign) {
        return batch->scan.got;
    }
    for (uint32_t i = 0; i < batch->scan.got; i++) {
        if (!sw_cluster_holds(view, sw_cluster_slot(view, key_at(keys, kb, i)))) {
            continue;
        }
        memmove(keys + (size_t)kept * kb, keys + (size_t)i * kb, kb);
        memmove(values + (size_t)kept * vb, values + (size_t)i * vb, vb);
        if (batch->scan.scores != NULL) {
            batch->scan.scores[kept] = batch->scan.scores[i];
        }
        kept++;
    }
    return kept;
}

/* --- the topology ----------------------------------------------------------------------------- */

const char *sw_bulk_cluster_refusal(const struct sw_bulk *bulk, uint32_t operation)
{
    const struct sw_cluster_view *view = sw_bulk_view(bulk);
    if (view != NULL && operation == SW_OPERATION_ATTACH) {
        return "shared memory is not available in cluster mode, because the server does not check "
               "the slots of keys in regions: use the socket";
    }
    if (operation != SW_OPERATION_TOPOLOGY || (view != NULL && view->topology != NULL)) {
        return NULL;
    }
    return view == NULL ? "the server is not in cluster mode (--cluster-config)"
                        : "the server has no topology yet (--cluster-config, CLUSTER SETTOPOLOGY)";
}

void sw_bulk_cluster_info(const struct sw_bulk *bulk, struct sw_server_info *info)
{
    info->is_cluster = sw_bulk_view(bulk) != NULL;
    info->map_epoch = sw_bulk_map_epoch(bulk);
}

uint32_t sw_bulk_topology_count(uint32_t wanted)
{
    return wanted == 0 || wanted > TOPOLOGY_BYTES_MAX ? TOPOLOGY_BYTES_MAX : wanted;
}

void sw_bulk_start_topology(struct sw_bulk_frame *frame)
{
    const struct sw_cluster_view *view = sw_bulk_view(frame->bulk);
    struct sw_reply reply = {.request_id = frame->request.request_id};
    uint64_t from = frame->request.cursor;
    uint8_t *bytes = NULL;
    size_t size = sw_map_encode(view->topology, &bytes);
    if (size == 0 || from > size) {
        reply.status = size == 0 ? SW_REPLY_SERVER_ERROR : SW_REPLY_BAD_REQUEST;
        snprintf(reply.message, sizeof(reply.message), "%s",
                 size == 0 ? "not enough memory for the topology: try again"
                           : "the cursor is past the end of the topology: begin again with 0");
        free(bytes);
        sw_bulk_reply(frame, &reply, NULL, 0);
        return;
    }
    uint32_t most = sw_bulk_topology_count(frame->request.count);
    reply.count = size - from < most ? (uint32_t)(size - from) : most;
    reply.cursor = from + reply.count == size ? 0 : from + reply.count;
    reply.map_epoch = view->topology->epoch;
    uint64_t whole = sw_frame_align(reply.count);
    memcpy(frame->reply, bytes + from, reply.count);
    memset(frame->reply + reply.count, 0, whole - reply.count);
    free(bytes);
    uv_buf_t body = uv_buf_init((char *)frame->reply, (unsigned)whole);
    sw_bulk_reply(frame, &reply, &body, whole > 0);
}
