/* SPDX-License-Identifier: MIT
 *
 * candidate.c - a member that is not primary: it reads the shard's keys in etcd and follows the
 * primary named there. It stands for the next term once the primary has been silent for long
 * enough.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/etcd/values.h"
#include "server/ha/ha_parts.h"
#include "server/observe/log.h"

#define READS_A_TTL 10

/* --- etcd ---------------------------------------------------------------------------------------
 */

static void on_read(void *context, const json_t *answer, const char *error)
{
    struct sw_ha *ha = context;
    struct sw_ha_shard shard;
    ha->is_reading = false;
    if (answer == NULL) {
        sw_ha_failed(ha, error);
    } else if (sw_ha_take(ha, answer, &shard)) {
        sw_ha_saw(ha, &shard);
    }
}

void sw_ha_read(struct sw_ha *ha)
{
    if (!ha->is_reading) {
        ha->is_reading = true;
        ha->next_read_ns = sw_ha_now() + ha->address.ttl_ns / READS_A_TTL;
        sw_etcd_post(ha->etcd, "/v3/kv/range", sw_ha_ask_all(&ha->address), on_read, ha);
    }
}

/* --- standing -----------------------------------------------------------------------------------
 */

static void withdraw(struct sw_ha *ha)
{
    ha->election = SW_HA_NO_ELECTION;
    ha->following[0] = '\0';
}

static void on_elected(void *context, const json_t *answer, const char *error)
{
    struct sw_ha *ha = context;
    struct sw_ha_shard shard;
    if (ha->election != SW_HA_SENT) {
        return;
    }
    if (answer == NULL) { /* outcome unknown: the next read shows whether etcd names this member */
        sw_ha_failed(ha, error);
        withdraw(ha);
    } else if (!sw_etcd_succeeded(answer)) {
        withdraw(ha);
        if (sw_ha_take(ha, answer, &shard)) {
            sw_ha_saw(ha, &shard);
        }
    } else {
        ha->elected_revision = sw_etcd_revision(answer);
        ha->election = SW_HA_PROMOTING;
        /* the member serves once replication has promoted it, at most until this deadline */
        sw_repl_set_lease(&ha->repl->state, sw_ha_deadline(ha->asked_ns, ha->address.ttl_ns));
        ha->promotion = sw_replica_promote(ha->repl->replica, ha->elected_term);
    }
}

static const char *basis_text(enum sw_ha_basis basis)
{
    static const char *const texts[] = {[SW_HA_NOT_YET] = "",
                                        [SW_HA_FIRST] = "the shard is new",
                                        [SW_HA_BY_IN_SYNC] =
                                            "enough members in sync have no later write",
                                        [SW_HA_BY_TERM] = "it was the primary of the term before",
                                        [SW_HA_BY_ALL] = "no other member has a later write",
                                        [SW_HA_BY_OPERATOR] = "an operator has adopted it"};
    return texts[basis];
}

/* Requests the next term from etcd, if the rules allow it by now. */
static void try_to_lead(struct sw_ha *ha)
{
    struct sw_ha_sync next;
    json_t *body = NULL;
    uint64_t term = 0;
    pthread_mutex_lock(&ha->lock);
    enum sw_ha_basis basis = sw_ha_may_lead(&ha->member);
    if (basis != SW_HA_NOT_YET) {
        term = ha->member.shard.term + 1;
        sw_ha_next_sync(&ha->member, &next);
        body =
            sw_ha_ask_election(&ha->address, &ha->member.shard, &next, ha->member.self, &ha->names);
    }
    pthread_mutex_unlock(&ha->lock);
    if (basis != SW_HA_NOT_YET) {
        sw_log(SW_LOG_NOTICE, "this member asks for term %" PRIu64 ": %s", term, basis_text(basis));
        ha->election = SW_HA_SENT;
        ha->elected_term = term;
        ha->asked_ns = sw_ha_now(); /* the lease counts from before the request is sent */
        sw_etcd_post(ha->etcd, "/v3/kv/txn", body, on_elected, ha);
    }
}

struct poll {
    struct sw_ha *ha;
    uint64_t node, round;
};

