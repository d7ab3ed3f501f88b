/* SPDX-License-Identifier: MIT
 *
 * jobs.c - the requests in flight at a cluster: sends shares in order, receives their answers, and
 * sends refused shares again.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cluster.h"
#include "client/error.h"
#include "client/request.h"
#include "client/send.h"
#include "client/step.h"

/* Limits of a blocking call: RUN_JOBS jobs in flight, each of about RUN_KEYS keys per shard. */
#define RUN_JOBS 4
#define RUN_KEYS 65536
/* A share with this many refusals is not sent again. */
#define ATTEMPTS_MAX 16
/* The same for refusals while a slot is handed over: about half a minute. */
#define FROZEN_MAX 160
/* A share without a connection to its shard fails once it has this many failed attempts. */
#define LOST_MAX 2
/* Before it loads a topology, a client waits for a random time up to this, so that not all clients
 * load it at once. */
#define JITTER_MS 100
/* The first and the longest wait for a server that has an older topology than the client. */
#define BEHIND_MS 10
#define BEHIND_MS_MAX 200

/* --- jobs ------------------------------------------------------------------------------------- */

static struct sw_client_job *take_job(struct sherwood *client)
{
    struct sw_client_cluster *cluster = client->cluster;
    struct sw_client_job *job = cluster->idle;
    if (job == NULL) {
        job = calloc(1, sizeof(*job));
    } else {
        cluster->idle = job->next;
    }
    if (job != NULL) {
        job->next = NULL;
        job->request = NULL;
        job->call = NULL;
        job->key_bytes = client->server.key_bytes;
        job->value_bytes = client->server.value_bytes;
        job->open = 0;
        job->status = SHERWOOD_OK;
        job->hits = job->overflows = 0;
    }
    return job;
}

static void give_back(struct sw_client_cluster *cluster, struct sw_client_job *job)
{
    job->next = cluster->idle;
    cluster->idle = job;
}

/* All shares of the job are done: it leaves the list, and its result goes to its owner. */
static void finish(struct sherwood *client, struct sw_client_job *job)
{
    struct sw_client_cluster *cluster = client->cluster;
    struct sw_client_job *before = NULL;
    for (struct sw_client_job *j = cluster->first; j != job; j = j->next) {
        before = j;
    }
    *(before == NULL ? &cluster->first : &before->next) = job->next;
    cluster->last = cluster->last == job ? before : cluster->last;
    cluster->jobs--;
    if (job->status == SHERWOOD_OK) {
        sw_client_join(job);
    }
    if (job->call != NULL) {
        job->call->flights--;
        job->call->status = job->call->status != SHERWOOD_OK ? job->call->status : job->status;
        job->call->overflows += job->overflows;
    }
    if (job->request != NULL) {
        sw_client_request_finish(client, job->request, job->status, job->hits, job->overflows);
    }
    give_back(cluster, job);
}

static void share_done(struct sherwood *client, struct sw_client_share *share, int status)
{
    struct sw_client_job *job = share->job;
    share->state = SW_CLIENT_SHARE_DONE;
    job->status = job->status != SHERWOOD_OK ? job->status : status;
    if (--job->open == 0) {
        finish(client, job);
    }
}

static void share_refused(struct sw_client_cluster *cluster, struct sw_client_share *share,
                          uint32_t refusal)
{
    share->state = SW_CLIENT_SHARE_REFUSED;
    share->refusal = refusal;
    *(refusal == SW_REPLY_SLOT_FROZEN ? &share->frozen : &share->attempts) += 1;
    cluster->refused++;
}

static bool is_refusal(uint32_t status)
{
    return status == SW_REPLY_WRONG_SHARD || status == SW_REPLY_SLOT_FROZEN ||
           status == SW_REPLY_NOT_PRIMARY;
}

/* `done` of a share's frame: its answer has come, or its connection has ended (NULL). */
static void share_answered(struct sherwood *client, const struct sw_client_flight *flight,
                           int status, const struct sw_reply *reply)
{
    struct sw_client_share *share = flight->owner;
    struct sw_client_cluster *cluster = client->cluster;
    if (reply != NULL && is_refusal(reply->status)) {
        cluster->stripes[share->shard]->refusals++;
        cluster->stripes[share->shard]->frozen += reply->status == SW_REPLY_SLOT_FROZEN;
        cluster->newest = cluster->newest > reply->map_epoch ? cluster->newest : reply->map_epoch;
        share_refused(cluster, share, reply->status);
        return;
    }
    if (reply != NULL) {
        share->job->hits += reply->hits;
        share->job->overflows += reply->overflows;
    }
    share_done(client, share, status);
}

