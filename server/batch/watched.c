/* SPDX-License-Identifier: MIT
 *
 * watched.c - a hash table of watched keys. Writes read the heads of its chains without a lock: if
 * the chain of a key is empty, the key has no watcher.
 */
#include "server/batch/watched.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "proto/check.h"
#include "proto/ops/apply.h"
#include "proto/ops/number_apply.h"
#include "proto/ops/string_apply.h"
#include "server/batch/pairs.h"
#include "server/batch/shape.h"
#include "table/batch.h"

enum { CHAINS = 1 << 16 };

/* A key of a watcher. Links are numbers of entries; 0: none. */
struct entry {
    uint64_t key;
    struct sw_watcher *watcher;
    uint32_t next, before; /* in its chain, while is_linked */
    uint32_t next_own;     /* of the same watcher, or free */
    bool is_linked;
};

struct sw_watched {
    pthread_mutex_t lock; /* protects the fields below; atomic ones are also read without it */
    uint64_t seed;        /* random, so that clients cannot choose keys of one chain */
    uint32_t keys_max;
    uint32_t count;        /* atomic: keys that are watched */
    uint32_t free;         /* first of the entries that were given back; 0: none */
    uint32_t taken;        /* entries up to this one were in use: the others are untouched memory */
    struct entry *entries; /* [keys_max + 1]; the first one is unused; NULL: no key yet */
    uint32_t *chains;      /* [CHAINS], atomic: the first entry of each; NULL: no key yet */
};

struct sw_watched *sw_watched_create(uint32_t keys_max)
{
    struct sw_watched *watched = calloc(1, sizeof(*watched));
    if (watched == NULL ||
        uv_random(NULL, NULL, &watched->seed, sizeof(watched->seed), 0, NULL) != 0) {
        free(watched);
        return NULL;
    }
    pthread_mutex_init(&watched->lock, NULL);
    watched->keys_max = keys_max;
    return watched;
}

void sw_watched_destroy(struct sw_watched *watched)
{
    if (watched != NULL) {
        assert(watched->count == 0);
        pthread_mutex_destroy(&watched->lock);
        free(watched->entries);
        free(watched->chains);
        free(watched);
    }
}

static uint32_t *chain_of(struct sw_watched *watched, uint64_t key)
{
    return &watched->chains[sw_check64(&key, sizeof(key), watched->seed) % CHAINS];
}

/* --- under the lock --------------------------------------------------------------------------- */

static void link_entry(struct sw_watched *watched, uint32_t i)
{
    uint32_t *chain = chain_of(watched, watched->entries[i].key);
    struct entry *entry = &watched->entries[i];
    entry->next = *chain;
    entry->before = 0;
    entry->is_linked = true;
    watched->entries[*chain].before = i;
    __atomic_store_n(chain, i, __ATOMIC_RELAXED);
}

static void unlink_entry(struct sw_watched *watched, uint32_t i)
{
    struct entry *entry = &watched->entries[i];
    watched->entries[entry->next].before = entry->before;
    if (entry->before != 0) {
        watched->entries[entry->before].next = entry->next;
    } else {
        __atomic_store_n(chain_of(watched, entry->key), entry->next, __ATOMIC_RELAXED);
    }
    entry->is_linked = false;
}

static bool is_watched_by(struct sw_watched *watched, const struct sw_watcher *watcher,
                          uint64_t key)
{
    for (uint32_t i = *chain_of(watched, key); i != 0; i = watched->entries[i].next) {
        if (watched->entries[i].key == key && watched->entries[i].watcher == watcher) {
            return true;
        }
    }
    return false;
}

/* Allocates the memory, unless it is there. Writes read it only once `count` is not 0. Returns
 * false if there is none. */
static bool open_memory(struct sw_watched *watched)
{
    if (watched->entries == NULL) {
        watched->entries = calloc((size_t)watched->keys_max + 1, sizeof(*watched->entries));
    }
    if (watched->chains == NULL) {
        watched->chains = calloc(CHAINS, sizeof(*watched->chains));
    }
    return watched->entries != NULL && watched->chains != NULL;
}

static void add_watched_key(struct sw_watched *watched, struct sw_watcher *watcher, uint64_t key)
{
    const uint32_t i = watched->free != 0 ? watched->free : ++watched->taken;
    struct entry *entry = &watched->entries[i];
    watched->free = watched->free != 0 ? entry->next_own : 0;
    *entry = (struct entry){.key = key, .watcher = watcher, .next_own = watcher->first};
    watcher->first = i;
    link_entry(watched, i);
}

