/* SPDX-License-Identifier: MIT
 *
 * ha.c - the thread of a member, the callbacks of replication, and the HA commands.
 */
#include "server/ha/ha.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "proto/plural.h"
#include "server/ha/ha_parts.h"
#include "server/observe/log.h"

#define TICKS_A_TTL 60
#define TERMS_AHEAD 1000000 /* most terms that a candidate may be ahead of this member */

static uint64_t draw_incarnation(void)
{
    uint64_t drawn = 0;
    while (drawn == 0) {
        ssize_t got = getrandom(&drawn, sizeof(drawn), 0);
        (void)got;
    }
    return drawn;
}

/* --- what replication asks ----------------------------------------------------------------------
 */

static void loaded(void *context, struct sw_term_start of, uint64_t newest)
{
    struct sw_ha *ha = context;
    pthread_mutex_lock(&ha->lock);
    ha->history = (struct sw_ha_history){of.term, of.first, 0};
    ha->newest = ha->newest < newest ? newest : ha->newest;
    ha->is_loading = false;
    pthread_mutex_unlock(&ha->lock);
}

static void introduce(void *context, struct sw_repl_hello *hello)
{
    struct sw_ha *ha = context;
    pthread_mutex_lock(&ha->lock);
    memcpy(hello->shard, ha->address.shard, sizeof(hello->shard));
    memcpy(hello->node, ha->self, sizeof(hello->node));
    hello->incarnation = ha->member.self.incarnation;
    hello->closed = ha->member.closed;
    pthread_mutex_unlock(&ha->lock);
}

static bool follow(void *context, const struct sw_repl_welcome *welcome)
{
    struct sw_ha *ha = context;
    pthread_mutex_lock(&ha->lock);
    bool takes = welcome->term > 0 && sw_ha_takes(&ha->member, welcome->term);
    if (takes) {
        const uint64_t before = sw_ha_position(ha).term;
        sw_ha_follow(&ha->member, welcome->term);
        if (!welcome->resumes) { /* a snapshot replaces the table: the incarnation is a new one */
            (void)sw_repl_close_reads(&ha->repl->state); /* until the table is at a position */
            ha->member.self.incarnation = draw_incarnation();
            ha->history = (struct sw_ha_history){welcome->term, welcome->start, 0};
        } else if (welcome->term != ha->history.term) {
            ha->history = (struct sw_ha_history){welcome->term, welcome->start, before};
        }
        ha->newest = ha->newest < welcome->term ? welcome->term : ha->newest;
    }
    pthread_mutex_unlock(&ha->lock);
    return takes;
}

static bool advance(void *context, uint64_t term, uint64_t *incarnation)
{
    struct sw_ha *ha = context;
    pthread_mutex_lock(&ha->lock);
    bool takes = sw_ha_takes(&ha->member, term);
    *incarnation = ha->member.self.incarnation;
    if (takes && sw_repl_is_down(&ha->repl->state)) {
        sw_repl_resume_serving(&ha->repl->state); /* now a replica that serves reads */
    }
    pthread_mutex_unlock(&ha->lock);
    return takes;
}

static bool serve(void *context, const struct sw_repl_hello *hello, struct sw_repl_ack *who,
                  char *reason, size_t reason_bytes)
{
    struct sw_ha *ha = context;
    const char *wrong = NULL;
    pthread_mutex_lock(&ha->lock);
    sw_ha_tidy_names(ha);
    *who = (struct sw_repl_ack){.term = ha->member.serves};
    if (ha->member.serves == 0) {
        wrong = "this member of the shard is not its primary";
    } else if (hello->shard[0] == '\0') {
        wrong = NULL; /* a replica outside the shard: its acknowledgements never count */
    } else if (strcmp(hello->shard, ha->address.shard) != 0) {
        wrong = "this is the primary of another shard";
    } else if (strcmp(hello->node, ha->self) == 0) {
        wrong = "the replica announces the address of this member: set announce in --ha";
    } else if (hello->closed >= ha->member.serves) {
        ha->is_outdated = true;
        wrong = "the member has closed this term: a new term begins";
    } else if (!sw_ha_names_add(&ha->names, hello->node)) {
        wrong = "the shard has too many member names: remove some by HA FORGET";
    } else {
        who->node = sw_ha_node(hello->node);
    }
    pthread_mutex_unlock(&ha->lock);
    if (wrong != NULL) {
        snprintf(reason, reason_bytes, "%s", wrong);
    }
    return wrong == NULL;
}

