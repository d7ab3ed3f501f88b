/* SPDX-License-Identifier: MIT
 *
 * replies.h - the replies that a loop's RESP commands are waiting for, in the order of the
 * commands.
 *
 * A command appends its operations to the round, and one pending reply. When the batch is done, the
 * replies are written in the same order. A command without operations appends its text, which waits
 * its turn like any other reply. One owner thread.
 */
#ifndef SHERWOOD_SERVER_RESP_REPLIES_H
#define SHERWOOD_SERVER_RESP_REPLIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/batch/round.h"
#include "server/observe/text.h"
#include "server/resp/command.h"
#include "server/resp/reply_kind.h"

struct sw_conn;
struct sw_resp;

struct sw_pending {
    struct sw_conn *conn;
    uint32_t first;  /* operation, or offset in the round's text */
    uint32_t count;  /* operations, or bytes of text */
    uint32_t group;  /* of the batch, or SW_NO_GROUP */
    uint8_t answer;  /* enum sw_answer */
    uint8_t command; /* enum sw_command_id, or SW_COMMAND_COUNT if unknown */
    bool resp3;
    bool silent;  /* CLIENT REPLY OFF or SKIP */
    bool element; /* of an array that EXEC replies with */
};
#define SW_NO_GROUP UINT32_MAX /* the reply does not depend on the table */

struct sw_replies {
    struct sw_round round;
    struct sw_resp *resp;
    struct sw_pending *pending;
    uint32_t pending_max;
    uint32_t pendings;
    uint64_t submitted_ns; /* 0: the round has no operations */
    struct sw_text text;   /* of replies that do not come from the table */
};

/* Returns 0, or -1 (memory); fini is allowed after both. */
int sw_replies_init(struct sw_replies *replies, struct sw_resp *resp,
                    struct sw_commit_batch *commit);
void sw_replies_fini(struct sw_replies *replies);

/* Is there room for one more command of this many operations? */
bool sw_replies_has_room(const struct sw_replies *replies, uint32_t operations);

/* Appends the reply of `conn` for the operations since `first`, which become a group. */
void sw_replies_add(struct sw_replies *replies, struct sw_conn *conn,
                    const struct sw_command *command, enum sw_answer answer, uint32_t first);
/* Appends a reply that is the text since `first` (empty: nothing is sent). `command` may be NULL.
 */
void sw_replies_add_text(struct sw_replies *replies, struct sw_conn *conn,
                         const struct sw_command *command, size_t first);

/* Appends the reply to a command that waits for EXEC. */
void sw_replies_add_queued(struct sw_replies *replies, struct sw_conn *conn,
                           const struct sw_command *command);

/* Where a transaction begins. */
struct sw_replies_mark {
    uint32_t pendings;
    uint32_t groups;
};
/* Appends the head of an array of so many replies, which the caller adds next. */
struct sw_replies_mark sw_replies_add_array(struct sw_replies *replies, struct sw_conn *conn,
                                            const struct sw_command *command, uint32_t count);
/* Makes one group of all operations added since `mark`: they take effect or are refused together,
 * and what is replied is the array, or one error. */
void sw_replies_join(struct sw_replies *replies, struct sw_replies_mark mark, bool silent);

/* Queues a line, whole with its type and "\r\n", as the command's reply, in order. */
void sw_resp_line(struct sw_conn *conn, const struct sw_command *command, const char *line);
/* Queues "-<line>\r\n" as the command's reply, in order (command may be NULL). */
__attribute__((format(printf, 3, 4))) void
sw_resp_error(struct sw_conn *conn, const struct sw_command *command, const char *format, ...);

/* Sends the round on its way; something is pending. Its replies are written when it is done, at
 * once if it has no operations. */
void sw_replies_submit(struct sw_replies *replies);

/* Writes the replies (write_replies.c). */
void sw_replies_write(struct sw_replies *replies);

#endif
