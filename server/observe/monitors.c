/* SPDX-License-Identifier: MIT
 *
 * monitors.c - the list of monitors, and their pending lines.
 */
#include "server/observe/monitors.h"

#include <assert.h>

void sw_monitors_init(struct sw_monitors *monitors)
{
    *monitors = (struct sw_monitors){.count = 0};
    pthread_mutex_init(&monitors->lock, NULL);
    sw_list_init(&monitors->list);
}

void sw_monitors_fini(struct sw_monitors *monitors)
{
    assert(sw_list_is_empty(&monitors->list));
    pthread_mutex_destroy(&monitors->lock);
}

bool sw_monitors_add(struct sw_monitors *monitors, struct sw_monitor *monitor, uint64_t most,
                     size_t bytes_max, uv_async_t *wake)
{
    monitor->wake = wake;
    sw_list_init(&monitor->link);
    sw_text_init(&monitor->lines, bytes_max);
    pthread_mutex_lock(&monitors->lock);
    const bool has_room = monitors->count < most;
    if (has_room) {
        sw_list_push(&monitors->list, &monitor->link);
        __atomic_store_n(&monitors->count, monitors->count + 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&monitors->lock);
    return has_room;
}

void sw_monitors_remove(struct sw_monitors *monitors, struct sw_monitor *monitor)
{
    pthread_mutex_lock(&monitors->lock);
    sw_list_remove(&monitor->link);
    __atomic_store_n(&monitors->count, monitors->count - 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&monitors->lock);
    sw_text_fini(&monitor->lines);
}

void sw_monitors_show(struct sw_monitors *monitors, const struct sw_text *line)
{
    pthread_mutex_lock(&monitors->lock);
    SW_LIST_EACH(&monitors->list, link)
    {
        struct sw_monitor *monitor = SW_CONTAINER(link, struct sw_monitor, link);
        if (!monitor->lines.failed) {
            sw_text_append(&monitor->lines, line->data, line->size);
            monitor->lines.failed = monitor->lines.failed || line->failed;
            uv_async_send(monitor->wake);
        }
    }
    pthread_mutex_unlock(&monitors->lock);
}

bool sw_monitors_take(struct sw_monitors *monitors, struct sw_monitor *monitor, struct sw_text *out)
{
    assert(out->size == 0);
    pthread_mutex_lock(&monitors->lock);
    const bool fits = !monitor->lines.failed;
    if (fits) {
        struct sw_text taken = monitor->lines;
        out->limit = taken.limit;
        monitor->lines = *out;
        *out = taken;
    }
    pthread_mutex_unlock(&monitors->lock);
    return fits;
}
