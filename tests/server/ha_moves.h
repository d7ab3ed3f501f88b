/* SPDX-License-Identifier: MIT
 *
 * ha_moves.h - everything that may happen next to the shard of ha_world.h.
 */
#ifndef SHERWOOD_TESTS_SERVER_HA_MOVES_H
#define SHERWOOD_TESTS_SERVER_HA_MOVES_H

#include "tests/server/ha_world.h"

/* --- moves --------------------------------------------------------------------------------------
 */

static struct world *add_move(struct moves *moves, const struct world *world, enum what what,
                              unsigned node, unsigned other)
{
    assert(moves->count < MOVES_MAX);
    struct move *move = &moves->move[moves->count++];
    move->what = what;
    move->node = node;
    move->other = other;
    move->world = *world;
    return &move->world;
}

static inline int compare_messages(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct message));
}

static inline void send_message(struct world *world, const struct message *message)
{
    for (unsigned i = 0; i < world->messages; i++) {
        /* every message is zeroed first */
        // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
        if (memcmp(&world->message[i], message, sizeof(*message)) == 0) {
            return; /* one is as good as two */
        }
    }
    world->message[world->messages++] = *message;
    qsort(world->message, world->messages, sizeof(*message), compare_messages);
}

static inline void drop_message(struct world *world, unsigned i)
{
    world->messages--;
    memmove(&world->message[i], &world->message[i + 1],
            (world->messages - i) * sizeof(struct message));
    memset(&world->message[world->messages], 0, sizeof(struct message));
}

static inline void make(struct message *message, enum kind kind, unsigned from, unsigned to,
                        uint64_t term)
{
    memset(message, 0, sizeof(*message));
    message->kind = (uint8_t)kind;
    message->from = (uint8_t)from;
    message->to = (uint8_t)to;
    message->term = term;
}

static inline struct sw_ha_position position_of(const struct node *node)
{
    uint64_t size = node->log.size;
    uint64_t term = size == 0 ? 0 : node->log.term[size - 1];
    return (struct sw_ha_position){SW_HA_HOLDS(OWN_TERM) ? term : node->seen, size};
}

static inline void see_term(struct node *node, uint64_t term)
{
    node->seen = (uint8_t)(SW_HA_HOLDS(OWN_TERM) || node->seen > term ? node->seen : term);
}

static inline void append(struct log *log, uint64_t term, unsigned value)
{
    assert(log->size < LOG_MAX);
    log->term[log->size] = (uint8_t)term;
    log->value[log->size++] = (uint8_t)value;
}

static inline void send_change(struct world *world, unsigned i)
{
    const struct sw_ha_member *member = &world->node[i].member;
    struct message message;
    make(&message, CHANGE, i, i, member->serves);
    message.number = member->shard.term_revision;
    message.other = member->shard.sync_revision;
    message.sync = member->changing;
    send_message(world, &message);
}

static inline void propose(struct moves *moves, const struct world *world, unsigned i, unsigned j,
                           bool grows)
{
    const struct node *node = &world->node[i];
    const struct sw_ha_ack *ack = &node->acks[j];
    struct sw_ha_sync sync = node->member.shard.sync;
    bool was = is_in_sync(&sync, (struct sw_ha_id){j + 1, ack->id.incarnation});
    uint64_t before = sync.count;
    remove_from_sync(&sync, j + 1);
    if (grows) {
        if (ack->id.node == 0 || ack->term != node->member.serves || was) {
            return;
        }
        uint64_t at = sync.count++;
        for (; at > 0 && sync.in_sync[at - 1].node > j + 1; at--) {
            sync.in_sync[at] = sync.in_sync[at - 1];
        }
        sync.in_sync[at] = ack->id;
    } else if (sync.count == before) {
        return;
    }
    if (sw_ha_may_change(&node->member, &sync, node->acks, moves->bounds.nodes)) {
        struct world *next = add_move(moves, world, grows ? GROW : SHRINK, i, j);
        sw_ha_change(&next->node[i].member, &sync);
        send_change(next, i);
    }
}

static inline void moves_of_primary(struct moves *moves, const struct world *world, unsigned i)
{
    const struct bounds *bounds = &moves->bounds;
    const struct node *node = &world->node[i];
    const bool room = world->messages < bounds->messages;
    if (world->next_value <= bounds->values) {
        struct world *next = add_move(moves, world, WRITE, i, 0);
        append(&next->node[i].log, node->member.serves, next->next_value++);
    }
    if (node->log.size > node->member.waited) {
        struct world *next = add_move(moves, world, WAIT, i, 0);
        struct node *mine = &next->node[i];
        uint64_t through = mine->log.size;
        while (through > node->member.waited &&
               sw_ha_reached(&mine->member, mine->acks, bounds->nodes, through) < bounds->quorum) {
            through--;
        }
        moves->count -= through == node->member.waited; /* nothing is safe */
        for (uint64_t at = 0; at < through; at++) {
            next->waited |= mine->log.value[at] == 0 ? 0 : 1U << mine->log.value[at];
        }
    }
    for (unsigned j = 0; j < bounds->nodes; j++) {
        if (j == i || !room) {
            continue;
        }
        if (node->acks[j].id.node == 0 || node->acks[j].sequence < node->log.size) {
            struct message message;
            make(&message, LOG_SENT, i, j, node->member.serves);
            message.log = node->log;
            send_message(add_move(moves, world, SEND, i, j), &message);
        }
        if (world->revision < bounds->revisions) {
            propose(moves, world, i, j, true);
            propose(moves, world, i, j, false);
        }
    }
    if (node->member.is_changing && world->revision != node->member.shard.sync_revision) {
        struct world *next = add_move(moves, world, AGAIN, i, 0);
        if (!sw_ha_read_again(&next->node[i].member, &next->etcd)) {
            memset(next->node[i].acks, 0, sizeof(next->node[i].acks));
        }
    }
}

