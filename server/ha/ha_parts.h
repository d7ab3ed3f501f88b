/* SPDX-License-Identifier: MIT
 *
 * ha_parts.h - the thread of a member. ha.c calls candidate.c, candidate.c calls lead.c, and all of
 * them call ha_shared.c. fence.c has functions for other modules.
 */
#ifndef SHERWOOD_SERVER_HA_HA_PARTS_H
#define SHERWOOD_SERVER_HA_HA_PARTS_H

#include <pthread.h>
#include <uv.h>

#include "server/etcd/etcd.h"
#include "server/ha/ha.h"
#include "server/ha/peers.h"
#include "server/ha/shard.h"
#include "server/repl/terms.h"

/* Terms of the table's records: `term` from record `start` on, `before` for earlier ones. */
struct sw_ha_history {
    uint64_t term, start, before;
};

enum sw_ha_election { SW_HA_NO_ELECTION, SW_HA_ASKING, SW_HA_SENT, SW_HA_PROMOTING };

struct sw_ha {
    const struct sw_config *config;
    struct sw_repl *repl;
    struct sw_repl_terms terms;
    struct sw_ha_address address;
    char self[SW_HA_NAME_BYTES];
    uv_loop_t uv;
    uv_thread_t thread;
    uv_async_t wake;
    uv_timer_t tick;
    bool started;
    void (*elected)(void *context); /* NULL: no callback */
    void *elected_context;
    struct sw_etcd *etcd;
    struct sw_peers peers;

    pthread_mutex_t lock; /* a thread that holds it locks no other mutex */
    struct sw_ha_member member;
    struct sw_ha_names names;
    struct sw_ha_history history;
    uint64_t newest;  /* the highest term that this member has seen */
    bool is_loading;  /* the data directory is not loaded: the position is unknown */
    bool is_outdated; /* a replica has closed the term that this primary serves */
    bool wants_switch;
    bool wants_read;
    uint64_t wants_forgotten; /* node to forget; 0: none */
    bool wants_adoption;      /* an operator wants this member to be primary */
    bool stopping;
    struct sw_ha_status facts;

    /* Only the thread uses the fields below. */
    bool is_reading;
    uint64_t next_read_ns;
    uint64_t seen_renewal, seen_ns; /* the renewal's revision, and when this member first saw it */
    char following[SW_HA_NAME_BYTES];
    uint64_t rests_until_ns; /* does not stand before this time, so that others can */
    uint64_t rests_term;     /* the rest ends earlier if another member had a later term */
    bool is_adopting;
    uint64_t adopted_renewal; /* revision of the renewal when the adoption began */

    enum sw_ha_election election;
    uint64_t round, asked_ns, elected_term, elected_revision, promotion;

    uint64_t was_serving; /* the term that the thread last saw served; 0: none */
    uint64_t deadline_ns;
    bool is_renewing;
    uint64_t renewals, next_renewal_ns, renewal_sent_ns, renewal_term;
    bool is_sending_change;
    uint64_t last_sequence; /* last write of the table at the tick before */
    struct sw_ha_track {
        struct sw_ha_id id;
        uint64_t whole_ns; /* when it last had every write of the previous tick */
        uint64_t heard_ns; /* when it was last connected */
    } track[SW_HA_MEMBERS_MAX];

    bool is_frozen;
    uint64_t frozen_ns, fence;
    char successor[SW_HA_NAME_BYTES];
    bool has_left; /* atomic: a requested hand-over is done, or was given up */
};

/* --- ha_shared.c --- */

/* Returns CLOCK_BOOTTIME, which also counts the time that a machine sleeps. */
uint64_t sw_ha_now(void);
/* Returns the position of the table's last record. Call it with the lock held. */
struct sw_ha_position sw_ha_position(struct sw_ha *ha);
/* Removes names that no key uses, if room is short. Call it with the lock held. */
void sw_ha_tidy_names(struct sw_ha *ha);
/* Counts and logs a request that etcd did not answer. */
void sw_ha_failed(struct sw_ha *ha, const char *error);
/* Reads an answer of etcd that has all keys of the shard. Returns false if its values are wrong. */
bool sw_ha_take(struct sw_ha *ha, const json_t *answer, struct sw_ha_shard *shard);

/* --- candidate.c --- */

/* Acts on the shard as read from etcd: follows, stands, or waits. */
void sw_ha_saw(struct sw_ha *ha, const struct sw_ha_shard *shard);
void sw_ha_read(struct sw_ha *ha);
void sw_ha_tick_other(struct sw_ha *ha, uint64_t now);

/* --- lead.c --- */

void sw_ha_begin_to_lead(struct sw_ha *ha);
void sw_ha_end_to_lead(struct sw_ha *ha, const char *why);
/* Compares with the shard as read from etcd: learns whether etcd took a change, and ends the term
 * if there is a newer one. */
void sw_ha_read_as_primary(struct sw_ha *ha, const struct sw_ha_shard *shard);
void sw_ha_tick_primary(struct sw_ha *ha, uint64_t now);

#endif
