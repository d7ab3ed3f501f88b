/* SPDX-License-Identifier: MIT
 *
 * etcd.c - libcurl's multi interface on a libuv loop.
 */
#include "server/etcd/etcd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SW_HAS_CURL
#include <curl/curl.h>

/* Room for a value of 4 MiB in base64 and the JSON around it. etcd's own limit is 1.5 MiB a
 * request. */
#define ANSWER_BYTES_MAX (8 * 1024 * 1024)

struct sw_etcd_stream {
    struct sw_etcd_stream *next;
    struct sw_etcd *etcd;
    CURL *easy;
    char *body;
    char *answer;
    size_t size;
    unsigned endpoint;
    sw_etcd_done *done;
    sw_etcd_line *line; /* callback of a stream; NULL: not a stream */
    sw_etcd_ended *ended;
    struct sw_etcd_lines lines;
    void *context;
    char error[CURL_ERROR_SIZE];
};

struct watched {
    uv_poll_t poll;
    struct sw_etcd *etcd;
    curl_socket_t fd;
};

struct sw_etcd {
    const struct sw_etcd_address *address;
    const struct sw_config *config;
    uint64_t limit_ms;
    uv_loop_t *uv;
    uv_timer_t *timer;
    CURLM *multi;
    struct curl_slist *headers;
    struct sw_etcd_stream *list;
    unsigned endpoint; /* member that gets the next request */
};

bool sw_etcd_is_built(void)
{
    return true;
}

static void free_request(struct sw_etcd_stream *request)
{
    struct sw_etcd_stream **link = &request->etcd->list;
    while (*link != request) {
        link = &(*link)->next;
    }
    *link = request->next;
    if (request->easy != NULL) {
        curl_multi_remove_handle(request->etcd->multi, request->easy);
        curl_easy_cleanup(request->easy);
    }
    sw_etcd_lines_fini(&request->lines);
    free(request->body);
    free(request->answer);
    free(request);
}

/* Sends the next request to another member than this one. */
static void pass_on(const struct sw_etcd_stream *request)
{
    struct sw_etcd *etcd = request->etcd;
    if (etcd->endpoint == request->endpoint) {
        etcd->endpoint = (request->endpoint + 1) % etcd->address->endpoints;
    }
}

static void finish(struct sw_etcd_stream *request, CURLcode code)
{
    long status = 0;
    json_error_t wrong;
    json_t *answer = NULL;
    char error[CURL_ERROR_SIZE + 64];
    curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
    if (code == CURLE_OK && status == 200 && request->line == NULL) {
        answer = json_loadb(request->answer, request->size, 0, &wrong);
    }
    if (answer == NULL) {
        snprintf(error, sizeof(error), "%s: %s",
                 request->etcd->address->endpoint[request->endpoint],
                 code != CURLE_OK
                     ? (request->error[0] != '\0' ? request->error : curl_easy_strerror(code))
                 : status != 200         ? "it refuses, or has no quorum"
                 : request->line != NULL ? "it has ended the answer"
                                         : "its answer is no JSON");
        pass_on(request);
    }
    sw_etcd_done *done = request->done;
    sw_etcd_ended *ended = request->ended;
    void *context = request->context;
    free_request(request);
    if (ended != NULL) {
        ended(context, error);
    } else {
        done(context, answer, answer == NULL ? error : NULL);
    }
    json_decref(answer);
}

static void take_done(struct sw_etcd *etcd)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(etcd->multi, &left)) != NULL) {
        if (message->msg == CURLMSG_DONE) {
            char *private = NULL;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
            finish((struct sw_etcd_stream *)(void *)private, message->data.result);
        }
    }
}

/* --- libcurl on libuv --------------------------------------------------------------------------
 */

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct watched *watched = poll->data;
    struct sw_etcd *etcd = watched->etcd;
    int running;
    int flags = status < 0 ? CURL_CSELECT_ERR
                           : (events & UV_READABLE ? CURL_CSELECT_IN : 0) |
                                 (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0);
    curl_multi_socket_action(etcd->multi, watched->fd, flags, &running);
    take_done(etcd);
}

