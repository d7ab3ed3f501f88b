/* SPDX-License-Identifier: MIT
 *
 * span_queue.c - a ring between two threads.
 */
#include "server/trace/span_queue.h"

#include <stdlib.h>

#include "server/limits.h"

int sw_span_queue_init(struct sw_span_queue *queue, uint32_t room)
{
    *queue = (struct sw_span_queue){.room = room, .spans = calloc(room, sizeof(*queue->spans))};
    return queue->spans == NULL ? -1 : 0;
}

void sw_span_queue_fini(struct sw_span_queue *queue)
{
    free(queue->spans);
    queue->spans = NULL;
}

struct sw_span *sw_span_queue_slot(struct sw_span_queue *queue)
{
    const uint64_t taken = __atomic_load_n(&queue->taken, __ATOMIC_ACQUIRE);
    return queue->written - taken == queue->room ? NULL
                                                 : &queue->spans[queue->written % queue->room];
}

bool sw_span_queue_add(struct sw_span_queue *queue)
{
    const uint64_t taken = __atomic_load_n(&queue->taken, __ATOMIC_RELAXED);
    __atomic_store_n(&queue->written, queue->written + 1, __ATOMIC_RELEASE);
    const uint32_t half = (queue->room + 1) / 2; /* at least 1 */
    const uint32_t step = half < SW_TRACE_BATCH_SPANS ? half : SW_TRACE_BATCH_SPANS;
    return (queue->written - taken) % step == 0;
}

const struct sw_span *sw_span_queue_oldest(const struct sw_span_queue *queue)
{
    const uint64_t written = __atomic_load_n(&queue->written, __ATOMIC_ACQUIRE);
    return queue->taken == written ? NULL : &queue->spans[queue->taken % queue->room];
}

void sw_span_queue_drop(struct sw_span_queue *queue)
{
    __atomic_store_n(&queue->taken, queue->taken + 1, __ATOMIC_RELEASE);
}
