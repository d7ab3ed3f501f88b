/* SPDX-License-Identifier: MIT
 *
 * write.c - topologies that this node puts into etcd, one at a time.
 *
 * Each write is a transaction that compares the epoch of the topology that it replaces. So etcd
 * carries it out at most once, and never replaces a topology that the writer has not seen. If the
 * answer is lost, the thread reads both keys: the mark shows whether the write was carried out,
 * even if other nodes have written since. If it was not and still can be, the thread sends it
 * again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "server/cluster/shared.h"
#include "server/etcd/values.h"
#include "server/observe/log.h"
#include "server/registry/registry_parts.h"

#define AGAIN_NS 100000000ULL /* after a request without an answer */

static void send_write(struct sw_registry *registry);

/* --- the end -----------------------------------------------------------------------------------
 */

/* Stores the outcome of a queued write. `view` 0: refused, for the reason in `error`. */
static void store_outcome(struct sw_registry *registry, uint64_t number, uint64_t view,
                          const char *error)
{
    pthread_mutex_lock(&registry->lock);
    struct sw_registry_done *done = &registry->done[number % SW_REGISTRY_OUTCOMES_MAX];
    done->number = number;
    done->view = view;
    snprintf(done->error, sizeof(done->error), "%s", error);
    pthread_mutex_unlock(&registry->lock);
    registry->owner.wake(registry->owner.server);
}

static void finish(struct sw_registry *registry, uint64_t view, const char *error)
{
    struct sw_registry_write *write = &registry->write;
    if (write->number != 0) {
        store_outcome(registry, write->number, view, error);
    }
    free(write->text);
    memset(write, 0, sizeof(*write));
    uv_async_send(&registry->wake); /* the next write may begin */
}

static void was_written(struct sw_registry *registry, uint64_t epoch)
{
    char error[SW_CLUSTER_ERROR_BYTES] = "", line[SW_CLUSTER_ERROR_BYTES + 96];
    const struct sw_registry_write *write = &registry->write;
    if (epoch > registry->revision) { /* later reports of older changes are then ignored */
        registry->revision = registry->epoch = epoch;
    }
    pthread_mutex_lock(&registry->lock);
    *(write->number != 0 ? &registry->facts.writes : &registry->facts.claims) += 1;
    pthread_mutex_unlock(&registry->lock);
    if (write->number == 0) {
        sw_log(SW_LOG_NOTICE, "cluster: epoch %" PRIu64 " names this node as primary of its shard",
               epoch);
    }
    uint64_t view =
        sw_cluster_take_shared(registry->cluster, write->text, strlen(write->text), epoch, error);
    snprintf(line, sizeof(line), "etcd has it as epoch %" PRIu64 ", and this node refuses it: %s",
             epoch, error);
    finish(registry, view, line);
}

static void was_overtaken(struct sw_registry *registry, uint64_t epoch)
{
    char error[SW_CLUSTER_ERROR_BYTES];
    pthread_mutex_lock(&registry->lock);
    registry->facts.conflicts++;
    pthread_mutex_unlock(&registry->lock);
    snprintf(error, sizeof(error), "the current epoch is %" PRIu64, epoch);
    finish(registry, 0, error);
}

/* --- under way ---------------------------------------------------------------------------------
 */

/* Schedules a read of both keys after a lost answer. */
static void read_later(struct sw_registry *registry, const char *error)
{
    struct sw_registry_write *write = &registry->write;
    const uint64_t now = sw_registry_now();
    sw_registry_failed(registry, error);
    write->is_waiting = true;
    write->next_ns = now + AGAIN_NS;
}

/* Returns true if the write is over: etcd has carried it out, or never will. */
static bool settle(struct sw_registry *registry, const json_t *answer)
{
    struct sw_registry_write *write = &registry->write;
    struct sw_registry_held held;
    sw_registry_read_answer(answer, &held);
    const bool is_ours = strcmp(held.mark, write->mark) == 0;
    const uint64_t epoch = held.epoch, written = held.written;
    const bool is_over = is_ours || epoch != write->epoch;
    sw_registry_saw(registry, &held);
    if (is_ours) {
        was_written(registry, written);
    } else if (is_over) {
        was_overtaken(registry, epoch);
    }
    return is_over;
}

static void on_looked(void *context, const json_t *answer, const char *error)
{
    struct sw_registry *registry = context;
    if (answer == NULL) {
        read_later(registry, error);
        return;
    }
    sw_registry_answered(registry);
    if (!settle(registry, answer)) {
        send_write(registry);
    }
}

static void on_written(void *context, const json_t *answer, const char *error)
{
    struct sw_registry *registry = context;
    if (answer == NULL) {
        read_later(registry, error);
        return;
    }
    sw_registry_answered(registry);
    if (sw_etcd_succeeded(answer)) {
        was_written(registry, sw_etcd_revision(answer));
    } else if (!settle(registry, answer)) { /* the term of the claim is over */
        finish(registry, 0, "the shard has elected another primary");
    }
}

