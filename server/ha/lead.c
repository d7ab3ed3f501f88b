/* SPDX-License-Identifier: MIT
 *
 * lead.c - a primary: it renews its term, keeps the list of members in sync, and hands over.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/etcd/values.h"
#include "server/ha/ha_parts.h"
#include "server/observe/log.h"
#include "table/table.h"

#define LAG_NS 10000000000ULL   /* a member that is behind for longer is not in sync any more */
#define FROZEN_NS 2000000000ULL /* longest time that a hand-over may keep clients waiting */

/* --- beginning and end --------------------------------------------------------------------------
 */

void sw_ha_begin_to_lead(struct sw_ha *ha)
{
    struct sw_repl_state *state = &ha->repl->state;
    pthread_mutex_lock(&state->lock);
    const uint64_t start = state->history.before_through + 1;
    pthread_mutex_unlock(&state->lock);
    ha->deadline_ns = sw_ha_deadline(ha->asked_ns, ha->address.ttl_ns);
    pthread_mutex_lock(&ha->lock);
    bool is_it = ha->member.stands && ha->member.round == ha->round;
    if (is_it) {
        /* under the lock: a poll that closes the term comes before this, or ends the term again */
        sw_repl_set_lease(state, ha->deadline_ns);
        sw_repl_resume_serving(state);
        const uint64_t before = ha->member.answer[0].position.term;
        sw_ha_elected(&ha->member, ha->elected_revision, start);
        ha->history = (struct sw_ha_history){ha->member.serves, start, before};
        ha->newest = ha->member.serves;
        ha->was_serving = ha->member.serves;
        ha->is_outdated = ha->wants_switch = false;
        ha->wants_forgotten = 0;
        ha->facts.lonely_ms = 0;
        ha->facts.is_stuck = false;
        ha->facts.elections++;
        snprintf(ha->facts.primary, sizeof(ha->facts.primary), "%s", ha->self);
    }
    pthread_mutex_unlock(&ha->lock);
    if (!is_it) { /* the member has closed the term meanwhile: another member stands */
        sw_repl_stop_serving(state);
        (void)sw_replica_hold(ha->repl->replica);
        sw_repl_set_lease(state, UINT64_MAX);
        ha->following[0] = '\0';
        return;
    }
    ha->next_renewal_ns = ha->asked_ns + ha->address.ttl_ns / 3;
    ha->renewals = 0;
    ha->is_adopting = false;
    ha->is_frozen = ha->is_sending_change = false;
    ha->last_sequence = start;
    memset(ha->track, 0, sizeof(ha->track));
    sw_log(SW_LOG_NOTICE, "this member is primary of term %" PRIu64 " from write %" PRIu64 " on",
           ha->was_serving, start);
    if (ha->elected != NULL) {
        ha->elected(ha->elected_context);
    }
}

static void end_term(struct sw_ha *ha, const char *why)
{
    pthread_mutex_lock(&ha->lock);
    sw_ha_step_down(&ha->member);
    sw_repl_stop_serving(&ha->repl->state);
    ha->facts.losses++;
    pthread_mutex_unlock(&ha->lock);
    sw_log(SW_LOG_WARNING, "this member is not primary of term %" PRIu64 " any more: %s",
           ha->was_serving, why);
    ha->was_serving = 0;
    ha->is_frozen = false;
    (void)sw_replica_hold(ha->repl->replica);
    sw_repl_set_lease(&ha->repl->state, UINT64_MAX);
    ha->repl->owner.wake_all(ha->repl->owner.server);
    ha->following[0] = '\0';
    ha->next_read_ns = 0;
}

void sw_ha_end_to_lead(struct sw_ha *ha, const char *why)
{
    end_term(ha, why);
    __atomic_store_n(&ha->has_left, true, __ATOMIC_RELEASE);
}

void sw_ha_read_as_primary(struct sw_ha *ha, const struct sw_ha_shard *shard)
{
    pthread_mutex_lock(&ha->lock);
    bool is_over = ha->member.serves > 0 && !sw_ha_read_again(&ha->member, shard);
    pthread_mutex_unlock(&ha->lock);
    if (is_over) {
        sw_ha_end_to_lead(ha, "etcd holds a newer term");
    }
}

/* --- renewals -----------------------------------------------------------------------------------
 */

