/* SPDX-License-Identifier: MIT
 *
 * region_copies.c - begins copies of regions, and polls those that the device makes.
 */
#include "server/bulk/region_copies.h"

#include "server/bulk/bulk.h"
#include "server/region/memory.h"

void sw_bulk_begin_use(const struct sw_bulk_frame *frame)
{
    for (int i = 0; i < SW_RING_ARRAYS; i++) {
        if (frame->regions[i] != NULL) {
            sw_region_use(frame->regions[i]);
        }
    }
}

void sw_bulk_end_use(const struct sw_bulk_frame *frame)
{
    for (int i = 0; i < SW_RING_ARRAYS; i++) {
        if (frame->regions[i] != NULL) {
            sw_region_unuse(frame->regions[i]);
        }
    }
}

int sw_bulk_copy(struct sw_bulk_frame *frame, const struct sw_memory_copy *list, uint32_t count,
                 void (*copied)(struct sw_bulk_frame *frame, int status))
{
    struct sw_bulk *bulk = frame->bulk;
    const int status = sw_memory_copy(bulk->first->table, list, count, &frame->copies);
    if (status != SW_OK || frame->copies == NULL) {
        return status;
    }
    frame->copied = copied;
    sw_list_push(&bulk->copying, &frame->link);
    sw_conn_accept(frame->conn, false);
    return SW_PENDING;
}

bool sw_bulk_poll_copies(struct sw_bulk *bulk)
{
    bool any = false;
    for (struct sw_list *link = bulk->copying.next, *next; link != &bulk->copying; link = next) {
        struct sw_bulk_frame *frame = sw_bulk_frame_at(link);
        struct sw_conn *conn = frame->conn;
        const int status = sw_memory_copy_poll(bulk->first->table, frame->copies);
        next = link->next;
        if (status != SW_PENDING) {
            any = true;
            sw_list_remove(link);
            frame->copies = NULL;
            frame->copied(frame, status);
            sw_conn_request_done(conn, false);
        }
    }
    return any;
}
