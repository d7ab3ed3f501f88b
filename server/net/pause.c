/* SPDX-License-Identifier: MIT
 *
 * pause.c - the state of CLIENT PAUSE, and the loops that have seen it.
 */
#include "server/net/pause.h"

#include <assert.h>

/* The end and the mode are one number, so that no loop sees one of them without the other. */
#define MODE_BITS 2
#define MODE_MASK ((1U << MODE_BITS) - 1)
#define END_MAX (UINT64_MAX >> MODE_BITS)

static enum sw_pause_mode mode_of(uint64_t end, uint64_t now_ms)
{
    return now_ms < end >> MODE_BITS ? (enum sw_pause_mode)(end & MODE_MASK) : SW_PAUSE_NONE;
}

void sw_pause_init(struct sw_pause *pause)
{
    *pause = (struct sw_pause){.end = 0};
    pthread_mutex_init(&pause->lock, NULL);
    sw_list_init(&pause->handles);
}

void sw_pause_fini(struct sw_pause *pause)
{
    assert(sw_list_is_empty(&pause->handles));
    pthread_mutex_destroy(&pause->lock);
}

void sw_pause_join(struct sw_pause *pause, struct sw_pause_handle *handle, uv_async_t *wake)
{
    *handle = (struct sw_pause_handle){.pause = pause, .wake = wake};
    sw_list_init(&handle->link);
    pthread_mutex_lock(&pause->lock);
    sw_list_push(&pause->handles, &handle->link);
    pthread_mutex_unlock(&pause->lock);
}

/* Under the lock: a handle that is in the list has a loop that can be woken. */
static void wake_all(struct sw_pause *pause)
{
    SW_LIST_EACH(&pause->handles, link)
    {
        uv_async_send(SW_CONTAINER(link, struct sw_pause_handle, link)->wake);
    }
}

void sw_pause_leave(struct sw_pause_handle *handle)
{
    struct sw_pause *pause = handle->pause;
    if (pause != NULL) {
        pthread_mutex_lock(&pause->lock);
        sw_list_remove(&handle->link);
        wake_all(pause);
        pthread_mutex_unlock(&pause->lock);
        handle->pause = NULL;
    }
}

/* Under the lock. */
static uint64_t change(struct sw_pause *pause, uint64_t end)
{
    uint64_t version = pause->version + 1;
    __atomic_store_n(&pause->end, end, __ATOMIC_RELAXED);
    __atomic_store_n(&pause->version, version, __ATOMIC_RELEASE);
    wake_all(pause);
    return version;
}

uint64_t sw_pause_begin(struct sw_pause *pause, uint64_t ms, enum sw_pause_mode mode,
                        uint64_t now_ms)
{
    uint64_t until_ms = ms < END_MAX - now_ms ? now_ms + ms : END_MAX;
    pthread_mutex_lock(&pause->lock);
    enum sw_pause_mode before = mode_of(pause->end, now_ms);
    if (before != SW_PAUSE_NONE) {
        until_ms = until_ms > pause->end >> MODE_BITS ? until_ms : pause->end >> MODE_BITS;
        mode = before > mode ? before : mode;
    }
    uint64_t version = change(pause, until_ms << MODE_BITS | mode);
    pthread_mutex_unlock(&pause->lock);
    return version;
}

void sw_pause_end(struct sw_pause *pause)
{
    pthread_mutex_lock(&pause->lock);
    change(pause, 0);
    pthread_mutex_unlock(&pause->lock);
}

bool sw_pause_is_quiet(struct sw_pause *pause, uint64_t version)
{
    bool quiet = true;
    pthread_mutex_lock(&pause->lock);
    SW_LIST_EACH(&pause->handles, link)
    {
        quiet &= SW_CONTAINER(link, struct sw_pause_handle, link)->quiet >= version;
    }
    pthread_mutex_unlock(&pause->lock);
    return quiet;
}

uint64_t sw_pause_left_ms(const struct sw_pause *pause, bool *of_all)
{
    const uint64_t end = __atomic_load_n(&pause->end, __ATOMIC_RELAXED);
    const uint64_t now_ms = uv_hrtime() / 1000000;
    const enum sw_pause_mode mode = mode_of(end, now_ms);
    *of_all = mode == SW_PAUSE_ALL;
    return mode == SW_PAUSE_NONE ? 0 : (end >> MODE_BITS) - now_ms;
}

bool sw_pause_poll(struct sw_pause_handle *handle, uint64_t now_ms)
{
    if (handle->pause == NULL) {
        return false;
    }
    uint64_t version = __atomic_load_n(&handle->pause->version, __ATOMIC_ACQUIRE);
    if (version == handle->version && handle->mode == SW_PAUSE_NONE) {
        return false;
    }
    enum sw_pause_mode before = handle->mode;
    bool is_new = version != handle->version;
    if (is_new) {
        handle->end = __atomic_load_n(&handle->pause->end, __ATOMIC_RELAXED);
        handle->version = version;
    }
    handle->mode = mode_of(handle->end, now_ms);
    return is_new || handle->mode != before;
}

void sw_pause_settle(struct sw_pause_handle *handle)
{
    if (handle->pause != NULL) {
        pthread_mutex_lock(&handle->pause->lock);
        handle->quiet = handle->version;
        wake_all(handle->pause);
        pthread_mutex_unlock(&handle->pause->lock);
    }
}
