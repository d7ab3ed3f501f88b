/* SPDX-License-Identifier: MIT
 *
 * expiry_times.c - reads the expiry times of a frame, and finds the keys whose time changed.
 */
#include "server/bulk/expiry_times.h"

#include <inttypes.h>
#include <stdio.h>

#include "server/bulk/bulk.h"
#include "server/bulk/set_keepttl.h"
#include "table/expiring.h"

#define NO_TIME \
    "an expiry time must be from 1 to 2^63 - 1 milliseconds; a relative one must end before that"

/* --- the header ------------------------------------------------------------------------------- */

static bool is_time(uint64_t time_ms)
{
    return time_ms > 0 && time_ms <= SW_FRAME_TIME_MAX;
}

/* What is wrong with KEEP; NULL: nothing. */
static const char *wrong_keep(const struct sw_table_shape *shape, const struct sw_request *request)
{
    if (request->operation != SW_OPERATION_SET && request->operation != SW_OPERATION_SET_PRESENT) {
        return "only SET and SET_PRESENT have times KEEP: other operations always keep the expiry "
               "time of a present key";
    }
    return sw_bulk_is_set_keepttl(shape, request) && request->count > shape->batch_ops_max / 2
               ? "SET with times KEEP needs two operations per key while --default-ttl is set: "
                 "split the frame in two"
               : NULL;
}

/* What is wrong with the fields for every server; NULL: nothing. */
static const char *wrong_fields(const struct sw_request *request)
{
    const bool has_any = request->time_ms != 0 || request->has_times;
    const bool gives = request->times == SW_FRAME_TIMES_AT || request->times == SW_FRAME_TIMES_IN;
    if (request->times > SW_FRAME_TIMES_KEEP) {
        return "times must be UNSAID, AT, IN or KEEP";
    }
    if (!gives && has_any) {
        return "time_ms and has_times need times AT or IN";
    }
    if (gives && request->has_times && request->time_ms != 0) {
        return "a request has either one expiry time for all keys (time_ms), or one for each "
               "(has_times)";
    }
    if (gives && !request->has_times && !is_time(request->time_ms)) {
        return NO_TIME;
    }
    if (sw_operation_expires(request->operation) && !gives) {
        return "EXPIRE needs an expiry time: set times to AT or IN";
    }
    if (!sw_operation_expires(request->operation) && request->times != SW_FRAME_TIMES_UNSAID &&
        !sw_operation_takes_times(request->operation)) {
        return "only EXPIRE and operations that store values have times: leave the field out";
    }
    return NULL;
}

bool sw_bulk_expiry_fit(const struct sw_table_shape *shape, const struct sw_request *request,
                        char *message, size_t message_bytes)
{
    const char *wrong = wrong_fields(request);
    if (wrong == NULL && request->times == SW_FRAME_TIMES_KEEP) {
        wrong = wrong_keep(shape, request);
    }
    const bool gives = request->times == SW_FRAME_TIMES_AT || request->times == SW_FRAME_TIMES_IN;
    if (wrong == NULL && gives && !shape->expires) {
        snprintf(message, message_bytes, "the %s engine has no expiry times%s", shape->engine_name,
                 sw_table_no_times(shape));
        return false;
    }
    if (wrong != NULL) {
        snprintf(message, message_bytes, "%s", wrong);
    }
    return wrong == NULL;
}

/* --- starting --------------------------------------------------------------------------------- */

/* Returns the memory behind the body of the reply: the times before the operations, then the bits
 * of the present keys. */
static uint64_t *times_before(const struct sw_bulk_frame *frame)
{
    return (uint64_t *)(void *)(frame->reply + frame->reply_layout.bytes);
}

uint64_t sw_bulk_expiry_bytes(const struct sw_request *request)
{
    return sw_frame_align((uint64_t)request->count * sizeof(uint64_t)) +
           (request->declines_found ? sw_frame_align(sw_found_bytes(request->count)) : 0);
}

/* Adds `base` to the times of the body, which lie in the frame's memory. If one is not a valid
 * time, returns false and sets *wrong to the first such time. */
