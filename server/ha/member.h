/* SPDX-License-Identifier: MIT
 *
 * member.h - the rules of fail-over, without clocks, threads or I/O: when a member of a shard may
 * stand for election, lead, take records, acknowledge them, and count acknowledgements.
 *
 * etcd holds three keys of a shard: the term with its primary, the members in sync, and a renewal.
 * Each key has the revision of its last change. Every change is a transaction that compares these
 * revisions. One primary serves a term. The invariant: a write that q members in sync have
 * acknowledged is in the table of every later primary, unless every copy of it was lost.
 *
 * tests/server/test_ha_rules.c disables each rule (SW_HA_HOLDS) and shows which write is lost.
 */
#ifndef SHERWOOD_SERVER_HA_MEMBER_H
#define SHERWOOD_SERVER_HA_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#ifndef SW_HA_MEMBERS_MAX
#define SW_HA_MEMBERS_MAX 9
#endif

/* A process with its table. The incarnation is new after each start and after each loss of the
 * table. */
struct sw_ha_id {
    uint64_t node;
    uint64_t incarnation;
};

/* The last record of a table: its term and its sequence. */
struct sw_ha_position {
    uint64_t term;
    uint64_t sequence;
};

/* The value of the key `sync`. */
struct sw_ha_sync {
    uint64_t quorum; /* q: number of acknowledgements that make a write safe */
    uint64_t members;
    uint64_t member[SW_HA_MEMBERS_MAX]; /* by node */
    uint64_t count;
    struct sw_ha_id in_sync[SW_HA_MEMBERS_MAX]; /* never the primary itself */
};

/* All values of a shard in etcd. A revision is 0 if the key is absent. */
struct sw_ha_shard {
    uint64_t term, term_revision;
    struct sw_ha_id primary;
    struct sw_ha_sync sync;
    uint64_t sync_revision;
    uint64_t renewal_revision;
    uint64_t ttl_ns; /* lease time of the primary, from its renewal; 0: unknown */
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
    uint64_t closed;          /* takes and acknowledges no record of this term or an earlier one */
    uint64_t serves;          /* the term that it serves as primary; 0: none */
    struct sw_ha_shard shard; /* as this primary knows it, or as this candidate has read it */

    /* Fields of a primary. */
    bool is_changing;           /* a change of `sync` is in flight, or its outcome is unknown */
    struct sw_ha_sync changing; /* the value of that change */
    uint64_t start;             /* the first record of its term */
    uint64_t waited;            /* the last write that was found safe */

    /* Fields of a candidate. */
    bool stands;
    bool is_adopted; /* an operator has decided: it asks no other member */
    uint64_t round;  /* number of its poll: answers to earlier polls are not counted */
    uint64_t answers;
    struct sw_ha_answer answer[SW_HA_MEMBERS_MAX]; /* the first is that of this member */
};

enum sw_ha_basis {
    SW_HA_NOT_YET,
    SW_HA_FIRST,      /* the shard has never had a primary */
    SW_HA_BY_IN_SYNC, /* enough members in sync have closed the term, and this one is furthest */
    SW_HA_BY_TERM,    /* the member is the term's own primary */
    SW_HA_BY_ALL,     /* every member has closed the term, and this one is furthest */
    SW_HA_BY_OPERATOR /* an operator accepts the loss of writes that only others have */
};

bool sw_ha_same_id(struct sw_ha_id a, struct sw_ha_id b);
bool sw_ha_is_member(const struct sw_ha_sync *sync, uint64_t node);
/* Returns true if `a` is further on than `b`. The term decides before the sequence. */
bool sw_ha_is_beyond(struct sw_ha_position a, struct sw_ha_position b);

/* --- a replica ---------------------------------------------------------------------------------
 */

/* Returns true if the member may take and acknowledge records of this term. */
bool sw_ha_takes(const struct sw_ha_member *member, uint64_t term);
/* Takes records of this term from now on. The member stops serving and standing. */
void sw_ha_follow(struct sw_ha_member *member, uint64_t term);
/* Closes the term for a candidate that polls this member. Returns false if the member must not
 * answer, because it has closed or serves a later term. */
bool sw_ha_close(struct sw_ha_member *member, uint64_t term);
/* Ends its term, if it serves one. */
void sw_ha_step_down(struct sw_ha_member *member);

/* --- a candidate -------------------------------------------------------------------------------
 */

/* Closes the term that was read, and begins a poll. Returns false if the member has closed or
 * serves a later term. */
bool sw_ha_stand(struct sw_ha_member *member, const struct sw_ha_shard *shard,
                 struct sw_ha_position position);
void sw_ha_hear(struct sw_ha_member *member, uint64_t round, const struct sw_ha_answer *answer);
/* An operator adopts the candidate: it needs no answers while it stands. */
void sw_ha_adopt_candidate(struct sw_ha_member *member);
/* Returns why the candidate may request the next term from etcd, or SW_HA_NOT_YET. */
enum sw_ha_basis sw_ha_may_lead(const struct sw_ha_member *member);
/* Computes the `sync` that the election transaction writes. The transaction compares all revisions
 * of member->shard. */
void sw_ha_next_sync(const struct sw_ha_member *member, struct sw_ha_sync *sync);
/* etcd took the election at `revision`. `start`: the sequence of the first record of the term. */
void sw_ha_elected(struct sw_ha_member *member, uint64_t revision, uint64_t start);

/* --- a primary ---------------------------------------------------------------------------------
 */

/* Returns the number of replicas that count and have the write, for WAIT. */
unsigned sw_ha_reached(struct sw_ha_member *member, const struct sw_ha_ack *acks, unsigned count,
                       uint64_t sequence);
/* Returns true if the primary may send this change to etcd. Only one change is in flight. */
bool sw_ha_may_change(const struct sw_ha_member *member, const struct sw_ha_sync *sync,
                      const struct sw_ha_ack *acks, unsigned count);
/* Begins a change. From now on only members of both sets count. */
void sw_ha_change(struct sw_ha_member *member, const struct sw_ha_sync *sync);
/* etcd took the change at `revision`. The answer to an earlier change has no effect. */
void sw_ha_changed(struct sw_ha_member *member, uint64_t revision);
/* Compares with a shard that was read, to learn the outcome of a change. If there is a newer term,
 * stops serving and returns false. */
bool sw_ha_read_again(struct sw_ha_member *member, const struct sw_ha_shard *shard);

/* --- time ---------------------------------------------------------------------------------------
 */

/* Returns when the lease of a renewal ends, in nanoseconds of CLOCK_BOOTTIME. `sent_ns`: when the
 * primary sent the renewal. Assumes clocks within 1 % of the right rate. */
uint64_t sw_ha_deadline(uint64_t sent_ns, uint64_t ttl_ns);
/* Returns how long the renewal must be unchanged before others may stand, in nanoseconds. */
uint64_t sw_ha_patience(uint64_t ttl_ns);

#endif