static uint64_t start(void *context, uint64_t term)
{
    struct sw_ha *ha = context;
    pthread_mutex_lock(&ha->lock);
    uint64_t first = ha->member.serves == term ? ha->history.start : 0;
    pthread_mutex_unlock(&ha->lock);
    return first;
}

static unsigned count(void *context, const struct sw_repl_ack *heard, unsigned heard_count,
                      uint64_t sequence)
{
    struct sw_ha *ha = context;
    struct sw_ha_ack acks[SW_SENDERS_SHOWN_MAX];
    for (unsigned i = 0; i < heard_count; i++) {
        acks[i] = (struct sw_ha_ack){
            {heard[i].node, heard[i].incarnation}, heard[i].term, heard[i].sequence};
    }
    pthread_mutex_lock(&ha->lock);
    unsigned reached = sw_ha_reached(&ha->member, acks, heard_count, sequence);
    pthread_mutex_unlock(&ha->lock);
    return reached;
}

/* --- what others tell ---------------------------------------------------------------------------
 */

void sw_ha_answer_poll(struct sw_ha *ha, const char *shard, uint64_t term,
                       char line[SW_HA_LINE_BYTES])
{
    if (strcmp(shard, ha->address.shard) != 0) {
        snprintf(line, SW_HA_LINE_BYTES, "-ERR this is a member of another shard\r\n");
        return;
    }
    pthread_mutex_lock(&ha->lock);
    if (ha->is_loading) {
        pthread_mutex_unlock(&ha->lock);
        snprintf(line, SW_HA_LINE_BYTES, "-LOADING this member loads its data directory\r\n");
        return;
    }
    if (term > ha->newest && term - ha->newest > TERMS_AHEAD) {
        pthread_mutex_unlock(&ha->lock);
        snprintf(line, SW_HA_LINE_BYTES, "-ERR the term is too far ahead\r\n");
        return;
    }
    bool served = ha->member.serves > 0;
    bool answers = sw_ha_close(&ha->member, term);
    if (served && ha->member.serves == 0) {
        /* writes only atomics, so it does not wait under the lock */
        sw_repl_stop_serving(&ha->repl->state);
    }
    const struct sw_ha_position position = sw_ha_position(ha);
    const uint64_t incarnation = ha->member.self.incarnation;
    ha->newest = ha->newest < term ? term : ha->newest;
    pthread_mutex_unlock(&ha->lock);
    uv_async_send(&ha->wake);
    if (answers) {
        snprintf(line, SW_HA_LINE_BYTES, "+%" PRIu64 " %" PRIu64 " %" PRIu64 "\r\n", incarnation,
                 position.term, position.sequence);
    } else {
        snprintf(line, SW_HA_LINE_BYTES, "-ERR this member has closed a later term\r\n");
    }
}

void sw_ha_reread(struct sw_ha *ha)
{
    pthread_mutex_lock(&ha->lock);
    ha->wants_read = true;
    pthread_mutex_unlock(&ha->lock);
    uv_async_send(&ha->wake);
}

const char *sw_ha_switch(struct sw_ha *ha)
{
    const char *wrong = NULL;
    pthread_mutex_lock(&ha->lock);
    if (ha->member.serves == 0) {
        wrong = "ERR only the primary can hand over, and this member is not the primary";
    } else if (ha->member.shard.sync.count == 0) {
        wrong = "ERR no other member is in sync: start another, and wait until HA STATUS shows it";
    } else {
        ha->wants_switch = true;
    }
    pthread_mutex_unlock(&ha->lock);
    uv_async_send(&ha->wake);
    return wrong;
}

