/* SPDX-License-Identifier: MIT
 *
 * keys.c - the keys of slots: reading, removing and writing them.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "server/batch/logging.h"
#include "server/cluster/fault.h"
#include "server/limits.h"
#include "server/log/clock.h"
#include "server/log/snapshot_take.h"
#include "server/move/mover_parts.h"
#include "table/batch.h"
#include "table/image.h"
#include "table/info.h"
#include "table/table.h"

/* --- writing ------------------------------------------------------------------------------------
 */

static int wait_for_room(struct sw_mover *mover)
{
    struct sw_wal *wal = mover->parts.wal;
    while (wal != NULL && !sw_wal_has_room(wal)) {
        if (sw_wal_state(wal) != SW_WAL_OK) {
            return sw_mover_fail(mover, "the log cannot be written");
        }
        sw_mover_pause_ms(mover, 1);
        if (sw_mover_is_over(mover)) {
            return sw_mover_fail(mover, "the move was cancelled, or the server stops");
        }
    }
    return 0;
}

int sw_mover_run(struct sw_mover *mover, struct sw_batch *batch)
{
    const struct sw_mover_parts *parts = &mover->parts;
    const struct sw_logged_widths widths = {mover->info.key_bytes, mover->info.value_bytes,
                                            mover->info.key_text_bytes, 0};
    if (wait_for_room(mover) != 0) {
        return -1;
    }
    pthread_mutex_lock(&mover->writing);
    if (sw_repl_is_replica(&parts->repl->state)) {
        pthread_mutex_unlock(&mover->writing);
        return sw_mover_fail(mover, "this node is a replica now");
    }
    batch->wants_expired_keys = true; /* for the log and the replicas */
    int status = sw_batch_run(mover->queue, batch);
    if (batch->write_sequence != 0) {
        while (parts->wal != NULL && !sw_logging_hand_in(parts->wal, batch, widths, true, NULL)) {
            sw_mover_pause_ms(mover, 1); /* an applied write must be added to the log */
        }
        if (sw_backlog_is_on(parts->repl->backlog)) {
            sw_logging_add_to_backlog(parts->repl->backlog, batch, widths, true);
        }
    }
    pthread_mutex_unlock(&mover->writing);
    free(batch->expired_keys);
    batch->expired_keys = NULL;
    return status == SW_OK
               ? 0
               : sw_mover_fail(mover, "the table refuses keys: %s", sw_status_text(status));
}

int sw_mover_secure(struct sw_mover *mover, uint64_t within_ms)
{
    struct sw_wal *wal = mover->parts.wal;
    const uint64_t until_ns = sw_log_now_ns() + within_ms * 1000000U;
    const uint64_t last = sw_table_last_sequence(mover->parts.table);
    while (wal != NULL && sw_wal_durable(wal) < last) {
        if (sw_wal_state(wal) == SW_WAL_BROKEN || sw_mover_is_over(mover)) {
            return sw_mover_fail(mover, "the received keys cannot be made durable");
        }
        if (within_ms > 0 && sw_log_now_ns() > until_ns) {
            return sw_mover_fail(
                mover, "the log of this node has not synced the received keys for %" PRIu64 " ms",
                within_ms);
        }
        sw_wal_want_durable(wal, last);
        sw_mover_pause_ms(mover, 1);
    }
    return 0;
}

/* --- reading ------------------------------------------------------------------------------------
 */

static uint64_t key_at(const struct sw_mover *mover, const void *keys, uint32_t at)
{
    return mover->info.key_bytes == sizeof(uint32_t) ? ((const uint32_t *)keys)[at]
                                                     : ((const uint64_t *)keys)[at];
}

bool sw_mover_has_key(const struct sw_mover *mover, const struct sw_slot_set *slots, uint64_t key)
{
    if (mover->raw_bytes == 0) {
        return sw_slot_set_has(slots, sw_slot_of_u64(sw_slot_tables(), key));
    }
    key = htole64(key);
    return sw_slot_set_has(slots, sw_slot_of_text(&key, mover->raw_bytes));
}

bool sw_mover_has(const struct sw_mover *mover, const struct sw_slot_set *slots, const void *keys,
                  uint32_t at)
{
    return sw_mover_has_key(mover, slots, key_at(mover, keys, at));
}

/* Keeps only the entries of the slots. Returns their number. */
static uint32_t keep_entries(struct sw_mover *mover, const struct sw_slot_set *slots,
                             uint32_t count)
{
    const uint32_t kb = mover->info.key_bytes, vb = mover->info.value_bytes;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!sw_mover_has(mover, slots, mover->keys, i)) {
            continue;
        }
        memmove(mover->keys + (size_t)kept * kb, mover->keys + (size_t)i * kb, kb);
        memmove(mover->values + (size_t)kept * vb, mover->values + (size_t)i * vb, vb);
        mover->times[kept] = mover->times[i];
        kept++;
    }
    return kept;
}

