/* SPDX-License-Identifier: MIT
 *
 * rebalance.c - cluster rebalance: spreads the slots evenly over the shards, and moves as few slots
 * as possible.
 */
#include <stdlib.h>

#include "client/cli/move.h"
#include "proto/plural.h"

/* Counts the shards that have more than an equal share, rounded down. */
static unsigned count_above(const struct sw_topology *topology, unsigned share)
{
    unsigned above = 0;
    for (unsigned i = 0; i < topology->shard_count; i++) {
        above += topology->shards[i].slot_count > share;
    }
    return above;
}

/* Takes up to `most` slots of a shard, the last ones first. Returns how many. */
static unsigned choose(const struct sw_topology *topology, uint16_t shard, unsigned most,
                       struct sw_slot_set *slots)
{
    unsigned count = 0;
    for (unsigned slot = SW_SLOTS; slot-- > 0 && count < most;) {
        if (topology->owner[slot] == shard) {
            sw_slot_set_add(slots, slot);
            count++;
        }
    }
    return count;
}

/* Plans the next move: from the shard with the largest excess to the shard with the largest
 * deficit. Returns the number of slots; 0: the shards are balanced. If the slots do not divide
 * evenly, some shards get one slot more: first those that have more than the share, then the first
 * ones. */
static unsigned plan(const struct sw_topology *topology, uint16_t *from, uint16_t *to,
                     struct sw_slot_set *slots)
{
    const unsigned share = topology->slot_count / topology->shard_count;
    const unsigned remainder = topology->slot_count % topology->shard_count;
    const unsigned above = count_above(topology, share);
    unsigned for_those = above < remainder ? above : remainder, for_others = remainder - for_those;
    int most = 0, least = 0;
    for (unsigned i = 0; i < topology->shard_count; i++) {
        const unsigned has = topology->shards[i].slot_count;
        unsigned *left = has > share ? &for_those : &for_others;
        const unsigned wanted = share + (*left > 0);
        *left -= *left > 0;
        int extra = (int)has - (int)wanted;
        if (extra > most) {
            most = extra;
            *from = (uint16_t)i;
        }
        if (extra < least) {
            least = extra;
            *to = (uint16_t)i;
        }
    }
    unsigned count = (unsigned)(most < -least ? most : -least);
    return count == 0 ? 0 : choose(topology, *from, count, slots);
}

int sw_cli_cluster_rebalance(struct sw_cli *cli, bool dry)
{
    if (!dry && !sw_cli_publish(cli)) {
        return 1;
    }
    struct sw_topology *topology = sw_cli_load_topology(cli);
    uint16_t from = 0, to = 0;
    int status = topology == NULL;
    unsigned moves = 0;
    while (status == 0) {
        struct sw_slot_set slots = {{0}};
        unsigned count = plan(topology, &from, &to, &slots);
        if (count == 0) {
            break;
        }
        char *text = sw_slot_set_print(&slots);
        fprintf(cli->out, "move %s %s %s (%u slot%s)\n", text == NULL ? "" : text,
                topology->shards[from].name, topology->shards[to].name, count, sw_plural_s(count));
        fflush(cli->out);
        free(text);
        moves++;
        if (!dry) {
            status = sw_cli_move(cli, topology, topology->shards[from].primary,
                                 topology->shards[to].primary, &slots);
        }
        if (status == 0 && !sw_topology_assign(topology, &slots, to)) {
            status = 1;
        }
    }
    if (status == 0 && moves == 0) {
        fprintf(cli->out, "every shard has its share of the slots\n");
    }
    sw_topology_free(topology);
    return status;
}
