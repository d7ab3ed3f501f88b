/* SPDX-License-Identifier: MIT
 *
 * replica_promote.c - a replica becomes a primary. It writes this to its files first.
 */
#include <inttypes.h>
#include <string.h>

#include "server/observe/log.h"
#include "server/repl/replica_parts.h"
#include "table/table.h"

/* Adds the first record of a term, which changes no key. From this record on, a position (term and
 * sequence) names one history. The log has room for the record, and replicas can continue from it.
 */
static void begin_term(struct sw_replica *replica)
{
    const uint64_t last = sw_replica_last(replica);
    const struct sw_wal_write first = {
        .sequence = last + 1, .kind = SW_WAL_OPERATIONS, .operation = SW_SET};
    sw_table_set_sequence(replica->parts.table, first.sequence);
    if (!sw_backlog_is_on(replica->parts.backlog)) {
        sw_backlog_restart(replica->parts.backlog, last);
    }
    sw_backlog_add(replica->parts.backlog, &first);
    (void)sw_replica_files_add(&replica->files, &first);
}

static void draw_history(struct sw_replica *replica, struct sw_repl_history *next)
{
    struct sw_repl_state *state = replica->parts.state;
    const uint64_t last = sw_replica_last(replica);
    sw_repl_next_history(state, last, next);
    if (state->terms != NULL) {
        pthread_mutex_lock(&state->lock);
        next->terms = state->history.terms;
        pthread_mutex_unlock(&state->lock);
        sw_terms_begin(&next->terms, replica->promotion_term, last + 1);
    }
}

/* Writes the history to the data directory; also the role, if an operator decides on it. */
static bool write_files(struct sw_replica *replica, const struct sw_repl_history *next,
                        char reason[SW_REPL_REASON_BYTES])
{
    const bool is_free =
        replica->parts.state->terms == NULL && sw_role_is_free(replica->parts.config);
    return sw_replica_files_set_history(&replica->files, next, reason) == 0 &&
           (!is_free || sw_role_keep(replica->parts.role, "", reason) == 0);
}

static bool is_last(const struct sw_replica *replica)
{
    return replica->orders == replica->carried_out && !replica->stopping;
}

/* The caller holds the lock. */
static void begin_as_primary(struct sw_replica *replica, const struct sw_repl_history *next)
{
    struct sw_repl_state *state = replica->parts.state;
    if (state->terms != NULL) {
        begin_term(replica);
    }
    sw_repl_promote(state, next);
    replica->parts.history_changed(replica->parts.context);
    sw_log(SW_LOG_NOTICE, "this server is a primary now, from write %" PRIu64 " on",
           sw_replica_last(replica));
    replica->parts.promoted(replica->parts.context);
}

/* The caller holds the lock. The function releases it while it writes files, because loops also
 * lock it. If a later order arrives meanwhile, it returns false; that order then overwrites the
 * files. */
static bool promote(struct sw_replica *replica)
{
    struct sw_repl_state *state = replica->parts.state;
    char reason[SW_REPL_REASON_BYTES] = "";
    struct sw_repl_history next;
    const bool was_replica = sw_repl_is_replica(state);
    bool done = !sw_repl_lacks_data(state);
    if (done && was_replica) {
        pthread_mutex_unlock(&replica->lock);
        draw_history(replica, &next);
        done = write_files(replica, &next, reason);
        pthread_mutex_lock(&replica->lock);
        if (!is_last(replica)) {
            return false;
        }
    }
    memcpy(replica->why_not, reason, sizeof(replica->why_not));
    if (!done) {
        sw_log(SW_LOG_WARNING, "this replica does not become a primary: %s",
               reason[0] != '\0' ? reason : "it has not received a primary's table");
    } else if (was_replica) {
        begin_as_primary(replica, &next);
    }
    replica->could_not = replica->follows = !done;
    replica->promoted = replica->carried_out;
    return done;
}

bool sw_replica_become_primary(struct sw_replica *replica)
{
    struct sw_role_store *role = replica->parts.role;
    pthread_mutex_unlock(&replica->lock);
    pthread_mutex_lock(&role->lock);
    pthread_mutex_lock(&replica->lock);
    const bool done = is_last(replica) && promote(replica);
    pthread_mutex_unlock(&role->lock);
    return done;
}