/* Frees up to `count` entries of a watcher, from its first one on. Returns the number freed. */
static uint32_t give_back(struct sw_watched *watched, struct sw_watcher *watcher, uint32_t count)
{
    uint32_t given = 0;
    for (; given < count && watcher->first != 0; given++) {
        uint32_t i = watcher->first;
        struct entry *entry = &watched->entries[i];
        if (entry->is_linked) {
            unlink_entry(watched, i);
        }
        watcher->first = entry->next_own;
        entry->next_own = watched->free;
        watched->free = i;
    }
    return given;
}

static void mark(struct sw_watcher *watcher)
{
    __atomic_store_n(&watcher->is_changed, true, __ATOMIC_SEQ_CST);
}

/* Marks the watchers of a key. Their entries leave the chain: a watcher is marked once. */
static void mark_key(struct sw_watched *watched, uint64_t key)
{
    uint32_t next = 0;
    for (uint32_t i = *chain_of(watched, key); i != 0; i = next) {
        next = watched->entries[i].next;
        if (watched->entries[i].key == key) {
            mark(watched->entries[i].watcher);
            unlink_entry(watched, i);
        }
    }
}

static void mark_all(struct sw_watched *watched)
{
    for (uint32_t chain = 0; chain < CHAINS; chain++) {
        while (watched->chains[chain] != 0) {
            mark(watched->entries[watched->chains[chain]].watcher);
            unlink_entry(watched, watched->chains[chain]);
        }
    }
}

/* --- watching --------------------------------------------------------------------------------- */

int64_t sw_watched_add(struct sw_watched *watched, struct sw_watcher *watcher, const void *keys,
                       uint32_t key_bytes, uint32_t count)
{
    int64_t added = 0;
    pthread_mutex_lock(&watched->lock);
    if (!open_memory(watched)) {
        pthread_mutex_unlock(&watched->lock);
        return SW_WATCHED_NO_MEMORY;
    }
    for (uint32_t i = 0; i < count && added >= 0; i++) {
        uint64_t key = sw_integer_at(keys, key_bytes, i);
        if (is_watched_by(watched, watcher, key)) {
            continue;
        }
        if (watched->free == 0 && watched->taken == watched->keys_max) {
            give_back(watched, watcher, (uint32_t)added);
            added = SW_WATCHED_FULL;
        } else {
            add_watched_key(watched, watcher, key);
            added++;
        }
    }
    if (added > 0) {
        __atomic_fetch_add(&watched->count, (uint32_t)added, __ATOMIC_SEQ_CST);
    }
    pthread_mutex_unlock(&watched->lock);
    return added;
}

uint32_t sw_watched_forget(struct sw_watched *watched, struct sw_watcher *watcher)
{
    if (watcher->first == 0) {
        return 0;
    }
    pthread_mutex_lock(&watched->lock);
    uint32_t count = give_back(watched, watcher, UINT32_MAX);
    __atomic_fetch_sub(&watched->count, count, __ATOMIC_SEQ_CST);
    __atomic_store_n(&watcher->is_changed, false, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&watched->lock);
    return count;
}

/* --- writes ----------------------------------------------------------------------------------- */

/* Was the key of operation i present? Returns `otherwise` if the batch did not request `found`. */
static bool was_present(const struct sw_batch *batch, uint32_t i, bool otherwise)
{
    return batch->found == NULL ? otherwise : (batch->found[i / 64] >> (i % 64) & 1) != 0;
}

/* Did the result of operation i fit? Otherwise the operation changed nothing. */
static bool fitted(const struct sw_batch *batch, uint32_t bytes, enum sw_op op, uint32_t i)
{
    uint64_t after = 0;
    return batch->previous == NULL || sw_op_after(op, bytes, was_present(batch, i, true),
                                                  sw_integer_at(batch->previous, bytes, i),
                                                  sw_integer_at(batch->values, bytes, i), &after);
}

/* Did an operation on a string change its key? */
static bool changed_string(const struct sw_batch *batch, struct sw_watched_widths widths,
                           enum sw_op op, uint32_t i)
{
    struct sw_string_space space;
    uint32_t size = 0;
    if (batch->previous == NULL || !was_present(batch, i, false)) {
        return true;
    }
    const size_t at = (size_t)i * widths.value;
    const struct sw_string old = sw_string_at((const uint8_t *)batch->previous + at, widths.string);
    const struct sw_string operand =
        sw_string_at((const uint8_t *)batch->values + at, widths.string);
    return sw_string_after(sw_string_verb(op), true, old, operand, widths.string, &space, &size) ==
           SW_STRING_DONE;
}