const char *sw_ha_forget(struct sw_ha *ha, const char *name)
{
    const char *wrong = NULL;
    const uint64_t node = sw_ha_node(name);
    pthread_mutex_lock(&ha->lock);
    if (ha->member.serves == 0) {
        wrong = "ERR only the primary can forget members, and this member is not the primary";
    } else if (strcmp(name, ha->self) == 0 || !sw_ha_is_member(&ha->member.shard.sync, node)) {
        wrong = "ERR no other member has this address: HA STATUS shows the members";
    } else {
        ha->wants_forgotten = node;
    }
    pthread_mutex_unlock(&ha->lock);
    return wrong;
}

/* Returns why this member cannot be made primary; NULL: it can. Call it with the lock held. */
static const char *wrong_to_adopt(struct sw_ha *ha)
{
    return ha->member.serves > 0 ? "ERR this member is the primary"
           : ha->is_loading      ? "LOADING this member loads its data directory"
           : sw_repl_lacks_data(&ha->repl->state)
               ? "ERR this member has no complete copy of the shard's data"
               : NULL;
}

const char *sw_ha_show_adoption(struct sw_ha *ha, char text[SW_HA_TEXT_BYTES])
{
    pthread_mutex_lock(&ha->lock);
    const char *wrong = wrong_to_adopt(ha);
    const struct sw_ha_position position = sw_ha_position(ha);
    const struct sw_ha_status *facts = &ha->facts;
    snprintf(
        text, SW_HA_TEXT_BYTES,
        "This member of the shard %s is at write %" PRIu64 " of term %" PRIu64
        ". The highest term that it has seen is %" PRIu64
        "; etcd names %s as the last primary, %" PRIu64 " member%s, and %" PRIu64
        " in sync with it.\n"
        "HA ADOPT makes this member primary without asking other members. Lost for good: every "
        "write after the first %" PRIu64
        ", including writes that WAIT has counted. Members that come back drop such writes. "
        "Members with a data directory keep the old files aside.\n"
        "If another member has more writes and can come back, wait for it, or adopt it instead.\n"
        "To go on: HA ADOPT %" PRIu64 "\n",
        ha->address.shard, position.sequence, position.term, ha->newest,
        facts->primary[0] == '\0' ? "nobody" : facts->primary, facts->members,
        sw_plural_s(facts->members), facts->in_sync, position.sequence, position.sequence);
    pthread_mutex_unlock(&ha->lock);
    return wrong;
}

const char *sw_ha_adopt(struct sw_ha *ha, uint64_t sequence)
{
    pthread_mutex_lock(&ha->lock);
    const char *wrong = wrong_to_adopt(ha);
    if (wrong == NULL && sw_ha_position(ha).sequence != sequence) {
        wrong = "ERR this number is not the last write of this member: read HA ADOPT again";
    }
    ha->wants_adoption = ha->wants_adoption || wrong == NULL;
    pthread_mutex_unlock(&ha->lock);
    uv_async_send(&ha->wake);
    return wrong;
}

static void put_names(struct sw_ha *ha, struct sw_ha_status *facts)
{
    const struct sw_ha_sync *sync = &ha->member.shard.sync;
    size_t size = 0;
    for (uint64_t i = 0; i < sync->count && size < sizeof(facts->in_sync_names); i++) {
        size += (size_t)snprintf(facts->in_sync_names + size, sizeof(facts->in_sync_names) - size,
                                 "%s%s", i == 0 ? "" : ",",
                                 sw_ha_name(&ha->names, sync->in_sync[i].node));
    }
}

