/* SPDX-License-Identifier: MIT
 *
 * cluster_requests.c - the requests in flight at a cluster: sends parts in order, receives their
 * answers, and sends refused parts again.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cluster.h"
#include "client/error.h"
#include "client/request.h"
#include "client/send.h"
#include "client/step.h"

/* Limits of a blocking call: RUN_REQUESTS requests in flight, each of about RUN_KEYS keys per
 * shard. */
#define RUN_REQUESTS 4
#define RUN_KEYS 65536
/* The library gives up a part after this many refusals. */
#define ATTEMPTS_MAX 16
#define FROZEN_MAX 160 /* refusals of a slot that is handed over: about half a minute */
/* The library gives up a part without a connection to its shard after this many attempts. */
#define LOST_MAX 2
/* A client waits for a random time up to this before it loads a topology, so that not all clients
 * load it at once. */
#define JITTER_MS 100
/* The first and the longest wait for a server that has an older topology than the client. */
#define BEHIND_MS 10
#define BEHIND_MS_MAX 200

/* --- cluster requests ------------------------------------------------------------------------- */

static struct sw_client_cluster_request *acquire_request(struct sherwood *client)
{
    struct sw_client_cluster *cluster = client->cluster;
    struct sw_client_cluster_request *request = cluster->idle;
    if (request == NULL) {
        request = calloc(1, sizeof(*request));
    } else {
        cluster->idle = request->next;
    }
    if (request != NULL) {
        request->next = NULL;
        request->submitted = NULL;
        request->call = NULL;
        request->key_bytes = client->table->server.key_bytes;
        request->value_bytes = client->table->server.value_bytes;
        request->status = SHERWOOD_OK;
        request->hits = request->overflows = request->open = 0;
        request->trace = client->trace;
    }
    return request;
}

static void release_request(struct sw_client_cluster *cluster,
                            struct sw_client_cluster_request *request)
{
    request->next = cluster->idle;
    cluster->idle = request;
}

/* Ends a request whose parts are all done: it leaves the list, and its owner gets the result. */
static void finish_request(struct sherwood *client, struct sw_client_cluster_request *request)
{
    struct sw_client_cluster *cluster = client->cluster;
    struct sw_client_cluster_request *before = NULL;
    assert(request->open == 0 && cluster->requests > 0);
    for (struct sw_client_cluster_request *other = cluster->first; other != request;
         other = other->next) {
        before = other;
    }
    *(before == NULL ? &cluster->first : &before->next) = request->next;
    cluster->last = cluster->last == request ? before : cluster->last;
    cluster->requests--;
    if (request->status == SHERWOOD_OK) {
        sw_client_join(request);
    }
    if (request->call != NULL) {
        request->call->flights--;
        request->call->status =
            request->call->status != SHERWOOD_OK ? request->call->status : request->status;
        request->call->overflows += request->overflows;
    }
    if (request->submitted != NULL) {
        sw_client_request_finish(client, request->submitted, request->status, request->hits,
                                 request->overflows);
    }
    release_request(cluster, request);
}

static void finish_part(struct sherwood *client, struct sw_client_shard_request *part, int status)
{
    struct sw_client_cluster_request *request = part->request;
    assert(request->open > 0 && part->state != SW_CLIENT_SHARD_REQUEST_DONE);
    part->state = SW_CLIENT_SHARD_REQUEST_DONE;
    request->status = request->status != SHERWOOD_OK ? request->status : status;
    if (--request->open == 0) {
        finish_request(client, request);
    }
}

static void refuse_part(struct sw_client_cluster *cluster, struct sw_client_shard_request *part,
                        uint32_t refusal)
{
    part->state = SW_CLIENT_SHARD_REQUEST_REFUSED;
    part->refusal = refusal;
    *(refusal == SW_REPLY_SLOT_FROZEN ? &part->frozen : &part->attempts) += 1;
    cluster->refused++;
}

static bool is_refusal(uint32_t status)
{
    return status == SW_REPLY_WRONG_SHARD || status == SW_REPLY_SLOT_FROZEN ||
           status == SW_REPLY_NOT_PRIMARY;
}

