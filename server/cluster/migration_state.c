/* SPDX-License-Identifier: MIT
 *
 * migration_state.c - continues a move when the node takes another topology during the move.
 */
#include "server/cluster/migration_state.h"

#include <string.h>

#include "server/cluster/topology_change.h"

void sw_cluster_move_clear(struct sw_cluster_move *move)
{
    move->role = SW_CLUSTER_RESTS;
    memset(&move->slots, 0, sizeof(move->slots));
}

void sw_cluster_add_leaving(struct sw_cluster_move *move)
{
    for (size_t i = 0; i < SW_SLOTS / 64; i++) {
        move->leaving.words[i] |= move->slots.words[i];
    }
}

bool sw_cluster_same_roles(const struct sw_topology *one, const struct sw_topology *other)
{
    bool same = one->node_count == other->node_count;
    for (unsigned i = 0; same && i < one->node_count; i++) {
        const struct sw_topology_node *node = &one->nodes[i];
        int place = sw_topology_find_node(other, node->id);
        same =
            place >= 0 && other->nodes[place].is_primary == node->is_primary &&
            strcmp(other->shards[other->nodes[place].shard].id, one->shards[node->shard].id) == 0;
    }
    return same;
}

/* Returns the id of the shard that owns the slot; "": none. */
static const char *owner_of(const struct sw_topology *topology, unsigned slot)
{
    uint16_t owner = topology->owner[slot];
    return owner == SW_TOPOLOGY_NOBODY ? "" : topology->shards[owner].id;
}

/* Returns true if all slots have the same shards in both. Slots in `moved` (NULL: none) are the
 * exception: they must belong to `shard` in `after`. */
static bool same_owners(const struct sw_topology *before, const struct sw_topology *after,
                        const struct sw_slot_set *moved, const char *shard)
{
    bool same = true;
    for (unsigned slot = 0; slot < SW_SLOTS && same; slot++) {
        bool goes = moved != NULL && sw_slot_set_has(moved, slot);
        same = strcmp(owner_of(after, slot), goes ? shard : owner_of(before, slot)) == 0;
    }
    return same;
}

/* Returns true if these slots have the same shards in both. */
static bool same_owners_of(const struct sw_topology *before, const struct sw_topology *after,
                           const struct sw_slot_set *slots)
{
    bool same = true;
    for (unsigned slot = 0; slot < SW_SLOTS && same; slot++) {
        same = !sw_slot_set_has(slots, slot) ||
               strcmp(owner_of(after, slot), owner_of(before, slot)) == 0;
    }
    return same;
}

/* Returns true if every node of this shard in `after` was in the shard before. */
static bool has_no_new(const struct sw_topology *before, const struct sw_topology *after,
                       const char *shard)
{
    for (unsigned i = 0; i < after->node_count; i++) {
        const struct sw_topology_node *node = &after->nodes[i];
        int place = sw_topology_find_node(before, node->id);
        if (strcmp(after->shards[node->shard].id, shard) == 0 &&
            (place < 0 || strcmp(before->shards[before->nodes[place].shard].id, shard) != 0)) {
            return false;
        }
    }
    return true;
}

/* Returns the id of a node's shard; "": none. */
static const char *shard_of(const struct sw_topology *topology, const char *id)
{
    int place = sw_topology_find_node(topology, id);
    return place < 0 ? "" : topology->shards[topology->nodes[place].shard].id;
}

/* Makes the primary of `shard` in `after` the peer of the move. Returns false if there is none. */
static bool follow_peer(const struct sw_topology *after, const char *shard,
                        struct sw_cluster_move *move)
{
    for (unsigned i = 0; i < after->node_count; i++) {
        const struct sw_topology_node *node = &after->nodes[i];
        if (node->is_primary && strcmp(after->shards[node->shard].id, shard) == 0) {
            memcpy(move->peer, node->id, sizeof(move->peer));
            return true;
        }
    }
    return false;
}

/* Adapts the move of a node that is not a primary in `after`. It keeps its primary's state. */
static void stay_behind(const struct sw_topology *before, const struct sw_topology *after,
                        const char *mine, struct sw_cluster_move *move)
{
    if (move->role == SW_CLUSTER_DECIDES) {
        sw_cluster_move_clear(move);
    } else if (move->role != SW_CLUSTER_RESTS && !same_owners_of(before, after, &move->slots)) {
        if (move->role == SW_CLUSTER_HANDED) {
            sw_cluster_add_leaving(move);
        }
        sw_cluster_move_clear(move);
    }
    for (unsigned slot = 0; slot < SW_SLOTS; slot++) {
        if (strcmp(owner_of(after, slot), mine) == 0) { /* this shard owns the slot again */
            move->leaving.words[slot / 64] &= ~(1ULL << slot % 64);
        }
    }
}