static void on_renewed(void *context, const json_t *answer, const char *error)
{
    struct sw_ha *ha = context;
    ha->is_renewing = false;
    if (ha->was_serving != ha->renewal_term) {
        return;
    }
    if (answer == NULL) {
        sw_ha_failed(ha, error);
        ha->next_renewal_ns = sw_ha_now() + ha->address.ttl_ns / 50; /* at another etcd member */
    } else if (sw_etcd_succeeded(answer)) {
        ha->deadline_ns = sw_ha_deadline(ha->renewal_sent_ns, ha->address.ttl_ns);
        sw_repl_set_lease(&ha->repl->state, ha->deadline_ns);
        pthread_mutex_lock(&ha->lock);
        ha->facts.silent_ms = sw_ha_now() / 1000000U;
        pthread_mutex_unlock(&ha->lock);
    } else {
        sw_ha_end_to_lead(ha, "etcd refused the renewal because it holds a newer term");
    }
}

static void renew(struct sw_ha *ha, uint64_t now)
{
    pthread_mutex_lock(&ha->lock);
    json_t *body = sw_ha_ask_renewal(&ha->address, &ha->member.shard, ++ha->renewals);
    pthread_mutex_unlock(&ha->lock);
    ha->is_renewing = true;
    ha->renewal_sent_ns = now;
    ha->renewal_term = ha->was_serving;
    ha->next_renewal_ns = now + ha->address.ttl_ns / 3;
    sw_etcd_post(ha->etcd, "/v3/kv/txn", body, on_renewed, ha);
}

/* --- who is in sync -----------------------------------------------------------------------------
 */

static void on_changed(void *context, const json_t *answer, const char *error)
{
    struct sw_ha *ha = context;
    struct sw_ha_shard shard;
    ha->is_sending_change = false;
    if (answer == NULL) { /* outcome unknown: the next tick sends it again, with equal compares */
        sw_ha_failed(ha, error);
    } else if (sw_etcd_succeeded(answer)) {
        pthread_mutex_lock(&ha->lock);
        sw_ha_changed(&ha->member, sw_etcd_revision(answer));
        pthread_mutex_unlock(&ha->lock);
        ha->repl->owner.wake(ha->repl->owner.server); /* WAIT may count one more */
    } else if (sw_ha_take(ha, answer, &shard)) {
        sw_ha_read_as_primary(ha, &shard);
    }
}

/* Sends the change to etcd. Call it with the lock held. */
static void send_change(struct sw_ha *ha)
{
    json_t *body =
        sw_ha_ask_change(&ha->address, &ha->member.shard, &ha->member.changing, &ha->names);
    ha->is_sending_change = true;
    pthread_mutex_unlock(&ha->lock); /* without memory, post calls on_changed immediately */
    sw_etcd_post(ha->etcd, "/v3/kv/txn", body, on_changed, ha);
    pthread_mutex_lock(&ha->lock);
}

static struct sw_ha_track *track_of(struct sw_ha *ha, struct sw_ha_id id, uint64_t now)
{
    struct sw_ha_track *oldest = &ha->track[0];
    for (unsigned i = 0; i < SW_HA_MEMBERS_MAX; i++) {
        struct sw_ha_track *track = &ha->track[i];
        if (sw_ha_same_id(track->id, id)) {
            return track;
        }
        oldest = track->heard_ns < oldest->heard_ns ? track : oldest;
    }
    *oldest = (struct sw_ha_track){id, now, now};
    return oldest;
}

static bool is_listed(const struct sw_ha_sync *sync, struct sw_ha_id id)
{
    for (uint64_t i = 0; i < sync->count; i++) {
        if (sw_ha_same_id(sync->in_sync[i], id)) {
            return true;
        }
    }
    return false;
}

static void drop_node(struct sw_ha_sync *sync, uint64_t node)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < sync->count; i++) {
        if (sync->in_sync[i].node != node) {
            sync->in_sync[kept++] = sync->in_sync[i];
        }
    }
    sync->count = kept;
}

/* Removes members that are disconnected or have been behind for too long, and the member to
 * forget. */
static void shrink(struct sw_ha *ha, struct sw_ha_sync *sync, uint64_t now)
{
    const struct sw_ha_sync before = *sync;
    for (uint64_t i = 0; i < before.count; i++) {
        const struct sw_ha_track *track = track_of(ha, before.in_sync[i], now);
        if (now - track->heard_ns > ha->address.ttl_ns || now - track->whole_ns > LAG_NS ||
            before.in_sync[i].node == ha->wants_forgotten) {
            drop_node(sync, before.in_sync[i].node);
        }
    }
}