/* `done` of a part's frame: its answer has arrived, or its connection has ended (NULL). */
static void receive_part(struct sherwood *client, const struct sw_client_flight *flight, int status,
                         const struct sw_reply *reply)
{
    struct sw_client_shard_request *part = flight->owner;
    struct sw_client_cluster *cluster = client->cluster;
    if (reply != NULL && is_refusal(reply->status)) {
        cluster->connections[part->shard]->refusals++;
        cluster->connections[part->shard]->frozen += reply->status == SW_REPLY_SLOT_FROZEN;
        cluster->newest = cluster->newest > reply->map_epoch ? cluster->newest : reply->map_epoch;
        refuse_part(cluster, part, reply->status);
        return;
    }
    if (reply != NULL) {
        part->request->hits += reply->hits;
        part->request->overflows += reply->overflows;
    }
    finish_part(client, part, status);
}

/* Stores the sentence for a failed split. */
static int split_error(struct sherwood *client, int status, uint32_t slot)
{
    return status == SHERWOOD_E_SHARD
               ? sw_client_fail(client, status,
                                "slot %u has no owner: assign it (see sherwood-cli cluster check)",
                                slot)
               : sw_client_fail(client, status, "not enough memory to split the keys");
}

/* --- sending ---------------------------------------------------------------------------------- */

static struct sw_client_frame frame_of(struct sw_client_shard_request *part, uint64_t epoch,
                                       uint32_t frozen_seen)
{
    const struct sw_client_cluster_request *request = part->request;
    struct sw_request header = {.operation = (uint32_t)request->operation,
                                .count = part->count,
                                .key_bytes = request->key_bytes,
                                .value_bytes = request->value_bytes,
                                .want_values = request->wants_values,
                                .declines_found = request->answers_found == NULL,
                                .map_epoch = epoch,
                                .frozen_seen = frozen_seen};
    sw_client_add_details(&header, &request->details);
    return (struct sw_client_frame){
        .header = header,
        .done = receive_part,
        .owner = part,
        .second = request->answers_found != NULL ? part->found : NULL,
        .trace = &request->trace,
        .times_ms = part->times_ms,
        .pieces = &part->piece,
        .pieces_count = 1,
    };
}

/* Sends a part. Returns false if its connection cannot take it now. */
static bool send_part(struct sherwood *client, struct sw_client_shard_request *part)
{
    struct sw_client_cluster *cluster = client->cluster;
    struct sw_client_connection *connection = sw_client_cluster_connection(client, part->shard);
    const uint64_t epoch = cluster->topology->epoch;
    if (connection == NULL) {
        cluster->waiting--;
        refuse_part(cluster, part, 0);
        return true;
    }
    if (!sw_client_connection_is_free(connection) ||
        (connection->map_epoch < epoch && connection->in_flight > 0)) {
        return false;
    }
    cluster->waiting--;
    if (!sw_client_shard_request_reserve_answers(part)) {
        finish_part(client, part,
                    sw_client_fail(client, SHERWOOD_E_NOMEM, "not enough memory for the replies"));
        return true;
    }
    part->piece = (struct sherwood_piece){
        part->keys, part->values, part->request->keeps_values ? part->previous : NULL, part->count};
    struct sw_client_frame frame = frame_of(part, epoch, connection->frozen);
    if (sw_client_queue(connection, &frame) == NULL) {
        finish_part(client, part,
                    sw_client_fail(client, SHERWOOD_E_INVALID, "the frame cannot be encoded"));
        return true;
    }
    part->state = SW_CLIENT_SHARD_REQUEST_FLYING;
    connection->keys += part->count;
    connection->frames++;
    return true;
}

