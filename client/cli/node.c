/* SPDX-License-Identifier: MIT
 *
 * node.c - asking one node by RESP.
 *
 * This file cleans all text from a node before a command prints it. A dot replaces each byte other
 * than printable ASCII, tabs and ends of lines, so that a node cannot control an operator's
 * terminal. One deadline covers all bytes of a call, so a node that sends single bytes slowly
 * cannot block a command.
 */
#include "client/cli/node.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/endpoints.h"
#include "client/transport_tls.h"

#define TIMEOUT_MS 10000
#define LINE_BYTES 1024
#define ANSWER_BYTES_MAX (SW_TOPOLOGY_BYTES_MAX + 4096)

static void clean(char *text)
{
    for (; *text != '\0'; text++) {
        bool is_kept = (*text >= ' ' && *text <= '~') || strchr("\r\n\t", *text) != NULL;
        *text = is_kept ? *text : '.';
    }
}

__attribute__((format(printf, 2, 3))) static bool fail(struct sw_cli_node *node, const char *format,
                                                       ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(node->error, sizeof(node->error), format, arguments);
    va_end(arguments);
    clean(node->error);
    return false;
}

void sw_cli_node_close(struct sw_cli_node *node)
{
    if (node->transport != NULL) {
        node->transport->calls->close(node->transport);
        node->transport = NULL;
    }
}

/* --- bytes --------------------------------------------------------------------------------------
 */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool is_late(struct sw_cli_node *node)
{
    return now_ms() >= node->deadline_ms &&
           !fail(node, "no reply within %d seconds", TIMEOUT_MS / 1000);
}

static bool wait_for(struct sw_cli_node *node, short events)
{
    const struct sw_client_transport *transport = node->transport;
    struct pollfd ready = {.fd = transport->fd, .events = events};
    const int64_t left_ms = node->deadline_ms - now_ms();
    (void)poll(&ready, 1, left_ms > 0 ? (int)left_ms : 0);
    return !is_late(node);
}

/* Decides after a failed read or write whether to repeat it, and waits until the transport is
 * ready. Returns false with a sentence. */
static bool again(struct sw_cli_node *node, int64_t result, short events)
{
    if (result == 0) {
        return fail(node, "the server closed the connection");
    }
    if (errno != EAGAIN && errno != EINTR) {
        return fail(node, "%s",
                    node->transport->trouble != NULL ? node->transport->trouble : strerror(errno));
    }
    return wait_for(node, events);
}

static bool send_all(struct sw_cli_node *node, const char *bytes, size_t size)
{
    while (size > 0) {
        struct iovec part = {(void *)(uintptr_t)bytes, size};
        int64_t sent = node->transport->calls->write(node->transport, &part, 1, false);
        if (sent <= 0) {
            if (!again(node, sent, node->transport->write_events)) {
                return false;
            }
            continue;
        }
        bytes += sent;
        size -= (size_t)sent;
    }
    return !is_late(node);
}

static bool receive(struct sw_cli_node *node, char *bytes, size_t size)
{
    while (size > 0) {
        struct iovec part = {bytes, size};
        int64_t got = node->transport->calls->read(node->transport, &part, 1);
        if (got <= 0) {
            if (!again(node, got, node->transport->read_events)) {
                return false;
            }
            continue;
        }
        bytes += got;
        size -= (size_t)got;
    }
    return !is_late(node);
}

static bool receive_line(struct sw_cli_node *node, char line[LINE_BYTES])
{
    for (size_t size = 0; size < LINE_BYTES; size++) {
        if (!receive(node, line + size, 1)) {
            return false;
        }
        if (line[size] == '\n') {
            line[size > 0 ? size - 1 : 0] = '\0';
            return true;
        }
    }
    return fail(node, "the first line of the reply has more than %d bytes", LINE_BYTES);
}

/* --- commands -----------------------------------------------------------------------------------
 */

static bool send_command(struct sw_cli_node *node, int count, const char *const *words)
{
    char head[48];
    node->deadline_ms = now_ms() + TIMEOUT_MS;
    snprintf(head, sizeof(head), "*%d\r\n", count);
    bool sent = send_all(node, head, strlen(head));
    for (int i = 0; i < count && sent; i++) {
        snprintf(head, sizeof(head), "$%zu\r\n", strlen(words[i]));
        sent = send_all(node, head, strlen(head)) && send_all(node, words[i], strlen(words[i])) &&
               send_all(node, "\r\n", 2);
    }
    return sent;
}

/* Returns whether the line is an error reply. If so, stores its sentence. */
static bool is_error(struct sw_cli_node *node, const char *line)
{
    node->refused = line[0] == '-';
    if (node->refused) {
        fail(node, "%s", strncmp(line, "-ERR ", 5) == 0 ? line + 5 : line + 1);
    }
    return node->refused;
}

/* Receives the rest of the reply that begins with this line. */
static char *receive_answer(struct sw_cli_node *node, const char *line)
{
    if (is_error(node, line)) {
        return NULL;
    }
    if (line[0] == '+' || line[0] == ':') {
        char *copy = strdup(line + 1);
        if (copy != NULL) {
            clean(copy);
        }
        return copy;
    }
    char *end = NULL;
    bool has_digits = line[0] == '$' && line[1] >= '0' && line[1] <= '9';
    unsigned long long size = has_digits ? strtoull(line + 1, &end, 10) : 0;
    if (end == NULL || *end != '\0' || size > ANSWER_BYTES_MAX) {
        fail(node, "the reply is not one that a Sherwood server sends: check the address");
        return NULL;
    }
    char *text = malloc(size + 2);
    if (text == NULL || !receive(node, text, size + 2)) {
        free(text);
        return NULL;
    }
    text[size] = '\0';
    clean(text);
    return text;
}