static void on_answer(void *context, const char *line)
{
    struct poll *poll = context;
    struct sw_ha *ha = poll->ha;
    struct sw_ha_answer answer = {.id = {poll->node, 0}};
    char end;
    if (line != NULL &&
        sscanf(line, "+%" SCNu64 " %" SCNu64 " %" SCNu64 "%c", &answer.id.incarnation,
               &answer.position.term, &answer.position.sequence, &end) == 3) {
        pthread_mutex_lock(&ha->lock);
        sw_ha_hear(&ha->member, poll->round, &answer);
        pthread_mutex_unlock(&ha->lock);
        if (ha->election == SW_HA_ASKING && ha->etcd != NULL) {
            try_to_lead(ha);
        }
    }
    free(poll);
}

static void ask_others(struct sw_ha *ha, const struct sw_ha_shard *shard)
{
    char words[SW_HA_NAME_BYTES + 64], name[SW_HA_NAME_BYTES];
    snprintf(words, sizeof(words), "HA POLL %s %" PRIu64, ha->address.shard, shard->term);
    for (uint64_t i = 0; i < shard->sync.members; i++) {
        struct poll *poll = calloc(1, sizeof(*poll));
        if (poll == NULL || shard->sync.member[i] == sw_ha_node(ha->self)) {
            free(poll);
            continue;
        }
        *poll = (struct poll){ha, shard->sync.member[i], ha->round};
        pthread_mutex_lock(&ha->lock);
        snprintf(name, sizeof(name), "%s", sw_ha_name(&ha->names, shard->sync.member[i]));
        pthread_mutex_unlock(&ha->lock);
        sw_peer_ask(&ha->peers, name, words, ha->address.ttl_ns / 1000000U * 3 / 10, on_answer,
                    poll);
    }
}

static void stand_for_election(struct sw_ha *ha, const struct sw_ha_shard *shard)
{
    pthread_mutex_lock(&ha->lock);
    bool stands = sw_ha_stand(&ha->member, shard, sw_ha_position(ha));
    if (ha->is_adopting) {
        sw_ha_adopt_candidate(&ha->member);
    }
    ha->round = ha->member.round;
    pthread_mutex_unlock(&ha->lock);
    if (stands) {
        (void)sw_replica_hold(ha->repl->replica);
        ha->following[0] = '\0';
        ha->election = SW_HA_ASKING;
        ha->asked_ns = sw_ha_now();
        try_to_lead(ha);
        if (ha->election == SW_HA_ASKING) {
            ask_others(ha, shard);
        }
    }
}

/* --- what etcd holds ----------------------------------------------------------------------------
 */

/* Returns how long the renewal must be unchanged, by the longer of both ttls: the primary may have
 * been started with another one. */
static uint64_t patience(const struct sw_ha *ha, const struct sw_ha_shard *shard)
{
    const uint64_t own = ha->address.ttl_ns;
    return sw_ha_patience(shard->ttl_ns > own ? shard->ttl_ns : own);
}

/* Returns true if no renewal has come for long enough, by this member's clock. */
static bool is_over(const struct sw_ha *ha, const struct sw_ha_shard *shard, uint64_t now)
{
    return shard->renewal_revision == 0 || now - ha->seen_ns >= patience(ha, shard);
}

static void follow(struct sw_ha *ha, const struct sw_ha_shard *shard)
{
    char reason[SW_REPL_REASON_BYTES], name[SW_HA_NAME_BYTES];
    pthread_mutex_lock(&ha->lock);
    snprintf(name, sizeof(name), "%s", sw_ha_name(&ha->names, shard->primary.node));
    pthread_mutex_unlock(&ha->lock);
    if (strcmp(ha->following, name) != 0) {
        snprintf(ha->following, sizeof(ha->following), "%s", name);
        if (sw_replica_follow(ha->repl->replica, name, reason, sizeof(reason)) != 0) {
            sw_log(SW_LOG_ERROR, "the primary in etcd, %s, cannot be followed: %s", name, reason);
        }
    }
}