static bool read_times(struct sw_bulk_frame *frame, uint64_t base, struct sw_batch *batch,
                       uint64_t *wrong)
{
    const struct sw_request *request = &frame->request;
    uint64_t *times = (uint64_t *)(void *)(frame->memory + sw_request_layout(request).times);
    for (uint32_t i = 0; i < request->count; i++) {
        if (!is_time(times[i]) || times[i] > SW_FRAME_TIME_MAX - base) {
            *wrong = times[i];
            return false;
        }
        times[i] += base;
    }
    batch->expires = times;
    return true;
}

/* Gives the batch the times of the request. If one is not a valid time, returns false and sets
 * *wrong to the first such time. */
static bool set_batch_times(struct sw_bulk_frame *frame, struct sw_batch *batch, uint64_t *wrong)
{
    const struct sw_request *request = &frame->request;
    struct sw_table *table = frame->table->batches->table;
    const uint64_t base =
        request->times == SW_FRAME_TIMES_IN ? sw_table_clock(table, sw_flight_wall_ms()) : 0;
    sw_table_will_expire(table);
    if (request->has_times) {
        return read_times(frame, base, batch, wrong);
    }
    if (request->time_ms > SW_FRAME_TIME_MAX - base) {
        *wrong = request->time_ms;
        return false;
    }
    batch->expire_at = base + request->time_ms;
    return true;
}

/* Does the operation remove expiry times, as PERSIST does? */
static bool persists(const struct sw_request *request)
{
    return sw_operation_retimes(request->operation) && !sw_operation_expires(request->operation);
}

/* Sets up the batch. `some`: a key may have an expiry time. Otherwise KEEP and PERSIST change
 * nothing, so the batch is no write of times that the log and the replicas record. */
static void place(struct sw_bulk_frame *frame, bool some)
{
    const struct sw_request *request = &frame->request;
    struct sw_batch *batch = &frame->flight.batch;
    if (sw_operation_answers_times(request->operation)) {
        batch->expires_out = batch->previous;
        batch->previous = NULL;
    }
    if (persists(request)) {
        batch->op = some ? SW_EXPIRE : SW_GET;
        batch->expire_at = 0; /* never */
    }
    if (sw_bulk_shows_expiry(request)) {
        batch->expires_out = times_before(frame);
        batch->found = request->declines_found
                           ? times_before(frame) + sw_frame_align(request->count * 8ULL) / 8
                           : batch->found;
    }
    if (request->times == SW_FRAME_TIMES_KEEP) {
        batch->expire_at = some ? SW_EXPIRE_KEEP : 0;
    }
}

bool sw_bulk_expiry_begin(struct sw_bulk_frame *frame, char *message, size_t message_bytes)
{
    const uint32_t times = frame->request.times;
    uint64_t wrong = 0;
    place(frame, sw_table_may_expire(frame->table->batches->table));
    if (times == SW_FRAME_TIMES_UNSAID || times == SW_FRAME_TIMES_KEEP ||
        set_batch_times(frame, &frame->flight.batch, &wrong)) {
        return true;
    }
    snprintf(message, message_bytes, "time %" PRIu64 ": " NO_TIME "; nothing was changed", wrong);
    return false;
}

/* --- the reply -------------------------------------------------------------------------------- */

uint64_t sw_bulk_expiry_end(const struct sw_bulk_frame *frame)
{
    const struct sw_batch *batch = &frame->flight.batch;
    const bool removes = persists(&frame->request);
    uint64_t hits = 0;
    for (uint32_t i = 0; i < batch->count; i += 64) {
        uint64_t word = batch->found[i / 64];
        for (uint32_t b = 0; b < 64 && i + b < batch->count; b++) {
            const uint64_t before = batch->expires_out[i + b];
            const uint64_t at = batch->expires != NULL ? batch->expires[i + b] : batch->expire_at;
            const bool holds = removes ? before != 0 : sw_expire_holds(batch->op, before, at);
            word &= ~((uint64_t)!holds << b);
        }
        batch->found[i / 64] = word;
        hits += (uint64_t)__builtin_popcountll(word);
    }
    return hits;
}
