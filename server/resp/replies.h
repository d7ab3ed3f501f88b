/* SPDX-License-Identifier: MIT
 *
 * replies.h - a RESP batch and the pending replies of its commands, in the order of the commands.
 *
 * A command appends its operations to the batch, and one pending reply. When the batch is done, the
 * replies are written in the same order. A command without operations appends a text reply, which
 * is sent in the same order as all others. Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_RESP_REPLIES_H
#define SHERWOOD_SERVER_RESP_REPLIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/batch/resp_batch.h"
#include "server/observe/text.h"
#include "server/resp/command.h"
#include "server/resp/reply_kind.h"

struct sw_conn;
struct sw_resp;

/* A pending reply: how to make the reply to one command when the results are there. */
struct sw_pending {
    struct sw_conn *conn;
    uint32_t first;  /* index of the first operation, or offset of a text reply */
    uint32_t count;  /* number of operations, or bytes of a text reply */
    uint32_t group;  /* number of the command's group in the batch, or SW_NO_GROUP */
    uint8_t kind;    /* enum sw_reply_kind */
    uint8_t command; /* enum sw_command_id, or SW_COMMAND_COUNT for an unknown command */
    bool resp3;      /* the client has chosen RESP3 */
    bool silent;     /* the reply is not sent: CLIENT REPLY OFF or SKIP */
    bool element;    /* the reply is an element of the array that EXEC replies with */
};
#define SW_NO_GROUP UINT32_MAX /* the reply does not depend on the table */

/* Memory of a RESP batch and its replies. A loop has some, and lends them (resp_memory.h). */
struct sw_replies_memory {
    struct sw_replies *borrower; /* which has it now; NULL: none */
    void *io;                    /* I/O memory for the arrays of a batch */
    size_t io_bytes;
    struct sw_pending *pending; /* round_ops_max of them */
    struct sw_text text;        /* while there is no borrower */
    bool is_used;               /* a batch has begun in it since the last sweep */
    uint64_t used_ms;           /* the last sweep that found it in use */
};

struct sw_replies {
    struct sw_resp_batch batch;
    struct sw_resp *resp;             /* borrowed */
    struct sw_replies_memory *memory; /* borrowed; NULL: there is none, and no room */
    struct sw_pending *pending;       /* the pending replies */
    uint32_t pending_max;             /* size of `pending`; 0: there is no memory */
    uint32_t pendings;                /* number of pending replies */
    uint64_t began_ns;                /* when its first command came, where commands are timed */
    uint64_t submitted_ns;            /* when the batch was submitted; 0: it has no operations */
    bool is_aborted;                  /* the array of EXEC is null: its elements are not sent */
    struct sw_text text;              /* the text replies, one behind the other */
};

/* Text replies that pass the batches of a table while it is held. Their connections wait for no
 * other reply. The reply to SELECT of another table may be one of them. */
#define SW_ASIDE_MAX 64U
struct sw_aside {
    struct sw_replies replies;
    struct sw_replies_memory memory;
    struct sw_resp_flight flight; /* never submitted */
    struct sw_pending pending[SW_ASIDE_MAX];
};

/* Returns NULL if there is no memory. Borrows `resp`. */
struct sw_aside *sw_aside_create(struct sw_resp *resp);
/* Writes the replies, and frees a long text: each table of a loop has an aside. */
void sw_aside_finish(struct sw_aside *aside);
/* NULL is allowed. No reply is pending. */
void sw_aside_destroy(struct sw_aside *aside);

/* Borrows `resp`. There is no memory yet. */
void sw_replies_init(struct sw_replies *replies, struct sw_resp *resp);
/* Takes memory that has no borrower, and returns it. Both are called while no reply is pending.
 * sw_replies_give_back does nothing if there is no memory. */
void sw_replies_borrow(struct sw_replies *replies, struct sw_replies_memory *memory);
void sw_replies_give_back(struct sw_replies *replies);

/* Is there memory, and room for one more command with this many operations? */
bool sw_replies_has_room(const struct sw_replies *replies, uint32_t operations);

/* Makes a group of the operations from index `first` on, and appends the pending reply to them. */
void sw_replies_add(struct sw_replies *replies, struct sw_conn *conn,
                    const struct sw_command *command, enum sw_reply_kind kind, uint32_t first);
/* Appends a text reply: the bytes of replies->text from offset `first` on. If there are none,
 * nothing is sent. `command` may be NULL. */
void sw_replies_add_text(struct sw_replies *replies, struct sw_conn *conn,
                         const struct sw_command *command, size_t first);

/* Appends the reply +QUEUED to a command that waits for EXEC. */
void sw_replies_add_queued(struct sw_replies *replies, struct sw_conn *conn,
                           const struct sw_command *command);

/* The position in a batch at which a transaction begins. */
struct sw_replies_mark {
    uint32_t pendings; /* pending replies before it */
    uint32_t groups;   /* groups before it */
};
/* Appends the head of an array of `count` replies, which the caller appends next. */
struct sw_replies_mark sw_replies_add_array(struct sw_replies *replies, struct sw_conn *conn,
                                            const struct sw_command *command, uint32_t count);
/* Makes one group of all operations added since `mark`. They take effect or are refused together,
 * and the reply is the array, or one error. `silent`: neither is sent. */
void sw_replies_join(struct sw_replies *replies, struct sw_replies_mark mark, bool silent);

/* Appends a text reply that is this line, complete with its type and "\r\n". */
void sw_resp_line(struct sw_conn *conn, const struct sw_command *command, const char *line);
/* Appends the error reply "-<line>\r\n". `command` may be NULL. */
__attribute__((format(printf, 3, 4))) void
sw_resp_error(struct sw_conn *conn, const struct sw_command *command, const char *format, ...);

/* Submits the batch, which must have pending replies. They are written when its batch is done, or
 * at once if it has no operations. The other batch is filled meanwhile. */
void sw_replies_submit(struct sw_replies *replies);
/* Submits a batch that is not being filled, or finishes one without operations. */
void sw_replies_send(struct sw_replies *replies);

/* To be called when the batch is done: writes the replies, and empties the batch. */
void sw_replies_finish(struct sw_replies *replies);

/* Writes the pending replies of a batch whose results are there (write_replies.c). May free
 * connections. */
void sw_replies_write(struct sw_replies *replies);

#endif
