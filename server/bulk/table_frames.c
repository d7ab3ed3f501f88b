/* SPDX-License-Identifier: MIT
 *
 * table_frames.c - changing and listing the tables by frames.
 */
#include "server/bulk/table_frames.h"

#include <stdio.h>
#include <string.h>

#include "server/bulk/bulk.h"
#include "server/bulk/reply.h"
#include "server/net/conn_login.h"
#include "server/tables/change_run.h"
#include "server/tables/change_words.h"
#include "table/info.h"

/* --- changes ---------------------------------------------------------------------------------- */

uint32_t sw_bulk_change_words(const struct sw_frame_words *words,
                              struct sw_resp_argument out[SW_FRAME_WORDS_MAX])
{
    const uint8_t *at = words->text;
    for (uint32_t i = 0; i < words->count; i++) {
        out[i] = (struct sw_resp_argument){at, words->bytes[i]};
        at += words->bytes[i];
    }
    return words->count;
}

/* Copies an error line of RESP without its code. Returns the status of the refusal. */
static enum sw_reply_status copy_line(const char *line, char *message, size_t message_bytes)
{
    const char *space = strchr(line, ' ');
    snprintf(message, message_bytes, "%.*s", (int)message_bytes - 1,
             space == NULL ? line : space + 1);
    return strcmp(line, SW_NO_SUCH_TABLE) == 0 ? SW_REPLY_NO_TABLE : SW_REPLY_BAD_REQUEST;
}

bool sw_bulk_saves_table(const uint8_t *header, size_t header_bytes)
{
    struct sw_frame_words words;
    struct sw_resp_argument arguments[SW_FRAME_WORDS_MAX];
    return sw_frame_words_decode(header, header_bytes, &words) == 0 &&
           sw_bulk_change_words(&words, arguments) > 0 && sw_argument_is(&arguments[0], "SAVE");
}

enum sw_reply_status sw_bulk_note_change(struct sw_conn *conn, const uint8_t *header,
                                         size_t header_bytes, char *message, size_t message_bytes)
{
    const struct sw_tables_handle *tables = &conn->net->tables;
    struct sw_bulk_conn *state = sw_bulk_of(conn);
    struct sw_frame_words words;
    struct sw_resp_argument arguments[SW_FRAME_WORDS_MAX];
    char error[SW_TABLES_ERROR_BYTES] = "ERR out of memory";
    if (sw_frame_words_decode(header, header_bytes, &words) != 0 || tables->view == NULL) {
        snprintf(message, message_bytes, "%s",
                 tables->view == NULL ? "no such table: this server has one"
                                      : "the request has no words, or too many: send fewer");
        return SW_REPLY_BAD_REQUEST;
    }
    const uint32_t count = sw_bulk_change_words(&words, arguments);
    struct sw_change_run *run = sw_change_run_create(tables->tables);
    if (run == NULL ||
        sw_change_read(tables->view, arguments, count, &run->change, error, sizeof(error)) != 0) {
        const enum sw_reply_status status = copy_line(error, message, message_bytes);
        sw_change_run_free(run);
        return run == NULL ? SW_REPLY_OUT_OF_MEMORY : status;
    }
    sw_change_run_free(state->change); /* of a frame that did not start; usually NULL */
    state->change = run;
    return SW_REPLY_OK;
}

void sw_bulk_start_change(struct sw_bulk_frame *frame)
{
    struct sw_bulk_conn *state = sw_bulk_of(frame->conn);
    frame->change = state->change;
    state->change = NULL;
    sw_list_push(&frame->bulk->waits, &frame->link);
    (void)sw_bulk_is_changed(frame);
}

bool sw_bulk_is_changed(struct sw_bulk_frame *frame)
{
    return sw_change_run_poll(frame->change);
}

void sw_bulk_answer_change(struct sw_bulk_frame *frame)
{
    struct sw_reply reply = {.request_id = frame->request.request_id};
    const char *error = frame->change->error;
    if (error[0] != '\0') {
        reply.status = copy_line(error, reply.message, sizeof(reply.message));
    }
    sw_last_write_note(&sw_bulk_of(frame->conn)->last_write, frame->bulk->owner.repl,
                       frame->change->change.sequence);
    sw_change_run_free(frame->change);
    frame->change = NULL;
    sw_bulk_reply(frame, &reply, NULL, 0);
}

/* --- the list --------------------------------------------------------------------------------- */

uint32_t sw_bulk_tables_count(uint32_t wanted)
{
    return wanted == 0 || wanted > SW_FRAME_PLACES_MAX ? SW_FRAME_PLACES_MAX : wanted;
}

static void show(const struct sw_place *place, const struct sw_served *served,
                 struct sw_frame_place *out)
{
    struct sw_table_stats stats;
    struct sw_table_info info;
    sw_table_stats(served->table, &stats);
    sw_table_info(served->table, &info);
    *out = (struct sw_frame_place){.number = place->number,
                                   .id = served->id,
                                   .keys = stats.occupied,
                                   .keys_that_expire = stats.expires,
                                   .slots = info.capacity_slots,
                                   .slots_max = info.max_capacity_slots,
                                   .bytes = info.bytes_reserved};
    memcpy(out->name, place->name, sizeof(place->name));
}

static_assert(SW_PLACE_NAME_BYTES == SW_FRAME_TABLE_BYTES, "a reply has room for each name");

void sw_bulk_start_tables(struct sw_bulk_frame *frame)
{
    const struct sw_tables_view *view = frame->bulk->net->tables.view;
    struct sw_frame_place *out = (struct sw_frame_place *)(void *)frame->reply;
    const uint32_t most = sw_bulk_tables_count(frame->request.count);
    struct sw_reply reply = {.request_id = frame->request.request_id};
    for (uint32_t i = 0; view != NULL && i < view->catalog.count && reply.cursor == 0; i++) {
        const struct sw_place *place = &view->catalog.places[i];
        if (place->number < frame->request.cursor || !sw_conn_may_use(frame->conn, place->number)) {
            continue;
        }
        if (reply.count == most) {
            reply.cursor = place->number;
        } else {
            show(place, view->served[i], &out[reply.count++]);
        }
    }
    uv_buf_t body = uv_buf_init((char *)frame->reply, (unsigned)(reply.count * sizeof(*out)));
    sw_bulk_reply(frame, &reply, &body, reply.count > 0);
}
