/* SPDX-License-Identifier: MIT
 *
 * http_client.h - HTTP requests to other servers, on a libuv loop.
 *
 * Each request is a POST of JSON. Memory: a client copies no argument; each comment says how long
 * it borrows. Threads: the loop's.
 */
#ifndef SHERWOOD_SERVER_HTTP_CLIENT_HTTP_CLIENT_H
#define SHERWOOD_SERVER_HTTP_CLIENT_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct sw_http_client;
struct sw_http_call;

/* Returns true if the program was built with libcurl, which all requests need. */
bool sw_http_client_is_built(void);
/* Returns NULL if memory is short, or without libcurl. Borrows the loop. */
struct sw_http_client *sw_http_client_create(uv_loop_t *uv);
/* Ends all calls without calling `done`. The loop must run once more, to close the handles. NULL is
 * allowed. */
void sw_http_client_destroy(struct sw_http_client *client);

/* The end of a call. */
struct sw_http_answer {
    long status;            /* of HTTP; 0: no complete answer arrived */
    const char *error;      /* the cause if there is no complete answer; otherwise NULL */
    const char *body;       /* not terminated; NULL if it is empty, or `bytes` received it */
    size_t body_bytes;      /* length of `body` */
    uint32_t retry_after_s; /* value of the header Retry-After; 0: none */
};
/* Gets the end of a call. The call is over, and may not be cut. `answer` is valid during the
 * function, which may begin other calls. */
typedef void sw_http_done(void *context, const struct sw_http_answer *answer);
/* Gets bytes of the answer as they arrive. Returns false to end the call. */
typedef bool sw_http_bytes(void *context, const char *bytes, size_t size);

struct sw_http_request {
    const char *url;           /* borrowed during the call of sw_http_post */
    const char *body;          /* JSON; borrowed until the end of the call */
    uint64_t connect_limit_ms; /* time limit of the connection */
    uint64_t limit_ms;         /* time limit of the whole call; 0: none */
    size_t answer_bytes_max;   /* a longer answer is an error */
    const char *tls_ca;   /* PEM file or empty: the system's roots. Borrowed as `url`, as below */
    const char *tls_cert; /* empty: no certificate is sent */
    const char *tls_key;
    sw_http_bytes *bytes; /* NULL: the answer is collected for `done` */
    sw_http_done *done;
    void *context;
};

/* Begins a call, whose end `done` gets. If memory is short, returns NULL and calls nothing. */
struct sw_http_call *sw_http_post(struct sw_http_client *client,
                                  const struct sw_http_request *request);
/* Ends the call without calling `done`. Not allowed within `bytes`. */
void sw_http_cut(struct sw_http_call *call);

#endif