void sw_ha_status(struct sw_ha *ha, struct sw_ha_status *facts)
{
    memset(facts, 0, sizeof(*facts));
    if (ha == NULL) {
        return;
    }
    const uint64_t now = sw_ha_now();
    pthread_mutex_lock(&ha->lock);
    *facts = ha->facts;
    facts->is_on = true;
    facts->is_primary = ha->member.serves > 0;
    facts->term = ha->newest;
    snprintf(facts->shard, sizeof(facts->shard), "%s", ha->address.shard);
    snprintf(facts->self, sizeof(facts->self), "%s", ha->self);
    facts->silent_ms = facts->silent_ms == 0 ? 0 : now / 1000000U - facts->silent_ms;
    facts->lonely_ms = facts->lonely_ms == 0 ? 0 : now / 1000000U - facts->lonely_ms;
    if (facts->is_primary) {
        facts->in_sync = ha->member.shard.sync.count;
        facts->members = ha->member.shard.sync.members;
        put_names(ha, facts);
    }
    pthread_mutex_unlock(&ha->lock);
    facts->discards = __atomic_load_n(&ha->repl->state.discards, __ATOMIC_RELAXED);
    uint64_t lease = __atomic_load_n(&ha->repl->state.lease, __ATOMIC_SEQ_CST);
    facts->lease_ms =
        facts->is_primary && lease != UINT64_MAX && lease > now ? (lease - now) / 1000000U : 0;
}

/* --- the thread ---------------------------------------------------------------------------------
 */

static void tick(struct sw_ha *ha)
{
    const uint64_t now = sw_ha_now();
    pthread_mutex_lock(&ha->lock);
    bool stopping = ha->stopping;
    ha->next_read_ns = ha->wants_read ? 0 : ha->next_read_ns;
    ha->wants_read = false;
    if (ha->wants_adoption && ha->seen_ns != 0) { /* only after a first read of etcd */
        ha->is_adopting = true;
        ha->adopted_renewal = ha->seen_renewal;
        ha->wants_adoption = false;
    }
    pthread_mutex_unlock(&ha->lock);
    if (stopping) {
        uv_stop(&ha->uv);
    } else if (ha->was_serving > 0) {
        sw_ha_tick_primary(ha, now);
    } else {
        sw_ha_tick_other(ha, now);
    }
}

static void on_tick(uv_timer_t *timer)
{
    tick(timer->data);
}

