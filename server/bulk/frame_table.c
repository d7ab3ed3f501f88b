/* SPDX-License-Identifier: MIT
 *
 * frame_table.c - finding the table of a frame.
 */
#include "server/bulk/frame_table.h"

#include <stdio.h>
#include <string.h>

#include "server/bulk/bulk.h"
#include "server/bulk/frame_memory.h"
#include "server/bulk/operations.h"
#include "server/bulk/reply.h"
#include "server/bulk/validate.h"
#include "server/net/conn_login.h"

/* The id of the table in place 0 of a server that has no other place (in tests). */
#define ONLY_TABLE 1

void sw_bulk_table_init(struct sw_bulk_table *table, struct sw_batches *batches)
{
    table->batches = batches;
    sw_bulk_operations(&batches->shape, table->operations);
}

/* --- finding ---------------------------------------------------------------------------------- */

/* The status of a place that does not exist. The server may still have to load its table. */
static enum sw_reply_status status_of_absent(const struct sw_bulk *bulk)
{
    return sw_obstacles_met(bulk->first, SW_OBSTACLES_OF_TABLES) != 0 ? SW_REPLY_LOADING
                                                                      : SW_REPLY_NO_TABLE;
}

static struct sw_bulk_target find_place(const struct sw_bulk *bulk, uint32_t number)
{
    const struct sw_tables_view *view = bulk->net->tables.view;
    if (number == 0) {
        return (struct sw_bulk_target){bulk->table, bulk->table_id, SW_REPLY_OK,
                                       view == NULL ? 0 : view->catalog.places[0].reshaped};
    }
    const struct sw_place *place = view == NULL ? NULL : sw_places_numbered(&view->catalog, number);
    if (place == NULL) {
        return (struct sw_bulk_target){.status = status_of_absent(bulk)};
    }
    const struct sw_served *served = view->served[place - view->catalog.places];
    return (struct sw_bulk_target){served->loops[bulk->net->tables.loop].frames, served->id,
                                   SW_REPLY_OK, place->reshaped};
}

struct sw_bulk_target sw_bulk_find_table(const struct sw_bulk *bulk,
                                         const struct sw_request *request)
{
    const struct sw_bulk_target target = find_place(bulk, request->table);
    if (target.table != NULL && request->table_id != 0 && request->table_id != target.id) {
        return (struct sw_bulk_target){.status = SW_REPLY_TABLE_CHANGED};
    }
    return target;
}

bool sw_bulk_is_reshaped(struct sw_conn *conn, const struct sw_bulk_target *target)
{
    return target->reshaped > sw_bulk_of(conn)->view;
}

void sw_bulk_explain_table(const struct sw_request *request, enum sw_reply_status status,
                           char *message, size_t message_bytes)
{
    if (status == SW_REPLY_LOADING) {
        snprintf(message, message_bytes, "the server has not loaded all tables yet: try again");
    } else if (status == SW_REPLY_NO_TABLE && request->names_table) {
        snprintf(message, message_bytes, "%s", &SW_NO_SUCH_TABLE[strlen("ERR ")]);
    } else if (status == SW_REPLY_NO_TABLE) {
        snprintf(message, message_bytes,
                 "no table has the number %u: open the table by its name; nothing was done",
                 request->table);
    } else if (request->times == SW_FRAME_TIMES_KEEP) {
        snprintf(message, message_bytes,
                 "another table lies in place %u, or its default-ttl has changed: open the table "
                 "again; nothing was done",
                 request->table);
    } else {
        snprintf(message, message_bytes,
                 "another table lies in place %u: open the table again; nothing was done",
                 request->table);
    }
}

bool sw_bulk_name_table(const struct sw_bulk *bulk, const uint8_t *header, size_t header_bytes,
                        struct sw_request *request)
{
    const struct sw_tables_view *view = bulk->net->tables.view;
    char name[SW_FRAME_TABLE_BYTES];
    if (sw_frame_table_name_decode(header, header_bytes, name) != 0) {
        return false;
    }
    const struct sw_place *place = view == NULL ? NULL : sw_tables_find(view, name, strlen(name));
    request->table = place == NULL ? UINT32_MAX : place->number; /* no place has UINT32_MAX */
    return true;
}

/* --- starting --------------------------------------------------------------------------------- */

/* Does the request fit this table, in the memory that the frame has? */
static bool fits_again(const struct sw_bulk_frame *frame, const struct sw_request *request,
                       const struct sw_bulk_table *table, uint64_t body_bytes)
{
    char unused[SW_FRAME_TEXT_BYTES_MAX];
    const uint64_t more = sw_bulk_reply_bytes(table, request);
    return body_bytes + more <= frame->memory_bytes &&
           sw_bulk_validate(frame->bulk, table, request, body_bytes, more, unused,
                            sizeof(unused)) == SW_REPLY_OK;
}

