/* SPDX-License-Identifier: MIT
 *
 * region.c - the records of a ring: converts them to requests, and sizes their arrays.
 */
#include "proto/region.h"

#include <assert.h>
#include <string.h>

#include "proto/sherwood.pb-c.h"

static_assert(sizeof(struct sw_submission) == 128, "two lines");
static_assert(sizeof(struct sw_completion) == 384, "six lines");
static_assert((int)SW_REGION_RING == (int)SHERWOOD__REGION_KIND__REGION_RING &&
                  (int)SW_REGION_MEMFD == (int)SHERWOOD__REGION_KIND__REGION_MEMFD &&
                  (int)SW_REGION_CUDA_IPC == (int)SHERWOOD__REGION_KIND__REGION_CUDA_IPC &&
                  (int)SW_REGION_TABLE == (int)SHERWOOD__REGION_KIND__REGION_TABLE,
              "sherwood.proto: RegionKind");

bool sw_ring_entries_are_valid(uint32_t entries)
{
    return entries >= SW_RING_ENTRIES_MIN && entries <= SW_RING_ENTRIES_MAX &&
           (entries & (entries - 1)) == 0;
}

uint64_t sw_ring_bytes(uint32_t entries)
{
    const uint64_t pair = sizeof(struct sw_submission) + sizeof(struct sw_completion);
    uint64_t bytes = SW_RING_RECORDS + pair * entries;
    return (bytes + SW_REGION_PAGE - 1) / SW_REGION_PAGE * SW_REGION_PAGE;
}

/* --- submissions ------------------------------------------------------------------------------ */

static bool goes_by_socket(uint32_t operation)
{
    return operation == SW_OPERATION_HELLO || operation == SW_OPERATION_ATTACH ||
           operation == SW_OPERATION_REGION || operation == SW_OPERATION_RELEASE ||
           operation == SW_OPERATION_BELL || operation == SW_OPERATION_WAIT ||
           operation == SW_OPERATION_DIGEST || operation == SW_OPERATION_TABLE ||
           operation == SW_OPERATION_TABLES;
}

static bool has_place(const struct sw_submission *submission, enum sw_ring_array array)
{
    return submission->places[array] != SW_RING_NONE;
}

static uint32_t evicted_of(const struct sw_submission *submission)
{
    uint32_t wanted =
        (has_place(submission, SW_RING_EVICTED_VALUES) ? SW_FRAME_EVICTED_VALUES : 0U) |
        (has_place(submission, SW_RING_EVICTED_SCORES) ? SW_FRAME_EVICTED_SCORES : 0U);
    return wanted != 0 || has_place(submission, SW_RING_EVICTED_KEYS)
               ? wanted | SW_FRAME_EVICTED_KEYS
               : 0;
}

static void decode_arguments(const struct sw_submission *submission, struct sw_request *request)
{
    const uint64_t *arguments = submission->arguments;
    switch (request->operation) {
    case SW_OPERATION_SCAN:
    case SW_OPERATION_COUNT_SCORES:
    case SW_OPERATION_ERASE_SCORES:
        request->cursor = arguments[0];
        request->score_min = arguments[1];
        request->score_max = arguments[2];
        break;
    case SW_OPERATION_RESIZE:
        request->capacity_slots = arguments[0];
        break;
    case SW_OPERATION_EPOCH:
        request->epoch = arguments[0];
        break;
    case SW_OPERATION_WAIT_DURABLE:
        request->sequence = arguments[0];
        request->incarnation = arguments[1];
        request->timeout_ms = arguments[2] < UINT32_MAX ? (uint32_t)arguments[2] : UINT32_MAX;
        break;
    default:
        break;
    }
}

uint64_t sw_submission_place(const struct sw_submission *submission, int array)
{
    const bool has_times = (submission->flags & SW_RING_DETAILS) != 0 &&
                           (submission->arguments[2] & SW_RING_HAS_TIMES) != 0;
    return array < SW_RING_PLACES ? submission->places[array]
           : has_times            ? submission->arguments[0]
                                  : SW_RING_NONE;
}

void sw_submission_set_place(struct sw_submission *submission, int array, uint64_t place)
{
    *(array < SW_RING_PLACES ? &submission->places[array] : &submission->arguments[0]) = place;
}

/* Reads the details of an operation on keys. Returns false if a field is not one of them. */
static bool decode_details(const struct sw_submission *submission, struct sw_request *request)
{
    const uint64_t *arguments = submission->arguments;
    const uint32_t low = (uint32_t)arguments[1], high = (uint32_t)(arguments[1] >> 32);
    const bool adds = sw_operation_adds(request->operation);
    if ((submission->flags & SW_RING_DETAILS) == 0) {
        return true;
    }
    request->times = (uint32_t)arguments[2] % SW_RING_HAS_TIMES;
    request->has_times = (arguments[2] & SW_RING_HAS_TIMES) != 0;
    request->time_ms = request->has_times ? 0 : arguments[0];
    request->scale_bits = adds ? low : 0;
    request->operand_type = adds ? high : 0;
    request->range_offset = adds ? 0 : low;
    request->range_bytes = adds ? 0 : high;
    return sw_operation_is_data(request->operation) && arguments[2] < 2 * SW_RING_HAS_TIMES;
}

