/* SPDX-License-Identifier: MIT
 *
 * member.h - what a member of a shard may do: stand, lead, take records, acknowledge, count. The
 * rules of fail-over without clocks, threads or I/O.
 *
 * etcd holds three keys of a shard: who is primary of which term, which members are in sync, and a
 * renewal. Each has the revision of its last change, and every change is a transaction that
 * compares them. A term is served by one primary. The invariant: a write that q members in sync
 * have acknowledged is in the table of every later primary, unless every copy of it was lost.
 *
 * tests/server/test_ha_rules.c takes each rule away (SW_HA_HOLDS) and shows what is lost then.
 */
#ifndef SHERWOOD_SERVER_HA_MEMBER_H
#define SHERWOOD_SERVER_HA_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#ifndef SW_HA_MEMBERS_MAX
#define SW_HA_MEMBERS_MAX 9
#endif

/* A process as the holder of a table: another one after each start, and after each loss of it. */
struct sw_ha_id {
    uint64_t node;
    uint64_t incarnation;
};

/* The last record of a table: of which term, and its sequence. */
struct sw_ha_position {
    uint64_t term;
    uint64_t sequence;
};

/* What the key `sync` holds. */
struct sw_ha_sync {
    uint64_t quorum; /* q: so many acknowledgements make a write safe */
    uint64_t members;
    uint64_t member[SW_HA_MEMBERS_MAX]; /* by node */
    uint64_t count;
    struct sw_ha_id in_sync[SW_HA_MEMBERS_MAX]; /* never the primary itself */
};

/* All that etcd holds of a shard. A revision is 0 where the key is absent. */
struct sw_ha_shard {
    uint64_t term, term_revision;
    struct sw_ha_id primary;
    struct sw_ha_sync sync;
    uint64_t sync_revision;
    uint64_t renewal_revision;
    uint64_t ttl_ns; /* by which the primary renews; 0: it has not said */
};

struct sw_ha_answer {
    struct sw_ha_id id;
    struct sw_ha_position position;
};

/* A replica has acknowledged everything up to `sequence` to the primary of `term`. */
struct sw_ha_ack {
    struct sw_ha_id id;
    uint64_t term;
    uint64_t sequence;
};

struct sw_ha_member {
    struct sw_ha_id self;
    uint64_t closed;          /* nothing of this term, or of one before, is taken or acknowledged */
    uint64_t serves;          /* the term that it serves as primary; 0: none */
    struct sw_ha_shard shard; /* as this primary knows it, or as this candidate has read it */

    /* Of a primary. */
    bool is_changing; /* a change of `sync` is on its way to etcd, or its outcome unknown */
    struct sw_ha_sync changing; /* .. this one */
    uint64_t start;             /* the first record of its term */
    uint64_t waited;            /* the last write that was found safe */

    /* Of a candidate. */
    bool stands;
    bool is_adopted; /* .. as an operator has decided: nobody is asked */
    uint64_t round;  /* of questions: answers to earlier ones are not counted */
    uint64_t answers;
    struct sw_ha_answer answer[SW_HA_MEMBERS_MAX]; /* the first is its own */
};

enum sw_ha_basis {
    SW_HA_NOT_YET,
    SW_HA_FIRST,      /* the shard has never had a primary */
    SW_HA_BY_IN_SYNC, /* enough members in sync have closed the term, none of them further on */
    SW_HA_BY_TERM,    /* it is the term's own primary */
    SW_HA_BY_ALL,     /* every member has closed the term, none is further on */
    SW_HA_BY_OPERATOR /* who has said that what others have may be lost */
};

bool sw_ha_same_id(struct sw_ha_id a, struct sw_ha_id b);
bool sw_ha_is_member(const struct sw_ha_sync *sync, uint64_t node);
/* Is the first position further on? The term decides before the sequence. */
bool sw_ha_is_beyond(struct sw_ha_position a, struct sw_ha_position b);

/* --- a replica ---------------------------------------------------------------------------------
 */

/* May records of this term be taken and acknowledged? */
bool sw_ha_takes(const struct sw_ha_member *member, uint64_t term);
/* It takes them from now on: it serves and stands no more. */
void sw_ha_follow(struct sw_ha_member *member, uint64_t term);
/* A candidate asks: closes the term. Returns false if there is no answer, as a later one is closed
 * already. */
bool sw_ha_close(struct sw_ha_member *member, uint64_t term);
/* Ends its term, if it serves one. */
void sw_ha_step_down(struct sw_ha_member *member);

/* --- a candidate -------------------------------------------------------------------------------
 */

/* Closes the term that was read, and begins a round of questions. Returns false if it may not: it
 * has closed a later one. */
bool sw_ha_stand(struct sw_ha_member *member, const struct sw_ha_shard *shard,
                 struct sw_ha_position position);
void sw_ha_hear(struct sw_ha_member *member, uint64_t round, const struct sw_ha_answer *answer);
/* .. and nobody is asked, as long as it stands. */
void sw_ha_adopt_candidate(struct sw_ha_member *member);
/* May it ask etcd for the next term, and why? */
enum sw_ha_basis sw_ha_may_lead(const struct sw_ha_member *member);
/* What its transaction puts, which compares all revisions of member->shard. */
void sw_ha_next_sync(const struct sw_ha_member *member, struct sw_ha_sync *sync);
/* etcd took it, at this revision. `start`: the sequence of the first record of the term. */
void sw_ha_elected(struct sw_ha_member *member, uint64_t revision, uint64_t start);

/* --- a primary ---------------------------------------------------------------------------------
 */

/* How many replicas that count have the write: what WAIT answers. */
unsigned sw_ha_reached(struct sw_ha_member *member, const struct sw_ha_ack *acks, unsigned count,
                       uint64_t sequence);
/* May it ask etcd for this change? Nothing else changes meanwhile. */
bool sw_ha_may_change(const struct sw_ha_member *member, const struct sw_ha_sync *sync,
                      const struct sw_ha_ack *acks, unsigned count);
/* From now on only members of both sets count. */
void sw_ha_change(struct sw_ha_member *member, const struct sw_ha_sync *sync);
/* etcd took it, at this revision; the answer to an earlier change has no effect. */
void sw_ha_changed(struct sw_ha_member *member, uint64_t revision);
/* The shard was read after a change whose outcome is unknown. Returns false, and serves no more, if
 * there is a newer term. */
bool sw_ha_read_again(struct sw_ha_member *member, const struct sw_ha_shard *shard);

/* --- time ---------------------------------------------------------------------------------------
 */

/* Clocks run within 1 % of the right rate. Nanoseconds of CLOCK_BOOTTIME. */
uint64_t sw_ha_deadline(uint64_t sent_ns, uint64_t ttl_ns);
/* How long a renewal must not have changed before others may stand. */
uint64_t sw_ha_patience(uint64_t ttl_ns);

#endif
