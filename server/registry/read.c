/* SPDX-License-Identifier: MIT
 *
 * read.c - reads and watches the topology in etcd.
 *
 * The thread reads the key first, then watches it from the next revision on, so it misses nothing
 * in between. After a cut, the watch resumes at the revision after its last event. If etcd has
 * compacted that revision away, the thread reads the key again. An etcd member that has stalled
 * sends no events, as if nothing had changed. So the thread also reads the key now and then, at any
 * member that answers. If the watch does not report what the read has found, the thread cuts it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/cluster/shared.h"
#include "server/etcd/watch.h"
#include "server/observe/log.h"
#include "server/registry/registry_parts.h"

#define SECOND_NS 1000000000ULL
#define READ_NS SECOND_NS               /* between reads, where nothing watches */
#define READ_WATCHED_NS (3 * SECOND_NS) /* between reads, while a watch runs */
#define READ_AGAIN_NS (SECOND_NS / 5)   /* between reads, after one without an answer */
#define WATCH_AGAIN_NS (SECOND_NS / 2)  /* between the beginnings of watches */
#define WATCH_BEGINS_NS (2 * SECOND_NS) /* most time that etcd may take to confirm a watch */
/* most time that a watch may take to report what a read has shown */
#define WATCH_DOUBTED_NS SECOND_NS

uint64_t sw_registry_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

void sw_registry_failed(struct sw_registry *registry, const char *error)
{
    pthread_mutex_lock(&registry->lock);
    registry->facts.failures++;
    snprintf(registry->facts.trouble, sizeof(registry->facts.trouble), "%s", error);
    pthread_mutex_unlock(&registry->lock);
    sw_log_limited(SW_LOG_ETCD, SW_LOG_WARNING, "cannot read the topology in etcd: %s", error);
}

void sw_registry_answered(struct sw_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    registry->answered_ns = sw_registry_now();
    pthread_mutex_unlock(&registry->lock);
}

/* --- taking ------------------------------------------------------------------------------------
 */

/* Logs once why the node refuses the topology in etcd. `why` NULL: the node has taken it. */
static void note_refused(struct sw_registry *registry, uint64_t epoch, const char *why)
{
    pthread_mutex_lock(&registry->lock);
    char *refused = registry->facts.refused;
    const size_t room = sizeof(registry->facts.refused);
    const char *text = why == NULL ? "" : why;
    bool is_new =
        why != NULL && (registry->refused_epoch != epoch || strncmp(refused, text, room - 1) != 0);
    registry->refused_epoch = why == NULL ? 0 : epoch;
    snprintf(refused, room, "%s", text);
    registry->facts.epoch = registry->epoch;
    pthread_mutex_unlock(&registry->lock);
    if (is_new && epoch == 0) {
        sw_log(SW_LOG_WARNING, "cluster: etcd has no topology under %s: %s", registry->key.topology,
               why);
    } else if (is_new) {
        sw_cluster_count_refusal(registry->cluster);
        sw_log(SW_LOG_ERROR, "cluster: the topology in etcd (%s, epoch %" PRIu64 ") is refused: %s",
               registry->key.topology, epoch, why);
    }
}

static void adopt_topology(struct sw_registry *registry, const struct sw_registry_held *held)
{
    char error[SW_CLUSTER_ERROR_BYTES];
    const uint64_t own = sw_cluster_epoch(registry->cluster);
    if (held->epoch == 0) {
        note_refused(registry, 0, "the key is absent: CLUSTER SETTOPOLOGY writes it");
    } else if (held->epoch < own) {
        snprintf(error, sizeof(error),
                 "this node has had epoch %" PRIu64
                 ": etcd was restored from a backup, or --cluster-config names another etcd",
                 own);
        note_refused(registry, held->epoch, error);
    } else if (held->text == NULL) {
        note_refused(registry, held->epoch, "it is empty");
    } else if (sw_cluster_take_shared(registry->cluster, held->text, held->size, held->epoch,
                                      error) == 0) {
        note_refused(registry, held->epoch, error);
    } else {
        note_refused(registry, held->epoch, NULL);
    }
}

void sw_registry_saw(struct sw_registry *registry, struct sw_registry_held *held)
{
    if (held->revision >= registry->revision) { /* an older one is a late answer */
        registry->revision = held->revision;
        registry->epoch = held->epoch;
        registry->is_known = true;
        adopt_topology(registry, held);
    }
    free(held->text);
    held->text = NULL;
}

/* --- reading -----------------------------------------------------------------------------------
 */

