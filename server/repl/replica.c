/* SPDX-License-Identifier: MIT
 *
 * replica.c - follows a primary: connects, logs in, sends the position, and receives. After a
 * failure it waits and tries again.
 */
#include "server/repl/replica_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "server/config/live.h"
#include "server/log/clock.h"
#include "server/observe/log.h"
#include "server/repl/apply.h"
#include "server/repl/login.h"
#include "server/repl/peer_connection.h"
#include "server/repl/replica_files.h"
#include "server/repl/terms.h"
#include "table/table.h"

#define RETRY_NS 500000000ULL
/* the snapshot would not fit again, and it costs the primary time */
#define RETRY_NO_ROOM_NS 30000000000ULL

/* --- the thread ------------------------------------------------------------------------------- */

static bool is_over(struct sw_replica *replica)
{
    pthread_mutex_lock(&replica->lock);
    bool over = replica->stopping || replica->orders != replica->carried_out;
    pthread_mutex_unlock(&replica->lock);
    return over;
}

/* Waits until no request from before the fence is in flight. Returns false if is_over() ends the
 * wait. */
static bool wait_for_quiet(struct sw_replica *replica, uint64_t fence)
{
    const struct timespec rest = {.tv_nsec = 1000000};
    while (!replica->parts.is_quiet(replica->parts.context, fence)) {
        if (is_over(replica)) {
            return false;
        }
        nanosleep(&rest, NULL);
    }
    return true;
}

static void set_link(struct sw_replica *replica, enum sw_link link)
{
    struct sw_repl_state *state = replica->parts.state;
    pthread_mutex_lock(&state->lock);
    if (state->link == SW_LINK_CONNECTED && link != SW_LINK_CONNECTED) {
        state->down_ns = sw_log_now_ns();
    }
    state->link = link;
    state->heard_ns = link > SW_LINK_CONNECT ? sw_log_now_ns() : state->heard_ns;
    pthread_mutex_unlock(&state->lock);
}

static int refuse_term(struct sw_replica *replica)
{
    snprintf(replica->connection.reason, sizeof(replica->connection.reason),
             "the term of this primary has ended: a member of the shard is a candidate for the "
             "next one");
    return -1;
}

static int beat(void *context)
{
    struct sw_replica *replica = context;
    const struct sw_repl_terms *terms = replica->parts.state->terms;
    uint8_t ack[SW_REPL_ACK_BYTES];
    uint64_t incarnation = 0;
    if (terms != NULL && !terms->advance(terms->context, replica->term, &incarnation)) {
        return refuse_term(replica);
    }
    /* a replica that is at no position could not become primary: it counts for no write */
    sw_repl_ack_write(replica->apply.is_settled ? replica->apply.applied : 0, incarnation,
                      replica->apply.salt, ack);
    return sw_peer_connection_send(&replica->connection, ack, sizeof(ack));
}

static int on_moved(void *context)
{
    struct sw_replica *replica = context;
    struct sw_repl_state *state = replica->parts.state;
    const struct sw_apply *apply = &replica->apply;
    uint64_t now = sw_log_now_ns();
    __atomic_store_n(&state->applied, apply->applied, __ATOMIC_RELEASE);
    pthread_mutex_lock(&state->lock);
    state->primary_at = apply->primary_at;
    state->heard_ns = now;
    state->whole_ns = apply->applied >= apply->primary_at ? now : state->whole_ns;
    pthread_mutex_unlock(&state->lock);
    return beat(replica);
}

static void on_loaded(void *context, uint64_t bytes)
{
    struct sw_repl_state *state = ((struct sw_replica *)context)->parts.state;
    pthread_mutex_lock(&state->lock);
    state->synced_bytes = bytes;
    state->heard_ns = sw_log_now_ns();
    pthread_mutex_unlock(&state->lock);
}

static int64_t receive(void *context, void *out, size_t least, size_t room)
{
    return sw_peer_connection_receive(context, out, least, room);
}

/* A primary of an earlier version has one table, and refuses this version. A primary that was
 * upgraded may refuse the other one. */
static void choose_version(struct sw_replica *replica, const char *refusal)
{
    replica->version =
        replica->version == SW_REPL_VERSION && strstr(refusal, "the version of replication") != NULL
            ? SW_REPL_ONE_TABLE
            : SW_REPL_VERSION;
}