/* An etcd that was restored from a backup may name a primary that lacks what later ones have. */
static bool is_stuck(struct sw_ha *ha, uint64_t term)
{
    pthread_mutex_lock(&ha->lock);
    bool was = ha->facts.is_stuck;
    bool is = ha->facts.is_stuck = term < ha->newest;
    ha->newest = term > ha->newest ? term : ha->newest;
    const uint64_t newest = ha->newest;
    pthread_mutex_unlock(&ha->lock);
    if (is && !was) {
        sw_log(
            SW_LOG_ERROR,
            "etcd holds term %" PRIu64 " of the shard, and this member has seen term %" PRIu64
            ": etcd may have been restored from a backup. This member neither stands nor follows "
            "until the term in etcd is as high; without a data directory, a restart empties it",
            term, newest);
    }
    return is;
}

/* Makes this member stand, as an operator has ordered. Gives up if a primary renews its term. If
 * etcd holds an older term than this member has seen, the next term is higher than both. */
static void try_to_adopt(struct sw_ha *ha, const struct sw_ha_shard *shard, uint64_t now)
{
    struct sw_ha_shard read = *shard;
    if (shard->renewal_revision != ha->adopted_renewal) {
        ha->is_adopting = false;
        sw_log(SW_LOG_WARNING, "this member is not adopted: there is a primary that renews its "
                               "term");
    } else if (is_over(ha, shard, now)) {
        pthread_mutex_lock(&ha->lock);
        read.term = read.term < ha->newest ? ha->newest : read.term;
        pthread_mutex_unlock(&ha->lock);
        sw_log(SW_LOG_WARNING, "HA ADOPT: this member stands for primary; writes that only other "
                               "members have will be lost");
        stand_for_election(ha, &read);
    }
}

void sw_ha_saw(struct sw_ha *ha, const struct sw_ha_shard *shard)
{
    const uint64_t now = sw_ha_now();
    pthread_mutex_lock(&ha->lock);
    bool is_serving = ha->member.serves > 0;
    bool is_own = shard->term > 0 && sw_ha_same_id(shard->primary, ha->member.self);
    bool is_loading = ha->is_loading;
    pthread_mutex_unlock(&ha->lock);
    if (shard->renewal_revision != ha->seen_renewal || ha->seen_ns == 0) {
        ha->seen_renewal = shard->renewal_revision;
        ha->seen_ns = now; /* time of the answer, which is later than the renewal */
    }
    if (is_serving) {
        sw_ha_read_as_primary(ha, shard);
        return;
    }
    if (ha->is_adopting && !is_loading && ha->election == SW_HA_NO_ELECTION) {
        try_to_adopt(ha, shard, now);
    }
    if (is_loading || is_stuck(ha, shard->term) || ha->election != SW_HA_NO_ELECTION) {
        return;
    }
    const bool rests = now < ha->rests_until_ns && shard->term <= ha->rests_term;
    bool may_stand = !rests && !sw_repl_lacks_data(&ha->repl->state);
    if (may_stand && (shard->term == 0 || is_own || is_over(ha, shard, now))) {
        stand_for_election(ha, shard);
    } else if (shard->term > 0 && !is_own) {
        follow(ha, shard);
    }
    /* read again when the patience ends */
    uint64_t over = ha->seen_ns + patience(ha, shard);
    if (over > now && over < ha->next_read_ns) {
        ha->next_read_ns = over;
    }
}

static void finish_promotion(struct sw_ha *ha)
{
    char reason[SW_REPL_REASON_BYTES] = "";
    int outcome = sw_replica_outcome(ha->repl->replica, ha->promotion, reason, sizeof(reason));
    if (outcome > 0) {
        ha->election = SW_HA_NO_ELECTION;
        sw_ha_begin_to_lead(ha);
    } else if (outcome < 0) {
        sw_log(SW_LOG_ERROR, "this member was elected but cannot be primary: %s", reason);
        sw_repl_set_lease(&ha->repl->state, UINT64_MAX);
        ha->rests_until_ns = sw_ha_now() + 2 * ha->address.ttl_ns; /* another member may succeed */
        ha->rests_term = UINT64_MAX;
        withdraw(ha);
    }
}

void sw_ha_tick_other(struct sw_ha *ha, uint64_t now)
{
    if (ha->election == SW_HA_PROMOTING) {
        finish_promotion(ha);
        return;
    }
    if (ha->election == SW_HA_ASKING && now - ha->asked_ns > ha->address.ttl_ns / 10 * 4) {
        withdraw(ha);
    }
    if (now >= ha->next_read_ns && ha->election == SW_HA_NO_ELECTION) {
        sw_ha_read(ha);
    }
}
