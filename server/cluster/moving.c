/* SPDX-License-Identifier: MIT
 *
 * moving.c - the steps of a move that the state file stores.
 */
#include "server/cluster/moving.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/cluster/cluster_parts.h"
#include "server/cluster/fault.h"
#include "server/cluster/migration_state.h"
#include "server/cluster/topology_change.h"
#include "server/observe/log.h"

void sw_cluster_move_show(struct sw_cluster *cluster, struct sw_cluster_move *move)
{
    pthread_mutex_lock(&cluster->lock);
    *move = cluster->move;
    pthread_mutex_unlock(&cluster->lock);
}

const char *sw_cluster_id(const struct sw_cluster *cluster)
{
    return cluster->id;
}

/* --- under `change`, up to the functions of the header ------------------------------------------
 */

static const struct sw_topology *topology_of(const struct sw_cluster *cluster)
{
    return cluster->newest->topology;
}

static struct sw_topology *copy(const struct sw_topology *topology,
                                char error[SW_CLUSTER_ERROR_BYTES])
{
    char why[SW_TOPOLOGY_ERROR_BYTES] = "not enough memory for a topology";
    char *text = sw_topology_print(topology);
    struct sw_topology *made = text == NULL ? NULL : sw_topology_parse(text, strlen(text), why);
    free(text);
    if (made == NULL) {
        sw_cluster_refuse(error, "%s", why);
    }
    return made;
}

static void wake(const struct sw_cluster *cluster)
{
    cluster->owner.wake(cluster->owner.server);
}

uint64_t sw_cluster_change_move(struct sw_cluster *cluster, const struct sw_cluster_move *move,
                                char error[SW_CLUSTER_ERROR_BYTES])
{
    struct sw_topology *same = copy(topology_of(cluster), error);
    uint64_t number = same == NULL ? 0
                                   : sw_cluster_install(cluster, same, move,
                                                        cluster->may_have_foreign, NULL, error);
    if (number != 0) {
        wake(cluster);
    }
    return number;
}

static bool is_primary(const struct sw_topology *topology, const char *id,
                       char error[SW_CLUSTER_ERROR_BYTES])
{
    int place = topology == NULL ? -1 : sw_topology_find_node(topology, id);
    return (place >= 0 && topology->nodes[place].is_primary) ||
           sw_cluster_refuse(error, "%s is not a primary in the topology: see CLUSTER NODES", id);
}

/* Returns the number of nodes in this node's shard. */
static unsigned count_nodes(const struct sw_cluster *cluster)
{
    const struct sw_topology_node *me = sw_cluster_me(cluster->newest);
    return me == NULL ? 0 : topology_of(cluster)->shards[me->shard].node_count;
}

static bool owns_all(const struct sw_topology *topology, const char *id,
                     const struct sw_slot_set *slots, char error[SW_CLUSTER_ERROR_BYTES])
{
    const uint16_t shard = topology->nodes[sw_topology_find_node(topology, id)].shard;
    for (unsigned slot = 0; slot < SW_SLOTS; slot++) {
        if (sw_slot_set_has(slots, slot) && topology->owner[slot] != shard) {
            return sw_cluster_refuse(error, "slot %u does not belong to node %s", slot, id);
        }
    }
    return sw_slot_set_count(slots) > 0 || sw_cluster_refuse(error, "the list of slots is empty");
}

static bool is_free(const struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES])
{
    if (sw_config_shares_topology(cluster->config)) {
        return sw_cluster_refuse(
            error, "cannot move slots while the topology is in etcd (--cluster-config)");
    }
    return cluster->move.role == SW_CLUSTER_RESTS ||
           sw_cluster_refuse(error,
                             "slots migrate %s this node already: wait (CLUSTER MOVE STATUS), or "
                             "use CLUSTER MOVE CANCEL",
                             cluster->move.role == SW_CLUSTER_HANDED ? "from" : "to");
}

