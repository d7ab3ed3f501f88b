/* SPDX-License-Identifier: MIT
 *
 * orders.c - what other threads order from the mover.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/move/mover_parts.h"
#include "table/image.h"

void sw_mover_nudge(struct sw_mover *mover)
{
    if (mover != NULL) {
        pthread_mutex_lock(&mover->lock);
        mover->has_order = true;
        sw_mover_wake(mover);
        pthread_mutex_unlock(&mover->lock);
    }
}

bool sw_mover_is_quiet(struct sw_mover *mover)
{
    bool is_quiet = mover == NULL || pthread_mutex_trylock(&mover->writing) == 0;
    if (mover != NULL && is_quiet) {
        pthread_mutex_unlock(&mover->writing);
    }
    return is_quiet;
}

/* Returns why slots of this table cannot move; NULL: they can. */
static const char *lacks(const struct sw_mover *mover)
{
    if (mover->info.engine == SW_ENGINE_CACHE) {
        return "cannot move slots of the cache engine: a cache may evict any entry";
    }
    return sw_image_bytes(mover->parts.table) > 0
               ? NULL
               : "a table of this engine cannot be read at one instant on this backend";
}

/* Returns true if a move may begin, else false and an error. The caller holds the lock. */
static bool is_ready(struct sw_mover *mover, char error[SW_CLUSTER_ERROR_BYTES])
{
    const char *why = lacks(mover);
    why = why == NULL && (mover->is_sending || mover->socket.fd >= 0)
              ? "this node sends slots already: wait for that migration"
              : why;
    if (why != NULL) {
        snprintf(error, SW_CLUSTER_ERROR_BYTES, "%s", why);
    }
    return why == NULL;
}

bool sw_mover_run_target(struct sw_mover *mover, const char *source,
                         const struct sw_slot_set *slots, char error[SW_CLUSTER_ERROR_BYTES])
{
    pthread_mutex_lock(&mover->lock);
    bool begun = is_ready(mover, error) &&
                 sw_cluster_take_slots(mover->parts.cluster, source, slots, error) != 0;
    if (begun) {
        mover->has_order = true;
        mover->facts.trouble[0] = '\0';
        pthread_cond_signal(&mover->changed);
    }
    pthread_mutex_unlock(&mover->lock);
    return begun;
}

bool sw_mover_cancel(struct sw_mover *mover, char error[SW_CLUSTER_ERROR_BYTES])
{
    struct sw_cluster_move move;
    sw_cluster_move_show(mover->parts.cluster, &move);
    if (move.role != SW_CLUSTER_TAKES) {
        snprintf(error, SW_CLUSTER_ERROR_BYTES, "no slots migrate to this node");
        return false;
    }
    pthread_mutex_lock(&mover->lock);
    mover->cancelled = mover->has_order = true;
    sw_mover_wake(mover);
    pthread_mutex_unlock(&mover->lock);
    return true;
}

/* Returns true if the target cannot store expiry times and this node has some or will have some. */
static bool would_lose_times(const struct sw_mover *mover, const struct sw_move_hello *hello)
{
    struct sw_table_stats stats;
    sw_table_stats(mover->parts.table, &stats);
    return hello->version == SW_MOVE_VERSION && hello->expires == 0 &&
           (stats.expires > 0 || mover->parts.config->default_ttl > 0);
}

/* Compares a target's request with this node. */
static bool fits(const struct sw_mover *mover, const struct sw_move_hello *hello,
                 char error[SW_CLUSTER_ERROR_BYTES])
{
    struct sw_cluster_status facts;
    sw_cluster_show(mover->parts.cluster, &facts);
    bool same = hello->version == SW_MOVE_VERSION && hello->key_bytes == mover->info.key_bytes &&
                hello->value_bytes == mover->info.value_bytes &&
                hello->value_format == sw_mover_format(mover);
    if (!same) {
        snprintf(error, SW_CLUSTER_ERROR_BYTES,
                 "the nodes are not compatible: they need the same version of slot migration, and "
                 "the same widths and types of keys and values");
    } else if (strcmp(hello->source, sw_cluster_id(mover->parts.cluster)) != 0) {
        snprintf(error, SW_CLUSTER_ERROR_BYTES, "this node is %s",
                 sw_cluster_id(mover->parts.cluster));
        same = false;
    } else if (hello->epoch != facts.epoch) {
        snprintf(error, SW_CLUSTER_ERROR_BYTES,
                 "the epoch of this node is %" PRIu64 ", that of the target %" PRIu64, facts.epoch,
                 hello->epoch);
        same = false;
    }
    return same;
}

bool sw_mover_send(struct sw_mover *mover, const struct sw_peer_socket *socket,
                   const struct sw_move_hello *hello, bool *for_good,
                   char error[SW_CLUSTER_ERROR_BYTES])
{
    *for_good = would_lose_times(mover, hello);
    if (*for_good) {
        snprintf(error, SW_CLUSTER_ERROR_BYTES,
                 "keys of this node expire, but the target's table has no expiry: start the target "
                 "with --engine robin_hood (see KEYS THAT EXPIRE in sherwoodd(8))");
        return false;
    }
    pthread_mutex_lock(&mover->lock);
    bool taken = is_ready(mover, error) && fits(mover, hello, error) &&
                 sw_cluster_may_give(mover->parts.cluster, hello->target, &hello->slots, error);
    if (taken && sw_mover_is_loading(mover)) {
        snprintf(error, SW_CLUSTER_ERROR_BYTES, "this node is loading its data");
        taken = false;
    }
    if (taken) {
        mover->socket = *socket;
        mover->hello = *hello;
        pthread_cond_signal(&mover->changed);
    }
    pthread_mutex_unlock(&mover->lock);
    return taken;
}
