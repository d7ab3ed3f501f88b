/* SPDX-License-Identifier: MIT
 *
 * move.c - the thread: it carries out the next step of the stored state.
 */
#include "server/move/move.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "proto/plural.h"
#include "server/move/mover_parts.h"
#include "server/observe/log.h"
#include "table/batch.h"
#include "table/info.h"

#define AGAIN_MS 100 /* between two attempts */

/* --- the thread ---------------------------------------------------------------------------------
 */

static void begin_facts(struct sw_mover *mover, enum sw_cluster_role role, uint64_t attempt,
                        const char *peer, const struct sw_slot_set *slots)
{
    mover->reason[0] = '\0';
    pthread_mutex_lock(&mover->lock);
    struct sw_move_status *facts = &mover->facts;
    facts->role = role;
    facts->attempt = attempt;
    facts->slots = sw_slot_set_count(slots);
    facts->keys = facts->bytes = facts->lag_writes = 0;
    memcpy(facts->peer, peer, sizeof(facts->peer));
    pthread_mutex_unlock(&mover->lock);
}

static void end_facts(struct sw_mover *mover, bool failed)
{
    pthread_mutex_lock(&mover->lock);
    mover->facts.phase = SW_MOVE_RESTS;
    mover->facts.failures += failed;
    memcpy(mover->facts.trouble, mover->reason, sizeof(mover->facts.trouble));
    pthread_mutex_unlock(&mover->lock);
}

/* Logs a failure, unless the previous attempt failed for the same reason. */
static void report_failure(struct sw_mover *mover, const char *what)
{
    pthread_mutex_lock(&mover->lock);
    bool is_new = strcmp(mover->facts.trouble, mover->reason) != 0;
    pthread_mutex_unlock(&mover->lock);
    if (is_new) {
        sw_log(SW_LOG_WARNING, "cluster: %s: %s", what, mover->reason);
    }
}

/* Clears wake-ups of a cancel or of another topology. A stop of the server still wakes the thread.
 */
static void drain(struct sw_mover *mover)
{
    uint64_t drained;
    pthread_mutex_lock(&mover->lock);
    if (!mover->stopping) {
        ssize_t got = read(mover->wake_fd, &drained, sizeof(drained));
        (void)got;
    }
    pthread_mutex_unlock(&mover->lock);
}

/* Counts and logs a finished migration to this node. */
static void end_taking(struct sw_mover *mover, const struct sw_cluster_move *move)
{
    pthread_mutex_lock(&mover->lock);
    mover->facts.taken++;
    mover->facts.keys_taken += mover->facts.keys;
    mover->reason[0] = '\0';
    pthread_mutex_unlock(&mover->lock);
    end_facts(mover, false);
    const unsigned slots = sw_slot_set_count(&move->slots);
    sw_log(SW_LOG_NOTICE, "cluster: received %u slot%s from %s", slots, sw_plural_s(slots),
           move->peer);
}

/* After a failed attempt, begins another one or gives the move up. */
static void end_attempt(struct sw_mover *mover)
{
    char error[SW_CLUSTER_ERROR_BYTES];
    pthread_mutex_lock(&mover->lock);
    mover->gives_up |= mover->cancelled;
    pthread_mutex_unlock(&mover->lock);
    bool done = mover->gives_up ? sw_cluster_give_up(mover->parts.cluster, error)
                                : sw_cluster_try_again(mover->parts.cluster, error);
    if (!done) {
        sw_log_limited(SW_LOG_MOVE, SW_LOG_ERROR, "cluster: %s", error);
        drain(mover);
    }
    sw_mover_pause_ms(mover, mover->gives_up && done ? 0 : AGAIN_MS);
}

