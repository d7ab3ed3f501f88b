/* SPDX-License-Identifier: MIT
 *
 * replies.c - replies that wait for the results of their batch.
 */
#include "server/resp/replies.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/limits.h"
#include "server/net/conn.h"
#include "server/resp/resp.h"
#include "server/resp/resp_memory.h"
#include "server/resp/slow.h"

/* Longest error line: a command's name and its arguments, cut to 128 bytes each, and a sentence. */
#define ERROR_BYTES 1280 /* the longest one is the error of protected-mode */
/* A longer text of replies that passed is freed when they are written. */
#define ASIDE_KEEP_BYTES 4096

void sw_replies_finish(struct sw_replies *replies)
{
    struct sw_resp *resp = replies->resp;
    assert(resp->filling != replies);
    struct sw_slow_batch slow;
    sw_slow_batch_done(replies, &slow);
    sw_replies_write(replies);
    sw_slow_batch_written(replies, &slow);
    sw_resp_batch_reset(&replies->batch);
    replies->pendings = 0;
    replies->is_aborted = false;
    sw_text_reset(&replies->text);
    if (resp->running == replies) { /* the other batch may be submitted */
        resp->running = NULL;
        resp->batches_done++;
    }
    if (replies == &resp->passing.replies) {
        resp->passing.is_in_flight = false;
    }
    sw_resp_memory_returned(resp->memory);
    resp->net->retry = true;
}

static void on_done(struct sw_resp_batch *batch)
{
    sw_replies_finish(SW_CONTAINER(batch, struct sw_replies, batch));
}

void sw_replies_init(struct sw_replies *replies, struct sw_resp *resp)
{
    memset(replies, 0, sizeof(*replies));
    replies->resp = resp;
    sw_resp_batch_init(&replies->batch, resp->batches, resp->net->config->round_ops_max, on_done);
}

struct sw_aside *sw_aside_create(struct sw_resp *resp)
{
    struct sw_aside *aside = calloc(1, sizeof(*aside));
    if (aside != NULL) {
        sw_replies_init(&aside->replies, resp);
        aside->replies.memory = &aside->memory;
        aside->replies.batch.flight = &aside->flight.flight;
        aside->replies.pending = aside->pending;
        aside->replies.pending_max = SW_ASIDE_MAX;
        sw_text_init(&aside->replies.text, SW_RESP_BATCH_TEXT_BYTES_MAX);
    }
    return aside;
}

void sw_aside_finish(struct sw_aside *aside)
{
    struct sw_text *text = &aside->replies.text;
    sw_replies_finish(&aside->replies);
    if (text->capacity > ASIDE_KEEP_BYTES) {
        sw_text_fini(text);
        sw_text_init(text, SW_RESP_BATCH_TEXT_BYTES_MAX);
    }
}

void sw_aside_destroy(struct sw_aside *aside)
{
    if (aside != NULL) {
        assert(aside->replies.pendings == 0);
        sw_text_fini(&aside->replies.text);
        free(aside);
    }
}

void sw_replies_borrow(struct sw_replies *replies, struct sw_replies_memory *memory)
{
    assert(replies->memory == NULL && memory->borrower == NULL && replies->pendings == 0);
    assert(memory->io_bytes >= replies->batch.memory_bytes);
    memory->borrower = replies;
    replies->memory = memory;
    replies->pending = memory->pending;
    replies->pending_max = replies->batch.operations_max;
    replies->text = memory->text;
    sw_resp_batch_set_memory(&replies->batch, memory->io);
}

void sw_replies_give_back(struct sw_replies *replies)
{
    assert(replies->pendings == 0 && replies->text.size == 0);
    if (replies->memory == NULL) {
        return;
    }
    replies->memory->text = replies->text;
    replies->memory->borrower = NULL;
    replies->memory = NULL;
    replies->pending = NULL;
    replies->pending_max = 0;
    replies->text = (struct sw_text){0};
    sw_resp_batch_set_memory(&replies->batch, NULL);
}

bool sw_replies_has_room(const struct sw_replies *replies, uint32_t operations)
{
    return replies->pendings < replies->pending_max &&
           sw_resp_batch_has_room(&replies->batch, operations) &&
           replies->text.size <= SW_RESP_BATCH_TEXT_BYTES_MAX / 2;
}

static struct sw_pending *append(struct sw_replies *replies, struct sw_conn *conn,
                                 const struct sw_command *command)
{
    assert(replies->pendings < replies->pending_max && replies == replies->resp->filling);
    if (replies->pendings == 0) {
        replies->began_ns = sw_slow_begin(replies->resp);
        sw_batches_activate(replies->resp->batches);
        replies->memory->is_used = true;
    }
    struct sw_pending *pending = &replies->pending[replies->pendings++];
    memset(pending, 0, sizeof(*pending));
    pending->conn = conn;
    pending->command = (uint8_t)(command != NULL ? command->id : SW_COMMAND_COUNT);
    pending->resp3 = sw_resp_of(conn)->session.resp3;
    return pending;
}

