/* SPDX-License-Identifier: MIT
 *
 * complete.c - completing a request of a ring: its regions have one user less.
 */
#include "server/bulk/complete.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "server/bulk/bulk.h"
#include "server/bulk/region_copies.h"
#include "server/bulk/shared_memory.h"
#include "table/found_bytes.h"

/* --- results that are copied ------------------------------------------------------------------ */

#define OUTPUTS 7
/* An output, and its offset in the body of the reply. */
struct part {
    enum sw_ring_array array;
    uint64_t offset;
};

static void find_outputs(const struct sw_body_layout *reply, struct part parts[OUTPUTS])
{
    parts[0] = (struct part){SW_RING_VALUES, reply->first};
    parts[1] = (struct part){SW_RING_FOUND, reply->second};
    parts[2] = (struct part){SW_RING_NOT_ADMITTED, reply->not_admitted};
    parts[3] = (struct part){SW_RING_SCORES_OUT, reply->scores};
    parts[4] = (struct part){SW_RING_EVICTED_KEYS, reply->evicted_keys};
    parts[5] = (struct part){SW_RING_EVICTED_VALUES, reply->evicted_values};
    parts[6] = (struct part){SW_RING_EVICTED_SCORES, reply->evicted_scores};
}

static bool is_evicted(enum sw_ring_array array)
{
    return array == SW_RING_EVICTED_KEYS || array == SW_RING_EVICTED_VALUES ||
           array == SW_RING_EVICTED_SCORES;
}

/* Begins to copy the results to the regions, as sw_bulk_copy does. */
static int copy_results(struct sw_bulk_frame *frame, const struct sw_reply *reply,
                        void (*copied)(struct sw_bulk_frame *frame, int status))
{
    struct sw_ring_extent extents[SW_RING_ARRAYS];
    struct sw_memory_copy list[OUTPUTS];
    struct part parts[OUTPUTS];
    uint32_t count = 0;
    sw_submission_extents(&frame->request, extents);
    find_outputs(&frame->reply_layout, parts);
    for (int i = 0; i < OUTPUTS; i++) {
        const enum sw_ring_array array = parts[i].array;
        /* behind the evicted entries lies memory of earlier requests */
        const uint64_t bytes =
            is_evicted(array) ? extents[array].bytes / frame->request.count * reply->evicted_count
                              : extents[array].bytes;
        if (bytes > 0) {
            list[count++] = (struct sw_memory_copy){.memory = &frame->regions[array]->memory,
                                                    .offset = frame->offsets[array],
                                                    .bytes = bytes,
                                                    .io = frame->reply + parts[i].offset,
                                                    .stores = true};
        }
    }
    return count == 0 ? SW_OK : sw_bulk_copy(frame, list, count, copied);
}

/* --- completing ------------------------------------------------------------------------------- */

/* Expands the bits of `found` in host memory to bytes, from the last one on: a byte lies at or
 * behind the bits that are still to be read. Kernels write bytes to device memory themselves. The
 * client may change the memory meanwhile, and then gets other bytes. */
static void expand_found(const struct sw_bulk_frame *frame)
{
    const struct sw_region *region = frame->regions[SW_RING_FOUND];
    uint8_t *array = frame->arrays[SW_RING_FOUND];
    if (!frame->request.found_bytes || region == NULL || region->mapping == NULL) {
        return;
    }
    for (uint64_t e = ((uint64_t)frame->request.count + 7) / 8; e-- > 0;) {
        const uint64_t bytes = sw_bits_to_bytes(array[e]);
        memcpy(array + e * 8, &bytes, sizeof(bytes));
    }
}

static void finish(struct sw_bulk_frame *frame, const struct sw_reply *reply)
{
    struct sw_conn *conn = frame->conn;
    const bool data = sw_operation_is_data(frame->request.operation);
    sw_ring_complete(&frame->ring->ring, reply);
    sw_bulk_end_use(frame);
    sw_bulk_frame_put(frame);
    sw_conn_request_done(conn, data);
}

static void fail_copies(struct sw_reply *reply, int status)
{
    reply->status = SW_REPLY_SERVER_ERROR;
    snprintf(reply->message, sizeof(reply->message),
             "carried out, but its results cannot be copied to the regions: %s",
             sw_status_text(status));
}

/* The results are copied. The completion lies where the head of a frame would. */
static void on_copied(struct sw_bulk_frame *frame, int status)
{
    struct sw_completion completion;
    struct sw_reply reply;
    memcpy(&completion, frame->head, sizeof(completion));
    sw_completion_decode(&completion, &frame->request, &reply);
    if (status != SW_OK) {
        fail_copies(&reply, status);
    }
    finish(frame, &reply);
}

void sw_bulk_complete(struct sw_bulk_frame *frame, const struct sw_reply *reply)
{
    static_assert(sizeof(struct sw_completion) <= sizeof(frame->head), "a completion fits");
    struct sw_completion completion = {0};
    int status = SW_OK;
    if (frame->conn->state == SW_CONN_CLOSED) {
        /* the client is gone, and its connection takes no more requests */
    } else if (frame->is_copied && reply->status == SW_REPLY_OK) {
        sw_completion_encode(reply, &completion);
        memcpy(frame->head, &completion, sizeof(completion));
        status = copy_results(frame, reply, on_copied);
    } else {
        expand_found(frame);
    }
    if (status == SW_OK) {
        finish(frame, reply);
    } else if (status != SW_PENDING) {
        on_copied(frame, status);
    }
}
