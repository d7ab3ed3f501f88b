/* SPDX-License-Identifier: MIT
 *
 * http_client.c - libcurl's multi interface on a libuv loop.
 */
#include "server/http_client/http_client.h"

#ifdef SW_HAS_CURL
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

/* The largest retry_after_s. */
#define SECONDS_MAX 86400

struct sw_http_call {
    struct sw_http_call *next;
    struct sw_http_client *client;
    CURL *easy;
    char *answer;
    size_t size, size_max;
    sw_http_bytes *bytes;
    sw_http_done *done;
    void *context;
    char error[CURL_ERROR_SIZE];
};

struct watched {
    uv_poll_t poll;
    struct sw_http_client *client;
    curl_socket_t fd;
};

struct sw_http_client {
    uv_loop_t *uv;
    uv_timer_t *timer;
    CURLM *multi;
    struct curl_slist *headers;
    struct sw_http_call *list;
};

bool sw_http_client_is_built(void)
{
    return true;
}

static void free_call(struct sw_http_call *call)
{
    struct sw_http_call **link = &call->client->list;
    while (*link != call) {
        link = &(*link)->next;
    }
    *link = call->next;
    if (call->easy != NULL) {
        curl_multi_remove_handle(call->client->multi, call->easy);
        curl_easy_cleanup(call->easy);
    }
    free(call->answer);
    free(call);
}

static void finish(struct sw_http_call *call, CURLcode code)
{
    curl_off_t retry_after = 0;
    char error[CURL_ERROR_SIZE];
    struct sw_http_answer answer = {.body = call->answer, .body_bytes = call->size};
    if (code == CURLE_OK) {
        curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &answer.status);
        curl_easy_getinfo(call->easy, CURLINFO_RETRY_AFTER, &retry_after);
        retry_after = retry_after > 0 ? retry_after : 0;
        answer.retry_after_s = retry_after < SECONDS_MAX ? (uint32_t)retry_after : SECONDS_MAX;
    } else {
        const char *text = call->error[0] != '\0' ? call->error : curl_easy_strerror(code);
        strncpy(error, text, sizeof(error) - 1);
        error[sizeof(error) - 1] = '\0';
        answer.error = error;
    }
    sw_http_done *done = call->done;
    void *context = call->context;
    char *body = call->answer;
    call->answer = NULL;
    free_call(call);
    done(context, &answer);
    free(body);
}

static void finish_calls(struct sw_http_client *client)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(client->multi, &left)) != NULL) {
        if (message->msg == CURLMSG_DONE) {
            char *private = NULL;
            const CURLcode code = message->data.result;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
            finish((struct sw_http_call *)(void *)private, code);
        }
    }
}

/* --- libcurl on libuv --------------------------------------------------------------------------
 */

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct watched *watched = poll->data;
    struct sw_http_client *client = watched->client;
    int running;
    int flags = status < 0 ? CURL_CSELECT_ERR
                           : (events & UV_READABLE ? CURL_CSELECT_IN : 0) |
                                 (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0);
    curl_multi_socket_action(client->multi, watched->fd, flags, &running);
    finish_calls(client);
}

static void on_timer(uv_timer_t *timer)
{
    struct sw_http_client *client = timer->data;
    int running;
    curl_multi_socket_action(client->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    finish_calls(client);
}

static int set_timer(CURLM *multi, long ms, void *context)
{
    struct sw_http_client *client = context;
    (void)multi;
    if (ms < 0) {
        uv_timer_stop(client->timer);
    } else {
        uv_timer_start(client->timer, on_timer, ms == 0 ? 1 : (uint64_t)ms, 0);
    }
    return 0;
}

static void free_handle(uv_handle_t *handle)
{
    free(handle->data);
}

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *socket_context)
{
    struct sw_http_client *client = context;
    struct watched *watched = socket_context;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (watched != NULL) {
            uv_poll_stop(&watched->poll);
            uv_close((uv_handle_t *)&watched->poll, free_handle);
            curl_multi_assign(client->multi, fd, NULL);
        }
        return 0;
    }
    if (watched == NULL) {
        watched = calloc(1, sizeof(*watched));
        if (watched == NULL || uv_poll_init_socket(client->uv, &watched->poll, fd) != 0) {
            free(watched);
            return -1;
        }
        watched->client = client;
        watched->fd = fd;
        watched->poll.data = watched;
        curl_multi_assign(client->multi, fd, watched);
    }
    int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    return uv_poll_start(&watched->poll, events, on_poll) == 0 ? 0 : -1;
}