static void begin_to_receive(struct sw_mover *mover, const struct sw_cluster_move *move)
{
    struct sw_cluster_move now;
    if (mover->failed == move->attempt) { /* the end of this attempt could not be written */
        end_attempt(mover);
        return;
    }
    mover->gives_up = false;
    begin_facts(mover, SW_CLUSTER_TAKES, move->attempt, move->peer, &move->slots);
    if (sw_mover_attempt(mover, move, &mover->gives_up) == 0) {
        end_taking(mover, move);
        return;
    }
    (void)sw_cluster_abandon(mover->parts.cluster, move->attempt);
    sw_cluster_move_show(mover->parts.cluster, &now);
    report_failure(mover, now.role == SW_CLUSTER_TAKES ? "the migration to this node failed"
                                                       : "received slots are not served yet");
    end_facts(mover, true);
    if (!sw_mover_is_stopping(mover) && now.role == SW_CLUSTER_TAKES &&
        now.attempt == move->attempt) {
        mover->failed = move->attempt;
        end_attempt(mover);
    }
}

static void run_source(struct sw_mover *mover, struct sw_peer_socket socket,
                       const struct sw_move_hello *hello)
{
    begin_facts(mover, SW_CLUSTER_HANDED, hello->attempt, hello->target, &hello->slots);
    uint64_t before = mover->facts.handed_over;
    sw_mover_run_source(mover, socket, hello);
    bool failed = mover->facts.handed_over == before;
    if (failed) {
        report_failure(mover, "the migration from this node failed");
    } else {
        sw_log(SW_LOG_NOTICE, "cluster: handed over %u slot%s to %s", mover->facts.slots,
               sw_plural_s(mover->facts.slots), hello->target);
    }
    end_facts(mover, failed);
}

static void remove_leaving(struct sw_mover *mover, const struct sw_cluster_move *move)
{
    char error[SW_CLUSTER_ERROR_BYTES];
    if (sw_mover_remove(mover, &move->leaving) == 0 && sw_mover_secure(mover, 0) == 0) {
        if (sw_cluster_removed(mover->parts.cluster, error)) {
            mover->is_stale = true;
            sw_mover_phase(mover, SW_MOVE_RESTS);
            return;
        }
        sw_mover_fail(mover, "%s", error);
    }
    sw_log_limited(SW_LOG_MOVE, SW_LOG_WARNING,
                   "cluster: cannot remove the keys of slots that were handed over: %s",
                   mover->reason);
    sw_mover_pause_ms(mover, AGAIN_MS);
}

/* Ends the effect of a cancel. */
static void uncancel(struct sw_mover *mover)
{
    pthread_mutex_lock(&mover->lock);
    bool was_cancelled = mover->cancelled && !mover->stopping;
    mover->cancelled &= !was_cancelled;
    pthread_mutex_unlock(&mover->lock);
    if (was_cancelled) {
        drain(mover);
    }
}

/* Sends the replicas the state after a move, and tries again later if that fails. This may be late:
 * each step of a move has sent the replicas what they need before it took effect. */
static void notify_late(struct sw_mover *mover)
{
    mover->is_stale = sw_mover_notify_replicas(mover, 0) != 0;
    if (mover->is_stale) {
        sw_log_limited(SW_LOG_MOVE, SW_LOG_WARNING, "cluster: %s", mover->reason);
        sw_mover_pause_ms(mover, 1000);
    }
}

/* Drops a target's connection: the node is a replica, or a primary that still follows the writes of
 * another primary. Returns true in the second case. */
static bool rest_as_replica(struct sw_mover *mover, bool is_replica)
{
    mover->is_stale = true; /* other replicas may know of an older state than the new primary */
    pthread_mutex_lock(&mover->lock);
    struct sw_peer_socket socket = mover->socket;
    mover->socket.fd = -1;
    pthread_mutex_unlock(&mover->lock);
    sw_peer_socket_close(&socket);
    if (!is_replica) {
        sw_mover_pause_ms(mover, 5);
    }
    return !is_replica;
}

/* Returns true if slots have ever moved. If not, the replicas need neither the state nor a file. */
static bool has_moved(const struct sw_cluster_move *move)
{
    return move->last > 0 || move->attempt > 0;
}