static inline bool same_revisions(const struct sw_ha_shard *a, const struct sw_ha_shard *b)
{
    return a->term_revision == b->term_revision && a->sync_revision == b->sync_revision;
}

static inline void moves_of_candidate(struct moves *moves, const struct world *world, unsigned i)
{
    const struct bounds *bounds = &moves->bounds;
    const struct sw_ha_member *member = &world->node[i].member;
    bool is_current = member->stands && same_revisions(&member->shard, &world->etcd);
    if (!world->is_fresh && world->etcd.term < bounds->terms && !is_current &&
        member->round < bounds->rounds) {
        struct world *next = add_move(moves, world, STAND, i, 0);
        if (sw_ha_stand(&next->node[i].member, &world->etcd, position_of(&world->node[i]))) {
            memset(next->node[i].acks, 0, sizeof(next->node[i].acks));
        } else {
            moves->count--;
        }
    }
    for (unsigned j = 0; is_current && j < bounds->nodes; j++) {
        if (j != i && world->messages < bounds->messages) {
            struct message message;
            make(&message, QUESTION, i, j, member->shard.term);
            message.number = member->round;
            send_message(add_move(moves, world, ASK, i, j), &message);
        }
    }
    if (!world->is_fresh && (is_current || !SW_HA_HOLDS(SAME_REVISIONS)) && member->stands &&
        world->etcd.term < bounds->terms && sw_ha_may_lead(member) != SW_HA_NOT_YET) {
        struct world *next = add_move(moves, world, ELECT, i, 0);
        struct node *node = &next->node[i];
        sw_ha_next_sync(&node->member, &next->etcd.sync);
        node->member.shard.term = next->etcd.term; /* which is that, where revisions are compared */
        append(&node->log, ++next->etcd.term, 0);
        see_term(node, next->etcd.term);
        next->etcd.primary = node->member.self;
        next->revision++;
        next->etcd.term_revision = next->etcd.sync_revision = next->revision;
        next->is_fresh = true;
        memset(node->acks, 0, sizeof(node->acks));
        sw_ha_elected(&node->member, next->revision, node->log.size);
    }
}

/* Handles the log of another member. Follows a longer log of the same history. Otherwise drops the
 * own log first, and with it the incarnation, and returns false: the message must come again. */
static inline bool take_log(struct node *node, const struct log *theirs, uint64_t term)
{
    const struct log *mine = &node->log;
    unsigned least = mine->size < theirs->size ? mine->size : theirs->size;
    bool is_same = memcmp(mine->term, theirs->term, least) == 0 &&
                   memcmp(mine->value, theirs->value, least) == 0;
    for (unsigned at = least; at < mine->size; at++) {
        is_same &= mine->term[at] == term;
    }
    if (!SW_HA_HOLDS(CUT) && !is_same) {
        for (unsigned at = mine->size; at < theirs->size; at++) {
            append(&node->log, theirs->term[at], theirs->value[at]);
        }
        return true;
    }
    if (!is_same) {
        memset(&node->log, 0, sizeof(node->log));
        node->member.self.incarnation++;
        return false;
    }
    if (theirs->size > mine->size) {
        node->log = *theirs;
    }
    return true;
}

static inline void deliver_to_primary(struct node *node, const struct message *message)
{
    struct sw_ha_ack *ack = &node->acks[message->from];
    if (node->member.serves != message->term) {
        return;
    }
    if (message->kind == CHANGED) {
        sw_ha_changed(&node->member, message->number);
    } else if (message->ack.id.incarnation > ack->id.incarnation ||
               (message->ack.id.incarnation == ack->id.incarnation &&
                message->ack.sequence > ack->sequence)) {
        *ack = message->ack;
    }
}

static inline void deliver_to_etcd(struct world *world, const struct message *message)
{
    struct sw_ha_shard *etcd = &world->etcd;
    if (etcd->term_revision == message->number && etcd->sync_revision == message->other) {
        struct message reply;
        etcd->sync = message->sync;
        etcd->sync_revision = ++world->revision;
        make(&reply, CHANGED, message->from, message->from, message->term);
        reply.number = etcd->sync_revision;
        send_message(world, &reply);
    }
}

