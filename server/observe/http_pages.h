/* SPDX-License-Identifier: MIT
 *
 * http_pages.h - what each path of the HTTP server returns. Threads: the HTTP thread.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_HTTP_PAGES_H
#define SHERWOOD_SERVER_OBSERVE_HTTP_PAGES_H

#include <microhttpd.h>

#include "server/observe/history.h"
#include "server/observe/http_token.h"
#include "server/observe/server_stats.h"

/* Sources of the pages. */
struct sw_http_pages {
    void (*snapshot)(void *server, struct sw_server_stats *snapshot);
    void *server;
    struct sw_history *history;
    const struct sw_http_token *token; /* required by pages that are not open to all; borrowed */
};

/* Replies to a GET or HEAD of `path`, which may have none. The result is libmicrohttpd's: MHD_NO
 * closes the connection. */
enum MHD_Result sw_http_reply(const struct sw_http_pages *pages, struct MHD_Connection *connection,
                              const char *path);
/* Replies with a text of static storage. */
enum MHD_Result sw_http_reply_text(struct MHD_Connection *connection, unsigned status,
                                   const char *page);

#endif
