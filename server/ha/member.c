/* SPDX-License-Identifier: MIT
 *
 * member.c - the rules of fail-over.
 */
#include "server/ha/member.h"

#include <string.h>

#ifndef SW_HA_HOLDS /* a test disables rules */
#define SW_HA_HOLDS(rule) true
#endif

bool sw_ha_same_id(struct sw_ha_id a, struct sw_ha_id b)
{
    return a.node == b.node && (a.incarnation == b.incarnation || !SW_HA_HOLDS(INCARNATION));
}

bool sw_ha_is_member(const struct sw_ha_sync *sync, uint64_t node)
{
    for (uint64_t i = 0; i < sync->members; i++) {
        if (sync->member[i] == node) {
            return true;
        }
    }
    return false;
}

static bool is_in_sync(const struct sw_ha_sync *sync, struct sw_ha_id id)
{
    for (uint64_t i = 0; i < sync->count; i++) {
        if (sw_ha_same_id(sync->in_sync[i], id)) {
            return true;
        }
    }
    return false;
}

bool sw_ha_is_beyond(struct sw_ha_position a, struct sw_ha_position b)
{
    return a.term != b.term && SW_HA_HOLDS(TERM_FIRST) ? a.term > b.term : a.sequence > b.sequence;
}

/* --- a replica ---------------------------------------------------------------------------------
 */

bool sw_ha_takes(const struct sw_ha_member *member, uint64_t term)
{
    return term > member->closed && term > member->serves;
}

void sw_ha_step_down(struct sw_ha_member *member)
{
    if (member->serves > 0) {
        member->closed = member->closed < member->serves ? member->serves : member->closed;
        member->serves = member->start = member->waited = 0;
        member->is_changing = false;
        memset(&member->shard, 0, sizeof(member->shard));
        memset(&member->changing, 0, sizeof(member->changing));
    }
}

static void withdraw(struct sw_ha_member *member)
{
    if (member->stands) {
        member->stands = member->is_adopted = false;
        member->answers = 0;
        memset(&member->shard, 0, sizeof(member->shard));
        memset(member->answer, 0, sizeof(member->answer));
    }
}

void sw_ha_follow(struct sw_ha_member *member, uint64_t term)
{
    sw_ha_step_down(member);
    withdraw(member);
    member->closed = member->closed < term - 1 ? term - 1 : member->closed;
}

bool sw_ha_close(struct sw_ha_member *member, uint64_t term)
{
    if (SW_HA_HOLDS(CLOSING)) {
        if (member->serves > 0 && member->serves <= term) {
            sw_ha_step_down(member);
        }
        if (member->stands && member->shard.term < term) {
            withdraw(member);
        }
        member->closed = member->closed < term ? term : member->closed;
    }
    return member->closed <= term && member->serves <= term;
}

/* --- a candidate -------------------------------------------------------------------------------
 */

bool sw_ha_stand(struct sw_ha_member *member, const struct sw_ha_shard *shard,
                 struct sw_ha_position position)
{
    if (member->serves > shard->term || member->closed > shard->term) {
        return false;
    }
    sw_ha_step_down(member);
    withdraw(member);
    if (SW_HA_HOLDS(CLOSING)) {
        member->closed = shard->term;
    }
    member->stands = true;
    member->round++;
    member->shard = *shard;
    member->answer[0] = (struct sw_ha_answer){member->self, position};
    member->answers = 1;
    return true;
}

void sw_ha_hear(struct sw_ha_member *member, uint64_t round, const struct sw_ha_answer *answer)
{
    if (!member->stands || round != member->round || member->answers == SW_HA_MEMBERS_MAX) {
        return;
    }
    for (uint64_t i = 0; i < member->answers; i++) {
        if (member->answer[i].id.node == answer->id.node) {
            return;
        }
    }
    member->answer[member->answers++] = *answer;
}

/* Returns true if no counted answer is further on than the candidate's own. Counts answers of
 * members in sync if `listed`, else answers of all members. *count: their number. */
static bool is_furthest(const struct sw_ha_member *member, bool listed, uint64_t *count)
{
    *count = 0;
    for (uint64_t i = 0; i < member->answers; i++) {
        const struct sw_ha_answer *answer = &member->answer[i];
        if (listed && SW_HA_HOLDS(LISTED) && !is_in_sync(&member->shard.sync, answer->id)) {
            continue;
        }
        if (!listed && !sw_ha_is_member(&member->shard.sync, answer->id.node)) {
            continue;
        }
        if (sw_ha_is_beyond(answer->position, member->answer[0].position)) {
            return false;
        }
        ++*count;
    }
    return true;
}

void sw_ha_adopt_candidate(struct sw_ha_member *member)
{
    member->is_adopted = member->stands;
}

enum sw_ha_basis sw_ha_may_lead(const struct sw_ha_member *member)
{
    const struct sw_ha_sync *sync = &member->shard.sync;
    uint64_t count;
    if (!member->stands) {
        return SW_HA_NOT_YET;
    }
    if (member->shard.term_revision == 0) {
        return SW_HA_FIRST;
    }
    if (member->is_adopted) {
        return SW_HA_BY_OPERATOR;
    }
    if (sw_ha_same_id(member->shard.primary, member->self)) {
        return SW_HA_BY_TERM;
    }
    uint64_t needed = sync->count < sync->quorum ? 1 : sync->count - sync->quorum + 1;
    needed = SW_HA_HOLDS(QUORUM) ? needed : 1;
    if ((is_in_sync(sync, member->self) || !SW_HA_HOLDS(LISTED)) &&
        is_furthest(member, true, &count) && count >= needed) {
        return SW_HA_BY_IN_SYNC;
    }
    return sw_ha_is_member(sync, member->self.node) && is_furthest(member, false, &count) &&
                   count == sync->members
               ? SW_HA_BY_ALL
               : SW_HA_NOT_YET;
}