static void on_wake(uv_async_t *wake)
{
    tick(wake->data);
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

static void run_ha_thread(void *context)
{
    struct sw_ha *ha = context;
    const uint64_t tick_ms = ha->address.ttl_ns / 1000000U / TICKS_A_TTL;
    uv_timer_start(&ha->tick, on_tick, 0, tick_ms);
    uv_run(&ha->uv, UV_RUN_DEFAULT);
    sw_etcd_destroy(ha->etcd);
    ha->etcd = NULL;
    close_handle((uv_handle_t *)&ha->tick, NULL);
    close_handle((uv_handle_t *)&ha->wake, NULL);
    sw_peers_end(&ha->peers);
    uv_run(&ha->uv, UV_RUN_DEFAULT); /* runs until all requests have ended */
}

/* --- life ---------------------------------------------------------------------------------------
 */

int sw_ha_create(const struct sw_config *config, struct sw_repl *repl, struct sw_ha **out)
{
    char reason[SW_HA_REASON_BYTES] = "";
    *out = NULL;
    if (config->ha[0] == '\0') {
        return 0;
    }
    if (!sw_etcd_is_built()) {
        sw_log(SW_LOG_ERROR, "ha: this server was built without libcurl, which --ha needs: install "
                             "libcurl4-openssl-dev (Debian) and build it again");
        return -1;
    }
    struct sw_ha *ha = calloc(1, sizeof(*ha));
    if (ha == NULL || sw_ha_address_parse(&ha->address, config->ha, reason, sizeof(reason)) != 0) {
        sw_log(SW_LOG_ERROR, "ha: %s", ha == NULL ? "no memory" : reason);
        free(ha);
        return -1;
    }
    ha->config = config;
    ha->repl = repl;
    ha->member.self.incarnation = draw_incarnation();
    ha->is_loading = config->data_dir[0] != '\0';
    ha->terms = (struct sw_repl_terms){ha, loaded, introduce, follow, advance, serve, start, count};
    pthread_mutex_init(&ha->lock, NULL);
    uv_loop_init(&ha->uv);
    uv_timer_init(&ha->uv, &ha->tick);
    uv_async_init(&ha->uv, &ha->wake, on_wake);
    ha->tick.data = ha->wake.data = ha;
    ha->etcd =
        sw_etcd_create(&ha->uv, &ha->address.etcd, ha->address.ttl_ns / 1000000U * 3 / 10, config);
    repl->state.terms = &ha->terms;
    repl->state.is_replica = repl->state.is_down = true;
    *out = ha;
    if (sw_peers_init(&ha->peers, &ha->uv, config) != 0 || ha->etcd == NULL) {
        sw_log(SW_LOG_ERROR, "ha: no memory, or no descriptor, for requests to etcd and members");
        return -1;
    }
    return 0;
}

static int name_self(struct sw_ha *ha, uint16_t port)
{
    const char *bind = ha->config->bind;
    if (ha->address.announce[0] != '\0') {
        memcpy(ha->self, ha->address.announce, sizeof(ha->self));
        return 0;
    }
    if (strcmp(bind, "0.0.0.0") == 0 || strcmp(bind, "::") == 0 || strchr(bind, ' ') != NULL ||
        strchr(bind, ',') != NULL || strlen(bind) + 9 > sizeof(ha->self)) {
        sw_log(SW_LOG_ERROR, "ha: the address of this member is not clear from --bind: add "
                             "&announce=host:port to --ha");
        return -1;
    }
    snprintf(ha->self, sizeof(ha->self), strchr(bind, ':') != NULL ? "[%s]:%u" : "%s:%u", bind,
             port);
    return 0;
}

int sw_ha_start(struct sw_ha *ha, uint16_t port)
{
    if (ha == NULL) {
        return 0;
    }
    if (port == 0) {
        sw_log(SW_LOG_ERROR, "ha: members connect to each other over %s",
               ha->config->tls_replication != 0 ? "TLS (tls-replication): set --tls-port"
                                                : "a port without TLS: set --port");
        return -1;
    }
    pthread_mutex_lock(&ha->lock); /* other threads read the status already */
    bool is_named = name_self(ha, port) == 0;
    sw_ha_names_add(&ha->names, ha->self);
    ha->member.self.node = sw_ha_node(ha->self);
    ha->facts.silent_ms = sw_ha_now() / 1000000U; /* a time; sw_ha_status computes the duration */
    pthread_mutex_unlock(&ha->lock);
    if (!is_named) {
        return -1;
    }
    (void)sw_replica_hold(ha->repl->replica);
    ha->started = uv_thread_create(&ha->thread, run_ha_thread, ha) == 0;
    return ha->started ? 0 : -1;
}

void sw_ha_leave(struct sw_ha *ha)
{
    const struct timespec rest = {.tv_nsec = 5000000};
    if (ha == NULL || !ha->started) {
        return;
    }
    __atomic_store_n(&ha->has_left, false, __ATOMIC_RELEASE);
    if (sw_ha_switch(ha) == NULL) {
        for (int i = 0; i < 400 && !__atomic_load_n(&ha->has_left, __ATOMIC_ACQUIRE); i++) {
            nanosleep(&rest, NULL);
        }
    }
}

void sw_ha_stop(struct sw_ha *ha)
{
    if (ha != NULL && ha->started) {
        pthread_mutex_lock(&ha->lock);
        ha->stopping = true;
        pthread_mutex_unlock(&ha->lock);
        uv_async_send(&ha->wake);
        uv_thread_join(&ha->thread);
        ha->started = false;
    }
}

void sw_ha_destroy(struct sw_ha *ha)
{
    if (ha == NULL) {
        return;
    }
    sw_ha_stop(ha);
    sw_etcd_destroy(ha->etcd);
    sw_peers_fini(&ha->peers);
    uv_walk(&ha->uv, close_handle, NULL);
    uv_run(&ha->uv, UV_RUN_DEFAULT);
    uv_loop_close(&ha->uv);
    pthread_mutex_destroy(&ha->lock);
    free(ha);
}