char *sw_cli_node_ask(struct sw_cli_node *node, int count, const char *const *words)
{
    char line[LINE_BYTES];
    node->refused = false;
    return send_command(node, count, words) && receive_line(node, line) ? receive_answer(node, line)
                                                                        : NULL;
}

bool sw_cli_node_ask_list(struct sw_cli_node *node, int count, const char *const *words,
                          char **items, unsigned items_count)
{
    char line[LINE_BYTES], head[16];
    bool done = send_command(node, count, words) && receive_line(node, line);
    snprintf(head, sizeof(head), "*%u", items_count);
    memset(items, 0, items_count * sizeof(*items));
    if (!done || is_error(node, line)) {
        return false;
    }
    if (strcmp(line, head) != 0) {
        return fail(node, "the reply is not one that a Sherwood server sends: check the address");
    }
    for (unsigned i = 0; i < items_count && done; i++) {
        done = receive_line(node, line) && (items[i] = receive_answer(node, line)) != NULL;
    }
    for (unsigned i = 0; i < items_count && !done; i++) {
        free(items[i]);
        items[i] = NULL;
    }
    return done;
}

static bool log_in(struct sw_cli *cli, struct sw_cli_node *node)
{
    const char *password = sw_cli_login_password(&cli->options->login);
    const char *user = cli->options->login.user;
    const char *const words[] = {"AUTH", user == NULL ? "default" : user, password};
    char *answer = password == NULL ? NULL : sw_cli_node_ask(node, 3, words);
    free(answer);
    return password == NULL || answer != NULL;
}

static bool open_one(struct sw_cli *cli, struct sw_cli_node *node, const char *address)
{
    const struct sherwood_options *options = &cli->options->connection;
    struct sw_client_connector connector = sw_client_socket_connector;
    char text[SW_CLI_ERROR_BYTES - 8];
    int status = SHERWOOD_OK;
    node->transport = NULL;
    bool is_secure = sw_client_is_secure(address);
    if (is_secure &&
        sw_client_secure_begin(&connector, options, text, sizeof(text)) != SHERWOOD_OK) {
        return fail(node, "%s", text);
    }
    node->transport =
        connector.open(&connector, address, options, TIMEOUT_MS, &status, text, sizeof(text));
    if (is_secure) {
        sw_client_secure_end(&connector);
    }
    if (node->transport == NULL) {
        return fail(node, "%s", text);
    }
    static struct sherwood_traffic traffic; /* required by the transport; not reported */
    node->transport->traffic = &traffic;
    if (!log_in(cli, node)) {
        sw_cli_node_close(node);
        return false;
    }
    return true;
}

bool sw_cli_node_open(struct sw_cli *cli, struct sw_cli_node *node, const char *address)
{
    const char *addresses[SW_CLI_ADDRESSES_MAX];
    char list[SW_CLI_ADDRESS_BYTES];
    bool is_open = false;
    snprintf(list, sizeof(list), "%s", address);
    size_t count = sw_client_endpoints_split(list, addresses, SW_CLI_ADDRESSES_MAX);
    for (size_t i = 0; i < count && !is_open; i++) {
        is_open = open_one(cli, node, addresses[i]);
    }
    return is_open;
}

bool sw_cli_node_open_at(struct sw_cli *cli, struct sw_cli_node *node,
                         const struct sw_topology_node *entry)
{
    char address[SW_CLI_ADDRESS_BYTES];
    bool is_secure = sw_client_is_secure(cli->options->address);
    const char *host = is_secure && entry->hostname[0] != '\0' ? entry->hostname : entry->ip;
    bool is_v6 = strchr(host, ':') != NULL;
    snprintf(address, sizeof(address), "%s%s%.200s%s:%u", is_secure ? "tls://" : "",
             is_v6 ? "[" : "", host, is_v6 ? "]" : "", entry->port);
    return sw_cli_node_open(cli, node, address);
}

struct sw_topology *sw_cli_node_topology(struct sw_cli_node *node)
{
    static const char *const words[] = {"CLUSTER", "TOPOLOGY"};
    char why[SW_TOPOLOGY_ERROR_BYTES];
    char *text = sw_cli_node_ask(node, 2, words);
    struct sw_topology *topology = text == NULL ? NULL : sw_topology_parse(text, strlen(text), why);
    if (text != NULL && topology == NULL) {
        fail(node, "%s", why);
    }
    free(text);
    return topology;
}

void sw_cli_node_field(const char *text, const char *name, char *value, size_t bytes)
{
    const size_t length = strlen(name);
    value[0] = '\0';
    while (text != NULL && *text != '\0') {
        size_t line = strcspn(text, "\r\n");
        if (line > length && strncmp(text, name, length) == 0 && text[length] == ':') {
            snprintf(value, bytes, "%.*s", (int)(line - length - 1), text + length + 1);
            return;
        }
        text += line + strspn(text + line, "\r\n");
    }
}
