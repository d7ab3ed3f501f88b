/* SPDX-License-Identifier: MIT
 *
 * status.c - status of the mover.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/move/mover_parts.h"

void sw_mover_read_status(struct sw_mover *mover, struct sw_move_status *facts)
{
    memset(facts, 0, sizeof(*facts));
    if (mover != NULL) {
        pthread_mutex_lock(&mover->lock);
        *facts = mover->facts;
        pthread_mutex_unlock(&mover->lock);
    }
}

size_t sw_mover_status(struct sw_mover *mover, char *text, size_t bytes)
{
    static const char *const phases[] = {
#define PHASE_TEXT(name, text) text,
        SW_MOVE_PHASE_MAP(PHASE_TEXT)};
    static const char *const roles[] = {[SW_CLUSTER_RESTS] = "none",
                                        [SW_CLUSTER_TAKES] = "target",
                                        [SW_CLUSTER_HANDED] = "source",
                                        [SW_CLUSTER_DECIDES] = "target"};
    struct sw_move_status facts;
    struct sw_cluster_move move;
    sw_mover_read_status(mover, &facts);
    sw_cluster_move_show(mover->parts.cluster, &move);
    /* the stored role comes before the thread's; only the thread knows a source that still sends */
    bool is_given_up = facts.phase == SW_MOVE_REMOVES && facts.role == SW_CLUSTER_TAKES;
    enum sw_cluster_role role = move.role != SW_CLUSTER_RESTS                  ? move.role
                                : facts.phase != SW_MOVE_RESTS && !is_given_up ? facts.role
                                                                               : SW_CLUSTER_RESTS;
    bool rests = role == SW_CLUSTER_RESTS && sw_slot_set_count(&move.leaving) == 0;
    int size = snprintf(
        text, bytes,
        "moving:%d\r\nrole:%s\r\nphase:%s\r\nattempt:%" PRIu64 "\r\npeer:%s\r\nslots:%u\r\n"
        "keys:%" PRIu64 "\r\nbytes:%" PRIu64 "\r\nlag_writes:%" PRIu64 "\r\nfreeze_us:%" PRIu64
        "\r\nleaving_slots:%u\r\nlast_attempt:%" PRIu64 "\r\nmoves_taken:%" PRIu64
        "\r\nmoves_handed_over:%" PRIu64 "\r\nfailures:%" PRIu64 "\r\ntrouble:%s\r\n",
        !rests, roles[role], phases[facts.phase], facts.attempt, facts.peer, facts.slots,
        facts.keys, facts.bytes, facts.lag_writes, facts.freeze_us,
        sw_slot_set_count(&move.leaving), move.last, facts.taken, facts.handed_over, facts.failures,
        facts.trouble);
    return size < 0 ? 0 : (size_t)size < bytes ? (size_t)size : bytes - 1;
}
