/* SPDX-License-Identifier: MIT
 *
 * bulk.c - the load by bulk frames, through libsherwood.
 *
 * The connections of a thread belong to one handle; each has up to --depth frames in flight. In
 * closed loop a reply makes room for the next frame at once. With a rate the thread prepares a
 * frame, handles replies until the frame is due, and sends it on the connection with the fewest
 * frames in flight.
 */
#include "bench/load/bulk.h"
#include "bench/load/secure.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Arrays start on cache lines. */
#define ALIGN 64
#define SECOND_NS 1000000000ULL

static void bulk_destroy(void *context)
{
    struct sw_load_bulk *bulk = context;
    if (!bulk) {
        return;
    }
    /* Closes the connections first, because requests in flight borrow the arrays. None is in flight
     * when the handles of the tables are closed, or the run has failed. */
    sw_load_tables_close(&bulk->tables);
    sherwood_close(bulk->client);
    for (uint32_t i = 0; bulk->slots && i < bulk->slots_count; i++) {
        sw_load_partition_fini(&bulk->slots[i].partition);
    }
    sw_load_prefill_fini(&bulk->prefill);
    if (!bulk->region) {
        free(bulk->arrays);
    }
    free(bulk->segments);
    free(bulk->slots);
    free(bulk->idle);
    free(bulk);
}

/* Returns whether prefilled frames are sent as pages. */
static bool wants_pages(const struct sw_load_options *options)
{
    return options->splice == SW_LOAD_SPLICE_AUTO ? strncmp(options->address, "unix:", 5) == 0
                                                  : options->splice == SW_LOAD_SPLICE_ALWAYS;
}

