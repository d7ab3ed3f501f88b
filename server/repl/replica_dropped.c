/* SPDX-License-Identifier: MIT
 *
 * replica_dropped.c - what a replica does with writes that it has and its new primary lacks.
 */
#include <inttypes.h>
#include <stdio.h>

#include "server/observe/log.h"
#include "server/repl/replica_parts.h"

/* For a server that is in no shard. Archives the files if they have writes that this server took
 * from clients, before table and files are replaced. Without a data directory, or with
 * ha-discarded-max 0, does nothing. Returns false if the archive failed or a newer order ended it;
 * the caller then replaces nothing. */
static bool keep_own(struct sw_replica *replica)
{
    struct sw_repl_state *state = replica->parts.state;
    char name[SW_ARCHIVE_NAME_MAX], reason[SW_REPL_REASON_BYTES] = "";
    const uint64_t last = replica->apply.applied;
    pthread_mutex_lock(&state->lock);
    const bool has_own = last > state->history.own_from;
    pthread_mutex_unlock(&state->lock);
    if (!has_own || replica->parts.saver == NULL) {
        return true;
    }
    if (replica->parts.config->ha_discarded_max == 0) {
        sw_log(SW_LOG_WARNING,
               "the primary lacks writes of this server, up to write %" PRIu64
               ": they are dropped, because ha-discarded-max is 0",
               last);
        return true;
    }
    if (sw_replica_files_archive(&replica->files, last, name, reason) != 0) {
        replica->apply.lacks_room = true; /* makes the replica try again less often */
        if (reason[0] == '\0') {
            return false; /* a newer order ended the wait */
        }
        snprintf(replica->apply.reason, SW_REPL_REASON_BYTES,
                 "the primary lacks writes of this server, whose files cannot be archived, so the "
                 "server keeps them: %.200s",
                 reason);
        return false;
    }
    sw_log(SW_LOG_WARNING,
           "the primary lacks writes of this server, up to write %" PRIu64
           ": its files are now in %s/%s, which a server can use as a data directory",
           last, replica->parts.config->data_dir, name);
    return true;
}

bool sw_replica_note_dropped(struct sw_replica *replica, const struct sw_repl_welcome *welcome)
{
    struct sw_repl_state *state = replica->parts.state;
    const uint64_t last = replica->apply.applied;
    if (!replica->has_position || welcome->sequence == last) {
        return true;
    }
    if (state->terms == NULL) {
        return keep_own(replica);
    }
    pthread_mutex_lock(&state->lock);
    replica->dropped =
        (struct sw_repl_position){sw_terms_of(&state->history.terms, last).term, last};
    pthread_mutex_unlock(&state->lock);
    return replica->dropped.term == replica->term ||
           sw_replica_files_wait_until_written(&replica->files, last);
}

const char *sw_replica_choose_archive(struct sw_replica *replica,
                                      const struct sw_repl_welcome *welcome,
                                      char name[SW_ARCHIVE_NAME_MAX])
{
    const struct sw_repl_position *dropped = &replica->dropped;
    if (dropped->sequence == 0 || dropped->term == welcome->term) {
        return NULL;
    }
    __atomic_fetch_add(&replica->parts.state->discards, 1, __ATOMIC_RELAXED);
    sw_log(SW_LOG_WARNING,
           "the last write of this member, %" PRIu64 ", was of term %" PRIu64 ", and term %" PRIu64
           " began at write %" PRIu64 ": the writes that the others lack are dropped",
           dropped->sequence, dropped->term, welcome->term, welcome->start);
    snprintf(name, SW_ARCHIVE_NAME_MAX, SW_ARCHIVE_KIND "-%" PRIu64 "-%" PRIu64, dropped->term,
             dropped->sequence);
    return name;
}
