/* SPDX-License-Identifier: MIT
 *
 * ha_world.h - one shard as a state: members by the rules of server/ha/member.c, the contents of
 * etcd, and messages that are lost, late or in another order. For the tests of those rules: a test
 * can turn each rule off.
 *
 * A crash loses what a member has in memory, and of its log the last record, all of it, or nothing:
 * it may keep none on disk, or have lost power. There is no clock: the primary's time
 * may be over for the others at any moment, and the primary goes on as if it were not.
 */
#ifndef SHERWOOD_TESTS_SERVER_HA_WORLD_H
#define SHERWOOD_TESTS_SERVER_HA_WORLD_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SW_HA_RULES(X)                                                                    \
    X(BOTH_SETS)                                                                          \
    X(CONFIRMED)                                                                          \
    X(LEGAL_SETS)                                                                         \
    X(CLOSING)                                                                            \
    X(QUORUM)                                                                             \
    X(LISTED)                                                                             \
    X(TERM_FIRST)                                                                         \
    X(EMPTY_START)                                                                        \
    X(INCARNATION)                                                                        \
    X(GUARDS)                                                                             \
    X(OWN_ANSWER)                                                                         \
    X(SAME_REVISIONS) /* an election compares what was read before the questions */       \
    X(OWN_TERM)       /* a restarted member's position has the term of its last record */ \
    X(CUT)            /* what differs is cut, and not followed by sequence alone */
enum ha_rule {
#define HA_RULE(name) HA_##name,
    SW_HA_RULES(HA_RULE)
#undef HA_RULE
        HA_RULES
};
static unsigned ha_off; /* a bit a rule that does not hold */

#define SW_HA_HOLDS(rule) ((ha_off >> HA_##rule & 1U) == 0)
#define SW_HA_MEMBERS_MAX 5
#include "server/ha/member.c" // NOLINT(bugprone-suspicious-include): with rules taken away

#define NODES_MAX 5
#define LOG_MAX 16
#define MESSAGES_MAX 8
#define MOVES_MAX 256

struct log {
    uint8_t size;
    uint8_t term[LOG_MAX];
    uint8_t value[LOG_MAX]; /* 0: the first record of a term */
};

struct node {
    struct sw_ha_member member;
    struct log log;
    uint8_t seen;                     /* without OWN_TERM: the newest term that it took part in */
    struct sw_ha_ack acks[NODES_MAX]; /* as its primary has heard */
};

enum kind { LOG_SENT, ACKNOWLEDGED, CHANGE, CHANGED, QUESTION, ANSWER };
struct message {
    uint8_t kind, from, to;
    uint64_t term, number, other; /* by kind: see deliver() */
    union {
        struct log log;
        struct sw_ha_ack ack;
        struct sw_ha_sync sync;
        struct sw_ha_answer answer;
    };
};

struct world {
    struct node node[NODES_MAX];
    struct sw_ha_shard etcd;
    uint64_t revision;
    bool is_fresh; /* others must not stand yet */
    uint8_t next_value, crashes, messages;
    uint32_t waited; /* a bit a value */
    struct message message[MESSAGES_MAX];
};

struct bounds {
    unsigned nodes, quorum, values, terms, revisions, crashes, messages, rounds;
};

enum what {
    EXPIRE,
    WRITE,
    WAIT,
    SEND,
    GROW,
    SHRINK,
    AGAIN,
    STAND,
    ASK,
    ELECT,
    CRASH,
    LOSE,
    DELIVER
};
struct move {
    enum what what;
    unsigned node, other; /* LOSE, DELIVER: number and kind of the message */
    struct world world;   /* after it */
};
struct moves {
    struct bounds bounds;
    unsigned count;
    struct move move[MOVES_MAX];
};

static inline struct sw_ha_id id_of(const struct world *world, unsigned i)
{
    return world->node[i].member.self;
}

static inline void world_init(struct world *world, const struct bounds *bounds)
{
    memset(world, 0, sizeof(*world));
    struct sw_ha_shard *etcd = &world->etcd;
    world->revision = etcd->term_revision = etcd->sync_revision = etcd->renewal_revision = 1;
    etcd->term = 1;
    etcd->sync.quorum = bounds->quorum;
    world->is_fresh = true;
    world->next_value = 1;
    for (unsigned i = 0; i < bounds->nodes; i++) {
        struct sw_ha_member *member = &world->node[i].member;
        member->self = (struct sw_ha_id){i + 1, 1};
        etcd->sync.member[etcd->sync.members++] = i + 1;
        if (i > 0) {
            etcd->sync.in_sync[etcd->sync.count++] = member->self;
        }
    }
    etcd->primary = id_of(world, 0);
    world->node[0].member.serves = 1;
    world->node[0].member.shard = *etcd;
}

/* --- what holds --------------------------------------------------------------------------------
 */

static inline bool log_has(const struct log *log, unsigned value)
{
    for (unsigned i = 0; i < log->size; i++) {
        if (log->value[i] == value) {
            return true;
        }
    }
    return false;
}

/* Returns what is wrong, or NULL. */
static inline const char *world_is_wrong(const struct world *world, const struct bounds *bounds)
{
    for (unsigned i = 0; i < bounds->nodes; i++) {
        const struct node *node = &world->node[i];
        bool is_newest = node->member.serves == world->etcd.term &&
                         node->member.self.node == world->etcd.primary.node &&
                         node->member.self.incarnation == world->etcd.primary.incarnation;
        for (unsigned value = 1; is_newest && value < world->next_value; value++) {
            if ((world->waited >> value & 1U) == 0 || log_has(&node->log, value)) {
                continue;
            }
            for (unsigned j = 0; j < bounds->nodes; j++) {
                if (log_has(&world->node[j].log, value)) {
                    return "a write that WAIT found safe is not at the newest primary";
                }
            }
        }
        for (unsigned j = 0; j < i; j++) {
            const struct log *one = &node->log, *other = &world->node[j].log;
            unsigned at = one->size < other->size ? one->size : other->size;
            while (at > 0 && one->term[at - 1] != other->term[at - 1]) {
                at--;
            }
            if (memcmp(one->value, other->value, at) != 0) {
                return "two tables differ at one position";
            }
        }
    }
    return NULL;
}

#endif
