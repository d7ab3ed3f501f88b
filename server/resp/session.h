/* SPDX-License-Identifier: MIT
 *
 * session.h - what a RESP connection has chosen, and the commands that only concern it.
 */
#ifndef SHERWOOD_SERVER_RESP_SESSION_H
#define SHERWOOD_SERVER_RESP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/resp.h"
#include "server/config/config.h"
#include "server/list.h"
#include "server/observe/snapshot.h"
#include "server/observe/text.h"
#include "server/resp/command.h"

#define SW_SESSION_NAME_BYTES 64

/* What INFO and HELLO call redis_version: clients compare it with the version that brought a
 * feature. SHERWOOD_VERSION is our own. */
#define SW_REDIS_VERSION "7.4.0"

enum sw_session_reply_mode { SW_REPLY_ON, SW_REPLY_OFF, SW_REPLY_SKIP_NEXT };

/* The fields that CLIENT LIST shows change under the lock of sw_clients. */
struct sw_session {
    struct sw_list link; /* of sw_clients */
    uint64_t id;         /* unique in the process, from 1 */
    bool resp3;
    bool close_after_reply; /* QUIT, protocol error */
    bool shutdown_asked;    /* SHUTDOWN */
    uint8_t reply_mode;     /* CLIENT REPLY: enum sw_session_reply_mode */
    char name[SW_SESSION_NAME_BYTES];
    char library_name[SW_SESSION_NAME_BYTES];
    char library_version[SW_SESSION_NAME_BYTES];
    char address[64];         /* peer, "ip:port" or "unix:path" */
    uint64_t connected_at_ms; /* sw_session_now_ms when it was accepted */
};

void sw_session_init(struct sw_session *session, uint64_t id);
uint64_t sw_session_now_ms(void); /* of the monotonic clock */

struct sw_clients;

/* Where commands of kind REPORT and SESSION find the server; filled by the loop. */
struct sw_admin {
    const struct sw_config *config;
    void (*snapshot)(void *server, struct sw_snapshot *snapshot);
    void *server;
    struct sw_command_set lacking; /* the engine does not have them: they are not listed */
    const char *engine;
    struct sw_clients *clients; /* those of all loops, the session among them */
};

/* Carries out a command of kind REPORT or SESSION: changes `session` and appends exactly one reply
 * (CLIENT REPLY OFF and SKIP: none). Arity has been checked. On the connection's loop. */
void sw_admin_run(const struct sw_admin *admin, const struct sw_command *command,
                  const struct sw_resp_command *arguments, struct sw_session *session,
                  struct sw_text *reply);

/* The text of INFO [section ...] into `text` (info.c). No sections: the default set. */
void sw_info_render(const struct sw_snapshot *snapshot, const struct sw_resp_argument *sections,
                    uint32_t count, struct sw_text *text);

#endif
