/* SPDX-License-Identifier: MIT
 *
 * ring.c - takes submissions and writes completions.
 */
#include "server/region/ring.h"

#include <assert.h>
#include <string.h>

/* The load acquires, so it makes visible the records that the client published with this word. */
static uint32_t load(const struct sw_ring *ring, enum sw_ring_word word)
{
    return __atomic_load_n(sw_ring_word(ring->memory, word), __ATOMIC_SEQ_CST);
}

int sw_ring_check(const struct sw_ring *ring)
{
    uint32_t written = load(ring, SW_RING_SUBMITTED) - ring->taken;
    if (written == 0) {
        return 0;
    }
    uint32_t unseen = ring->completed - load(ring, SW_RING_SEEN);
    if (written > ring->entries || unseen > ring->entries) {
        return -1;
    }
    return ring->taken - ring->completed + unseen < ring->entries;
}

int sw_ring_peek(const struct sw_ring *ring, struct sw_submission *submission)
{
    int found = sw_ring_check(ring);
    if (found <= 0) {
        return found;
    }
    memcpy(submission, sw_ring_submission(ring->memory, ring->entries, ring->taken),
           sizeof(*submission));
    __asm__ volatile("" ::: "memory"); /* checks must use the copy, not the ring */
    return 1;
}

void sw_ring_take(struct sw_ring *ring)
{
    ring->taken++;
    ring->moved = true;
}

void sw_ring_complete(struct sw_ring *ring, const struct sw_reply *reply)
{
    assert(ring->completed != ring->taken);
    sw_completion_encode(reply, sw_ring_completion(ring->memory, ring->entries, ring->completed));
    ring->completed++;
    ring->moved = true;
}

bool sw_ring_publish(struct sw_ring *ring)
{
    uint32_t *sleeps = sw_ring_word(ring->memory, SW_RING_CLIENT_SLEEPS);
    if (!ring->moved) {
        return false;
    }
    ring->moved = false;
    /* The store to TAKEN is a release: the server has read the records before the client may
     * overwrite them. The store to COMPLETED publishes the completions. That store comes before the
     * load of the sleep word, and the client stores that word before it loads COMPLETED. So at
     * least one side sees the store of the other. */
    __atomic_store_n(sw_ring_word(ring->memory, SW_RING_TAKEN), ring->taken, __ATOMIC_RELEASE);
    __atomic_store_n(sw_ring_word(ring->memory, SW_RING_COMPLETED), ring->completed,
                     __ATOMIC_SEQ_CST);
    return __atomic_load_n(sleeps, __ATOMIC_SEQ_CST) != 0 &&
           __atomic_exchange_n(sleeps, 0, __ATOMIC_SEQ_CST) != 0;
}

/* The caller loads SUBMITTED once more before it sleeps (ring.c of the client has the other half).
 */
void sw_ring_set_asleep(const struct sw_ring *ring, bool asleep)
{
    __atomic_store_n(sw_ring_word(ring->memory, SW_RING_SERVER_SLEEPS), asleep, __ATOMIC_SEQ_CST);
}