/* May the user send the request to the table that lies in its place by now? The place may have been
 * dropped, and created again with another name. */
static bool may_enter_again(struct sw_conn *conn, uint32_t table)
{
    struct sw_users *users = conn->net->users;
    return users == NULL || sw_conn_is_free(conn) ||
           (sw_login_refresh(users, &conn->login) == SW_LOGIN_IN && sw_conn_may_use(conn, table));
}

struct sw_bulk_target sw_bulk_find_again(const struct sw_bulk_frame *frame,
                                         const struct sw_request *request, uint32_t table_id,
                                         uint64_t body_bytes)
{
    struct sw_bulk_target target = sw_bulk_find_table(frame->bulk, request);
    /* another default-ttl of the same table can need more memory for KEEP */
    const bool is_same = target.id == table_id && request->times != SW_FRAME_TIMES_KEEP;
    if (target.table != NULL && !is_same &&
        (!fits_again(frame, request, target.table, body_bytes) ||
         !may_enter_again(frame->conn, request->table))) {
        target.status = SW_REPLY_TABLE_CHANGED;
    }
    return target;
}

bool sw_bulk_enter_table(struct sw_bulk_frame *frame)
{
    const struct sw_bulk *bulk = frame->bulk;
    const uint64_t view = bulk->net->tables.number;
    if (frame->view == view) {
        return true;
    }
    const struct sw_bulk_target target =
        sw_bulk_find_again(frame, &frame->request, frame->table_id, frame->body_bytes);
    frame->view = view;
    frame->table = target.table;
    frame->table_id = target.id;
    if (target.status == SW_REPLY_OK) {
        return true;
    }
    struct sw_reply reply = {.request_id = frame->request.request_id, .status = target.status};
    sw_bulk_explain_table(&frame->request, target.status, reply.message, sizeof(reply.message));
    sw_bulk_reply(frame, &reply, NULL, 0);
    return false;
}

/* --- views ------------------------------------------------------------------------------------ */

/* The most bytes that the body of a request to this table may have: keys and operands, or the keys
 * of segments, each with its own padding. */
static uint64_t body_bytes_max(const struct sw_bulk *bulk, const struct sw_table_shape *shape)
{
    const uint64_t ops = bulk->net->config->frame_ops_max;
    const uint64_t of_segments = ops * shape->key_bytes + SW_FRAME_SEGMENTS_MAX * SW_FRAME_ALIGN;
    const uint64_t bytes =
        sw_frame_align(ops * shape->key_bytes) +
        sw_frame_align(ops * shape->value_bytes * 2) + /* wide ones, and those of CAS */
        (shape->has_scores || shape->expires ? sw_frame_align(ops * sizeof(uint64_t)) : 0);
    return bytes > of_segments ? bytes : of_segments;
}

void sw_bulk_follow_tables(struct sw_bulk *bulk)
{
    const struct sw_tables_handle *tables = &bulk->net->tables;
    bulk->body_bytes_max = 0;
    for (uint32_t i = 0; tables->view != NULL && i < tables->view->catalog.count; i++) {
        struct sw_bulk_table *table = tables->view->served[i]->loops[tables->loop].frames;
        const uint64_t most = body_bytes_max(bulk, &table->batches->shape);
        bulk->body_bytes_max = most > bulk->body_bytes_max ? most : bulk->body_bytes_max;
        if (i == 0) {
            bulk->table = table;
            bulk->table_id = tables->view->served[i]->id;
        }
    }
}

void sw_bulk_begin_tables(struct sw_bulk *bulk, struct sw_bulk_table *first)
{
    bulk->table = first;
    bulk->table_id = ONLY_TABLE;
    bulk->body_bytes_max = body_bytes_max(bulk, &first->batches->shape);
}

void sw_bulk_table_info(const struct sw_bulk_frame *frame, struct sw_server_info *info)
{
    const struct sw_tables_view *view = frame->bulk->net->tables.view;
    if (!frame->request.names_table || view == NULL) {
        return;
    }
    info->takes_tables = true;
    info->segments_max = SW_FRAME_SEGMENTS_MAX;
    info->table = frame->request.table;
    info->table_id = frame->table_id;
    snprintf(info->table_name, sizeof(info->table_name), "%s",
             sw_places_numbered(&view->catalog, info->table)->name);
}