/* Adds members that have every write found safe so far. */
static void grow(struct sw_ha *ha, struct sw_ha_sync *sync, const struct sw_ha_ack *acks,
                 unsigned count)
{
    const struct sw_ha_member *member = &ha->member;
    const uint64_t through = member->waited < member->start ? member->start : member->waited;
    for (unsigned i = 0; i < count; i++) {
        const struct sw_ha_id id = acks[i].id;
        bool is_new = !sw_ha_is_member(sync, id.node);
        if (id.node == 0 || acks[i].term != member->serves || acks[i].sequence < through ||
            is_listed(sync, id) || id.node == ha->wants_forgotten ||
            (is_new && sync->members == SW_HA_MEMBERS_MAX)) {
            continue;
        }
        drop_node(sync, id.node);
        sync->in_sync[sync->count++] = id;
        if (is_new) {
            sync->member[sync->members++] = id.node;
        }
    }
}

/* Removes the member to forget, unless it is still in sync. */
static void forget(const struct sw_ha *ha, struct sw_ha_sync *sync)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < ha->member.shard.sync.count; i++) {
        if (ha->member.shard.sync.in_sync[i].node == ha->wants_forgotten) {
            return; /* the member must leave the members in sync first */
        }
    }
    for (uint64_t i = 0; i < sync->members; i++) {
        if (sync->member[i] != ha->wants_forgotten) {
            sync->member[kept++] = sync->member[i];
        }
    }
    sync->members = kept;
}

static unsigned take_acks(struct sw_ha *ha, struct sw_ha_ack acks[SW_SENDERS_SHOWN_MAX])
{
    struct sw_repl_ack heard[SW_SENDERS_SHOWN_MAX];
    unsigned count = sw_senders_acks(ha->repl->senders, heard, SW_SENDERS_SHOWN_MAX);
    for (unsigned i = 0; i < count; i++) {
        acks[i] = (struct sw_ha_ack){
            {heard[i].node, heard[i].incarnation}, heard[i].term, heard[i].sequence};
    }
    return count;
}

static bool is_other(const struct sw_ha_sync *a, const struct sw_ha_sync *b)
{
    return a->count != b->count || a->members != b->members ||
           memcmp(a->in_sync, b->in_sync, a->count * sizeof(a->in_sync[0])) != 0;
}

/* Tries to shrink and grow in one change: shrinking alone may be illegal. If that change is
 * illegal, tries to grow only. Call it with the lock held. */
static void choose(struct sw_ha *ha, const struct sw_ha_ack *acks, unsigned count, uint64_t now)
{
    const struct sw_ha_sync *current = &ha->member.shard.sync;
    struct sw_ha_sync both = *current, grown = *current;
    shrink(ha, &both, now);
    grow(ha, &both, acks, count);
    grow(ha, &grown, acks, count);
    if (ha->wants_forgotten != 0) {
        forget(ha, &both);
    }
    const struct sw_ha_sync *next = is_other(&both, current) ? &both : NULL;
    if (next != NULL && !sw_ha_may_change(&ha->member, next, acks, count)) {
        next = is_other(&grown, current) && sw_ha_may_change(&ha->member, &grown, acks, count)
                   ? &grown
                   : NULL;
    }
    if (next != NULL) {
        bool is_forgotten = !sw_ha_is_member(next, ha->wants_forgotten);
        ha->wants_forgotten = is_forgotten ? 0 : ha->wants_forgotten;
        sw_ha_change(&ha->member, next);
        send_change(ha);
    }
}

static void keep_in_sync(struct sw_ha *ha, uint64_t now)
{
    struct sw_ha_ack acks[SW_SENDERS_SHOWN_MAX];
    unsigned count = take_acks(ha, acks);
    const uint64_t last = sw_repl_last(ha->repl);
    for (unsigned i = 0; i < count; i++) {
        struct sw_ha_track *track = track_of(ha, acks[i].id, now);
        track->heard_ns = now;
        track->whole_ns = acks[i].sequence >= ha->last_sequence ? now : track->whole_ns;
    }
    ha->last_sequence = last;
    pthread_mutex_lock(&ha->lock);
    if (ha->member.shard.sync.count > 0 || ha->facts.lonely_ms == 0) {
        ha->facts.lonely_ms = ha->member.shard.sync.count > 0 ? 0 : now / 1000000U;
    }
    if (ha->member.serves > 0 && !ha->is_sending_change) {
        if (ha->member.is_changing) {
            send_change(ha); /* its outcome is unknown */
        } else {
            choose(ha, acks, count, now);
        }
    }
    pthread_mutex_unlock(&ha->lock);
}

