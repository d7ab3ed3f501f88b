/* SPDX-License-Identifier: MIT
 *
 * bulk.c - the load by bulk frames, through libsherwood.
 *
 * Every connection keeps up to --depth frames in flight. A thread goes round its connections: it
 * fills each up, then waits for the oldest frame of each. With a rate it has one connection with
 * one frame in flight: it prepares the frame, sleeps until it is due, sends it and waits.
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
    struct sw_load_unit unit;
    struct sw_load_lane lane; /* if the run has a mix */
    bool in_flight;
    bool is_over; /* there are no more units for it */
    void *got;
    uint64_t *found;
};

struct bulk_connection {
    struct sherwood *client;
    struct slot *slots; /* depth of them, used in turn */
    uint32_t oldest;    /* the slot that is waited for next, if it is in flight */
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
    for (uint64_t i = 0; bulk->slots && i < (uint64_t)bulk->count * bulk->depth; i++) {
        sw_load_lane_fini(&bulk->slots[i].lane);
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

/* Cuts the block of arrays into those of the slots. */
static void assign_arrays(struct bulk *bulk, uint64_t keys_bytes, uint64_t values_bytes,
                          uint64_t slot_bytes)
{
    for (uint64_t i = 0; i < (uint64_t)bulk->count * bulk->depth; i++) {
        char *at = (char *)bulk->arrays + i * slot_bytes;
        struct slot *slot = &bulk->slots[i];
        slot->unit.keys = at;
        slot->unit.operands = at + keys_bytes;
        slot->got = at + keys_bytes + values_bytes;
        slot->found = (uint64_t *)(void *)(at + keys_bytes + 2 * values_bytes);
    }
}

static int bulk_prepare(void *context, const struct sw_load_setup *setup, uint32_t first,
                        char *error)
{
    struct bulk *bulk = context;
    const uint64_t keys_bytes = align_up((uint64_t)bulk->frame * setup->workload->key_bytes);
    const uint64_t values_bytes = align_up((uint64_t)bulk->frame * setup->workload->value_bytes);
    const uint64_t found_bytes = align_up(sherwood_found_words(bulk->frame) * 8);
    const uint64_t slot_bytes = keys_bytes + 2 * values_bytes + found_bytes;
    const uint64_t slots = (uint64_t)bulk->count * bulk->depth;
    snprintf(error, SW_LOAD_ERROR_BYTES, "not enough memory for %llu frames of %u keys",
             (unsigned long long)slots, bulk->frame);
    bulk->arrays = aligned_alloc(ALIGN, slots * slot_bytes);
    if (!bulk->arrays) {
        return SW_LOAD_E_NOMEM;
    }
    /* Page faults belong here, not in the first phase. */
    memset(bulk->arrays, 0, slots * slot_bytes);
    assign_arrays(bulk, keys_bytes, values_bytes, slot_bytes);
    for (uint64_t i = 0; setup->lanes && i < slots; i++) {
        struct slot *slot = &bulk->slots[i];
        uint32_t number = first * bulk->depth + (uint32_t)i;
        if (!sw_load_lane_init(&slot->lane, setup->lanes, number)) {
            return SW_LOAD_E_NOMEM;
        }
        slot->unit.lane = &slot->lane;
    }
    error[0] = '\0';
    return SW_LOAD_OK;
}

/* What a frame of a lane does, which is the same for all of its keys. */
static enum sherwood_operation lane_operation(const struct sw_load_lane *lane)
{
    switch (lane->operations[0]) {
    case SW_LOAD_MIX_GET:
        return SHERWOOD_GET;
    case SW_LOAD_MIX_SUM:
        return SHERWOOD_SUM;
    case SW_LOAD_MIX_DELETE:
        return SHERWOOD_DELETE;
    default:
        return SHERWOOD_SET;
    }
}

/* The request for the unit that the slot has taken. */
static void make_request(const struct sw_load_worker *worker, struct slot *slot)
{
    const struct sw_load_unit *unit = &slot->unit;
    enum sherwood_operation operation = SHERWOOD_GET;
    bool wants_found = true;
    if (unit->lane) {
        operation = lane_operation(unit->lane);
    } else if (worker->phase->operation == SW_LOAD_SET) {
        operation = SHERWOOD_SET;
        wants_found = false;
        sw_load_fill_values(worker->workload, unit->keys, unit->count, unit->operands);
    }
    bool takes_operands = operation == SHERWOOD_SET || operation == SHERWOOD_SUM;
    slot->request = (struct sherwood_request){
        .operation = operation,
        .count = unit->count,
        .keys = unit->keys,
        .values = takes_operands ? unit->operands : NULL,
        .previous = operation == SHERWOOD_GET ? slot->got : NULL,
        .found = wants_found ? slot->found : NULL,
    };
}

/* Takes the next unit for an idle slot, and submits it when it is due. */
static int submit_next(struct sw_load_worker *worker, struct bulk_connection *connection,
                       struct slot *slot)
{
    if (!sw_load_worker_take(worker, sw_load_now_ns(), &slot->unit)) {
        slot->is_over = true;
        return SW_LOAD_OK;
    }
    make_request(worker, slot);
    if (!sw_load_worker_sleep(worker, &slot->unit)) {
        slot->is_over = true;
        return SW_LOAD_OK;
    }
    sw_load_worker_sent(worker, &slot->unit, sw_load_now_ns());
    if (sherwood_submit(connection->client, &slot->request)) {
        return sw_load_worker_fail(worker, SW_LOAD_E_PEER, "%s",
                                   sherwood_error(connection->client));
    }
    slot->in_flight = true;
    connection->in_flight++;
    return SW_LOAD_OK;
}

/* Looks at every answer of a frame one by one: only done when a count says that some are bad. */
static void report_mismatches(struct sw_load_worker *worker, const struct slot *slot,
                              uint32_t count)
{
    const struct sw_load_workload *workload = worker->workload;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t key = sw_load_element(slot->unit.keys, workload->key_bytes, i);
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
    if (found != count ||
        sw_load_count_wrong(worker->workload, slot->unit.keys, slot->got, count)) {
        report_mismatches(worker, slot, count);
    }
}

/* The same for a frame of a lane, against its model. */
static void verify_lane(struct sw_load_worker *worker, const struct slot *slot)
{
    const bool is_get = slot->request.operation == SHERWOOD_GET;
    for (uint32_t i = 0; i < slot->unit.count; i++) {
        const struct sw_load_answer answer = {
            .has_found = true,
            .found = sherwood_found(slot->found, i),
            .has_value = is_get,
            .value = is_get ? sw_load_element(slot->got, worker->workload->value_bytes, i) : 0,
        };
        sw_load_worker_check(worker, &slot->unit, i, &answer);
    }
}

/* Accounts for what an answered frame says, and compares it with what it should say. */
static void use_answer(struct sw_load_worker *worker, const struct slot *slot)
{
    const struct sw_load_unit *unit = &slot->unit;
    if (unit->lane) {
        worker->operations[unit->lane->operations[0]] += unit->count;
        worker->hits += slot->request.operation == SHERWOOD_GET ? slot->request.hits : 0;
    }
    if (worker->options->no_verify) {
        return;
    }
    if (unit->lane) {
        verify_lane(worker, slot);
    } else if (worker->phase->operation != SW_LOAD_SET) {
        verify(worker, slot, unit->count);
    }
}

static int wait_oldest(struct sw_load_worker *worker, const struct bulk *bulk,
                       struct bulk_connection *connection)
{
    while (!connection->slots[connection->oldest].in_flight) {
        connection->oldest = (connection->oldest + 1) % bulk->depth;
    }
    struct slot *slot = &connection->slots[connection->oldest];
    if (sherwood_wait(connection->client, &slot->request)) {
        return sw_load_worker_fail(worker, SW_LOAD_E_PEER, "%s",
                                   sherwood_error(connection->client));
    }
    sw_load_worker_done(worker, &slot->unit, sw_load_now_ns());
    use_answer(worker, slot);
    slot->in_flight = false;
    connection->oldest = (connection->oldest + 1) % bulk->depth;
    connection->in_flight--;
    return SW_LOAD_OK;
}

/* Submits on every idle slot of a connection, the one that was waited for last at the end. */
static int fill_up(struct sw_load_worker *worker, const struct bulk *bulk,
                   struct bulk_connection *connection)
{
    int status = SW_LOAD_OK;
    for (uint32_t i = 0; i < bulk->depth && status == SW_LOAD_OK; i++) {
        struct slot *slot = &connection->slots[(connection->oldest + i) % bulk->depth];
        if (!slot->in_flight && !slot->is_over) {
            status = submit_next(worker, connection, slot);
        }
    }
    return status;
}

static int bulk_run(struct sw_load_worker *worker)
{
    struct bulk *bulk = worker->connections;
    bool busy = true;
    int status = SW_LOAD_OK;
    for (uint64_t i = 0; i < (uint64_t)bulk->count * bulk->depth; i++) {
        bulk->slots[i].is_over = false;
        sw_load_lane_rewind(&bulk->slots[i].lane);
    }
    while (busy) {
        busy = false;
        for (uint32_t i = 0; i < bulk->count && status == SW_LOAD_OK; i++) {
            status = fill_up(worker, bulk, &bulk->connections[i]);
        }
        for (uint32_t i = 0; i < bulk->count && status == SW_LOAD_OK; i++) {
            if (bulk->connections[i].in_flight) {
                busy = true;
                status = wait_oldest(worker, bulk, &bulk->connections[i]);
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