/* The sentence of a failed split. */
static int unsplit(struct sherwood *client, int status, uint32_t slot)
{
    return status == SHERWOOD_E_SHARD
               ? sw_client_fail(client, status,
                                "slot %u has no owner: see sherwood-cli cluster "
                                "check",
                                slot)
               : sw_client_fail(client, status, "not enough memory to split the keys");
}

/* --- sending ---------------------------------------------------------------------------------- */

static struct sw_client_frame frame_of(struct sw_client_share *share, uint64_t epoch,
                                       uint32_t frozen_seen)
{
    const struct sw_client_job *job = share->job;
    struct sw_request header = {.operation = (uint32_t)job->operation,
                                .count = share->count,
                                .key_bytes = job->key_bytes,
                                .value_bytes = job->value_bytes,
                                .want_values = job->wants_values,
                                .declines_found = job->answers_found == NULL,
                                .map_epoch = epoch,
                                .frozen_seen = frozen_seen};
    sw_client_add_details(&header, &job->details);
    return (struct sw_client_frame){
        .header = header,
        .done = share_answered,
        .owner = share,
        .second = job->answers_found != NULL ? share->found : NULL,
        .times_ms = share->times_ms,
        .pieces = &share->piece,
        .pieces_count = 1,
    };
}

/* Sends a share. Returns false if its connection cannot take it now. */
static bool send_share(struct sherwood *client, struct sw_client_share *share)
{
    struct sw_client_cluster *cluster = client->cluster;
    struct sw_client_stripe *stripe = sw_client_cluster_stripe(client, share->shard);
    const uint64_t epoch = cluster->topology->epoch;
    if (stripe == NULL) {
        cluster->waiting--;
        share_refused(cluster, share, 0);
        return true;
    }
    if (!sw_client_stripe_is_free(stripe) || (stripe->map_epoch < epoch && stripe->in_flight > 0)) {
        return false;
    }
    cluster->waiting--;
    if (!sw_client_share_room(share)) {
        share_done(client, share,
                   sw_client_fail(client, SHERWOOD_E_NOMEM, "not enough memory for the answers"));
        return true;
    }
    share->piece =
        (struct sherwood_piece){share->keys, share->values,
                                share->job->keeps_values ? share->previous : NULL, share->count};
    struct sw_client_frame frame = frame_of(share, epoch, stripe->frozen);
    if (sw_client_queue(stripe, &frame) == NULL) {
        share_done(client, share,
                   sw_client_fail(client, SHERWOOD_E_INVALID, "the frame cannot be encoded"));
        return true;
    }
    share->state = SW_CLIENT_SHARE_FLYING;
    stripe->keys += share->count;
    stripe->frames++;
    return true;
}

/* Queues the shares that can be sent, in order, and sends as much as the sockets accept. */
static void pump(struct sherwood *client)
{
    struct sw_client_cluster *cluster = client->cluster;
    bool is_blocked[SHERWOOD_STRIPES_MAX] = {false};
    struct sw_client_job *next;
    for (struct sw_client_job *job = cluster->first;
         job != NULL && cluster->waiting > 0 && cluster->refused == 0; job = next) {
        uint32_t shares = job->shares_count;
        next = job->next; /* a job that fails at once leaves the list */
        for (uint32_t s = 0; s < shares && cluster->refused == 0; s++) {
            struct sw_client_share *share = &job->shares[s];
            if (share->state == SW_CLIENT_SHARE_WAITING && !is_blocked[share->shard]) {
                is_blocked[share->shard] = !send_share(client, share);
            }
        }
    }
    sw_client_send_all(client);
}

/* Adds a job whose shares wait. */
static void add(struct sw_client_cluster *cluster, struct sw_client_job *job)
{
    cluster->waiting += job->open;
    *(cluster->last == NULL ? &cluster->first : &cluster->last->next) = job;
    cluster->last = job;
    cluster->jobs++;
}

/* --- what was refused ------------------------------------------------------------------------- */

static void sleep_ms(uint64_t ms)
{
    struct timespec left = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    (void)nanosleep(&left, NULL);
}

/* Calls a function for each share that is not sent, or was refused; the function may end jobs. */
static void each_unsent(struct sherwood *client,
                        void (*visit)(struct sherwood *client, struct sw_client_job *job,
                                      uint32_t share, void *user),
                        void *user)
{
    struct sw_client_job *next;
    for (struct sw_client_job *job = client->cluster->first; job != NULL; job = next) {
        const uint32_t shares = job->shares_count;
        next = job->next;
        for (uint32_t s = 0; s < shares; s++) {
            enum sw_client_share_state state = job->shares[s].state;
            if (state == SW_CLIENT_SHARE_WAITING || state == SW_CLIENT_SHARE_REFUSED) {
                visit(client, job, s, user);
            }
        }
    }
}

