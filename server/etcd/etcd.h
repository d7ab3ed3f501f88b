/* SPDX-License-Identifier: MIT
 *
 * etcd.h - requests to etcd's JSON gateway, on a libuv loop. Everything is called on its thread.
 *
 * A request goes to one member of etcd; the next one to another member, if that one failed. The
 * outcome of a request that failed is unknown: it may be carried out later.
 */
#ifndef SHERWOOD_SERVER_ETCD_ETCD_H
#define SHERWOOD_SERVER_ETCD_ETCD_H

#include <jansson.h>
#include <uv.h>

#include "server/config/config.h"
#include "server/etcd/lines.h"
#include "server/etcd/where.h"

struct sw_etcd;

/* Was the program built with libcurl? Without, there is nobody to ask. */
bool sw_etcd_is_built(void);
/* A request ends after `limit_ms`. Returns NULL if there is no memory. Borrows all. */
struct sw_etcd *sw_etcd_create(uv_loop_t *uv, const struct sw_etcd_where *where, uint64_t limit_ms,
                               const struct sw_config *config);
/* Ends all requests; `done` is not called. The loop must run once more, for its handles to close.
 */
void sw_etcd_destroy(struct sw_etcd *etcd);

/* `answer` is NULL if the outcome is unknown: `error` says why then. */
typedef void sw_etcd_done(void *context, const json_t *answer, const char *error);
/* Takes over the body, which may be NULL. */
void sw_etcd_post(struct sw_etcd *etcd, const char *path, json_t *body, sw_etcd_done *done,
                  void *context);

/* A request whose answer goes on for ever: each of its lines is given to `line`, until that returns
 * false. `ended` is called once the connection is over, whatever ended it. Takes over the body.
 * Returns NULL, and calls nothing, if there is no memory. */
struct sw_etcd_stream;
typedef void sw_etcd_ended(void *context, const char *error);
struct sw_etcd_stream *sw_etcd_follow(struct sw_etcd *etcd, const char *path, json_t *body,
                                      sw_etcd_line *line, sw_etcd_ended *ended, void *context);
/* Ends it, and calls nothing; not from within `line`. The next one goes to another member of etcd.
 */
void sw_etcd_cut(struct sw_etcd_stream *stream);

#endif