static void remove_from_sync(struct sw_ha_sync *sync, uint64_t node)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < sync->count; i++) {
        if (sync->in_sync[i].node != node) {
            sync->in_sync[kept++] = sync->in_sync[i];
        }
    }
    memset(sync->in_sync + kept, 0, (sync->count - kept) * sizeof(sync->in_sync[0]));
    sync->count = kept;
}

void sw_ha_next_sync(const struct sw_ha_member *member, struct sw_ha_sync *sync)
{
    *sync = member->shard.sync;
    if (sync->members == 0) {
        sync->member[sync->members++] = member->self.node;
    }
    if (SW_HA_HOLDS(EMPTY_START)) {
        sync->count = 0;
        memset(sync->in_sync, 0, sizeof(sync->in_sync));
    } else {
        remove_from_sync(sync, member->self.node);
    }
}

void sw_ha_elected(struct sw_ha_member *member, uint64_t revision, uint64_t start)
{
    struct sw_ha_shard shard = member->shard;
    sw_ha_next_sync(member, &shard.sync);
    shard.term++;
    shard.primary = member->self;
    shard.term_revision = shard.sync_revision = shard.renewal_revision = revision;
    withdraw(member);
    member->shard = shard;
    member->serves = shard.term;
    member->closed = member->closed < shard.term - 1 ? shard.term - 1 : member->closed;
    member->start = SW_HA_HOLDS(EMPTY_START) ? start : 0;
    member->waited =
        SW_HA_HOLDS(EMPTY_START) ? start - 1 : 0; /* includes every write found safe before */
}

/* --- a primary ---------------------------------------------------------------------------------
 */

static bool counts(const struct sw_ha_member *member, struct sw_ha_id id)
{
    bool in_old = is_in_sync(&member->shard.sync, id);
    if (!member->is_changing) {
        return in_old;
    }
    bool in_new = is_in_sync(&member->changing, id);
    if (!SW_HA_HOLDS(CONFIRMED)) {
        return in_old || in_new;
    }
    return in_old && (in_new || !SW_HA_HOLDS(BOTH_SETS));
}

unsigned sw_ha_reached(struct sw_ha_member *member, const struct sw_ha_ack *acks, unsigned count,
                       uint64_t sequence)
{
    unsigned reached = 0;
    for (unsigned i = 0; i < count; i++) {
        reached += member->serves > 0 && acks[i].term == member->serves &&
                   acks[i].sequence >= sequence && counts(member, acks[i].id);
    }
    if (reached >= member->shard.sync.quorum && reached > 0 && member->waited < sequence) {
        member->waited = sequence;
    }
    return reached;
}

bool sw_ha_may_change(const struct sw_ha_member *member, const struct sw_ha_sync *sync,
                      const struct sw_ha_ack *acks, unsigned count)
{
    uint64_t through = member->waited < member->start ? member->start : member->waited;
    uint64_t have = 0;
    if (member->serves == 0 || member->is_changing) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        have += acks[i].term == member->serves && acks[i].sequence >= through &&
                is_in_sync(sync, acks[i].id);
    }
    uint64_t needed = sync->count < sync->quorum ? sync->count : sync->quorum;
    return have >= needed || !SW_HA_HOLDS(LEGAL_SETS);
}

void sw_ha_change(struct sw_ha_member *member, const struct sw_ha_sync *sync)
{
    member->is_changing = true;
    member->changing = *sync;
}

void sw_ha_changed(struct sw_ha_member *member, uint64_t revision)
{
    if (member->is_changing &&
        (revision > member->shard.sync_revision || !SW_HA_HOLDS(OWN_ANSWER))) {
        member->is_changing = false;
        member->shard.sync = member->changing;
        member->shard.sync_revision = revision;
        memset(&member->changing, 0, sizeof(member->changing));
    }
}

bool sw_ha_read_again(struct sw_ha_member *member, const struct sw_ha_shard *shard)
{
    if (shard->term_revision != member->shard.term_revision) {
        sw_ha_step_down(member);
        return false;
    }
    if (shard->sync_revision != member->shard.sync_revision) { /* etcd has taken the change */
        member->shard.sync = shard->sync;
        member->shard.sync_revision = shard->sync_revision;
        member->is_changing = false;
        memset(&member->changing, 0, sizeof(member->changing));
    }
    return true;
}

/* --- time ---------------------------------------------------------------------------------------
 */

uint64_t sw_ha_deadline(uint64_t sent_ns, uint64_t ttl_ns)
{
    return sent_ns + (SW_HA_HOLDS(GUARDS) ? ttl_ns / 1021 * 1000 : ttl_ns);
}

uint64_t sw_ha_patience(uint64_t ttl_ns)
{
    return SW_HA_HOLDS(GUARDS) ? ttl_ns / 1000 * 1021 : ttl_ns;
}
