/* SPDX-License-Identifier: MIT
 *
 * peers.c - one question, one answer.
 */
#include "server/ha/peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/repl/login.h"
#include "server/users/password.h"
#include "server/users/secret.h"

#define TEXT_BYTES 1024
#define LINE_BYTES 512

struct question {
    uv_getaddrinfo_t lookup;
    uv_tcp_t tcp;
    uv_timer_t timer;
    uv_connect_t connect;
    uv_write_t write;
    char text[TEXT_BYTES];
    size_t size;
    char line[LINE_BYTES];
    size_t got;
    unsigned lines; /* that come before the answer */
    unsigned users; /* handles and requests that are not over */
    bool is_over;
    sw_peer_done *done;
    void *context;
};

static void leave(struct question *question)
{
    if (--question->users == 0) {
        free(question);
    }
}

static void on_closed(uv_handle_t *handle)
{
    leave(handle->data);
}

static void end(struct question *question, const char *line)
{
    if (!question->is_over) {
        question->is_over = true;
        question->done(question->context, line);
        uv_cancel((uv_req_t *)&question->lookup);
        uv_close((uv_handle_t *)&question->tcp, on_closed);
        uv_close((uv_handle_t *)&question->timer, on_closed);
    }
}

static void on_late(uv_timer_t *timer)
{
    end(timer->data, NULL);
}

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *out)
{
    struct question *question = handle->data;
    (void)wanted;
    *out = uv_buf_init(question->line + question->got,
                       (unsigned)(sizeof(question->line) - 1 - question->got));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *bytes)
{
    struct question *question = stream->data;
    char *newline;
    (void)bytes;
    if (count < 0) {
        end(question, NULL);
        return;
    }
    question->got += (size_t)count;
    question->line[question->got] = '\0';
    while ((newline = strchr(question->line, '\n')) != NULL) {
        if (question->lines == 0 || question->line[0] == '-') {
            newline[newline > question->line && newline[-1] == '\r' ? -1 : 0] = '\0';
            end(question, question->line);
            return;
        }
        question->lines--;
        question->got -= (size_t)(newline + 1 - question->line);
        memmove(question->line, newline + 1, question->got + 1);
    }
    if (question->got == sizeof(question->line) - 1) {
        end(question, NULL);
    }
}

static void on_written(uv_write_t *write, int status)
{
    struct question *question = write->data;
    if (status != 0) {
        end(question, NULL);
    }
    leave(question);
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct question *question = connect->data;
    const uv_buf_t bytes = uv_buf_init(question->text, (unsigned)question->size);
    if (status != 0 || question->is_over ||
        uv_read_start((uv_stream_t *)&question->tcp, on_room, on_read) != 0) {
        end(question, NULL);
    } else {
        question->write.data = question;
        question->users++;
        if (uv_write(&question->write, (uv_stream_t *)&question->tcp, &bytes, 1, on_written) != 0) {
            question->users--;
            end(question, NULL);
        }
    }
    leave(question);
}

static void on_found(uv_getaddrinfo_t *lookup, int status, struct addrinfo *found)
{
    struct question *question = lookup->data;
    if (status != 0 || question->is_over) {
        end(question, NULL);
    } else {
        question->connect.data = question;
        question->users++;
        if (uv_tcp_connect(&question->connect, &question->tcp, found->ai_addr, on_connected) != 0) {
            question->users--;
            end(question, NULL);
        }
    }
    uv_freeaddrinfo(found);
    leave(question);
}

static int add_words(struct question *question, const char *const *words, unsigned count)
{
    size_t size = question->size;
    size += (size_t)snprintf(question->text + size, TEXT_BYTES - size, "*%u\r\n", count);
    for (unsigned i = 0; i < count && size < TEXT_BYTES; i++) {
        size += (size_t)snprintf(question->text + size, TEXT_BYTES - size, "$%zu\r\n%s\r\n",
                                 strlen(words[i]), words[i]);
    }
    question->size = size;
    return size < TEXT_BYTES ? 0 : -1;
}

static int add_login(struct question *question, const struct sw_config *config)
{
    char password[513] = "", reason[256];
    if (config->primary_password_file[0] == '\0') {
        return 0;
    }
    if (sw_secret_line("the password for other members", config->primary_password_file, password,
                       sizeof(password), reason, sizeof(reason)) != 0) {
        return -1;
    }
    const char *const words[] = {
        "AUTH", config->primary_user[0] == '\0' ? "default" : config->primary_user, password};
    int status = add_words(question, words, 3);
    sw_forget(password, sizeof(password));
    question->lines = 1;
    return status;
}

static int add_command(struct question *question, const char *text)
{
    char copy[TEXT_BYTES / 2];
    const char *words[8];
    unsigned count = 0;
    char *rest = copy;
    snprintf(copy, sizeof(copy), "%s", text);
    for (char *word; count < 8 && (word = strsep(&rest, " ")) != NULL;) {
        words[count++] = word;
    }
    return add_words(question, words, count);
}

void sw_peer_ask(uv_loop_t *uv, const struct sw_config *config, const char *address,
                 const char *words, uint64_t timeout_ms, sw_peer_done *done, void *context)
{
    struct question *question = calloc(1, sizeof(*question));
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    char host[SW_REPL_ADDRESS_BYTES], digits[8];
    uint16_t port = 0;
    if (question == NULL || sw_login_parse(address, host, &port) != 0 || port == 0 ||
        add_login(question, config) != 0 || add_command(question, words) != 0) {
        free(question);
        done(context, NULL);
        return;
    }
    snprintf(digits, sizeof(digits), "%u", port);
    question->done = done;
    question->context = context;
    question->users = 2;
    question->tcp.data = question->timer.data = question->lookup.data = question;
    uv_tcp_init(uv, &question->tcp);
    uv_timer_init(uv, &question->timer);
    uv_timer_start(&question->timer, on_late, timeout_ms, 0);
    question->users++;
    if (uv_getaddrinfo(uv, &question->lookup, on_found, host, digits, &hints) != 0) {
        question->users--;
        end(question, NULL);
    }
}
