/* SPDX-License-Identifier: MIT
 *
 * bulk.c - the load by bulk frames, through libsherwood.
 *
 * Every connection keeps up to --depth frames in flight. A thread goes round its connections: it
 * fills each up, then waits for the oldest frame of each.
 */
#include "bench/load/worker.h"
#include "client/sherwood.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Arrays start on cache lines. */
#define ALIGN 64

struct slot {
    struct sherwood_request request;
    uint64_t submitted_ns;
    void *keys;
    void *values; /* operands of a write */
    void *got;
    uint64_t *found;
};

struct bulk_connection {
    struct sherwood *client;
    struct slot *slots; /* depth of them, used in turn */
    uint32_t oldest;
    uint32_t in_flight;
};

struct bulk {
    uint32_t count;
    uint32_t depth;
    uint32_t frame;
    void *arrays; /* of all slots, one block */
    struct slot *slots;
    struct bulk_connection *connections;
};

static void bulk_destroy(void *context)
{
    struct bulk *bulk = context;
    if (!bulk) {
        return;
    }
    /* Connections first: requests in flight borrow the arrays. */
    for (uint32_t i = 0; i < bulk->count; i++) {
        sherwood_close(bulk->connections[i].client);
    }
    free(bulk->arrays);
    free(bulk->slots);
    free(bulk->connections);
    free(bulk);
}

/* Does what the server allows fit what was asked for? */
static int check_limits(const struct sw_load_options *options, const struct sherwood_server *facts,
                        char *error)
{
    if (options->frame > facts->frame_ops_max) {
        snprintf(error, SW_LOAD_ERROR_BYTES,
                 "the server takes at most %u keys a frame: use --frame %u", facts->frame_ops_max,
                 facts->frame_ops_max);
        return SW_LOAD_E_USAGE;
    }
    if (options->depth > facts->requests_in_flight_max) {
        snprintf(error, SW_LOAD_ERROR_BYTES,
                 "the server takes at most %u frames in flight a connection: use --depth %u",
                 facts->requests_in_flight_max, facts->requests_in_flight_max);
        return SW_LOAD_E_USAGE;
    }
    if (facts->key_bytes == 4 && options->keys > (1ULL << 32)) {
        snprintf(error, SW_LOAD_ERROR_BYTES,
                 "the server's keys have 32 bits: --keys is at most "
                 "4294967296");
        return SW_LOAD_E_USAGE;
    }
    return SW_LOAD_OK;
}

static int bulk_connect(const struct sw_load_options *options, uint32_t count, void **out,
                        struct sw_load_server *server, char *error)
{
    int status = SW_LOAD_E_NOMEM;
    struct bulk *bulk = calloc(1, sizeof *bulk);
    *out = NULL;
    snprintf(error, SW_LOAD_ERROR_BYTES, "not enough memory for %u connections", count);
    if (!bulk) {
        return status;
    }
    bulk->depth = options->depth;
    bulk->frame = options->frame;
    bulk->connections = calloc(count, sizeof *bulk->connections);
    bulk->slots = calloc((size_t)count * options->depth, sizeof *bulk->slots);
    if (!bulk->connections || !bulk->slots) {
        goto fail;
    }
    const struct sherwood_options timeouts = {.connect_timeout_ms = SW_LOAD_CONNECT_MS,
                                              .request_timeout_ms = SW_LOAD_SILENCE_MS};
    for (uint32_t i = 0; i < count; i++) {
        struct bulk_connection *connection = &bulk->connections[i];
        if (sherwood_connect_text(options->address, &timeouts, &connection->client, error,
                                  SW_LOAD_ERROR_BYTES)) {
            status = SW_LOAD_E_PEER;
            goto fail;
        }
        connection->slots = bulk->slots + (size_t)i * options->depth;
        bulk->count++;
    }
    const struct sherwood_server *facts = sherwood_server(bulk->connections[0].client);
    status = check_limits(options, facts, error);
    if (status) {
        goto fail;
    }
    snprintf(server->version, sizeof server->version, "%s", facts->version);
    snprintf(server->backend, sizeof server->backend, "%s", facts->backend);
    server->key_bytes = facts->key_bytes;
    server->value_bytes = facts->value_bytes;
    error[0] = '\0';
    *out = bulk;
    return SW_LOAD_OK;
fail:
    bulk_destroy(bulk);
    return status;
}

