/* SPDX-License-Identifier: MIT
 *
 * watched.h - the keys that clients watch (WATCH), and who does: writes mark the watchers of what
 * they change.
 *
 * Invariant: keys are added while the gate of writes (gate.h) is closed and empty, and a write
 * marks before it leaves the gate. So whoever holds the empty gate sees its watcher marked if, and
 * but for what is said below only if, a write has changed one of its keys since they were added, in
 * the order in which the table carried writes out.
 *
 * A change is what a batch has done: a value written, the same one included, or a key removed. Of a
 * batch that asked for no `found` bits every operation counts that might have changed its key.
 * Where keys or answers lie in memory that a client may change meanwhile, all watchers are marked,
 * as they are by CLEAR. While no key is watched a batch costs one branch.
 *
 * Threads: any. A watcher belongs to its loop, but for the mark.
 */
#ifndef SHERWOOD_SERVER_BATCH_WATCHED_H
#define SHERWOOD_SERVER_BATCH_WATCHED_H

#include <stdbool.h>
#include <stdint.h>

struct sw_batch;

struct sw_watched;

struct sw_watcher {
    uint32_t first;  /* of its keys; 0: it watches none */
    bool is_changed; /* atomic: one of them was changed */
};

/* Of the elements of arrays of keys and values, and the longest string of a value. */
struct sw_watched_widths {
    uint32_t key, value, string;
};

/* At most `keys_max` keys are watched, one that several clients watch counted for each. Returns
 * NULL if there is no memory. */
struct sw_watched *sw_watched_create(uint32_t keys_max);
/* Nobody watches any more. NULL is allowed. */
void sw_watched_destroy(struct sw_watched *watched);

static inline bool sw_watcher_has_keys(const struct sw_watcher *watcher)
{
    return watcher->first != 0;
}
static inline bool sw_watcher_is_changed(const struct sw_watcher *watcher)
{
    return __atomic_load_n(&watcher->is_changed, __ATOMIC_SEQ_CST);
}

/* Watches the keys, too; the caller holds the empty gate. Borrows the watcher, which must not move,
 * until sw_watched_forget. Returns how many were new to it, or -1, with none added, if there is no
 * room. */
int64_t sw_watched_add(struct sw_watched *watched, struct sw_watcher *watcher, const void *keys,
                       uint32_t key_bytes, uint32_t count);
/* Watches nothing any more, and is not marked. Returns how many keys there were. */
uint32_t sw_watched_forget(struct sw_watched *watched, struct sw_watcher *watcher);

/* Marks the watchers of what a batch that is done has changed. `is_shared`: a client may change its
 * arrays. */
void sw_watched_note(struct sw_watched *watched, const struct sw_batch *batch,
                     struct sw_watched_widths widths, bool is_shared, bool marks_buried);

#endif