/* A summary of the refused shares. */
struct causes {
    struct sw_client_stripe *stripe; /* of the first share that a server refused; NULL: none */
    bool needs_map;
    uint32_t attempts; /* the most */
};

static void look(struct sherwood *client, struct sw_client_job *job, uint32_t number, void *user)
{
    struct causes *causes = user;
    const struct sw_client_share *share = &job->shares[number];
    if (share->state != SW_CLIENT_SHARE_REFUSED) {
        return;
    }
    const uint32_t attempts = share->attempts + share->frozen;
    causes->attempts = attempts > causes->attempts ? attempts : causes->attempts;
    causes->needs_map |= share->refusal == SW_REPLY_NOT_PRIMARY ||
                         (share->refusal == 0 && share->attempts < LOST_MAX);
    if (causes->stripe == NULL && share->refusal != 0) {
        causes->stripe = sw_client_cluster_stripe(client, share->shard);
    }
}

/* Why a refused share is not sent again; SHERWOOD_OK: it is. */
static int why_not(struct sherwood *client, const struct sw_client_share *share, int loaded)
{
    if (loaded != SHERWOOD_OK) {
        return loaded;
    }
    if (share->refusal == 0 && share->attempts >= LOST_MAX) {
        return sw_client_fail(client, SHERWOOD_E_CONNECTION, "%s", client->cluster->trouble);
    }
    return share->attempts < ATTEMPTS_MAX && share->frozen < FROZEN_MAX ? SHERWOOD_OK
                                                                        : SHERWOOD_E_SHARD;
}

/* Ends a share that cannot be sent again, or splits it by the topology that the handle has now. */
static void try_again(struct sherwood *client, struct sw_client_job *job, uint32_t number,
                      void *user)
{
    struct sw_client_cluster *cluster = client->cluster;
    struct sw_client_share *share = &job->shares[number];
    const int *loaded = user;
    uint32_t slot = 0, before = job->open;
    bool was_refused = share->state == SW_CLIENT_SHARE_REFUSED;
    int given_up = was_refused ? why_not(client, share, *loaded) : SHERWOOD_OK;
    *(was_refused ? &cluster->refused : &cluster->waiting) -= 1;
    if (given_up != SHERWOOD_OK) {
        share_done(client, share, given_up);
        return;
    }
    int rc = sw_client_split_again(job, number, cluster->topology, cluster->places, &slot);
    if (rc == SHERWOOD_OK) {
        cluster->waiting += job->open - (before - 1);
        return;
    }
    share_done(client, &job->shares[number], unsplit(client, rc, slot));
}

/* All answers are in, and some were refusals: loads the topology, or waits for servers with an
 * older one, and puts the refused shares back into the queue. */
static void recover(struct sherwood *client)
{
    struct sw_client_cluster *cluster = client->cluster;
    struct causes causes = {0};
    int loaded = SHERWOOD_OK;
    each_unsent(client, look, &causes);
    if (causes.needs_map || cluster->newest > cluster->topology->epoch) {
        sleep_ms(sw_client_cluster_draw(cluster, JITTER_MS + 1));
        loaded = sw_client_cluster_load(client, causes.stripe);
    } else {
        uint32_t doublings = causes.attempts < 6 ? causes.attempts - 1 : 5;
        uint64_t ms = (uint64_t)BEHIND_MS << doublings;
        sleep_ms(ms < BEHIND_MS_MAX ? ms : BEHIND_MS_MAX);
    }
    each_unsent(client, try_again, &loaded);
}

static void go_on(struct sherwood *client)
{
    if (client->cluster->refused > 0 && client->in_flight == 0) {
        recover(client);
    }
    pump(client);
}

void sw_client_cluster_turn(struct sherwood *client, int limit_ms)
{
    go_on(client);
    if (client->in_flight > 0) {
        sw_client_step(client, limit_ms);
        go_on(client); /* otherwise nothing would wake a program on the descriptor */
    }
}

void sw_client_cluster_settle(struct sherwood *client, bool answered)
{
    const struct sw_client_cluster *cluster = client->cluster;
    while (cluster->waiting > 0 || cluster->refused > 0 || (answered && cluster->jobs > 0)) {
        sw_client_cluster_turn(client, -1);
    }
}

/* --- calls ------------------------------------------------------------------------------------ */

