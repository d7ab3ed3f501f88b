/* SPDX-License-Identifier: MIT
 *
 * main.c - sherwood-load: loads a server and verifies its replies.
 */
#include "bench/load/report.h"
#include "client/cli/login.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_MISMATCH = 1, EXIT_USAGE = 2, EXIT_PEER = 3 };

static int exit_code(int status)
{
    switch (status) {
    case SW_LOAD_OK:
        return EXIT_SUCCESS;
    case SW_LOAD_E_MISMATCH:
        return EXIT_MISMATCH;
    case SW_LOAD_E_USAGE:
        return EXIT_USAGE;
    default:
        return EXIT_PEER;
    }
}

/* Executes the actions that do not run a load. */
static int answer(const struct sw_load_options *options)
{
    const struct sw_load_workload workload = {
        .seed = options->seed,
        .keys = options->keys,
        .key_bytes = options->key_bits / 8,
        .value_bytes = options->key_bits / 8,
    };
    switch (options->action) {
    case SW_LOAD_ACTION_HELP: /* the parser has printed the help */
        break;
    case SW_LOAD_ACTION_VERSION:
        printf("sherwood-load %s\n", SHERWOOD_VERSION);
        break;
    case SW_LOAD_ACTION_KEY_OF:
        printf("%" PRIu64 "\n", sw_load_key(&workload, options->action_argument));
        break;
    default:
        printf("%" PRIu64 "\n", sw_load_value(&workload, options->action_argument));
        break;
    }
    return EXIT_SUCCESS;
}

/* Prints the result as the options request, and closes `csv` unless it is NULL. Returns the run's
 * status, or the status of a failure here. */
static int report(const struct sw_load_options *options, const struct sw_load_result *result,
                  FILE *csv, int status)
{
    if (options->json && !options->quiet) {
        if (sw_load_report_json(stdout, options, result)) {
            fprintf(stderr, "sherwood-load: cannot write the JSON to stdout\n");
            status = SW_LOAD_E_NOMEM;
        }
    } else if (!options->quiet) {
        sw_load_report_text(stdout, options, result);
    }
    if (csv && sw_load_report_csv(csv, options, result)) {
        fprintf(stderr, "sherwood-load: %s: %s\n", options->csv, strerror(errno));
        status = SW_LOAD_E_NOMEM;
    }
    return status;
}

/* Runs the load and prints its result. Closes `csv` unless it is NULL. */
static int run_and_print(const struct sw_load_options *options, FILE *csv)
{
    char error[SW_LOAD_ERROR_BYTES];
    struct sw_load_result *result = calloc(1, sizeof(*result));
    if (!result) {
        fprintf(stderr, "sherwood-load: not enough memory\n");
        return EXIT_PEER;
    }
    int status = sw_load_run(options, result, error);
    if (status != SW_LOAD_OK && status != SW_LOAD_E_MISMATCH) {
        fprintf(stderr, "sherwood-load: %s\n", error);
        if (csv) {
            fclose(csv);
        }
    } else {
        bool is_mismatch = status == SW_LOAD_E_MISMATCH;
        status = report(options, result, csv, status);
        if (is_mismatch) {
            sw_load_report_mismatches(stderr, result);
        }
    }
    free(result);
    return exit_code(status);
}

/* Returns `code`, or EXIT_PEER if it reports success and the output could not be written. After a
 * failed write, fflush may succeed: ferror still reports it. */
static int written(int code)
{
    if (code != EXIT_SUCCESS || (fflush(stdout) == 0 && ferror(stdout) == 0)) {
        return code;
    }
    fprintf(stderr, "sherwood-load: cannot write the output to stdout\n");
    return EXIT_PEER;
}

int main(int argc, char **argv)
{
    struct sw_load_options options;
    char error[SW_LOAD_ERROR_BYTES];
    if (sw_load_options_parse(argc, argv, &options, error, sizeof(error))) {
        fprintf(stderr, "sherwood-load: %s\n", error);
        return EXIT_USAGE;
    }
    if (options.action != SW_LOAD_ACTION_RUN) {
        return written(answer(&options));
    }
    struct sw_cli_login login = {.user = options.user, .file = options.pass_file};
    if (!sw_cli_login_complete(&login, getenv("SHERWOODCLI_AUTH"), error, sizeof(error))) {
        fprintf(stderr, "sherwood-load: %s\n", error);
        return EXIT_USAGE;
    }
    options.password = sw_cli_login_password(&login);
    if (options.idle_connections > 0 && (options.user != NULL || options.password != NULL)) {
        fprintf(
            stderr,
            "sherwood-load: --idle-connections do not log in: leave out --user and the password\n");
        return EXIT_USAGE;
    }
    FILE *csv = NULL;
    if (options.csv && !(csv = fopen(options.csv, "a"))) { /* before a run whose result it keeps */
        fprintf(stderr, "sherwood-load: --csv: %s: %s: give a file that can be written\n",
                options.csv, strerror(errno));
        return EXIT_USAGE;
    }
    int code = run_and_print(&options, csv);
    sw_cli_login_forget(&login);
    return written(code);
}
