/* SPDX-License-Identifier: MIT
 *
 * sender_stats.c - the progress of the replicas, and statistics of what was sent.
 */
#include <string.h>

#include "server/log/clock.h"
#include "server/repl/sender_parts.h"

/* Returns true if the sender's acknowledgements count. A sender that was cut remains until its
 * thread ends; its acknowledgements are sequences of an earlier history. */
static bool counts(const struct sw_sender *sender)
{
    return !sender->joined && __atomic_load_n(&sender->is_online, __ATOMIC_ACQUIRE) &&
           !__atomic_load_n(&sender->is_cut, __ATOMIC_ACQUIRE);
}

unsigned sw_senders_acks(struct sw_senders *senders, struct sw_repl_ack *acks, unsigned max)
{
    unsigned n = 0;
    pthread_mutex_lock(&senders->lock);
    for (const struct sw_sender *sender = senders->list; sender != NULL && n < max;
         sender = sender->next) {
        uint64_t incarnation = __atomic_load_n(&sender->incarnation, __ATOMIC_SEQ_CST);
        if (counts(sender) && incarnation != 0) {
            acks[n] = sender->who;
            acks[n].incarnation = incarnation;
            acks[n++].sequence = __atomic_load_n(&sender->acknowledged, __ATOMIC_SEQ_CST);
        }
    }
    pthread_mutex_unlock(&senders->lock);
    return n;
}

unsigned sw_senders_reached(struct sw_senders *senders, uint64_t sequence)
{
    unsigned n = 0;
    pthread_mutex_lock(&senders->lock);
    for (const struct sw_sender *sender = senders->list; sender != NULL; sender = sender->next) {
        n += counts(sender) && __atomic_load_n(&sender->acknowledged, __ATOMIC_SEQ_CST) >= sequence;
    }
    pthread_mutex_unlock(&senders->lock);
    return n;
}

void sw_senders_stats(struct sw_senders *senders, struct sw_senders_stats *stats)
{
    uint64_t now = sw_log_now_ns();
    *stats = (struct sw_senders_stats){
        .snapshots = __atomic_load_n(&senders->snapshots, __ATOMIC_RELAXED),
        .resumes = __atomic_load_n(&senders->resumes, __ATOMIC_RELAXED),
        .dropped = __atomic_load_n(&senders->dropped, __ATOMIC_RELAXED),
        .errors = __atomic_load_n(&senders->errors, __ATOMIC_RELAXED),
        .sent_bytes = __atomic_load_n(&senders->sent_bytes, __ATOMIC_RELAXED),
    };
    pthread_mutex_lock(&senders->lock);
    for (const struct sw_sender *sender = senders->list; sender != NULL; sender = sender->next) {
        if (sender->joined || stats->replicas == SW_SENDERS_SHOWN_MAX) {
            continue;
        }
        struct sw_sender_status *facts = &stats->shown[stats->replicas++];
        uint64_t heard = __atomic_load_n(&sender->heard_ns, __ATOMIC_RELAXED);
        memcpy(facts->address, sender->address, sizeof(facts->address));
        facts->is_online = __atomic_load_n(&sender->is_online, __ATOMIC_ACQUIRE);
        facts->acknowledged = __atomic_load_n(&sender->acknowledged, __ATOMIC_RELAXED);
        facts->silent_ms = now > heard ? (now - heard) / 1000000U : 0;
    }
    pthread_mutex_unlock(&senders->lock);
}

bool sw_sender_is_known(const struct sw_sender *sender)
{
    struct sw_repl_state *state = sender->senders->parts.state;
    pthread_mutex_lock(&state->lock);
    bool has = sw_repl_history_has(&state->history, sender->hello.history, sender->hello.sequence);
    pthread_mutex_unlock(&state->lock);
    return has;
}
