/* SPDX-License-Identifier: MIT
 *
 * cli.h - sherwood-cli: what its files share. One thread.
 */
#ifndef SHERWOOD_CLIENT_CLI_CLI_H
#define SHERWOOD_CLIENT_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "client/sherwood.h"

#define SW_CLI_ADDRESS_BYTES 300
#define SW_CLI_ERROR_BYTES 512
/* A command typed or piped; also bounds how many words it has. */
#define SW_CLI_LINE_BYTES_MAX (1U << 20)
/* Keys of a frame of load and dump. */
#define SW_CLI_FRAME_KEYS 65536

/* How pairs lie in a file. */
enum sw_cli_format { SW_CLI_FORMAT_UNKNOWN, SW_CLI_FORMAT_CSV, SW_CLI_FORMAT_BINARY };

/* The command line. Texts are borrowed from argv. */
struct sw_cli_options {
    char address[SW_CLI_ADDRESS_BYTES];
    enum sw_cli_format format;
    int raw; /* 1: plain output, 0: output for people, -1: as stdout is a terminal or not */
    bool quiet;
    bool help;
    bool version;
    int words; /* index in argv where the command begins; argc if none */
};

/* A connection and where answers go. */
struct sw_cli {
    const struct sw_cli_options *options;
    struct sherwood *client; /* owned; NULL after the connection was lost */
    FILE *out;               /* borrowed */
    FILE *messages;          /* borrowed: errors and progress of load and dump */
    bool raw;
    bool failed; /* the last command answered an error */
    bool quit;
};

/* Reads the command line. Returns false with a sentence in `text`. */
bool sw_cli_options_read(int argc, char **argv, struct sw_cli_options *options, char *text,
                         size_t text_bytes);
void sw_cli_help(FILE *out);
/* "csv", "bin"; or the end of a file's name. */
enum sw_cli_format sw_cli_format_named(const char *name);
enum sw_cli_format sw_cli_format_of_path(const char *path);

/* Connects unless that is done; says what went wrong on `messages`. */
bool sw_cli_connect(struct sw_cli *cli);
/* A call of the library failed: says so, and drops a connection that is over. Returns false. */
bool sw_cli_library_error(struct sw_cli *cli);

/* Splits and runs one line, which is overwritten. */
void sw_cli_run_line(struct sw_cli *cli, char *line);
/* Prompts on the terminal until the user leaves. Returns the exit status. */
int sw_cli_prompt(struct sw_cli *cli);
/* Reads commands from `in`, one a line. Returns 1 if any answered an error. */
int sw_cli_pipe(struct sw_cli *cli, FILE *in);

/* sherwood-cli load FILE, dump FILE. "-" is stdin, stdout. Return the exit status. */
int sw_cli_load(struct sw_cli *cli, const char *path);
int sw_cli_dump(struct sw_cli *cli, const char *path);

/* Can a file of this format hold the server's values? Says so if not. */
bool sw_cli_format_fits(struct sw_cli *cli, const char *name, enum sw_cli_format format);

/* Splits a line into words in place: blanks separate, double quotes ("\n", "\xff" and so on inside)
 * and single quotes hold together. Returns the number of words, or -1 if a quote is not closed or
 * is followed by more text, if a word would hold a NUL byte ("\x00"), or if there are more than
 * words_max words. */
int sw_cli_split(char *line, char **words, int words_max);

#endif
