/* SPDX-License-Identifier: MIT
 *
 * main.c - sherwood-cli: chooses between a prompt, one command, commands from a pipe, load and
 * dump.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "client/cli/commands.h"

/* Prints the help for "cluster create --help" or "get --help". Returns false if no such help
 * exists: then the last word is a key or a value. */
static bool help(struct sw_cli *cli, int count, char **words)
{
    char *help_words[] = {(char *)(uintptr_t) "HELP", words[0]};
    if (sw_cli_help_tool(cli->out, words[0])) {
        return true;
    }
    if (count == 2) {
        sw_cli_run(cli, 2, help_words);
    }
    return count == 2;
}

/* Runs load, dump and snapshot, which read or write a file; log, which reads a directory; or a
 * command of the table. */
static int run_words(struct sw_cli *cli, int count, char **words)
{
    if (count > 1 && strcmp(words[count - 1], "--help") == 0 && help(cli, count, words)) {
        return cli->failed ? 1 : 0;
    }
    if (strcasecmp(words[0], "snapshot") == 0) {
        return sw_cli_run_snapshot(cli, count - 1, words + 1);
    }
    bool load = strcasecmp(words[0], "load") == 0;
    if (!load && (cli->options->into != NULL || cli->options->swaps)) {
        fprintf(cli->messages, "sherwood-cli: --into and --swap are options of load\n");
        return 2;
    }
    if (strcasecmp(words[0], "log") == 0) {
        return sw_cli_run_wal(cli, count - 1, words + 1);
    }
    if (strcasecmp(words[0], "cluster") == 0) {
        return sw_cli_cluster(cli, count - 1, words + 1);
    }
    if (strcasecmp(words[0], "table") == 0) {
        return sw_cli_table(cli, count - 1, words + 1);
    }
    if (strcasecmp(words[0], "ha") == 0) {
        return sw_cli_ha(cli, count - 1, words + 1);
    }
    if (strcasecmp(words[0], "digest") == 0) {
        return sw_cli_digest(cli, count - 1, words + 1);
    }
    if (strcasecmp(words[0], "summary") == 0) {
        return sw_cli_summary(cli, count - 1);
    }
    if (sw_cli_watches(words[0])) {
        return sw_cli_watch(cli, count, words);
    }
    if (!load && strcasecmp(words[0], "dump") != 0) {
        sw_cli_run(cli, count, words);
        return cli->failed ? 1 : 0;
    }
    if (count != 2) {
        fprintf(cli->messages, "usage: sherwood-cli [options] %s FILE\n", words[0]);
        return 2;
    }
    return load ? sw_cli_load(cli, words[1]) : sw_cli_dump(cli, words[1]);
}

static int run_arguments(struct sw_cli *cli, int argc, char **argv)
{
    int words = cli->options->words;
    if (cli->options->watch != NULL) {
        char *watch[] = {(char *)(uintptr_t)cli->options->watch};
        return sw_cli_watch(cli, 1, watch);
    }
    if (words < argc) {
        return run_words(cli, argc - words, argv + words);
    }
    if (isatty(STDIN_FILENO) != 1) {
        return sw_cli_pipe(cli, stdin);
    }
    return sw_cli_connect(cli) ? sw_cli_prompt(cli) : 1;
}

/* Returns `status`, or 1 if the output could not be written. After a failed write, fflush may
 * succeed: ferror still reports it. */
static int written(int status)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0) {
        return status;
    }
    fprintf(stderr, "sherwood-cli: cannot write the output to stdout\n");
    return 1;
}

int main(int argc, char **argv)
{
    char text[SW_CLI_ERROR_BYTES];
    struct sw_cli_options options;
    if (!sw_cli_options_read(argc, argv, &options, text, sizeof(text))) {
        fprintf(stderr, "sherwood-cli: %s. See sherwood-cli --help.\n", text);
        return 2;
    }
    if (options.help || options.version) {
        if (options.help) {
            sw_cli_help(stdout);
        } else {
            printf("sherwood-cli %s\n", SHERWOOD_VERSION);
        }
        return written(0);
    }
    if (!sw_cli_login_complete(&options.login, getenv("SHERWOODCLI_AUTH"), text, sizeof(text))) {
        fprintf(stderr, "sherwood-cli: %s\n", text);
        return 2;
    }
    struct sw_cli cli = {.options = &options,
                         .out = stdout,
                         .messages = stderr,
                         .raw = options.raw < 0 ? isatty(STDOUT_FILENO) != 1 : options.raw == 1};
    int status = run_arguments(&cli, argc, argv);
    sw_cli_disconnect(&cli);
    sw_cli_login_forget(&options.login);
    return written(status);
}