/* --- facts --------------------------------------------------------------------------------------
 */

bool sw_cluster_find(struct sw_cluster *cluster, const char *id, char ip[SW_TOPOLOGY_IP_MAX + 1],
                     uint16_t *port)
{
    pthread_mutex_lock(&cluster->change);
    const struct sw_topology *topology = topology_of(cluster);
    int place = topology == NULL ? -1 : sw_topology_find_node(topology, id);
    bool found = place >= 0 && topology->nodes[place].is_primary;
    if (found) {
        memcpy(ip, topology->nodes[place].ip, SW_TOPOLOGY_IP_MAX + 1);
        *port = topology->nodes[place].port;
    }
    pthread_mutex_unlock(&cluster->change);
    return found;
}

char *sw_cluster_topology(struct sw_cluster *cluster)
{
    pthread_mutex_lock(&cluster->change);
    const struct sw_topology *topology = topology_of(cluster);
    char *text = topology == NULL ? NULL : sw_topology_print(topology);
    pthread_mutex_unlock(&cluster->change);
    return text;
}

/* --- the target ---------------------------------------------------------------------------------
 */

uint64_t sw_cluster_take_slots(struct sw_cluster *cluster, const char *source,
                               const struct sw_slot_set *slots, char error[SW_CLUSTER_ERROR_BYTES])
{
    uint64_t number = 0;
    pthread_mutex_lock(&cluster->change);
    const struct sw_topology *topology = topology_of(cluster);
    if (is_free(cluster, error) && cluster->state_path[0] == '\0') {
        sw_cluster_refuse(
            error, "cannot receive slots without a state file: set --cluster-state or --data-dir");
    } else if (is_free(cluster, error) && is_primary(topology, cluster->id, error) &&
               is_primary(topology, source, error) && owns_all(topology, source, slots, error) &&
               (strcmp(source, cluster->id) != 0 ||
                sw_cluster_refuse(error, "this node has the slots already"))) {
        struct sw_cluster_move move = cluster->move;
        move.role = SW_CLUSTER_TAKES;
        move.attempt = ++move.last;
        snprintf(move.peer, sizeof(move.peer), "%s", source);
        move.slots = *slots;
        number = sw_cluster_change_move(cluster, &move, error);
    }
    pthread_mutex_unlock(&cluster->change);
    sw_fault_at(cluster->config, number != 0 ? "move.target.begun" : "");
    return number;
}

bool sw_cluster_try_again(struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES])
{
    pthread_mutex_lock(&cluster->change);
    struct sw_cluster_move move = cluster->move;
    bool done =
        move.role == SW_CLUSTER_TAKES || sw_cluster_refuse(error, "this node receives no slots");
    move.attempt = ++move.last;
    done = done && sw_cluster_change_move(cluster, &move, error) != 0;
    pthread_mutex_unlock(&cluster->change);
    return done;
}

bool sw_cluster_give_up(struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES])
{
    pthread_mutex_lock(&cluster->change);
    struct sw_cluster_move move = cluster->move;
    bool done =
        move.role == SW_CLUSTER_TAKES || sw_cluster_refuse(error, "this node receives no slots");
    sw_cluster_add_leaving(&move);
    sw_cluster_move_clear(&move);
    done = done && sw_cluster_change_move(cluster, &move, error) != 0;
    pthread_mutex_unlock(&cluster->change);
    return done;
}

