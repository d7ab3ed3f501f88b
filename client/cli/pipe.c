/* SPDX-License-Identifier: MIT
 *
 * pipe.c - runs the commands in the lines of a file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/commands.h"
#include "client/cli/lines.h"
#include "client/cli/reply.h"
#include "proto/plural.h"

void sw_cli_run_line(struct sw_cli *cli, char *line)
{
    int words_max = (int)(strlen(line) / 2 + 1);
    char **words = malloc((size_t)words_max * sizeof(*words));
    if (words == NULL) {
        sw_cli_reply_error(cli, "ERR not enough memory for %d word%s", words_max,
                           sw_plural_s((uint64_t)words_max));
        return;
    }
    int count = sw_cli_split(line, words, words_max);
    if (count < 0) {
        sw_cli_reply_error(cli, "ERR unbalanced quotes, or a word with a NUL byte");
    } else {
        sw_cli_run(cli, count, words);
    }
    free(words);
    /* A program at the other end of a pipe may wait for this reply. */
    fflush(cli->out);
}

/* Runs line `number` of stdin, or prints why it cannot be read. Returns false if no more lines are
 * to be read. */
static bool run_read(struct sw_cli *cli, enum sw_cli_line found, char *line, uint64_t number)
{
    switch (found) {
    case SW_CLI_LINE_GOOD:
        sw_cli_run_line(cli, line);
        return true;
    case SW_CLI_LINE_NUL:
        sw_cli_reply_error(cli, "ERR stdin:%" PRIu64 ": the line has a NUL byte: it was not run",
                           number);
        fflush(cli->out);
        return true;
    case SW_CLI_LINE_LONG:
        fprintf(cli->messages,
                "sherwood-cli: stdin:%" PRIu64 ": a line is longer than %u bytes: split it, or use "
                "load\n",
                number, SW_CLI_LINE_BYTES_MAX - 1);
        break;
    case SW_CLI_LINE_UNREAD:
        fprintf(cli->messages, "sherwood-cli: stdin:%" PRIu64 ": %s\n", number, strerror(errno));
        break;
    case SW_CLI_LINE_END:
        break;
    }
    cli->failed = found != SW_CLI_LINE_END;
    return false;
}

int sw_cli_pipe(struct sw_cli *cli, FILE *in)
{
    char *line = malloc(SW_CLI_LINE_BYTES_MAX);
    if (line == NULL) {
        fprintf(cli->messages, "sherwood-cli: not enough memory\n");
        return 1;
    }
    int status = 0;
    bool more = true;
    for (uint64_t number = 1; more && !cli->quit; number++) {
        cli->failed = false;
        more = run_read(cli, sw_cli_line_read(in, line, SW_CLI_LINE_BYTES_MAX), line, number);
        status = cli->failed ? 1 : status;
    }
    free(line);
    return status;
}
