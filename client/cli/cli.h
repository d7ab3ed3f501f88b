/* SPDX-License-Identifier: MIT
 *
 * cli.h - what the files of sherwood-cli share. The program has one thread.
 */
#ifndef SHERWOOD_CLIENT_CLI_CLI_H
#define SHERWOOD_CLIENT_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "client/cli/login.h"
#include "client/sherwood.h"

#define SW_CLI_ADDRESS_BYTES 1024
/* The most addresses that -a may have. */
#define SW_CLI_ADDRESSES_MAX 64
#define SW_CLI_ERROR_BYTES 512
/* The largest length of a command that is typed or piped, which also limits the number of its
 * words. */
#define SW_CLI_LINE_BYTES_MAX (1U << 20)
/* The keys of a frame of load and of dump. */
#define SW_CLI_FRAME_KEYS 65536

/* The format of a file of pairs. */
enum sw_cli_format { SW_CLI_FORMAT_UNKNOWN, SW_CLI_FORMAT_CSV, SW_CLI_FORMAT_BINARY };

/* The command line. Texts are borrowed from argv. */
struct sw_cli_options {
    const char *program; /* as it was called */
    char address[SW_CLI_ADDRESS_BYTES];
    struct sherwood_options connection; /* TLS settings; its texts are borrowed from argv */
    struct sw_cli_login login;
    const char *table; /* its name or number; NULL: the default table */
    const char
        *into;  /* load: the table that gets the pairs, made if it does not exist; NULL: `table` */
    bool swaps; /* load: swap `into` and `table` at the end */
    enum sw_cli_format format;
    int raw; /* 1: plain output, 0: output for people, -1: plain unless stdout is a terminal */
    const char *watch; /* --stat, --latency: the name of the tool for sw_cli_watch; NULL: neither */
    bool quiet;
    bool cluster;      /* the address is a node of a cluster */
    bool names_server; /* an option names the server; otherwise the address is the default */
    bool help;
    bool version;
    int words; /* index in argv where the command begins; argc if none */
};

/* The connection, and where replies are printed. */
struct sw_cli {
    const struct sw_cli_options *options;
    struct sherwood *client; /* of the table; owned; NULL after the connection was lost */
    struct sherwood *server; /* has the connection; owned; `client` if no table is named */
    FILE *out;               /* borrowed */
    FILE *messages;          /* borrowed: errors, warnings, and progress of load and dump */
    bool raw;
    bool failed;           /* the reply to the last command was an error */
    bool has_cursor;       /* SCAN has shown a cursor of the present connection */
    bool lost_cursors;     /* SCAN has shown cursors of a connection that has ended */
    bool warned_of_hashes; /* the warning was printed: RESP clients see hashes of key strings, this
                              program sees numbers */
    bool quit;
};

/* Reads the command line. Returns false with a sentence in `text`. */
bool sw_cli_options_read(int argc, char **argv, struct sw_cli_options *options, char *text,
                         size_t text_bytes);
void sw_cli_help(FILE *out);
/* Prints the help of a tool: load, cluster, snapshot, .. Returns false if no tool has this name. */
bool sw_cli_help_tool(FILE *out, const char *tool);
/* Return the format of a name ("csv", "bin"), or of a file by the end of its name. */
enum sw_cli_format sw_cli_format_named(const char *name);
enum sw_cli_format sw_cli_format_of_path(const char *path);
/* Prints what to do if neither the name of a file nor an option gives its format. */
void sw_cli_format_unknown(struct sw_cli *cli, const char *name);

/* Connects, unless there is a connection. On failure it prints the reason to `messages` and returns
 * false. */
bool sw_cli_connect(struct sw_cli *cli);
/* Closes the handles, if there are any. */
void sw_cli_disconnect(struct sw_cli *cli);
/* Returns what to add to the error of a node that refused keys of other nodes; "" for other errors.
 */
const char *sw_cli_cluster_hint(const struct sw_cli *cli, const char *text);
/* Prints the error of a call of the library that failed, and closes the handle if its connection
 * has ended. Returns false. */
bool sw_cli_library_error(struct sw_cli *cli);

/* Splits a line into words, which overwrites it, and runs the command. */
void sw_cli_run_line(struct sw_cli *cli, char *line);
/* Prompts on the terminal until the user quits. Returns the exit status. */
int sw_cli_prompt(struct sw_cli *cli);
/* Runs the commands in `in`, one per line. Returns 1 if the reply to any was an error. */
int sw_cli_pipe(struct sw_cli *cli, FILE *in);

/* Run load and dump. The path "-" is stdin or stdout. They return the exit status. */
int sw_cli_load(struct sw_cli *cli, const char *path);
int sw_cli_dump(struct sw_cli *cli, const char *path);

/* Runs snapshot. `words` are those after "snapshot". Returns the exit status. */
int sw_cli_run_snapshot(struct sw_cli *cli, int count, char **words);

/* sw_cli_watches returns whether a word is stat, latency or top. sw_cli_watch runs one of them: it
 * prints figures of a server repeatedly. `words` begin with the name. Returns the exit status. */
bool sw_cli_watches(const char *word);
int sw_cli_watch(struct sw_cli *cli, int count, char **words);

/* Runs digest. `words` are the addresses of the other servers. Returns the exit status. */
int sw_cli_digest(struct sw_cli *cli, int count, char **words);
/* Runs cluster create, slots, check and the other tools. `words` are those after "cluster". Returns
 * the exit status. */
int sw_cli_cluster(struct sw_cli *cli, int count, char **words);

/* Runs table list, create and the other changes. `words` are those after "table". Returns the exit
 * status. */
int sw_cli_table(struct sw_cli *cli, int count, char **words);
/* Make the table of --into and use it, and swap it at the end of load. Return true without these
 * options. On failure they print the reason to `messages`. */
bool sw_cli_enter_table(struct sw_cli *cli);
bool sw_cli_swap_table(struct sw_cli *cli);

/* Runs ha status, switch and forget. `words` are those after "ha". Returns the exit status. */
int sw_cli_ha(struct sw_cli *cli, int count, char **words);

/* Runs summary, which takes no words (`count` is their number): scans the table and prints the
 * distribution of keys and values. Returns the exit status. */
int sw_cli_summary(struct sw_cli *cli, int count);

/* Runs log check and log export on a data directory, without a server. `words` are those after
 * "log". Returns the exit status. */
int sw_cli_run_wal(struct sw_cli *cli, int count, char **words);

/* Splits a line into words in place. Words are separated by blanks. Text in double quotes, which
 * may have escapes ("\n", "\xff"), and in single quotes is one word. Returns the number of words,
 * or -1 if a quote is not closed or is followed by more text, if a word would have a NUL byte
 * ("\x00"), or if there are more than words_max words. */
int sw_cli_split(char *line, char **words, int words_max);

#endif