static uint64_t align_up(uint64_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static int bulk_prepare(void *context, const struct sw_load_workload *workload, char *error)
{
    struct bulk *bulk = context;
    const uint64_t keys_bytes = align_up((uint64_t)bulk->frame * workload->key_bytes);
    const uint64_t values_bytes = align_up((uint64_t)bulk->frame * workload->value_bytes);
    const uint64_t found_bytes = align_up(sherwood_found_words(bulk->frame) * 8);
    const uint64_t slot_bytes = keys_bytes + 2 * values_bytes + found_bytes;
    const uint64_t slots = (uint64_t)bulk->count * bulk->depth;
    bulk->arrays = aligned_alloc(ALIGN, slots * slot_bytes);
    if (!bulk->arrays) {
        snprintf(error, SW_LOAD_ERROR_BYTES, "not enough memory for %llu frames of %u keys",
                 (unsigned long long)slots, bulk->frame);
        return SW_LOAD_E_NOMEM;
    }
    /* Page faults belong here, not in the first phase. */
    memset(bulk->arrays, 0, slots * slot_bytes);
    for (uint64_t i = 0; i < slots; i++) {
        char *at = (char *)bulk->arrays + i * slot_bytes;
        struct slot *slot = &bulk->slots[i];
        slot->keys = at;
        slot->values = at + keys_bytes;
        slot->got = at + keys_bytes + values_bytes;
        slot->found = (uint64_t *)(void *)(at + keys_bytes + 2 * values_bytes);
    }
    return SW_LOAD_OK;
}

/* Submits the next unit on `connection`. *more becomes false if the phase has none. */
static int submit_next(struct sw_load_worker *worker, const struct bulk *bulk,
                       struct bulk_connection *connection, bool *more)
{
    struct slot *slot =
        &connection->slots[(connection->oldest + connection->in_flight) % bulk->depth];
    uint32_t count = sw_load_worker_take(worker, sw_load_now_ns(), slot->keys);
    if (count == 0) {
        *more = false;
        return SW_LOAD_OK;
    }
    bool write = worker->phase->operation == SW_LOAD_SET;
    if (write) {
        sw_load_fill_values(worker->workload, slot->keys, count, slot->values);
    }
    slot->request = (struct sherwood_request){
        .operation = write ? SHERWOOD_SET : SHERWOOD_GET,
        .count = count,
        .keys = slot->keys,
        .values = write ? slot->values : NULL,
        .previous = write ? NULL : slot->got,
        .found = write ? NULL : slot->found,
    };
    slot->submitted_ns = sw_load_now_ns();
    if (sherwood_submit(connection->client, &slot->request)) {
        return sw_load_worker_fail(worker, SW_LOAD_E_PEER, "%s",
                                   sherwood_error(connection->client));
    }
    connection->in_flight++;
    return SW_LOAD_OK;
}

/* Looks at every answer of a frame one by one: only done when a count says that some are bad. */
static void report_mismatches(struct sw_load_worker *worker, const struct slot *slot,
                              uint32_t count)
{
    const struct sw_load_workload *workload = worker->workload;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t key = sw_load_element(slot->keys, workload->key_bytes, i);
        uint64_t got = sw_load_element(slot->got, workload->value_bytes, i);
        bool missing = !sherwood_found(slot->found, i);
        if (missing || got != sw_load_value(workload, key)) {
            sw_load_worker_mismatch(worker, key, missing, got);
        }
    }
}

static void verify(struct sw_load_worker *worker, const struct slot *slot, uint32_t count)
{
    uint32_t found = 0;
    for (size_t i = 0; i < count / 64; i++) {
        found += (uint32_t)__builtin_popcountll(slot->found[i]);
    }
    if (count % 64) {
        uint64_t last = slot->found[count / 64] & ((1ULL << count % 64) - 1);
        found += (uint32_t)__builtin_popcountll(last);
    }
    if (found != count || sw_load_count_wrong(worker->workload, slot->keys, slot->got, count)) {
        report_mismatches(worker, slot, count);
    }
}

static int wait_oldest(struct sw_load_worker *worker, const struct bulk *bulk,
                       struct bulk_connection *connection)
{
    struct slot *slot = &connection->slots[connection->oldest];
    if (sherwood_wait(connection->client, &slot->request)) {
        return sw_load_worker_fail(worker, SW_LOAD_E_PEER, "%s",
                                   sherwood_error(connection->client));
    }
    uint32_t count = slot->request.count;
    sw_load_worker_done(worker, slot->submitted_ns, sw_load_now_ns(), count);
    if (worker->phase->operation != SW_LOAD_SET) {
        verify(worker, slot, count);
    }
    connection->oldest = (connection->oldest + 1) % bulk->depth;
    connection->in_flight--;
    return SW_LOAD_OK;
}

static int bulk_run(struct sw_load_worker *worker)
{
    struct bulk *bulk = worker->connections;
    bool more = true, busy = true;
    int status = SW_LOAD_OK;
    while (busy) {
        busy = false;
        for (uint32_t i = 0; i < bulk->count; i++) {
            struct bulk_connection *connection = &bulk->connections[i];
            while (more && connection->in_flight < bulk->depth) {
                status = submit_next(worker, bulk, connection, &more);
                if (status) {
                    return status;
                }
            }
        }
        for (uint32_t i = 0; i < bulk->count; i++) {
            if (bulk->connections[i].in_flight == 0) {
                continue;
            }
            busy = true;
            status = wait_oldest(worker, bulk, &bulk->connections[i]);
            if (status) {
                return status;
            }
        }
    }
    return status;
}

const struct sw_load_transport sw_load_bulk_transport = {
    .connect = bulk_connect,
    .prepare = bulk_prepare,
    .run = bulk_run,
    .destroy = bulk_destroy,
};
