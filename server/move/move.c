/* SPDX-License-Identifier: MIT
 *
 * move.c - the thread, and what others ask of it.
 */
#include "server/move/move.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/move/mover_parts.h"
#include "server/observe/log.h"

#define AGAIN_MS 100 /* between two attempts */

/* --- the thread ---------------------------------------------------------------------------------
 */

static void begin_facts(struct sw_mover *mover, enum sw_cluster_role role, uint64_t attempt,
                        const char *peer, const struct sw_slot_set *slots)
{
    mover->reason[0] = '\0';
    mover->last_write = 0;
    pthread_mutex_lock(&mover->lock);
    struct sw_move_facts *facts = &mover->facts;
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

/* Is told in the log once, not at every attempt. */
static void tell_failure(struct sw_mover *mover, const char *what)
{
    pthread_mutex_lock(&mover->lock);
    bool is_new = strcmp(mover->facts.trouble, mover->reason) != 0;
    pthread_mutex_unlock(&mover->lock);
    if (is_new) {
        sw_log(SW_LOG_WARNING, "cluster: %s: %s", what, mover->reason);
    }
}

/* A cancel wakes nothing any more; that the server stops still does. */
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

static void take(struct sw_mover *mover, const struct sw_cluster_move *move)
{
    char error[SW_CLUSTER_ERROR_BYTES];
    bool for_good = false;
    begin_facts(mover, SW_CLUSTER_TAKES, move->attempt, move->peer, &move->slots);
    if (sw_mover_attempt(mover, move, &for_good) == 0) {
        pthread_mutex_lock(&mover->lock);
        mover->facts.taken++;
        mover->facts.keys_taken += mover->facts.keys;
        mover->reason[0] = '\0';
        pthread_mutex_unlock(&mover->lock);
        end_facts(mover, false);
        sw_log(SW_LOG_NOTICE, "cluster: %u slots have come from %s", mover->facts.slots,
               move->peer);
        return;
    }
    tell_failure(mover, "slots have not come");
    end_facts(mover, true);
    if (sw_mover_is_stopping(mover)) {
        return;
    }
    pthread_mutex_lock(&mover->lock);
    for_good |= mover->cancelled;
    pthread_mutex_unlock(&mover->lock);
    bool done = for_good ? sw_cluster_give_up(mover->parts.cluster, error)
                         : sw_cluster_try_again(mover->parts.cluster, error);
    if (!done) {
        sw_log_limited(SW_LOG_MOVE, SW_LOG_ERROR, "cluster: %s", error);
        drain(mover);
    }
    sw_mover_pause_ms(mover, for_good && done ? 0 : AGAIN_MS);
}

static void give(struct sw_mover *mover, struct sw_wire wire, const struct sw_move_hello *hello)
{
    begin_facts(mover, SW_CLUSTER_HANDED, hello->attempt, hello->target, &hello->slots);
    uint64_t before = mover->facts.handed_over;
    sw_mover_give(mover, wire, hello);
    bool failed = mover->facts.handed_over == before;
    if (failed) {
        tell_failure(mover, "slots were not handed over");
    } else {
        sw_log(SW_LOG_NOTICE, "cluster: %u slots are at %s now", mover->facts.slots, hello->target);
    }
    end_facts(mover, failed);
}

static void remove_leaving(struct sw_mover *mover, const struct sw_cluster_move *move)
{
    char error[SW_CLUSTER_ERROR_BYTES];
    if (sw_mover_remove(mover, &move->leaving) == 0 && sw_mover_secure(mover) == 0) {
        if (sw_cluster_removed(mover->parts.cluster, error)) {
            sw_mover_phase(mover, SW_MOVE_RESTS);
            return;
        }
        sw_mover_fail(mover, "%s", error);
    }
    sw_log_limited(SW_LOG_MOVE, SW_LOG_WARNING,
                   "cluster: keys of slots that are elsewhere are not removed yet: %s",
                   mover->reason);
    sw_mover_pause_ms(mover, AGAIN_MS);
}

static bool is_loading(const struct sw_mover *mover)
{
    return mover->parts.saver != NULL && sw_saver_is_loading(mover->parts.saver);
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

/* Does what the state says is next. Returns false if there is nothing. */
static bool work(struct sw_mover *mover)
{
    struct sw_cluster_move move;
    struct sw_move_hello hello;
    sw_cluster_move_show(mover->parts.cluster, &move);
    pthread_mutex_lock(&mover->lock);
    struct sw_wire wire = mover->wire;
    hello = mover->hello;
    mover->wire = (struct sw_wire){.fd = -1};
    mover->is_sending = wire.fd >= 0;
    pthread_mutex_unlock(&mover->lock);
    if (move.role != SW_CLUSTER_TAKES) {
        uncancel(mover);
    }
    /* a move that is to end does so first: until then nothing that takes a while is begun */
    bool removes = sw_slot_set_count(&move.leaving) > 0 && !sw_mover_is_over(mover);
    if (wire.fd >= 0) {
        give(mover, wire, &hello);
        pthread_mutex_lock(&mover->lock);
        mover->is_sending = false;
        pthread_mutex_unlock(&mover->lock);
    } else if (move.role == SW_CLUSTER_HANDED) {
        sw_mover_ask(mover, &move);
    } else if (removes) {
        remove_leaving(mover, &move);
    } else if (move.role == SW_CLUSTER_TAKES) {
        take(mover, &move);
    }
    return wire.fd >= 0 || removes || move.role != SW_CLUSTER_RESTS;
}

/* A number of the state belongs to a process that has ended: another attempt begins. */
static void renew_attempt(struct sw_mover *mover)
{
    struct sw_cluster_move move;
    char error[SW_CLUSTER_ERROR_BYTES];
    sw_cluster_move_show(mover->parts.cluster, &move);
    while (move.role == SW_CLUSTER_TAKES && !sw_mover_is_stopping(mover) &&
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
    return mover->keys != NULL && mover->values != NULL && mover->ops != NULL &&
           sw_queue_create(mover->parts.table, &mover->queue) == SW_OK;
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
    mover->queue = NULL;
    mover->keys = mover->values = mover->ops = NULL;
}

static void *run(void *context)
{
    struct sw_mover *mover = context;
    renew_attempt(mover);
    while (!sw_mover_is_stopping(mover)) {
        if (is_loading(mover)) {
            sw_mover_pause_ms(mover, 10);
            continue;
        }
        if (mover->queue == NULL && !get_memory(mover)) {
            free_memory(mover);
            sw_log_limited(SW_LOG_MOVE, SW_LOG_ERROR, "cluster: no memory to move slots");
            sw_mover_pause_ms(mover, AGAIN_MS);
            continue;
        }
        if (work(mover)) {
            continue;
        }
        free_memory(mover);
        pthread_mutex_lock(&mover->lock);
        mover->facts.phase = SW_MOVE_RESTS;
        if (!mover->stopping && mover->wire.fd < 0 && !mover->has_order) {
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
    const uint32_t fit = SW_MOVE_BYTES_AT_ONCE / (info->key_bytes + info->value_bytes + 1);
    const uint32_t most = fit < SW_MOVE_ENTRIES_AT_ONCE ? fit : SW_MOVE_ENTRIES_AT_ONCE;
    return most < info->batch_ops_max ? most : info->batch_ops_max;
}

int sw_mover_create(const struct sw_mover_parts *parts, struct sw_mover **out)
{
    *out = parts->cluster == NULL ? NULL : calloc(1, sizeof(**out));
    struct sw_mover *mover = *out;
    if (mover != NULL) {
        mover->parts = *parts;
        mover->wire.fd = -1;
        sw_table_info(parts->table, &mover->info);
        mover->at_once = at_once(&mover->info);
        mover->raw_bytes = parts->config->resp_keys == SW_RESP_KEYS_RAW ? mover->info.key_bytes : 0;
        pthread_mutex_init(&mover->lock, NULL);
        pthread_cond_init(&mover->changed, NULL);
        mover->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    if (parts->cluster != NULL && (mover == NULL || mover->wake_fd < 0)) {
        sw_log(SW_LOG_ERROR, "no memory, or no descriptor, to move slots");
        return -1;
    }
    return 0;
}

int sw_mover_start(struct sw_mover *mover)
{
    if (mover == NULL) {
        return 0;
    }
    mover->has_thread = pthread_create(&mover->thread, NULL, run, mover) == 0;
    if (!mover->has_thread) {
        sw_log(SW_LOG_ERROR, "the thread that moves slots could not be started: no memory for its "
                             "stack?");
    }
    return mover->has_thread ? 0 : -1;
}

static void wake(struct sw_mover *mover)
{
    const uint64_t one = 1;
    ssize_t written = write(mover->wake_fd, &one, sizeof(one));
    (void)written; /* a full counter is readable, too */
    pthread_cond_signal(&mover->changed);
}

void sw_mover_stop(struct sw_mover *mover)
{
    if (mover != NULL && mover->has_thread) {
        pthread_mutex_lock(&mover->lock);
        mover->stopping = true;
        wake(mover);
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
        sw_wire_close(&mover->wire);
        if (mover->wake_fd >= 0) {
            close(mover->wake_fd);
        }
        pthread_mutex_destroy(&mover->lock);
        pthread_cond_destroy(&mover->changed);
        free(mover);
    }
}

/* --- orders -------------------------------------------------------------------------------------
 */

/* Why slots of such a table are not moved; NULL: they are. */
static const char *lacks(const struct sw_mover *mover)
{
    if (mover->info.engine == SW_ENGINE_CACHE) {
        return "slots of the cache engine are not moved: what it holds may leave at any time";
    }
    return sw_image_bytes(mover->parts.table) > 0
               ? NULL
               : "a table of this engine cannot be read at one instant on this backend";
}

/* Under the lock. */
static bool is_ready(struct sw_mover *mover, char error[SW_CLUSTER_ERROR_BYTES])
{
    const char *why = lacks(mover);
    why = why == NULL && (mover->is_sending || mover->wire.fd >= 0)
              ? "this node sends slots already"
              : why;
    if (why != NULL) {
        snprintf(error, SW_CLUSTER_ERROR_BYTES, "%s", why);
    }
    return why == NULL;
}

bool sw_mover_take(struct sw_mover *mover, const char *source, const struct sw_slot_set *slots,
                   char error[SW_CLUSTER_ERROR_BYTES])
{
    pthread_mutex_lock(&mover->lock);
    bool begun = is_ready(mover, error) &&
                 sw_cluster_take_slots(mover->parts.cluster, source, slots, error) != 0;
    if (begun) {
        mover->has_order = true;
        mover->facts.trouble[0] = '\0';
        pthread_cond_signal(&mover->changed);
    }
    pthread_mutex_unlock(&mover->lock);
    return begun;
}

bool sw_mover_cancel(struct sw_mover *mover, char error[SW_CLUSTER_ERROR_BYTES])
{
    struct sw_cluster_move move;
    sw_cluster_move_show(mover->parts.cluster, &move);
    if (move.role != SW_CLUSTER_TAKES) {
        snprintf(error, SW_CLUSTER_ERROR_BYTES, "no slots are on their way to this node");
        return false;
    }
    pthread_mutex_lock(&mover->lock);
    mover->cancelled = mover->has_order = true;
    wake(mover);
    pthread_mutex_unlock(&mover->lock);
    return true;
}

/* Compares a target's words with this node. */
static bool fits(const struct sw_mover *mover, const struct sw_move_hello *hello,
                 char error[SW_CLUSTER_ERROR_BYTES])
{
    struct sw_cluster_facts facts;
    sw_cluster_show(mover->parts.cluster, &facts);
    bool same = hello->version == SW_MOVE_VERSION && hello->key_bytes == mover->info.key_bytes &&
                hello->value_bytes == mover->info.value_bytes &&
                hello->value_format == sw_mover_format(mover);
    if (!same) {
        snprintf(error, SW_CLUSTER_ERROR_BYTES,
                 "the nodes do not fit: they need the same version of moving slots, and the same "
                 "widths and types of keys and values");
    } else if (strcmp(hello->source, sw_cluster_id(mover->parts.cluster)) != 0) {
        snprintf(error, SW_CLUSTER_ERROR_BYTES, "this node is %s",
                 sw_cluster_id(mover->parts.cluster));
        same = false;
    } else if (hello->epoch != facts.epoch) {
        snprintf(error, SW_CLUSTER_ERROR_BYTES,
                 "the epoch here is %" PRIu64 ", at the target %" PRIu64, facts.epoch,
                 hello->epoch);
        same = false;
    }
    return same;
}

bool sw_mover_send(struct sw_mover *mover, const struct sw_wire *wire,
                   const struct sw_move_hello *hello, char error[SW_CLUSTER_ERROR_BYTES])
{
    pthread_mutex_lock(&mover->lock);
    bool taken = is_ready(mover, error) && fits(mover, hello, error) &&
                 sw_cluster_may_give(mover->parts.cluster, hello->target, &hello->slots, error);
    if (taken && is_loading(mover)) {
        snprintf(error, SW_CLUSTER_ERROR_BYTES, "this node is loading its data");
        taken = false;
    }
    if (taken) {
        mover->wire = *wire;
        mover->hello = *hello;
        pthread_cond_signal(&mover->changed);
    }
    pthread_mutex_unlock(&mover->lock);
    return taken;
}

bool sw_mover_takes(struct sw_mover *mover)
{
    struct sw_cluster_move move;
    sw_cluster_move_show(mover->parts.cluster, &move);
    return move.role == SW_CLUSTER_TAKES;
}