static bool gives_leaving(const struct sw_topology *after, const char *mine,
                          const struct sw_cluster_move *move)
{
    bool gives = false;
    for (unsigned slot = 0; slot < SW_SLOTS && !gives; slot++) {
        gives = sw_slot_set_has(&move->leaving, slot) && strcmp(owner_of(after, slot), mine) == 0;
    }
    return gives;
}

/* Adapts the move of a node that is a primary in `after`. Returns NULL, or why it must not take
 * `after` now. */
static const char *lead(const struct sw_topology *before, const struct sw_topology *after,
                        const char *mine, struct sw_cluster_move *move)
{
    const char *theirs = shard_of(before, move->peer);
    bool may = move->role == SW_CLUSTER_RESTS ||
               (theirs[0] != '\0' && same_owners(before, after, NULL, NULL) &&
                (move->role == SW_CLUSTER_TAKES || has_no_new(before, after, mine)) &&
                follow_peer(after, theirs, move));
    if (!may && move->role == SW_CLUSTER_HANDED &&
        same_owners(before, after, &move->slots, theirs)) { /* the target has decided */
        sw_cluster_add_leaving(move);
        sw_cluster_move_clear(move);
        may = true;
    }
    if (!may) {
        return move->role == SW_CLUSTER_HANDED ? "slots migrate from this node"
                                               : "slots migrate to this node";
    }
    if (move->role == SW_CLUSTER_TAKES) { /* another node may be the source now */
        move->attempt = ++move->last;
    }
    return gives_leaving(after, mine, move)
               ? "the topology assigns slots to this node whose moved keys it is still removing"
               : NULL;
}

bool sw_cluster_move_continue(const struct sw_cluster_view *now, const struct sw_topology *after,
                              struct sw_cluster_move *move, char error[SW_CLUSTER_ERROR_BYTES])
{
    const struct sw_topology *before = now->topology;
    const struct sw_topology_node *me = before == NULL ? NULL : sw_cluster_me(now);
    int place = sw_topology_find_node(after, now->id);
    if (before == NULL) {
        return true;
    }
    const char *mine = shard_of(after, now->id);
    if (place < 0 || !after->nodes[place].is_primary || me == NULL || !me->is_primary) {
        stay_behind(before, after, mine, move);
    }
    if (place < 0 || !after->nodes[place].is_primary) {
        return true;
    }
    const char *early = lead(before, after, mine, move);
    return early == NULL ||
           sw_cluster_refuse(
               error,
               "%s: wait until that is done (CLUSTER MOVE STATUS), then send the topology again",
               early);
}

/* Returns true if the shard `mine` has the same slots in both topologies. Slots of the move are the
 * exception: in `after` they must belong to `mine` or to `theirs`. */
static bool same_slots(const struct sw_topology *before, const struct sw_topology *after,
                       const struct sw_slot_set *moved, const char *mine, const char *theirs)
{
    bool same = true;
    for (unsigned slot = 0; slot < SW_SLOTS && same; slot++) {
        const char *now = owner_of(after, slot);
        same = sw_slot_set_has(moved, slot)
                   ? strcmp(now, mine) == 0 || strcmp(now, theirs) == 0
                   : (strcmp(now, mine) == 0) == (strcmp(owner_of(before, slot), mine) == 0);
    }
    return same;
}

bool sw_cluster_move_copy_decision(const struct sw_cluster_view *now, struct sw_topology *after,
                                   struct sw_cluster_move *move, char error[SW_CLUSTER_ERROR_BYTES])
{
    const struct sw_topology *before = now->topology;
    const char *mine = shard_of(before, now->id), *theirs = shard_of(before, move->peer);
    int place = sw_topology_find_node(after, now->id);
    if (place < 0 || !after->nodes[place].is_primary ||
        strcmp(shard_of(after, now->id), mine) != 0 || theirs[0] == '\0' ||
        !has_no_new(before, after, mine) ||
        !same_slots(before, after, &move->slots, mine, theirs) ||
        !follow_peer(after, theirs, move)) {
        return sw_cluster_refuse(error, "a replica of this node has a newer topology with other "
                                        "nodes or slots for the shards of the migration");
    }
    if (!sw_topology_assign(after, &move->slots, after->nodes[place].shard)) {
        return sw_cluster_refuse(error, "not enough memory for a topology");
    }
    sw_cluster_copy_losses(before, after);
    sw_cluster_lose_until(after, move->peer, after->epoch);
    after->epoch++;
    return true;
}