int sw_client_cluster_submit(struct sherwood *client, struct sherwood_request *request)
{
    struct sw_client_cluster *cluster = client->cluster;
    uint32_t slot = 0;
    if (cluster->jobs >= client->flights_max && client->in_flight > 0) {
        sw_client_send_all(client);
        sw_client_step(client, 0);
    }
    if (cluster->jobs >= client->flights_max) {
        return sw_client_fail(client, SHERWOOD_E_BUSY, "submit: %u requests have no reply yet",
                              cluster->jobs);
    }
    struct sw_client_job *job = take_job(client);
    if (job == NULL) {
        return sw_client_fail(client, SHERWOOD_E_NOMEM, "not enough memory for a request");
    }
    const struct sw_client_details details = sw_client_request_details(client, request);
    job->request = request;
    sw_client_job_describe(job, request->operation, &details);
    job->count = request->count;
    job->single =
        (struct sherwood_piece){request->keys, request->values, request->previous, request->count};
    job->pieces = request->pieces != NULL ? request->pieces : &job->single;
    job->pieces_count = request->pieces != NULL ? request->pieces_count : 1;
    job->answers_found = request->found;
    job->keeps_values = false;
    for (uint32_t p = 0; p < job->pieces_count; p++) {
        job->keeps_values |= job->pieces[p].previous != NULL;
    }
    job->wants_values = job->keeps_values || (request->flags & SHERWOOD_DISCARD) != 0;
    int rc = sw_client_split(job, cluster->topology, &slot);
    if (rc != SHERWOOD_OK) {
        give_back(cluster, job);
        return unsplit(client, rc, slot);
    }
    sw_client_request_begin(request, 0);
    add(cluster, job);
    if ((request->flags & SHERWOOD_DELAY) == 0) {
        pump(client);
    }
    return SHERWOOD_OK;
}

/* Returns the number of keys of a blocking call's next job: RUN_KEYS for each shard, and at most
 * frame_ops_max in all (half of it with KEEP). */
static uint32_t job_keys(const struct sherwood *client, const struct sw_client_details *details,
                         size_t left)
{
    const uint32_t ops_max = client->server.frame_ops_max;
    const bool keeps =
        details->times == SW_FRAME_TIMES_KEEP && ops_max >= 2 * SW_CLIENT_SPLIT_KEYS; /* times.h */
    const uint32_t limit = keeps ? ops_max / 2 : ops_max;
    uint64_t most = (uint64_t)RUN_KEYS * client->cluster->topology->shard_count;
    most = most < limit ? most : limit;
    return left <= most ? (uint32_t)left
                        : (uint32_t)(most / SW_CLIENT_SPLIT_KEYS * SW_CLIENT_SPLIT_KEYS);
}

/* Splits a job of a blocking call. If a slot has no owner, others may know of one by now: it loads
 * the topology and tries once more. */
static int split_or_load(struct sherwood *client, struct sw_client_job *job)
{
    const struct sw_client_cluster *cluster = client->cluster;
    uint32_t slot = 0;
    int rc = sw_client_split(job, cluster->topology, &slot);
    if (rc == SHERWOOD_E_SHARD) {
        sw_client_cluster_settle(client, true);
        (void)sw_client_cluster_load(client, NULL);
        rc = sw_client_split(job, cluster->topology, &slot);
    }
    return rc == SHERWOOD_OK ? rc : unsplit(client, rc, slot);
}

int sw_client_cluster_run(struct sherwood *client, enum sherwood_operation operation,
                          const struct sw_client_details *details, const void *keys,
                          const void *values, size_t count, void *previous, uint64_t *found)
{
    struct sw_client_cluster *cluster = client->cluster;
    const uint32_t kb = client->server.key_bytes;
    struct sw_client_call call = {0};
    int rc = SHERWOOD_OK;
    for (size_t at = 0; at < count && rc == SHERWOOD_OK && call.status == SHERWOOD_OK;) {
        if (call.flights >= RUN_JOBS) {
            sw_client_cluster_turn(client, -1);
            continue;
        }
        struct sw_client_job *job = take_job(client);
        if (job == NULL) {
            rc = sw_client_fail(client, SHERWOOD_E_NOMEM, "not enough memory for a request");
            break;
        }
        uint32_t n = job_keys(client, details, count - at);
        job->call = &call;
        sw_client_job_describe(job, operation, details);
        job->details.times_ms = details->times_ms == NULL ? NULL : details->times_ms + at;
        job->count = n;
        job->single = (struct sherwood_piece){
            (const uint8_t *)keys + at * kb,
            values == NULL ? NULL : (const uint8_t *)values + at * job->operand_bytes,
            previous == NULL ? NULL : (uint8_t *)previous + at * job->answer_bytes, n};
        job->pieces = &job->single;
        job->pieces_count = 1;
        job->answers_found = found == NULL ? NULL : found + at / 64;
        job->wants_values = job->keeps_values = previous != NULL;
        rc = split_or_load(client, job);
        if (rc != SHERWOOD_OK) {
            give_back(cluster, job);
            break;
        }
        call.flights++;
        add(cluster, job);
        pump(client);
        at += n;
    }
    while (call.flights > 0) {
        sw_client_cluster_turn(client, -1);
    }
    client->overflows = call.overflows;
    return call.status != SHERWOOD_OK ? call.status : rc;
}