static int shake_hands(struct sw_replica *replica, struct sw_repl_welcome *welcome)
{
    struct sw_repl_state *state = replica->parts.state;
    struct sw_peer_connection *connection = &replica->connection;
    struct sw_repl_hello hello;
    char text[SW_REPL_LINE_BYTES];
    sw_login_hello(replica->parts.table, replica->parts.config, &hello);
    hello.version = replica->version;
    pthread_mutex_lock(&state->lock);
    memcpy(hello.history, state->history.id, sizeof(hello.history));
    pthread_mutex_unlock(&state->lock);
    hello.sequence = replica->apply.applied;
    if (!replica->has_position) { /* zeros: requests a snapshot */
        memset(hello.history, '0', SW_HISTORY_ID_BYTES - 1);
        hello.sequence = 0;
    }
    if (state->terms != NULL) {
        state->terms->introduce(state->terms->context, &hello);
    }
    if (sw_peer_connection_send(connection, text,
                                sw_repl_hello_write(&hello, text, sizeof(text))) != 0 ||
        sw_peer_connection_read_line(connection, text, sizeof(text)) != 0) {
        return -1;
    }
    if (!sw_repl_welcome_parse(welcome, text)) {
        choose_version(replica, text);
        const bool wants_login = strncmp(text, "-NOAUTH", 7) == 0;
        snprintf(connection->reason, sizeof(connection->reason), "the primary replied: %.250s%s",
                 text, wants_login ? ": set --primary-user and --primary-password-file" : "");
        return -1;
    }
    if (welcome->resumes && welcome->sequence != hello.sequence) {
        snprintf(connection->reason, sizeof(connection->reason),
                 "the primary continues at another write");
        return -1;
    }
    replica->term = welcome->term;
    if (state->terms != NULL && !state->terms->follow(state->terms->context, welcome)) {
        return refuse_term(replica);
    }
    return 0;
}

static int take_snapshot(struct sw_replica *replica, const struct sw_repl_welcome *welcome)
{
    struct sw_repl_state *state = replica->parts.state;
    if (!sw_replica_note_dropped(replica, welcome)) {
        return -1;
    }
    replica->has_position = false;
    if (!wait_for_quiet(replica, sw_repl_close_reads(state)) ||
        !sw_replica_files_hold_snapshots(&replica->files)) {
        return -1;
    }
    set_link(replica, SW_LINK_SYNC);
    if (replica->version != SW_REPL_ONE_TABLE) {
        return sw_apply_catalog(&replica->apply);
    }
    return sw_replica_leave_one(replica) != 0 ? -1 : sw_apply_snapshot(&replica->apply);
}

/* The tables now belong to the primary's history: makes the files on disk belong to it as well.
 * Returns 0, or -1. */
static int take_history(struct sw_replica *replica, const struct sw_repl_welcome *welcome)
{
    struct sw_repl_state *state = replica->parts.state;
    struct sw_repl_history history = {.before_through = 0, .own_from = SW_OWNS_NOTHING};
    char archive[SW_ARCHIVE_NAME_MAX];
    memcpy(history.id, welcome->history, sizeof(history.id));
    memset(history.before, '0', SW_HISTORY_ID_BYTES - 1);
    if (welcome->term > 0) {
        pthread_mutex_lock(&state->lock);
        history.terms = welcome->resumes ? state->history.terms : history.terms;
        pthread_mutex_unlock(&state->lock);
        sw_terms_begin(&history.terms, welcome->term, welcome->start);
    }
    int status =
        welcome->resumes
            ? sw_replica_files_set_history(&replica->files, &history, replica->apply.reason)
            : sw_replica_files_replace(&replica->files, &history, replica->apply.applied,
                                       sw_replica_choose_archive(replica, welcome, archive), beat,
                                       replica->apply.reason);
    if (status != 0) {
        replica->has_position = welcome->resumes;
        return -1;
    }
    replica->dropped = (struct sw_repl_position){0, 0};
    pthread_mutex_lock(&state->lock);
    bool is_other = strcmp(state->history.id, welcome->history) != 0;
    state->history = history;
    state->resyncs += !welcome->resumes;
    state->resumes += welcome->resumes;
    pthread_mutex_unlock(&state->lock);
    if (is_other) {
        replica->parts.history_changed(replica->parts.context);
    }
    if (!welcome->resumes || !sw_backlog_is_on(replica->parts.backlog)) {
        sw_backlog_restart(replica->parts.backlog, replica->apply.applied);
    }
    replica->has_position = true;
    return 0;
}

/* The tables are at one position of the primary's history. */
static int on_settled(void *context)
{
    struct sw_replica *replica = context;
    struct sw_repl_state *state = replica->parts.state;
    char primary[SW_REPL_ADDRESS_BYTES + 8];
    if (take_history(replica, &replica->welcome) != 0) {
        return -1;
    }
    set_link(replica, SW_LINK_CONNECTED);
    sw_repl_open_reads(state);
    sw_repl_primary(state, primary, sizeof(primary));
    sw_log(SW_LOG_NOTICE, "this server replicates %s from write %" PRIu64 " on, %s", primary,
           replica->apply.applied,
           replica->welcome.resumes ? "without a snapshot" : "after a snapshot");
    return 0;
}

