/* SPDX-License-Identifier: MIT
 *
 * peers.c - sends one request and reads its reply.
 */
#include "server/ha/peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/repl/login.h"

#define WORDS_BYTES 256

struct question {
    struct sw_peers *peers;
    uv_thread_t thread;
    uv_async_t answered;
    char host[SW_REPL_ADDRESS_BYTES];
    uint16_t port;
    char words[WORDS_BYTES];
    struct sw_peer_connection connection;
    bool has_line;
    char line[SW_REPL_LINE_BYTES];
    sw_peer_done *done;
    void *context;
};

/* --- the thread of a request -------------------------------------------------------------------
 */

static int send_command(struct question *question)
{
    char words[2 * WORDS_BYTES] = "", text[2 * WORDS_BYTES + 16];
    size_t size = 0;
    unsigned count = 0;
    for (const char *at = question->words; *at != '\0' && count < 8; at += strspn(at, " ")) {
        const int bytes = (int)strcspn(at, " ");
        size += (size_t)snprintf(words + size, sizeof(words) - size, "$%d\r\n%.*s\r\n", bytes,
                                 bytes, at);
        at += bytes;
        count++;
    }
    size = (size_t)snprintf(text, sizeof(text), "*%u\r\n%s", count, words);
    return sw_peer_connection_send(&question->connection, text, size);
}

static void send_question(void *context)
{
    struct question *question = context;
    struct sw_peer_connection *connection = &question->connection;
    const struct sw_config *config = question->peers->config;
    question->has_line =
        sw_peer_connection_open(connection, question->host, question->port) == 0 &&
        sw_login_secure(connection, config, question->host, question->port) == 0 &&
        sw_login_send(connection, config) == 0 && send_command(question) == 0 &&
        sw_peer_connection_read_line(connection, question->line, sizeof(question->line)) == 0;
    sw_peer_connection_close(connection);
    uv_async_send(&question->answered);
}

/* --- the loop -----------------------------------------------------------------------------------
 */

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_answered(uv_async_t *answered)
{
    struct question *question = answered->data;
    uv_thread_join(&question->thread);
    question->done(question->context, question->has_line ? question->line : NULL);
    uv_close((uv_handle_t *)answered, on_closed);
}

void sw_peer_ask(struct sw_peers *peers, const char *address, const char *words,
                 uint64_t timeout_ms, sw_peer_done *done, void *context)
{
    struct question *question = calloc(1, sizeof(*question));
    if (question == NULL || strlen(words) >= WORDS_BYTES ||
        sw_login_parse(address, question->host, &question->port) != 0 || question->port == 0 ||
        uv_async_init(peers->uv, &question->answered, on_answered) != 0) {
        free(question);
        done(context, NULL);
        return;
    }
    question->peers = peers;
    question->answered.data = question;
    question->connection = (struct sw_peer_connection){.socket = {.fd = -1},
                                                       .wake_fd = peers->end_fd,
                                                       .lookups = peers->lookups,
                                                       .timeout_ms = timeout_ms};
    snprintf(question->words, sizeof(question->words), "%s", words);
    question->done = done;
    question->context = context;
    if (uv_thread_create(&question->thread, send_question, question) != 0) {
        uv_close((uv_handle_t *)&question->answered, on_closed);
        done(context, NULL);
    }
}

int sw_peers_init(struct sw_peers *peers, uv_loop_t *uv, const struct sw_config *config)
{
    *peers =
        (struct sw_peers){uv, config, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), sw_lookups_create()};
    return peers->end_fd < 0 || peers->lookups == NULL ? -1 : 0;
}

void sw_peers_end(struct sw_peers *peers)
{
    const uint64_t one = 1;
    ssize_t written = write(peers->end_fd, &one, sizeof(one));
    (void)written; /* nothing has been written to it before */
}

void sw_peers_fini(struct sw_peers *peers)
{
    sw_lookups_destroy(peers->lookups);
    peers->lookups = NULL;
    if (peers->end_fd >= 0) {
        close(peers->end_fd);
    }
}
