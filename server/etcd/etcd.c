/* SPDX-License-Identifier: MIT
 *
 * etcd.c - requests to the members of etcd, one member after another.
 */
#include "server/etcd/etcd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/http_client/http_client.h"

/* Room for a value of 4 MiB in base64 and the JSON around it. etcd's own limit is 1.5 MiB a
 * request. */
#define ANSWER_BYTES_MAX (8 * 1024 * 1024)
#define ERROR_BYTES 320

struct sw_etcd_stream {
    struct sw_etcd_stream *next;
    struct sw_etcd *etcd;
    struct sw_http_call *call;
    char *body;
    unsigned endpoint;
    sw_etcd_done *done;
    sw_etcd_line *line; /* callback of a stream; NULL: not a stream */
    sw_etcd_ended *ended;
    struct sw_etcd_lines lines;
    void *context;
};

struct sw_etcd {
    const struct sw_etcd_address *address;
    const struct sw_config *config;
    uint64_t limit_ms;
    struct sw_http_client *http;
    struct sw_etcd_stream *list;
    unsigned endpoint; /* member that gets the next request */
};

bool sw_etcd_is_built(void)
{
    return sw_http_client_is_built();
}

static void free_request(struct sw_etcd_stream *request)
{
    struct sw_etcd_stream **link = &request->etcd->list;
    while (*link != request) {
        link = &(*link)->next;
    }
    *link = request->next;
    sw_etcd_lines_fini(&request->lines);
    free(request->body);
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

static void finish(void *argument, const struct sw_http_answer *http)
{
    struct sw_etcd_stream *request = argument;
    json_error_t wrong;
    json_t *answer = NULL;
    char error[ERROR_BYTES];
    if (http->status == 200 && request->line == NULL) {
        answer = json_loadb(http->body, http->body_bytes, 0, &wrong);
    }
    if (answer == NULL) {
        snprintf(error, sizeof(error), "%s: %s",
                 request->etcd->address->endpoint[request->endpoint],
                 http->error != NULL     ? http->error
                 : http->status != 200   ? "it refuses, or has no quorum"
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

static bool take_lines(void *argument, const char *bytes, size_t size)
{
    struct sw_etcd_stream *request = argument;
    return sw_etcd_lines_feed(&request->lines, bytes, size, ANSWER_BYTES_MAX, request->line,
                              request->context);
}

struct sw_etcd *sw_etcd_create(uv_loop_t *uv, const struct sw_etcd_address *address,
                               uint64_t limit_ms, const struct sw_config *config)
{
    struct sw_etcd *etcd = calloc(1, sizeof(*etcd));
    if (etcd == NULL || (etcd->http = sw_http_client_create(uv)) == NULL) {
        free(etcd);
        return NULL;
    }
    etcd->address = address;
    etcd->config = config;
    etcd->limit_ms = limit_ms;
    return etcd;
}

void sw_etcd_destroy(struct sw_etcd *etcd)
{
    if (etcd != NULL) {
        sw_http_client_destroy(etcd->http);
        while (etcd->list != NULL) {
            free_request(etcd->list);
        }
        free(etcd);
    }
}

static struct sw_http_call *send_request(struct sw_etcd_stream *request, const char *path)
{
    const struct sw_etcd *etcd = request->etcd;
    const bool is_stream = request->line != NULL;
    char url[SW_ETCD_NAME_BYTES + 64];
    snprintf(url, sizeof(url), "%s://%s%s", etcd->address->is_tls ? "https" : "http",
             etcd->address->endpoint[request->endpoint], path);
    return sw_http_post(etcd->http, &(struct sw_http_request){
                                        .url = url,
                                        .body = request->body,
                                        .connect_limit_ms = etcd->limit_ms / 2,
                                        .limit_ms = is_stream ? 0 : etcd->limit_ms,
                                        .answer_bytes_max = ANSWER_BYTES_MAX,
                                        .tls_ca = etcd->config->ha_tls_ca,
                                        .tls_cert = etcd->config->ha_tls_cert,
                                        .tls_key = etcd->config->ha_tls_key,
                                        .bytes = is_stream ? take_lines : NULL,
                                        .done = finish,
                                        .context = request,
                                    });
}

/* Fills in the rest of a request from the arguments, and sends it. Takes over the body. If it
 * fails, frees the request and returns false. */
static bool begin_request(struct sw_etcd *etcd, struct sw_etcd_stream *request, const char *path,
                          json_t *body)
{
    char *text = body == NULL ? NULL : json_dumps(body, JSON_COMPACT);
    json_decref(body);
    if (request == NULL || text == NULL) {
        free(request);
        free(text);
        return false;
    }
    request->etcd = etcd;
    request->endpoint = etcd->endpoint;
    request->body = text;
    request->next = etcd->list;
    etcd->list = request;
    request->call = send_request(request, path);
    if (request->call == NULL) {
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
    sw_http_cut(stream->call);
    free_request(stream);
}