static void on_timer(uv_timer_t *timer)
{
    struct sw_etcd *etcd = timer->data;
    int running;
    curl_multi_socket_action(etcd->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    take_done(etcd);
}

static int set_timer(CURLM *multi, long ms, void *context)
{
    struct sw_etcd *etcd = context;
    (void)multi;
    if (ms < 0) {
        uv_timer_stop(etcd->timer);
    } else {
        uv_timer_start(etcd->timer, on_timer, ms == 0 ? 1 : (uint64_t)ms, 0);
    }
    return 0;
}

static void free_handle(uv_handle_t *handle)
{
    free(handle->data);
}

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *socket_context)
{
    struct sw_etcd *etcd = context;
    struct watched *watched = socket_context;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (watched != NULL) {
            uv_poll_stop(&watched->poll);
            uv_close((uv_handle_t *)&watched->poll, free_handle);
            curl_multi_assign(etcd->multi, fd, NULL);
        }
        return 0;
    }
    if (watched == NULL) {
        watched = calloc(1, sizeof(*watched));
        if (watched == NULL || uv_poll_init_socket(etcd->uv, &watched->poll, fd) != 0) {
            free(watched);
            return -1;
        }
        watched->etcd = etcd;
        watched->fd = fd;
        watched->poll.data = watched;
        curl_multi_assign(etcd->multi, fd, watched);
    }
    int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    return uv_poll_start(&watched->poll, events, on_poll) == 0 ? 0 : -1;
}

static size_t take_bytes(char *bytes, size_t one, size_t count, void *context)
{
    struct sw_etcd_stream *request = context;
    size_t size = one * count;
    if (request->line != NULL) {
        return sw_etcd_lines_feed(&request->lines, bytes, size, ANSWER_BYTES_MAX, request->line,
                                  request->context)
                   ? size
                   : 0;
    }
    if (request->size + size > ANSWER_BYTES_MAX) {
        return 0;
    }
    char *answer = realloc(request->answer, request->size + size + 1);
    if (answer == NULL) {
        return 0;
    }
    memcpy(answer + request->size, bytes, size);
    request->answer = answer;
    request->size += size;
    return size;
}

/* --- life --------------------------------------------------------------------------------------
 */