/* One connection, from its beginning to its end. */
static void follow(struct sw_replica *replica)
{
    struct sw_repl_state *state = replica->parts.state;
    struct sw_repl_welcome *welcome = &replica->welcome;
    struct sw_apply *apply = &replica->apply;
    char host[SW_REPL_ADDRESS_BYTES];
    pthread_mutex_lock(&state->lock);
    memcpy(host, state->host, sizeof(host));
    uint16_t port = state->port;
    pthread_mutex_unlock(&state->lock);
    set_link(replica, SW_LINK_CONNECT);
    if (host[0] == '\0' || sw_peer_connection_open(&replica->connection, host, port) != 0) {
        return;
    }
    set_link(replica, SW_LINK_HANDSHAKE);
    if (sw_login_secure(&replica->connection, replica->parts.config, host, port) != 0 ||
        sw_login_send(&replica->connection, replica->parts.config) != 0 ||
        shake_hands(replica, welcome) != 0) {
        return;
    }
    apply->salt = welcome->salt;
    apply->is_settled = false;
    apply->whole_at = apply->applied;
    if (!welcome->resumes && take_snapshot(replica, welcome) != 0) {
        return;
    }
    if (apply->applied == apply->whole_at) {
        apply->is_settled = on_settled(replica) == 0;
        if (!apply->is_settled) {
            return;
        }
    }
    if (on_moved(replica) == 0) {
        (void)sw_apply_records(apply, &replica->has_position);
        if (!replica->has_position) {
            (void)sw_repl_close_reads(state);
        }
    }
}

static void note_end(struct sw_replica *replica)
{
    struct sw_repl_state *state = replica->parts.state;
    bool is_wrong = replica->apply.reason[0] != '\0' && replica->connection.reason[0] == '\0';
    const char *reason = is_wrong ? replica->apply.reason : replica->connection.reason;
    set_link(replica, SW_LINK_CONNECT);
    pthread_mutex_lock(&state->lock);
    state->errors += is_wrong;
    memcpy(state->trouble, reason, sizeof(state->trouble));
    pthread_mutex_unlock(&state->lock);
    if (!is_over(replica) && reason[0] != '\0' && strcmp(replica->last, reason) != 0) {
        memcpy(replica->last, reason, sizeof(replica->last));
        sw_log(SW_LOG_WARNING, "replication stopped and is tried again: %s", reason);
    }
}

static void pause_before_retry(struct sw_replica *replica)
{
    while (!replica->stopping && replica->orders == replica->carried_out &&
           replica->parts.state->host[0] == '\0') {
        pthread_cond_wait(&replica->changed, &replica->lock);
    }
    /* the attempt behind the first that lacked room begins with fewer slots */
    const bool in_vain = replica->apply.lacks_room && replica->lacked_room;
    uint64_t until = sw_log_now_ns() + (in_vain ? RETRY_NO_ROOM_NS : RETRY_NS);
    const struct timespec when = {(time_t)(until / 1000000000U), (long)(until % 1000000000U)};
    while (!replica->stopping && replica->orders == replica->carried_out &&
           pthread_cond_timedwait(&replica->changed, &replica->lock, &when) != ETIMEDOUT) {
    }
}

/* Closes writes and waits for those in flight. Until now the table belonged to the history that
 * the server drew at its start. */
static bool begin_to_follow(struct sw_replica *replica)
{
    if (!sw_replica_files_wait_for_loading(&replica->files) ||
        !wait_for_quiet(replica, sw_repl_close_writes(replica->parts.state))) {
        return false;
    }
    /* before the table changes, so that no replica is sent writes of a history it does not know */
    replica->parts.history_changed(replica->parts.context);
    replica->apply.applied = sw_replica_last(replica);
    __atomic_store_n(&replica->parts.state->applied, replica->apply.applied, __ATOMIC_RELEASE);
    replica->has_position = !sw_repl_lacks_data(replica->parts.state);
    return true;
}

/* A primary whose term is over begins another term: waits until no request of the old term is in
 * flight, and the log has room for the first record. Call it with the lock held; releases the lock
 * meanwhile. Returns false if there is a newer order. */
