/* SPDX-License-Identifier: MIT
 *
 * config_fixture.h - sw_config_load with what it writes to stdout and stderr.
 */
#ifndef SHERWOOD_TESTS_SERVER_CONFIG_FIXTURE_H
#define SHERWOOD_TESTS_SERVER_CONFIG_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/config/options.h"
#include "table/table.h"

#define ARGUMENTS_MAX 24
#define OUTPUT_BYTES 65536

/* What sw_config_load wrote to stdout and stderr. */
struct output {
    char out[OUTPUT_BYTES], err[4096];
};

static inline int capture(int fd)
{
    int memory = memfd_create("captured", 0);
    cr_assert_geq(memory, 0);
    cr_assert_geq(dup2(memory, fd), 0);
    return memory;
}

static inline void read_back(int memory, char *text, size_t bytes)
{
    ssize_t size = pread(memory, text, bytes - 1, 0);
    cr_assert_geq(size, 0);
    text[size] = '\0';
    close(memory);
}

/* Loads with the flags given, NULL-terminated. */
static inline enum sw_config_action load(struct sw_config *config, struct output *output,
                                         const char *const flags[])
{
    char *argv[ARGUMENTS_MAX + 2] = {(char *)(uintptr_t) "sherwoodd"};
    int argc = 1, saved_out = dup(STDOUT_FILENO), saved_err = dup(STDERR_FILENO);
    for (; flags[argc - 1] != NULL; argc++) {
        cr_assert_leq(argc, ARGUMENTS_MAX);
        argv[argc] = (char *)(uintptr_t)flags[argc - 1];
    }
    fflush(stdout);
    int out = capture(STDOUT_FILENO), err = capture(STDERR_FILENO);
    enum sw_config_action action = sw_config_load(config, argc, argv);
    if (action == SW_CONFIG_CHECK) { /* main() does so if all files are as a start needs them */
        sw_config_print(config, stdout);
        action = SW_CONFIG_EXIT;
    }
    fflush(stdout);
    fflush(stderr);
    dup2(saved_out, STDOUT_FILENO);
    dup2(saved_err, STDERR_FILENO);
    close(saved_out);
    close(saved_err);
    read_back(out, output->out, sizeof(output->out));
    read_back(err, output->err, sizeof(output->err));
    return action;
}
#define FLAGS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
