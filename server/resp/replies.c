/* SPDX-License-Identifier: MIT
 *
 * replies.c - replies that wait for their batch.
 */
#include "server/resp/replies.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/limits.h"
#include "server/net/conn.h"
#include "server/resp/resp.h"

/* Longest error line: 128 bytes each of a command's name and arguments, and the words around. */
#define ERROR_BYTES 512

/* The batch is done: the other round may follow. */
static void finish(struct sw_replies *replies)
{
    struct sw_resp *resp = replies->resp;
    sw_replies_write(replies);
    sw_round_reset(&replies->round);
    replies->pendings = 0;
    sw_text_reset(&replies->text);
    resp->running = NULL;
    resp->net->retry = true;
}

static void on_done(struct sw_round *round)
{
    finish(SW_CONTAINER(round, struct sw_replies, round));
}

int sw_replies_init(struct sw_replies *replies, struct sw_resp *resp,
                    struct sw_commit_batch *commit)
{
    uint32_t most = resp->net->config->round_ops_max;
    memset(replies, 0, sizeof(*replies));
    replies->resp = resp;
    replies->pending_max = most;
    sw_text_init(&replies->text, SW_ROUND_TEXT_BYTES_MAX);
    replies->pending = calloc(most, sizeof(*replies->pending));
    if (replies->pending == NULL) {
        return -1;
    }
    return sw_round_init(&replies->round, resp->batches, commit, most, on_done);
}

void sw_replies_fini(struct sw_replies *replies)
{
    sw_round_fini(&replies->round);
    free(replies->pending);
    sw_text_fini(&replies->text);
    replies->pending = NULL;
}

bool sw_replies_has_room(const struct sw_replies *replies, uint32_t operations)
{
    return replies->pendings < replies->pending_max &&
           sw_round_has_room(&replies->round, operations) &&
           replies->text.size <= SW_ROUND_TEXT_BYTES_MAX / 2;
}

static struct sw_pending *append(struct sw_replies *replies, struct sw_conn *conn,
                                 const struct sw_command *command)
{
    struct sw_pending *pending = &replies->pending[replies->pendings++];
    memset(pending, 0, sizeof(*pending));
    pending->conn = conn;
    pending->command = (uint8_t)(command != NULL ? command->id : SW_COMMAND_COUNT);
    pending->resp3 = sw_resp_of(conn)->session.resp3;
    return pending;
}

void sw_replies_add(struct sw_replies *replies, struct sw_conn *conn,
                    const struct sw_command *command, enum sw_answer answer, uint32_t first)
{
    struct sw_pending *pending = append(replies, conn, command);
    struct sw_session *session = &sw_resp_of(conn)->session;
    pending->answer = (uint8_t)answer;
    pending->first = first;
    pending->count = replies->round.operations - first;
    pending->silent = session->reply_mode != SW_REPLY_ON;
    replies->round.shows_values |= answer >= SW_ANSWER_BLOB;
    if (session->reply_mode == SW_REPLY_SKIP_NEXT) {
        session->reply_mode = SW_REPLY_ON;
    }
    pending->group = sw_round_end_group(&replies->round);
    sw_conn_accept(conn, true);
}

void sw_replies_add_text(struct sw_replies *replies, struct sw_conn *conn,
                         const struct sw_command *command, size_t first)
{
    struct sw_pending *pending = append(replies, conn, command);
    pending->answer = SW_ANSWER_TEXT;
    pending->first = (uint32_t)first;
    pending->count = (uint32_t)(replies->text.size - first);
    sw_conn_accept(conn, false);
}

void sw_resp_error(struct sw_conn *conn, const struct sw_command *command, const char *format, ...)
{
    struct sw_replies *replies = sw_resp_of(conn)->resp->gathering;
    struct sw_session *session = &sw_resp_of(conn)->session;
    size_t first = replies->text.size;
    char line[ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (session->reply_mode == SW_REPLY_ON) {
        sw_text_error(&replies->text, line);
    } else if (session->reply_mode == SW_REPLY_SKIP_NEXT) {
        session->reply_mode = SW_REPLY_ON;
    }
    sw_replies_add_text(replies, conn, command, first);
}

void sw_replies_submit(struct sw_replies *replies)
{
    struct sw_resp *resp = replies->resp;
    resp->running = replies;
    resp->net->retry = true; /* the other one is empty: who waited for room has the first turn */
    resp->gathering = &resp->replies[replies == &resp->replies[0]];
    if (replies->round.operations == 0) {
        finish(replies);
    } else {
        sw_round_submit(&replies->round);
    }
}