static void encode_details(const struct sw_request *request, struct sw_submission *submission)
{
    const bool adds = sw_operation_adds(request->operation);
    const uint32_t low = adds ? request->scale_bits : request->range_offset;
    const uint32_t high = adds ? request->operand_type : request->range_bytes;
    const bool has_any = request->time_ms != 0 || request->has_times;
    if (!sw_operation_is_data(request->operation) ||
        (!has_any && (request->times | low | high) == 0)) {
        return;
    }
    submission->flags |= SW_RING_DETAILS;
    submission->arguments[0] = request->has_times ? SW_RING_NONE : request->time_ms;
    submission->arguments[1] = low | (uint64_t)high << 32;
    submission->arguments[2] = request->times | (request->has_times ? SW_RING_HAS_TIMES : 0U);
}

/* Has the record exactly the arrays that its request needs? */
static const char *check_places(const struct sw_submission *submission,
                                const struct sw_request *request)
{
    struct sw_ring_extent extents[SW_RING_ARRAYS];
    sw_submission_extents(request, extents);
    for (int i = 0; i < SW_RING_ARRAYS; i++) {
        const bool has_place = sw_submission_place(submission, i) != SW_RING_NONE;
        if (extents[i].bytes > 0 && !has_place) {
            return "a record lacks an array that its operation needs";
        }
        if (extents[i].bytes == 0 && has_place) {
            return "a record has an array that its operation does not use";
        }
    }
    return NULL;
}

const char *sw_submission_decode(const struct sw_submission *submission, uint32_t key_bytes,
                                 uint32_t value_bytes, struct sw_request *request)
{
    uint32_t operation = submission->operation;
    *request = (struct sw_request){
        .request_id = submission->id,
        .operation = operation,
        .count = submission->count,
        .key_bytes = key_bytes,
        .value_bytes = value_bytes,
        .table = submission->table,
        .table_id = submission->table_id,
    };
    const uint32_t flags = SW_RING_FOUND_BYTES | SW_RING_DETAILS;
    if ((submission->flags & ~flags) != 0 || submission->by_score > 1 ||
        !decode_details(submission, request)) {
        return "a record has a field that it does not use and that is not 0";
    }
    if (goes_by_socket(operation)) {
        return "HELLO, ATTACH, REGION, RELEASE, BELL, WAIT, DIGEST, TABLE and TABLES cannot use "
               "the "
               "ring: send them by the socket";
    }
    if (!sw_operation_is_known(operation)) {
        return NULL; /* refused later, as in a frame */
    }
    if (sw_operation_is_data(operation)) {
        request->want_values = has_place(submission, SW_RING_VALUES);
        request->declines_found = !has_place(submission, SW_RING_FOUND);
        request->found_bytes = (submission->flags & SW_RING_FOUND_BYTES) != 0;
        request->has_scores = has_place(submission, SW_RING_SCORES);
        request->want_not_admitted = has_place(submission, SW_RING_NOT_ADMITTED);
        request->want_evicted = evicted_of(submission);
    }
    if (sw_operation_is_data(operation) || operation == SW_OPERATION_SCAN) {
        request->want_scores = has_place(submission, SW_RING_SCORES_OUT);
    }
    if ((submission->flags & SW_RING_FOUND_BYTES) != 0 &&
        (request->declines_found || sw_operation_writes(operation) ||
         !sw_operation_takes_device(operation))) {
        return "only GET and PEEK can store found bytes: send the record without the flag";
    }
    request->by_score = submission->by_score != 0;
    decode_arguments(submission, request);
    return check_places(submission, request);
}

static void encode_arguments(const struct sw_request *request, uint64_t *arguments)
{
    switch (request->operation) {
    case SW_OPERATION_SCAN:
    case SW_OPERATION_COUNT_SCORES:
    case SW_OPERATION_ERASE_SCORES:
        arguments[0] = request->cursor;
        arguments[1] = request->score_min;
        arguments[2] = request->score_max;
        break;
    case SW_OPERATION_RESIZE:
        arguments[0] = request->capacity_slots;
        break;
    case SW_OPERATION_EPOCH:
        arguments[0] = request->epoch;
        break;
    case SW_OPERATION_WAIT_DURABLE:
        arguments[0] = request->sequence;
        arguments[1] = request->incarnation;
        arguments[2] = request->timeout_ms;
        break;
    default:
        break;
    }
}

void sw_submission_encode(const struct sw_request *request, struct sw_submission *submission)
{
    *submission = (struct sw_submission){
        .id = request->request_id,
        .operation = (uint8_t)request->operation,
        .by_score = request->by_score,
        .flags = request->found_bytes ? SW_RING_FOUND_BYTES : 0,
        .count = request->count,
        .table = request->table,
        .table_id = request->table_id,
    };
    encode_arguments(request, submission->arguments);
    encode_details(request, submission);
    for (int i = 0; i < SW_RING_PLACES; i++) {
        submission->places[i] = SW_RING_NONE;
    }
}