static size_t take_bytes(char *bytes, size_t one, size_t count, void *context)
{
    struct sw_http_call *call = context;
    size_t size = one * count;
    if (call->bytes != NULL) {
        return call->bytes(call->context, bytes, size) ? size : 0;
    }
    if (call->size + size > call->size_max) {
        return 0;
    }
    char *answer = realloc(call->answer, call->size + size + 1);
    if (answer == NULL) {
        return 0;
    }
    memcpy(answer + call->size, bytes, size);
    call->answer = answer;
    call->size += size;
    return size;
}

/* --- life --------------------------------------------------------------------------------------
 */

struct sw_http_client *sw_http_client_create(uv_loop_t *uv)
{
    struct sw_http_client *client = calloc(1, sizeof(*client));
    if (client == NULL) {
        return NULL;
    }
    client->uv = uv;
    client->timer = calloc(1, sizeof(*client->timer));
    client->multi = curl_global_init(CURL_GLOBAL_ALL) == 0 ? curl_multi_init() : NULL;
    client->headers = curl_slist_append(NULL, "Content-Type: application/json");
    if (client->timer == NULL || client->multi == NULL || client->headers == NULL ||
        curl_slist_append(client->headers, "Expect:") == NULL) {
        curl_slist_free_all(client->headers);
        curl_multi_cleanup(client->multi);
        free(client->timer);
        free(client);
        return NULL;
    }
    uv_timer_init(uv, client->timer);
    client->timer->data = client;
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
    return client;
}

void sw_http_client_destroy(struct sw_http_client *client)
{
    if (client != NULL) {
        while (client->list != NULL) {
            free_call(client->list);
        }
        curl_multi_cleanup(client->multi);
        curl_slist_free_all(client->headers);
        client->timer->data = client->timer;
        uv_close((uv_handle_t *)client->timer, free_handle);
        free(client);
    }
}

/* libcurl reads the files at each connection, so new files need no restart. */
static void set_tls(CURL *easy, const struct sw_http_request *request)
{
    if (request->tls_ca[0] != '\0') {
        curl_easy_setopt(easy, CURLOPT_CAINFO, request->tls_ca);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    if (request->tls_cert[0] != '\0') {
        curl_easy_setopt(easy, CURLOPT_SSLCERT, request->tls_cert);
        curl_easy_setopt(easy, CURLOPT_SSLKEY, request->tls_key);
    }
}

static void set_options(struct sw_http_call *call, const struct sw_http_request *request)
{
    CURL *easy = call->easy;
    curl_easy_setopt(easy, CURLOPT_URL, request->url);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* do not wait for a resolver */
    set_tls(easy, request);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)request->connect_limit_ms);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->limit_ms);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->client->headers);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->error);
}

struct sw_http_call *sw_http_post(struct sw_http_client *client,
                                  const struct sw_http_request *request)
{
    struct sw_http_call *call = calloc(1, sizeof(*call));
    if (call == NULL || (call->easy = curl_easy_init()) == NULL) {
        free(call);
        return NULL;
    }
    call->client = client;
    call->size_max = request->answer_bytes_max;
    call->bytes = request->bytes;
    call->done = request->done;
    call->context = request->context;
    call->next = client->list;
    client->list = call;
    set_options(call, request);
    if (curl_multi_add_handle(client->multi, call->easy) != CURLM_OK) {
        free_call(call);
        return NULL;
    }
    return call;
}

void sw_http_cut(struct sw_http_call *call)
{
    free_call(call);
}

#else

bool sw_http_client_is_built(void)
{
    return false;
}

struct sw_http_client *sw_http_client_create(uv_loop_t *uv)
{
    (void)uv;
    return NULL;
}

void sw_http_client_destroy(struct sw_http_client *client)
{
    (void)client;
}

struct sw_http_call *sw_http_post(struct sw_http_client *client,
                                  const struct sw_http_request *request)
{
    (void)client, (void)request;
    return NULL;
}

void sw_http_cut(struct sw_http_call *call)
{
    (void)call;
}

#endif
