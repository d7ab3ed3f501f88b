/* SPDX-License-Identifier: MIT
 *
 * table.c - table: lists and changes the tables of a server; and load --into, which fills a table
 * beside the one that is served.
 */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "client/cli/cli.h"
#include "client/cli/reply.h"
#include "client/sherwood-tables.h"

#define ROWS 64

static void put_row(struct sw_cli *cli, const struct sherwood_table_row *row)
{
    fprintf(cli->out, "%s\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
            row->name, row->number, row->keys, row->slots, row->slots_max, row->bytes);
}

/* Prints the table with this name or number; NULL: all tables. */
static bool list(struct sw_cli *cli, const char *name)
{
    struct sherwood_table_row rows[ROWS];
    uint32_t from = 0, count = 0;
    bool any = false;
    do {
        if (sherwood_tables(cli->client, &from, rows, ROWS, &count) != SHERWOOD_OK) {
            return sw_cli_library_error(cli);
        }
        for (uint32_t i = 0; i < count; i++) {
            char number[16];
            snprintf(number, sizeof(number), "%" PRIu32, rows[i].number);
            if (name != NULL && strcmp(name, rows[i].name) != 0 && strcmp(name, number) != 0) {
                continue;
            }
            if (!any) {
                fprintf(cli->out, "name\tnumber\tkeys\tslots\tslots-max\tbytes\n");
            }
            any = true;
            put_row(cli, &rows[i]);
        }
    } while (from != 0);
    if (!any) {
        sw_cli_reply_error(cli, "ERR no such table: TABLE LIST shows the tables");
    }
    return any;
}

/* Removes every key of a table. */
static bool truncate_table(struct sw_cli *cli, const char *name)
{
    struct sherwood *table = NULL;
    int status = sherwood_table_open(cli->client, name, &table);
    if (status == SHERWOOD_OK) {
        status = sherwood_clear(table);
        sherwood_close(table);
    }
    if (status != SHERWOOD_OK) {
        return sw_cli_library_error(cli);
    }
    sw_cli_reply_status(cli, "OK");
    return true;
}

static bool change(struct sw_cli *cli, int count, char **words)
{
    if (sherwood_table_change(cli->client, (const char *const *)words, (size_t)count) !=
        SHERWOOD_OK) {
        return sw_cli_library_error(cli);
    }
    sw_cli_reply_status(cli, "OK");
    return true;
}

int sw_cli_table(struct sw_cli *cli, int count, char **words)
{
    const bool lists = count == 1 && strcasecmp(words[0], "list") == 0;
    const bool shows = count == 2 && strcasecmp(words[0], "info") == 0;
    if (count == 0 || (count == 1 && !lists)) {
        fprintf(
            cli->messages,
            "usage: sherwood-cli [options] table list | info NAME | create NAME [OPTION VALUE ..] "
            "| alter NAME OPTION VALUE .. | drop NAME | rename NAME NEW | save NAME | swap NAME "
            "OTHER [FORCE] | truncate NAME\n");
        return 2;
    }
    if (!sw_cli_connect(cli)) {
        return 1;
    }
    bool good;
    if (lists || shows) {
        good = list(cli, lists ? NULL : words[1]);
    } else if (count == 2 && strcasecmp(words[0], "truncate") == 0) {
        good = truncate_table(cli, words[1]);
    } else {
        good = change(cli, count, words);
    }
    return good ? 0 : 1;
}

/* --- load --into ------------------------------------------------------------------------------ */

static bool fail(struct sw_cli *cli, const char *what, const char *name)
{
    fprintf(cli->messages, "sherwood-cli: %s %s: %s\n", what, name, sherwood_error(cli->client));
    return false;
}

bool sw_cli_enter_table(struct sw_cli *cli)
{
    const char *into = cli->options->into;
    const char *like = cli->options->table == NULL ? "default" : cli->options->table;
    const char *options[] = {"LIKE", like, "IF", "NOT", "EXISTS"};
    const char *served = cli->client == cli->server ? "default" : sherwood_table_name(cli->client);
    struct sherwood *table = NULL;
    if (into == NULL) {
        if (cli->options->swaps) {
            fprintf(cli->messages, "sherwood-cli: --swap needs --into NAME: the table to load\n");
        }
        return !cli->options->swaps;
    }
    if (sherwood_table_create(cli->client, into, options, 5) != SHERWOOD_OK) {
        return fail(cli, "--into", into);
    }
    if (sherwood_table_open(cli->client, into, &table) != SHERWOOD_OK) {
        return fail(cli, "--into", into);
    }
    const bool is_one = cli->options->swaps && strcmp(sherwood_table_name(table), served) == 0;
    if (is_one) {
        fprintf(cli->messages,
                "sherwood-cli: --swap exchanges two tables, and --into names %s: name another\n",
                served);
    }
    if (cli->client != cli->server) {
        sherwood_close(cli->client);
    }
    cli->client = table;
    return !is_one;
}

bool sw_cli_swap_table(struct sw_cli *cli)
{
    const char *into = cli->options->into;
    const char *served = cli->options->table == NULL ? "default" : cli->options->table;
    if (into == NULL || !cli->options->swaps) {
        return true;
    }
    if (sherwood_table_swap(cli->client, served, into) != SHERWOOD_OK) {
        return fail(cli, "--swap: the pairs are in the table", into);
    }
    if (!cli->options->quiet) {
        fprintf(cli->messages,
                "swapped %s and %s: %s has the earlier pairs; sherwood-cli table swap %s %s swaps "
                "them back\n",
                served, into, into, served, into);
    }
    return true;
}
