/* SPDX-License-Identifier: MIT
 *
 * commands.h - the commands of sherwood-cli and their table.
 */
#ifndef SHERWOOD_CLIENT_CLI_COMMANDS_H
#define SHERWOOD_CLIENT_CLI_COMMANDS_H

#include "client/cli/cli.h"

struct sw_cli_command {
    const char *name; /* upper case */
    const char *arguments;
    const char *summary;
    const char *details; /* or NULL */
    int words_min;       /* counts the name */
    int words_max;       /* 0: no limit */
    bool connects;
    /* Prints the reply to cli->out, and sets cli->failed if it is an error. `code` is the field
     * below. */
    void (*run)(struct sw_cli *cli, int code, int count, char **words);
    int code; /* an operation, or another constant, for functions that several commands share */
};

/* Runs one command of `count` words. */
void sw_cli_run(struct sw_cli *cli, int count, char **words);
/* Returns the command after this one in the table, or the first one for NULL. Returns NULL after
 * the last one. */
const struct sw_cli_command *sw_cli_command_next(const struct sw_cli_command *command);

/* data.c */
void sw_cli_get(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_mget(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_assign(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_insert(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_set(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_mset(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_count(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_prefix(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_combine(struct sw_cli *cli, int code, int count, char **words);
/* bits.c */
void sw_cli_bits(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_cas(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_setnx(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_getset(struct sw_cli *cli, int code, int count, char **words);
/* times.c; the codes are of enum sw_cli_time, or of operations */
void sw_cli_expire(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_persist(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_getex(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_ttl(struct sw_cli *cli, int code, int count, char **words);
/* ranges.c */
void sw_cli_add(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_get_range(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_set_range(struct sw_cli *cli, int code, int count, char **words);
/* scores.c; the codes of sw_cli_score_range */
enum { SW_CLI_COUNT, SW_CLI_ERASE };
void sw_cli_score(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_score_range(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_epoch(struct sw_cli *cli, int code, int count, char **words);
/* admin.c */
void sw_cli_ping(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_dbsize(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_scan(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_flushall(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_wait(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_resize(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_info(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_hello(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_echo(struct sw_cli *cli, int code, int count, char **words);
void sw_cli_quit(struct sw_cli *cli, int code, int count, char **words);

#endif