/* Writes the topology in which the slots are this node's. */
static uint64_t decide(struct sw_cluster *cluster, uint64_t source_epoch,
                       char error[SW_CLUSTER_ERROR_BYTES])
{
    const struct sw_topology *now = topology_of(cluster);
    struct sw_cluster_move move = cluster->move;
    struct sw_topology *after = copy(now, error);
    if (after == NULL) {
        return 0;
    }
    int me = sw_topology_find_node(after, cluster->id);
    int other = sw_topology_find_node(after, move.peer);
    const uint64_t epoch = source_epoch > now->epoch ? source_epoch : now->epoch;
    if (!sw_topology_assign(after, &move.slots, after->nodes[me].shard)) {
        sw_cluster_refuse(error, "not enough memory for a topology");
        sw_topology_free(after);
        return 0;
    }
    after->epoch = epoch + 1;
    after->shards[after->nodes[other].shard].lost_after = epoch;
    if (count_nodes(cluster) > 1) {
        move.role = SW_CLUSTER_DECIDES;
    } else {
        sw_cluster_move_clear(&move);
    }
    return sw_cluster_install(cluster, after, &move, cluster->may_have_foreign, NULL, error);
}

uint64_t sw_cluster_decide(struct sw_cluster *cluster, uint64_t attempt, uint64_t source_epoch,
                           bool *is_over, char error[SW_CLUSTER_ERROR_BYTES])
{
    uint64_t number = 0;
    pthread_mutex_lock(&cluster->change);
    *is_over = cluster->move.role != SW_CLUSTER_TAKES || cluster->move.attempt != attempt ||
               attempt <= cluster->abandoned;
    if (*is_over) {
        sw_cluster_refuse(error, "another topology is in effect now");
    } else {
        number = decide(cluster, source_epoch, error);
    }
    pthread_mutex_unlock(&cluster->change);
    if (number != 0) {
        wake(cluster);
    }
    return number;
}

bool sw_cluster_decide_anew(struct sw_cluster *cluster, const char *text, size_t size,
                            char error[SW_CLUSTER_ERROR_BYTES])
{
    bool done = false;
    struct sw_topology *after = sw_topology_parse(text, size, error);
    if (after == NULL) {
        return false;
    }
    pthread_mutex_lock(&cluster->change);
    const struct sw_cluster_view *now = cluster->newest;
    struct sw_cluster_move move = cluster->move;
    if ((move.role == SW_CLUSTER_DECIDES ||
         sw_cluster_refuse(error, "this node has decided no migration")) &&
        sw_cluster_may_follow(now, after, false, NULL, false, error) &&
        sw_cluster_move_copy_decision(now, after, &move, error)) {
        done =
            sw_cluster_install(cluster, after, &move, cluster->may_have_foreign, NULL, error) != 0;
        after = NULL;
    }
    if (done) {
        cluster->owner.roles(cluster->owner.server);
    }
    pthread_mutex_unlock(&cluster->change);
    sw_topology_free(after);
    if (done) {
        wake(cluster);
    }
    return done;
}

bool sw_cluster_abandon(struct sw_cluster *cluster, uint64_t attempt)
{
    pthread_mutex_lock(&cluster->change);
    bool may = cluster->move.role == SW_CLUSTER_TAKES && cluster->move.attempt == attempt &&
               !cluster->is_unsure;
    cluster->abandoned = may ? attempt : cluster->abandoned;
    pthread_mutex_unlock(&cluster->change);
    return may;
}

bool sw_cluster_serve(struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES])
{
    pthread_mutex_lock(&cluster->change);
    struct sw_cluster_move move = cluster->move;
    bool done = move.role == SW_CLUSTER_DECIDES ||
                sw_cluster_refuse(error, "this node has decided no migration");
    sw_cluster_move_clear(&move);
    done = done && sw_cluster_change_move(cluster, &move, error) != 0;
    pthread_mutex_unlock(&cluster->change);
    return done;
}

/* Returns true if the node owns no slot of `slots` in this topology. */
static bool has_none(const struct sw_topology *topology, const char *id,
                     const struct sw_slot_set *slots)
{
    int place = sw_topology_find_node(topology, id);
    for (unsigned slot = 0; slot < SW_SLOTS && place >= 0; slot++) {
        if (sw_slot_set_has(slots, slot) && topology->owner[slot] == topology->nodes[place].shard) {
            return false;
        }
    }
    return true;
}