static inline void answer(struct world *world, const struct message *message)
{
    struct node *node = &world->node[message->to];
    struct message reply;
    bool served = node->member.serves > 0;
    bool answers = sw_ha_close(&node->member, message->term);
    if (served && node->member.serves == 0) {
        memset(node->acks, 0, sizeof(node->acks));
    }
    if (answers) {
        make(&reply, ANSWER, message->to, message->from, message->term);
        reply.number = message->number;
        reply.answer = (struct sw_ha_answer){node->member.self, position_of(node)};
        send_message(world, &reply);
    }
}

static inline void deliver(struct world *world, unsigned i)
{
    const struct message message = world->message[i];
    struct node *node = &world->node[message.to];
    struct message reply;
    drop_message(world, i);
    switch ((enum kind)message.kind) {
    case LOG_SENT:
        if (!sw_ha_takes(&node->member, message.term)) {
            return;
        }
        if (node->member.serves > 0) {
            memset(node->acks, 0, sizeof(node->acks));
        }
        sw_ha_follow(&node->member, message.term);
        see_term(node, message.term);
        if (!take_log(node, &message.log, message.term)) {
            send_message(world, &message);
            return;
        }
        make(&reply, ACKNOWLEDGED, message.to, message.from, message.term);
        reply.ack = (struct sw_ha_ack){node->member.self, message.term, message.log.size};
        send_message(world, &reply);
        return;
    case CHANGE:
        deliver_to_etcd(world, &message);
        return;
    case QUESTION:
        answer(world, &message);
        return;
    case ANSWER:
        sw_ha_hear(&node->member, message.number, &message.answer);
        return;
    default:
        deliver_to_primary(node, &message);
    }
}

/* It is started again with the first `kept` records. */
static inline void crash(struct world *world, unsigned i, unsigned kept)
{
    struct node *node = &world->node[i];
    const struct sw_ha_id next = {i + 1, node->member.self.incarnation + 1};
    uint64_t round = node->member.round; /* answers to an earlier process come to nobody */
    const struct log log = node->log;
    const uint8_t seen = node->seen;
    memset(node, 0, sizeof(*node));
    for (unsigned at = 0; at < kept; at++) {
        append(&node->log, log.term[at], log.value[at]);
    }
    node->seen = seen;
    node->member.self = next;
    node->member.round = round;
    world->crashes++;
}

static inline bool has_effect(const struct world *world, const struct message *message)
{
    const struct node *node = &world->node[message->to];
    const struct sw_ha_member *member = &node->member;
    const struct sw_ha_ack *ack = &node->acks[message->from];
    switch ((enum kind)message->kind) {
    case LOG_SENT:
        return sw_ha_takes(member, message->term);
    case ACKNOWLEDGED:
        return member->serves == message->term &&
               (message->ack.id.incarnation > ack->id.incarnation ||
                (message->ack.id.incarnation == ack->id.incarnation &&
                 message->ack.sequence > ack->sequence));
    case CHANGE:
        return world->etcd.term_revision == message->number &&
               world->etcd.sync_revision == message->other;
    case CHANGED:
        return member->serves == message->term && member->is_changing &&
               message->number > member->shard.sync_revision;
    case QUESTION:
        return world->etcd.term == message->term || member->closed < message->term;
    case ANSWER:
        return member->stands && member->round == message->number;
    }
    return true;
}

/* Takes away messages that can do nothing any more: each may be lost anyway, so nothing is missed.
 */
static inline void tidy(struct world *world)
{
    for (unsigned i = world->messages; i > 0; i--) {
        if (!has_effect(world, &world->message[i - 1])) {
            drop_message(world, i - 1);
        }
    }
}

/* Everything that may happen next. */
static inline void moves_of(struct moves *moves, const struct world *world)
{
    moves->count = 0;
    if (world->is_fresh) {
        add_move(moves, world, EXPIRE, 0, 0)->is_fresh = false;
    }
    for (unsigned i = 0; i < moves->bounds.nodes; i++) {
        if (world->node[i].member.serves > 0) {
            moves_of_primary(moves, world, i);
        }
        moves_of_candidate(moves, world, i);
        if (world->crashes < moves->bounds.crashes) {
            const unsigned size = world->node[i].log.size;
            crash(add_move(moves, world, CRASH, i, 0), i, 0);
            if (size > 0) {
                crash(add_move(moves, world, CRASH, i, 1), i, size);
            }
            if (size > 1) {
                crash(add_move(moves, world, CRASH, i, 2), i, size - 1);
            }
        }
    }
    for (unsigned i = 0; i < world->messages; i++) {
        drop_message(add_move(moves, world, LOSE, i, world->message[i].kind), i);
        deliver(add_move(moves, world, DELIVER, i, world->message[i].kind), i);
    }
    for (unsigned i = 0; ha_off == 0 && i < moves->count; i++) {
        tidy(&moves->move[i].world);
    }
}

#endif