static struct sw_ring_extent words(bool is, uint64_t count)
{
    return (struct sw_ring_extent){is ? count * sizeof(uint64_t) : 0, sizeof(uint64_t)};
}

void sw_submission_extents(const struct sw_request *request, struct sw_ring_extent *extents)
{
    const uint64_t count = request->count;
    const uint32_t wide = request->value_bytes;
    const uint32_t operand = sw_request_operand_bytes(request);
    const uint32_t answer = sw_request_answer_bytes(request);
    const uint32_t value_align = sw_operation_has_range(request->operation) ? 1
                                 : wide % 16 == 0                           ? 16
                                 : wide % 8 == 0                            ? 8
                                                                            : 4;
    const struct sw_ring_extent none = {0, 1};
    const struct sw_ring_extent keys = {count * request->key_bytes, request->key_bytes};
    const struct sw_ring_extent values = {count * wide, value_align};
    for (int i = 0; i < SW_RING_ARRAYS; i++) {
        extents[i] = none;
    }
    if (request->operation == SW_OPERATION_STATS) {
        extents[SW_RING_KEYS] =
            (struct sw_ring_extent){count * sizeof(struct sw_figure), SW_FRAME_ALIGN};
    } else if (request->operation == SW_OPERATION_SCAN) {
        extents[SW_RING_KEYS] = keys;
        extents[SW_RING_VALUES] = values;
        extents[SW_RING_SCORES_OUT] = words(request->want_scores, count);
    } else if (sw_operation_is_data(request->operation)) {
        const uint32_t evicted = request->want_evicted;
        const uint64_t found = sw_found_bytes(request->count) / sizeof(uint64_t);
        extents[SW_RING_KEYS] = keys;
        extents[SW_RING_OPERANDS] = (struct sw_ring_extent){count * operand, value_align};
        extents[SW_RING_SCORES] = words(request->has_scores, count);
        extents[SW_RING_TIMES] = words(request->has_times, count);
        if (request->want_values) {
            extents[SW_RING_VALUES] = (struct sw_ring_extent){
                count * answer, sw_operation_answers_times(request->operation) ? 8 : value_align};
        }
        extents[SW_RING_FOUND] =
            words(!request->declines_found, sw_request_found_bytes(request) / sizeof(uint64_t));
        extents[SW_RING_NOT_ADMITTED] = words(request->want_not_admitted, found);
        extents[SW_RING_SCORES_OUT] = words(request->want_scores, count);
        extents[SW_RING_EVICTED_KEYS] = evicted & SW_FRAME_EVICTED_KEYS ? keys : none;
        extents[SW_RING_EVICTED_VALUES] = evicted & SW_FRAME_EVICTED_VALUES ? values : none;
        extents[SW_RING_EVICTED_SCORES] = words(evicted & SW_FRAME_EVICTED_SCORES, count);
    }
}

/* --- completions ------------------------------------------------------------------------------ */

void sw_completion_encode(const struct sw_reply *reply, struct sw_completion *completion)
{
    completion->id = reply->request_id;
    completion->status = reply->status;
    completion->count = reply->count;
    completion->hits = reply->hits;
    completion->overflows = reply->overflows;
    completion->cursor = reply->cursor;
    completion->capacity_slots = reply->capacity_slots;
    completion->evicted_count = reply->evicted_count;
    completion->not_admitted = reply->not_admitted;
    completion->matched = reply->matched;
    completion->epoch = reply->epoch;
    completion->write_sequence = reply->write_sequence;
    completion->durable_through = reply->durable_through;
    if (reply->status != SW_REPLY_OK) {
        memcpy(completion->text, reply->message, sizeof(completion->text));
    }
}

void sw_completion_decode(const struct sw_completion *completion, const struct sw_request *request,
                          struct sw_reply *reply)
{
    bool is_scan = request->operation == SW_OPERATION_SCAN;
    *reply = (struct sw_reply){
        .request_id = completion->id,
        .status = completion->status,
        .count = completion->count,
        .key_bytes = request->key_bytes,
        .value_bytes = is_scan ? request->value_bytes : sw_request_answer_bytes(request),
        .has_values = request->want_values || is_scan,
        .lacks_found = request->declines_found,
        .hits = completion->hits,
        .overflows = completion->overflows,
        .cursor = completion->cursor,
        .capacity_slots = completion->capacity_slots,
        .has_scores = request->want_scores,
        .has_not_admitted = request->want_not_admitted,
        .has_evicted = request->want_evicted,
        .evicted_count = (uint32_t)completion->evicted_count,
        .not_admitted = completion->not_admitted,
        .matched = completion->matched,
        .epoch = completion->epoch,
        .write_sequence = completion->write_sequence,
        .durable_through = completion->durable_through,
    };
    if (reply->status != SW_REPLY_OK) {
        memcpy(reply->message, completion->text, sizeof(reply->message));
        reply->message[sizeof(reply->message) - 1] = '\0';
    }
}