static int visit_all(struct sw_mover *mover, struct sw_image *image,
                     const struct sw_slot_set *slots,
                     int (*visit)(struct sw_mover *mover, uint32_t count, void *user), void *user)
{
    const uint32_t most = mover->at_once;
    uint64_t *times = sw_image_expires(image) ? mover->times : NULL;
    memset(mover->times, 0, most * sizeof(*mover->times));
    for (uint32_t got = most; got == most;) {
        int status = sw_image_read(image, most, mover->keys, mover->values, times, &got);
        if (status != SW_OK) {
            return sw_mover_fail(mover, "the table cannot be read at one instant: %s",
                                 sw_status_text(status));
        }
        if (sw_mover_is_over(mover)) {
            return sw_mover_fail(mover, "the move was cancelled, or the server stops");
        }
        if (sw_image_is_claimed(mover->parts.table)) {
            return sw_mover_fail(mover, "the snapshot that repairs the log comes first");
        }
        uint32_t kept = keep_entries(mover, slots, got);
        if (kept > 0 && visit(mover, kept, user) != 0) {
            return -1;
        }
    }
    return 0;
}

struct waiting {
    struct sw_mover *mover;
    uint64_t until_ns; /* 0: no limit */
};

static bool waits_for_image(void *context)
{
    const struct waiting *waiting = context;
    return !sw_mover_is_over(waiting->mover) &&
           (waiting->until_ns == 0 || sw_log_now_ns() < waiting->until_ns);
}

int sw_mover_image(struct sw_mover *mover, uint64_t within_ms, struct sw_image **image)
{
    struct waiting waiting = {mover, within_ms == 0 ? 0 : sw_log_now_ns() + within_ms * 1000000ULL};
    int status =
        sw_snapshot_image(mover->parts.table, false, false, waits_for_image, &waiting, image);
    mover->has_image = status == SW_OK;
    if (status == SW_E_BUSY) {
        return sw_mover_is_over(mover)
                   ? sw_mover_fail(mover, "the move was cancelled, or the server stops")
                   : sw_mover_fail(mover, "a snapshot, a replica or DIGEST has read the table for "
                                          "too long: the slots cannot wait any more");
    }
    if (status != SW_OK) {
        return sw_mover_fail(mover, "the table cannot be read at one instant: %s",
                             sw_status_text(status));
    }
    return 0;
}

int sw_mover_each_in(struct sw_mover *mover, struct sw_image *image,
                     const struct sw_slot_set *slots,
                     int (*visit)(struct sw_mover *mover, uint32_t count, void *user), void *user)
{
    int status = visit_all(mover, image, slots, visit, user);
    sw_image_drop(image);
    mover->has_image = false;
    return status;
}

int sw_mover_each(struct sw_mover *mover, const struct sw_slot_set *slots, uint64_t within_ms,
                  int (*visit)(struct sw_mover *mover, uint32_t count, void *user), void *user,
                  uint64_t *sequence)
{
    struct sw_image *image = NULL;
    if (sw_mover_image(mover, within_ms, &image) != 0) {
        return -1;
    }
    *sequence = sw_image_sequence(image);
    return sw_mover_each_in(mover, image, slots, visit, user);
}

static int remove_some(struct sw_mover *mover, uint32_t count, void *user)
{
    struct sw_batch batch = {
        .kind = SW_BATCH_OPERATIONS, .op = SW_DELETE, .count = count, .keys = mover->keys};
    (void)user;
    int status = sw_mover_run(mover, &batch);
    sw_fault_at(mover->parts.config, "move.removing");
    return status;
}

int sw_mover_remove(struct sw_mover *mover, const struct sw_slot_set *slots)
{
    uint64_t sequence;
    struct sw_table_stats stats;
    sw_table_stats(mover->parts.table, &stats);
    if (stats.occupied == 0 || sw_slot_set_count(slots) == 0) {
        return 0;
    }
    sw_mover_phase(mover, SW_MOVE_REMOVES);
    return sw_mover_each(mover, slots, 0, remove_some, NULL, &sequence);
}

void sw_mover_add(const struct sw_mover *mover, struct sw_digest *digest, uint32_t first,
                  uint32_t end)
{
    const uint32_t kb = mover->info.key_bytes, vb = mover->info.value_bytes;
    sw_digest_add(digest, mover->keys + (size_t)first * kb, kb, mover->values + (size_t)first * vb,
                  vb, mover->times + first, end - first);
}

static int add_some(struct sw_mover *mover, uint32_t count, void *user)
{
    sw_mover_add(mover, user, 0, count);
    return 0;
}

int sw_mover_digest(struct sw_mover *mover, const struct sw_slot_set *slots,
                    struct sw_digest *digest)
{
    *digest = (struct sw_digest){0};
    return sw_mover_each(mover, slots, SW_MOVE_STEP_MS, add_some, digest, &digest->sequence);
}
