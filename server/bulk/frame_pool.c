/* SPDX-License-Identifier: MIT
 *
 * frame_pool.c - allocating and freeing frames.
 */
#include "server/bulk/frame_pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/bulk/bulk.h"
#include "server/limits.h"

void sw_bulk_pool_init(struct sw_bulk_pool *pool)
{
    *pool = (struct sw_bulk_pool){0};
    sw_list_init(&pool->spare);
}

static struct sw_bulk_frame *take_spare(struct sw_bulk_pool *pool)
{
    pool->spare_count--;
    if (pool->spare_count < pool->spare_least) {
        pool->spare_least = pool->spare_count;
    }
    return sw_bulk_frame_at(sw_list_pop(&pool->spare));
}

void sw_bulk_pool_fini(struct sw_bulk_pool *pool)
{
    while (pool->spare_count > 0) {
        free(take_spare(pool));
    }
}

void sw_bulk_pool_sweep(struct sw_bulk_pool *pool)
{
    uint32_t surplus = pool->spare_least < SW_SPARE_FRAMES_FREED_MAX ? pool->spare_least
                                                                     : SW_SPARE_FRAMES_FREED_MAX;
    while (surplus-- > 0) {
        free(take_spare(pool));
    }
    pool->spare_least = pool->spare_count;
}

struct sw_bulk_frame *sw_bulk_frame_take(struct sw_bulk *bulk, struct sw_conn *conn)
{
    struct sw_bulk_pool *pool = &bulk->pool;
    struct sw_bulk_frame *frame = pool->spare_count > 0 ? take_spare(pool) : malloc(sizeof(*frame));
    if (frame != NULL) {
        memset(frame, 0, offsetof(struct sw_bulk_frame, head));
        sw_list_init(&frame->link);
        frame->bulk = bulk;
        frame->conn = conn;
    }
    return frame;
}

bool sw_bulk_frame_reserve(struct sw_bulk_frame *frame, uint64_t bytes)
{
    assert(frame->memory == NULL);
    frame->memory = sw_io_arena_alloc(frame->bulk->first->io, bytes);
    frame->memory_bytes = frame->memory != NULL ? bytes : 0;
    return frame->memory != NULL;
}

void sw_bulk_frame_put(struct sw_bulk_frame *frame)
{
    struct sw_bulk *bulk = frame->bulk;
    struct sw_bulk_pool *pool = &bulk->pool;
    assert(!sw_list_is_linked(&frame->link));
    if (frame->memory != NULL) {
        sw_io_arena_free(bulk->first->io, frame->memory, frame->memory_bytes);
        frame->memory = NULL;
        bulk->net->retry |= bulk->net->arena_waiters + bulk->net->held_waiters > 0;
    }
    /* The frame that was used last is taken first, because it is still in the cache. */
    sw_list_push_front(&pool->spare, &frame->link);
    pool->spare_count++;
}
