/* SPDX-License-Identifier: MIT
 *
 * watched.h - the keys that clients watch (WATCH) and their watchers. A write marks the watchers of
 * the keys that it changes.
 *
 * Invariant: keys are added while the write gate (gate.h) is closed and empty, and a write marks
 * before it leaves the gate. So the holder of the empty gate sees its watcher marked if a write has
 * changed one of its keys since they were added. The next paragraph lists the only other reasons
 * for a mark.
 *
 * A write of a value, even of the same value, and the removal of a key are changes. If a batch
 * requested no `found` bits, every operation counts that may have changed its key. If a client may
 * have changed the keys or results of a batch in shared memory, all watchers are marked. CLEAR also
 * marks all watchers. While no key is watched, a batch costs one branch.
 *
 * Threads: any. A watcher belongs to its loop, except the mark.
 */
#ifndef SHERWOOD_SERVER_BATCH_WATCHED_H
#define SHERWOOD_SERVER_BATCH_WATCHED_H

#include <stdbool.h>
#include <stdint.h>

struct sw_batch;

struct sw_watched;

struct sw_watcher {
    uint32_t first;  /* number of its first entry; 0: it watches no keys */
    bool is_changed; /* atomic: the mark: one of its keys was changed */
};

/* Bytes of a key and of a value in the arrays of a batch, and of the longest string of a value. */
struct sw_watched_widths {
    uint32_t key, value, string;
};

/* Creates a list of at most `keys_max` watched keys. A key counts once for each of its watchers.
 * The memory for keys is allocated with the first key. Returns NULL if there is no memory. */
struct sw_watched *sw_watched_create(uint32_t keys_max);
/* Frees the list, which must have no watcher. NULL is allowed. */
void sw_watched_destroy(struct sw_watched *watched);

static inline bool sw_watcher_has_keys(const struct sw_watcher *watcher)
{
    return watcher->first != 0;
}
static inline bool sw_watcher_is_changed(const struct sw_watcher *watcher)
{
    return __atomic_load_n(&watcher->is_changed, __ATOMIC_SEQ_CST);
}

/* Adds keys to the watcher. The caller holds the empty gate. Borrows the watcher, which must not
 * move, until sw_watched_forget. Returns the number of keys that were new to the watcher. If there
 * is no room, adds no key and returns one of the errors. */
#define SW_WATCHED_FULL (-1)
#define SW_WATCHED_NO_MEMORY (-2)
int64_t sw_watched_add(struct sw_watched *watched, struct sw_watcher *watcher, const void *keys,
                       uint32_t key_bytes, uint32_t count);
/* Removes all keys and the mark of the watcher. Returns the number of keys removed. */
uint32_t sw_watched_forget(struct sw_watched *watched, struct sw_watcher *watcher);

/* Marks the watchers of the keys that a completed batch has changed. `is_shared`: a client may
 * change its arrays. `marks_expired`: also marks the watchers of expired keys that it removed. */
void sw_watched_note(struct sw_watched *watched, const struct sw_batch *batch,
                     struct sw_watched_widths widths, bool is_shared, bool marks_expired);

#endif
