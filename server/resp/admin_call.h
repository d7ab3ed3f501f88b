/* SPDX-License-Identifier: MIT
 *
 * admin_call.h - helpers of the files that carry out REPORT and SESSION commands (admin*.c).
 * Everything is called on the connection's loop. A wrong argument gets an error as the reply.
 */
#ifndef SHERWOOD_SERVER_RESP_ADMIN_CALL_H
#define SHERWOOD_SERVER_RESP_ADMIN_CALL_H

#include "server/resp/session.h"

/* The context of one command. All pointers are borrowed for the call. */
struct sw_call {
    const struct sw_admin *admin;
    const struct sw_command *command;
    uint32_t count; /* number of arguments, with the command's name */
    const struct sw_resp_argument *arguments;
    struct sw_session *session;
    struct sw_text *reply; /* the reply is appended here */
    bool reply_anyway;     /* set by CLIENT REPLY ON: its reply is sent even after SKIP */
};

/* A subcommand. In a list, a row with a NULL name is the end. Every list has the subcommand HELP,
 * without a row. */
struct sw_subcommand {
    const char *name;                  /* in upper case */
    int arity;                         /* as in struct sw_command; the command's name counts too */
    void (*run)(struct sw_call *call); /* NULL: the list is only used for HELP */
    const char *usage;                 /* its arguments, for HELP */
    const char *help;                  /* a sentence, for HELP */
};

/* Runs the subcommand that argument 1 names, or replies with the error that redis has for it. */
void sw_call_subcommand(struct sw_call *call, const struct sw_subcommand *list);

/* sw_client_name_is_allowed replies with an error and returns false if the argument cannot be a
 * client's name. sw_client_set_name sets a name that is allowed. */
bool sw_client_name_is_allowed(struct sw_call *call, const struct sw_resp_argument *argument);
void sw_client_set_name(struct sw_call *call, const struct sw_resp_argument *name);
/* Writes the line of CLIENT INFO about a connection that runs this command. */
void sw_client_describe(struct sw_text *text, const struct sw_conn *conn, const char *command);

/* Appends the reply to HELP of a command with these subcommands. */
void sw_subcommand_help(const struct sw_command *command, const struct sw_subcommand *list,
                        struct sw_text *reply);
/* Does a subcommand with `count` arguments fit the arity? */
static inline bool sw_subcommand_arity_fits(const struct sw_subcommand *row, uint32_t count)
{
    return row->arity >= 0 ? count == (uint32_t)row->arity : count >= (uint32_t)-row->arity;
}
/* Write the error lines for a wrong number of arguments, and for an unknown subcommand. */
void sw_subcommand_wrong_count(const struct sw_command *command, const struct sw_subcommand *row,
                               char *line, size_t size);
void sw_subcommand_unknown(const struct sw_command *command, const struct sw_resp_argument *word,
                           char *line, size_t size);

/* Replies with the error "-<line>". */
__attribute__((format(printf, 2, 3))) void sw_call_error(struct sw_call *call, const char *format,
                                                         ...);
void sw_call_syntax_error(struct sw_call *call);
void sw_call_ok(struct sw_call *call);
/* The two arguments of "%.*s" that print an argument, cut to the length that error lines show. */
#define SW_CALL_SHOWN(argument) \
    (int)((argument)->size < 128 ? (argument)->size : 128), (const char *)(argument)->text

/* Parses a signed decimal number as redis does: without leading zeros, "+" or spaces. Returns false
 * if it is not one. */
bool sw_argument_integer(const struct sw_resp_argument *argument, int64_t *out);
/* Parse a float of 32 or 64 bits, which may be infinite. Return false if it is not one. */
bool sw_argument_float(const struct sw_resp_argument *argument, float *out);
bool sw_argument_double(const struct sw_resp_argument *argument, double *out);
/* Does the name match a glob pattern as in redis: * ? [a-z] [^a] and \, ignoring case? A pattern
 * longer than SW_GLOB_BYTES_MAX matches nothing. */
#define SW_GLOB_BYTES_MAX 256
bool sw_argument_glob(const struct sw_resp_argument *pattern, const char *name);

/* The functions that the rows of kind REPORT and SESSION name; they are in the admin*.c files. Each
 * appends one reply (SHUTDOWN none). */
#define SW_DECLARE_REPORT(function) void sw_call_##function(struct sw_call *call);
#define SW_DECLARE_SESSION(function) void sw_call_##function(struct sw_call *call);
#define SW_DECLARE_RMW(...)
#define SW_DECLARE_ONE_KEY(...)
#define SW_DECLARE_EACH_KEY(...)
#define SW_DECLARE_KEY_FUNCTION(...)
#define SW_DECLARE_TABLE(...)
#define SW_DECLARE_SAVER(...)
#define SW_DECLARE_TRANSACTION(...)
#define SW_EXPAND(x) x /* not needed by gcc, but by cppcheck */
#define SW_DECLARE(id, name, arity, keys, group, effect, speed, in_multi, how, summary) \
    SW_EXPAND(SW_DECLARE_##how)
SW_COMMAND_MAP(SW_DECLARE)
#undef SW_DECLARE

#endif
