/* SPDX-License-Identifier: MIT
 *
 * ha.c - ha status, switch and forget: prints the status of a shard's members, and makes its
 * primary hand over.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "client/cli/node.h"
#include "client/transport_tls.h"
#include "proto/plural.h"

#define NAME_BYTES 64
#define TRIES 200
#define TRY_NS 50000000

struct shard {
    char name[NAME_BYTES], primary[NAME_BYTES], role[NAME_BYTES];
    char in_sync[256], members[24];
    uint64_t term;
};

/* Connects to a member and reads its HA STATUS. On success the connection stays open. Returns false
 * with a sentence in node->error. */
static bool read_status(struct sw_cli *cli, struct sw_cli_node *node, const char *address,
                        struct shard *shard)
{
    static const char *const words[] = {"HA", "STATUS"};
    char term[24];
    if (!sw_cli_node_open(cli, node, address)) {
        return false;
    }
    char *text = sw_cli_node_ask(node, 2, words);
    if (text == NULL) {
        sw_cli_node_close(node);
        return false;
    }
    sw_cli_node_field(text, "ha_shard", shard->name, sizeof(shard->name));
    sw_cli_node_field(text, "ha_role", shard->role, sizeof(shard->role));
    sw_cli_node_field(text, "ha_primary", shard->primary, sizeof(shard->primary));
    sw_cli_node_field(text, "ha_in_sync_members", shard->in_sync, sizeof(shard->in_sync));
    sw_cli_node_field(text, "ha_members", shard->members, sizeof(shard->members));
    sw_cli_node_field(text, "ha_term", term, sizeof(term));
    shard->term = strtoull(term, NULL, 10);
    free(text);
    return true;
}

/* Returns the address of a member that another one has named: by TLS if the command line has TLS.
 */
static void address_of(const struct sw_cli *cli, const char *name, char out[SW_CLI_ADDRESS_BYTES])
{
    snprintf(out, SW_CLI_ADDRESS_BYTES, "%s%s",
             sw_client_is_secure(cli->options->address) ? "tls://" : "", name);
}

/* Finds the primary: reads the status of the member in the options, and then of the primary that it
 * names. On success the connection to the primary stays open. */
static bool find_primary(struct sw_cli *cli, struct sw_cli_node *node, struct shard *shard)
{
    char primary[NAME_BYTES], address[SW_CLI_ADDRESS_BYTES];
    if (!read_status(cli, node, cli->options->address, shard)) {
        fprintf(cli->messages, "%s: %s\n", cli->options->address, node->error);
        return false;
    }
    if (strcmp(shard->role, "primary") == 0) {
        return true;
    }
    sw_cli_node_close(node);
    memcpy(primary, shard->primary, sizeof(primary));
    if (primary[0] == '\0') {
        fprintf(cli->messages,
                "shard %s, term %" PRIu64
                ": this member knows no primary: check etcd and the other members\n",
                shard->name, shard->term);
        return false;
    }
    address_of(cli, primary, address);
    if (!read_status(cli, node, address, shard)) {
        fprintf(cli->messages, "shard %s, term %" PRIu64 ": the primary %s does not reply: %s\n",
                shard->name, shard->term, primary, node->error);
        return false;
    }
    if (strcmp(shard->role, "primary") != 0) {
        fprintf(cli->messages, "shard %s: %s is no longer the primary: try again\n", shard->name,
                primary);
        sw_cli_node_close(node);
        return false;
    }
    return true;
}

static void show(struct sw_cli *cli, const struct shard *shard)
{
    fprintf(cli->out, "shard %s, term %" PRIu64 ": %s is primary of %s member%s; in sync: %s\n",
            shard->name, shard->term, shard->primary, shard->members,
            sw_plural_s(strtoull(shard->members, NULL, 10)),
            shard->in_sync[0] == '\0' ? "none, so no member can take over" : shard->in_sync);
}