enum sw_cluster_outcome sw_cluster_outcome(struct sw_cluster *cluster, const char *source,
                                           uint64_t attempt, const struct sw_slot_set *slots,
                                           char **topology)
{
    char error[SW_CLUSTER_ERROR_BYTES];
    enum sw_cluster_outcome outcome = SW_CLUSTER_NEVER;
    *topology = NULL;
    pthread_mutex_lock(&cluster->change);
    const struct sw_topology *now = topology_of(cluster);
    struct sw_cluster_move move = cluster->move;
    if ((move.role == SW_CLUSTER_TAKES && move.attempt == attempt &&
         attempt > cluster->abandoned) ||
        move.role == SW_CLUSTER_DECIDES) {
        outcome = SW_CLUSTER_UNDER_WAY;
    } else if (now == NULL || !is_primary(now, cluster->id, error)) {
        outcome = SW_CLUSTER_UNKNOWN; /* only the primary knows the outcome */
    } else if (has_none(now, source, slots)) {
        *topology = sw_topology_print(now);
        outcome = *topology == NULL ? SW_CLUSTER_UNKNOWN : SW_CLUSTER_DECIDED;
    } else if (attempt > move.last) {
        move.last = attempt; /* the file of that attempt was lost */
        outcome = sw_cluster_change_move(cluster, &move, error) == 0 ? SW_CLUSTER_UNKNOWN
                                                                     : SW_CLUSTER_NEVER;
    }
    pthread_mutex_unlock(&cluster->change);
    return outcome;
}

/* --- the source ---------------------------------------------------------------------------------
 */

static bool may_give(const struct sw_cluster *cluster, const char *target,
                     const struct sw_slot_set *slots, char error[SW_CLUSTER_ERROR_BYTES])
{
    const struct sw_topology *topology = topology_of(cluster);
    return (cluster->state_path[0] != '\0' ||
            sw_cluster_refuse(error, "cannot hand over slots without a state file: set "
                                     "--cluster-state or --data-dir")) &&
           is_free(cluster, error) && is_primary(topology, cluster->id, error) &&
           is_primary(topology, target, error) && owns_all(topology, cluster->id, slots, error);
}

bool sw_cluster_may_give(struct sw_cluster *cluster, const char *target,
                         const struct sw_slot_set *slots, char error[SW_CLUSTER_ERROR_BYTES])
{
    pthread_mutex_lock(&cluster->change);
    bool may = may_give(cluster, target, slots, error);
    pthread_mutex_unlock(&cluster->change);
    return may;
}

uint64_t sw_cluster_hand_over(struct sw_cluster *cluster, const char *target, uint64_t attempt,
                              const struct sw_slot_set *slots, uint64_t epoch,
                              char error[SW_CLUSTER_ERROR_BYTES])
{
    uint64_t number = 0;
    pthread_mutex_lock(&cluster->change);
    if (may_give(cluster, target, slots, error) &&
        (topology_of(cluster)->epoch == epoch ||
         sw_cluster_refuse(error, "another topology is in effect now"))) {
        struct sw_cluster_move move = cluster->move;
        move.role = SW_CLUSTER_HANDED;
        move.attempt = attempt;
        snprintf(move.peer, sizeof(move.peer), "%s", target);
        move.slots = *slots;
        number = sw_cluster_change_move(cluster, &move, error);
    }
    pthread_mutex_unlock(&cluster->change);
    return number;
}

uint64_t sw_cluster_serve_again(struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES])
{
    pthread_mutex_lock(&cluster->change);
    struct sw_cluster_move move = cluster->move;
    sw_cluster_move_clear(&move);
    uint64_t number = sw_cluster_change_move(cluster, &move, error);
    pthread_mutex_unlock(&cluster->change);
    return number;
}

