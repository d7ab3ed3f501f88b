/* SPDX-License-Identifier: MIT
 *
 * cli_fixture.h - sherwood-cli in the test process, connected to a fake table. One thread; a
 * test opens it, its suite closes it.
 */
#ifndef SHERWOOD_TESTS_CLIENT_CLI_FIXTURE_H
#define SHERWOOD_TESTS_CLIENT_CLI_FIXTURE_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "tests/support/fake_server.h"

static struct sw_fake_server server;
static struct sw_fake_table table;
static struct sw_cli_options options;
static struct sw_cli cli;
static char *output, *messages;
static size_t output_size, messages_size;
static char folder[] = "/tmp/sherwood-cli-XXXXXX";

static inline void open_cli(uint32_t key_bytes, uint32_t value_bytes, bool raw)
{
    sw_fake_table_init(&table, key_bytes, value_bytes, 1U << 19);
    sw_fake_start(&server, sw_fake_table_script, &table);
    options = (struct sw_cli_options){.quiet = true, .connection = SHERWOOD_OPTIONS_INIT};
    strcpy(options.address, server.address);
    cli = (struct sw_cli){.options = &options, .raw = raw};
    cli.out = open_memstream(&output, &output_size);
    cli.messages = open_memstream(&messages, &messages_size);
    strcpy(folder, "/tmp/sherwood-cli-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static inline void close_cli(void)
{
    if (cli.out == NULL) {
        return;
    }
    sherwood_close(cli.client);
    fclose(cli.out);
    fclose(cli.messages);
    free(output);
    free(messages);
    sw_fake_stop(&server);
    sw_fake_table_fini(&table);
    cr_expect_eq(rmdir(folder), 0, "%s is not empty", folder);
    cli.out = NULL;
}

/* Runs a line; what it printed, valid until the next. */
static inline const char *run_line(const char *line)
{
    char copy[512];
    strcpy(copy, line);
    rewind(cli.out);
    sw_cli_run_line(&cli, copy);
    fputc('\0', cli.out);
    fflush(cli.out);
    return output;
}

#endif