static void send_write(struct sw_registry *registry)
{
    const struct sw_registry_write *write = &registry->write;
    sw_etcd_post(registry->etcd, "/v3/kv/txn",
                 sw_registry_ask_write(&registry->key, write->epoch, write->text, write->mark,
                                       &write->fence),
                 on_written, registry);
}

/* Takes over the text. */
static void begin_write(struct sw_registry *registry, uint64_t number, uint64_t epoch,
                        uint64_t until_ns, char *text)
{
    struct sw_registry_write *write = &registry->write;
    uint64_t drawn = 0;
    while (drawn == 0) {
        ssize_t got = getrandom(&drawn, sizeof(drawn), 0);
        (void)got;
    }
    write->is_under_way = true;
    write->number = number;
    write->epoch = epoch;
    write->until_ns = until_ns;
    write->text = text;
    snprintf(write->mark, sizeof(write->mark), "%016" PRIx64, drawn);
    send_write(registry);
}

/* --- the beginning -----------------------------------------------------------------------------
 */

static struct sw_registry_queued *pop(struct sw_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    struct sw_registry_queued *queued = registry->queue;
    if (queued != NULL) {
        registry->queue = queued->next;
        registry->queue_count--;
    }
    pthread_mutex_unlock(&registry->lock);
    return queued;
}

static void free_queued(struct sw_registry_queued *queued)
{
    free(queued->text);
    free(queued);
}

static void begin_queued(struct sw_registry *registry, struct sw_registry_queued *queued)
{
    char error[SW_CLUSTER_ERROR_BYTES];
    const uint64_t epoch = queued->has_epoch ? queued->only_if : registry->epoch;
    char *text = sw_cluster_propose(registry->cluster, queued->text, queued->size,
                                    queued->has_epoch, epoch, error);
    if (text != NULL) {
        begin_write(registry, queued->number, epoch, queued->until_ns, text);
    } else if (error[0] == '\0') { /* etcd has this topology already */
        store_outcome(registry, queued->number, 1, "");
    } else {
        sw_cluster_count_refusal(registry->cluster);
        store_outcome(registry, queued->number, 0, error);
    }
    free_queued(queued);
}

/* Refuses queued writes that have waited too long for etcd. */
static void expire_orders(struct sw_registry *registry, uint64_t now)
{
    for (;;) {
        pthread_mutex_lock(&registry->lock);
        bool is_late = registry->queue != NULL && now >= registry->queue->until_ns;
        pthread_mutex_unlock(&registry->lock);
        if (!is_late) {
            return;
        }
        struct sw_registry_queued *queued = pop(registry);
        store_outcome(registry, queued->number, 0, "etcd does not reply; nothing was written");
        free_queued(queued);
    }
}

/* Begins a write that names this node as primary, if the node was elected and the topology names
 * another primary. Returns true if it has begun. */
static bool begin_claim(struct sw_registry *registry, uint64_t now)
{
    struct sw_registry_fence fence;
    uint64_t epoch = 0;
    if (!sw_ha_fence(registry->ha, fence.key, sizeof(fence.key), &fence.revision)) {
        return false;
    }
    char *text = sw_cluster_claim(registry->cluster, &epoch);
    if (text == NULL || epoch != registry->epoch) { /* the topology here is not the one in etcd */
        free(text);
        return false;
    }
    registry->write.fence = fence;
    begin_write(registry, 0, epoch, now + SW_REGISTRY_QUEUED_NS, text);
    return true;
}

void sw_registry_tick_write(struct sw_registry *registry, uint64_t now)
{
    struct sw_registry_write *write = &registry->write;
    expire_orders(registry, now);
    if (write->is_waiting && now >= write->until_ns) {
        finish(registry, 0,
               "etcd has not replied, so the outcome is unknown: see CLUSTER TOPOLOGY");
    } else if (write->is_waiting && now >= write->next_ns) {
        write->is_waiting = false;
        sw_etcd_post(registry->etcd, "/v3/kv/txn", sw_registry_ask_read(&registry->key), on_looked,
                     registry);
    }
    if (write->is_under_way || !registry->is_known || begin_claim(registry, now)) {
        return;
    }
    struct sw_registry_queued *queued = pop(registry);
    if (queued != NULL) {
        begin_queued(registry, queued);
    }
}

void sw_registry_drop_writes(struct sw_registry *registry)
{
    struct sw_registry_queued *queued;
    free(registry->write.text);
    registry->write.text = NULL;
    while ((queued = pop(registry)) != NULL) {
        free_queued(queued);
    }
}
