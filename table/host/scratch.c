/* SPDX-License-Identifier: MIT
 *
 * scratch.c - borrows, returns and enlarges areas of scratch memory.
 */
#include "table/host/scratch.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "table/host/memory.h"

void sw_scratch_init(struct sw_scratch_set *set)
{
    memset(set, 0, sizeof(*set));
    /* the default attributes of Linux need no resources, so these cannot fail */
    pthread_mutex_init(&set->mutex, NULL);
    pthread_cond_init(&set->returned, NULL);
}

void sw_scratch_fini(struct sw_scratch_set *set)
{
    for (uint32_t i = 0; i < SW_SCRATCH_TRIED_MAX; i++) {
        assert(set->areas[i].borrowed == 0);
        sw_memory_unmap(set->areas[i].memory, set->areas[i].bytes);
    }
    pthread_cond_destroy(&set->returned);
    pthread_mutex_destroy(&set->mutex);
}

static bool try_to_borrow(struct sw_scratch_area *area)
{
    return __atomic_exchange_n(&area->borrowed, 1, __ATOMIC_SEQ_CST) == 0;
}

/* Replaces the memory of a borrowed area. Returns false if there is no memory; then the area keeps
 * its own. */
static bool enlarge(struct sw_scratch_area *area, uint64_t bytes)
{
    void *memory = sw_memory_map(bytes);
    if (memory == NULL) {
        return false;
    }
    sw_memory_unmap(area->memory, area->bytes);
    area->memory = memory;
    __atomic_store_n(&area->bytes, bytes, __ATOMIC_RELAXED); /* sw_scratch_bytes reads it */
    return true;
}

/* Borrows a free area and enlarges it if it is too small. Returns NULL if no area is free, or if
 * there is no memory for the free ones. Under the mutex. */
static struct sw_scratch_area *borrow_any(struct sw_scratch_set *set, uint64_t bytes)
{
    for (uint32_t i = 0; i < SW_SCRATCH_AREAS_MAX; i++) {
        struct sw_scratch_area *area = &set->areas[i];
        if (!try_to_borrow(area)) {
            continue;
        }
        if (area->bytes >= bytes || enlarge(area, set->need)) {
            return area;
        }
        __atomic_store_n(&area->borrowed, 0, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

int sw_scratch_reserve(struct sw_scratch_set *set, uint64_t bytes)
{
    struct sw_scratch_area *first = &set->areas[0];
    int status = SW_OK;
    pthread_mutex_lock(&set->mutex);
    __atomic_add_fetch(&set->waiting, 1, __ATOMIC_SEQ_CST);
    while (bytes > set->need && !try_to_borrow(first)) {
        pthread_cond_wait(&set->returned, &set->mutex);
    }
    __atomic_sub_fetch(&set->waiting, 1, __ATOMIC_SEQ_CST);
    if (bytes > set->need) {
        status = enlarge(first, bytes) ? SW_OK : SW_E_NOMEM;
        set->need = status == SW_OK ? bytes : set->need;
        __atomic_store_n(&first->borrowed, 0, __ATOMIC_SEQ_CST);
        pthread_cond_broadcast(&set->returned);
    }
    pthread_mutex_unlock(&set->mutex);
    return status;
}

struct sw_scratch_area *sw_scratch_borrow(struct sw_scratch_set *set, struct sw_scratch_area *last,
                                          uint64_t bytes)
{
    struct sw_scratch_area *area = NULL;
    if (last != NULL && try_to_borrow(last)) {
        return last; /* it had `bytes` before, and no area ever shrinks */
    }
    /* A thread that waits has added itself to `waiting` before its last attempt, and a thread that
     * returns an area reads `waiting` after it has freed the area. So one of them notices the
     * other. */
    pthread_mutex_lock(&set->mutex);
    __atomic_add_fetch(&set->waiting, 1, __ATOMIC_SEQ_CST);
    while ((area = borrow_any(set, bytes)) == NULL) {
        pthread_cond_wait(&set->returned, &set->mutex);
    }
    __atomic_sub_fetch(&set->waiting, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&set->mutex);
    return area;
}

struct sw_scratch_area *sw_scratch_try_borrow(struct sw_scratch_set *set, uint32_t first,
                                              uint64_t bytes)
{
    for (uint32_t i = 0; i < SW_SCRATCH_TRIED_MAX; i++) {
        struct sw_scratch_area *area = &set->areas[(first + i) % SW_SCRATCH_TRIED_MAX];
        if (!try_to_borrow(area)) {
            continue;
        }
        if (area->bytes >= bytes || enlarge(area, bytes)) {
            return area;
        }
        sw_scratch_return(set, area);
        return NULL;
    }
    return NULL;
}

void sw_scratch_return(struct sw_scratch_set *set, struct sw_scratch_area *area)
{
    const uint32_t before = __atomic_exchange_n(&area->borrowed, 0, __ATOMIC_SEQ_CST);
    assert(before == 1);
    (void)before;
    if (__atomic_load_n(&set->waiting, __ATOMIC_SEQ_CST) != 0) {
        pthread_mutex_lock(&set->mutex);
        pthread_cond_broadcast(&set->returned);
        pthread_mutex_unlock(&set->mutex);
    }
}

uint64_t sw_scratch_bytes(struct sw_scratch_set *set)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < SW_SCRATCH_TRIED_MAX; i++) {
        bytes += __atomic_load_n(&set->areas[i].bytes, __ATOMIC_RELAXED);
    }
    return bytes;
}
