/* SPDX-License-Identifier: MIT
 *
 * moving.c - the steps of a move that are remembered.
 */
#include "server/cluster/moving.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/cluster/cluster_parts.h"
#include "server/cluster/fault.h"
#include "server/cluster/succeed.h"
#include "server/observe/log.h"

void sw_cluster_move_show(struct sw_cluster *cluster, struct sw_cluster_move *move)
{
    pthread_mutex_lock(&cluster->change);
    *move = cluster->move;
    pthread_mutex_unlock(&cluster->change);
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
    char why[SW_TOPOLOGY_ERROR_BYTES] = "there is no memory for a topology";
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

/* Installs a move with the topology that holds. */
static uint64_t change_move(struct sw_cluster *cluster, const struct sw_cluster_move *move,
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

static bool is_primary_alone(const struct sw_topology *topology, const char *id,
                             char error[SW_CLUSTER_ERROR_BYTES])
{
    int place = topology == NULL ? -1 : sw_topology_find_node(topology, id);
    if (place < 0 || !topology->nodes[place].is_primary) {
        return sw_cluster_refuse(error, "%s is no primary of the topology", id);
    }
    return topology->shards[topology->nodes[place].shard].node_count == 1 ||
           sw_cluster_refuse(
               error, "the shard of %s has replicas: slots are not moved from or to such", id);
}

static bool owns_all(const struct sw_topology *topology, const char *id,
                     const struct sw_slot_set *slots, char error[SW_CLUSTER_ERROR_BYTES])
{
    const uint16_t shard = topology->nodes[sw_topology_find_node(topology, id)].shard;
    for (unsigned slot = 0; slot < SW_SLOTS; slot++) {
        if (sw_slot_set_has(slots, slot) && topology->owner[slot] != shard) {
            return sw_cluster_refuse(error, "slot %u is not of node %s", slot, id);
        }
    }
    return sw_slot_set_count(slots) > 0 || sw_cluster_refuse(error, "no slot is named");
}

static bool is_free(const struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES])
{
    return cluster->move.role == SW_CLUSTER_RESTS ||
           sw_cluster_refuse(error, "slots are on their way %s this node already",
                             cluster->move.role == SW_CLUSTER_TAKES ? "to" : "from");
}

static void rest(struct sw_cluster_move *move)
{
    move->role = SW_CLUSTER_RESTS;
    move->attempt = 0;
    move->peer[0] = '\0';
    memset(&move->slots, 0, sizeof(move->slots));
}

static void add_leaving(struct sw_cluster_move *move)
{
    for (size_t i = 0; i < SW_SLOTS / 64; i++) {
        move->leaving.words[i] |= move->slots.words[i];
    }
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
    if (cluster->state_path[0] == '\0') {
        sw_cluster_refuse(error,
                          "a node without a state file (cluster-state, data-dir) takes no slots");
    } else if (is_free(cluster, error) && is_primary_alone(topology, cluster->id, error) &&
               is_primary_alone(topology, source, error) &&
               owns_all(topology, source, slots, error) &&
               (strcmp(source, cluster->id) != 0 ||
                sw_cluster_refuse(error, "the slots are here already"))) {
        struct sw_cluster_move move = cluster->move;
        move.role = SW_CLUSTER_TAKES;
        move.attempt = ++move.last;
        snprintf(move.peer, sizeof(move.peer), "%s", source);
        move.slots = *slots;
        number = change_move(cluster, &move, error);
    }
    pthread_mutex_unlock(&cluster->change);
    sw_fault_at(cluster->config, number != 0 ? "move.target.begun" : "");
    return number;
}

bool sw_cluster_try_again(struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES])
{
    pthread_mutex_lock(&cluster->change);
    struct sw_cluster_move move = cluster->move;
    bool done = move.role == SW_CLUSTER_TAKES || sw_cluster_refuse(error, "no slots are taken");
    move.attempt = ++move.last;
    done = done && change_move(cluster, &move, error) != 0;
    pthread_mutex_unlock(&cluster->change);
    return done;
}

bool sw_cluster_give_up(struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES])
{
    pthread_mutex_lock(&cluster->change);
    struct sw_cluster_move move = cluster->move;
    bool done = move.role == SW_CLUSTER_TAKES || sw_cluster_refuse(error, "no slots are taken");
    add_leaving(&move);
    rest(&move);
    done = done && change_move(cluster, &move, error) != 0;
    pthread_mutex_unlock(&cluster->change);
    return done;
}