struct sw_etcd *sw_etcd_create(uv_loop_t *uv, const struct sw_etcd_address *address,
                               uint64_t limit_ms, const struct sw_config *config)
{
    struct sw_etcd *etcd = calloc(1, sizeof(*etcd));
    if (etcd == NULL) {
        return NULL;
    }
    etcd->address = address;
    etcd->config = config;
    etcd->limit_ms = limit_ms;
    etcd->uv = uv;
    etcd->timer = calloc(1, sizeof(*etcd->timer));
    etcd->multi = curl_global_init(CURL_GLOBAL_ALL) == 0 ? curl_multi_init() : NULL;
    etcd->headers = curl_slist_append(NULL, "Content-Type: application/json");
    if (etcd->timer == NULL || etcd->multi == NULL || etcd->headers == NULL ||
        curl_slist_append(etcd->headers, "Expect:") == NULL) {
        curl_slist_free_all(etcd->headers);
        curl_multi_cleanup(etcd->multi);
        free(etcd->timer);
        free(etcd);
        return NULL;
    }
    uv_timer_init(uv, etcd->timer);
    etcd->timer->data = etcd;
    curl_multi_setopt(etcd->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt(etcd->multi, CURLMOPT_SOCKETDATA, etcd);
    curl_multi_setopt(etcd->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(etcd->multi, CURLMOPT_TIMERDATA, etcd);
    return etcd;
}

void sw_etcd_destroy(struct sw_etcd *etcd)
{
    if (etcd != NULL) {
        while (etcd->list != NULL) {
            free_request(etcd->list);
        }
        curl_multi_cleanup(etcd->multi);
        curl_slist_free_all(etcd->headers);
        etcd->timer->data = etcd->timer;
        uv_close((uv_handle_t *)etcd->timer, free_handle);
        free(etcd);
    }
}

/* libcurl reads the files at each connection, so new files need no restart. */
static void set_tls(CURL *easy, const struct sw_config *config)
{
    if (config->ha_tls_ca[0] != '\0') {
        curl_easy_setopt(easy, CURLOPT_CAINFO, config->ha_tls_ca);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    if (config->ha_tls_cert[0] != '\0') {
        curl_easy_setopt(easy, CURLOPT_SSLCERT, config->ha_tls_cert);
        curl_easy_setopt(easy, CURLOPT_SSLKEY, config->ha_tls_key);
    }
}

static void set_options(struct sw_etcd_stream *request, const char *path)
{
    const struct sw_etcd_address *address = request->etcd->address;
    const long limit_ms = (long)request->etcd->limit_ms;
    char url[SW_ETCD_NAME_BYTES + 64];
    snprintf(url, sizeof(url), "%s://%s%s", address->is_tls ? "https" : "http",
             address->endpoint[request->endpoint], path);
    curl_easy_setopt(request->easy, CURLOPT_URL, url);
    curl_easy_setopt(request->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(request->easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(request->easy, CURLOPT_QUICK_EXIT, 1L); /* do not wait for a resolver */
    set_tls(request->easy, request->etcd->config);
    curl_easy_setopt(request->easy, CURLOPT_CONNECTTIMEOUT_MS, limit_ms / 2);
    curl_easy_setopt(request->easy, CURLOPT_TIMEOUT_MS, request->line != NULL ? 0L : limit_ms);
    curl_easy_setopt(request->easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(request->easy, CURLOPT_HTTPHEADER, request->etcd->headers);
    curl_easy_setopt(request->easy, CURLOPT_POSTFIELDS, request->body);
    curl_easy_setopt(request->easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(request->easy, CURLOPT_WRITEDATA, request);
    curl_easy_setopt(request->easy, CURLOPT_PRIVATE, request);
    curl_easy_setopt(request->easy, CURLOPT_ERRORBUFFER, request->error);
}

/* Fills in the rest of a request from the arguments, and sends it. Takes over the body. If it
 * fails, frees the request and returns false. */
static bool begin_request(struct sw_etcd *etcd, struct sw_etcd_stream *request, const char *path,
                          json_t *body)
{
    char *text = body == NULL ? NULL : json_dumps(body, JSON_COMPACT);
    json_decref(body);
    if (request == NULL || text == NULL || (request->easy = curl_easy_init()) == NULL) {
        free(request);
        free(text);
        return false;
    }
    request->etcd = etcd;
    request->endpoint = etcd->endpoint;
    request->body = text;
    request->next = etcd->list;
    etcd->list = request;
    set_options(request, path);
    if (curl_multi_add_handle(etcd->multi, request->easy) != CURLM_OK) {
        free_request(request);
        return false;
    }
    return true;
}

void sw_etcd_post(struct sw_etcd *etcd, const char *path, json_t *body, sw_etcd_done *done,
                  void *context)
{
    struct sw_etcd_stream *request = calloc(1, sizeof(*request));
    if (request != NULL) {
        request->done = done;
        request->context = context;
    }
    if (!begin_request(etcd, request, path, body)) {
        done(context, NULL, "no memory for a request to etcd");
    }
}

struct sw_etcd_stream *sw_etcd_follow(struct sw_etcd *etcd, const char *path, json_t *body,
                                      sw_etcd_line *line, sw_etcd_ended *ended, void *context)
{
    struct sw_etcd_stream *request = calloc(1, sizeof(*request));
    if (request != NULL) {
        request->line = line;
        request->ended = ended;
        request->context = context;
    }
    return begin_request(etcd, request, path, body) ? request : NULL;
}

void sw_etcd_cut(struct sw_etcd_stream *stream)
{
    pass_on(stream);
    free_request(stream);
}

#else

bool sw_etcd_is_built(void)
{
    return false;
}

struct sw_etcd *sw_etcd_create(uv_loop_t *uv, const struct sw_etcd_address *address,
                               uint64_t limit_ms, const struct sw_config *config)
{
    (void)uv, (void)address, (void)limit_ms, (void)config;
    return NULL;
}

void sw_etcd_destroy(struct sw_etcd *etcd)
{
    (void)etcd;
}

void sw_etcd_post(struct sw_etcd *etcd, const char *path, json_t *body, sw_etcd_done *done,
                  void *context)
{
    (void)etcd, (void)path;
    json_decref(body);
    done(context, NULL, "this server was built without libcurl");
}

struct sw_etcd_stream *sw_etcd_follow(struct sw_etcd *etcd, const char *path, json_t *body,
                                      sw_etcd_line *line, sw_etcd_ended *ended, void *context)
{
    (void)etcd, (void)path, (void)line, (void)ended, (void)context;
    json_decref(body);
    return NULL;
}

void sw_etcd_cut(struct sw_etcd_stream *stream)
{
    (void)stream;
}

#endif