/* Does the next step of the state. Returns false if there is none. */
static bool work(struct sw_mover *mover)
{
    struct sw_cluster_move move;
    struct sw_move_hello hello;
    struct sw_cluster_status facts;
    drain(mover);
    sw_cluster_show(mover->parts.cluster, &facts);
    sw_cluster_move_show(mover->parts.cluster, &move);
    if (facts.is_replica || sw_repl_is_replica(&mover->parts.repl->state)) {
        return rest_as_replica(mover, facts.is_replica);
    }
    pthread_mutex_lock(&mover->lock);
    struct sw_peer_socket socket = mover->socket;
    hello = mover->hello;
    mover->socket = (struct sw_peer_socket){.fd = -1};
    mover->is_sending = socket.fd >= 0;
    pthread_mutex_unlock(&mover->lock);
    if (move.role != SW_CLUSTER_TAKES) {
        uncancel(mover);
    }
    /* a cancelled move ends before the long removal of keys */
    bool removes = sw_slot_set_count(&move.leaving) > 0 && !sw_mover_is_over(mover);
    if (socket.fd >= 0) {
        run_source(mover, socket, &hello);
        pthread_mutex_lock(&mover->lock);
        mover->is_sending = false;
        pthread_mutex_unlock(&mover->lock);
    } else if (move.role == SW_CLUSTER_HANDED) {
        sw_mover_ask(mover, &move);
        mover->is_stale = true;
    } else if (move.role == SW_CLUSTER_DECIDES) {
        if (sw_mover_serve(mover) == 0) {
            end_taking(mover, &move);
            mover->is_stale = true;
        }
    } else if (removes) {
        remove_leaving(mover, &move);
    } else if (move.role == SW_CLUSTER_TAKES) {
        begin_to_receive(mover, &move);
        mover->is_stale = true;
    } else if (mover->is_stale && has_moved(&move)) {
        notify_late(mover);
        return true;
    }
    return socket.fd >= 0 || removes || move.role != SW_CLUSTER_RESTS;
}

/* Begins another attempt at the start: the stored one belongs to a process that has ended. */
static void renew_attempt(struct sw_mover *mover)
{
    struct sw_cluster_move move;
    struct sw_cluster_status facts;
    char error[SW_CLUSTER_ERROR_BYTES];
    sw_cluster_move_show(mover->parts.cluster, &move);
    sw_cluster_show(mover->parts.cluster, &facts);
    while (move.role == SW_CLUSTER_TAKES && !facts.is_replica && !sw_mover_is_stopping(mover) &&
           !sw_cluster_try_again(mover->parts.cluster, error)) {
        sw_log_limited(SW_LOG_MOVE, SW_LOG_ERROR, "cluster: %s", error);
        sw_mover_pause_ms(mover, AGAIN_MS);
    }
}

static bool get_memory(struct sw_mover *mover)
{
    const uint64_t most = mover->at_once;
    mover->keys = sw_io_alloc(mover->parts.table, most * mover->info.key_bytes);
    mover->values = sw_io_alloc(mover->parts.table, most * mover->info.value_bytes);
    mover->ops = sw_io_alloc(mover->parts.table, most);
    mover->times = sw_io_alloc(mover->parts.table, most * sizeof(*mover->times));
    return mover->keys != NULL && mover->values != NULL && mover->ops != NULL &&
           mover->times != NULL && sw_queue_create(mover->parts.table, &mover->queue) == SW_OK;
}

static void free_memory(struct sw_mover *mover)
{
    const uint64_t most = mover->at_once;
    sw_queue_destroy(mover->queue);
    if (mover->keys != NULL) {
        sw_io_free(mover->parts.table, mover->keys, most * mover->info.key_bytes);
    }
    if (mover->values != NULL) {
        sw_io_free(mover->parts.table, mover->values, most * mover->info.value_bytes);
    }
    if (mover->ops != NULL) {
        sw_io_free(mover->parts.table, mover->ops, most);
    }
    if (mover->times != NULL) {
        sw_io_free(mover->parts.table, mover->times, most * sizeof(*mover->times));
    }
    mover->queue = NULL;
    mover->keys = mover->values = mover->ops = NULL;
    mover->times = NULL;
}

