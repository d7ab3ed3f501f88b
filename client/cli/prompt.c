/* SPDX-License-Identifier: MIT
 *
 * prompt.c - commands typed at a terminal, with history and completion by libedit.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <editline/readline.h>

#include "client/cli/commands.h"

#define HISTORY_FILE ".sherwoodcli_history"
#define HISTORY_LINES_MAX 1000
#define PATH_BYTES 4096

static char *next_command(const char *text, int state)
{
    /* libedit calls this function repeatedly, once for each match, and passes no state: so the
     * position is static. */
    static const struct sw_cli_command *at;
    size_t size = strlen(text);
    if (state == 0) {
        at = NULL;
    }
    while ((at = sw_cli_command_next(at)) != NULL) {
        if (strncasecmp(at->name, text, size) == 0) {
            return strdup(at->name);
        }
    }
    return NULL;
}

static char **complete(const char *text, int start, int end)
{
    (void)end;
    rl_attempted_completion_over = 1; /* otherwise libedit would complete names of files */
    return start == 0 ? rl_completion_matches(text, next_command) : NULL;
}

static bool history_path(char *path)
{
    const char *home = getenv("HOME");
    return home != NULL && snprintf(path, PATH_BYTES, "%s/" HISTORY_FILE, home) < (int)PATH_BYTES;
}

static bool is_blank(const char *line)
{
    while (isspace((unsigned char)*line)) {
        line++;
    }
    return *line == '\0';
}

int sw_cli_prompt(struct sw_cli *cli)
{
    char path[PATH_BYTES];
    char prompt[SW_CLI_ADDRESS_BYTES + 32];
    bool keeps = history_path(path);
    rl_readline_name = "sherwood-cli";
    rl_attempted_completion_function = complete;
    using_history();
    stifle_history(HISTORY_LINES_MAX);
    if (keeps) {
        (void)read_history(path);
    }
    while (!cli->quit) {
        snprintf(prompt, sizeof(prompt), "%s%s> ", cli->options->address,
                 cli->client == NULL ? " (not connected)" : "");
        char *line = readline(prompt);
        if (line == NULL) {
            fprintf(cli->out, "\n");
            break;
        }
        if (!is_blank(line)) {
            add_history(line);
            if (keeps) {
                (void)write_history(path);
            }
            sw_cli_run_line(cli, line);
        }
        free(line);
    }
    return 0;
}