/* Must the next reply of the connection not be sent (CLIENT REPLY)? Ends the effect of SKIP. */
static bool takes_silence(struct sw_session *session)
{
    bool silent = session->reply_mode != SW_REPLY_ON;
    if (session->reply_mode == SW_REPLY_SKIP_NEXT) {
        session->reply_mode = SW_REPLY_ON;
    }
    return silent;
}

void sw_replies_add(struct sw_replies *replies, struct sw_conn *conn,
                    const struct sw_command *command, enum sw_reply_kind kind, uint32_t first)
{
    struct sw_pending *pending = append(replies, conn, command);
    pending->kind = (uint8_t)kind;
    pending->first = first;
    pending->count = replies->batch.operations - first;
    pending->silent = takes_silence(&sw_resp_of(conn)->session);
    replies->batch.shows_times |= replies->batch.expires_out != NULL && kind >= SW_REPLY_KIND_TTL &&
                                  kind <= SW_REPLY_KIND_PERSISTED;
    replies->batch.shows_values |= kind >= SW_REPLY_KIND_BLOB;
    pending->group = sw_resp_batch_end_group(&replies->batch);
    sw_conn_accept(conn, true);
}

void sw_replies_add_text(struct sw_replies *replies, struct sw_conn *conn,
                         const struct sw_command *command, size_t first)
{
    struct sw_pending *pending = append(replies, conn, command);
    pending->kind = SW_REPLY_KIND_TEXT;
    pending->group = SW_NO_GROUP;
    pending->first = (uint32_t)first;
    pending->count = (uint32_t)(replies->text.size - first);
    sw_conn_accept(conn, false);
}

void sw_replies_add_queued(struct sw_replies *replies, struct sw_conn *conn,
                           const struct sw_command *command)
{
    struct sw_pending *pending = append(replies, conn, command);
    pending->kind = SW_REPLY_KIND_QUEUED;
    pending->group = SW_NO_GROUP;
    pending->silent = takes_silence(&sw_resp_of(conn)->session);
    sw_conn_accept(conn, false);
}

struct sw_replies_mark sw_replies_add_array(struct sw_replies *replies, struct sw_conn *conn,
                                            const struct sw_command *command, uint32_t count)
{
    struct sw_replies_mark mark = {replies->pendings, replies->batch.groups};
    struct sw_pending *pending = append(replies, conn, command);
    pending->kind = SW_REPLY_KIND_ARRAY;
    pending->count = count;
    sw_conn_accept(conn, false);
    return mark;
}

void sw_replies_join(struct sw_replies *replies, struct sw_replies_mark mark, bool silent)
{
    bool has_operations = replies->batch.groups > mark.groups;
    sw_resp_batch_join_groups(&replies->batch, mark.groups);
    for (uint32_t i = mark.pendings; i < replies->pendings; i++) {
        struct sw_pending *pending = &replies->pending[i];
        pending->group = has_operations ? mark.groups : SW_NO_GROUP;
        pending->silent = silent;
        pending->element = i > mark.pendings;
    }
}

void sw_resp_line(struct sw_conn *conn, const struct sw_command *command, const char *line)
{
    struct sw_replies *replies = sw_resp_of(conn)->resp->filling;
    size_t first = replies->text.size;
    if (!takes_silence(&sw_resp_of(conn)->session)) {
        sw_text_append(&replies->text, line, strlen(line));
    }
    sw_replies_add_text(replies, conn, command, first);
}

void sw_resp_error(struct sw_conn *conn, const struct sw_command *command, const char *format, ...)
{
    struct sw_replies *replies = sw_resp_of(conn)->resp->filling;
    size_t first = replies->text.size;
    char line[ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (!takes_silence(&sw_resp_of(conn)->session)) {
        sw_text_error(&replies->text, line);
    }
    sw_replies_add_text(replies, conn, command, first);
}

void sw_replies_submit(struct sw_replies *replies)
{
    struct sw_resp *resp = replies->resp;
    assert(resp->running == NULL && resp->filling == replies && replies->pendings > 0);
    resp->running = replies;
    resp->net->retry = true; /* the other batch is empty: connections that wait for room go first */
    resp->filling = &resp->replies[replies == &resp->replies[0]];
    resp->is_plain = false;
    sw_replies_send(replies);
}

void sw_replies_send(struct sw_replies *replies)
{
    struct sw_resp *resp = replies->resp;
    if (replies->batch.operations == 0) {
        replies->submitted_ns = 0;
        sw_replies_finish(replies);
    } else {
        replies->submitted_ns = uv_hrtime();
        sw_resp_batch_submit(&replies->batch);
        if (resp->memory->is_exhausted && sw_table_is_held(resp->batches->table)) {
            resp->memory->is_exhausted = false; /* what it uses no longer counts */
        }
    }
}