static void *run_mover(void *context)
{
    struct sw_mover *mover = context;
    renew_attempt(mover);
    while (!sw_mover_is_stopping(mover)) {
        if (sw_mover_is_loading(mover)) {
            sw_mover_pause_ms(mover, 10);
            continue;
        }
        if (mover->queue == NULL && !get_memory(mover)) {
            free_memory(mover);
            sw_log_limited(SW_LOG_MOVE, SW_LOG_ERROR, "cluster: not enough memory to move slots");
            sw_mover_pause_ms(mover, AGAIN_MS);
            continue;
        }
        if (work(mover)) {
            continue;
        }
        free_memory(mover);
        pthread_mutex_lock(&mover->lock);
        mover->facts.phase = SW_MOVE_RESTS;
        if (!mover->stopping && mover->socket.fd < 0 && !mover->has_order) {
            pthread_cond_wait(&mover->changed, &mover->lock);
        }
        mover->has_order = false;
        pthread_mutex_unlock(&mover->lock);
    }
    return NULL;
}

/* --- life ---------------------------------------------------------------------------------------
 */

static uint32_t at_once(const struct sw_table_info *info)
{
    const uint32_t each = info->key_bytes + info->value_bytes + 1 + (uint32_t)sizeof(uint64_t);
    const uint32_t fit = SW_MOVE_BYTES_AT_ONCE / each;
    const uint32_t most = fit < SW_MOVE_ENTRIES_AT_ONCE ? fit : SW_MOVE_ENTRIES_AT_ONCE;
    return most < info->batch_ops_max ? most : info->batch_ops_max;
}

int sw_mover_create(const struct sw_mover_parts *parts, struct sw_mover **out)
{
    *out = parts->cluster == NULL ? NULL : calloc(1, sizeof(**out));
    struct sw_mover *mover = *out;
    if (mover != NULL) {
        mover->parts = *parts;
        mover->socket.fd = -1;
        mover->is_stale = true; /* an earlier process may have ended before it notified them */
        sw_table_info(parts->table, &mover->info);
        mover->at_once = at_once(&mover->info);
        mover->raw_bytes = parts->config->resp_keys == SW_RESP_KEYS_RAW ? mover->info.key_bytes : 0;
        pthread_mutex_init(&mover->lock, NULL);
        pthread_mutex_init(&mover->writing, NULL);
        pthread_cond_init(&mover->changed, NULL);
        mover->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    if (parts->cluster != NULL && (mover == NULL || mover->wake_fd < 0)) {
        sw_log(SW_LOG_ERROR, "cannot move slots: no memory or no file descriptor");
        return -1;
    }
    return 0;
}

int sw_mover_start(struct sw_mover *mover)
{
    if (mover == NULL) {
        return 0;
    }
    mover->has_thread = pthread_create(&mover->thread, NULL, run_mover, mover) == 0;
    if (!mover->has_thread) {
        sw_log(SW_LOG_ERROR,
               "cannot start the thread that moves slots: not enough memory for its stack");
    }
    return mover->has_thread ? 0 : -1;
}

void sw_mover_stop(struct sw_mover *mover)
{
    if (mover != NULL && mover->has_thread) {
        pthread_mutex_lock(&mover->lock);
        mover->stopping = true;
        sw_mover_wake(mover);
        pthread_mutex_unlock(&mover->lock);
        pthread_join(mover->thread, NULL);
        mover->has_thread = false;
    }
}

void sw_mover_destroy(struct sw_mover *mover)
{
    if (mover != NULL) {
        sw_mover_stop(mover);
        free_memory(mover);
        sw_peer_socket_close(&mover->socket);
        if (mover->wake_fd >= 0) {
            close(mover->wake_fd);
        }
        pthread_mutex_destroy(&mover->lock);
        pthread_mutex_destroy(&mover->writing);
        pthread_cond_destroy(&mover->changed);
        free(mover);
    }
}