/* Did an operation that keeps numbers whose results do not fit change its key? */
static bool changed_numbers(const struct sw_batch *batch, struct sw_watched_widths widths,
                            enum sw_op op, uint32_t i)
{
    uint32_t row[SW_VALUE_BYTES_MAX / sizeof(uint32_t)];
    const size_t at = (size_t)i * widths.value;
    if (!was_present(batch, i, false)) {
        return SW_OPS_HAS(SW_OPS_INSERT, op);
    }
    if (batch->previous == NULL) {
        return true;
    }
    memcpy(row, (const uint8_t *)batch->previous + at, widths.value);
    return sw_numbers_apply(op, row, (const uint8_t *)batch->values + at, widths.string, 0, 1);
}

/* Did an EXPIRE of any kind change the time of a present key? */
static bool changes_time(const struct sw_batch *batch, enum sw_op op, uint32_t i)
{
    const uint64_t at = batch->expires != NULL ? batch->expires[i] : batch->expire_at;
    return batch->expires_out == NULL || ((at != 0 || batch->expires_out[i] != 0) &&
                                          sw_expire_holds(op, batch->expires_out[i], at));
}

/* Did operation i, of a group that was not refused, change its key? */
static bool has_changed(const struct sw_batch *batch, struct sw_watched_widths widths, uint32_t i)
{
    const enum sw_op op = batch->ops == NULL ? batch->op : (enum sw_op)batch->ops[i];
    if (SW_OPS_HAS(SW_OPS_READ, op)) {
        return false;
    }
    if (SW_OPS_HAS(SW_OPS_EXPIRE, op)) {
        return was_present(batch, i, true) && changes_time(batch, op, i);
    }
    if (SW_OPS_HAS(SW_OPS_STRING, op)) {
        return changed_string(batch, widths, op, i);
    }
    if (SW_OPS_HAS(SW_OPS_FITTING, op)) {
        return changed_numbers(batch, widths, op, i);
    }
    if (SW_OPS_HAS(SW_OPS_PAIR, op)) {
        return batch->found == NULL || batch->previous == NULL ||
               sw_pair_is_met(batch, widths.value, i);
    }
    const bool inserts = SW_OPS_HAS(SW_OPS_INSERT, op);
    if (SW_OPS_HAS(SW_OPS_REFUSE, op)) {
        return fitted(batch, widths.value, op, i) && (inserts || was_present(batch, i, true));
    }
    return SW_OPS_HAS(SW_OPS_PUT | SW_OPS_DELETE, op) ? inserts || was_present(batch, i, true)
                                                      : inserts && !was_present(batch, i, false);
}

/* Was group g refused? A batch without groups counts as one group. */
static bool is_refused(const struct sw_batch *batch, uint32_t g)
{
    return batch->status == SW_E_FULL &&
           (batch->group_count == 0 ||
            (batch->group_refused != NULL && batch->group_refused[g] != 0));
}

static void note_operations(struct sw_watched *watched, const struct sw_batch *batch,
                            struct sw_watched_widths widths)
{
    const uint32_t groups = batch->group_count == 0 ? 1 : batch->group_count;
    uint32_t i = 0;
    for (uint32_t g = 0; g < groups; g++) {
        const uint32_t end = batch->group_count == 0 ? batch->count : batch->group_ends[g];
        for (bool refused = is_refused(batch, g); !refused && i < end; i++) {
            uint64_t key = sw_integer_at(batch->keys, widths.key, i);
            if (__atomic_load_n(chain_of(watched, key), __ATOMIC_RELAXED) == 0 ||
                !has_changed(batch, widths, i)) {
                continue;
            }
            pthread_mutex_lock(&watched->lock);
            mark_key(watched, key);
            pthread_mutex_unlock(&watched->lock);
        }
        i = end;
    }
}

void sw_watched_note(struct sw_watched *watched, const struct sw_batch *batch,
                     struct sw_watched_widths widths, bool is_shared, bool marks_expired)
{
    if (__atomic_load_n(&watched->count, __ATOMIC_SEQ_CST) == 0 || batch->kind == SW_BATCH_RESIZE ||
        (is_shared && is_refused(batch, 0))) {
        return;
    }
    const uint8_t *expired_keys = batch->expired_keys;
    for (uint32_t i = 0; marks_expired && i < batch->expired_keys_count; i++) {
        pthread_mutex_lock(&watched->lock);
        mark_key(watched, sw_integer_at(expired_keys, widths.key, i));
        pthread_mutex_unlock(&watched->lock);
    }
    if (batch->kind == SW_BATCH_SWEEP) {
        return;
    }
    const bool is_known = batch->status == SW_OK || batch->status == SW_E_FULL;
    if (batch->kind == SW_BATCH_OPERATIONS && is_known && !is_shared) {
        note_operations(watched, batch, widths);
        return;
    }
    pthread_mutex_lock(&watched->lock);
    mark_all(watched);
    pthread_mutex_unlock(&watched->lock);
}