static int bulk_connect(const struct sw_load_options *options, uint32_t count, void **out,
                        struct sw_load_server *server, char *error)
{
    int status = SW_LOAD_E_NOMEM;
    struct sw_load_bulk *bulk = calloc(1, sizeof(*bulk));
    *out = NULL;
    snprintf(error, SW_LOAD_ERROR_BYTES, "not enough memory for the connections (%u)", count);
    if (!bulk) {
        return status;
    }
    bulk->connections = count;
    bulk->slots_count = count * options->depth;
    bulk->frame = options->frame;
    bulk->times = (struct sherwood_times)SHERWOOD_TIMES_INIT;
    bulk->times.when = SHERWOOD_IN;
    bulk->times.time_ms = sw_load_ttl_ms(options);
    bulk->splices = !options->cluster && wants_pages(options);
    bulk->slots = calloc(bulk->slots_count, sizeof(*bulk->slots));
    bulk->idle = calloc(bulk->slots_count, sizeof(struct sw_load_slot *));
    bulk->segments = options->segments ? calloc(bulk->slots_count, sizeof(*bulk->segments)) : NULL;
    if (!bulk->slots || !bulk->idle || (options->segments && !bulk->segments)) {
        goto fail;
    }
    struct sherwood_options connection = sw_load_tls_options(options);
    connection.connect_timeout_ms = SW_LOAD_CONNECT_MS;
    connection.request_timeout_ms = SW_LOAD_SILENCE_MS;
    connection.stripes = count;
    connection.send_buffer_bytes = connection.receive_buffer_bytes = options->socket_buffer;
    if (options->cluster) {
        status = sw_load_cluster_connect(options, &connection, &bulk->client, error);
    } else if (sherwood_connect_text(options->address, &connection, &bulk->client, error,
                                     SW_LOAD_ERROR_BYTES)) {
        status = SW_LOAD_E_PEER;
    } else {
        status = SW_LOAD_OK;
    }
    if (status) {
        goto fail;
    }
    status = sw_load_bulk_facts(options, sherwood_server(bulk->client), count, server, error);
    if (status == SW_LOAD_OK) {
        status = sw_load_tables_open(&bulk->tables, options, bulk->client, error);
    }
    if (status) {
        goto fail;
    }
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

/* Assigns each slot its arrays in the block of memory. */
static void assign_arrays(struct sw_load_bulk *bulk, uint64_t keys_bytes, uint64_t values_bytes,
                          uint64_t slot_bytes)
{
    for (uint64_t i = 0; i < bulk->slots_count; i++) {
        char *at = (char *)bulk->arrays + i * slot_bytes;
        struct sw_load_slot *slot = &bulk->slots[i];
        slot->keys = at;
        slot->operands = at + keys_bytes;
        slot->got = at + keys_bytes + values_bytes;
        slot->found = (uint64_t *)(void *)(at + keys_bytes + 2 * values_bytes);
    }
}

/* Allocates the arrays of all slots. In *prefill it returns the memory of prefilled frames, if that
 * memory is shared. */
static int take_memory(struct sw_load_bulk *bulk, bool is_shared, uint64_t slots_bytes,
                       uint64_t prefill_bytes, char **prefill, char *error)
{
    if (!is_shared) {
        bulk->arrays = aligned_alloc(ALIGN, slots_bytes);
        return bulk->arrays ? SW_LOAD_OK : SW_LOAD_E_NOMEM;
    }
    if (sherwood_region_create(bulk->client, slots_bytes + prefill_bytes, &bulk->region)) {
        snprintf(error, SW_LOAD_ERROR_BYTES, "%s", sherwood_error(bulk->client));
        return SW_LOAD_E_PEER;
    }
    bulk->arrays = sherwood_region_allocate(bulk->region, slots_bytes);
    *prefill = prefill_bytes ? sherwood_region_allocate(bulk->region, prefill_bytes) : NULL;
    return SW_LOAD_OK;
}

static int bulk_prepare(void *context, const struct sw_load_setup *setup, uint32_t first,
                        char *error)
{
    struct sw_load_bulk *bulk = context;
    const bool is_prefilled = setup->options->frames_prefilled != 0;
    const uint32_t prefilled = setup->frames ? 0 : setup->options->frames_prefilled;
    const uint64_t keys_bytes = align_up((uint64_t)bulk->frame * setup->workload->key_bytes);
    const uint64_t values_bytes = align_up((uint64_t)bulk->frame * setup->workload->value_bytes);
    const uint64_t found_bytes = align_up(sherwood_found_words(bulk->frame) * 8);
    const uint64_t slot_bytes = keys_bytes + 2 * values_bytes + found_bytes;
    const uint32_t first_slot = first * (bulk->slots_count / bulk->connections);
    snprintf(error, SW_LOAD_ERROR_BYTES, "not enough memory for the frames (%u, keys of each: %u)",
             bulk->slots_count + prefilled, bulk->frame);
    char *prefill_memory = NULL;
    int status = take_memory(bulk, setup->options->region, bulk->slots_count * slot_bytes,
                             sw_load_prefill_bytes(setup->workload, prefilled, bulk->frame),
                             &prefill_memory, error);
    if (status) {
        return status;
    }
    assign_arrays(bulk, keys_bytes, values_bytes, slot_bytes);
    /* Stores to every page now, so that the first phase has no page faults. Of prefilled frames
     * this thread stores only the bitmaps of their replies. */
    bulk->frames = setup->frames;
    if (!is_prefilled) {
        memset(bulk->arrays, 0, bulk->slots_count * slot_bytes);
    }
    for (uint32_t i = 0; is_prefilled && i < bulk->slots_count; i++) {
        memset(bulk->slots[i].found, 0, found_bytes);
    }
    const struct sw_load_prefill_plan plan = {
        .workload = setup->workload,
        .distribution = setup->distribution,
        .mix = setup->partitions ? &setup->options->mix : NULL,
        .random = sw_load_mix64(setup->options->seed + first_slot + 1),
        .frames = prefilled,
        .frame = bulk->frame,
        .frame_min = setup->options->frame_min ? setup->options->frame_min : bulk->frame,
        .tables = setup->options->tables,
        .by_segments = setup->options->segments,
        .memory = prefill_memory,
    };
    if (prefilled != 0 && !sw_load_prefill_init(&bulk->prefill, &plan)) {
        return SW_LOAD_E_NOMEM;
    }
    for (uint32_t i = 0; setup->partitions && i < bulk->slots_count; i++) {
        struct sw_load_slot *slot = &bulk->slots[i];
        if (!sw_load_partition_init(&slot->partition, setup->partitions, first_slot + i)) {
            return SW_LOAD_E_NOMEM;
        }
        slot->unit.partition = &slot->partition;
    }
    error[0] = '\0';
    return SW_LOAD_OK;
}

/* Returns the operation of a frame of a mix. All keys of a frame have the same operation. */
static enum sherwood_operation mix_operation(const struct sw_load_unit *unit)
{
    switch (unit->operation) {
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

/* Makes the request for the unit in the slot. */
static void make_request(const struct sw_load_worker *worker, const struct sw_load_bulk *bulk,
                         struct sw_load_slot *slot)
{
    const struct sw_load_unit *unit = &slot->unit;
    const struct sw_load_options *options = worker->options;
    enum sherwood_operation operation = SHERWOOD_GET;
    if (unit->partition) {
        operation = mix_operation(unit);
    } else if (worker->phase->operation == SW_LOAD_DELETE) {
        operation = SHERWOOD_DELETE;
    } else if (worker->phase->operation == SW_LOAD_SET) {
        operation = SHERWOOD_SET;
        if (!unit->is_filled) {
            sw_load_fill_values(worker->workload, unit->keys, unit->count, unit->operands);
        }
    }
    bool takes_operands = operation == SHERWOOD_SET || operation == SHERWOOD_SUM;
    bool wants_values = operation == SHERWOOD_GET || options->want_previous;
    /* The check of a mix reads every key, also the absent ones, so it needs the bitmap. */
    bool wants_found = !options->no_found || worker->phase->operation == SW_LOAD_CHECK;
    bool is_batched = unit->count <= SW_LOAD_BATCH_KEYS || unit->is_filled;
    slot->request = (struct sherwood_request){
        .size = sizeof(struct sherwood_request),
        .operation = operation,
        .count = unit->count,
        .keys = unit->keys,
        .values = takes_operands ? unit->operands : NULL,
        .previous = wants_values && (!options->no_verify || bulk->region) ? slot->got : NULL,
        .found = wants_found ? slot->found : NULL,
        .flags = (wants_values && options->no_verify && !bulk->region ? SHERWOOD_DISCARD : 0U) |
                 (unit->is_filled && bulk->splices && !bulk->region ? SHERWOOD_CONSTANT : 0U) |
                 (is_batched && !unit->due_ns ? SHERWOOD_DELAY : 0U),
        .user = slot,
        .times = options->ttl > 0 && operation == SHERWOOD_SET ? &bulk->times : NULL,
    };
}

/* Takes the next unit for an idle slot. Returns false if the phase has no more for it. */
static bool take_unit(struct sw_load_worker *worker, struct sw_load_bulk *bulk,
                      struct sw_load_slot *slot)
{
    struct sw_load_unit *unit = &slot->unit;
    const bool is_timed = worker->phase->seconds > 0;
    unit->keys = slot->keys;
    unit->operands = slot->operands;
    unit->is_filled = is_timed ? bulk->prefill.frames != 0 : bulk->frames != NULL;
    if (!sw_load_worker_take(worker, sw_load_now_ns(), unit)) {
        return false;
    }
    if (unit->is_filled) {
        const struct sw_load_prefilled *frame =
            is_timed ? sw_load_prefill_take(&bulk->prefill) : &bulk->frames->each[unit->number];
        unit->keys = frame->keys;
        unit->operands = frame->values;
        unit->operation = frame->operation;
        unit->table = frame->table;
        unit->count = is_timed ? frame->count : unit->count;
    }
    make_request(worker, bulk, slot);
    return true;
}

static int submit(struct sw_load_worker *worker, struct sw_load_bulk *bulk,
                  struct sw_load_slot *slot)
{
    sw_load_worker_sent(worker, &slot->unit, sw_load_now_ns());
    struct sw_load_segments *segments =
        bulk->segments == NULL ? NULL : &bulk->segments[slot - bulk->slots];
    if (sw_load_tables_submit(&bulk->tables, bulk->client, worker, &slot->unit, &slot->request,
                              segments, slot->got)) {
        return sw_load_worker_fail(worker, SW_LOAD_E_PEER, "%s", sherwood_error(bulk->client));
    }
    bulk->in_flight++;
    return SW_LOAD_OK;
}

/* Waits for a reply for at most `timeout_ms` (negative: without limit), and accounts
 * for it. The slot in *out can take another unit; NULL: no reply came. */
static int await_answer(struct sw_load_worker *worker, struct sw_load_bulk *bulk, int timeout_ms,
                        struct sw_load_slot **out)
{
    struct sherwood_request *request;
    int status = sherwood_wait_any_for(bulk->client, &request, timeout_ms);
    *out = NULL;
    if (!request && (status == SHERWOOD_E_PENDING || status == SHERWOOD_OK)) {
        return SW_LOAD_OK;
    }
    if (status) {
        return sw_load_worker_fail(worker, SW_LOAD_E_PEER, "%s", sherwood_error(bulk->client));
    }
    struct sw_load_slot *slot = request->user;
    bulk->in_flight--;
    sw_load_worker_done(worker, &slot->unit, sw_load_now_ns());
    sw_load_bulk_use(worker, slot);
    *out = slot;
    return SW_LOAD_OK;
}

static int run_closed(struct sw_load_worker *worker, struct sw_load_bulk *bulk)
{
    int status = SW_LOAD_OK;
    for (uint32_t i = 0; i < bulk->slots_count && status == SW_LOAD_OK; i++) {
        if (take_unit(worker, bulk, &bulk->slots[i])) {
            status = submit(worker, bulk, &bulk->slots[i]);
        }
    }
    while (status == SW_LOAD_OK && bulk->in_flight) {
        struct sw_load_slot *slot;
        status = await_answer(worker, bulk, -1, &slot);
        if (status == SW_LOAD_OK && slot && take_unit(worker, bulk, slot)) {
            status = submit(worker, bulk, slot);
        }
    }
    return status;
}

/* Handles all replies that have arrived. */
static int take_answers(struct sw_load_worker *worker, struct sw_load_bulk *bulk,
                        uint64_t *answered_ns)
{
    struct sw_load_slot *slot = NULL;
    int status = SW_LOAD_OK;
    while (status == SW_LOAD_OK && bulk->in_flight) {
        status = await_answer(worker, bulk, 0, &slot);
        if (status || !slot) {
            return status;
        }
        bulk->idle[bulk->idle_count++] = slot;
        *answered_ns = worker->end_ns;
    }
    return status;
}

/* Sleeps until a reply arrives, or the unit of `armed` (may be NULL) is due. */
static int sleep_until(struct sw_load_worker *worker, struct sw_load_bulk *bulk,
                       const struct sw_load_slot *armed, uint64_t answered_ns)
{
    struct pollfd ready = {.fd = sherwood_descriptor(bulk->client), .events = POLLIN};
    uint64_t now = sw_load_now_ns(), until = now + SW_LOAD_SLEEP_NS;
    if (ready.fd < 0) {
        return sw_load_worker_fail(worker, SW_LOAD_E_PEER, "no descriptor left for epoll");
    }
    if (armed && armed->unit.due_ns < until) {
        until = armed->unit.due_ns;
    }
    uint64_t left = until > now ? until - now : 0;
    const struct timespec time = {.tv_sec = (time_t)(left / SECOND_NS),
                                  .tv_nsec = (long)(left % SECOND_NS)};
    worker->traffic.polls++;
    int n = left == 0 ? 0 : ppoll(&ready, 1, &time, NULL);
    if (n < 0 && errno != EINTR) {
        return sw_load_worker_fail(worker, SW_LOAD_E_PEER, "poll: %s", strerror(errno));
    }
    if (bulk->in_flight && now > answered_ns + SW_LOAD_SILENCE_MS * 1000000ULL) {
        return sw_load_worker_fail(worker, SW_LOAD_E_PEER,
                                   "no reply within %d s: see the server's log",
                                   SW_LOAD_SILENCE_MS / 1000);
    }
    return SW_LOAD_OK;
}

static int run_open(struct sw_load_worker *worker, struct sw_load_bulk *bulk)
{
    struct sw_load_slot *armed = NULL; /* the slot with a unit that is not due yet */
    uint64_t answered_ns = sw_load_now_ns();
    int status = SW_LOAD_OK;
    bulk->idle_count = 0;
    for (uint32_t i = bulk->slots_count; i > 0; i--) {
        bulk->idle[bulk->idle_count++] = &bulk->slots[i - 1];
    }
    while (status == SW_LOAD_OK) {
        bool is_stopped = atomic_load_explicit(&worker->phase->stop, memory_order_relaxed);
        while (!armed && bulk->idle_count && !is_stopped) {
            struct sw_load_slot *slot = bulk->idle[--bulk->idle_count];
            armed = take_unit(worker, bulk, slot) ? slot : NULL;
        }
        if ((!armed && !bulk->in_flight) || is_stopped) {
            break;
        }
        if (armed && sw_load_now_ns() >= armed->unit.due_ns) {
            answered_ns = bulk->in_flight ? answered_ns : sw_load_now_ns();
            status = submit(worker, bulk, armed);
            armed = NULL;
        } else {
            status = sleep_until(worker, bulk, armed, answered_ns);
        }
        if (status == SW_LOAD_OK) {
            status = take_answers(worker, bulk, &answered_ns);
        }
    }
    return status;
}

static int bulk_run(struct sw_load_worker *worker)
{
    struct sw_load_bulk *bulk = worker->connections;
    struct sherwood_traffic before, after;
    for (uint32_t i = 0; i < bulk->slots_count; i++) {
        sw_load_partition_rewind(&bulk->slots[i].partition);
    }
    sherwood_traffic(bulk->client, &before, sizeof(before));
    int status = worker->phase->rate ? run_open(worker, bulk) : run_closed(worker, bulk);
    sherwood_traffic(bulk->client, &after, sizeof(after));
    worker->traffic = (struct sw_load_traffic){
        .reads = after.reads - before.reads,
        .writes = after.writes - before.writes,
        .polls = after.polls - before.polls + worker->traffic.polls,
        .options = after.options - before.options,
        .bytes_received = after.bytes_received - before.bytes_received,
        .bytes_sent = after.bytes_sent - before.bytes_sent,
        .bytes_spliced = after.bytes_spliced - before.bytes_spliced,
        .ring_requests = after.ring_requests - before.ring_requests,
        .ring_bells = after.ring_bells - before.ring_bells,
    };
    return status;
}

static void bulk_count(const void *context, struct sw_load_nodes *nodes)
{
    const struct sw_load_bulk *bulk = context;
    sw_load_nodes_add(nodes, bulk->client);
}

const struct sw_load_transport sw_load_bulk_transport = {
    .connect = bulk_connect,
    .prepare = bulk_prepare,
    .run = bulk_run,
    .count = bulk_count,
    .destroy = bulk_destroy,
};
