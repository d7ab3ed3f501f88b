/* SPDX-License-Identifier: MIT
 *
 * ha_shared.c - shared functions of the thread: its clock, the table's position, answers of etcd.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "server/ha/ha_parts.h"
#include "server/observe/log.h"
#include "table/table.h"

uint64_t sw_ha_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

struct sw_ha_position sw_ha_position(struct sw_ha *ha)
{
    const struct sw_ha_history *history = &ha->history;
    if (sw_repl_lacks_data(&ha->repl->state)) {
        return (struct sw_ha_position){0, 0};
    }
    const uint64_t last = sw_repl_last(ha->repl);
    return (struct sw_ha_position){last >= history->start ? history->term : history->before, last};
}

static unsigned add_nodes(uint64_t *nodes, unsigned count, const struct sw_ha_sync *sync)
{
    for (uint64_t i = 0; i < sync->members; i++) {
        nodes[count++] = sync->member[i];
    }
    for (uint64_t i = 0; i < sync->count; i++) {
        nodes[count++] = sync->in_sync[i].node;
    }
    return count;
}

void sw_ha_tidy_names(struct sw_ha *ha)
{
    uint64_t nodes[3 + 4 * SW_HA_MEMBERS_MAX] = {ha->member.self.node, ha->wants_forgotten,
                                                 ha->member.shard.primary.node};
    unsigned count = add_nodes(nodes, 3, &ha->member.shard.sync);
    count = add_nodes(nodes, count, &ha->member.changing);
    sw_ha_names_tidy(&ha->names, nodes, count);
}

void sw_ha_failed(struct sw_ha *ha, const char *error)
{
    pthread_mutex_lock(&ha->lock);
    ha->facts.etcd_failures++;
    snprintf(ha->facts.trouble, sizeof(ha->facts.trouble), "%s", error);
    pthread_mutex_unlock(&ha->lock);
    sw_log_limited(SW_LOG_ETCD, SW_LOG_WARNING,
                   "etcd did not answer: %s: check etcd and the address in --ha", error);
}

bool sw_ha_take(struct sw_ha *ha, const json_t *answer, struct sw_ha_shard *shard)
{
    char reason[SW_HA_REASON_BYTES] = "";
    pthread_mutex_lock(&ha->lock);
    sw_ha_tidy_names(ha);
    bool is_right =
        sw_ha_read_shard(&ha->address, answer, shard, &ha->names, reason, sizeof(reason)) == 0;
    ha->facts.silent_ms = sw_ha_now() / 1000000U;
    bool is_other_quorum = is_right && shard->sync.quorum != ha->address.quorum &&
                           shard->sync.quorum != ha->facts.quorum;
    if (is_right) {
        snprintf(ha->facts.primary, sizeof(ha->facts.primary), "%s",
                 shard->term == 0 ? "" : sw_ha_name(&ha->names, shard->primary.node));
        ha->facts.members = shard->sync.members;
        ha->facts.in_sync = shard->sync.count;
        ha->facts.quorum = shard->sync.quorum;
    }
    pthread_mutex_unlock(&ha->lock);
    if (is_other_quorum) {
        sw_log(SW_LOG_WARNING,
               "quorum is %" PRIu64 " in --ha, and %" PRIu64 " in etcd since the shard began: the "
               "value in etcd is in effect",
               ha->address.quorum, shard->sync.quorum);
    }
    if (!is_right) {
        sw_ha_failed(ha, reason);
    }
    return is_right;
}
