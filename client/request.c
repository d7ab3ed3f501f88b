/* SPDX-License-Identifier: MIT
 *
 * request.c - checks the request of a program, and reads its fields beside the arrays.
 */
#include "client/request.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "client/cache.h"
#include "client/error.h"
#include "client/times.h"

/* sherwood.h is installed without frame.h, so it repeats the enums of frame.h. These assertions
 * compare them. */
#define SAME_OPERATION(name, number, ...) \
    static_assert((int)SHERWOOD_##name == (number), "sherwood.h: " #name);
SW_DATA_OPERATION_MAP(SAME_OPERATION)
SW_COMPOSED_OPERATION_MAP(SAME_OPERATION)
#define SAME_FORMAT(name, number, word) \
    static_assert((int)SHERWOOD_VALUES_##name == (number), "sherwood.h: VALUES_" #name);
SW_FRAME_VALUES_MAP(SAME_FORMAT)

int sw_client_check_arguments(struct sherwood *client, enum sherwood_operation operation,
                              const void *keys, const void *values)
{
    if (client->broken != 0) {
        return client->broken;
    }
    if (!sw_operation_is_data((uint32_t)operation)) {
        return sw_client_fail(
            client, SHERWOOD_E_INVALID,
            "operation %d is not an operation on keys: use one of enum sherwood_operation",
            (int)operation);
    }
    const bool needs_values = sw_operation_has_operands((uint32_t)operation) &&
                              client->table->server.value_type != SHERWOOD_NONE;
    if (keys == NULL || (values == NULL && needs_values)) {
        return sw_client_fail(client, SHERWOOD_E_INVALID, "the %s array is NULL",
                              keys == NULL ? "keys" : "values");
    }
    return SHERWOOD_OK;
}

/* Checks that each piece has its arrays, and that their counts add up to that of the request. */
static int check_pieces(struct sherwood *client, const struct sherwood_request *request)
{
    uint64_t count = 0;
    if (request->keys != NULL || request->values != NULL || request->previous != NULL ||
        request->pieces_count == 0 || request->pieces_count > SHERWOOD_PIECES_MAX) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "submit: a request needs either arrays and no pieces, or 1 to %d "
                              "pieces (not %u) and no arrays",
                              SHERWOOD_PIECES_MAX, request->pieces_count);
    }
    for (uint32_t i = 0; i < request->pieces_count; i++) {
        const struct sherwood_piece *piece = &request->pieces[i];
        int rc = sw_client_check_arguments(client, request->operation, piece->keys, piece->values);
        if (rc != SHERWOOD_OK) {
            return rc;
        }
        if (piece->count == 0) {
            return sw_client_fail(client, SHERWOOD_E_INVALID,
                                  "submit: piece %u has no keys: leave it out", i);
        }
        count += piece->count;
    }
    return count == request->count ? SHERWOOD_OK
                                   : sw_client_fail(client, SHERWOOD_E_INVALID,
                                                    "submit: the pieces have %llu keys in all, but "
                                                    "count is %u: set count to the sum",
                                                    (unsigned long long)count, request->count);
}

int sw_client_check_size(struct sherwood *client, const struct sherwood_request *request)
{
    if ((request->size < sizeof(*request) &&
         request->size != offsetof(struct sherwood_request, cache) &&
         request->size != offsetof(struct sherwood_request, scale) &&
         request->size != offsetof(struct sherwood_request, times)) ||
        request->size > SW_CLIENT_STRUCT_BYTES_MAX) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "submit: the field size is %zu, the struct has %zu bytes: begin with "
                              "SHERWOOD_REQUEST_INIT",
                              request->size, sizeof(*request));
    }
    if (!sw_client_is_zero(request, sizeof(*request), request->size)) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "submit: a field that this version of libsherwood does not have is "
                              "set: update libsherwood, or begin with SHERWOOD_REQUEST_INIT");
    }
    return SHERWOOD_OK;
}

static const struct sherwood_times *times_of(const struct sherwood_request *request)
{
    return request->size < sizeof(*request) ? NULL : request->times;
}

/* Returns NULL for a program that was compiled with the first version: its struct ends before this
 * field. */
struct sherwood_cache *sw_client_request_cache(const struct sherwood_request *request)
{
    return request->size < offsetof(struct sherwood_request, scale) ? NULL : request->cache;
}

/* Returns the fields of the request. Structs of programs that were compiled with the second or
 * third version end before some of them; these are 0. The type of the server's rows is 0 on the
 * wire, and so is a scale of 1. */
struct sw_client_details sw_client_request_details(const struct sherwood *client,
                                                   const struct sherwood_request *request)
{
    struct sw_client_details details = {0};
    if (request->size < offsetof(struct sherwood_request, times)) {
        return details;
    }
    if (request->scale != 1) {
        memcpy(&details.scale_bits, &request->scale, sizeof(request->scale));
    }
    if (request->operand_type != client->table->server.value_type) {
        details.operand_type = (uint32_t)request->operand_type;
    }
    details.range_offset = request->range_offset;
    details.range_bytes = request->range_bytes;
    sw_client_add_times(&details, times_of(request));
    return details;
}

int sw_client_check_request(struct sherwood *client, const struct sherwood_request *request)
{
    const uint32_t flags =
        SHERWOOD_DISCARD | SHERWOOD_DELAY | SHERWOOD_CONSTANT | SHERWOOD_FOUND_BYTES;
    if (client->broken != 0) {
        return client->broken;
    }
    if (request->size != sizeof(*request)) {
        int rc = sw_client_check_size(client, request);
        if (rc != SHERWOOD_OK) {
            return rc;
        }
    }
    int rc = request->pieces != NULL ? check_pieces(client, request)
                                     : sw_client_check_arguments(client, request->operation,
                                                                 request->keys, request->values);
    if (rc != SHERWOOD_OK) {
        return rc;
    }
    if (request->count == 0 || request->count > client->table->server.frame_ops_max) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "submit: the request has %u keys: this server takes 1 to %u",
                              request->count, client->table->server.frame_ops_max);
    }
    if ((request->flags & ~flags) != 0) {
        return sw_client_fail(client, SHERWOOD_E_INVALID, "submit: unknown flags in 0x%x",
                              request->flags);
    }
    if ((request->flags & SHERWOOD_FOUND_BYTES) != 0 &&
        (request->found == NULL || request->pieces != NULL)) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "submit: found bytes need an array `found`, and no pieces");
    }
    rc = sw_client_times_check(client, times_of(request));
    return rc != SHERWOOD_OK ? rc : sw_client_cache_check(client, sw_client_request_cache(request));
}