static void on_read(void *context, const json_t *answer, const char *error)
{
    struct sw_registry *registry = context;
    struct sw_registry_held held;
    registry->is_reading = false;
    if (answer == NULL) {
        sw_registry_failed(registry, error);
        registry->next_read_ns = sw_registry_now() + READ_AGAIN_NS;
        return;
    }
    sw_registry_answered(registry);
    sw_registry_read_answer(answer, &held);
    if (held.revision < registry->asked_revision) { /* this is another etcd */
        registry->revision = held.revision;
        registry->told_epoch = 0;
        if (registry->watch != NULL) {
            sw_etcd_cut(registry->watch);
            registry->watch = NULL;
            registry->is_watching = false;
        }
    }
    if (registry->is_watching && held.epoch > registry->told_epoch && registry->doubt_ns == 0) {
        registry->doubt_ns = sw_registry_now();
        registry->doubt_epoch = held.epoch;
    }
    sw_registry_saw(registry, &held);
    if (registry->watch == NULL) {
        registry->told_epoch = registry->epoch;
    }
}

static void read_key(struct sw_registry *registry, uint64_t now)
{
    bool is_calm = registry->is_watching && registry->refused_epoch == 0;
    registry->next_read_ns = now + (is_calm ? READ_WATCHED_NS : READ_NS);
    registry->is_reading = true;
    registry->asked_revision = registry->revision;
    sw_etcd_post(registry->etcd, "/v3/kv/txn", sw_registry_ask_read(&registry->key), on_read,
                 registry);
}

/* --- watching ----------------------------------------------------------------------------------
 */

static void watch_is_over(struct sw_registry *registry)
{
    registry->watch = NULL;
    registry->is_watching = false;
    registry->doubt_ns = 0;
    registry->next_read_ns = 0;
    pthread_mutex_lock(&registry->lock);
    registry->facts.is_watching = false;
    registry->facts.watch_restarts++;
    pthread_mutex_unlock(&registry->lock);
}

static void on_ended(void *context, const char *error)
{
    watch_is_over(context);
    sw_registry_failed(context, error);
}

static void heard(struct sw_registry *registry, const struct sw_etcd_news *news)
{
    struct sw_registry_held held;
    if (news->kind == SW_ETCD_CREATED) {
        registry->is_watching = true;
        pthread_mutex_lock(&registry->lock);
        registry->facts.is_watching = true;
        pthread_mutex_unlock(&registry->lock);
    } else if (news->kind == SW_ETCD_CHANGED) {
        sw_registry_read_kv(news->kv, news->revision, &held);
        registry->told_epoch = news->revision;
        if (registry->told_epoch >= registry->doubt_epoch) {
            registry->doubt_ns = 0;
        }
        sw_registry_saw(registry, &held);
    } else if (news->revision > registry->revision) {
        registry->revision = news->revision;
    }
}

/* Runs within libcurl, so it must not begin or end a request. */
static bool on_line(void *context, const char *line, size_t size)
{
    struct sw_registry *registry = context;
    struct sw_etcd_news news;
    char reason[SW_ETCD_REASON_BYTES];
    if (!sw_etcd_read_news(line, size, &news, reason)) {
        sw_registry_failed(registry, reason);
        registry->is_known = false;
        return false;
    }
    bool goes_on = news.kind != SW_ETCD_COMPACTED && news.kind != SW_ETCD_ENDED;
    if (goes_on) {
        sw_registry_answered(registry);
        heard(registry, &news);
    } else {
        sw_log_limited(SW_LOG_ETCD, SW_LOG_WARNING, "the topology in etcd: %s", reason);
        registry->is_known = false; /* the thread reads the key again */
    }
    json_decref(news.root);
    uv_async_send(&registry->wake);
    return goes_on;
}

static void watch(struct sw_registry *registry, uint64_t now)
{
    registry->next_watch_ns = now + WATCH_AGAIN_NS;
    registry->watch_began_ns = now;
    registry->told_epoch = registry->epoch;
    registry->watch = sw_etcd_follow(registry->etcd, "/v3/watch",
                                     sw_registry_ask_watch(&registry->key, registry->revision + 1),
                                     on_line, on_ended, registry);
}

void sw_registry_tick_read(struct sw_registry *registry, uint64_t now)
{
    bool is_late = registry->watch != NULL && !registry->is_watching &&
                   now - registry->watch_began_ns > WATCH_BEGINS_NS;
    bool is_silent = registry->doubt_ns != 0 && now - registry->doubt_ns > WATCH_DOUBTED_NS;
    if (is_late || is_silent) {
        sw_etcd_cut(registry->watch);
        watch_is_over(registry);
        sw_registry_failed(registry, is_late ? "a watch did not start in time"
                                             : "a watch sends no more events");
    }
    if (!registry->is_reading && now >= registry->next_read_ns) {
        read_key(registry, now);
    }
    if (registry->watch == NULL && registry->is_known && now >= registry->next_watch_ns) {
        watch(registry, now);
    }
}
