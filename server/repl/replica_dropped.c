/* SPDX-License-Identifier: MIT
 *
 * replica_dropped.c - of a member of a shard: writes that it had and that its new primary lacks.
 */
#include <inttypes.h>
#include <stdio.h>

#include "server/observe/log.h"
#include "server/repl/replica_parts.h"

bool sw_replica_note_dropped(struct sw_replica *replica, const struct sw_repl_welcome *welcome)
{
    struct sw_repl_state *state = replica->parts.state;
    const uint64_t last = replica->apply.applied;
    if (state->terms == NULL || !replica->has_position || welcome->sequence == last) {
        return true;
    }
    pthread_mutex_lock(&state->lock);
    replica->dropped =
        (struct sw_repl_position){sw_terms_of(&state->history.terms, last).term, last};
    pthread_mutex_unlock(&state->lock);
    return replica->dropped.term == replica->term ||
           sw_keep_wait_until_written(&replica->keep, last);
}

const char *sw_replica_choose_aside(struct sw_replica *replica,
                                    const struct sw_repl_welcome *welcome,
                                    char name[SW_ASIDE_NAME_MAX])
{
    const struct sw_repl_position *dropped = &replica->dropped;
    if (dropped->sequence == 0 || dropped->term == welcome->term) {
        return NULL;
    }
    __atomic_fetch_add(&replica->parts.state->discards, 1, __ATOMIC_RELAXED);
    sw_log(SW_LOG_WARNING,
           "the last write of this member, %" PRIu64 ", was of term %" PRIu64 ", and term %" PRIu64
           " began at write %" PRIu64 ": what the others lack of it is dropped",
           dropped->sequence, dropped->term, welcome->term, welcome->start);
    snprintf(name, SW_ASIDE_NAME_MAX, SW_ASIDE_KIND "-%" PRIu64 "-%" PRIu64, dropped->term,
             dropped->sequence);
    return name;
}