static int status(struct sw_cli *cli)
{
    struct sw_cli_node node = {0};
    struct shard shard;
    if (!find_primary(cli, &node, &shard)) {
        return 1;
    }
    sw_cli_node_close(&node);
    show(cli, &shard);
    return 0;
}

/* Reads the status of members, of `first` first, until one is the primary of a later term. Gives up
 * after TRIES attempts. */
static int await_next(struct sw_cli *cli, const struct shard *before, const char *first)
{
    const struct timespec rest = {.tv_nsec = TRY_NS};
    char address[SW_CLI_ADDRESS_BYTES];
    snprintf(address, sizeof(address), "%s", first);
    for (int i = 0; i < TRIES; i++) {
        struct sw_cli_node node = {0};
        struct shard shard;
        bool answers = read_status(cli, &node, address, &shard);
        sw_cli_node_close(&node);
        if (answers && shard.term > before->term && strcmp(shard.role, "primary") == 0) {
            show(cli, &shard);
            return 0;
        }
        if (answers && shard.primary[0] != '\0') {
            address_of(cli, shard.primary, address);
        } else {
            snprintf(address, sizeof(address), "%s", first);
        }
        nanosleep(&rest, NULL);
    }
    fprintf(cli->messages,
            "shard %s: no member became primary within %d seconds: see the logs of the members\n",
            before->name, TRIES / 20);
    return 1;
}

static int order(struct sw_cli *cli, int count, const char *const *words, bool waits)
{
    struct sw_cli_node node = {0};
    struct shard shard;
    char address[SW_CLI_ADDRESS_BYTES];
    if (!find_primary(cli, &node, &shard)) {
        return 1;
    }
    address_of(cli, shard.primary, address);
    char *answer = sw_cli_node_ask(&node, count, words);
    sw_cli_node_close(&node);
    if (answer == NULL) {
        fprintf(cli->messages, "%s: %s\n", shard.primary, node.error);
        return 1;
    }
    free(answer);
    return waits ? await_next(cli, &shard, address) : 0;
}

/* Sends HA ADOPT to the server of the command line, not to the primary. Without `write` the server
 * reports which writes it would lose; with `write` it takes over. */
static int adopt(struct sw_cli *cli, const char *write)
{
    struct sw_cli_node node = {0};
    struct shard shard;
    const char *const words[] = {"HA", "ADOPT", write};
    if (!read_status(cli, &node, cli->options->address, &shard)) {
        fprintf(cli->messages, "%s\n", node.error);
        return 1;
    }
    char *answer = sw_cli_node_ask(&node, write == NULL ? 2 : 3, words);
    if (answer == NULL) {
        fprintf(cli->messages, "%s\n", node.error);
    } else if (write == NULL) {
        fputs(answer, cli->out);
    }
    sw_cli_node_close(&node);
    free(answer);
    return answer == NULL ? 1 : write == NULL ? 0 : await_next(cli, &shard, cli->options->address);
}

int sw_cli_ha(struct sw_cli *cli, int count, char **words)
{
    if (count == 1 && strcasecmp(words[0], "status") == 0) {
        return status(cli);
    }
    if (count == 1 && strcasecmp(words[0], "switch") == 0) {
        return order(cli, 2, (const char *const[]){"HA", "SWITCH"}, true);
    }
    if (count == 2 && strcasecmp(words[0], "forget") == 0) {
        return order(cli, 3, (const char *const[]){"HA", "FORGET", words[1]}, false);
    }
    if ((count == 1 || count == 2) && strcasecmp(words[0], "adopt") == 0) {
        return adopt(cli, count == 2 ? words[1] : NULL);
    }
    fprintf(cli->messages, "usage: sherwood-cli [options] ha status|switch\n"
                           "       sherwood-cli [options] ha adopt [WRITE]\n"
                           "       sherwood-cli [options] ha forget HOST:PORT\n");
    return 2;
}