static bool prepare_term(struct sw_replica *replica, bool *was_replica)
{
    if (replica->parts.state->terms == NULL) {
        return true;
    }
    pthread_mutex_unlock(&replica->lock);
    *was_replica = *was_replica || begin_to_follow(replica);
    bool is_ready = *was_replica && sw_replica_files_wait_for_room(&replica->files);
    pthread_mutex_lock(&replica->lock);
    return is_ready && replica->orders == replica->carried_out && !replica->stopping;
}

static void *run_replica(void *context)
{
    struct sw_replica *replica = context;
    bool was_replica = false;
    uint64_t told;
    pthread_mutex_lock(&replica->lock);
    while (!replica->stopping) {
        if (!replica->follows && replica->orders == replica->carried_out) {
            pthread_cond_wait(&replica->changed, &replica->lock);
            continue;
        }
        while (read(replica->wake_fd, &told, sizeof(told)) > 0) {
        }
        replica->carried_out = replica->orders;
        if (!replica->follows) {
            if (prepare_term(replica, &was_replica) && sw_replica_become_primary(replica)) {
                was_replica = false;
            }
            continue;
        }
        pthread_mutex_unlock(&replica->lock);
        was_replica = was_replica || begin_to_follow(replica);
        replica->connection.reason[0] = replica->apply.reason[0] = '\0';
        replica->lacked_room = replica->apply.lacks_room;
        replica->apply.lacks_room = false;
        if (was_replica && !is_over(replica)) {
            follow(replica);
        }
        sw_peer_connection_close(&replica->connection);
        note_end(replica);
        pthread_mutex_lock(&replica->lock);
        pause_before_retry(replica);
    }
    pthread_mutex_unlock(&replica->lock);
    return NULL;
}

/* --- files ------------------------------------------------------------------------------------ */

static bool waits_are_over(void *context)
{
    return is_over(context);
}

void sw_replica_log_moved(struct sw_replica *replica)
{
    sw_replica_files_log_moved(&replica->files);
}

int sw_replica_loaded(struct sw_replica *replica, char reason[SW_REPL_REASON_BYTES])
{
    return sw_replica_files_adopt_history(&replica->files, replica->parts.state,
                                          sw_replica_last(replica), reason);
}

/* --- life ------------------------------------------------------------------------------------- */

struct sw_replica *sw_replica_create(const struct sw_replica_parts *parts)
{
    struct sw_replica *replica = calloc(1, sizeof(*replica));
    pthread_condattr_t monotonic;
    if (replica == NULL) {
        return NULL;
    }
    replica->parts = *parts;
    replica->version = SW_REPL_VERSION;
    replica->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (replica->wake_fd < 0) {
        free(replica);
        return NULL;
    }
    pthread_mutex_init(&replica->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&replica->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    replica->connection =
        (struct sw_peer_connection){.socket = {.fd = -1},
                                    .wake_fd = replica->wake_fd,
                                    .lookups = sw_lookups_create(),
                                    .timeout_ms = parts->config->repl_timeout * 1000ULL};
    replica->apply = (struct sw_apply){
        .table = parts->table,
        .value_format = (uint32_t)sw_config_value_format(parts->config),
        .value_type = sw_config_value_type(parts->config),
        .source = {receive, &replica->connection},
        .backlog = parts->backlog,
        .settled = on_settled,
        .moved = on_moved,
        .loaded = on_loaded,
        .context = replica,
    };
    sw_replica_files_init(&replica->files, parts->saver, parts->wal, waits_are_over, replica);
    replica->apply.files = &replica->files;
    replica->apply.reason = calloc(1, SW_REPL_REASON_BYTES);
    sw_table_info(parts->table, &replica->apply.info);
    if (replica->apply.reason == NULL || replica->connection.lookups == NULL) {
        sw_replica_destroy(replica);
        return NULL;
    }
    return replica;
}

int sw_replica_start(struct sw_replica *replica)
{
    replica->started = pthread_create(&replica->thread, NULL, run_replica, replica) == 0;
    return replica->started ? 0 : -1;
}

void sw_replica_stop(struct sw_replica *replica)
{
    if (replica->started) {
        pthread_mutex_lock(&replica->lock);
        replica->stopping = true;
        (void)sw_replica_order(replica, replica->follows);
        pthread_mutex_unlock(&replica->lock);
        pthread_join(replica->thread, NULL);
        replica->started = false;
    }
}

void sw_replica_destroy(struct sw_replica *replica)
{
    if (replica != NULL) {
        sw_replica_stop(replica);
        close(replica->wake_fd);
        sw_replica_files_fini(&replica->files);
        pthread_cond_destroy(&replica->changed);
        pthread_mutex_destroy(&replica->lock);
        free(replica->apply.reason);
        sw_lookups_destroy(replica->connection.lookups);
        free(replica);
    }
}