/* --- handing over -------------------------------------------------------------------------------
 */

static void on_told(void *context, const char *line)
{
    (void)context, (void)line; /* the member reads etcd soon even without HA LOOK */
}

static void on_ended(void *context, const json_t *answer, const char *error)
{
    struct sw_ha *ha = context;
    if (answer == NULL) {
        sw_ha_failed(ha, error); /* the others wait until the renewal is too old */
    } else {
        sw_peer_ask(&ha->peers, ha->successor, "HA LOOK", 500, on_told, ha);
    }
    __atomic_store_n(&ha->has_left, true, __ATOMIC_RELEASE);
}

/* Finds a member in sync that has every write. */
static bool find_successor(struct sw_ha *ha)
{
    struct sw_ha_ack acks[SW_SENDERS_SHOWN_MAX];
    unsigned count = take_acks(ha, acks);
    const uint64_t last = sw_repl_last(ha->repl);
    bool found = false;
    pthread_mutex_lock(&ha->lock);
    for (unsigned i = 0; i < count && !found; i++) {
        found = acks[i].term == ha->member.serves && acks[i].sequence >= last &&
                is_listed(&ha->member.shard.sync, acks[i].id);
        if (found) {
            snprintf(ha->successor, sizeof(ha->successor), "%s",
                     sw_ha_name(&ha->names, acks[i].id.node));
        }
    }
    pthread_mutex_unlock(&ha->lock);
    return found;
}

/* Serves clients again, unless a poll has closed the term meanwhile. */
static void stay(struct sw_ha *ha)
{
    ha->is_frozen = false;
    pthread_mutex_lock(&ha->lock);
    if (ha->member.serves > 0) {
        sw_repl_resume_serving(&ha->repl->state);
    }
    pthread_mutex_unlock(&ha->lock);
}

/* Waits for a renewal in flight: if it reached etcd after the end, the others would have to wait
 * until it is too old. */
static void hand_over(struct sw_ha *ha, uint64_t now)
{
    char why[SW_HA_NAME_BYTES + 64];
    if (ha->is_renewing || !ha->repl->owner.is_quiet(ha->repl->owner.server, ha->fence) ||
        !find_successor(ha)) {
        if (now - ha->frozen_ns > FROZEN_NS) {
            sw_log(SW_LOG_WARNING, "no member in sync had every write within two seconds: this "
                                   "member stays primary");
            stay(ha);
            __atomic_store_n(&ha->has_left, true, __ATOMIC_RELEASE);
        }
        return;
    }
    pthread_mutex_lock(&ha->lock);
    json_t *body = sw_ha_ask_end(&ha->address, &ha->member.shard);
    ha->rests_term = ha->member.shard.term;
    pthread_mutex_unlock(&ha->lock);
    snprintf(why, sizeof(why), "this member hands over to %s, which has every write",
             ha->successor);
    end_term(ha, why); /* on_ended sets has_left when etcd has answered */
    ha->rests_until_ns = now + ha->address.ttl_ns;
    sw_etcd_post(ha->etcd, "/v3/kv/txn", body, on_ended, ha);
}

/* --- ticks --------------------------------------------------------------------------------------
 */

void sw_ha_tick_primary(struct sw_ha *ha, uint64_t now)
{
    pthread_mutex_lock(&ha->lock);
    bool is_over = ha->member.serves == 0, is_outdated = ha->is_outdated;
    bool wants_switch = ha->wants_switch;
    ha->wants_switch = false;
    pthread_mutex_unlock(&ha->lock);
    if (is_over) {
        sw_ha_end_to_lead(ha, "another member stands for the next term");
    } else if (is_outdated) {
        sw_ha_end_to_lead(ha, "a member has closed the term: a new term begins");
    } else if (now >= ha->deadline_ns) {
        sw_ha_end_to_lead(ha, "the lease could not be renewed in time");
    } else if (sw_repl_is_lost(&ha->repl->state)) {
        sw_ha_end_to_lead(ha, "the lease expired before it was renewed");
    } else {
        if (!ha->is_renewing && now >= ha->next_renewal_ns) {
            renew(ha, now);
        }
        keep_in_sync(ha, now);
        if (wants_switch && !ha->is_frozen) {
            ha->is_frozen = true;
            ha->frozen_ns = now;
            ha->fence = sw_repl_pause(&ha->repl->state);
        }
        if (ha->is_frozen) {
            hand_over(ha, now);
        }
    }
}