/* Queues the parts that can be sent, in order, and sends as much as the sockets accept. */
static void send_unsent_parts(struct sherwood *client)
{
    struct sw_client_cluster *cluster = client->cluster;
    bool is_blocked[SHERWOOD_STRIPES_MAX] = {false};
    struct sw_client_cluster_request *next;
    for (struct sw_client_cluster_request *request = cluster->first;
         request != NULL && cluster->waiting > 0 && cluster->refused == 0; request = next) {
        uint32_t parts = request->parts_count;
        next = request->next; /* send_part may end a request, which then leaves the list */
        for (uint32_t s = 0; s < parts && cluster->refused == 0; s++) {
            struct sw_client_shard_request *part = &request->parts[s];
            if (part->state == SW_CLIENT_SHARD_REQUEST_WAITING && !is_blocked[part->shard]) {
                is_blocked[part->shard] = !send_part(client, part);
            }
        }
    }
    sw_client_send_all(client);
}

/* Adds a request whose parts are not sent yet. */
static void add_cluster_request(struct sw_client_cluster *cluster,
                                struct sw_client_cluster_request *request)
{
    cluster->waiting += request->open;
    *(cluster->last == NULL ? &cluster->first : &cluster->last->next) = request;
    cluster->last = request;
    cluster->requests++;
}

/* --- what was refused ------------------------------------------------------------------------- */

static void sleep_ms(uint64_t ms)
{
    struct timespec left = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    (void)nanosleep(&left, NULL);
}

/* Calls a function for each part that is unsent or refused. The function may end requests. */
static void each_unsent(struct sherwood *client,
                        void (*visit)(struct sherwood *client,
                                      struct sw_client_cluster_request *request, uint32_t part,
                                      void *user),
                        void *user)
{
    struct sw_client_cluster_request *next;
    for (struct sw_client_cluster_request *request = client->cluster->first; request != NULL;
         request = next) {
        const uint32_t parts = request->parts_count;
        next = request->next;
        for (uint32_t s = 0; s < parts; s++) {
            enum sw_client_shard_request_state state = request->parts[s].state;
            if (state == SW_CLIENT_SHARD_REQUEST_WAITING ||
                state == SW_CLIENT_SHARD_REQUEST_REFUSED) {
                visit(client, request, s, user);
            }
        }
    }
}

/* A summary of the refused parts. */
struct causes {
    /* The connection of the first part that a server refused; NULL: no server refused one. */
    struct sw_client_connection *connection;
    bool needs_map;
    uint32_t attempts; /* the most attempts of one part */
};

static void add_cause(struct sherwood *client, struct sw_client_cluster_request *request,
                      uint32_t number, void *user)
{
    struct causes *causes = user;
    const struct sw_client_shard_request *part = &request->parts[number];
    if (part->state != SW_CLIENT_SHARD_REQUEST_REFUSED) {
        return;
    }
    const uint32_t attempts = part->attempts + part->frozen;
    causes->attempts = attempts > causes->attempts ? attempts : causes->attempts;
    causes->needs_map |=
        part->refusal == SW_REPLY_NOT_PRIMARY || (part->refusal == 0 && part->attempts < LOST_MAX);
    if (causes->connection == NULL && part->refusal != 0) {
        causes->connection = sw_client_cluster_connection(client, part->shard);
    }
}

/* Returns SHERWOOD_OK if a refused part is to be sent again, otherwise why not. */
static int retry_error(struct sherwood *client, const struct sw_client_shard_request *part,
                       int loaded)
{
    if (loaded != SHERWOOD_OK) {
        return loaded;
    }
    if (part->refusal == 0 && part->attempts >= LOST_MAX) {
        return sw_client_fail(client, SHERWOOD_E_CONNECTION, "%s", client->cluster->trouble);
    }
    return part->attempts < ATTEMPTS_MAX && part->frozen < FROZEN_MAX ? SHERWOOD_OK
                                                                      : SHERWOOD_E_SHARD;
}

