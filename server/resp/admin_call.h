/* SPDX-License-Identifier: MIT
 *
 * admin_call.h - what the files that carry out REPORT and SESSION commands share.
 */
#ifndef SHERWOOD_SERVER_RESP_ADMIN_CALL_H
#define SHERWOOD_SERVER_RESP_ADMIN_CALL_H

#include "server/resp/session.h"

/* One command being carried out. Everything is borrowed for the call. */
struct sw_call {
    const struct sw_admin *admin;
    const struct sw_command *command;
    uint32_t count; /* arguments, the command's name included */
    const struct sw_resp_argument *arguments;
    struct sw_session *session;
    struct sw_text *reply;
    bool reply_anyway; /* CLIENT REPLY ON is answered although its reply was to be skipped */
};

/* A subcommand: arity as in commands, counting the command's name too. `usage` and `help` are its
 * lines of the HELP subcommand, which every list gets. `run` is NULL where a list only serves HELP.
 * A NULL name ends a list. */
struct sw_subcommand {
    const char *name; /* upper case */
    int arity;
    void (*run)(struct sw_call *call);
    const char *usage;
    const char *help;
};

/* Runs the subcommand named by argument 1, or replies with redis's error. */
void sw_call_subcommand(struct sw_call *call, const struct sw_subcommand *list);

/* The reply to HELP of a command that has these subcommands. */
void sw_subcommand_help(const struct sw_command *command, const struct sw_subcommand *list,
                        struct sw_text *reply);
static inline bool sw_subcommand_arity_fits(const struct sw_subcommand *row, uint32_t count)
{
    return row->arity >= 0 ? count == (uint32_t)row->arity : count >= (uint32_t)-row->arity;
}
/* The lines of errors: of a wrong number of arguments, and of a subcommand that is not there. */
void sw_subcommand_wrong_count(const struct sw_command *command, const struct sw_subcommand *row,
                               char *line, size_t size);
void sw_subcommand_unknown(const struct sw_command *command, const struct sw_resp_argument *word,
                           char *line, size_t size);

/* Replies "-<line>". */
__attribute__((format(printf, 2, 3))) void sw_call_error(struct sw_call *call, const char *format,
                                                         ...);
void sw_call_syntax_error(struct sw_call *call);
void sw_call_ok(struct sw_call *call);
/* "%.*s" of an argument, cut to what an error line shows. */
#define SW_CALL_SHOWN(argument) \
    (int)((argument)->size < 128 ? (argument)->size : 128), (const char *)(argument)->text

/* A signed decimal as redis reads one: no leading zeros, no "+", no spaces. */
bool sw_argument_integer(const struct sw_resp_argument *argument, int64_t *out);
/* Glob as in redis: * ? [a-z] [^a] and \, without regard to case. A pattern longer than
 * SW_GLOB_BYTES_MAX matches nothing. */
#define SW_GLOB_BYTES_MAX 256
bool sw_argument_glob(const struct sw_resp_argument *pattern, const char *name);

/* The functions of the rows of kind REPORT and SESSION, in the admin*.c files. Each makes one reply
 * (SHUTDOWN none). */
#define SW_DECLARE_REPORT(function) void sw_call_##function(struct sw_call *call);
#define SW_DECLARE_SESSION(function) void sw_call_##function(struct sw_call *call);
#define SW_DECLARE_ONE_KEY(...)
#define SW_DECLARE_EACH_KEY(...)
#define SW_DECLARE_KEY_FUNCTION(...)
#define SW_DECLARE_TABLE(...)
#define SW_DECLARE_TRANSACTION(...)
#define SW_EXPAND(x) x /* gcc needs none of it, cppcheck does */
#define SW_DECLARE(id, name, arity, keys, group, effect, speed, in_multi, how, summary) \
    SW_EXPAND(SW_DECLARE_##how)
SW_COMMAND_MAP(SW_DECLARE)
#undef SW_DECLARE

#endif