/* Returns why a topology is not the outcome of the move; NULL: it is the outcome. */
static const char *wrong_with(const struct sw_cluster *cluster, const struct sw_topology *after)
{
    if (cluster->move.role != SW_CLUSTER_HANDED) {
        return "this node hands over no slots";
    }
    if (strcmp(topology_of(cluster)->cluster, after->cluster) != 0) {
        return "the target's topology belongs to another cluster";
    }
    return has_none(after, cluster->id, &cluster->move.slots)
               ? NULL
               : "the target's topology assigns the slots to this node";
}

/* Assigns the slots in `mine` to the shards that own them in `theirs`, at an epoch above both. */
static bool join(struct sw_topology *mine, const struct sw_topology *theirs,
                 const struct sw_slot_set *slots)
{
    bool done = true;
    for (unsigned s = 0; s < mine->shard_count && done; s++) {
        struct sw_slot_set some = {{0}};
        for (unsigned slot = 0; slot < SW_SLOTS; slot++) {
            uint16_t owner = theirs->owner[slot];
            if (sw_slot_set_has(slots, slot) && owner != SW_TOPOLOGY_NOBODY &&
                strcmp(theirs->shards[owner].id, mine->shards[s].id) == 0) {
                sw_slot_set_add(&some, slot);
            }
        }
        done = sw_slot_set_count(&some) == 0 || sw_topology_assign(mine, &some, (uint16_t)s);
    }
    mine->epoch = (mine->epoch > theirs->epoch ? mine->epoch : theirs->epoch) + 1;
    return done;
}

/* Returns the topology after the move: the target's, if that is newer and its nodes have the same
 * roles. Otherwise returns a copy of the current one with the slots reassigned, because the target
 * does not know these roles. Takes over `theirs`. If it fails, returns NULL and an error. */
static struct sw_topology *outcome_of(const struct sw_cluster *cluster, struct sw_topology *theirs,
                                      char error[SW_CLUSTER_ERROR_BYTES])
{
    const struct sw_topology *now = topology_of(cluster);
    if (theirs->epoch > now->epoch && sw_cluster_same_roles(now, theirs)) {
        return theirs;
    }
    struct sw_topology *mine = copy(now, error);
    if (mine != NULL && (!join(mine, theirs, &cluster->move.slots) ||
                         !has_none(mine, cluster->id, &cluster->move.slots))) {
        sw_cluster_refuse(error,
                          "the slots belong to a shard that this node's topology does not have");
        sw_topology_free(mine);
        mine = NULL;
    }
    sw_topology_free(theirs);
    return mine;
}

uint64_t sw_cluster_release_slots(struct sw_cluster *cluster, const char *text, size_t size,
                                  char error[SW_CLUSTER_ERROR_BYTES])
{
    uint64_t number = 0;
    struct sw_topology *after = sw_topology_parse(text, size, error);
    if (after == NULL) {
        return 0;
    }
    pthread_mutex_lock(&cluster->change);
    const char *wrong = wrong_with(cluster, after);
    if (wrong != NULL) {
        sw_cluster_refuse(error, "%s", wrong);
        sw_topology_free(after);
    } else if ((after = outcome_of(cluster, after, error)) != NULL) {
        struct sw_cluster_move move = cluster->move;
        const struct sw_slot_set slots = move.slots;
        sw_cluster_add_leaving(&move);
        sw_cluster_move_clear(&move);
        sw_cluster_copy_losses(topology_of(cluster), after);
        number =
            sw_cluster_install(cluster, after, &move, cluster->may_have_foreign, &slots, error);
    }
    pthread_mutex_unlock(&cluster->change);
    if (number != 0) {
        wake(cluster);
    }
    return number;
}

bool sw_cluster_removed(struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES])
{
    pthread_mutex_lock(&cluster->change);
    struct sw_cluster_move move = cluster->move;
    memset(&move.leaving, 0, sizeof(move.leaving));
    bool done = sw_cluster_change_move(cluster, &move, error) != 0;
    pthread_mutex_unlock(&cluster->change);
    return done;
}
