/* SPDX-License-Identifier: MIT
 *
 * session.c - the connection of the commands.
 */
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/reply.h"
#include "client/endpoints.h"
#include "client/sherwood-cluster.h"
#include "client/sherwood-tables.h"

/* Opens the table that the options name. */
static int open_table(struct sw_cli *cli, char *text, size_t text_bytes)
{
    cli->client = cli->server;
    if (cli->options->table == NULL) {
        return SHERWOOD_OK;
    }
    int status = sherwood_table_open(cli->server, cli->options->table, &cli->client);
    if (status != SHERWOOD_OK) {
        snprintf(text, text_bytes, "--table %s: %s", cli->options->table,
                 sherwood_error(cli->server));
        sw_cli_disconnect(cli);
    }
    return status;
}

bool sw_cli_connect(struct sw_cli *cli)
{
    char text[SW_CLI_ERROR_BYTES];
    if (cli->client != NULL) {
        return true;
    }
    struct sherwood_options connection = cli->options->connection;
    connection.user = cli->options->login.user;
    connection.password = sw_cli_login_password(&cli->options->login);
    const char *address = cli->options->address, *seeds[SW_CLI_ADDRESSES_MAX];
    char list[SW_CLI_ADDRESS_BYTES];
    memcpy(list, address, sizeof(list));
    size_t count = sw_client_endpoints_split(list, seeds, SW_CLI_ADDRESSES_MAX);
    int status =
        cli->options->cluster
            ? sherwood_connect_cluster_text(seeds, count, &connection, &cli->server, text,
                                            sizeof(text))
            : sherwood_connect_text(address, &connection, &cli->server, text, sizeof(text));
    if (status == SHERWOOD_OK) {
        status = open_table(cli, text, sizeof(text));
    }
    if (status != SHERWOOD_OK) {
        fflush(cli->out);
        fprintf(cli->messages, "%s\n", text);
        cli->failed = true;
        return false;
    }
    return true;
}

void sw_cli_disconnect(struct sw_cli *cli)
{
    if (cli->client != cli->server) {
        sherwood_close(cli->client);
    }
    sherwood_close(cli->server);
    cli->client = cli->server = NULL;
}

const char *sw_cli_cluster_hint(const struct sw_cli *cli, const char *text)
{
    const bool is_elsewhere = strstr(text, " (MOVED ") != NULL || strstr(text, " (ASK ") != NULL;
    return is_elsewhere && !cli->options->cluster ? "; sherwood-cli -c asks the node of each key"
                                                  : "";
}

bool sw_cli_library_error(struct sw_cli *cli)
{
    const char *text = sherwood_error(cli->client);
    /* A call without keys sends nothing. It only returns whether the connection has ended. */
    int status = sherwood_run(cli->client, SHERWOOD_GET, NULL, NULL, 0, NULL, NULL);
    if (status == SHERWOOD_OK) {
        sw_cli_reply_error(cli, "ERR %s%s", text, sw_cli_cluster_hint(cli, text));
        return false;
    }
    sw_cli_reply_error(cli, "%s", text);
    sw_cli_disconnect(cli);
    cli->lost_cursors |= cli->has_cursor;
    cli->has_cursor = false;
    return false;
}
