/* SPDX-License-Identifier: MIT
 *
 * etcd.h - requests to etcd's JSON gateway, on a libuv loop.
 *
 * A request goes to one member of etcd. If it fails, the next request goes to another member. The
 * outcome of a failed request is unknown: etcd may carry it out later. Threads: the loop's.
 */
#ifndef SHERWOOD_SERVER_ETCD_ETCD_H
#define SHERWOOD_SERVER_ETCD_ETCD_H

#include <jansson.h>
#include <uv.h>

#include "server/config/config.h"
#include "server/etcd/etcd_address.h"
#include "server/etcd/lines.h"

struct sw_etcd;

/* Returns true if the program was built with libcurl, which all requests need. */
bool sw_etcd_is_built(void);
/* `limit_ms`: time limit of a request. Returns NULL if memory is short. Borrows all arguments. */
struct sw_etcd *sw_etcd_create(uv_loop_t *uv, const struct sw_etcd_address *address,
                               uint64_t limit_ms, const struct sw_config *config);
/* Ends all requests without calling `done`. The loop must run once more, to close the handles. */
void sw_etcd_destroy(struct sw_etcd *etcd);

/* `answer` is NULL if the outcome is unknown; `error` then has the cause. */
typedef void sw_etcd_done(void *context, const json_t *answer, const char *error);
/* Sends a request. Takes over the body, which may be NULL. */
void sw_etcd_post(struct sw_etcd *etcd, const char *path, json_t *body, sw_etcd_done *done,
                  void *context);

/* A request with an endless answer. Calls `line` for each line, until that returns false. Calls
 * `ended` when the connection has ended for any reason. Takes over the body. If memory is short,
 * returns NULL and calls nothing. */
struct sw_etcd_stream;
typedef void sw_etcd_ended(void *context, const char *error);
struct sw_etcd_stream *sw_etcd_follow(struct sw_etcd *etcd, const char *path, json_t *body,
                                      sw_etcd_line *line, sw_etcd_ended *ended, void *context);
/* Ends the stream without calling `ended`. Not allowed within `line`. The next request goes to
 * another member of etcd. */
void sw_etcd_cut(struct sw_etcd_stream *stream);

#endif