/* Ends a part that cannot be sent again, or splits it by the topology that the handle has now. */
static void retry_or_fail(struct sherwood *client, struct sw_client_cluster_request *request,
                          uint32_t number, void *user)
{
    struct sw_client_cluster *cluster = client->cluster;
    struct sw_client_shard_request *part = &request->parts[number];
    const int *loaded = user;
    uint32_t slot = 0, before = request->open;
    bool was_refused = part->state == SW_CLIENT_SHARD_REQUEST_REFUSED;
    int given_up = was_refused ? retry_error(client, part, *loaded) : SHERWOOD_OK;
    *(was_refused ? &cluster->refused : &cluster->waiting) -= 1;
    if (given_up != SHERWOOD_OK) {
        finish_part(client, part, given_up);
        return;
    }
    int rc = sw_client_split_again(request, number, cluster->topology, cluster->places, &slot);
    if (rc == SHERWOOD_OK) {
        cluster->waiting += request->open - (before - 1);
        return;
    }
    finish_part(client, &request->parts[number], split_error(client, rc, slot));
}

/* Begins when no frame is in flight and parts were refused. Loads the topology if it is outdated;
 * otherwise waits for the servers that are behind. Then queues the refused and the unsent parts
 * again. */
static void recover(struct sherwood *client)
{
    struct sw_client_cluster *cluster = client->cluster;
    struct causes causes = {0};
    int loaded = SHERWOOD_OK;
    each_unsent(client, add_cause, &causes);
    if (causes.needs_map || cluster->newest > cluster->topology->epoch) {
        sleep_ms(sw_client_cluster_draw(cluster, JITTER_MS + 1));
        loaded = sw_client_cluster_load(client, causes.connection);
    } else {
        uint32_t doublings = causes.attempts < 6 ? causes.attempts - 1 : 5;
        uint64_t ms = (uint64_t)BEHIND_MS << doublings;
        sleep_ms(ms < BEHIND_MS_MAX ? ms : BEHIND_MS_MAX);
    }
    each_unsent(client, retry_or_fail, &loaded);
}

static void recover_and_send(struct sherwood *client)
{
    if (client->cluster->refused > 0 && client->in_flight == 0) {
        recover(client);
    }
    send_unsent_parts(client);
}

void sw_client_cluster_turn(struct sherwood *client, int limit_ms)
{
    recover_and_send(client);
    if (client->in_flight > 0) {
        sw_client_step(client, limit_ms);
        recover_and_send(client); /* otherwise nothing would wake a program on the descriptor */
    }
}

void sw_client_cluster_settle(struct sherwood *client, bool answered)
{
    const struct sw_client_cluster *cluster = client->cluster;
    while (cluster->waiting > 0 || cluster->refused > 0 || (answered && cluster->requests > 0)) {
        sw_client_cluster_turn(client, -1);
    }
}

/* --- calls ------------------------------------------------------------------------------------ */

int sw_client_cluster_submit(struct sherwood *client, struct sherwood_request *submitted)
{
    struct sw_client_cluster *cluster = client->cluster;
    uint32_t slot = 0;
    if (cluster->requests >= client->flights_max && client->in_flight > 0) {
        sw_client_send_all(client);
        sw_client_step(client, 0);
    }
    if (cluster->requests >= client->flights_max) {
        return sw_client_fail(client, SHERWOOD_E_BUSY,
                              "submit: the limit in flight, %u, is reached: wait for one first",
                              cluster->requests);
    }
    struct sw_client_cluster_request *request = acquire_request(client);
    if (request == NULL) {
        return sw_client_fail(client, SHERWOOD_E_NOMEM, "not enough memory for a request");
    }
    const struct sw_client_details details = sw_client_request_details(client, submitted);
    request->submitted = submitted;
    sw_client_cluster_request_describe(request, submitted->operation, &details);
    request->count = submitted->count;
    request->single = (struct sherwood_piece){submitted->keys, submitted->values,
                                              submitted->previous, submitted->count};
    request->pieces = submitted->pieces != NULL ? submitted->pieces : &request->single;
    request->pieces_count = submitted->pieces != NULL ? submitted->pieces_count : 1;
    request->answers_found = submitted->found;
    request->keeps_values = false;
    for (uint32_t p = 0; p < request->pieces_count; p++) {
        request->keeps_values |= request->pieces[p].previous != NULL;
    }
    request->wants_values = request->keeps_values || (submitted->flags & SHERWOOD_DISCARD) != 0;
    int rc = sw_client_split(request, cluster->topology, &slot);
    if (rc != SHERWOOD_OK) {
        release_request(cluster, request);
        return split_error(client, rc, slot);
    }
    sw_client_request_begin(submitted, 0);
    add_cluster_request(cluster, request);
    if ((submitted->flags & SHERWOOD_DELAY) == 0) {
        send_unsent_parts(client);
    }
    return SHERWOOD_OK;
}

