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
 * lines of the HELP subcommand, which every list gets. A NULL name ends a list. */
struct sw_subcommand {
    const char *name; /* upper case */
    int arity;
    void (*run)(struct sw_call *call);
    const char *usage;
    const char *help;
};

/* Runs the subcommand named by argument 1, or replies with redis's error. */
void sw_call_subcommand(struct sw_call *call, const struct sw_subcommand *list);

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

/* One file each. */
void sw_call_auth(struct sw_call *call);
void sw_call_hello(struct sw_call *call);
void sw_call_reset(struct sw_call *call);
void sw_call_client(struct sw_call *call);
void sw_call_command(struct sw_call *call);
void sw_call_config(struct sw_call *call);
void sw_call_latency(struct sw_call *call);
void sw_call_slowlog(struct sw_call *call);
void sw_call_shutdown(struct sw_call *call);
void sw_call_wait(struct sw_call *call);

#endif