uint64_t sw_cluster_decide(struct sw_cluster *cluster, uint64_t source_epoch,
                           char error[SW_CLUSTER_ERROR_BYTES])
{
    uint64_t number = 0;
    pthread_mutex_lock(&cluster->change);
    const struct sw_topology *now = topology_of(cluster);
    struct sw_cluster_move move = cluster->move;
    struct sw_topology *after = copy(now, error);
    if (after != NULL) {
        int me = sw_topology_find_node(after, cluster->id);
        int other = sw_topology_find_node(after, move.peer);
        const uint64_t epoch = source_epoch > now->epoch ? source_epoch : now->epoch;
        if (!sw_topology_give(after, &move.slots, after->nodes[me].shard)) {
            sw_cluster_refuse(error, "there is no memory for a topology");
            sw_topology_free(after);
        } else {
            after->epoch = epoch + 1;
            after->shards[after->nodes[other].shard].lost_after = epoch;
            rest(&move);
            number =
                sw_cluster_install(cluster, after, &move, cluster->may_have_foreign, NULL, error);
        }
    }
    pthread_mutex_unlock(&cluster->change);
    if (number != 0) {
        wake(cluster);
    }
    return number;
}

/* Has the topology none of these slots at the node? */
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
    if (move.role == SW_CLUSTER_TAKES && move.attempt == attempt) {
        outcome = SW_CLUSTER_UNDER_WAY;
    } else if (now == NULL) {
        outcome = SW_CLUSTER_UNKNOWN;
    } else if (has_none(now, source, slots)) {
        *topology = sw_topology_print(now);
        outcome = *topology == NULL ? SW_CLUSTER_UNKNOWN : SW_CLUSTER_DECIDED;
    } else if (attempt > move.last) {
        move.last = attempt; /* of a state that was lost */
        outcome = change_move(cluster, &move, error) == 0 ? SW_CLUSTER_UNKNOWN : SW_CLUSTER_NEVER;
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
            sw_cluster_refuse(
                error,
                "a node without a state file (cluster-state, data-dir) hands over no slots")) &&
           is_free(cluster, error) && is_primary_alone(topology, cluster->id, error) &&
           is_primary_alone(topology, target, error) &&
           owns_all(topology, cluster->id, slots, error);
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
         sw_cluster_refuse(error, "another topology has come"))) {
        struct sw_cluster_move move = cluster->move;
        move.role = SW_CLUSTER_HANDED;
        move.attempt = attempt;
        snprintf(move.peer, sizeof(move.peer), "%s", target);
        move.slots = *slots;
        number = change_move(cluster, &move, error);
    }
    pthread_mutex_unlock(&cluster->change);
    return number;
}

uint64_t sw_cluster_keep(struct sw_cluster *cluster, char error[SW_CLUSTER_ERROR_BYTES])
{
    pthread_mutex_lock(&cluster->change);
    struct sw_cluster_move move = cluster->move;
    rest(&move);
    uint64_t number = change_move(cluster, &move, error);
    pthread_mutex_unlock(&cluster->change);
    return number;
}

/* Why a topology is not the outcome of the move; NULL: it is. */
static const char *wrong_with(const struct sw_cluster *cluster, const struct sw_topology *after)
{
    const struct sw_topology *now = topology_of(cluster);
    if (cluster->move.role != SW_CLUSTER_HANDED) {
        return "no slots are handed over";
    }
    if (strcmp(now->cluster, after->cluster) != 0 || after->epoch <= now->epoch) {
        return "the topology of the target is of another cluster, or not newer";
    }
    return has_none(after, cluster->id, &cluster->move.slots)
               ? NULL
               : "the topology of the target has the slots here";
}

uint64_t sw_cluster_let_go(struct sw_cluster *cluster, const char *text, size_t size,
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
    } else {
        struct sw_cluster_move move = cluster->move;
        const struct sw_slot_set slots = move.slots;
        add_leaving(&move);
        rest(&move);
        sw_cluster_carry_losses(topology_of(cluster), after);
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
    bool done = change_move(cluster, &move, error) != 0;
    pthread_mutex_unlock(&cluster->change);
    return done;
}