/* Returns the number of keys of a blocking call's next request: RUN_KEYS for each shard, and at
 * most frame_ops_max in all (half of it with KEEP). */
static uint32_t request_keys(const struct sherwood *client, const struct sw_client_details *details,
                             size_t left)
{
    const uint32_t ops_max = client->table->server.frame_ops_max;
    const bool keeps =
        details->times == SW_FRAME_TIMES_KEEP && ops_max >= 2 * SW_CLIENT_SPLIT_KEYS; /* times.h */
    const uint32_t limit = keeps ? ops_max / 2 : ops_max;
    uint64_t most = (uint64_t)RUN_KEYS * client->cluster->topology->shard_count;
    most = most < limit ? most : limit;
    return left <= most ? (uint32_t)left
                        : (uint32_t)(most / SW_CLIENT_SPLIT_KEYS * SW_CLIENT_SPLIT_KEYS);
}

/* Splits a request of a blocking call. If a slot has no owner, loads the topology, which may have
 * one by now, and tries once more. */
static int split_or_load(struct sherwood *client, struct sw_client_cluster_request *request)
{
    const struct sw_client_cluster *cluster = client->cluster;
    uint32_t slot = 0;
    int rc = sw_client_split(request, cluster->topology, &slot);
    if (rc == SHERWOOD_E_SHARD) {
        sw_client_cluster_settle(client, true);
        (void)sw_client_cluster_load(client, NULL);
        rc = sw_client_split(request, cluster->topology, &slot);
    }
    return rc == SHERWOOD_OK ? rc : split_error(client, rc, slot);
}

int sw_client_cluster_run(struct sherwood *client, enum sherwood_operation operation,
                          const struct sw_client_details *details, const void *keys,
                          const void *values, size_t count, void *previous, uint64_t *found)
{
    struct sw_client_cluster *cluster = client->cluster;
    const uint32_t kb = client->table->server.key_bytes;
    struct sw_client_call call = {0};
    int rc = SHERWOOD_OK;
    for (size_t at = 0; at < count && rc == SHERWOOD_OK && call.status == SHERWOOD_OK;) {
        if (call.flights >= RUN_REQUESTS) {
            sw_client_cluster_turn(client, -1);
            continue;
        }
        struct sw_client_cluster_request *request = acquire_request(client);
        if (request == NULL) {
            rc = sw_client_fail(client, SHERWOOD_E_NOMEM, "not enough memory for a request");
            break;
        }
        uint32_t n = request_keys(client, details, count - at);
        request->call = &call;
        sw_client_cluster_request_describe(request, operation, details);
        request->details.times_ms = details->times_ms == NULL ? NULL : details->times_ms + at;
        request->count = n;
        request->single = (struct sherwood_piece){
            (const uint8_t *)keys + at * kb,
            values == NULL ? NULL : (const uint8_t *)values + at * request->operand_bytes,
            previous == NULL ? NULL : (uint8_t *)previous + at * request->answer_bytes, n};
        request->pieces = &request->single;
        request->pieces_count = 1;
        request->answers_found = found == NULL ? NULL : found + at / 64;
        request->wants_values = request->keeps_values = previous != NULL;
        rc = split_or_load(client, request);
        if (rc != SHERWOOD_OK) {
            release_request(cluster, request);
            break;
        }
        call.flights++;
        add_cluster_request(cluster, request);
        send_unsent_parts(client);
        at += n;
    }
    while (call.flights > 0) {
        sw_client_cluster_turn(client, -1);
    }
    client->overflows = call.overflows;
    return call.status != SHERWOOD_OK ? call.status : rc;
}
